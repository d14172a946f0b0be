/* SPDX-License-Identifier: MIT
 *
 * The shape of a filter: how many bits, which of them belong to an item.
 *
 * The textbook: m = -n ln p / (ln 2)^2 bits for n items at the error rate p, k = m/n ln 2 of them
 * set by each item. Here the bits of an item are not strewn over all m: up to GROUP_MAX of them lie
 * in one block of 1024 bits, so that one GETRANGE of 128 bytes answers for all of them instead of a
 * GETBIT each. This costs something, as some blocks get more items than others and as two bits of
 * an item may coincide: a group of j bits is found set by mistake more often by the factor
 *
 *     1 + (ln 2 j^2 (j - 2) / 2 + (1 - ln 2) j (j - 1) / 2) / 1024
 *
 * (load of a block: Poisson; second order). A share of penalty / (k ln 2) more bits makes up for
 * it: less than 2 % for every error rate. Larger blocks would take fewer bits (of 4096, a quarter
 * of that) and make longer answers.
 *
 * The hash of group g is XXH3 with 128 bits and the seed g, `low` and `high` its halves:
 *
 *     block     low * blocks / 2^64
 *     bit j     high >> 10 j mod 1024 for j < 6, else low mod 1024
 *
 * The block uses the upper 30 bits of `low`, the last position the lowest 10: they are independent
 * as long as there are no more than 2^30 blocks, 128 GiB.
 *
 * A string of the server has 512 MB at most: 2^22 blocks make a part, a key of its own.
 *
 * A filter that grows gets another sub-filter for twice the capacity. The first has the error rate
 * that was asked for, those after it a twentieth, a fortieth and so on: together they stay within
 * 1.1 of it.
 */
#ifndef TKL_BLOOM_SHAPE_H
#define TKL_BLOOM_SHAPE_H

#include <tackle/bloom.h>

#define TKL__BLOCK_BITS  1024
#define TKL__BLOCK_BYTES (TKL__BLOCK_BITS / 8)
#define TKL__PART_BLOCKS (UINT64_C(1) << 22)
#define TKL__BLOCKS_MAX  (UINT64_C(1) << 30)
#define TKL__GROUP_MAX   7
#define TKL__SUBS_MAX    32

typedef struct tkl__subfilter {
    int64_t capacity;
    int64_t count; /* when last looked at */
    uint64_t blocks;
    int hashes;
} tkl__subfilter;

typedef struct tkl__shape {
    char version[48]; /* changes with every change of shape; "" when not known */
    double error;
    bool fixed;
    int count;
    tkl__subfilter subs[TKL__SUBS_MAX];
} tkl__shape;

/* The bits of an item that lie in one block. */
typedef struct tkl__group {
    uint64_t block;
    int count;
    unsigned bits[TKL__GROUP_MAX]; /* within the block */
} tkl__group;

/* TKL_EINVAL when there is no such filter. */
int tkl__subfilter_make(double error, int64_t capacity, tkl__subfilter *sub);
/* The sub-filter that would come next. TKL_FULL: it would be too large. */
int tkl__shape_next(const tkl__shape *shape, tkl__subfilter *sub);

int tkl__subfilter_groups(const tkl__subfilter *sub);
int tkl__subfilter_parts(const tkl__subfilter *sub);
void tkl__subfilter_place(const tkl__subfilter *sub, tkl_bytes item, int group, tkl__group *out);

/* Sub-filters that have the same place for every item. */
bool tkl__subfilter_equal(const tkl__subfilter *a, const tkl__subfilter *b);

#endif
