/* SPDX-License-Identifier: MIT
 *
 * Orders of results.
 */
#ifndef TKL_SEARCH_ORDER_H
#define TKL_SEARCH_ORDER_H

#include "search/record.h"

typedef enum tkl__search_order_kind {
    TKL__SEARCH_BY_RELEVANCE,
    TKL__SEARCH_BY_FIELD,
    TKL__SEARCH_BY_WEIGHTS,
} tkl__search_order_kind;

typedef struct tkl__search_order {
    tkl__search_order_kind kind;
    size_t field; /* for TKL__SEARCH_BY_FIELD */
    bool down;    /* descending */
    size_t weight_count;
    size_t weight_fields[TKL_SEARCH_FIELDS_MAX];
    double weights[TKL_SEARCH_FIELDS_MAX];
} tkl__search_order;

/* TKL_EINVAL: tkl_errmsg() shows the wrong part of the order. */
int tkl__search_order_parse(tkl_bytes text, const tkl__search_schema *schema,
                            tkl__search_order *order);
/* Appends the normal form: the same bytes for equal orders. */
void tkl__search_order_normal(const tkl__search_order *order, tkl__buf *out);

/* The sum of the fields times their weights. A missing value counts as 0. */
double tkl__search_weigh(const tkl__search_order *order, const tkl__search_record *record);

/* A document that a query has found. A reply owns the bytes. */
typedef struct tkl__search_found {
    size_t shard;
    uint64_t number;
    double score;         /* relevance or sum of weights */
    tkl_bytes bytes;      /* its record */
    tkl_bytes terms;      /* its terms, if the query needs them */
    tkl__search_cell key; /* value of the field that the result is ordered by */
} tkl__search_found;

/* Sorts the documents: by the field in the order of the server's sorted set, or by score, greatest
 * first, then by number. */
void tkl__search_sort(const tkl__search_order *order, const tkl__search_schema *schema,
                      tkl__search_found *items, size_t count);

#endif
