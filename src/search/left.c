/* SPDX-License-Identifier: MIT
 *
 * Clears old versions that the replies to a writer do not have: versions that were too large for
 * one reply, and versions that killed writers left behind. Both are fetched in steps.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "search/call.h"
#include "search/scripts.h"
#include "search/write.h"

/* Numbers of one step, and steps that one call spends on versions of killed writers. */
#define NUMBERS 100
#define STEPS   4

static int ask_numbers(tkl__search_writer *w, const tkl__search_shard *shard,
                       const tkl_bytes *numbers, size_t count, tkl_reply **reply)
{
    tkl__search_call call;
    tkl__search_call_begin(&call, shard);
    tkl__args_str(&call.args, w->schema->token);
    for (size_t i = 0; i < count; i++)
        tkl__args_bytes(&call.args, numbers[i]);
    int rc = tkl__search_call_run(&call, w->search, &tkl__lua_search_left, reply);
    tkl__search_call_free(&call);
    return rc;
}

/* Clears the versions of one step; *done: how many of the numbers the reply covered. */
static int clear_some(tkl__search_writer *w, const tkl__search_shard *shard,
                      const tkl_bytes *numbers, size_t count, size_t *done)
{
    tkl__search_dead_list list = {0};
    tkl_reply *reply = NULL;
    int rc = ask_numbers(w, shard, numbers, count, &reply);
    const tkl_reply *dead = tkl_reply_at(reply, 1);
    *done = tkl_reply_count(dead);
    for (size_t i = 0; rc == TKL_OK && i < *done; i++)
        rc = tkl__search_dead_add(&list, shard, tkl_reply_at(dead, i));
    if (rc == TKL_OK)
        rc = tkl__search_clear(w, &list);
    free(list.items);
    tkl_reply_free(reply);
    return rc;
}

static int clear_owed_of(tkl__search_writer *w, const tkl__search_shard *shard,
                         const tkl_bytes *numbers, size_t count)
{
    int rc = TKL_OK;
    for (size_t at = 0, done = 1; rc == TKL_OK && at < count && done > 0; at += done)
        rc = clear_some(w, shard, numbers + at, count - at < NUMBERS ? count - at : NUMBERS, &done);
    return rc;
}

int tkl__search_clear_owed(tkl__search_writer *w, const tkl__search_dead_list *list)
{
    tkl_bytes *numbers = malloc((list->count + 1) * sizeof *numbers);
    int rc = numbers ? TKL_OK : tkl__nomem();
    for (size_t s = 0; rc == TKL_OK && s < w->schema->shard_count; s++) {
        size_t count = 0;
        for (size_t i = 0; i < list->count; i++)
            if (list->items[i].owed && list->items[i].shard == &w->schema->shards[s])
                numbers[count++] = list->items[i].number;
        rc = clear_owed_of(w, &w->schema->shards[s], numbers, count);
    }
    free(numbers);
    return rc;
}

int tkl__search_clear_left(tkl__search_writer *w, const tkl__search_shard *shard)
{
    int rc = TKL_OK;
    size_t done = 1;
    for (int i = 0; rc == TKL_OK && done > 0 && i < STEPS; i++)
        rc = clear_some(w, shard, NULL, 0, &done);
    return rc;
}
