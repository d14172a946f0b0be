/* SPDX-License-Identifier: MIT
 *
 * For operators: removes jobs from the queue, makes delayed jobs ready, changes payloads, and puts
 * claimed jobs back. Work that may be large is done in steps, so that the server can serve others in
 * between.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/onekey.h"
#include "queue/all.h"
#include "queue/scripts.h"

/* How many jobs a step removed, by its answer. A step never handles more than 1000. */
static int64_t jobs_of_step(const tkl_reply *reply)
{
    int64_t count = tkl_reply_type_of(reply) == TKL_REPLY_INTEGER ? tkl_reply_int(reply) : 0;
    return count >= 0 && count <= 1000 ? count : 0;
}

/* ---- Jobs that may be active --------------------------------------------- */

/* Runs cancel.lua or requeue.lua, which search for an active job in steps, until the deadline. Their
 * arguments are the id, a cursor, and for requeue.lua whether to `force` it, for cancel.lua the
 * channel of results. */
static int change_job(tkl_queue *queue, const tkl__script *script, const char *id,
                      const char *force)
{
    const char *digits;
    char cursor[32] = "0";
    tkl__circle circle = {.steps = 0};
    const tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    int64_t deadline = tkl__queue_deadline(queue);
    int rc = partition ? TKL_EMPTY : tkl__no(TKL_NOTFOUND);
    while (rc == TKL_EMPTY) {
        tkl_bytes args[] = {tkl_str(digits), tkl_str(cursor),
                            force ? tkl_str(force) : partition->results};
        tkl_reply *reply;
        rc = tkl__queue_run_on(partition, script, args, 3, false, &reply);
        if (rc == TKL_OK)
            rc = (int)tkl_reply_int(tkl_reply_at(reply, 0));
        tkl_bytes next = tkl_reply_bytes(tkl_reply_at(reply, 1));
        if (rc == TKL_EMPTY && tkl__circle_next(&circle, next) != TKL_OK)
            rc = TKL_EPROTO;
        snprintf(cursor, sizeof cursor, "%s", tkl_reply_str(tkl_reply_at(reply, 1)));
        tkl_reply_free(reply);
        if (rc == TKL_EMPTY && tkl__left(deadline) == 0)
            rc = tkl__fail(TKL_ETIMEOUT, "the job was not found in time");
    }
    return rc > 0 ? tkl__no(rc) : rc;
}

int tkl_queue_cancel(tkl_queue *queue, const char *id)
{
    return change_job(queue, &tkl__lua_queue_cancel, id, NULL);
}

int tkl_queue_requeue(tkl_queue *queue, const char *id, bool force)
{
    return change_job(queue, &tkl__lua_queue_requeue, id, force ? "1" : "");
}

/* ---- Promoting and editing ----------------------------------------------- */

/* Runs promote.lua or edit.lua. A lost reply leaves the outcome unknown: a repeat would answer that
 * the job is not delayed, or that a worker has it. */
static int change_waiting(tkl_queue *queue, const tkl__script *script, const char *id,
                          const tkl_bytes *payload)
{
    const char *digits;
    tkl_reply *reply;
    const tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    if (!partition)
        return tkl__no(TKL_NOTFOUND);
    tkl_bytes args[] = {tkl_str(digits), payload ? *payload : tkl_str("")};
    int rc = tkl__queue_run_on(partition, script, args, payload ? 2 : 1, false, &reply);
    if (rc == TKL_OK)
        rc = tkl__no_or_ok((int)tkl_reply_int(reply));
    tkl_reply_free(reply);
    return rc;
}

int tkl_queue_promote(tkl_queue *queue, const char *id)
{
    return change_waiting(queue, &tkl__lua_queue_promote, id, NULL);
}

int tkl_queue_edit(tkl_queue *queue, const char *id, tkl_bytes payload)
{
    return change_waiting(queue, &tkl__lua_queue_edit, id, &payload);
}

/* ---- Emptying ------------------------------------------------------------ */

static int drain_partition(const tkl__queue_partition *partition, int64_t *count)
{
    char skip[24] = "0";
    tkl__rounds rounds = {.idle = 0};
    bool more = true;
    int rc = TKL_OK;
    while (rc == TKL_OK && more) {
        tkl_reply *reply;
        tkl_bytes args[] = {tkl_str(skip), partition->results};
        rc = tkl__queue_run_on(partition, &tkl__lua_queue_drain, args, 2, true, &reply);
        if (rc == TKL_OK)
            rc = tkl__expect_array(reply, 3);
        int64_t removed = jobs_of_step(tkl_reply_at(reply, 0));
        *count += removed;
        int64_t passed = tkl_reply_int(tkl_reply_at(reply, 1)) - strtoll(skip, NULL, 10);
        snprintf(skip, sizeof skip, "%" PRId64, tkl_reply_int(tkl_reply_at(reply, 1)));
        more = tkl_reply_int(tkl_reply_at(reply, 2)) != 0;
        tkl_reply_free(reply);
        if (rc == TKL_OK && more)
            rc = tkl__queue_next_step(partition, &rounds, passed > 0 ? removed + passed : removed);
    }
    return rc;
}

int tkl_queue_drain(tkl_queue *queue, int64_t *count)
{
    int64_t removed = 0;
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < queue->npartitions; i++)
        rc = drain_partition(&queue->partitions[i], &removed);
    if (count)
        *count = removed;
    return rc;
}
