/* SPDX-License-Identifier: MIT
 *
 * Queues of jobs that programs on many machines share.
 *
 *     tkl_queue *mails;
 *     tkl_queue_open(client, tkl_str("mails"), NULL, &mails);
 *     tkl_push job = {.payload = tkl_str("alice@example.org")};
 *     tkl_pushed pushed;
 *     tkl_queue_push(mails, &job, 1, NULL, &pushed);
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
 * ends without a word. Every claim has a token; who comes late with an old one is refused.
 * docs/queue.md has the whole contract.
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
    int partitions; /* spread over so many slots of a cluster; 0: 1; at most 256. All programs that
                       use the queue must say the same. */
} tkl_queue_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. A handle is immutable: any number of threads may
 * use it. */
TKL_API int tkl_queue_open(tkl_client *client, tkl_bytes name, const tkl_queue_options *options,
                           tkl_queue **queue) TKL_NONNULL(1, 4) TKL_CHECK;
/* Consumers and workers of it must be closed before. NULL is fine. */
TKL_API void tkl_queue_close(tkl_queue *queue);

/* ---- Pushing ------------------------------------------------------------- */

#define TKL_PRIORITY_MIN (-1000) /* served first */
#define TKL_PRIORITY_MAX 1000
/* An id as text, with its NUL: 13 hex digits, before them "partition." when there are several. */
#define TKL_JOB_ID_SIZE 20

/* How long another job with the same unique key is refused. */
typedef enum tkl_unique_mode {
    TKL_UNTIL_FINISHED, /* done, dead or cancelled */
    TKL_UNTIL_STARTED,  /* claimed for the first time */
    TKL_FOR_A_TIME,     /* unique_ms from the push on, whatever becomes of the job */
} tkl_unique_mode;

/* A job to push. All zero but the payload means the defaults. */
typedef struct tkl_push {
    tkl_bytes payload; /* any bytes, also none */
    tkl_bytes meta;    /* any bytes for the worker, beside the payload; at most 64 KB */
    int priority;      /* TKL_PRIORITY_MIN to _MAX: lower first; first in, first out within one */
    int64_t delay_ms;  /* not before so long from now; 0: at once */
    int64_t at_ms;     /* not before this time (Unix time, the server's clock); 0: at once */
    tkl_bytes unique;  /* key of a unique job, at most 1 KB; empty: not unique. In a queue with
                          partitions it is unique among the jobs of its group, or without one */
    tkl_unique_mode unique_mode;
    int64_t unique_ms;      /* of TKL_FOR_A_TIME */
    int retries;            /* after the first attempt; 0: 10; -1: none */
    int64_t backoff_ms;     /* before the first retry, doubled for each further one; 0: 1000 */
    int64_t backoff_max_ms; /* 0: an hour */
    int64_t timeout_ms;     /* a run that takes longer is failed by the worker; 0: no limit */
    tkl_bytes group;        /* e.g. the customer: see tkl_queue_limits; at most 1 KB */
    int64_t result_ms;      /* keep the result so long for tkl_queue_result(); 0: not at all */
    /* A flow: runs when all of these jobs of the same push are over: their indexes, which must be
     * lower than its own. A job that was cancelled counts as done; one in the dead letters keeps it
     * waiting, until that is retried, or removed. A push with a flow has at most 1000 jobs, all
     * in one partition: TKL_EINVAL when their groups or unique keys belong to different ones. A
     * unique job that is there already (TKL_EXISTS) is waited for, by at most 1000: TKL_FULL. */
    const size_t *after;
    size_t after_count;
} tkl_push;

typedef struct tkl_push_options {
    /* A push repeated with the same request id within ten minutes pushes nothing twice, and
     * answers the same ids. At most 64 bytes. Empty: one is made up, which covers the repetitions
     * that the library makes itself, within the client's time-out. */
    tkl_bytes request;
} tkl_push_options;

/* What became of a job. */
typedef struct tkl_pushed {
    int code;                 /* TKL_OK; TKL_EXISTS: the id is of the job that has the unique key;
                                 TKL_FULL; or an error */
    char id[TKL_JOB_ID_SIZE]; /* "" on TKL_FULL and errors */
} tkl_pushed;

