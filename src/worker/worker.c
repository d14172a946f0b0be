/* SPDX-License-Identifier: MIT
 *
 * Workers.
 *
 * A worker has no keys of its own: it is a consumer (queue.h) and some threads. There are two more
 * threads than handlers may run at once, and they are all alike. A thread without work finds out,
 * under the one mutex, which duty is next (loop.c):
 *
 *   run     a job is there and fewer handlers run than may
 *   fetch   there is room for more jobs: one round trip reports ended jobs and claims (batch.c)
 *   report  reports cannot go with a claim: a thread waits in one, or there is no room
 *   call    a worker that drains has nothing left to run: the thread that waits is called back
 *   rest    nothing to do; one of the resting threads watches the time
 *
 * At most one thread fetches and one reports, so there is always a thread for both. When a job
 * comes, the thread that waited for it runs it itself, without waking another first; another thread
 * takes over the waiting. A thread is woken only for a duty that no thread has, one at a time, and
 * wakes the next itself: under load no thread sleeps, and none needs to be woken.
 *
 * Batches. While a batch is under way, the jobs that end are collected for the next one. While all
 * threads have work, reports wait for each other until half of the prefetched jobs are used up, or
 * for REPORT_DELAY_US; otherwise they leave at once.
 *
 * Prefetching. For each thread, at most `prefetch` jobs are claimed and not begun. A worker whose
 * threads are all busy claims more only along with its reports, without waiting. Only idle threads
 * wait.
 *
 * Draining. While a job runs, idle threads wait for more jobs as always: it may push some, and
 * delayed ones may become due. When the last job has ended, the waiting thread is called back. One
 * claim that does not wait, and carries the last reports, then shows whether that was all.
 *
 * Time limits. The thread that watches the time reports a job as failed when its limit passes,
 * whatever its handler does. The result of the handler is dropped. Its thread is free only when the
 * handler returns.
 *
 * Failures. A failed batch is retried after a pause, which doubles up to a second; its reports stay
 * on the list. The consumer recognises its own repeats, so no report counts twice. The server
 * refuses reports that come too late; they count as lost. Meanwhile handlers go on with the fetched
 * jobs.
 *
 * Stopping. The worker releases jobs that were not begun, and waits for those that run; in the
 * second stage it cancels them. The threads end when everything is reported, or when no server took
 * the reports for as long as a lease lasts: by then these jobs are back in the queue.
 */
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/thread.h"
#include "worker/inside.h"

#define THREADS_MAX      1024
#define PREFETCH_MAX     1000
#define DEFAULT_LEASE_MS 10000
#define SHEET_MAX        1000 /* reports in a batch */
#define HELPERS          2    /* one to fetch and one to report */

/* ---- Starting -------------------------------------------------------------- */

static int check_options(const tkl_worker_options *o)
{
    return TKL__CHECK_OPTIONS(o, {"threads", o->threads, 0, THREADS_MAX},
                              {"prefetch", o->prefetch, 0, PREFETCH_MAX},
                              {"max_jobs", o->max_jobs, 0, INT64_MAX},
                              {"kind_count", (int64_t)o->kind_count, 0, TKL_KINDS_MAX});
}

static void set_options(tkl_worker *w, const tkl_worker_options *options)
{
    tkl_worker_options *o = &w->options;
    *o = *options;
    if (o->threads == 0)
        o->threads = 1;
    if (o->lease_ms == 0)
        o->lease_ms = DEFAULT_LEASE_MS;
    size_t ahead = (size_t)o->prefetch;
    w->low_water = ahead * (size_t)o->threads / 2;
    w->capacity = (1 + ahead) * (size_t)o->threads;
    w->sheet_size = w->capacity < SHEET_MAX ? w->capacity : SHEET_MAX;
}

static int start_threads(tkl_worker *w)
{
    int rc = TKL_OK;
    size_t count = (size_t)w->options.threads + HELPERS;
    while (rc == TKL_OK && w->thread_count < count) {
        rc = tkl__thread_start(&w->threads[w->thread_count], tkl__worker_run_thread, w, "a worker");
        w->thread_count += rc == TKL_OK;
    }
    return rc;
}

