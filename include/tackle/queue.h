/* SPDX-License-Identifier: MIT
 *
 * Queues of jobs that programs on many machines share.
 *
 *     tkl_queue *mails;
 *     TKL_TRY(tkl_queue_open(client, tkl_str("mails"), NULL, &mails));
 *     TKL_TRY(tkl_queue_push_one(mails, tkl_str("alice@example.org"), NULL));
 *
 *     tkl_consumer *consumer;
 *     tkl_jobs *jobs;
 *     TKL_TRY(tkl_consumer_open(&mails, 1, NULL, &consumer));
 *     while (tkl_consumer_claim(consumer, 10, 5000, &jobs) == TKL_OK) {
 *         for (size_t i = 0; i < jobs->count; i++)
 *             if (tkl_consumer_finish(consumer, &(tkl_report){.job = &jobs->items[i]}, 1) != TKL_OK)
 *                 report(tkl_errmsg());
 *         tkl_jobs_free(jobs);
 *     }
 *
 * Most programs want a worker (worker.h), which does the second half with threads.
 *
 * Delivery is at least once: a claimed job is leased, and returns to the front of the queue when
 * its lease ends without a report. Every claim has a token; a report with an old token is refused.
 * docs/queue.md has the whole contract.
 *
 * Threads: any number may use a queue or a consumer; one thread at a time claims with a consumer.
 * Fork: a queue may be used in a child; a consumer belongs to the process that opened it: in a
 * child its calls return TKL_EINVAL, and close only frees memory.
 * Callbacks run in a thread of the library or in the waiting thread; they must not block, and may
 * call only functions marked "No I/O".
 * Keys: docs/queue.md lists them, and says when each is removed.
 */
#ifndef TACKLE_QUEUE_H
#define TACKLE_QUEUE_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_queue tkl_queue;

/* All zero means the defaults. */
typedef struct tkl_queue_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int partitions;     /* number of partitions, in different slots of a cluster; 0: 1; at most 256.
                           All programs that use the queue must give the same number */
    TKL_RESERVED(8);
} tkl_queue_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_queue_open(tkl_client *client, tkl_bytes name, const tkl_queue_options *options,
                           tkl_queue **queue) TKL_NONNULL(1, 4) TKL_CHECK;
/* No I/O. Its consumers and workers must be closed before. NULL is fine. */
TKL_API void tkl_queue_close(tkl_queue *queue);

/* ---- Pushing ------------------------------------------------------------- */

#define TKL_PRIORITY_MIN (-1000) /* served first */
#define TKL_PRIORITY_MAX 1000
/* Size of a job id as text, with its NUL: 13 hex digits, with "partition." before them when the
 * queue has several partitions. */
#define TKL_JOB_ID_SIZE 20
#define TKL_KIND_MAX    64 /* most bytes of a kind */
#define TKL_LABEL_MAX   64 /* most bytes of the label of a worker */

/* How long a queue refuses another job with the same unique key. */
typedef enum tkl_unique_mode {
    TKL_UNIQUE_UNTIL_FINISHED = 0, /* until the job is done, dead or cancelled */
    TKL_UNIQUE_UNTIL_STARTED = 1,  /* until the job is claimed for the first time */
    TKL_UNIQUE_FOR_A_TIME = 2,     /* for unique_ms after the push, even if the job has ended */
} tkl_unique_mode;

TKL_API const char *tkl_unique_mode_name(tkl_unique_mode mode); /* "until finished" */

/* A job to push. All zero but the payload means the defaults. */
typedef struct tkl_push {
    tkl_bytes payload; /* any bytes, also none */
    tkl_bytes meta;    /* any bytes for the worker, beside the payload; at most 64 KB */
    int priority;      /* TKL_PRIORITY_MIN to _MAX, lowest first; equal priorities are first in,
                          first out */
    int64_t delay_ms;  /* delay before the job can be claimed, at most ten years; 0: none */
    int64_t at_ms;     /* earliest time it can be claimed (Unix ms, the server's clock); 0: at
                          once */
    tkl_bytes unique;  /* key of a unique job, at most 1 KB; empty: not unique. In a queue with
                          partitions the key is unique among the jobs of the same group, or among
                          the jobs without a group */
    tkl_unique_mode unique_mode;
    int64_t unique_ms;      /* for TKL_UNIQUE_FOR_A_TIME only: how long */
    int retries;            /* attempts after the first; 0: 10; TKL_NONE: no retries */
    int64_t backoff_ms;     /* delay before the first retry, doubled for each further retry; 0:
                               1000 */
    int64_t backoff_max_ms; /* longest delay before a retry; 0: an hour */
    int64_t time_limit_ms;  /* the worker fails an attempt that takes longer; 0: no limit */
    tkl_bytes group;        /* e.g. the customer: see tkl_queue_limits; at most 1 KB */
    int64_t result_ms;      /* keep the result this long for tkl_queue_result(); 0: not at all */
    /* A flow: this job runs when these jobs of the same push have ended. Each is an index into the
     * push, lower than the index of this job. A cancelled job counts as done. A job in the dead
     * letters keeps this one waiting until it is retried or removed. A push with a flow has at most
     * 1000 jobs that wait for at most 2500 others in all. It goes to one partition: TKL_EINVAL when
     * its groups or unique keys belong to different partitions. Jobs also wait for a unique job
     * that is in the queue already (TKL_EXISTS), at most 1000 of them: TKL_FULL. */
    const size_t *after;
    size_t after_count;
    tkl_bytes kind; /* the kind of work, "resize": a worker may have a handler for each kind
                       (worker.h). At most TKL_KIND_MAX letters, digits, '_', '-' and '.';
                       empty: none */
    TKL_RESERVED(2);
} tkl_push;

