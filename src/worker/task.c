/* SPDX-License-Identifier: MIT
 *
 * The functions that handlers call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/error.h"
#include "worker/inside.h"

#define WHY_MAX 1000
/* The longest delay of the queue: ten years. */
#define DELAY_MAX_MS INT64_C(315360000000)
#define RESULT_MAX   (256 << 20) /* a server with a lower limit would never take the report */

const tkl_job *tkl_task_job(const tkl_task *task)
{
    return task->job;
}

/* Also checks the clock: so the handler notices its time limit even before the thread that watches
 * the time. */
bool tkl_task_cancelled(const tkl_task *task)
{
    return atomic_load(&task->cancelled) || atomic_load(&task->worker->cancelled) ||
           (task->deadline != TKL__FOREVER && tkl__left(task->deadline) == 0);
}

int64_t tkl_task_left_ms(const tkl_task *task)
{
    return tkl_consumer_left_ms(task->worker->consumer, task->job);
}

int tkl_task_result(tkl_task *task, tkl_bytes result)
{
    if (result.len > RESULT_MAX)
        return tkl__fail(TKL_EINVAL, "a result has at most %d bytes", RESULT_MAX);
    char *copy = tkl__copy_bytes(result);
    if (!copy)
        return tkl__nomem();
    free(task->result);
    task->result = copy;
    task->result_len = result.len;
    return TKL_OK;
}

int tkl_task_progress(tkl_task *task, tkl_bytes progress)
{
    const tkl_job *job = task->job;
    int64_t lease_ms = task->worker->options.lease_ms;
    int rc = tkl_queue_renew(job->queue, job->id, job->token, lease_ms, progress);
    if (rc == TKL_NOTOWNER)
        atomic_store(&task->cancelled, true);
    return rc;
}

/* ---- How it ends ---------------------------------------------------------- */

static void decide_outcome(tkl_task *task, tkl_outcome outcome, const char *why, int64_t delay_ms)
{
    free(task->why);
    task->decided = true;
    task->outcome = outcome;
    task->why = why ? strndup(why, WHY_MAX) : NULL;
    task->delay_ms = delay_ms;
}

void tkl_task_fail(tkl_task *task, const char *why)
{
    decide_outcome(task, TKL_OUTCOME_FAILED, why, 0);
}

void tkl_task_dead(tkl_task *task, const char *why)
{
    decide_outcome(task, TKL_OUTCOME_DEAD, why, 0);
}

void tkl_task_release(tkl_task *task, int64_t delay_ms)
{
    if (delay_ms < 0)
        delay_ms = 0;
    decide_outcome(task, TKL_OUTCOME_RELEASED, NULL,
                   delay_ms < DELAY_MAX_MS ? delay_ms : DELAY_MAX_MS);
}

static bool code_is_known(int rc)
{
    return strcmp(tkl_strerror(rc), tkl_strerror(INT32_MAX)) != 0;
}

/* A handler that returns an error because the worker stops has not failed: its job is released. */
static void decide_by_code(tkl_task *task, int rc)
{
    char text[64];
    snprintf(text, sizeof text, "the handler returned %d", rc);
    if (rc == TKL_OK)
        decide_outcome(task, TKL_OUTCOME_DONE, NULL, 0);
    else if (atomic_load(&task->worker->cancelled) && !atomic_load(&task->cancelled))
        decide_outcome(task, TKL_OUTCOME_RELEASED, NULL, 0);
    else
        decide_outcome(task, TKL_OUTCOME_FAILED, code_is_known(rc) ? tkl_strerror(rc) : text, 0);
}

void tkl__worker_task_conclude(tkl_task *task, int rc)
{
    if (!task->decided)
        decide_by_code(task, rc);
    tkl_bytes text = tkl_str(task->why);
    if (task->outcome == TKL_OUTCOME_DONE)
        text = (tkl_bytes){task->result, task->result_len};
    task->report = (tkl_report){
        .job = task->job, .outcome = task->outcome, .text = text, .delay_ms = task->delay_ms};
}

bool tkl__worker_task_is_dead(const tkl_task *task)
{
    return task->report.outcome == TKL_OUTCOME_DEAD ||
           (task->report.outcome == TKL_OUTCOME_FAILED && task->job->attempt > task->job->retries);
}
