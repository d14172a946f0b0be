/* SPDX-License-Identifier: MIT
 *
 * The round trips of a worker: reports and claims.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "worker/inside.h"

#define CLAIM_MAX      1000 /* most jobs that a consumer claims at once */
#define BACKOFF_MAX_US 1000000

/* ---- Tasks ---------------------------------------------------------------- */

struct tkl__worker_lot {
    tkl_jobs *jobs;
    size_t left; /* tasks that are not over */
    tkl_task tasks[];
};

/* Makes a lot before the claim, for as many jobs as it may bring: claimed jobs must not be lost for
 * lack of memory. */
static tkl__worker_lot *lot_new(size_t max)
{
    tkl__worker_lot *lot = malloc(sizeof *lot + max * sizeof *lot->tasks);
    if (!lot)
        tkl__nomem();
    return lot;
}

void tkl__worker_task_drop(tkl_task *task)
{
    tkl__worker_lot *lot = task->lot;
    if (--task->users > 0)
        return;
    free(task->why);
    free(task->result);
    if (--lot->left > 0)
        return;
    tkl_jobs_free(lot->jobs);
    free(lot);
}

static void admit_jobs(tkl_worker *w, tkl__worker_lot *lot, tkl_jobs *jobs)
{
    lot->jobs = jobs;
    lot->left = jobs->count;
    for (size_t i = 0; i < jobs->count; i++) {
        tkl_task *task = &lot->tasks[i];
        memset(task, 0, sizeof *task);
        task->worker = w;
        task->lot = lot;
        task->job = &jobs->items[i];
        task->users = 1;
        task->deadline = TKL__FOREVER;
        task->claimed = tkl__lease_now();
        atomic_init(&task->cancelled, false);
        tkl__worker_chain_add(&w->fetched, task);
    }
}

static tkl_task *find_task(const tkl__worker_chain *chain, const char *id, const char *token)
{
    for (tkl_task *t = chain->first; t; t = t->next)
        if (strcmp(t->job->token, token) == 0 && strcmp(t->job->id, id) == 0)
            return t;
    return NULL;
}

/* Cancels a running task; it is reported all the same, and the server decides. Drops a task that
 * was not begun. */
void tkl__worker_on_lost(const char *id, const char *token, void *worker)
{
    tkl_worker *w = worker;
    pthread_mutex_lock(&w->mutex);
    tkl_task *task = find_task(&w->running, id, token);
    if (task)
        atomic_store(&task->cancelled, true);
    task = find_task(&w->fetched, id, token);
    if (task) {
        tkl__worker_chain_remove(&w->fetched, task);
        tkl__worker_task_drop(task);
        w->stats.lost++;
        tkl__worker_wake(w, tkl__now());
    }
    pthread_mutex_unlock(&w->mutex);
}

void tkl__worker_on_damaged(tkl_queue *queue, const char *id, void *worker)
{
    tkl_worker *w = worker;
    pthread_mutex_lock(&w->mutex);
    w->stats.failed++;
    w->stats.dead++;
    pthread_mutex_unlock(&w->mutex);
    if (w->options.on_damaged)
        w->options.on_damaged(queue, id, w->options.arg);
}

/* ---- The list of reports --------------------------------------------------- */

void tkl__worker_report_add(tkl_worker *w, tkl_task *task, int64_t now)
{
    tkl__worker_chain *c = &w->reports;
    task->next_report = NULL;
    *(c->last ? &c->last->next_report : &c->first) = task;
    c->last = task;
    if (c->count++ == 0)
        w->report_since = now;
}

static tkl_task *take_report(tkl_worker *w)
{
    tkl__worker_chain *c = &w->reports;
    tkl_task *task = c->first;
    c->first = task->next_report;
    if (!c->first)
        c->last = NULL;
    c->count--;
    w->repeated -= task->repeated;
    return task;
}

static void put_report_back(tkl_worker *w, tkl_task *task)
{
    tkl__worker_chain *c = &w->reports;
    task->next_report = c->first;
    task->repeated = true;
    c->first = task;
    if (!c->last)
        c->last = task;
    c->count++;
    w->repeated++;
}

void tkl__worker_release_fetched(tkl_worker *w, int64_t now)
{
    for (tkl_task *task; (task = w->fetched.first);) {
        tkl__worker_chain_remove(&w->fetched, task);
        task->report = (tkl_report){.job = task->job, .outcome = TKL_OUTCOME_RELEASED};
        tkl__worker_report_add(w, task, now);
    }
}

void tkl__worker_drop_reports(tkl_worker *w)
{
    while (w->reports.count > 0) {
        tkl__worker_task_drop(take_report(w));
        w->stats.lost++;
    }
}

/* ---- A batch --------------------------------------------------------------- */

/* A batch of reports under way: the reports on the sheet, and their tasks. */
typedef struct report_batch {
    tkl_report *sheet;
    size_t count;
    tkl_task *first; /* linked by next_report */
    int rc;          /* the first error */
    char message[256];
} report_batch;

static void pack_reports(tkl_worker *w, report_batch *b, tkl_report *sheet)
{
    tkl_task **end = &b->first;
    *b = (report_batch){.sheet = sheet};
    while (w->reports.count > 0 && b->count < w->sheet_size) {
        tkl_task *task = take_report(w);
        sheet[b->count] = task->report;
        sheet[b->count++].code = TKL_ENOTSENT;
        *end = task;
        end = &task->next_report;
    }
    *end = NULL;
}