typedef struct tkl_push_options {
    int64_t timeout_ms; /* time-out of this call; 0: the queue's */
    /* Request id, at most 64 bytes. A push that is repeated with the same request id within ten
     * minutes pushes nothing twice and returns the same ids. Empty: the library makes up an id for
     * its own retries within the time-out. */
    tkl_bytes request;
    TKL_RESERVED(8);
} tkl_push_options;

/* The outcome of pushing one job. */
typedef struct tkl_pushed {
    int code;                 /* TKL_OK; TKL_EXISTS: `id` is the job that has the unique key;
                                 TKL_FULL; or an error */
    char id[TKL_JOB_ID_SIZE]; /* "" on TKL_FULL and errors */
    TKL_RESERVED(2);
} tkl_pushed;

/* Pushes `count` jobs, in one round trip (a large batch in several, to each server). TKL_OK: all
 * are in the queue, including those that were there already (TKL_EXISTS). Otherwise the first
 * failure; pushed[i].code is the outcome of each job. After TKL_ETIMEOUT and TKL_EUNKNOWN repeat
 * the push with the same request id. `pushed` may be NULL. */
TKL_API int tkl_queue_push(tkl_queue *queue, const tkl_push *jobs, size_t count,
                           const tkl_push_options *options, tkl_pushed *pushed)
    TKL_NONNULL(1) TKL_CHECK;
/* Pushes one job with all defaults. `id` may be NULL. */
TKL_API int tkl_queue_push_one(tkl_queue *queue, tkl_bytes payload, char id[TKL_JOB_ID_SIZE])
    TKL_NONNULL(1) TKL_CHECK;
/* Pushes one job in a pipeline, see tkl_result. `id` (may be NULL) is filled in by the run.
 * TKL_EXISTS: `id` is that of the job that has the unique key. The job waits for no others. */
TKL_API int tkl_queue_push_in(tkl_pipeline *pipeline, tkl_queue *queue, const tkl_push *job,
                              char id[TKL_JOB_ID_SIZE], tkl_result *result) TKL_NONNULL(1, 2, 3);

/* ---- Claiming ------------------------------------------------------------ */

typedef struct tkl_consumer tkl_consumer;

typedef struct tkl_consumer_options {
    int64_t timeout_ms; /* time-out of one call, waiting not counted; 0: the client's */
    int64_t lease_ms;   /* lease of a claim: a job returns to the queue this long after its worker
                           died; at least 100; 0: 10000 */
    bool no_renewal;    /* do not renew leases in the background: the caller must report, or call
                           tkl_queue_renew(), in time */
    /* Called by a thread of the library when a claim is lost: the lease ended, or the job was
     * cancelled. `id` and `token` are those of the tkl_job. */
    void (*on_lost)(const char *id, const char *token, void *arg);
    /* Called by the waiting thread when the server cannot be reached while a claim waits. The claim
     * goes on waiting and tries again. */
    void (*on_error)(int code, const char *message, void *arg);
    void *arg; /* argument for the callbacks */
    /* Called by the claiming thread when a job is not handed out because its record is damaged. The
     * job went to the dead letters instead. */
    void (*on_damaged)(tkl_queue *queue, const char *id, void *arg);
    /* For operators, see tkl_queue_workers(): */
    tkl_bytes label; /* any bytes, at most TKL_LABEL_MAX, "blue"; copied. Empty: none */
    int threads;     /* jobs that the program runs at once; 0: 1 */
    TKL_RESERVED(8);
} tkl_consumer_options;

/* A claimed job. Its bytes are valid until tkl_jobs_free(). */
typedef struct tkl_job {
    char id[TKL_JOB_ID_SIZE];
    char token[TKL_TOKEN_SIZE]; /* id of the worker, then 132 random bits (A-Za-z0-9-_) */
    tkl_queue *queue;
    tkl_bytes payload;
    tkl_bytes meta;
    tkl_bytes group;
    tkl_bytes error; /* why the previous attempt failed; empty at the first attempt */
    int priority;
    int attempt; /* number of this attempt, from 1; releases do not count */
    int retries; /* attempts that may follow the first */
    int64_t time_limit_ms;
    int64_t pushed_ms; /* Unix time of the server's clock */
    tkl_bytes kind;    /* as pushed; empty: none */
    TKL_RESERVED(2);
} tkl_job;

typedef struct tkl_jobs {
    const tkl_job *items;
    size_t count;
} tkl_jobs;

/* No I/O. The consumer claims from these queues, all of one client; jobs of an earlier queue always
 * come first. The queues must stay open until the consumer is closed. */
