/* SPDX-License-Identifier: MIT
 *
 * Writing: runs of scripts, and clearing of old versions.
 */
#ifndef TKL_SEARCH_WRITE_H
#define TKL_SEARCH_WRITE_H

#include "search/bundle.h"
#include "search/document.h"

typedef struct tkl__search_writer {
    tkl_search *search;
    tkl__search_schema *schema;
    int64_t number; /* number of new ids, or of removed ones */
    bool stale;     /* the index is a different one by now */
    bool gone;      /* another writer has taken a number away */
} tkl__search_writer;

/* Runs that are sent together. Arguments of a bundle may point into the bundle, so bundles do not
 * move. */
typedef struct tkl__search_runs {
    tkl__search_bundle **items;
    size_t count;
} tkl__search_runs;

/* Adds an empty run. NULL: out of memory. */
tkl__search_bundle *tkl__search_run_new(tkl__search_runs *runs, const tkl__search_shard *shard);
/* Adds a run of a script about terms: with the token of the index, the length of a term's key before
 * the term, and a flag. NULL: out of memory. */
tkl__search_bundle *tkl__search_run_begin(const tkl__search_writer *writer, tkl__search_runs *runs,
                                          const tkl__search_shard *shard, bool flag);
void tkl__search_runs_free(tkl__search_runs *runs);
/* Sends the runs. *replies: one reply for each, none of them an error; NULL when there are no
 * runs. */
int tkl__search_runs_send(tkl__search_writer *writer, const tkl__search_runs *runs,
                          const tkl__script *script, tkl_reply **replies);
/* Sends the runs, frees the replies, and empties the list. */
int tkl__search_runs_flush(tkl__search_writer *writer, tkl__search_runs *runs,
                           const tkl__script *script);

/* ---- Clearing (clear.c) -------------------------------------------------- */

/* An old version. A reply owns the bytes. */
typedef struct tkl__search_dead {
    const tkl__search_shard *shard;
    bool owed; /* record and terms did not fit into the reply */
    tkl_bytes number, stamp, record, terms;
} tkl__search_dead;

typedef struct tkl__search_dead_list {
    tkl__search_dead *items;
    size_t count;
} tkl__search_dead_list;

/* `reply`: {number, stamp, record, terms}, or without the last two. */
int tkl__search_dead_add(tkl__search_dead_list *list, const tkl__search_shard *shard,
                         const tkl_reply *reply);
/* Clears the old versions of the list, except those that are `owed`. */
int tkl__search_clear(tkl__search_writer *writer, const tkl__search_dead_list *list);

/* ---- In steps (left.c) --------------------------------------------------- */

/* Fetches and clears the `owed` versions of the list. */
int tkl__search_clear_owed(tkl__search_writer *writer, const tkl__search_dead_list *list);
/* Clears old versions that killed writers left behind on a shard: some hundreds at most. */
int tkl__search_clear_left(tkl__search_writer *writer, const tkl__search_shard *shard);

/* ---- Ladders (ladder.c) -------------------------------------------------- */

/* Makes steps of ladders: {field, side, step} for each. When a step is not made, queries are slower
 * but still correct. */
void tkl__search_make_ladders(tkl__search_writer *writer, const tkl__search_shard *shard,
                              const tkl_reply *worn);

#endif
