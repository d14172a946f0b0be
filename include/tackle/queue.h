/* SPDX-License-Identifier: MIT
 *
 * Queues of jobs that programs on many machines share.
 *
 *     tkl_queue *mails;
 *     tkl_queue_open(client, tkl_str("mails"), NULL, &mails);
 *     tkl_queue_push_one(mails, tkl_str("alice@example.org"), NULL);
 *
 *     tkl_consumer *consumer;
 *     tkl_jobs *jobs;
 *     tkl_consumer_open(&mails, 1, NULL, &consumer);
 *     while (tkl_consumer_claim(consumer, 10, 5000, &jobs) == TKL_OK) {
 *         for (size_t i = 0; i < jobs->count; i++)
 *             tkl_consumer_finish(consumer, &(tkl_report){.job = &jobs->items[i]}, 1);
 *         tkl_jobs_free(jobs);
 *     }
 *
 * Most programs want a worker (worker.h), which does the second half with threads.
 *
 * Delivery is at least once: a claimed job is leased, and comes back to the front when its lease
 * ends without a report. Every claim has a token; a report with an old one is refused.
 * docs/queue.md has the whole contract.
 *
 * Threads: any number may use a queue; any number may use a consumer, and one of them claims at a
 * time. Fork: a queue may be used in a child; a consumer belongs to the process that opened it: in
 * a child its calls return TKL_EINVAL, and close only frees memory. Callbacks run in a thread of
 * the library or in the one that waits; they must not block, and may call only what is marked "No
 * I/O". Keys: docs/queue.md lists them, and when each goes.
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
    int64_t timeout_ms; /* of one call; 0: the client's */
    int partitions;     /* slots of a cluster that it is spread over; 0: 1; at most 256. All
                           programs that use the queue must name the same number */
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
/* An id as text, with its NUL: 13 hex digits, before them "partition." when there are several. */
#define TKL_JOB_ID_SIZE 20

/* How long another job with the same unique key is refused. */
typedef enum tkl_unique_mode {
    TKL_UNIQUE_UNTIL_FINISHED = 0, /* done, dead or cancelled */
    TKL_UNIQUE_UNTIL_STARTED = 1,  /* claimed for the first time */
    TKL_UNIQUE_FOR_A_TIME = 2,     /* unique_ms from the push on, whatever becomes of the job */
} tkl_unique_mode;

TKL_API const char *tkl_unique_mode_name(tkl_unique_mode mode); /* "until finished" */

/* A job to push. All zero but the payload means the defaults. */
typedef struct tkl_push {
    tkl_bytes payload; /* any bytes, also none */
    tkl_bytes meta;    /* any bytes for the worker, beside the payload; at most 64 KB */
    int priority;      /* TKL_PRIORITY_MIN to _MAX: lower first; first in, first out within one */
    int64_t delay_ms;  /* not before this long from now; 0: at once; at most ten years */
    int64_t at_ms;     /* not before this time (Unix time, the server's clock); 0: at once */
    tkl_bytes unique;  /* key of a unique job, at most 1 KB; empty: not unique. In a queue with
                          partitions it is unique among the jobs of its group, or without one */
    tkl_unique_mode unique_mode;
    int64_t unique_ms;      /* of TKL_UNIQUE_FOR_A_TIME, and only of that */
    int retries;            /* after the first attempt; 0: 10; TKL_NONE */
    int64_t backoff_ms;     /* before the first retry, doubled for each further one; 0: 1000 */
    int64_t backoff_max_ms; /* 0: an hour */
    int64_t time_limit_ms;  /* a run that takes longer is failed by the worker; 0: no limit */
    tkl_bytes group;        /* e.g. the customer: see tkl_queue_limits; at most 1 KB */
    int64_t result_ms;      /* keep the result this long for tkl_queue_result(); 0: not at all */
    /* A flow: runs when all of these jobs of the same push are over: their indexes, which must be
     * lower than its own. A job that was cancelled counts as done; one in the dead letters keeps it
     * waiting, until that is retried, or removed. A push with a flow has at most 1000 jobs that
     * wait for at most 2500 others in all, and goes to one partition: TKL_EINVAL when groups or
     * unique keys belong to different ones. A unique job that is there already (TKL_EXISTS) is
     * waited for, by at most 1000: TKL_FULL. */
    const size_t *after;
    size_t after_count;
    TKL_RESERVED(4);
} tkl_push;