TKL_API int tkl_consumer_open(tkl_queue *const *queues, size_t count,
                              const tkl_consumer_options *options, tkl_consumer **consumer)
    TKL_NONNULL(4) TKL_CHECK;
/* Stops renewing: claimed jobs that were not reported return to the queue when their leases end. No
 * other thread may be inside a call. NULL is fine. */
TKL_API void tkl_consumer_close(tkl_consumer *consumer);

/* Claims up to `max` jobs (at most 1000), fewer when they have more than about 512 KB together. Waits
 * up to `wait_ms` for the first: 0 does not wait, negative waits for ever. TKL_EMPTY: no job in time,
 * or the wait was cancelled. TKL_EINTR: tkl_interrupt() ended the wait. When the server goes down
 * meanwhile, the call waits for it until the time is up. */
TKL_API int tkl_consumer_claim(tkl_consumer *consumer, size_t max, int64_t wait_ms, tkl_jobs **jobs)
    TKL_NONNULL(1, 4) TKL_CHECK;
/* Milliseconds until the lease of a claimed job ends by the local clock; renewals extend it. 0 when
 * the lease has ended or the job was reported. No I/O; from any thread. */
TKL_API int64_t tkl_consumer_left_ms(tkl_consumer *consumer, const tkl_job *job) TKL_NONNULL(1, 2);
/* Called from another thread: ends a wait at once. Later claims do not wait. No I/O. */
TKL_API void tkl_consumer_cancel(tkl_consumer *consumer) TKL_NONNULL(1);
/* Called from another thread: ends the current wait with TKL_EMPTY, or the next one if there is
 * none. Later claims wait again. No I/O. */
TKL_API void tkl_consumer_wake(tkl_consumer *consumer) TKL_NONNULL(1);

TKL_API void tkl_jobs_free(tkl_jobs *jobs); /* NULL is fine */

typedef enum tkl_outcome {
    TKL_OUTCOME_DONE = 0,   /* text: the result, kept if the job has result_ms */
    TKL_OUTCOME_FAILED = 1, /* text: why. The job is retried after the backoff while retries are
                               left, else dead */
    TKL_OUTCOME_DEAD = 2,   /* text: why. The job goes to the dead letters at once */
    TKL_OUTCOME_RELEASED =
        3, /* the job returns to the queue, at the front or after delay_ms; this attempt does not
              count */
} tkl_outcome;

/* "done", "failed", "dead", "released"; "unknown" for anything else. */
TKL_API const char *tkl_outcome_name(tkl_outcome outcome);

typedef struct tkl_report {
    const tkl_job *job;
    tkl_outcome outcome;
    tkl_bytes text;   /* errors are cut at 1000 bytes */
    int64_t delay_ms; /* delay before a released job can be claimed, or a failed one is retried, at
                         most ten years; 0: released at once, failed after the backoff */
    int code;         /* out: TKL_OK; TKL_NOTOWNER: the claim was not valid any more; or an error */
    int64_t run_us;   /* how long the job ran, in microseconds, for tkl_queue_times(); 0: since it
                         was claimed */
    TKL_RESERVED(4);
} tkl_report;

/* Reports the outcomes of claimed jobs, in one round trip. TKL_OK: all counted. TKL_NOTOWNER: some
 * came too late. Or an error: then the job is still claimed; report it again. If the first report
 * did count and only its answer was lost, the server recognises the repetition for the time of the
 * lease, and the result is TKL_OK. */