/* Pushes `count` jobs, in one trip (a large batch in several, to each server): TKL_OK when all are
 * in the queue, counting those that were there already (TKL_EXISTS). Otherwise the first of the
 * failures; pushed[i].code tells each. After TKL_ETIMEOUT and TKL_EUNKNOWN repeat it with the same
 * request id. `pushed` may be NULL. */
TKL_API int tkl_queue_push(tkl_queue *queue, const tkl_push *jobs, size_t count,
                           const tkl_push_options *options, tkl_pushed *pushed)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Claiming ------------------------------------------------------------ */

typedef struct tkl_consumer tkl_consumer;

typedef struct tkl_consumer_options {
    int64_t lease_ms; /* a job comes back so long after its worker died; 0: 10000; at least 100 */
    bool no_renewal;  /* do not extend leases in the background: whoever claims must be done or
                         call tkl_queue_extend() in time */
    /* Called when a claim was lost (the lease ended, or the job was cancelled) from the client's
     * background thread, which must not be kept long. `id` and `token` as in tkl_job. */
    void (*on_lost)(const char *id, const char *token, void *arg);
    /* Called when the server cannot be asked while a claim waits, by a thread that waits: it will
     * be asked again, and the claim goes on waiting. */
    void (*on_error)(int code, const char *message, void *arg);
    void *arg; /* of the two above */
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
    int64_t timeout_ms;
    int64_t pushed_ms; /* Unix time of the server's clock */
} tkl_job;

typedef struct tkl_jobs {
    const tkl_job *items;
    size_t count;
} tkl_jobs;

/* No I/O. Claims from these queues, of one client: the first is always served first. The queues are
 * borrowed until it is closed. A consumer may be used by several threads; one of them
 * claims at a time (the others wait for their turn). */
TKL_API int tkl_consumer_open(tkl_queue *const *queues, size_t count,
                              const tkl_consumer_options *options, tkl_consumer **consumer)
    TKL_NONNULL(1, 4) TKL_CHECK;
/* Stops extending: jobs claimed and not reported come back when their leases end. Waits for no
 * one: no other thread may be inside a call. NULL is fine. */
TKL_API void tkl_consumer_close(tkl_consumer *consumer);

/* Claims up to `max` jobs (at most 1000), waiting up to `wait_ms` for the first: 0 does not wait,
 * negative waits for ever. TKL_EMPTY: none in time, or cancelled. A server that goes away meanwhile
 * is waited for until the time is up. Free with tkl_jobs_free(). */
TKL_API int tkl_consumer_claim(tkl_consumer *consumer, size_t max, int64_t wait_ms, tkl_jobs **jobs)
    TKL_NONNULL(1, 4) TKL_CHECK;
/* From another thread: ends a wait at once. From then on claims do not wait. No I/O. */
TKL_API void tkl_consumer_cancel(tkl_consumer *consumer) TKL_NONNULL(1);

TKL_API void tkl_jobs_free(tkl_jobs *jobs); /* NULL is fine */

typedef enum tkl_outcome {
    TKL_JOB_DONE,   /* text: the result, if it is wanted */
    TKL_JOB_FAILED, /* text: why. Tried again after the backoff while retries are left, else dead */
    TKL_JOB_DEAD,   /* text: why. To the dead letters at once */
    TKL_JOB_RELEASED, /* back to the queue, uses no attempt: to the front, or after delay_ms */
} tkl_outcome;

typedef struct tkl_report {
    const tkl_job *job;
    tkl_outcome outcome;
    tkl_bytes text; /* errors are cut at 1000 bytes */
    int64_t
        delay_ms; /* of TKL_JOB_RELEASED, and of TKL_JOB_FAILED instead of the backoff if not 0 */
    int code;     /* out: TKL_OK; TKL_NOTOWNER: the claim was not valid any more; or an error */
} tkl_report;

/* Reports what became of claimed jobs, in one trip. TKL_OK when all counted; TKL_NOTOWNER when some
 * came too late; or an error. A job whose report had an error is still claimed: report it again
 * (a report that did count, but whose answer was lost, is recognised while the lease would have
 * lasted and is not told as stale). */
