/* SPDX-License-Identifier: MIT
 *
 * The private parts of a consumer, for the files of this folder. The essay is in queue.c.
 */
#ifndef TKL_QUEUE_CONSUMER_H
#define TKL_QUEUE_CONSUMER_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/keeper.h"
#include "core/number.h"
#include "core/waiting.h"
#include "queue/partition.h"
#include "queue/record.h"
#include "queue/tally.h"

#define TKL__QUEUE_CLAIM_MAX    1000 /* jobs claimed, done or renewed in one run of a script */
#define TKL__QUEUE_RICH_MAX     250  /* rich done jobs in one run; see tkl__queue_claim */
#define TKL__QUEUE_LEASE_MIN_MS 100
#define TKL__QUEUE_LEASE_MAX_MS INT64_C(315360000000) /* ten years */
/* How long close() and cancel() wait for a server that may be down. */
#define TKL__QUEUE_PARTING_US 250000

/* "id:token" */
#define TKL__QUEUE_MEMBER_LEN (TKL__QUEUE_ID_LEN + TKL_TOKEN_SIZE)

/* Arguments of renew.lua before the claims. */
#define TKL__QUEUE_RENEW_ARGS 4

/* A job that this consumer has claimed and not reported yet. */
typedef struct tkl__queue_claim {
    char member[TKL__QUEUE_MEMBER_LEN + 1]; /* "id:token" */
    struct tkl__queue_source *source;
    bool rich;        /* its end does more than remove its record */
    bool answers;     /* a caller waits for its result */
    size_t bytes;     /* size of the record */
    int64_t claimed;  /* local time before the claim was sent */
    int64_t started;  /* local time before the claim, or its last renewal, was sent */
    int64_t lease_us; /* from `started` on; an unconfirmed hand-over has less than the consumer's */
    bool reporting;   /* a thread reports it now */
    bool unsure;      /* a report had no answer: the claim may have ended */
    bool lost;        /* the lease has ended, and on_lost() was called if it had to be */
    struct tkl__queue_claim *chain;       /* next in its bucket */
    struct tkl__queue_claim *next, *prev; /* in its source, oldest first */
} tkl__queue_claim;

/* A partition to claim from. */
typedef struct tkl__queue_source {
    tkl_consumer *consumer;
    tkl__queue_partition *partition;
    char token[TKL_TOKEN_SIZE]; /* token of the last claim */
    bool unsure;                /* that claim had no answer, or its token may still be in line */
    int64_t introduced;         /* local time of the last introduction; 0: none; with the mutex */
    tkl__queue_tally tally;     /* with the mutex */
    tkl__ear ear;               /* hears hand-overs, and messages to all waiters */
    unsigned char jitter;       /* random: spreads waiters that look because another did not */

    tkl__queue_claim *first, *last; /* with the mutex */
    bool suspect;                   /* the last renewal failed; with the mutex */

    /* The keeper's renewal under way. */
    tkl__kept kept;
    struct {
        /* TKL__QUEUE_CLAIM_MAX of them; NULL: not needed so far */
        char (*members)[TKL__QUEUE_MEMBER_LEN + 1];
        tkl_bytes *args;
        size_t count;
        int64_t started;
        tkl__buf words; /* the introduction, and the counts behind it: see introduce.c */
    } renewal;
} tkl__queue_source;

typedef struct tkl__queue_span {
    size_t first, count; /* range of the queue's partitions in `sources` */
} tkl__queue_span;

