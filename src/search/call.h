/* SPDX-License-Identifier: MIT
 *
 * One run of a script that executes a plan on one shard.
 */
#ifndef TKL_SEARCH_CALL_H
#define TKL_SEARCH_CALL_H

#include "search/plan.h"

typedef struct tkl__search_call {
    tkl_bytes *keys; /* owned, as are their bytes */
    size_t nkeys;
    tkl__args args;
    bool failed;
} tkl__search_call;

/* The first keys of the call are those of the shard. */
void tkl__search_call_begin(tkl__search_call *call, const tkl__search_shard *shard);
void tkl__search_call_free(tkl__search_call *call);
void tkl__search_call_key(tkl__search_call *call, tkl_bytes key);
/* Adds the key of a term. */
void tkl__search_call_term(tkl__search_call *call, const tkl__search_shard *shard, tkl_bytes term);
/* Adds the key of the documents that have a word several times: see tkl__search_term_several(). */
void tkl__search_call_several(tkl__search_call *call, const tkl__search_shard *shard,
                              tkl_bytes word_term, size_t index);
/* Adds the key of a scratch result, from 1. */
void tkl__search_call_scratch(tkl__search_call *call, const tkl__search_shard *shard,
                              size_t number);

/* Adds the keys of the plan behind the keys of the script itself: ranges, unions, scratch keys,
 * terms. `version`: the version of the shard for which bitmaps were made; "": none were made. */
void tkl__search_call_plan_keys(tkl__search_call *call, const tkl__search_plan *plan,
                                const tkl__search_shard *shard, const char *version);
/* Adds the arguments for these keys: the version, how many scratch keys, ranges and unions there
 * are, and the bounds of the ranges. With `prefixes` also how many prefixes the script has to
 * check, and their bounds. */
void tkl__search_call_plan_args(tkl__search_call *call, const tkl__search_plan *plan, size_t shard,
                                const char *version, bool prefixes);

/* Adds the call to a batch. */
void tkl__search_call_add(tkl__batch *batch, const tkl__search_call *call,
                          const tkl__script *script);
/* Runs the call alone, not in a batch. */
int tkl__search_call_run(const tkl__search_call *call, const tkl_search *search,
                         const tkl__script *script, tkl_reply **reply);

/* Appends the key of the bitmap of a range. */
void tkl__search_range_key(tkl__buf *out, const tkl__search_shard *shard,
                           const tkl__search_range *range, const char *version);

/* Appends the key of the bitmap of a union. */
void tkl__search_union_key(tkl__buf *out, const tkl__search_shard *shard,
                           const tkl__search_union *u, const char *version);

/* Adds the keys of the TKL__SEARCH_TIMES bitmaps of a prefix. */
void tkl__search_call_times_keys(tkl__search_call *call, const tkl__search_shard *shard,
                                 const tkl__search_scorer *scorer, const char *version);

#endif