TKL_API int tkl_consumer_finish(tkl_consumer *consumer, tkl_report *reports, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Reports, and claims the next jobs, in one round trip. Returns the result of the claim;
 * reports[i].code is the result of each report. */
TKL_API int tkl_consumer_next(tkl_consumer *consumer, tkl_report *reports, size_t count, size_t max,
                              int64_t wait_ms, tkl_jobs **jobs) TKL_NONNULL(1, 6) TKL_CHECK;

/* ---- With id and token: what was claimed elsewhere, or by an earlier command ------- */

/* Reports the outcome of one job, by id and token of its claim; text and delay as in tkl_report.
 * TKL_NOTOWNER: the claim is not valid any more. */
TKL_API int tkl_queue_finish(tkl_queue *queue, const char *id, const char *token,
                             tkl_outcome outcome, tkl_bytes text, int64_t delay_ms)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
/* Makes the lease last `lease_ms` from now, and sets the progress (any bytes, at most 1000) unless
 * it is empty. TKL_NOTOWNER: the claim is not valid any more. */
TKL_API int tkl_queue_renew(tkl_queue *queue, const char *id, const char *token, int64_t lease_ms,
                            tkl_bytes progress) TKL_NONNULL(1, 2, 3) TKL_CHECK;

/* ---- Results ------------------------------------------------------------- */

typedef enum tkl_job_state {
    TKL_JOB_STATE_UNKNOWN = 0, /* no such job, or not any more */
    TKL_JOB_STATE_READY = 1,   /* waits for a worker */
    TKL_JOB_STATE_DELAYED = 2, /* waits for its time */
    TKL_JOB_STATE_HELD = 3,    /* waits for other jobs of its group or flow */
    TKL_JOB_STATE_ACTIVE = 4,  /* claimed */
    TKL_JOB_STATE_DONE = 5,    /* done, and kept, or its result is: see tkl_queue_limits */
    TKL_JOB_STATE_DEAD = 6,    /* in the dead letters */
} tkl_job_state;

/* "ready", "delayed", "held", "active", "done", "dead"; "unknown" for anything else. */
TKL_API const char *tkl_job_state_name(tkl_job_state state);

/* How a job ended. */
typedef struct tkl_job_result {
    tkl_bytes text; /* the result, or why it is dead */
} tkl_job_result;

/* Gives the result of a job that was pushed with result_ms, waiting up to `wait_ms` for its end.
 * TKL_OK: the job is done; TKL_DEAD: it is in the dead letters; *result has the text. TKL_EMPTY: it
 * did not end in time. TKL_NOTFOUND: there is no such job, or it was pushed without result_ms.
 * TKL_EINTR: tkl_interrupt(). */
TKL_API int tkl_queue_result(tkl_queue *queue, const char *id, int64_t wait_ms,
                             tkl_job_result **result) TKL_NONNULL(1, 2, 4) TKL_CHECK;
TKL_API void tkl_job_result_free(tkl_job_result *result); /* NULL is fine */

/* ---- For operators ------------------------------------------------------- */

typedef struct tkl_queue_stats {
    int64_t ready;   /* jobs that can be claimed now, including delayed jobs whose time has come and
                        claimed jobs whose lease has ended */
    int64_t delayed; /* jobs that wait for their time, without schedules */
    int64_t held;    /* jobs that wait for others of their group or flow */
    int64_t active;  /* claimed */
    int64_t dead;    /* in the dead letters */
    int64_t schedules;
    int64_t waiters; /* waiting consumers */
    bool paused;
    bool exists;    /* something was pushed, scheduled or set since the last drop, or a consumer
                       waits */
    int64_t pushed; /* jobs pushed since the queue was created */
    int64_t done;
    int64_t failed;    /* attempts */
    int64_t bytes;     /* bytes of all jobs in the queue */
    int64_t oldest_ms; /* how long the oldest ready job has been ready; 0 when there is none */
    int64_t kept_jobs; /* done jobs that are kept: see tkl_queue_limits */
    TKL_RESERVED(8);
} tkl_queue_stats;

/* A queue that does not exist has no jobs: TKL_OK, and all is 0. */
TKL_API int tkl_queue_stats_get(tkl_queue *queue, tkl_queue_stats *stats)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* A queue of an overview. Views into it. */
typedef struct tkl_queue_summary {
    tkl_bytes name;
    int partitions; /* as far as they have been used */
    int code;       /* TKL_OK, or why its numbers could not be read: TKL_ETYPE ... */
    tkl_queue_stats stats;
    TKL_RESERVED(4);
} tkl_queue_summary;

typedef struct tkl_queue_overview {
    const tkl_queue_summary *items; /* by name */
    size_t count;
} tkl_queue_overview;

/* All queues with their numbers, in a few round trips however many there are. */
TKL_API int tkl_queue_overview_get(tkl_client *client, tkl_queue_overview **overview)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_queue_overview_free(tkl_queue_overview *overview); /* NULL is fine */

/* Ready jobs of a priority. */
typedef struct tkl_queue_level {
    int priority;
    int64_t ready;
    TKL_RESERVED(2);
} tkl_queue_level;

typedef struct tkl_queue_level_list {
    const tkl_queue_level *items; /* the lowest priority first; at most 2001 */
    size_t count;
} tkl_queue_level_list;

TKL_API int tkl_queue_levels(tkl_queue *queue, tkl_queue_level_list **levels)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_queue_level_list_free(tkl_queue_level_list *levels); /* NULL is fine */

/* A job that a worker has claimed: it runs, or is fetched ahead. */
typedef struct tkl_queue_run {
    tkl_bytes queue; /* its name */
    char id[TKL_JOB_ID_SIZE];
    tkl_bytes kind;   /* empty: none, or the job is larger than 64 KB */
    int64_t since_ms; /* Unix time at which it was claimed; 0: not known */
    int64_t until_ms; /* Unix time at which its lease ends unless it is renewed */
    TKL_RESERVED(2);
} tkl_queue_run;

#define TKL_WORKER_ID_SIZE 11 /* 10 hex digits and NUL */

/* A consumer or worker, as it describes itself. Views into the list. */
typedef struct tkl_queue_worker {
    char id[TKL_WORKER_ID_SIZE]; /* the first digits of the tokens of its claims */
    tkl_bytes host, program;     /* printable, without spaces; empty: not known */
    tkl_bytes label;             /* see tkl_consumer_options; empty: none */
    int64_t pid;                 /* 0: not known */
    int threads;                 /* jobs that it runs at once; 0: not known */
    bool waiting;                /* it waits for jobs */
    int64_t done, failed;        /* attempts that it reported, in all its queues */
    int64_t seen_ms;             /* Unix time at which it last claimed or renewed; 0: not known */
    int64_t lease_ms;            /* its leases; 0: not known */
    const tkl_queue_run *runs;   /* the longest first */
    size_t run_count;
    TKL_RESERVED(4);
} tkl_queue_worker;

typedef struct tkl_queue_worker_list {
    const tkl_queue_worker *items; /* by host, program and pid */
    size_t count;
    int64_t now_ms; /* Unix time of the server's clock, for ages */
} tkl_queue_worker_list;

/* Lists who works on these queues, all of one client, in one round trip. A worker that ended or was
 * killed is gone when its lease is over. At most 2000 workers and 1000 claimed jobs of each
 * partition are looked at. */
TKL_API int tkl_queue_workers(tkl_queue *const *queues, size_t count,
                              tkl_queue_worker_list **workers) TKL_NONNULL(3) TKL_CHECK;
TKL_API void tkl_queue_worker_list_free(tkl_queue_worker_list *workers); /* NULL is fine */

/* ---- Times ---- */

#define TKL_QUEUE_BUCKETS 15 /* buckets of a histogram */

/* The bound of a bucket: times up to it are in this bucket or an earlier one. 1, 3, 10, 30, ...
 * 3000000 milliseconds; TKL_NONE for the last bucket, which has no bound. No I/O. */
TKL_API int64_t tkl_queue_bound_ms(int bucket);

/* How many times were in each bucket. */
typedef struct tkl_queue_histogram {
    int64_t counts[TKL_QUEUE_BUCKETS];
    int64_t count;  /* sum of all buckets */
    int64_t sum_us; /* sum of all times, in microseconds */
    TKL_RESERVED(2);
} tkl_queue_histogram;

/* The jobs of a kind since the queue was created. */
typedef struct tkl_queue_kind {
    tkl_bytes queue;          /* its name */
    tkl_bytes kind;           /* empty: jobs without a kind; "*": all kinds beyond the first 64 */
    int64_t done, failed;     /* attempts */
    tkl_queue_histogram wait; /* from when a job was ready until it was claimed */
    tkl_queue_histogram run;  /* from the beginning of an attempt to its report */
    TKL_RESERVED(4);
} tkl_queue_kind;

typedef struct tkl_queue_kind_list {
    const tkl_queue_kind *items; /* queues as they were given, kinds by name */
    size_t count;
} tkl_queue_kind_list;

/* How long the jobs of these queues, all of one client, waited and ran, in one round trip. */
TKL_API int tkl_queue_times(tkl_queue *const *queues, size_t count, tkl_queue_kind_list **kinds)
    TKL_NONNULL(3) TKL_CHECK;
TKL_API void tkl_queue_kind_list_free(tkl_queue_kind_list *kinds); /* NULL is fine */

/* ---- Jobs ---- */

/* A job looked at. Views into the tkl_listing. */
typedef struct tkl_job_info {
    char id[TKL_JOB_ID_SIZE];
    tkl_job_state state;
    tkl_bytes payload, meta, group, unique; /* the payload may be cut */
    tkl_bytes error;                        /* why the last attempt failed */
    tkl_bytes progress;                     /* as last reported by its worker */
    int priority;
    int attempt; /* attempts begun and failed so far */
    int retries;
    int64_t pushed_ms; /* Unix time of the server's clock */
    int64_t due_ms; /* Unix time in ms. Delayed: when it becomes ready; active: when its lease ends;
                       dead: when it died; done: when it was done */
    tkl_bytes kind; /* empty: none */
    /* Active jobs, and ready ones whose lease has ended: since when they are claimed, and by whom;
     * see tkl_queue_worker. Done jobs that are kept: the same of their last attempt. */
    int64_t since_ms; /* Unix time in ms; 0: not known */
    char worker[TKL_WORKER_ID_SIZE];
    tkl_bytes host, label;
    int64_t pid;         /* 0: not known */
    size_t payload_size; /* bytes of the whole payload */
    tkl_bytes result;    /* first 1000 bytes of the result of a done job that is kept, if it was
                            pushed with result_ms; else empty */
    TKL_RESERVED(2);
} tkl_job_info;

typedef struct tkl_listing {
    const tkl_job_info *items;
    size_t count;
    const char *next; /* tkl_queue_find(): where to go on; NULL: that was all */
} tkl_listing;

/* Lists up to `max` (at most 1000) jobs of a state after the first `skip`: in the order in which
 * they are served, dead letters and done jobs newest first. Done jobs are there if the queue keeps
 * them: see tkl_queue_limits. Of a payload over 64 KB the first 4 KB are kept. Fewer when they are
 * large (about 16 MB in all). Changes nothing. Delayed jobs whose time has come, and claimed jobs
 * whose lease has ended, are listed as ready, at most 200 of each kind. Among delayed jobs, `skip`
 * counts schedules too. With several partitions, and for held jobs, `skip` is at most 10000. `cut`:
 * the server sends only this many bytes of each payload, up to three fewer where a character would
 * be cut; 0: all of it. Up to 4096 it is cheap however large the payloads are. */
TKL_API int tkl_queue_peek(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max,
                           size_t cut, tkl_listing **listing) TKL_NONNULL(1, 6) TKL_CHECK;
/* Chooses jobs. All zero means all of them; all given conditions must hold. */
typedef struct tkl_job_filter {
    const char *id;    /* this job; NULL: any */
    tkl_bytes kind;    /* the kind of the jobs; empty: any or none */
    tkl_bytes reason;  /* the last error contains this */
    tkl_bytes text;    /* the payload, the kind, the last error or the id contains this */
    int64_t older_ms;  /* died or done at least this long ago; other jobs: pushed */
    int64_t within_ms; /* only for tkl_queue_find(): it stops after about this long; 0: after the
                          time-out of the queue */
    TKL_RESERVED(8);
} tkl_job_filter;

/* Finds up to `max` (at most 1000) jobs of a state, TKL_JOB_STATE_UNKNOWN for any state: ready,
 * delayed, held, active, dead, done; within a state as tkl_queue_peek() lists them. Searches in
 * short steps, so that the server serves other clients in between, until it has `max` jobs or the
 * time-out of the queue is over. Then listing->next says where to go on: pass it as `after`, which is
 * NULL at the beginning. `filter` NULL: all jobs; its id must be NULL. `cut`: as for
 * tkl_queue_peek(). A job that changes its state meanwhile may be found twice, or not at all. */
TKL_API int tkl_queue_find(tkl_queue *queue, tkl_job_state state, const tkl_job_filter *filter,
                           const char *after, size_t max, size_t cut, tkl_listing **listing)
    TKL_NONNULL(1, 7) TKL_CHECK;
/* Looks up one job by id, in whichever state. `cut`: as for tkl_queue_peek(). TKL_NOTFOUND: there is
 * no such job. */
TKL_API int tkl_queue_show(tkl_queue *queue, const char *id, size_t cut, tkl_listing **listing)
    TKL_NONNULL(1, 2, 4) TKL_CHECK;
TKL_API void tkl_listing_free(tkl_listing *listing); /* NULL is fine */

/* Why a job does not run. */
typedef enum tkl_queue_cause {
    TKL_QUEUE_CAUSE_PAUSED = 1,      /* the queue is paused */
    TKL_QUEUE_CAUSE_CONCURRENCY = 2, /* `used` jobs are claimed, and `limit` may be */
    TKL_QUEUE_CAUSE_RATE = 3,        /* `limit` may be claimed in `used` ms; at time_ms again */
    TKL_QUEUE_CAUSE_NO_WORKER = 4,   /* no worker was heard of */
    TKL_QUEUE_CAUSE_BUSY = 5,        /* no worker waits: they have `used` jobs for `limit`
                                              threads (0: not known) */
    TKL_QUEUE_CAUSE_BEHIND = 6,      /* `used` ready jobs come before it */
    TKL_QUEUE_CAUSE_DELAYED = 7,     /* until time_ms */
    TKL_QUEUE_CAUSE_RETRY = 8,       /* the same, after `used` failures; `text`: the last one */
    TKL_QUEUE_CAUSE_GROUP_CONCURRENCY = 9, /* as CONCURRENCY, for the group `text` */
    TKL_QUEUE_CAUSE_GROUP_RATE = 10,       /* as RATE, for the group `text` */
    TKL_QUEUE_CAUSE_FLOW = 11,             /* waits for `used` jobs, one of them `id`; "": not
                                              known which */
    TKL_QUEUE_CAUSE_FLOW_DEAD = 12,        /* the same, and that one is a dead letter */
    TKL_QUEUE_CAUSE_RUNS = 13,             /* it runs, since time_ms; `text`: on which host, and
                                              the pid */
    TKL_QUEUE_CAUSE_DEAD = 14,             /* a dead letter since time_ms; `text`: why */
} tkl_queue_cause;

/* "paused", "concurrency", "rate", "no worker", "busy", "behind", "delayed", "retry", "group
 * concurrency", "group rate", "flow", "flow dead", "runs", "dead"; "unknown" for anything else. */
TKL_API const char *tkl_queue_cause_name(tkl_queue_cause cause);

/* Numbers that a cause does not have are 0, texts are empty. Views into the tkl_queue_reasons. */
typedef struct tkl_queue_reason {
    tkl_queue_cause cause;
    int64_t used, limit;
    int64_t time_ms; /* Unix time; 0: none, or not known */
    tkl_bytes text;
    char id[TKL_JOB_ID_SIZE];
    TKL_RESERVED(4);
} tkl_queue_reason;

typedef struct tkl_queue_reasons {
    const tkl_queue_reason *items; /* the decisive one first; none: a worker gets it in a moment */
    size_t count;
    char id[TKL_JOB_ID_SIZE]; /* the job */
    tkl_job_state state;
} tkl_queue_reasons;

/* Why a job does not run; `id` NULL: why the job that should come next does not. Several causes may
 * hold at once. One script of less than a millisecond on each partition. TKL_NOTFOUND: there is no
 * such job, or none that waits. */
TKL_API int tkl_queue_why(tkl_queue *queue, const char *id, tkl_queue_reasons **reasons)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_queue_reasons_free(tkl_queue_reasons *reasons); /* NULL is fine */

#define TKL_FLOW_MAX 100

/* A job of a flow. Views into the tkl_flow. */
typedef struct tkl_flow_job {
    char id[TKL_JOB_ID_SIZE];
    tkl_job_state state;
    tkl_bytes kind;      /* empty: none */
    int64_t waits_for;   /* number of jobs that it waits for, listed or not */
    const size_t *after; /* those that are listed, as tkl_push.after: indices of earlier items */
    size_t after_count;
    TKL_RESERVED(2);
} tkl_flow_job;

typedef struct tkl_flow {
    const tkl_flow_job *items; /* jobs stand behind those that they wait for */
    size_t count;
    int64_t more; /* at least this many other jobs belong to the flow */
    TKL_RESERVED(4);
} tkl_flow;

/* The flow around a job: the jobs that it waits for, the jobs that wait for it, and so on; a job
 * without a flow stands alone. Done jobs are gone from it. `max`: list at most this many jobs, the
 * nearest ones, 1 to TKL_FLOW_MAX. Jobs that were pushed more than 1000 ids before or behind may be
 * missing. One script of a few milliseconds at most. TKL_NOTFOUND: there is no such job. */
TKL_API int tkl_queue_flow(tkl_queue *queue, const char *id, size_t max, tkl_flow **flow)
    TKL_NONNULL(1, 2, 4) TKL_CHECK;
TKL_API void tkl_flow_free(tkl_flow *flow); /* NULL is fine */

/* Removes a job from the queue, in any state; the worker of an active job learns that its claim is
 * lost. A dead letter is deleted. TKL_NOTFOUND: there is no such job. */
TKL_API int tkl_queue_cancel(tkl_queue *queue, const char *id) TKL_NONNULL(1, 2) TKL_CHECK;
/* Makes a delayed job ready now, also one that waits for its retry. It comes before jobs that were
 * pushed without a delay. TKL_NOTFOUND: no delayed job has this id. */
TKL_API int tkl_queue_promote(tkl_queue *queue, const char *id) TKL_NONNULL(1, 2) TKL_CHECK;
/* Gives a job another payload: one that is ready, delayed or held, or a dead letter. Everything else
 * stays as it was pushed: its options, its place, its unique key. TKL_BUSY: a worker has it, or had
 * it until a moment ago. TKL_FULL: the queue has no room for a larger payload (max_bytes).
 * TKL_NOTFOUND: there is no such job. */
TKL_API int tkl_queue_edit(tkl_queue *queue, const char *id, tkl_bytes payload)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* Puts a claimed job back to the front of the queue; the attempt does not count, and its token is
 * not valid any more: the worker learns that its claim is lost. For a worker that hangs and renews
 * its lease all the same. TKL_BUSY: its lease still runs, and `force` is false. TKL_NOTFOUND: no
 * claimed job has this id. */
TKL_API int tkl_queue_requeue(tkl_queue *queue, const char *id, bool force)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Dead letters ---- */

/* These work in steps, the newest first: the server serves other clients in between. `filter` NULL:
 * all dead letters. *count (may be NULL): how many, also after an error. TKL_NOTFOUND: none fits. */

/* Counts dead letters, and changes nothing. 0 is TKL_OK. */
TKL_API int tkl_queue_count_dead(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Puts dead letters back into the queue. Their retries start over. A job gets its unique key back
 * unless another job has it now. Jobs that die again meanwhile stay dead. */
TKL_API int tkl_queue_retry(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* Deletes dead letters. Without a filter, no dead letters at all is TKL_OK. */
TKL_API int tkl_queue_drop_dead(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* Moves dead letters to another queue, also of another server: pushes them there with the options
 * that they were pushed with, under new ids, and then deletes them here. None is lost. A move that
 * was interrupted may leave some in both queues. Repeat it within ten minutes: the other queue
 * recognises them and takes none twice. TKL_EXISTS: some stay, because the other queue has jobs with
 * their unique keys. TKL_FULL: the other queue is full, and the rest stays. TKL_EINVAL: `to` is the
 * same queue. */
TKL_API int tkl_queue_move_dead(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to,
                                int64_t *count) TKL_NONNULL(1, 3) TKL_CHECK;

/* ---- Done jobs that are kept ---- */

/* As with dead letters. No action on other jobs touches a kept one: it cannot be cancelled, retried or
 * drained, has no unique key, and nothing waits for it. */

/* Counts done jobs that are kept, and changes nothing. 0 is TKL_OK. */
TKL_API int tkl_queue_count_done(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Deletes done jobs that are kept. Without a filter, none at all is TKL_OK. Results that are kept for
 * tkl_queue_result() stay. */
TKL_API int tkl_queue_drop_done(tkl_queue *queue, const tkl_job_filter *filter, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;

/* ---- The whole queue ---- */

/* A paused queue accepts jobs and hands out none. */
TKL_API int tkl_queue_pause(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_queue_resume(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;
/* Removes all jobs that are ready, held or delayed. *count (may be NULL): how many. Works in steps:
 * the server serves other clients in between. */
TKL_API int tkl_queue_drain(tkl_queue *queue, int64_t *count) TKL_NONNULL(1) TKL_CHECK;
/* Removes the queue with all its jobs, totals, settings and schedules. Waiting consumers go on
 * waiting. TKL_NOTFOUND: there is no such queue. */
TKL_API int tkl_queue_drop(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;

/* The names of all queues in the client's namespace. Free with tkl_names_free(). */
TKL_API int tkl_queue_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;
/* Finds the number of partitions of a queue from its keys. Partitions at the end that were never
 * used are not counted. TKL_NOTFOUND: there is no such queue. */
TKL_API int tkl_queue_partitions(tkl_client *client, tkl_bytes name, int *partitions)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* ---- Watching ------------------------------------------------------------ */

/* An event in the life of a job, or of the queue. */
typedef enum tkl_job_event {
    TKL_JOB_EVENT_UNKNOWN = 0, /* an event of a newer version */
    TKL_JOB_EVENT_PUSHED = 1,
    TKL_JOB_EVENT_CLAIMED = 2,
    TKL_JOB_EVENT_DONE = 3,
    TKL_JOB_EVENT_FAILED = 4, /* it is retried; the note says why */
    TKL_JOB_EVENT_DEAD = 5,   /* the note says why */
    TKL_JOB_EVENT_RELEASED = 6,
    TKL_JOB_EVENT_RETRIED = 7, /* a dead letter is back in the queue */
    TKL_JOB_EVENT_PROMOTED = 8,
    TKL_JOB_EVENT_CANCELLED = 9, /* also a dead letter that was deleted */
    TKL_JOB_EVENT_PAUSED = 10,   /* the queue: without an id */
    TKL_JOB_EVENT_RESUMED = 11,
    TKL_JOB_EVENT_MOVED = 12, /* a dead letter is in another queue */
    TKL_JOB_EVENT_EDITED = 13,
} tkl_job_event;

/* "pushed", "claimed" and so on; "unknown" for anything else. */
TKL_API const char *tkl_job_event_name(tkl_job_event event);

typedef struct tkl_queue_event {
    tkl_job_event event;
    char id[TKL_JOB_ID_SIZE]; /* "": it is about the queue */
    int64_t at_ms;            /* Unix time, by the server's clock */
    tkl_bytes note;           /* why it failed or was released; empty: nothing to add */
    TKL_RESERVED(4);
} tkl_queue_event;

typedef struct tkl_queue_events {
    const tkl_queue_event *items;
    size_t count;
    bool lost; /* the connection was lost before these: events may be missing */
} tkl_queue_events;

typedef struct tkl_queue_watcher tkl_queue_watcher;

/* Watches a queue: servers publish events while a queue is watched, and for up to 30 s longer; a
 * queue without watchers pays nothing. Events are not kept: a watcher gets those that happen from
 * its first tkl_queue_watch_next() on. No I/O. The queue must stay open until the watcher is
 * closed. */
TKL_API int tkl_queue_watch(tkl_queue *queue, tkl_queue_watcher **watcher)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* Waits up to `wait_ms` (negative: for ever) for the next events: one or those of one step of the
 * server, in their order within a partition. TKL_EMPTY: none in time. TKL_NOTFOUND: there is no such
 * queue. TKL_EINTR: tkl_interrupt(). One thread at a time. */
TKL_API int tkl_queue_watch_next(tkl_queue_watcher *watcher, int64_t wait_ms,
                                 tkl_queue_events **events) TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_queue_events_free(tkl_queue_events *events);     /* NULL is fine */
TKL_API void tkl_queue_watcher_close(tkl_queue_watcher *watcher); /* NULL is fine */

/* ---- Settings ------------------------------------------------------------ */

/* Settings of a queue. The server keeps them, and they apply to all programs. When you set them, 0
 * leaves a setting unchanged and TKL_NONE removes it (dead letters: resets to the default). When
 * you read them, TKL_NONE means no limit. */
typedef struct tkl_queue_limits {
    int64_t max_jobs;    /* most jobs in each partition, without dead letters; further pushes are
                            TKL_FULL */
    int64_t max_bytes;   /* most bytes of all records in each partition, with dead letters */
    int64_t concurrency; /* most jobs of each partition that are claimed at the same time */
    int64_t rate;        /* most claims of each partition in rate_period_ms */
    int64_t rate_period_ms;
    int64_t group_concurrency; /* most jobs of a group that are claimed at the same time. 1 means
                                  strict order: by priority, then first in, first out; a job that
                                  waits for its retry holds up the others of its group. A lower
                                  limit applies to later claims; a higher one frees held jobs at
                                  once */
    int64_t group_rate;        /* most claims of a group in group_rate_period_ms */
    int64_t group_rate_period_ms;
    int64_t dead_max; /* number of dead letters that are kept, the newest; default 10000 */
    int64_t dead_ms;  /* how long dead letters are kept; default 30 days */
    /* Done jobs, for tkl_queue_peek(), tkl_queue_find() and tkl_queue_show(). The newest are kept
     * while all three hold; jobs that were done before are not there. */
    int64_t keep_ms;    /* how long done jobs are kept; default: not at all */
    int64_t keep_max;   /* number of them, in each partition; default 10000 */
    int64_t keep_bytes; /* bytes of them, in each partition; default 16 MB */
    TKL_RESERVED(8);
} tkl_queue_limits;

/* Sets some of them in one step, as in tkl_queue_limits_set(queue, &(tkl_queue_limits){.max_jobs =
 * 1000}); settings that others change at the same time are kept. Set a rate and its period
 * together. */
TKL_API int tkl_queue_limits_set(tkl_queue *queue, const tkl_queue_limits *limits)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API int tkl_queue_limits_get(tkl_queue *queue, tkl_queue_limits *limits)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
