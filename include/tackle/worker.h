/* SPDX-License-Identifier: MIT
 *
 * Workers: threads that run a function for each job of a queue.
 *
 *     static int send_mail(tkl_task *task, void *arg)
 *     {
 *         (void)arg;
 *         return deliver(tkl_task_job(task)->payload) ? TKL_OK : TKL_EIO;
 *     }
 *
 *     static int work(tkl_queue *mails)
 *     {
 *         tkl_worker *worker;
 *         tkl_worker_options options = {.threads = 8};
 *         TKL_TRY(tkl_worker_start(&mails, 1, send_mail, NULL, &options, &worker));
 *         wait_for_sigterm();
 *         int rc = tkl_worker_stop(worker, 30000);
 *         tkl_worker_close(worker);
 *         return rc;
 *     }
 *
 * A worker keeps running through restarts of the server, failovers and lost connections. While it
 * is idle, it sends only a heartbeat. docs/worker.md has the whole contract.
 *
 * Threads: a worker may be used by several threads. Callbacks: handlers and hooks run in its own
 * threads; a handler may block, a hook must not. fork(): a worker belongs to the process that
 * started it; in a child every call is TKL_EINVAL and close does nothing. Keys: none but those of
 * the queues.
 */
#ifndef TACKLE_WORKER_H
#define TACKLE_WORKER_H

#include <tackle/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_worker tkl_worker;
typedef struct tkl_task tkl_task; /* a job being run */

#define TKL_KINDS_MAX 1000 /* most kinds of a worker */

/* Runs a job, in one of the worker's threads. TKL_OK: the job is done. Any other value: it failed;
 * the reason is that of tkl_task_fail(), or else the text of the code. tkl_task_dead() and
 * tkl_task_release() override the return value. A job may run more than once (docs/queue.md), so a
 * handler should be idempotent. */
typedef int tkl_handler(tkl_task *task, void *arg);

/* ---- Calls for a running handler ------------------------------------------ */

/* The job; valid until the handler returns. Never NULL. */
TKL_API const tkl_job *tkl_task_job(const tkl_task *task) TKL_NONNULL(1);
/* True when the handler should stop: the claim is lost or the time limit has passed, so that its
 * outcome will not count, or the worker must stop now. No I/O; from any thread. */
TKL_API bool tkl_task_cancelled(const tkl_task *task) TKL_NONNULL(1);
/* Milliseconds until the lease of the claim ends by the local clock, unless it is renewed before; 0
 * when it has ended. No I/O; from any thread. */
TKL_API int64_t tkl_task_left_ms(const tkl_task *task) TKL_NONNULL(1);
/* Sets the result for callers of tkl_queue_result(); copied. The last call counts, and only if the
 * job is done. TKL_EINVAL: more than 256 MB. */
TKL_API int tkl_task_result(tkl_task *task, tkl_bytes result) TKL_NONNULL(1) TKL_CHECK;
/* Reports the progress of the job, for tkl_queue_show(): any bytes, at most 1000. One round trip.
 * TKL_NOTOWNER: the claim is lost, and tkl_task_cancelled() is true. */
TKL_API int tkl_task_progress(tkl_task *task, tkl_bytes progress) TKL_NONNULL(1);
/* Decides how the job ends, whatever the handler returns: it fails. The last call of this,
 * tkl_task_dead() and tkl_task_release() counts. The text is copied and cut at 1000 bytes. */
TKL_API void tkl_task_fail(tkl_task *task, const char *why) TKL_NONNULL(1, 2);
/* The job goes to the dead letters, without further attempts. */
TKL_API void tkl_task_dead(tkl_task *task, const char *why) TKL_NONNULL(1, 2);
/* The job returns to the queue, after `delay_ms` (ten years at most) or, if that is 0 or negative,
 * at the front. This attempt does not count. */
TKL_API void tkl_task_release(tkl_task *task, int64_t delay_ms) TKL_NONNULL(1);

/* ---- The worker ----------------------------------------------------------- */

/* The work of a worker so far, in jobs unless a field says otherwise. */
typedef struct tkl_worker_stats {
    uint64_t done;     /* reports of done jobs; the next three are reports to the queue, too */
    uint64_t failed;   /* failed attempts, including those beyond their time limit, and damaged
                          jobs */
    uint64_t dead;     /* failed for the last time: the job is in the dead letters */
    uint64_t released; /* released by tkl_task_release(), or handed back when the worker stopped */
    uint64_t lost;     /* claims that ended before the report: these jobs run again elsewhere */
    uint64_t timeouts; /* jobs that ran beyond their time limit */
    uint64_t errors;   /* round trips that failed and were repeated */
    int64_t running;   /* now */
    int64_t fetched;   /* claimed and not started, now */
    int64_t unsent;    /* ended and not reported yet, now */
    int64_t busy_us;   /* time spent in handlers, by all threads */
    TKL_RESERVED(4);
} tkl_worker_stats;

