/* SPDX-License-Identifier: MIT
 *
 * For operators: removes jobs from the queue, makes delayed jobs ready, and puts claimed jobs and
 * dead letters back. Work that may be large is done in steps, so that the server can serve others in
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

/* How many jobs a step moved or removed, by its answer. A step never handles more than 1000. */
static int64_t jobs_of_step(const tkl_reply *reply)
{
    int64_t count = tkl_reply_type_of(reply) == TKL_REPLY_INTEGER ? tkl_reply_int(reply) : 0;
    return count >= 0 && count <= 1000 ? count : 0;
}

/* ---- Jobs that may be active --------------------------------------------- */

/* Runs cancel.lua or requeue.lua, which search for an active job in steps, until the deadline. Their
 * arguments are the id, a cursor, a word, and for cancel.lua the channel of results. */
static int change_job(tkl_queue *queue, const tkl__script *script, const char *id, const char *word,
                      size_t nargs)
{
    const char *digits;
    char cursor[32] = "0";
    tkl__circle circle = {.steps = 0};
    const tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    int64_t deadline = tkl__queue_deadline(queue);
    int rc = partition ? TKL_EMPTY : tkl__no(TKL_NOTFOUND);
    while (rc == TKL_EMPTY) {
        tkl_bytes args[] = {tkl_str(digits), tkl_str(cursor), tkl_str(word), partition->results};
        tkl_reply *reply;
        rc = tkl__queue_run_on(partition, script, args, nargs, false, &reply);
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

static int cancel_job(tkl_queue *queue, const char *id, const char *which)
{
    return change_job(queue, &tkl__lua_queue_cancel, id, which, 4);
}

int tkl_queue_cancel(tkl_queue *queue, const char *id)
{
    return cancel_job(queue, id, "");
}

int tkl_queue_requeue(tkl_queue *queue, const char *id, bool force)
{
    return change_job(queue, &tkl__lua_queue_requeue, id, force ? "1" : "", 3);
}

/* ---- Promoting ----------------------------------------------------------- */

/* A lost reply leaves the outcome unknown: a repeat would answer that the job is not delayed. */
int tkl_queue_promote(tkl_queue *queue, const char *id)
{
    const char *digits;
    tkl_reply *reply;
    const tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    if (!partition)
        return tkl__no(TKL_NOTFOUND);
    tkl_bytes args[] = {tkl_str(digits)};
    int rc = tkl__queue_run_on(partition, &tkl__lua_queue_promote, args, 1, false, &reply);
    if (rc == TKL_OK)
        rc = tkl__no_or_ok((int)tkl_reply_int(reply));
    tkl_reply_free(reply);
    return rc;
}

/* ---- Retrying dead letters ----------------------------------------------- */

static int retry_one(tkl_queue *queue, const char *id, int64_t *count)
{
    const char *digits;
    tkl_reply *reply;
    const tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    if (!partition)
        return tkl__no(TKL_NOTFOUND);
    tkl_bytes args[] = {tkl_str(digits), tkl_str("")};
    int rc = tkl__queue_run_on(partition, &tkl__lua_queue_retry, args, 2, false, &reply);
    *count = jobs_of_step(tkl_reply_at(reply, 0));
    tkl_reply_free(reply);
    return rc;
}

/* Retries all jobs that were dead at the start: jobs that die again meanwhile stay dead. */
static int retry_all(const tkl__queue_partition *partition, int64_t *count)
{
    tkl_bytes args[] = {tkl_str(""), tkl_str("")};
    tkl_reply *last = NULL;
    int64_t some = 1;
    tkl__rounds rounds = {.idle = 0};
    int rc = TKL_OK;
    while (rc == TKL_OK && some > 0) {
        tkl_reply *reply;
        rc = tkl__queue_run_on(partition, &tkl__lua_queue_retry, args, 2, true, &reply);
        if (rc == TKL_OK)
            rc = tkl__expect_array(reply, 2);
        tkl_reply_free(last);
        last = reply;
        some = jobs_of_step(tkl_reply_at(reply, 0));
        args[1] = tkl_reply_bytes(tkl_reply_at(reply, 1));
        *count += some;
        if (rc == TKL_OK && some > 0)
            rc = tkl__queue_next_step(partition, &rounds, some);
    }
    tkl_reply_free(last);
    return rc;
}

int tkl_queue_retry(tkl_queue *queue, const char *id, int64_t *count)
{
    int64_t retried = 0;
    int rc = id ? retry_one(queue, id, &retried) : TKL_OK;
    for (int i = 0; !id && rc == TKL_OK && i < queue->npartitions; i++)
        rc = retry_all(&queue->partitions[i], &retried);
    if (count)
        *count = retried;
    return rc == TKL_OK && retried == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

/* ---- Emptying ------------------------------------------------------------ */

static int drain_partition(const tkl__queue_partition *partition, const char *which, int64_t *count)
{
    char skip[24] = "0";
    tkl__rounds rounds = {.idle = 0};
    bool more = true;
    int rc = TKL_OK;
    while (rc == TKL_OK && more) {
        tkl_reply *reply;
        tkl_bytes args[] = {tkl_str(which), tkl_str(skip), partition->results};
        rc = tkl__queue_run_on(partition, &tkl__lua_queue_drain, args, 3, true, &reply);
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

static int drain_all(tkl_queue *queue, const char *which, int64_t *count)
{
    int64_t removed = 0;
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < queue->npartitions; i++)
        rc = drain_partition(&queue->partitions[i], which, &removed);
    if (count)
        *count = removed;
    return rc;
}

int tkl_queue_drain(tkl_queue *queue, int64_t *count)
{
    return drain_all(queue, "", count);
}

int tkl_queue_drop_dead(tkl_queue *queue, const char *id, int64_t *count)
{
    if (!id)
        return drain_all(queue, "dead", count);
    int rc = cancel_job(queue, id, "dead");
    if (count)
        *count = rc == TKL_OK;
    return rc;
}
