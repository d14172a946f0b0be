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
    double *weight;                     /* one for each scorer of the plan; owned */
    struct tkl__search_weighted *terms; /* terms of all scorers, in the order of bytes; owned */
    size_t term_count;
    const tkl__search_scorer *scorers; /* the plan owns them */
    size_t scorer_count;
    uint32_t *times; /* how often one document has each scorer; owned */
    double length;   /* average length of a document, in words */
} tkl__search_rarity;

/* `sizes`: the number of documents with each term, out of `docs`. A prefix is as rare as the most
 * frequent of its words. The plan must outlive the result. */
int tkl__search_rarity_make(tkl__search_rarity *rarity, const tkl__search_plan *plan,
                            const int64_t *sizes, int64_t docs, int64_t words);
void tkl__search_rarity_free(tkl__search_rarity *rarity); /* all zero is fine */

/* How often a word counts that a document has `times` times. A word of a prefix counts 1, 2, 4 or 8
 * times, the largest of these that is not greater, because the server counts with bitmaps. */
uint32_t tkl__search_counted(const tkl__search_scorer *scorer, uint32_t times);
/* Counts how often the document has each scorer, into rarity->times; all words of a prefix together
 * count up to PREFIX_TIMES_MAX times. */
#define TKL__SEARCH_PREFIX_TIMES_MAX 32
void tkl__search_count_times(const tkl__search_rarity *rarity, const tkl__search_entries *entries);
/* The relevance that a scorer adds to a document after tkl__search_count_times(): BM25, with
 * k1 = 1.2 and b = 0.75. */
double tkl__search_impact(const tkl__search_rarity *rarity, const tkl__search_record *record,
                          size_t scorer);
/* The sum for all scorers. */
double tkl__search_relevance(const tkl__search_rarity *rarity, const tkl__search_record *record,
                             const tkl__search_entries *entries);

#endif