typedef struct tkl_push_options {
    int64_t timeout_ms; /* of this call; 0: the queue's */
    /* A push repeated with the same request id within ten minutes pushes nothing twice, and
     * answers the same ids. At most 64 bytes. Empty: one is made up, which covers the repetitions
     * that the library makes itself, within the time-out. */
    tkl_bytes request;
    TKL_RESERVED(8);
} tkl_push_options;

/* What became of a job. */
typedef struct tkl_pushed {
    int code;                 /* TKL_OK; TKL_EXISTS: the id is of the job that has the unique key;
                                 TKL_FULL; or an error */
    char id[TKL_JOB_ID_SIZE]; /* "" on TKL_FULL and errors */
    TKL_RESERVED(2);
} tkl_pushed;

/* Pushes `count` jobs, in one trip (a large batch in several, to each server): TKL_OK when all are
 * in the queue, counting those that were there already (TKL_EXISTS). Otherwise the first of the
 * failures; pushed[i].code tells each. After TKL_ETIMEOUT and TKL_EUNKNOWN repeat it with the same
 * request id. `pushed` may be NULL. */
TKL_API int tkl_queue_push(tkl_queue *queue, const tkl_push *jobs, size_t count,
                           const tkl_push_options *options, tkl_pushed *pushed)
    TKL_NONNULL(1) TKL_CHECK;
/* One job with all defaults. `id` may be NULL. */
TKL_API int tkl_queue_push_one(tkl_queue *queue, tkl_bytes payload, char id[TKL_JOB_ID_SIZE])
    TKL_NONNULL(1) TKL_CHECK;

/* ---- Claiming ------------------------------------------------------------ */

typedef struct tkl_consumer tkl_consumer;

typedef struct tkl_consumer_options {
    int64_t timeout_ms; /* of one call, waiting not counted; 0: the client's */
    int64_t lease_ms;   /* a job comes back this long after its worker died; 0: 10000;
                           at least 100 */
    bool no_renewal;    /* do not renew leases in the background: the caller must be done, or call
                           tkl_queue_renew(), in time */
    /* Called when a claim was lost (the lease ended, or the job was cancelled), from a thread of
     * the library. `id` and `token` as in tkl_job. */
    void (*on_lost)(const char *id, const char *token, void *arg);
    /* Called when the server cannot be asked while a claim waits, by the thread that waits: it will
     * be asked again, and the claim goes on waiting. */
    void (*on_error)(int code, const char *message, void *arg);
    void *arg; /* of the two above */
    TKL_RESERVED(8);
} tkl_consumer_options;

#define TKL_CLAIM_TOKEN_SIZE 17

/* A claimed job; what it points to lives until tkl_jobs_free(). */
typedef struct tkl_job {
    char id[TKL_JOB_ID_SIZE];
    char token[TKL_CLAIM_TOKEN_SIZE]; /* of this claim */
    tkl_queue *queue;
    tkl_bytes payload;
    tkl_bytes meta;
    tkl_bytes group;
    tkl_bytes error; /* why the attempt before failed; empty at the first */
    int priority;
    int attempt; /* from 1; releases do not count */
    int retries; /* attempts that may follow the first */
    int64_t time_limit_ms;
    int64_t pushed_ms; /* Unix time of the server's clock */
    TKL_RESERVED(4);
} tkl_job;

typedef struct tkl_jobs {
    const tkl_job *items;
    size_t count;
} tkl_jobs;

/* No I/O. Claims from these queues, of one client: the first is always served first. The queues are
 * borrowed until it is closed. */