struct tkl_consumer {
    tkl_client *client;
    tkl__queue_source *sources; /* in the order of the queues */
    size_t nsources;
    tkl__wait wait; /* with the turn: its ears are those of the sources */
    tkl__queue_span *queues;
    size_t nqueues;
    size_t rotation; /* which partition comes first */
    int64_t lease_us;
    char lease[24];     /* milliseconds */
    int64_t timeout_ms; /* time-out of one call; 0: the client's time-out */
    bool no_renewal;
    char id[TKL_WORKER_ID_SIZE]; /* the first digits of its tokens */
    char label[TKL_LABEL_MAX];
    size_t label_len;
    int threads;
    void (*on_lost)(const char *id, const char *token, void *arg);
    void (*on_error)(int code, const char *message, void *arg);
    void (*on_damaged)(tkl_queue *queue, const char *id, void *arg);
    void *arg;

    tkl__turn turn;          /* one thread claims at a time */
    bool heeds_cancel;       /* with the turn: the claim may wait, and began before a cancel */
    bool heeds_interrupt;    /* the same, for an interrupt of the client */
    _Atomic int64_t ends_at; /* not 0: cancelled; when requests under way are given up */
    atomic_bool woken;       /* ends one wait, the current or the next */
    int bell;                /* eventfd for the waiting thread; -1: none so far */
    unsigned generation;     /* fork generation of the process that opened it */
    pthread_mutex_t mutex;   /* guards the fields below, and those marked */
    tkl__queue_claim **buckets;
    size_t nbuckets, nclaims;
    int64_t done, failed; /* reported attempts */
};

/* ---- haul.c: the jobs of a claim: the user's tkl_jobs and the bytes they point into ---- */

typedef struct tkl__queue_haul tkl__queue_haul;

/* The lease of a job that was claimed. */
typedef struct tkl__queue_lease {
    int64_t started;  /* local time before it was claimed */
    int64_t us;       /* how long it lasts from then on */
    int64_t stamp_ms; /* when it was claimed, by the server's clock */
} tkl__queue_lease;

/* A claim whose record cannot be read. */
typedef struct tkl__queue_damaged {
    const tkl__queue_partition *partition;
    char id[TKL__QUEUE_ID_LEN + 1];
    char token[TKL_TOKEN_SIZE];
} tkl__queue_damaged;

tkl__queue_haul *tkl__queue_haul_new(void);
size_t tkl__queue_haul_count(const tkl__queue_haul *haul);
tkl_jobs *tkl__queue_haul_jobs(tkl__queue_haul *haul);
/* Gives the haul a reply to own. Without memory it frees the reply and fails. */
int tkl__queue_haul_own(tkl__queue_haul *haul, tkl_reply *reply);
/* Frees the reply, which the haul got last, unless it brought jobs: a long wait asks often. `before`:
 * how many jobs the haul had without the reply. */
void tkl__queue_haul_drop_empty(tkl__queue_haul *haul, tkl_reply *reply, size_t before);
/* Adds the jobs in a reply that the haul owns: its elements `at`, at + 1 and at + 2 are lists of ids,
 * records and histories. `started`: local time before the claim; `server_now`: time of the claim by
 * the server's clock, in milliseconds. */
int tkl__queue_haul_add(tkl__queue_haul *haul, tkl__queue_source *source, const tkl_reply *reply,
                        size_t at, int64_t started, int64_t server_now);
/* Adds one job that was handed over; copies the bytes. */
int tkl__queue_haul_add_one(tkl__queue_haul *haul, tkl__queue_source *source, const char *id,
                            tkl_bytes record, tkl_bytes history, const tkl__queue_lease *lease);
/* Whether the haul has a job that was handed over. */
bool tkl__queue_haul_was_handed(const tkl__queue_haul *haul);
/* Returns the claims whose records cannot be read, each once. The array is valid until the next
 * claim is added. */
size_t tkl__queue_haul_damaged(tkl__queue_haul *haul, const tkl__queue_damaged **damaged);
/* Local time before the first claim among the jobs; the haul must not be empty. */
int64_t tkl__queue_haul_oldest(const tkl__queue_haul *haul);
/* Removes the job of this claim. */
void tkl__queue_haul_drop(tkl__queue_haul *haul, const tkl__queue_partition *partition,
                          const char *member);
