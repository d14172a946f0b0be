/* SPDX-License-Identifier: MIT */
#include "queue/all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"

int tkl__queue_run_on(const tkl__queue_partition *partition, const tkl__script *script,
                      const tkl_bytes *args, size_t nargs, bool retry_safe, tkl_reply **reply)
{
    tkl__invocation call = tkl__queue_call(partition, script, args, nargs);
    call.retry_safe = retry_safe;
    return tkl__run(partition->queue->client, &call, tkl__queue_deadline(partition->queue), reply);
}

int tkl__queue_run_search(const tkl_queue *queue, const tkl__invocation *call, tkl_bytes *cursor,
                          tkl_reply **reply)
{
    char text[32] = "0";
    tkl__circle circle = {.steps = 0};
    int64_t deadline = tkl__queue_deadline(queue);
    for (;;) {
        *cursor = tkl_str(text);
        int rc = tkl__run(queue->client, call, deadline, reply);
        if (rc != TKL_OK || tkl_reply_count(*reply) != 1)
            return rc;
        rc = tkl__circle_next(&circle, tkl_reply_bytes(tkl_reply_at(*reply, 0)));
        snprintf(text, sizeof text, "%s", tkl_reply_str(tkl_reply_at(*reply, 0)));
        tkl_reply_free(*reply);
        *reply = NULL;
        if (rc == TKL_OK && tkl__left(deadline) == 0)
            rc = tkl__fail(TKL_ETIMEOUT, "the job was not found in time");
        if (rc != TKL_OK)
            return rc;
    }
}

/* A step handles hundreds of jobs, or a few if they are very large. */
int tkl__queue_next_step(const tkl__queue_partition *partition, tkl__rounds *rounds, int64_t jobs)
{
    return tkl__next_round(rounds, partition->queue->client, 0, jobs > 1);
}

int tkl__queue_run_on_all(const tkl_queue *queue, const tkl__script *script, const tkl_bytes *args,
                          size_t nargs, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, queue->client);
    for (int i = 0; i < queue->npartitions; i++) {
        tkl__invocation call = tkl__queue_call(&queue->partitions[i], script, args, nargs);
        call.retry_safe = true;
        tkl__batch_add(&batch, &call);
    }
    return tkl__batch_end(&batch, tkl__queue_deadline(queue), replies);
}

int tkl__queue_run_on_queues(tkl_queue *const *queues, size_t count, const tkl__script *script,
                             tkl_reply **replies)
{
    tkl__batch batch;
    *replies = NULL;
    if (count == 0)
        return TKL_OK;
    for (size_t i = 1; i < count; i++)
        if (queues[i]->client != queues[0]->client)
            return tkl__fail(TKL_EINVAL, "the queues must be of one client");
    tkl__batch_init(&batch, queues[0]->client);
    for (size_t i = 0; i < count; i++)
        for (int p = 0; p < queues[i]->npartitions; p++) {
            tkl__invocation call = tkl__queue_call(&queues[i]->partitions[p], script, NULL, 0);
            call.retry_safe = true;
            tkl__batch_add(&batch, &call);
        }
    return tkl__batch_end(&batch, tkl__queue_deadline(queues[0]), replies);
}

int tkl__queue_result_key(const tkl__queue_partition *partition, const char *digits, tkl_bytes *key)
{
    size_t len = partition->results.len;
    char *text = malloc(len + TKL__QUEUE_ID_LEN);
    if (!text)
        return tkl__nomem();
    memcpy(text, partition->results.data, len);
    memcpy(text + len, digits, TKL__QUEUE_ID_LEN);
    *key = (tkl_bytes){text, len + TKL__QUEUE_ID_LEN};
    return TKL_OK;
}

int tkl__queue_result_keys(const tkl__queue_partition *partition, const char *digits,
                           tkl_bytes keys[TKL__QUEUE_KEYS + 1])
{
    memcpy(keys, partition->keys, sizeof partition->keys);
    keys[TKL__QUEUE_KEYS] = (tkl_bytes){NULL, 0};
    return tkl__queue_result_key(partition, digits, &keys[TKL__QUEUE_KEYS]);
}
