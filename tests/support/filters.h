/* SPDX-License-Identifier: MIT
 *
 * Bloom filters as tests use them.
 */
#ifndef TACKLE_TESTS_FILTERS_H
#define TACKLE_TESTS_FILTERS_H

#include <tackle/bloom.h>

#include "support/fixture.h"

/* Numbers from `from` on, as items. */
typedef struct numbers {
    uint64_t *values;
    tkl_bytes *items;
    bool *flags;
    size_t count;
} numbers;

tkl_bloom *open_filter_with(tkl_client *client, const char *name, tkl_bloom_options options);

tkl_bloom *open_filter(fixture *f, const char *name);

tkl_bloom *make_filter(fixture *f, const char *name, double error, int64_t capacity, bool fixed);

numbers numbers_from(uint64_t from, size_t count);

void numbers_free(numbers n);

size_t numbers_flagged(numbers n);

size_t filter_add(tkl_bloom *bloom, uint64_t from, size_t count);

size_t filter_present(tkl_bloom *bloom, uint64_t from, size_t count);

/* The codes of one item. */
int filter_add_one(tkl_bloom *bloom, tkl_bytes item, bool *added);

int filter_ask_one(tkl_bloom *bloom, tkl_bytes item, bool *present);

tkl_bloom_info filter_show(tkl_bloom *bloom);

/* Adds an item to each part of a filter, or asks for these items. */
void visit_parts(tkl_bloom *bloom, uint64_t from, bool expected, bool adds);

/* A filter of several parts. */
enum { SPLIT_CAPACITY = 2400000, SPLIT_PARTS = 3 };

#endif