/* Removes all jobs but the first `most`. */
void tkl__queue_haul_cut(tkl__queue_haul *haul, size_t most);

/* ---- claims.c: jobs that are claimed and not reported ---- */

/* Adds a claim. `since_ms`: since when the job was ready, by the server's clock. */
int tkl__queue_claim_note(tkl__queue_source *source, const char *id,
                          const tkl__queue_record *record, size_t bytes, int64_t since_ms,
                          const tkl__queue_lease *lease);
/* With the mutex: notes a renewal by a request that began at `started`. */
void tkl__queue_claim_renewed(tkl__queue_claim *claim, int64_t started);
/* Writes "id:token" of a job, and returns its partition. NULL: its id is not of its queue. */
tkl__queue_partition *tkl__queue_claim_of(const tkl_job *job,
                                          char member[TKL__QUEUE_MEMBER_LEN + 1]);
/* With the mutex: finds a claim. NULL: it was not made here, or is reported. */
tkl__queue_claim *tkl__queue_claim_find(tkl_consumer *consumer,
                                        const tkl__queue_partition *partition, const char *member);
/* With the mutex: removes a claim and frees it. */
void tkl__queue_claim_forget(tkl_consumer *consumer, tkl__queue_claim *claim);
/* Whether its lease still runs, as far as this program knows. */
bool tkl__queue_claim_lasts(const tkl__queue_claim *claim);
void tkl__queue_claims_free(tkl_consumer *consumer);

/* ---- introduce.c: a consumer describes itself for operators ---- */

/* The request that the introduction is sent with. */
typedef enum tkl__queue_occasion {
    TKL__QUEUE_CLAIMING,
    TKL__QUEUE_WAITING, /* a claim that waits */
    TKL__QUEUE_RENEWING,
} tkl__queue_occasion;

/* Checks the options, and keeps the label and the number of threads. */
int tkl__queue_introduction_init(tkl_consumer *consumer, const tkl_consumer_options *options);
/* Writes a description of the consumer and, from *counts on, its counts for this source. Writes
 * nothing when it did so a moment ago. */
void tkl__queue_introduce(tkl__queue_source *source, tkl__queue_occasion occasion, tkl__buf *out,
                          size_t *counts);
/* Whether there are counts that were not sent. */
bool tkl__queue_has_counts(tkl__queue_source *source);
/* Sends the last counts of a consumer that is closed, and takes it off the list of workers. */
void tkl__queue_part(tkl_consumer *consumer);

/* ---- keep.c: renewing claims ---- */

/* The keeper's callbacks for a source. */
extern const tkl__kept tkl__queue_source_kept;
/* Tells the keeper when this source is due next. */
void tkl__queue_source_keep(tkl__queue_source *source);

/* Renews the claims of a haul before the caller gets it, if half of a lease is over, or if one was
 * handed over and the keeper does not renew. Drops the jobs that were lost. */
void tkl__queue_confirm(tkl_consumer *consumer, tkl__queue_haul *haul);

/* ---- ask.c: requests to the server ---- */

/* A done job, as an argument of claim.lua. */
typedef struct tkl__queue_done {
    char member[TKL__QUEUE_MEMBER_LEN + 1];
    size_t source; /* the index of its source */
    bool rich;     /* see tkl__queue_claim */
    size_t bytes;  /* size of the record */
    size_t report; /* index of its report */
    bool stale;    /* out: the claim was not valid any more */
} tkl__queue_done;