static int set_up(tkl_worker *w, tkl_queue *const *queues, size_t count)
{
    tkl_consumer_options options = {.timeout_ms = w->options.timeout_ms,
                                    .lease_ms = w->options.lease_ms,
                                    .on_lost = tkl__worker_on_lost,
                                    .on_error = tkl__worker_on_error,
                                    .on_damaged = tkl__worker_on_damaged,
                                    .label = w->options.label,
                                    .threads = w->options.threads,
                                    .arg = w};
    w->pid = getpid();
    w->watch_until = TKL__FOREVER;
    atomic_init(&w->cancelled, false);
    pthread_mutex_init(&w->mutex, NULL);
    tkl__cond_init(&w->work);
    tkl__cond_init(&w->news);
    w->threads = calloc((size_t)w->options.threads + HELPERS, sizeof *w->threads);
    for (int i = 0; i < HELPERS; i++)
        w->sheet[i] = calloc(w->sheet_size, sizeof *w->sheet[i]);
    int rc = tkl__worker_kinds_keep(w, w->options.kinds, w->options.kind_count);
    if (rc == TKL_OK && (!w->threads || !w->sheet[0] || !w->sheet[1]))
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl_consumer_open(queues, count, &options, &w->consumer);
    return rc == TKL_OK ? start_threads(w) : rc;
}

int tkl_worker_start(tkl_queue *const *queues, size_t count, tkl_handler *handler, void *arg,
                     const tkl_worker_options *options, tkl_worker **worker)
{
    static const tkl_worker_options defaults;
    *worker = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc == TKL_OK && !handler && options->kind_count == 0)
        rc = tkl__fail(TKL_EINVAL, "a worker needs a handler, or handlers of kinds");
    if (rc != TKL_OK)
        return rc;
    tkl_worker *w = calloc(1, sizeof *w);
    if (!w)
        return tkl__nomem();
    w->handler = handler;
    w->arg = arg;
    set_options(w, options);
    rc = set_up(w, queues, count);
    if (rc == TKL_OK)
        *worker = w;
    else
        tkl_worker_close(w);
    return rc;
}

/* ---- Stopping -------------------------------------------------------------- */

static bool is_forked(const tkl_worker *w)
{
    return w->pid != getpid();
}

/* Sets the error of a call in a forked child: the threads belong to the parent. */
static int fail_forked(void)
{
    return tkl__fail(TKL_EINVAL, "the worker was started before fork()");
}

void tkl_worker_quit(tkl_worker *w)
{
    if (is_forked(w))
        return;
    pthread_mutex_lock(&w->mutex);
    bool begins = !w->stopping;
    if (begins) {
        w->stopping = true;
        w->last_end = tkl__now();
    }
    tkl__cond_signal(&w->work);
    pthread_mutex_unlock(&w->mutex);
    if (begins)
        tkl_consumer_cancel(w->consumer);
}

int tkl_worker_wait(tkl_worker *w, int64_t wait_ms)
{
    if (is_forked(w))
        return fail_forked();
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    pthread_mutex_lock(&w->mutex);
    while (!w->ended && tkl__cond_wait(&w->news, &w->mutex, deadline))
        ;
    int rc = tkl__no_or_ok(w->ended ? TKL_OK : TKL_BUSY);
    pthread_mutex_unlock(&w->mutex);
    return rc;
}

int tkl_worker_stop(tkl_worker *w, int64_t grace_ms)
{
    tkl_worker_quit(w);
    int rc = tkl_worker_wait(w, grace_ms);
    if (rc == TKL_BUSY)
        atomic_store(&w->cancelled, true);
    return rc;
}

/* Does nothing in a forked child: the worker's threads, and the locks that they may hold, belong to
 * the parent. */
void tkl_worker_close(tkl_worker *w)
{
    if (!w || is_forked(w))
        return;
    if (w->consumer)
        tkl_worker_quit(w);
    for (size_t i = 0; i < w->thread_count; i++)
        pthread_join(w->threads[i], NULL);
    tkl_consumer_close(w->consumer);
    tkl__cond_destroy(&w->work);
    tkl__cond_destroy(&w->news);
    pthread_mutex_destroy(&w->mutex);
    for (int i = 0; i < HELPERS; i++)
        free(w->sheet[i]);
    free(w->threads);
    tkl__worker_kinds_free(w);
    free(w);
}

/* ---- Looking at it --------------------------------------------------------- */

void tkl_worker_stats_get(tkl_worker *w, tkl_worker_stats *stats)
{
    *stats = (tkl_worker_stats){0};
    if (is_forked(w))
        return;
    pthread_mutex_lock(&w->mutex);
    *stats = w->stats;
    stats->running = (int64_t)w->running.count;
    stats->fetched = (int64_t)w->fetched.count;
    stats->unsent = (int64_t)w->reports.count;
    pthread_mutex_unlock(&w->mutex);
}
