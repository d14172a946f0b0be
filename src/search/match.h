/* SPDX-License-Identifier: MIT
 *
 * One document against a query: whether it matches, and how well.
 */
#ifndef TKL_SEARCH_MATCH_H
#define TKL_SEARCH_MATCH_H

#include "search/plan.h"
#include "search/record.h"

/* The terms of a document. All zero is none. */
typedef struct tkl__search_entries {
    tkl__search_entry *items;
    size_t count, cap;
} tkl__search_entries;

/* Reads them anew. TKL_EDAMAGED: they were not written by tackle. */
int tkl__search_entries_read(tkl__search_entries *entries, tkl_bytes terms, bool positions);
void tkl__search_entries_free(tkl__search_entries *entries);

bool tkl__search_matches(const tkl__search_plan *plan, const tkl__search_record *record,
                         const tkl__search_entries *entries);

/* What the relevance needs to know about the index. */
typedef struct tkl__search_rarity {
    double *weight; /* of each term of the plan, 0 for those that do not count; owned */
    double length;  /* of a document on average, in words */
} tkl__search_rarity;

/* `sizes`: how many of the `docs` documents have each term. */
int tkl__search_rarity_make(tkl__search_rarity *rarity, const tkl__search_plan *plan,
                            const int64_t *sizes, int64_t docs, int64_t words);

/* BM25, with k1 = 1.2 and b = 0.75. */
double tkl__search_relevance(const tkl__search_plan *plan, const tkl__search_rarity *rarity,
                             const tkl__search_record *record, const tkl__search_entries *entries);

#endif