/* A run of claim.lua. */
typedef struct tkl__queue_ask {
    tkl__queue_source *source;
    size_t max;            /* jobs to claim; 0: only report */
    bool wait;             /* enter the line if there is no job */
    bool again;            /* in: the token has asked before; out: the request was repeated */
    tkl__queue_done *done; /* the rich ones first */
    size_t ndone;

    int code;           /* out: TKL_OK, or an error */
    int64_t started;    /* out: local time before the request was sent ... */
    int64_t server_now; /* out: ... and a server time surely not before it; milliseconds */
    int64_t look_ms;    /* out: when the waiter should look; -1: no need */
    bool other_looks;   /* out: another waiter looks then */
    size_t got;         /* out: number of jobs */
    bool fired;         /* out: schedules fired; their jobs are not in the answer */

    char max_text[24], bytes_text[24], rich_text[24];
    tkl_bytes *args; /* owned, with the text of some of them behind them */
    size_t nargs;
} tkl__queue_ask;

/* A run of finish.lua. */
typedef struct tkl__queue_finish {
    const tkl__queue_partition *partition;
    char id[TKL__QUEUE_ID_LEN + 1];
    char token[TKL_TOKEN_SIZE];
    size_t report;
    bool repeated; /* out: the request was repeated */
    int code;      /* out */

    char delay[24], jitter[TKL__DOUBLE_SIZE];
    tkl_bytes keys[TKL__QUEUE_KEYS + 1], args[8]; /* owns the last key, the result */
} tkl__queue_finish;

/* Requests of one round trip. */
typedef struct tkl__queue_batch {
    tkl__queue_finish *finishes; /* sent first */
    size_t nfinishes;
    /* Out, for each finish and then each ask: why it failed, or NULL; free() them. NULL: not
     * wanted. */
    char **whys;
    tkl__queue_ask *asks;
    size_t nasks;
} tkl__queue_batch;

int tkl__queue_check_outcome(tkl_outcome outcome, int64_t delay_ms);
/* Fills in all fields but the outputs. `counted`: the caller counts how long the job ran; else the
 * server does. */
void tkl__queue_finish_make(tkl__queue_finish *f, const tkl__queue_partition *partition,
                            const char *id, const char *token, tkl_outcome outcome, tkl_bytes text,
                            int64_t delay_ms, bool counted);
/* Runs the batch. The codes are in the asks and finishes; the claimed jobs are in the haul (which
 * may be NULL when nothing is claimed). */
void tkl__queue_batch_run(tkl_client *client, tkl__queue_batch *batch, int64_t deadline,
                          tkl__queue_haul *haul);
/* Gives up these places in line. Jobs that the tokens got meanwhile go into the haul. Returns the
 * first error: sources that stay `unsure` were not reached. */
int tkl__queue_ask_leave(tkl__queue_source *const *sources, size_t count, int64_t deadline,
                         tkl__queue_haul *haul);
/* Makes a new token for the next claim. */
void tkl__queue_source_begin(tkl__queue_source *source);

/* Whether to leave the source alone for now, because its server does not answer. Never when it is the
 * only one. */
bool tkl__queue_is_away(const tkl__queue_source *source);
/* Notes the outcome of a request that began at `began`. */
void tkl__queue_note_reached(tkl__queue_source *source, int code, int64_t began);
/* The deadline of one request. With several sources it is early, so that a server which does not
 * answer does not hold up the others. */
int64_t tkl__queue_ask_deadline(const tkl_consumer *consumer);
/* The deadline of a call that begins now. */
int64_t tkl__queue_consumer_deadline(const tkl_consumer *consumer);

/* ---- consumer.c ---- */

/* Moves claims of the haul whose records cannot be read to the dead letters. */
void tkl__queue_bury_damaged(tkl_consumer *consumer, tkl__queue_haul *haul);
/* Releases all jobs of the haul but the first `most`: no worker has begun with them. */
void tkl__queue_hand_back(tkl_consumer *consumer, tkl__queue_haul *haul, size_t most);

/* ---- line.c: waiting ---- */

/* Waits at all sources for the first jobs. TKL_OK: the haul has some. TKL_EMPTY: none came in
 * time. */
int tkl__queue_line_wait(tkl_consumer *consumer, size_t max, int64_t deadline,
                         tkl__queue_haul *haul);

#endif
