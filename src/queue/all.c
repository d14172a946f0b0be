/* SPDX-License-Identifier: MIT */
#include "queue/all.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

int tkl__queue_run_on(const tkl__queue_shard *shard, const tkl__script *script,
                      const tkl_bytes *args, size_t nargs, bool retry_safe, tkl_reply **reply)
{
    tkl__invocation call = tkl__queue_call(shard, script, args, nargs);
    call.retry_safe = retry_safe;
    return tkl__run(shard->queue->client, &call, tkl__queue_deadline(shard->queue), reply);
}

/* A step handles hundreds of jobs, or a few if they are very large. */
int tkl__queue_next_step(const tkl__queue_shard *shard, tkl__rounds *rounds, int64_t jobs)
{
    return tkl__next_round(rounds, shard->queue->client, 0, jobs > 1);
}

/* Returns the first error among the answers; frees the answers in that case. */
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

int tkl__queue_run_on_all(const tkl_queue *queue, const tkl__script *script, const tkl_bytes *args,
                          size_t nargs, tkl_reply **replies)
{
    size_t n = (size_t)queue->partitions;
    tkl__invocation *calls = calloc(n, sizeof *calls);
    *replies = NULL;
    int rc = calls ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < n; i++) {
        calls[i] = tkl__queue_call(&queue->shards[i], script, args, nargs);
        calls[i].retry_safe = true;
    }
    if (rc == TKL_OK)
        rc = tkl__run_many(queue->client, calls, n, tkl__queue_deadline(queue), replies);
    free(calls);
    if (rc != TKL_OK) {
        tkl_reply_free(*replies);
        *replies = NULL;
        return rc;
    }
    return check_all(replies);
}

int tkl__queue_result_key(const tkl__queue_shard *shard, const char *digits, tkl_bytes *key)
{
    size_t len = shard->results.len;
    char *text = malloc(len + TKL__QUEUE_ID_LEN);
    if (!text)
        return tkl__nomem();
    memcpy(text, shard->results.data, len);
    memcpy(text + len, digits, TKL__QUEUE_ID_LEN);
    *key = (tkl_bytes){text, len + TKL__QUEUE_ID_LEN};
    return TKL_OK;
}

int tkl__queue_add_result_key(const tkl__queue_shard *shard, const char *digits,
                              tkl_bytes keys[TKL__QUEUE_KEYS + 1], tkl__invocation *call)
{
    memcpy(keys, shard->keys, sizeof shard->keys);
    keys[TKL__QUEUE_KEYS] = (tkl_bytes){NULL, 0};
    call->keys = keys;
    call->nkeys = TKL__QUEUE_KEYS + 1;
    return tkl__queue_result_key(shard, digits, &keys[TKL__QUEUE_KEYS]);
}
