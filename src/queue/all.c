/* SPDX-License-Identifier: MIT */
#include "queue/all.h"

#include <stdlib.h>

#include "core/error.h"

int tkl__run_on(const tkl__shard *shard, const tkl__operation *what, const tkl_bytes *args,
                size_t nargs, bool retry_safe, tkl_reply **reply)
{
    tkl_bytes keys[TKL__PARTS];
    tkl_client *client = shard->queue->client;
    size_t nkeys = (size_t)what->script->nkeys;
    tkl__shard_keys(shard, what->parts, nkeys, keys);
    tkl__invocation call = {.script = what->script,
                            .keys = keys,
                            .nkeys = nkeys,
                            .args = args,
                            .nargs = nargs,
                            .retry_safe = retry_safe};
    return tkl__run(client, &call, tkl__call_deadline(client, NULL), reply);
}

/* The first error among the answers; frees them then. */
static int check_all(tkl_reply **replies)
{
    for (size_t i = 0; i < tkl_reply_count(*replies); i++) {
        const tkl_reply *one = tkl_reply_at(*replies, i);
        int rc = tkl_reply_code(one);
        if (rc != TKL_OK) {
            tkl__fail(rc, "%s", tkl_reply_str(one));
            tkl_reply_free(*replies);
            *replies = NULL;
            return rc;
        }
    }
    return TKL_OK;
}

int tkl__run_on_all(const tkl_queue *queue, const tkl__operation *what, const tkl_bytes *args,
                    size_t nargs, tkl_reply **replies)
{
    size_t n = (size_t)queue->partitions, nkeys = (size_t)what->script->nkeys;
    tkl__invocation *calls = calloc(n, sizeof *calls);
    tkl_bytes *keys = calloc(n * nkeys, sizeof *keys);
    *replies = NULL;
    int rc = calls && keys ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < n; i++) {
        tkl__shard_keys(&queue->shards[i], what->parts, nkeys, keys + i * nkeys);
        calls[i] = (tkl__invocation){.script = what->script,
                                     .keys = keys + i * nkeys,
                                     .nkeys = nkeys,
                                     .args = args,
                                     .nargs = nargs,
                                     .retry_safe = true};
    }
    if (rc == TKL_OK)
        rc = tkl__run_many(queue->client, calls, n, tkl__call_deadline(queue->client, NULL),
                           replies);
    free(calls);
    free(keys);
    if (rc != TKL_OK) {
        tkl_reply_free(*replies);
        *replies = NULL;
        return rc;
    }
    return check_all(replies);
}