TKL_API int tkl_consumer_finish(tkl_consumer *consumer, tkl_report *reports, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Both in one trip: reports and claims. The answer is that of the claim; reports[i].code tells
 * their fate. */
TKL_API int tkl_consumer_turn(tkl_consumer *consumer, tkl_report *reports, size_t count, size_t max,
                              int64_t wait_ms, tkl_jobs **jobs) TKL_NONNULL(1, 6) TKL_CHECK;

/* ---- With id and token: what was claimed elsewhere, or by an earlier command ------- */

/* One job, by id and token of its claim; the text and delay as in tkl_report. TKL_NOTOWNER: the
 * claim is not valid any more. */
TKL_API int tkl_queue_finish(tkl_queue *queue, const char *id, const char *token,
                             tkl_outcome outcome, tkl_bytes text, int64_t delay_ms)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
/* Makes the lease last `lease_ms` from now, and sets the progress (any bytes, at most 1000) unless
 * it is empty. TKL_NOTOWNER as above. */
TKL_API int tkl_queue_extend(tkl_queue *queue, const char *id, const char *token, int64_t lease_ms,
                             tkl_bytes progress) TKL_NONNULL(1, 2, 3) TKL_CHECK;

/* ---- Results ------------------------------------------------------------- */

typedef enum tkl_job_state {
    TKL_JOB_UNKNOWN,  /* never there, or gone */
    TKL_JOB_READY,    /* waits for a worker */
    TKL_JOB_DELAYED,  /* waits for its time */
    TKL_JOB_HELD,     /* waits for others: of its group, or of its flow */
    TKL_JOB_ACTIVE,   /* claimed */
    TKL_JOB_FINISHED, /* done, and its result is kept */
    TKL_JOB_BURIED,   /* in the dead letters */
} tkl_job_state;

/* What became of a job that was pushed with result_ms, waiting up to `wait_ms` for its end: TKL_OK
 * and *result is a string, the result of TKL_JOB_DONE; TKL_NOTFOUND: there is no
 * such job, or no result was wanted; TKL_EMPTY: not ended in time; TKL_ELOST: it ended in the dead
 * letters, *result is why. Free with tkl_reply_free(). */
TKL_API int tkl_queue_result(tkl_queue *queue, const char *id, int64_t wait_ms, tkl_reply **result)
    TKL_NONNULL(1, 2, 4) TKL_CHECK;

/* ---- For operators ------------------------------------------------------- */

typedef struct tkl_queue_stats {
    int64_t ready;   /* can be claimed now; a delayed job from its time on */
    int64_t delayed; /* wait for their time, schedules not counted */
    int64_t held;    /* wait for others of their group or flow */
    int64_t active;  /* claimed */
    int64_t dead;    /* in the dead letters */
    int64_t schedules;
    int64_t waiting; /* consumers that wait */
    bool paused;
    int64_t pushed; /* in all, since the queue exists */
    int64_t done;
    int64_t failed;    /* attempts */
    int64_t bytes;     /* of all jobs in the queue */
    int64_t oldest_ms; /* age of the oldest ready job; 0 when there is none */
} tkl_queue_stats;

TKL_API int tkl_queue_stats_get(tkl_queue *queue, tkl_queue_stats *stats)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* Ready jobs by priority: the lowest first. At most 2001. */
typedef struct tkl_queue_level {
    int priority;
    int64_t ready;
} tkl_queue_level;
/* Fills up to `max`; *count is how many there are. */
TKL_API int tkl_queue_levels(tkl_queue *queue, tkl_queue_level *levels, size_t max, size_t *count)
    TKL_NONNULL(1, 2, 4) TKL_CHECK;

/* A job looked at. Views into the tkl_listing. */
typedef struct tkl_job_info {
    char id[TKL_JOB_ID_SIZE];
    tkl_job_state state;
    tkl_bytes payload, meta, group, unique;
    tkl_bytes error;    /* why the last attempt failed */
    tkl_bytes progress; /* as last told by its worker */
    int priority;
    int attempt; /* attempts begun and failed so far */
    int retries;
    int64_t pushed_ms;
    int64_t due_ms; /* Unix time: delayed: when; active: end of the lease; buried: since when */
} tkl_job_info;

typedef struct tkl_listing {
    const tkl_job_info *items;
    size_t count;
} tkl_listing;

/* Up to `max` (at most 1000) jobs of a state (TKL_JOB_READY, _DELAYED, _HELD, _ACTIVE or _BURIED),
 * the next to be served first, the dead newest first, behind the first `skip`; fewer when they are
 * large (about 16 MB). Changes nothing. A delayed job is listed among the ready from its time on
 * (of those that nobody has claimed since, the first 200). Among the delayed, `skip` counts
 * schedules too. Of several partitions, and of the held, at most 10000 can be skipped. */
TKL_API int tkl_queue_peek(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max,
                           tkl_listing **listing) TKL_NONNULL(1, 5) TKL_CHECK;
/* One job by id: its state and what is known of it. TKL_NOTFOUND. */
TKL_API int tkl_queue_show(tkl_queue *queue, const char *id, tkl_listing **listing)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
TKL_API void tkl_listing_free(tkl_listing *listing); /* NULL is fine */

/* Takes a job out of the queue, in whichever state; an active one's worker learns that its claim is
 * lost. A dead letter is deleted. TKL_NOTFOUND. */
TKL_API int tkl_queue_cancel(tkl_queue *queue, const char *id) TKL_NONNULL(1, 2) TKL_CHECK;
/* The same for dead letters only. TKL_NOTFOUND: it is not one, or not any more. */
TKL_API int tkl_queue_cancel_dead(tkl_queue *queue, const char *id) TKL_NONNULL(1, 2) TKL_CHECK;
/* Dead letters back to the queue with all attempts before them: one, or all when `id` is NULL
 * (*count of them; may be NULL). A unique key is taken again if nobody has it by now. TKL_NOTFOUND:
 * it is not there; for all: there were none. */
TKL_API int tkl_queue_retry(tkl_queue *queue, const char *id, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* Removes all dead letters; *count of them; may be NULL. */
TKL_API int tkl_queue_bury_none(tkl_queue *queue, int64_t *count) TKL_NONNULL(1) TKL_CHECK;

/* A paused queue takes jobs and gives none. */
TKL_API int tkl_queue_pause(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_queue_resume(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;
/* Removes all jobs that are ready, held or delayed; *count of them; may be NULL. In steps: others
 * are served in between. */
TKL_API int tkl_queue_drain(tkl_queue *queue, int64_t *count) TKL_NONNULL(1) TKL_CHECK;
/* Removes the queue with all it has, its totals, settings and schedules too. */
TKL_API int tkl_queue_destroy(tkl_queue *queue) TKL_NONNULL(1) TKL_CHECK;

/* All queues in the client's namespace: an array of arrays, each of a name and a number of
 * partitions with which it can be opened. That is told by what is there: of several partitions, the
 * last may never have been used, and are not counted. */
TKL_API int tkl_queue_list(tkl_client *client, tkl_reply **queues) TKL_NONNULL(1, 2) TKL_CHECK;

/* Settings of a queue, kept on the server: they hold for all programs. 0 means none (and for the
 * dead letters the default), TKL_LIMIT_KEEP that it stays as it is. */
#define TKL_LIMIT_KEEP (-1)
typedef struct tkl_queue_limits {
    int64_t max_jobs;    /* pushes beyond are refused with TKL_FULL; of each partition. Dead letters
                            do not count */
    int64_t max_bytes;   /* of all records, those of dead letters too; ditto */
    int64_t concurrency; /* claimed at once; of each partition */
    int64_t rate;        /* claims in rate_period_ms, of each partition */
    int64_t rate_period_ms;
    int64_t group_concurrency; /* of a group at once. 1 is strict order: by priority, then first in,
                                  first out, and a job that waits for its retry holds up the others
                                  of its group. A lower limit holds for what is claimed from then
                                  on; a higher one lets in those that were held up */
    int64_t group_rate;        /* of a group in group_rate_period_ms */
    int64_t group_rate_period_ms;
    int64_t dead_max; /* dead letters kept, the newest; 0: 10000 */
    int64_t dead_ms;  /* and for so long; 0: 30 days */
} tkl_queue_limits;

/* All stay as they are: change the others only, as in
 * tkl_queue_limits limits = TKL_QUEUE_LIMITS_KEEP; limits.max_jobs = 1000; */
#define TKL_QUEUE_LIMITS_KEEP                  \
    {                                          \
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 \
    }

/* Sets them in one step: what others set at the same time and is to stay here is kept. A rate and
 * its period are changed together. */
TKL_API int tkl_queue_limit(tkl_queue *queue, const tkl_queue_limits *limits)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API int tkl_queue_limits_get(tkl_queue *queue, tkl_queue_limits *limits)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
