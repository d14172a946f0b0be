/* SPDX-License-Identifier: MIT
 *
 * The round trips of one query.
 */
#ifndef TKL_SEARCH_QUERY_STEPS_H
#define TKL_SEARCH_QUERY_STEPS_H

#include "search/call.h"
#include "search/match.h"
#include "search/result.h"

/* How a query finds its hits. */
typedef enum tkl__search_way {
    TKL__SEARCH_WAY_SCAN = 0, /* shards send all candidates by number; they are compared here */
    TKL__SEARCH_WAY_FIRST,    /* all hits have the same relevance: the first ones by number do */
    TKL__SEARCH_WAY_BEST,     /* shards choose candidates for the best hits by relevance */
    TKL__SEARCH_WAY_HEAVIEST, /* shards choose candidates for the hits with the greatest sums */
    TKL__SEARCH_WAY_FIELD,    /* shards send the first documents in the order of a field */
} tkl__search_way;

/* The order that one request asks a shard for; query_call.c has the words for them. */
typedef enum tkl__search_asked {
    TKL__SEARCH_ASK_COUNT = 0, /* no documents, only their number */
    TKL__SEARCH_ASK_SCAN,      /* candidates by number */
    TKL__SEARCH_ASK_BEST,
    TKL__SEARCH_ASK_HEAVIEST,
    TKL__SEARCH_ASK_UP, /* by the field, ascending */
    TKL__SEARCH_ASK_DOWN,
} tkl__search_asked;

/* The progress of a query at one shard. */
typedef struct tkl__search_progress {
    char version[24];        /* version of the shard in its first reply; "" before that */
    int64_t total;           /* documents that match, or with phrases candidates for them */
    int64_t docs, words;     /* totals of the shard */
    tkl__search_asked asked; /* by the last request */
    int64_t cursor;          /* scan: the next byte to read */
    tkl_bytes resume;        /* where the next request goes on with a walk or with the search for
                                the best, in the words of the script; empty at first */
    int64_t skipped;         /* walk: the number of hits skipped */
    int64_t taken;           /* the number of hits received */
    int64_t sent;            /* documents received, unless they come in the order of a field */
    bool done;
    bool compare_all; /* the shard sends all hits by number: it could not find the best ones, or
                         these are too much for one reply */
    bool walked;      /* the shard replied in the order of the field, from the offset on if there is
                         only one shard */
    int64_t more;     /* by relevance: how many hits are wanted in addition, in place of documents
                         that did not match */
    char made[40];    /* version for which bitmaps were made; "": none */
    bool made_before; /* the index may have changed since bitmaps were made: their numbers may
                         belong to other documents by now */
} tkl__search_progress;

/* The next step of a query. */
typedef enum tkl__search_state {
    TKL__SEARCH_BEGIN = 0, /* it forgets all replies and starts, or starts over */
    TKL__SEARCH_WEIGH = 1, /* it asks several shards for the sizes of the terms */
    TKL__SEARCH_STEP = 2,  /* it asks all shards that are not done for documents */
    TKL__SEARCH_MAKE = 3,  /* it has bitmaps made that shards have asked for, and starts over */
    TKL__SEARCH_END = 4,
} tkl__search_state;

/* Most documents that are compared one by one. */
#define TKL__SEARCH_COMPARE_MAX 1000000

/* One query. */
typedef struct tkl__search_run {
    tkl_search *search;
    tkl__search_schema *schema;
    tkl__search_plan *plan;
    const tkl__search_order *order;
    int64_t offset, count, compare_max;

    tkl__search_way way;
    tkl__search_state state;
    int begins;                 /* how many times it has started so far */
    char token[TKL_TOKEN_SIZE]; /* names the results that shards keep between steps */
    tkl__search_progress *shards;
    tkl__search_rarity rarity;   /* weights of words over all shards; none: not known */
    int64_t *sizes;              /* number of documents with each term, summed over all shards */
    tkl__search_result_box *box; /* owns the replies */
    tkl__search_found *items;    /* documents received so far; sorted at the end */
    size_t item_count;
    size_t page, page_count; /* the page among the items */
    int64_t examined;        /* number of candidates received */
    int64_t total, compared;
    bool exact;
    bool changed; /* the index changed between two round trips */
    bool loose; /* bitmaps, or the words of prefixes, may be out of date: each document is compared
                     with the query */

    tkl__search_outcome outcome; /* TKL__SEARCH_CHANGED: a prefix has other terms, for example */
    bool *make_ranges, *make_unions, *make_times; /* the ranges, unions and scorers whose bitmaps
                                                     any shard has asked for so far */
} tkl__search_run;

/* Takes the steps of a query. On success `items` is filled, unless `outcome` asks for another
 * attempt. */
int tkl__search_query_steps(tkl__search_run *run);
void tkl__search_run_free(tkl__search_run *run);

/* Whether each document is compared with the query, because shards may send some that do not
 * match. */
static inline bool tkl__search_verifies(const tkl__search_run *run)
{
    return run->plan->verify || run->loose;
}

static inline bool tkl__search_ranks_by_terms(const tkl__search_run *run)
{
    return run->order->kind == TKL__SEARCH_BY_RELEVANCE && run->plan->scorer_count > 0;
}

/* ---- Requests (query_call.c) --------------------------------------------- */

/* Makes the call of search/query for the next step of a shard. */
void tkl__search_query_call(tkl__search_run *run, size_t shard, tkl__search_call *call);

/* How many hits each shard sends in the order of a field, or when all are equally good. */
int64_t tkl__search_wanted_of_each(const tkl__search_run *run);
/* Whether shards send the terms of the documents. */
bool tkl__search_needs_terms(const tkl__search_run *run);

/* ---- Replies (query_reply.c) --------------------------------------------- */

/* Reads a shard's reply to search/query: adds the documents that match to the items. */
int tkl__search_query_reply(tkl__search_run *run, size_t shard, const tkl_reply *reply);

/* Drops documents that came twice, because they were replaced between two steps: the version that
 * came last stays. The others keep their order. */
int tkl__search_drop_repeated(tkl__search_run *run);

/* Fetches the terms of a large document, in `pieces`, that the query has. The box owns them. They
 * are NULL when the document was replaced by now. */
int tkl__search_fetch_terms(tkl__search_run *run, size_t shard, tkl_bytes number, tkl_bytes record,
                            size_t pieces, tkl_bytes *terms);

/* ---- Bitmaps (made.c) ---------------------------------------------------- */

/* Makes the bitmaps that shards have asked for. `last`: this is the last attempt, so they are used
 * even when the index keeps changing. */
int tkl__search_make(tkl__search_run *run, bool last);

#endif
