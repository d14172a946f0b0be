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
 *     void work(tkl_queue *mails)
 *     {
 *         tkl_worker *worker;
 *         tkl_worker_options options = {.threads = 8};
 *         tkl_worker_start(&mails, 1, send_mail, NULL, &options, &worker);
 *         wait_for_sigterm();
 *         tkl_worker_stop(worker, 30000);
 *         tkl_worker_close(worker);
 *     }
 *
 * A worker goes on through restarts of the server, failovers and lost connections. It sends nothing
 * but a heartbeat while there is nothing to do. docs/worker.md has the whole contract.
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

/* Runs a job, in one of the worker's threads. TKL_OK: done. Any other value: failed, for the reason
 * of tkl_task_fail(), or else the text of the code; unless tkl_task_dead() or tkl_task_release()
 * said otherwise. A job may run more than once (docs/queue.md): a handler should bear that. */
typedef int tkl_handler(tkl_task *task, void *arg);

/* ---- What a handler may call, while it runs ------------------------------- */

/* The job; valid until the handler returns. Never NULL. */
TKL_API const tkl_job *tkl_task_job(const tkl_task *task) TKL_NONNULL(1);
/* True when it should stop, because its outcome will not count: the claim is lost or the time limit
 * has passed; or because the worker must stop now. No I/O; from any thread. */
TKL_API bool tkl_task_cancelled(const tkl_task *task) TKL_NONNULL(1);
/* The result, for callers of tkl_queue_result(); copied. The last one counts, and only
 * if the job ends as done. TKL_EINVAL: more than 256 MB. */
TKL_API int tkl_task_result(tkl_task *task, tkl_bytes result) TKL_NONNULL(1) TKL_CHECK;
/* Tells how far it is, for tkl_queue_show(): any bytes, at most 1000. One trip. TKL_NOTOWNER: the
 * claim is lost, and tkl_task_cancelled() is true. */
TKL_API int tkl_task_progress(tkl_task *task, tkl_bytes progress) TKL_NONNULL(1);
/* How the job shall end, whatever the handler returns; the last call counts. The text is copied and
 * cut at 1000 bytes. */
TKL_API void tkl_task_fail(tkl_task *task, const char *why) TKL_NONNULL(1, 2);
/* Without further attempts, to the dead letters. */
TKL_API void tkl_task_dead(tkl_task *task, const char *why) TKL_NONNULL(1, 2);
/* Back to the queue, after a while (ten years at most) or (0, negative) to its front: uses no
 * attempt. */
TKL_API void tkl_task_release(tkl_task *task, int64_t delay_ms) TKL_NONNULL(1);

/* ---- The worker ----------------------------------------------------------- */

/* What a worker did so far. */
typedef struct tkl_worker_stats {
    uint64_t done;     /* and the queue knows; the same holds for the next three */
    uint64_t failed;   /* attempts, also those beyond their time limit */
    uint64_t dead;     /* of these, the last: the job is in the dead letters */
    uint64_t released; /* by tkl_task_release(), or handed back at a stop */
    uint64_t lost;     /* claims that ended before the report: these jobs run elsewhere */
    uint64_t timeouts; /* jobs that ran beyond their time limit */
    uint64_t errors;   /* trips that failed and were repeated */
    int64_t running;   /* now */
    int64_t fetched;   /* claimed and not begun, now */
    int64_t unsent;    /* ended and not yet reported, now */
    int64_t busy_us;   /* in handlers, of all threads */
    TKL_RESERVED(4);
} tkl_worker_stats;

/* All zero means the defaults. */
typedef struct tkl_worker_options {
    int64_t timeout_ms; /* of one call to the server; 0: the client's */
    int64_t lease_ms;   /* see tkl_consumer_options; renewed while the worker lives */
    int threads;        /* handlers that run at once; 0: 1; at most 1024 */
    int prefetch;       /* jobs fetched ahead for each thread; 0: none; at most 1000 */
    bool drain;       /* end by itself when nothing is ready and nothing runs (delayed jobs are not
                         waited for) */
    int64_t max_jobs; /* end by itself when this many were begun; 0: no limit */
    /* Called after each job, in its thread, with the outcome that will be reported:
     * TKL_OUTCOME_DEAD also for a failure that was the job's last attempt. May be NULL. */
    void (*on_end)(const tkl_job *job, tkl_outcome outcome, int64_t run_us, void *arg);
    /* Called when a trip failed and will be repeated, with the code and the words; in any of the
     * worker's threads. May be NULL. */
    void (*on_error)(int code, const char *message, void *arg);
    void *arg; /* of the two above */
    TKL_RESERVED(8);
} tkl_worker_options;

/* Starts the threads. The queues, all of one client, are borrowed until tkl_worker_close(): of
 * several the first is always served first. `options` may be NULL. TKL_EINVAL, TKL_ENOMEM; a server
 * that is not there is no error: it is waited for. */
TKL_API int tkl_worker_start(tkl_queue *const *queues, size_t count, tkl_handler *handler,
                             void *arg, const tkl_worker_options *options, tkl_worker **worker)
    TKL_NONNULL(3, 6) TKL_CHECK;

/* Stops fetching, hands back what was not begun, and waits up to `grace_ms` (negative: for ever)
 * for what runs and for the reports. TKL_OK: all ended. TKL_BUSY: some still run, and from now on
 * tkl_task_cancelled() is true for them; a job that fails then is handed back and has used no
 * attempt. May be called again. From any thread but a handler's. */
TKL_API int tkl_worker_stop(tkl_worker *worker, int64_t grace_ms) TKL_NONNULL(1);
/* Asks for the same and waits for nothing. From any thread, a handler's too; not from a signal
 * handler. */
TKL_API void tkl_worker_quit(tkl_worker *worker) TKL_NONNULL(1);
/* Waits until it has ended: by itself (drain, max_jobs), by quit or stop. Up to `wait_ms`
 * (negative: for ever): then TKL_BUSY. From any thread but a handler's. */
TKL_API int tkl_worker_wait(tkl_worker *worker, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
/* From any thread. */
TKL_API void tkl_worker_stats_get(tkl_worker *worker, tkl_worker_stats *stats) TKL_NONNULL(1, 2);
/* Stops, waiting for ever for what runs, and frees. Reports that no server takes are tried for as
 * long as a lease, and then left to its end. NULL is fine. No other thread may be inside a call. */
TKL_API void tkl_worker_close(tkl_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
