/* SPDX-License-Identifier: MIT
 *
 * Finding: the round trips of one query.
 */
#ifndef TKL_SEARCH_FIND_H
#define TKL_SEARCH_FIND_H

#include "search/match.h"
#include "search/result.h"

/* The progress of a query at one shard. */
typedef struct tkl__search_progress {
    char version[24]; /* version of the shard in its first reply; "" before that */
    int64_t total;
    int64_t docs, words;  /* totals of the shard */
    int64_t cursor;       /* scan: the next byte to read */
    int64_t place, hits;  /* walk: the next rank, and the number of hits before it */
    int64_t taken;        /* walk: the number of hits received */
    tkl_bytes best_place; /* relevance: where the search for the best goes on; empty at first */
    int64_t best_steps;   /* how many calls have searched for the best so far */
    bool done;
    bool compare_all; /* the shard sends all hits by their numbers: it could not tell the best by
                         relevance, or they are too much for one reply */
    bool walked;      /* the shard replied in the order of the field, from the offset on if there is
                         only one shard */
    char made[40];    /* version for which bitmaps were made; "": none */
    bool made_before; /* the index may have changed since bitmaps were made */
} tkl__search_progress;

/* One query. */
typedef struct tkl__search_finding {
    tkl_search *search;
    tkl__search_schema *schema;
    tkl__search_plan *plan;
    const tkl__search_order *order;
    int64_t offset, count, compare_max;

    char token[TKL_TOKEN_SIZE]; /* names the results that shards keep between steps */
    tkl__search_progress *shards;
    bool counting;               /* this round trip asks for sizes only, to know the weights: */
    tkl__search_rarity rarity;   /* weights of words over all shards; none: not known */
    int64_t *sizes;              /* number of documents with each term, summed over all shards */
    tkl__search_result_box *box; /* owns the replies */
    tkl__search_found *items;    /* documents received so far; sorted at the end */
    size_t item_count, item_cap;
    size_t page, page_count; /* the page among the items */
    int64_t examined;        /* number of candidates received */
    int64_t total, compared;
    bool exact, exact_made;
    bool changed; /* the index changed between two round trips */

    bool stale;                      /* the schema has changed */
    bool words;                      /* the terms of a prefix have changed */
    bool make;                       /* some ranges and unions are needed as bitmaps: */
    bool *make_ranges, *make_unions; /* the ranges and unions that any shard has asked for so far */
} tkl__search_finding;

/* On success `items` is filled, or one of `stale` and `words` is set. */
int tkl__search_find(tkl__search_finding *finding);
void tkl__search_finding_free(tkl__search_finding *finding);

/* ---- Making bitmaps (made.c) ---------------------------------------------- */

/* Makes the bitmaps that a shard has asked for. `last`: this is the last attempt, so they are used
 * even when the index keeps changing. */
int tkl__search_make(tkl__search_finding *finding, size_t shard, bool last);

#endif
