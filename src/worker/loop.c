/* SPDX-License-Identifier: MIT
 *
 * The loop of a worker's threads: which duty is next.
 */
#include "core/clock.h"
#include "worker/inside.h"

/* How long a report may wait for others while all threads have work. */
#define REPORT_DELAY_US 1000

typedef enum duty {
    REST, /* nothing to do */
    RUN,
    FETCH,
    REPORT,
    CALL, /* wake the thread that waits for jobs: no handler runs any more */
    END,
} duty;

/* ---- Chains ---------------------------------------------------------------- */

void tkl__worker_chain_add(tkl__worker_chain *c, tkl_task *task)
{
    task->next = NULL;
    task->prev = c->last;
    *(c->last ? &c->last->next : &c->first) = task;
    c->last = task;
    c->count++;
}

void tkl__worker_chain_remove(tkl__worker_chain *c, tkl_task *task)
{
    *(task->prev ? &task->prev->next : &c->first) = task->next;
    *(task->next ? &task->next->prev : &c->last) = task->prev;
    c->count--;
}

/* ---- Which duty is next ---------------------------------------------------- */

static bool has_idle_threads(const tkl_worker *w)
{
    return w->running.count + w->fetched.count < (size_t)w->options.threads;
}

/* Whether reports must leave now. While all threads have work they wait for each other, but not for
 * long. */
static bool report_presses(const tkl_worker *w, int64_t now)
{
    return w->reports.count > 0 &&
           (w->stopping || w->waiting || has_idle_threads(w) || w->fetched.count <= w->low_water ||
            now >= w->report_since + REPORT_DELAY_US);
}

/* Waiting for jobs makes sense only with a thread that can run them at once: a busy worker must not
 * keep jobs from an idle one. A draining worker claims only after its reports: the end of a job may
 * make another one ready, and a claim that overtakes the report would miss it. */
static bool should_fetch(const tkl_worker *w, int64_t now)
{
    if (w->fetching || w->stopping || now < w->again_at || tkl__worker_room(w) == 0)
        return false;
    if (w->options.drain && w->reporting)
        return false;
    if (report_presses(w, now))
        return true;
    return has_idle_threads(w) && !(w->options.drain && w->dry && w->running.count == 0);
}

static bool should_call(const tkl_worker *w)
{
    return w->options.drain && w->waiting && !w->called_back && w->running.count == 0 &&
           w->fetched.count == 0;
}

static bool should_report(const tkl_worker *w, int64_t now)
{
    if (w->reporting || now < w->again_at || (w->fetching && !w->waiting))
        return false;
    return report_presses(w, now);
}

static duty next_duty(const tkl_worker *w, int64_t now)
{
    if (w->ended)
        return END;
    if (w->fetched.count > 0 && w->running.count < (size_t)w->options.threads)
        return RUN;
    if (should_call(w))
        return CALL;
    if (should_fetch(w, now))
        return FETCH;
    return should_report(w, now) ? REPORT : REST;
}

/* ---- Time ------------------------------------------------------------------ */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_limit(const tkl_worker *w)
{
    int64_t at = TKL__FOREVER;
    if (w->limited > 0)
        for (const tkl_task *t = w->running.first; t; t = t->next)
            if (!t->given_up)
                at = earlier(at, t->deadline);
    return at;
}

/* When the next duty may change even if nothing happens. */
static int64_t next_time(const tkl_worker *w, int64_t now)
{
    int64_t at = next_limit(w);
    if (now < w->again_at)
        return earlier(at, w->again_at);
    if (w->reports.count > 0 && !w->fetching && !w->reporting)
        at = earlier(at, w->report_since + REPORT_DELAY_US);
    return at;
}

/* Reports a job beyond its time limit as failed, whatever its handler does. */
static void give_up_task(tkl_worker *w, tkl_task *task, int64_t now)
{
    task->given_up = true;
    task->users++;
    atomic_store(&task->cancelled, true);
    task->report = (tkl_report){.job = task->job,
                                .outcome = TKL_OUTCOME_FAILED,
                                .text = tkl_str("time limit"),
                                .run_us = now - task->began};
    tkl__worker_report_add(w, task, now);
    w->limited--;
    w->stats.timeouts++;
}

static void enforce_limits(tkl_worker *w, int64_t now)
{
    if (w->limited == 0)
        return;
    for (tkl_task *t = w->running.first; t; t = t->next)
        if (!t->given_up && t->deadline <= now)
            give_up_task(w, t, now);
}

/* ---- The end --------------------------------------------------------------- */

static bool is_over(const tkl_worker *w)
{
    return w->running.count == 0 && w->fetched.count == 0 && w->reports.count == 0 &&
           !w->fetching && !w->reporting;
}

static bool ends_by_itself(const tkl_worker *w)
{
    if (w->options.max_jobs > 0 && w->begun >= w->options.max_jobs)
        return true;
    return w->options.drain && w->dry && is_over(w);
}

/* Whether no server has taken the reports for the time of a lease: their claims have ended by
 * now. */
static bool reports_are_void(const tkl_worker *w, int64_t now)
{
    return w->running.count == 0 && now > w->last_end + w->options.lease_ms * 1000;
}