TKL_API int tkl_consumer_open(tkl_queue *const *queues, size_t count,
                              const tkl_consumer_options *options, tkl_consumer **consumer)
    TKL_NONNULL(4) TKL_CHECK;
/* Stops renewing: jobs claimed and not reported come back when their leases end. No other thread
 * may be inside a call. NULL is fine. */
TKL_API void tkl_consumer_close(tkl_consumer *consumer);

/* Claims up to `max` jobs (at most 1000), waiting up to `wait_ms` for the first: 0 does not wait,
 * negative waits for ever. TKL_EMPTY: none in time, or cancelled; TKL_EINTR: tkl_interrupt(). A
 * server that goes away meanwhile is waited for until the time is up. */
TKL_API int tkl_consumer_claim(tkl_consumer *consumer, size_t max, int64_t wait_ms, tkl_jobs **jobs)
    TKL_NONNULL(1, 4) TKL_CHECK;
/* From another thread: ends a wait at once. From then on claims do not wait. No I/O. */
TKL_API void tkl_consumer_cancel(tkl_consumer *consumer) TKL_NONNULL(1);
/* From another thread: ends the wait under way with TKL_EMPTY, or else the next one. Those after it
 * wait again. No I/O. */
TKL_API void tkl_consumer_wake(tkl_consumer *consumer) TKL_NONNULL(1);

TKL_API void tkl_jobs_free(tkl_jobs *jobs); /* NULL is fine */

typedef enum tkl_outcome {
    TKL_OUTCOME_DONE = 0,   /* text: the result, if it is wanted */
    TKL_OUTCOME_FAILED = 1, /* text: why. Tried again after the backoff while retries are left, else
                               dead */
    TKL_OUTCOME_DEAD = 2,   /* text: why. To the dead letters at once */
    TKL_OUTCOME_RELEASED =
        3, /* back to the queue, uses no attempt: to the front, or after delay_ms */
} tkl_outcome;

/* "done", "failed", "dead", "released"; "unknown" for anything else. */
TKL_API const char *tkl_outcome_name(tkl_outcome outcome);

typedef struct tkl_report {
    const tkl_job *job;
    tkl_outcome outcome;
    tkl_bytes text;   /* errors are cut at 1000 bytes */
    int64_t delay_ms; /* of TKL_OUTCOME_RELEASED, and of TKL_OUTCOME_FAILED instead of the backoff
                         if not 0; at most ten years */
    int code;         /* out: TKL_OK; TKL_NOTOWNER: the claim was not valid any more; or an error */
    TKL_RESERVED(4);
} tkl_report;

/* Reports the outcomes of claimed jobs, in one trip. TKL_OK when all counted; TKL_NOTOWNER when
 * some came too late; or an error. A job whose report had an error is still claimed: report it
 * again (a report that did count, but whose answer was lost, is recognised while the lease would
 * have lasted and is not taken for a stale one). */
