/* SPDX-License-Identifier: MIT
 *
 * For operators: counts, retries, deletes and moves dead letters, all of them or those that fit a
 * filter; counts and deletes done jobs that are kept.
 *
 * dead.lua does all of it, in steps: each looks at a hundred dead letters, the newest first, and
 * answers where the next step goes on. A retry and a deletion change a dead letter in one script.
 * done.lua does the same for done jobs.
 *
 * A move has two sides, which may be two servers. Each step reads dead letters here, pushes them
 * there, and removes here the ones that arrived. A crash in between leaves a job in both queues,
 * and never in none. Each is pushed as a request of its own, named by its key and id: the other
 * queue answers a repetition as it does for all pushes ("Lost answers" in queue.c).
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/onekey.h"
#include "core/options.h"
#include "core/reply.h"
#include "queue/all.h"
#include "queue/filter.h"
#include "queue/record.h"
#include "queue/scripts.h"

/* An action on dead letters, in the words of dead.lua, or on done jobs, in those of done.lua. */
typedef struct task {
    const tkl__script *script;
    const char *action;
    const char *event; /* event for removed dead letters; "": none; NULL: the script is done.lua */
    tkl_queue *to;     /* the queue to which they move; NULL: nowhere */
    int64_t count;     /* jobs counted, changed or moved so far */
    int64_t stayed;    /* jobs that did not move, because of their unique keys */
} task;

enum { STEP_MAX = 100 }; /* jobs that a step looks at, at most */

/* The parts of the answer of a step; done.lua has no FOUND. */
enum { CHOSEN, LOOKED_AT, CURSOR, FOUND };

/* ---- A step -------------------------------------------------------------- */

static int run_step(const tkl__queue_partition *partition, const task *t, tkl_bytes ids,
                    tkl_bytes cursor, const tkl__queue_filter *filter, tkl_reply **reply)
{
    tkl_bytes args[] = {tkl_str(t->action), ids,          cursor,        filter->kind,
                        filter->reason,     filter->text, filter->older, tkl_str("")};
    size_t nargs = 7;
    bool retry_safe = ids.len == 0; /* the next step finds others */
    if (t->event)
        args[nargs++] = tkl_str(t->event);
    int rc = tkl__queue_run_on(partition, t->script, args, nargs, retry_safe, reply);
    return rc == TKL_OK ? tkl__expect_array(*reply, t->event ? FOUND + 1 : FOUND) : rc;
}

/* The number of jobs in the answer to a step; 0 for an invalid answer. */
static int64_t jobs_of_step(const tkl_reply *reply, size_t part)
{
    int64_t count = tkl_reply_int(tkl_reply_at(reply, part));
    return count >= 0 && count <= STEP_MAX ? count : 0;
}

/* ---- Moving -------------------------------------------------------------- */

/* Adds the push of one dead letter, as a request of its own. It always goes to the same partition:
 * that of its group or its unique key, or else one that the request chooses. */
static void add_move(tkl__batch *batch, const tkl__queue_partition *from, const tkl_queue *to,
                     tkl_bytes id, tkl_bytes bytes)
{
    tkl__buf lane;
    tkl__queue_record record;
    tkl_bytes jobs = from->keys[TKL__QUEUE_JOBS];
    tkl__buf_init(&lane);
    tkl__buf_addz(&lane, "moved:");
    tkl__buf_add(&lane, id.data, id.len);
    tkl__buf_add(&lane, jobs.data, jobs.len);
    tkl_bytes request = {lane.data, lane.len}, home = request;
    if (tkl__queue_record_decode(bytes, &record) && record.group.len + record.unique.len > 0)
        home = record.group.len > 0 ? record.group : record.unique;
    if (lane.failed) {
        tkl__batch_fail(batch, tkl__nomem());
    } else {
        tkl_bytes args[] = {request, tkl_str("0"), tkl_str(""), tkl_str(""), bytes};
        tkl__invocation call =
            tkl__queue_call(tkl__queue_partition_of(to, home), &tkl__lua_queue_push, args, 5);
        call.retry_safe = true;
        tkl__batch_add(batch, &call);
    }
    tkl__buf_free(&lane);
}

/* Notes the answer to the push of one dead letter: "id*1", "=id" or "-". */
static void note_move(task *t, tkl_bytes answer, tkl_bytes id, tkl__buf *arrived, tkl_error *first)
{
    char word = answer.len > 0 ? answer.data[0] : '-';
    if (word == '=')
        t->stayed++;
    else if (word == '-')
        tkl__first_note(first, tkl__no(TKL_FULL));
    else
        tkl__buf_addf(arrived, TKL_FMT " ", TKL_ARG(id));
}

/* Moves the dead letters that a step has found, {id, record, ...}: pushes all, and removes the ones
 * that arrived, also when others did not. */