static void check_end(tkl_worker *w, int64_t now)
{
    if (!w->stopping && ends_by_itself(w)) {
        w->stopping = true;
        w->last_end = now;
    }
    if (!w->stopping || w->ended)
        return;
    tkl__worker_release_fetched(w, now);
    if (w->repeated > 0 && reports_are_void(w, now))
        tkl__worker_drop_reports(w);
    w->ended = is_over(w);
    if (w->ended) {
        tkl__cond_broadcast(&w->work);
        tkl__cond_broadcast(&w->news);
    }
}

/* ---- A thread -------------------------------------------------------------- */

/* Wakes one thread at a time; that thread wakes the next. */
void tkl__worker_wake(tkl_worker *w, int64_t now)
{
    if (w->resting == 0 || w->woken)
        return;
    if (next_duty(w, now) == REST && next_time(w, now) >= w->watch_until)
        return;
    w->woken = true;
    tkl__cond_signal(&w->work);
}

/* Rests until the thread is woken. One of the resting threads watches the time for all. */
static void rest_thread(tkl_worker *w, int64_t now)
{
    int64_t until = next_time(w, now);
    bool watches = until < w->watch_until;
    if (watches)
        w->watch_until = until;
    w->resting++;
    tkl__cond_wait(&w->work, &w->mutex, watches ? until : TKL__FOREVER);
    w->resting--;
    w->woken = false;
    if (watches && w->watch_until == until)
        w->watch_until = TKL__FOREVER;
}

static void begin_task(tkl_worker *w, tkl_task *task, int64_t now)
{
    int64_t limit_ms = task->job->time_limit_ms;
    tkl__worker_chain_remove(&w->fetched, task);
    tkl__worker_chain_add(&w->running, task);
    task->began = now;
    task->deadline = limit_ms > 0 ? tkl__deadline_ms(limit_ms) : TKL__FOREVER;
    w->limited += limit_ms > 0;
    w->begun++;
}

/* Fills in the report after the handler has returned. From now on the time limit cannot end the
 * task. */
static void conclude_task(tkl_worker *w, tkl_task *task, int rc, int64_t now)
{
    w->stats.busy_us += now - task->began;
    if (task->given_up)
        return;
    w->limited -= task->deadline != TKL__FOREVER;
    task->deadline = TKL__FOREVER;
    tkl__worker_task_conclude(task, rc);
    task->report.run_us = now - task->began;
}

static void call_on_end(tkl_worker *w, const tkl_task *task, int64_t run_us)
{
    if (!w->options.on_end)
        return;
    tkl_outcome outcome = tkl__worker_task_is_dead(task) ? TKL_OUTCOME_DEAD : task->report.outcome;
    pthread_mutex_unlock(&w->mutex);
    w->options.on_end(task->job, outcome, run_us, w->options.arg);
    pthread_mutex_lock(&w->mutex);
}

/* Without the mutex: asks the server whether the claim of a job is still valid, if it was made a
 * while ago. This process may have been stopped for longer than the lease, and another worker may
 * have the job. */
static bool is_still_claimed(tkl_worker *w, const tkl_task *task)
{
    const tkl_job *job = task->job;
    if (tkl__lease_now() - task->claimed < w->options.lease_ms * 1000 / 2)
        return true;
    return tkl_queue_renew(job->queue, job->id, job->token, w->options.lease_ms, tkl_str("")) !=
           TKL_NOTOWNER;
}

static void drop_lost(tkl_worker *w, tkl_task *task)
{
    w->limited -= task->deadline != TKL__FOREVER && !task->given_up;
    tkl__worker_chain_remove(&w->running, task);
    tkl__worker_task_drop(task);
    w->stats.lost++;
    w->begun--;
}

static void run_task(tkl_worker *w, int64_t now)
{
    tkl_task *task = w->fetched.first;
    begin_task(w, task, now);
    tkl__worker_wake(w, now);
    pthread_mutex_unlock(&w->mutex);
    if (!is_still_claimed(w, task)) {
        pthread_mutex_lock(&w->mutex);
        drop_lost(w, task);
        return;
    }
    int rc = tkl__worker_handle(w, task);
    now = tkl__now();
    pthread_mutex_lock(&w->mutex);
    conclude_task(w, task, rc, now);
    call_on_end(w, task, now - task->began);
    tkl__worker_chain_remove(&w->running, task);
    w->last_end = now;
    if (task->given_up)
        tkl__worker_task_drop(task);
    else
        tkl__worker_report_add(w, task, now);
}

static void call_back(tkl_worker *w)
{
    w->called_back = true;
    pthread_mutex_unlock(&w->mutex);
    tkl_consumer_wake(w->consumer);
    pthread_mutex_lock(&w->mutex);
}

static duty take_duty(tkl_worker *w, int64_t *now)
{
    for (;;) {
        *now = tkl__now();
        enforce_limits(w, *now);
        check_end(w, *now);
        duty next = next_duty(w, *now);
        if (next != REST)
            return next;
        rest_thread(w, *now);
    }
}

void *tkl__worker_run_thread(void *worker)
{
    tkl_worker *w = worker;
    int64_t now;
    pthread_mutex_lock(&w->mutex);
    for (duty next; (next = take_duty(w, &now)) != END;) {
        if (next == RUN)
            run_task(w, now);
        else if (next == FETCH)
            tkl__worker_fetch(w, now);
        else if (next == CALL)
            call_back(w);
        else
            tkl__worker_report(w, now);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}