/* The handler for the jobs of a kind. */
typedef struct tkl_kind_handler {
    tkl_bytes kind; /* as in tkl_push; empty: jobs that have no kind */
    tkl_handler *handler;
    void *arg; /* its argument */
    TKL_RESERVED(2);
} tkl_kind_handler;

/* All zero means the defaults. */
typedef struct tkl_worker_options {
    int64_t timeout_ms; /* time-out of one call to the server; 0: the client's */
    int64_t lease_ms;   /* see tkl_consumer_options; renewed while the worker lives */
    int threads;        /* handlers that run at once; 0: 1; at most 1024 */
    int prefetch;       /* jobs fetched ahead for each thread; 0: none; at most 1000 */
    bool drain;       /* end when no job is ready and none runs, without waiting for delayed jobs */
    int64_t max_jobs; /* end after starting this many jobs; 0: no limit */
    /* Called after each job, in its thread, with the outcome that the worker will report:
     * TKL_OUTCOME_DEAD also when the job's last attempt failed. May be NULL. */
    void (*on_end)(const tkl_job *job, tkl_outcome outcome, int64_t run_us, void *arg);
    /* Called in any of the worker's threads when a round trip failed and will be repeated, with the
     * code and its text. May be NULL. */
    void (*on_error)(int code, const char *message, void *arg);
    void *arg; /* argument for the hooks */
    /* Called in any of the worker's threads when a job is not run because its record is damaged.
     * The job went to the dead letters instead, and counts as failed and dead. May be NULL. */
    void (*on_damaged)(tkl_queue *queue, const char *id, void *arg);
    /* A handler for each kind of jobs, at most TKL_KINDS_MAX; copied. Each kind once. Jobs of all
     * other kinds go to the handler of tkl_worker_start(). Where that is NULL, they fail with the
     * reason "no handler for the kind ...": they are retried, perhaps by a worker that knows the
     * kind, and end in the dead letters. */
    const tkl_kind_handler *kinds;
    size_t kind_count;
    tkl_bytes label; /* for operators: see tkl_consumer_options */
    TKL_RESERVED(8);
} tkl_worker_options;

/* Starts the threads. The queues, all of one client, must stay open until tkl_worker_close(); jobs
 * of an earlier queue always come first. `handler` runs the jobs for whose kind `options` has no
 * handler; it may be NULL when there are kinds. `options` may be NULL. TKL_EINVAL, TKL_ENOMEM. A
 * server that is down is not an error: the worker waits for it. */
TKL_API int tkl_worker_start(tkl_queue *const *queues, size_t count, tkl_handler *handler,
                             void *arg, const tkl_worker_options *options, tkl_worker **worker)
    TKL_NONNULL(6) TKL_CHECK;

/* Stops fetching, hands back jobs that were not started, and waits up to `grace_ms` (negative: for
 * ever) for running jobs and their reports. TKL_OK: all have ended. TKL_BUSY: some still run, and
 * tkl_task_cancelled() is now true for them; a job that fails after that is handed back, and the
 * attempt does not count. May be called again, from any thread except a handler's. */
TKL_API int tkl_worker_stop(tkl_worker *worker, int64_t grace_ms) TKL_NONNULL(1);
/* Asks the worker to stop as tkl_worker_stop() does, and does not wait. May be called from any
 * thread, also a handler's, but not from a signal handler. */
TKL_API void tkl_worker_quit(tkl_worker *worker) TKL_NONNULL(1);
/* Waits up to `wait_ms` (negative: for ever) until the worker has ended: by drain or max_jobs, by
 * quit or by stop. TKL_BUSY: it still runs. From any thread except a handler's. */
TKL_API int tkl_worker_wait(tkl_worker *worker, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
/* From any thread. */
TKL_API void tkl_worker_stats_get(tkl_worker *worker, tkl_worker_stats *stats) TKL_NONNULL(1, 2);
/* Stops the worker, waits for running jobs without a limit, and frees it. Reports that no server
 * accepts are retried for the length of a lease; then their jobs return to the queue when the lease
 * ends. NULL is fine. No other thread may be inside a call. */
TKL_API void tkl_worker_close(tkl_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