static int move_found(task *t, const tkl__queue_partition *from, const tkl_reply *found)
{
    const tkl__queue_filter any = {.older = {NULL, 0}};
    const task removal = {.script = t->script, .action = "remove", .event = "moved"};
    tkl__batch batch;
    tkl__buf arrived;
    tkl_reply *reply = NULL;
    tkl_error first = {.code = TKL_OK};
    size_t count = tkl_reply_count(found) / 2;
    if (count == 0)
        return TKL_OK;
    tkl__batch_init(&batch, t->to->client);
    tkl__buf_init(&arrived);
    for (size_t i = 0; i < count; i++)
        add_move(&batch, from, t->to, tkl_reply_bytes(tkl_reply_at(found, 2 * i)),
                 tkl_reply_bytes(tkl_reply_at(found, 2 * i + 1)));
    tkl__first_note(&first, tkl__batch_run(&batch, tkl__queue_deadline(t->to)));
    for (size_t i = 0; i < count; i++)
        if (tkl__batch_code(&batch, i) == TKL_OK)
            note_move(t, tkl_reply_bytes(tkl__batch_reply(&batch, i)),
                      tkl_reply_bytes(tkl_reply_at(found, 2 * i)), &arrived, &first);
    tkl__batch_free(&batch);
    if (arrived.failed)
        tkl__first_note(&first, tkl__nomem());
    else if (arrived.len > 0)
        tkl__first_note(&first, run_step(from, &removal, (tkl_bytes){arrived.data, arrived.len},
                                         tkl_str(""), &any, &reply));
    t->count += jobs_of_step(reply, CHOSEN);
    tkl_reply_free(reply);
    tkl__buf_free(&arrived);
    return tkl__first_tell(&first);
}

/* ---- All steps ----------------------------------------------------------- */

static int run_on_partition(task *t, const tkl__queue_partition *partition, tkl_bytes id,
                            const tkl__queue_filter *filter)
{
    tkl_reply *last = NULL;
    tkl_bytes cursor = tkl_str("");
    tkl__rounds rounds = {.idle = 0};
    bool more = true;
    int rc = TKL_OK;
    while (rc == TKL_OK && more) {
        tkl_reply *reply;
        rc = run_step(partition, t, id, cursor, filter, &reply);
        tkl_reply_free(last);
        last = reply;
        if (rc == TKL_OK && t->to)
            rc = move_found(t, partition, tkl_reply_at(reply, FOUND));
        else if (rc == TKL_OK)
            t->count += jobs_of_step(reply, CHOSEN);
        cursor = tkl_reply_bytes(tkl_reply_at(reply, CURSOR));
        more = cursor.len > 0;
        if (rc == TKL_OK && more)
            rc = tkl__queue_next_step(partition, &rounds, jobs_of_step(reply, LOOKED_AT));
    }
    tkl_reply_free(last);
    return rc;
}

static int run_task(tkl_queue *queue, const tkl_job_filter *filter, task *t, int64_t *count)
{
    const char *digits = "";
    tkl__queue_filter given;
    const tkl__queue_partition *one = NULL;
    int rc = tkl__queue_filter_read(filter, &given);
    if (rc == TKL_OK && filter && filter->within_ms != 0)
        rc = tkl__fail(TKL_EINVAL, "within_ms is for tkl_queue_find() only");
    if (rc == TKL_OK && filter && filter->id &&
        !(one = tkl__queue_find_id(queue, filter->id, &digits)))
        rc = tkl__no(TKL_NOTFOUND);
    else if (rc == TKL_OK && one)
        rc = run_on_partition(t, one, tkl_str(digits), &given);
    for (int i = 0; rc == TKL_OK && !one && i < queue->npartitions; i++)
        rc = run_on_partition(t, &queue->partitions[i], tkl_str(""), &given);
    if (count)
        *count = t->count;
    return rc;
}

int tkl_queue_count_dead(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
{
    task t = {.script = &tkl__lua_queue_dead, .action = "count", .event = ""};
    int rc = run_task(queue, filter, &t, count);
    return rc == TKL_NOTFOUND ? TKL_OK : rc;
}

int tkl_queue_retry(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
{
    task t = {.script = &tkl__lua_queue_dead, .action = "retry", .event = ""};
    int rc = run_task(queue, filter, &t, count);
    return rc == TKL_OK && t.count == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

int tkl_queue_drop_dead(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
{
    task t = {.script = &tkl__lua_queue_dead, .action = "remove", .event = "cancelled"};
    int rc = run_task(queue, filter, &t, count);
    return rc == TKL_OK && filter && t.count == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

int tkl_queue_move_dead(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to,
                        int64_t *count)
{
    task t = {.script = &tkl__lua_queue_dead, .action = "read", .event = "", .to = to};
    if (queue->client == to->client && tkl__same_bytes(queue->name, to->name))
        return tkl__fail(TKL_EINVAL, "dead letters move to another queue; retry puts them back");
    int rc = run_task(queue, filter, &t, count);
    if (rc == TKL_OK && t.stayed > 0)
        return tkl__no(TKL_EXISTS);
    return rc == TKL_OK && t.count == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

/* ---- Done jobs ----------------------------------------------------------- */

int tkl_queue_count_done(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
{
    task t = {.script = &tkl__lua_queue_done, .action = "count"};
    int rc = run_task(queue, filter, &t, count);
    return rc == TKL_NOTFOUND ? TKL_OK : rc;
}

int tkl_queue_drop_done(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
{
    task t = {.script = &tkl__lua_queue_done, .action = "remove"};
    int rc = run_task(queue, filter, &t, count);
    return rc == TKL_OK && filter && t.count == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}
