/* SPDX-License-Identifier: MIT
 *
 * Plans: a query as steps for the server, with the terms and ranges that the steps refer to.
 */
#ifndef TKL_SEARCH_PLAN_H
#define TKL_SEARCH_PLAN_H

#include "core/names.h"
#include "search/search.h"

typedef struct tkl__search_range {
    size_t field;
    double low, high;
    bool low_open, high_open;
} tkl__search_range;

/* A prefix, and the terms that currently begin with it. */
typedef struct tkl__search_prefix {
    tkl_bytes term;      /* the beginning of the terms */
    tkl_bytes low, high; /* bounds in :terms */
    tkl_names *words;    /* the terms on all shards */
    int64_t *counts;     /* number of terms on each shard */
    bool cut;            /* there are more terms than `words`, which are the most frequent */
    struct tkl__search_prefix *next;
} tkl__search_prefix;

/* The documents with any of several terms: synonyms, the words of a prefix, excluded words. */
typedef struct tkl__search_union {
    size_t *terms; /* indexes into the terms of the plan */
    size_t count;
    char name[33];     /* the same for the same terms */
    bool is_of_prefix; /* a prefix has the same terms, so the union has the first of its bitmaps */
} tkl__search_union;

/* A word as the relevance counts it: a term, or all terms of a prefix together. */
typedef struct tkl__search_scorer {
    tkl_bytes prefix; /* the beginning of its terms; NULL: it is one term */
    size_t *terms;    /* indexes into the terms of the plan */
    size_t count;
    bool required; /* every document that matches has one of the terms */
    char name[33]; /* prefix only; the same for the same terms */
} tkl__search_scorer;

typedef struct tkl__search_plan {
    tkl__search_schema *schema;
    tkl__search_query query;
    tkl__search_prefix *prefixes;
    size_t prefix_count;
    tkl_bytes *terms; /* no duplicates */
    size_t term_count;
    tkl__search_scorer *scorers;
    size_t scorer_count;
    tkl__search_range *ranges;
    size_t range_count;
    tkl__search_union *unions; /* in the order of the steps */
    size_t union_count;
    tkl__buf steps; /* the argument of search/query */
    size_t operators;
    bool cut;    /* a prefix stands for more words than the plan has */
    bool fixed;  /* prefixes stand for the words that they had when the plan was made, even if the
                    index has others by now */
    bool apart;  /* texts without spaces were cut into words, which may be apart */
    bool verify; /* the steps find more than the query matches: it has phrases */
    bool failed; /* no memory */
} tkl__search_plan;

/* Most terms of a plan, including those of prefixes. */
#define TKL__SEARCH_PLAN_TERMS 1000

/* The scorer of a prefix with the same terms as a union; NULL: none. */
const tkl__search_scorer *tkl__search_scorer_of_union(const tkl__search_plan *plan,
                                                      const tkl__search_union *u);

/* Carries out a plan; *total: how many documents match. */
typedef int tkl__search_plan_use(tkl_search *search, tkl__search_plan *plan, void *arg,
                                 tkl__search_outcome *outcome, int64_t *total);

/* Makes a plan of the query, asks the server for the terms of its prefixes, if it has any, and
 * calls use(). `fixed`: the plan is valid even if the prefixes have other terms by then. When no
 * document matches, and the query has texts without spaces, use() gets a second plan, which is
 * `apart`. */
int tkl__search_with_plan(tkl_search *search, tkl__search_schema *schema, tkl_bytes query,
                          bool fixed, tkl__search_plan_use *use, void *arg,
                          tkl__search_outcome *outcome);

/* The index of a term in the plan; the number of its terms: it is not there. */
size_t tkl__search_term_index(const tkl__search_plan *plan, tkl_bytes term);
/* Writes the term of the value that an item asks for. Returns whether it is a prefix of terms. */
bool tkl__search_value_term(const tkl__search_plan *plan, const tkl__search_query_item *item,
                            tkl__buf *out);
/* The terms that a prefix of the plan stands for; NULL: none. */
const tkl_names *tkl__search_prefix_words(const tkl__search_plan *plan, const tkl__buf *prefix);

/* The scorer of a term of its own, or of the terms of a prefix. NULL: it does not count for the
 * relevance. */
const tkl__search_scorer *tkl__search_scorer_of(const tkl__search_plan *plan, tkl_bytes term,
                                                bool prefix);

/* A term with the number of documents that have it. */
typedef struct tkl__search_sized {
    tkl_bytes term;
    int64_t size;
} tkl__search_sized;

int tkl__search_by_size(const void *a, const void *b); /* for qsort(): the greatest size first */

/* Reads how many documents have each of the terms, on all shards, in steps (prefix.c). *outcome:
 * TKL__SEARCH_STALE when the index is another one. */
int tkl__search_read_sizes(tkl_search *search, const tkl__search_schema *schema,
                           tkl__search_sized *terms, size_t count, tkl__search_outcome *outcome);
/* Finds the most frequent terms between the bounds, on all shards, in steps (prefix.c). Sets *names
 * to NULL on failure. */
int tkl__search_frequent_terms(tkl_search *search, const tkl__search_schema *schema, tkl_bytes low,
                               tkl_bytes high, size_t most, tkl_names **names);
/* Adds the names in a reply. */
int tkl__search_take_names(const tkl_reply *reply, tkl__names *all);
/* The bounds of the terms that begin with the prefix; malloc'ed. */
int tkl__search_bounds(tkl_bytes prefix, tkl_bytes *low, tkl_bytes *high);

#endif
