/* SPDX-License-Identifier: MIT
 *
 * Finding: the trips of one query.
 */
#ifndef TKL_SEARCH_FIND_H
#define TKL_SEARCH_FIND_H

#include "search/match.h"
#include "search/result.h"

/* How far the query has come at one shard. */
typedef struct tkl__search_progress {
    char version[24]; /* of the shard, when it was first asked; "" before that */
    int64_t total;
    int64_t docs, words; /* of the shard */
    int64_t cursor;      /* of a scan: the next byte */
    int64_t place, hits; /* of a walk: the next place, and the hits before it */
    bool done;
    bool walked;      /* it answered in its order, from the offset on if it is the only shard */
    char made[40];    /* for which version bitmaps were made; "": none were */
    bool made_before; /* ... and the index may have changed since */
} tkl__search_progress;

/* One query. */
typedef struct tkl__search_finding {
    tkl_search *search;
    tkl__search_schema *schema;
    tkl__search_plan *plan;
    const tkl__search_order *order;
    int64_t offset, count, compare_max;

    tkl__search_progress *shards;
    int64_t *sizes;              /* documents of each term, of all shards */
    tkl__search_result_box *box; /* owns the replies */
    tkl__search_found *items;    /* what came, sorted in the end */
    size_t item_count, item_cap;
    size_t page, page_count; /* the page among the items */
    int64_t examined;        /* candidates that came */
    int64_t total, compared;
    bool exact, exact_made;
    bool changed; /* the index changed between two steps */

    bool stale;                      /* the schema is another one now */
    bool words;                      /* a prefix stands for other terms now */
    bool make;                       /* some ranges and unions are needed as bitmaps: */
    bool *make_ranges, *make_unions; /* those of the plan that any shard needed so far */
} tkl__search_finding;

/* On success the items are there, or one of `stale`, `words` is set. */
int tkl__search_find(tkl__search_finding *finding);
void tkl__search_finding_free(tkl__search_finding *finding);

/* ---- Bitmaps that are made (made.c) --------------------------------------- */

/* Makes the bitmaps that are needed at a shard. `last`: the last attempt; they are used although the
 * index changes all the time. */
int tkl__search_make(tkl__search_finding *finding, size_t shard, bool last);

#endif
