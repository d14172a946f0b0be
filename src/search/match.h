/* SPDX-License-Identifier: MIT
 *
 * Compares one document with a query: whether it matches, and how well.
 */
#ifndef TKL_SEARCH_MATCH_H
#define TKL_SEARCH_MATCH_H

#include "search/plan.h"
#include "search/record.h"

/* The terms of a document. All zero: no terms. */
typedef struct tkl__search_entries {
    tkl__search_entry *items;
    size_t count, cap;
} tkl__search_entries;

/* Replaces the entries by these terms. TKL_EDAMAGED: the terms were not written by tackle. */
int tkl__search_entries_read(tkl__search_entries *entries, tkl_bytes terms, bool positions);
void tkl__search_entries_free(tkl__search_entries *entries);

/* The entry of a term; NULL: the document does not have it. */
const tkl__search_entry *tkl__search_entry_of(const tkl__search_entries *entries, tkl_bytes term);

/* Whether a document has what an item of the query asks for. */
bool tkl__search_has_item(const tkl__search_plan *plan, const tkl__search_query_item *item,
                          const tkl__search_record *record, const tkl__search_entries *entries);
bool tkl__search_matches(const tkl__search_plan *plan, const tkl__search_record *record,
                         const tkl__search_entries *entries);

/* The numbers of the index that the relevance depends on. */
typedef struct tkl__search_rarity {
    double *weight; /* weight of each term of the plan, 0 for terms that are not scored; owned */
    struct tkl__search_weighted *scored; /* the scored terms, in the order of bytes; owned */
    size_t scored_count;
    double length; /* average length of a document, in words */
} tkl__search_rarity;

/* `sizes`: the number of documents with each term, out of `docs`. */
int tkl__search_rarity_make(tkl__search_rarity *rarity, const tkl__search_plan *plan,
                            const int64_t *sizes, int64_t docs, int64_t words);
void tkl__search_rarity_free(tkl__search_rarity *rarity); /* all zero is fine */

/* The relevance that a term adds to a document: BM25, with k1 = 1.2 and b = 0.75. */
double tkl__search_impact(const tkl__search_rarity *rarity, const tkl__search_record *record,
                          const tkl__search_entry *entry);
/* The sum for all terms of the document. */
double tkl__search_relevance(const tkl__search_rarity *rarity, const tkl__search_record *record,
                             const tkl__search_entries *entries);

#endif