TKL_API int tkl_consumer_finish(tkl_consumer *consumer, tkl_report *reports, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Both in one trip: reports, and claims the next jobs. The result is that of the claim;
 * reports[i].code tells what became of each report. */
TKL_API int tkl_consumer_next(tkl_consumer *consumer, tkl_report *reports, size_t count, size_t max,
                              int64_t wait_ms, tkl_jobs **jobs) TKL_NONNULL(1, 6) TKL_CHECK;

/* ---- With id and token: what was claimed elsewhere, or by an earlier command ------- */

/* One job, by id and token of its claim; the text and delay as in tkl_report. TKL_NOTOWNER: the
 * claim is not valid any more. */
TKL_API int tkl_queue_finish(tkl_queue *queue, const char *id, const char *token,
                             tkl_outcome outcome, tkl_bytes text, int64_t delay_ms)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
/* Makes the lease last `lease_ms` from now, and sets the progress (any bytes, at most 1000) unless
 * it is empty. TKL_NOTOWNER as above. */
TKL_API int tkl_queue_renew(tkl_queue *queue, const char *id, const char *token, int64_t lease_ms,
                            tkl_bytes progress) TKL_NONNULL(1, 2, 3) TKL_CHECK;

/* ---- Results ------------------------------------------------------------- */

typedef enum tkl_job_state {
    TKL_JOB_STATE_UNKNOWN = 0, /* never there, or gone */
    TKL_JOB_STATE_READY = 1,   /* waits for a worker */
    TKL_JOB_STATE_DELAYED = 2, /* waits for its time */
    TKL_JOB_STATE_HELD = 3,    /* waits for others: of its group, or of its flow */
    TKL_JOB_STATE_ACTIVE = 4,  /* claimed */
    TKL_JOB_STATE_DONE = 5,    /* done, and its result is kept */
    TKL_JOB_STATE_DEAD = 6,    /* in the dead letters */
} tkl_job_state;

/* "ready", "delayed", "held", "active", "done", "dead"; "unknown" for anything else. */
TKL_API const char *tkl_job_state_name(tkl_job_state state);

/* How a job ended. */
typedef struct tkl_job_result {
    tkl_bytes text; /* the result, or why it is dead */
} tkl_job_result;

/* The end of a job that was pushed with result_ms, waiting up to `wait_ms` for it. TKL_OK: it is
 * done; TKL_DEAD: it is in the dead letters; *result says more. TKL_EMPTY: not ended in time.
 * TKL_NOTFOUND: there is no such job, or no result was wanted. TKL_EINTR: tkl_interrupt(). */
TKL_API int tkl_queue_result(tkl_queue *queue, const char *id, int64_t wait_ms,
                             tkl_job_result **result) TKL_NONNULL(1, 2, 4) TKL_CHECK;
TKL_API void tkl_job_result_free(tkl_job_result *result); /* NULL is fine */

/* ---- For operators ------------------------------------------------------- */

typedef struct tkl_queue_stats {
    int64_t ready;   /* can be claimed now; a delayed job from its time on, a claimed one from the
                        end of its lease on */
    int64_t delayed; /* wait for their time, schedules not counted */
    int64_t held;    /* wait for others of their group or flow */
    int64_t active;  /* claimed */
    int64_t dead;    /* in the dead letters */
    int64_t schedules;
    int64_t waiters; /* consumers that wait */
    bool paused;
    int64_t pushed; /* in all, since the queue exists */
    int64_t done;
    int64_t failed;    /* attempts */
    int64_t bytes;     /* of all jobs in the queue */
    int64_t oldest_ms; /* how long the oldest ready job has been ready; 0 when there is none */
    TKL_RESERVED(8);
} tkl_queue_stats;

TKL_API int tkl_queue_stats_get(tkl_queue *queue, tkl_queue_stats *stats)
    TKL_NONNULL(1, 2) TKL_CHECK;

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

/* A job looked at. Views into the tkl_listing. */
typedef struct tkl_job_info {
    char id[TKL_JOB_ID_SIZE];
    tkl_job_state state;
    tkl_bytes payload, meta, group, unique;
    tkl_bytes error;    /* why the last attempt failed */
    tkl_bytes progress; /* as last reported by its worker */
    int priority;
    int attempt; /* attempts begun and failed so far */
    int retries;
    int64_t pushed_ms;
    int64_t due_ms; /* Unix time: delayed: when; active: end of the lease; dead: since when */
    TKL_RESERVED(4);
} tkl_job_info;

typedef struct tkl_listing {
    const tkl_job_info *items;
    size_t count;
} tkl_listing;

/* Up to `max` (at most 1000) jobs of a state (ready, delayed, held, active or dead), the next to be
 * served first, the dead newest first, behind the first `skip`; fewer when they are large (about
 * 16 MB). Changes nothing. A delayed job is listed among the ready from its time on, a claimed one
 * from the end of its lease on (of those that nobody has claimed since, the first 200). Among the
 * delayed, `skip` counts schedules too. Of several partitions, and of the held, at most 10000 can
 * be skipped. */
TKL_API int tkl_queue_peek(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max,
                           tkl_listing **listing) TKL_NONNULL(1, 5) TKL_CHECK;
/* One job by id: its state and what is known of it. TKL_NOTFOUND. */
TKL_API int tkl_queue_show(tkl_queue *queue, const char *id, tkl_listing **listing)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
TKL_API void tkl_listing_free(tkl_listing *listing); /* NULL is fine */

/* Takes a job out of the queue, in whichever state; an active one's worker learns that its claim is
 * lost. A dead letter is deleted. TKL_NOTFOUND. */
TKL_API int tkl_queue_cancel(tkl_queue *queue, const char *id) TKL_NONNULL(1, 2) TKL_CHECK;
/* Dead letters back to the queue with all attempts before them: one, or all when `id` is NULL
 * (*count of them; may be NULL). A unique key is taken again if nobody has it by now. TKL_NOTFOUND:
 * it is not there; for all: there were none. */
TKL_API int tkl_queue_retry(tkl_queue *queue, const char *id, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* Deletes dead letters: one, or all when `id` is NULL (*count of them; may be NULL). TKL_NOTFOUND:
 * that one is not a dead letter, or not any more. */
TKL_API int tkl_queue_drop_dead(tkl_queue *queue, const char *id, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;

/* A paused queue takes jobs and gives none. */
TKL_API int tkl_queue_pause(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_queue_resume(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;
/* Removes all jobs that are ready, held or delayed; *count of them; may be NULL. In steps: others
 * are served in between. */
TKL_API int tkl_queue_drain(tkl_queue *queue, int64_t *count) TKL_NONNULL(1) TKL_CHECK;
/* Removes the queue with all it has, its totals, settings and schedules too. Waiters wait on.
 * TKL_NOTFOUND: there was nothing. */
TKL_API int tkl_queue_drop(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;

/* The names of all queues in the client's namespace. Free with tkl_names_free(). */
TKL_API int tkl_queue_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;
/* With how many partitions a queue can be opened, by what is there: of several partitions, the last
 * may never have been used, and are not counted. TKL_NOTFOUND: there is no such queue. */
TKL_API int tkl_queue_partitions(tkl_client *client, tkl_bytes name, int *partitions)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* Settings of a queue, kept on the server: they hold for all programs. To set them: 0 leaves one as
 * it is, TKL_NONE removes it (for the dead letters: the default). As read: TKL_NONE is none. */
typedef struct tkl_queue_limits {
    int64_t max_jobs;    /* pushes beyond are refused with TKL_FULL; of each partition. Dead letters
                            do not count */
    int64_t max_bytes;   /* of all records, those of dead letters too; of each partition */
    int64_t concurrency; /* claimed at once; of each partition */
    int64_t rate;        /* claims in rate_period_ms, of each partition */
    int64_t rate_period_ms;
    int64_t group_concurrency; /* of a group at once. 1 is strict order: by priority, then first in,
                                  first out, and a job that waits for its retry holds up the others
                                  of its group. A lower limit holds for what is claimed from then
                                  on; a higher one lets in those that were held up */
    int64_t group_rate;        /* of a group in group_rate_period_ms */
    int64_t group_rate_period_ms;
    int64_t dead_max; /* dead letters kept, the newest; default 10000 */
    int64_t dead_ms;  /* and for this long; default 30 days */
    TKL_RESERVED(8);
} tkl_queue_limits;

/* Sets some of them in one step, as in
 * tkl_queue_limits_set(queue, &(tkl_queue_limits){.max_jobs = 1000}); what others set at the same
 * time is kept. A rate and its period are changed together. */
TKL_API int tkl_queue_limits_set(tkl_queue *queue, const tkl_queue_limits *limits)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API int tkl_queue_limits_get(tkl_queue *queue, tkl_queue_limits *limits)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
