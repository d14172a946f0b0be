/* SPDX-License-Identifier: MIT
 *
 * Schedules under the hands of operators: paused, resumed, fired now. A schedule may be in any
 * partition, because its job decides that, so all of them are asked.
 *
 * A paused schedule has the next time 0 and no timer in :delayed. A consumer that was about to fire
 * it notices: 0 is no time that has come, and fire.lua finds that the schedule has changed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/number.h"
#include "core/reply.h"
#include "core/token.h"
#include "queue/all.h"
#include "queue/schedule.h"
#include "queue/scripts.h"

/* ---- Pausing and resuming ------------------------------------------------ */

int tkl_schedule_pause(tkl_queue *queue, tkl_bytes id)
{
    tkl_reply *replies = NULL;
    int64_t paused = 0;
    int rc = tkl__queue_check_schedule_id(id);
    if (rc == TKL_OK)
        rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_schedule_pause, &id, 1, &replies);
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        tkl__add(&paused, tkl_reply_int(tkl_reply_at(replies, i)));
    tkl_reply_free(replies);
    return rc == TKL_OK ? tkl__no_or_ok(paused > 0 ? TKL_OK : TKL_NOTFOUND) : rc;
}

/* Resumes the schedule in this partition: `answer` is that of queue/due. TKL_NOTFOUND: it is not
 * here. TKL_EMPTY: it has changed meanwhile. */
static int resume_in(const tkl__queue_partition *partition, tkl_bytes id, const tkl_reply *answer)
{
    char next[24];
    int64_t next_ms;
    bool fires;
    tkl__queue_planned planned;
    tkl_reply *reply;
    if (!tkl__queue_planned_decode(tkl_reply_bytes(tkl_reply_at(answer, 1)), &planned))
        return TKL_NOTFOUND;
    if (planned.next_ms != TKL__QUEUE_PAUSED)
        return TKL_OK;
    int64_t now_ms = tkl__reply_number(tkl_reply_at(answer, 0));
    int rc = tkl__queue_planned_next(&planned, now_ms, &next_ms, &fires);
    if (rc != TKL_OK)
        return rc;
    snprintf(next, sizeof next, "%" PRId64, next_ms);
    tkl_bytes args[] = {id, planned.beginning, tkl_str(next)};
    rc = tkl__queue_run_on(partition, &tkl__lua_queue_schedule_resume, args, 3, true, &reply);
    if (rc == TKL_OK)
        rc = (int)tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

static int resume_once(tkl_queue *queue, tkl_bytes id)
{
    tkl_reply *replies;
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_due, &id, 1, &replies);
    if (rc != TKL_OK)
        return rc;
    rc = TKL_NOTFOUND;
    for (int i = 0; rc == TKL_NOTFOUND && i < queue->npartitions; i++)
        rc = resume_in(&queue->partitions[i], id, tkl_reply_at(replies, (size_t)i));
    tkl_reply_free(replies);
    return rc;
}

int tkl_schedule_resume(tkl_queue *queue, tkl_bytes id)
{
    int64_t deadline = tkl__queue_deadline(queue);
    int rc = tkl__queue_check_schedule_id(id);
    if (rc == TKL_OK)
        do
            rc = resume_once(queue, id);
        while (rc == TKL_EMPTY && tkl__left(deadline) > 0);
    if (rc == TKL_EMPTY)
        return tkl__fail(TKL_ETIMEOUT, "the schedule keeps changing");
    return rc > 0 ? tkl__no(rc) : rc;
}

/* ---- Firing now ---------------------------------------------------------- */

/* Reads the answer of the partition that has the schedule. */
static int read_fired(const tkl_queue *queue, const tkl_reply *replies, char job[TKL_JOB_ID_SIZE])
{
    for (int i = 0; i < queue->npartitions; i++) {
        const tkl_reply *answer = tkl_reply_at(replies, (size_t)i);
        int code = (int)tkl_reply_int(tkl_reply_at(answer, 0));
        tkl_bytes digits = tkl_reply_bytes(tkl_reply_at(answer, 1));
        if (code == TKL_NOTFOUND)
            continue;
        if ((code == TKL_OK || code == TKL_EXISTS) && !tkl__queue_is_id(digits))
            return tkl__fail(TKL_EPROTO, "not an answer of queue/schedule_fire");
        if (job && code != TKL_FULL)
            tkl__queue_show_id(&queue->partitions[i], digits.data, job);
        return tkl__no_or_ok(code);
    }
    return tkl__no(TKL_NOTFOUND);
}

int tkl_schedule_fire(tkl_queue *queue, tkl_bytes id, char job[TKL_JOB_ID_SIZE])
{
    char lane[TKL_TOKEN_SIZE];
    tkl_reply *replies = NULL;
    if (job)
        *job = '\0';
    int rc = tkl__queue_check_schedule_id(id);
    tkl__token_new(lane);
    tkl_bytes args[] = {id, tkl_str(lane)};
    if (rc == TKL_OK)
        rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_schedule_fire, args, 2, &replies);
    if (rc == TKL_OK)
        rc = read_fired(queue, replies, job);
    tkl_reply_free(replies);
    return rc;
}