static void note_failure(report_batch *b, int rc)
{
    if (rc >= 0 || b->rc < 0)
        return;
    const char *why = tkl_errmsg(); /* may be "", after a claim that carried the reports */
    b->rc = rc;
    snprintf(b->message, sizeof b->message, "%s", *why ? why : tkl_strerror(rc));
}

static void count_outcome(tkl_worker_stats *s, const tkl_task *task)
{
    uint64_t *counters[] = {[TKL_OUTCOME_DONE] = &s->done,
                            [TKL_OUTCOME_FAILED] = &s->failed,
                            [TKL_OUTCOME_DEAD] = &s->failed,
                            [TKL_OUTCOME_RELEASED] = &s->released};
    ++*counters[task->report.outcome];
    s->dead += tkl__worker_task_is_dead(task);
}

/* Notes the answer to a report. True: it must be sent again. */
static bool settle_report(tkl_worker *w, tkl_task *task, int code)
{
    if (code < 0)
        return true;
    if (code == TKL_OK)
        count_outcome(&w->stats, task);
    else
        w->stats.lost++;
    tkl__worker_task_drop(task);
    return false;
}

/* Settles all reports of a batch. Failed ones go back to the head of the list, in their order. */
static void unpack_reports(tkl_worker *w, report_batch *b, int64_t now)
{
    tkl_task *again = NULL;
    for (size_t i = 0; i < b->count; i++) {
        tkl_task *task = b->first;
        b->first = task->next_report;
        note_failure(b, b->sheet[i].code);
        if (!settle_report(w, task, b->sheet[i].code))
            continue;
        task->next_report = again;
        again = task;
    }
    if (again && w->reports.count == 0)
        w->report_since = now;
    while (again) {
        tkl_task *task = again;
        again = task->next_report;
        put_report_back(w, task);
    }
}

static void call_on_error(tkl_worker *w, const report_batch *b)
{
    if (!w->options.on_error)
        return;
    pthread_mutex_unlock(&w->mutex);
    w->options.on_error(b->rc, b->message, w->options.arg);
    pthread_mutex_lock(&w->mutex);
}

void tkl__worker_on_error(int code, const char *message, void *worker)
{
    tkl_worker *w = worker;
    pthread_mutex_lock(&w->mutex);
    w->stats.errors++;
    pthread_mutex_unlock(&w->mutex);
    if (w->options.on_error)
        w->options.on_error(code, message, w->options.arg);
}

/* Ends a batch. After a failure the next one waits, longer each time. */
static void end_batch(tkl_worker *w, report_batch *b)
{
    int64_t now = tkl__now();
    unpack_reports(w, b, now);
    if (b->rc == TKL_OK) {
        w->failures = 0;
        return;
    }
    w->again_at = now + tkl__backoff(w->failures++, BACKOFF_MAX_US);
    w->stats.errors++;
    call_on_error(w, b);
}

void tkl__worker_report(tkl_worker *w, int64_t now)
{
    report_batch b;
    w->reporting = true;
    pack_reports(w, &b, w->sheet[1]);
    tkl__worker_wake(w, now);
    pthread_mutex_unlock(&w->mutex);
    int rc = tkl_consumer_finish(w->consumer, b.sheet, b.count);
    note_failure(&b, rc);
    pthread_mutex_lock(&w->mutex);
    end_batch(w, &b);
    w->reporting = false;
}

size_t tkl__worker_room(const tkl_worker *w)
{
    int64_t taken = (int64_t)(w->running.count + w->fetched.count);
    int64_t room = (int64_t)w->capacity - taken - (int64_t)w->repeated;
    int64_t left = w->options.max_jobs - w->begun - (int64_t)w->fetched.count;
    if (w->options.max_jobs > 0 && room > left)
        room = left;
    return room < 0 ? 0 : room > CLAIM_MAX ? CLAIM_MAX : (size_t)room;
}

void tkl__worker_fetch(tkl_worker *w, int64_t now)
{
    report_batch b;
    tkl_jobs *jobs = NULL;
    size_t room = tkl__worker_room(w);
    w->fetching = true;
    pack_reports(w, &b, w->sheet[0]);
    w->waiting = b.count == 0 && (!w->options.drain || w->running.count > 0);
    int64_t wait_ms = w->waiting ? -1 : 0;
    tkl__worker_wake(w, now);
    pthread_mutex_unlock(&w->mutex);
    tkl__worker_lot *lot = lot_new(room);
    int rc =
        lot ? tkl_consumer_next(w->consumer, b.sheet, b.count, room, wait_ms, &jobs) : TKL_ENOMEM;
    note_failure(&b, rc);
    pthread_mutex_lock(&w->mutex);
    w->waiting = w->called_back = false;
    w->dry = rc == TKL_EMPTY && wait_ms == 0;
    if (jobs && jobs->count > 0) {
        admit_jobs(w, lot, jobs);
    } else {
        tkl_jobs_free(jobs);
        free(lot);
    }
    end_batch(w, &b);
    w->fetching = false;
}
