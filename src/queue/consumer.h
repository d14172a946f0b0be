/* SPDX-License-Identifier: MIT
 *
 * The inside of a consumer, for the files of this folder. The essay is in queue.c.
 */
#ifndef TKL_QUEUE_CONSUMER_H
#define TKL_QUEUE_CONSUMER_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/keeper.h"
#include "core/number.h"
#include "core/wait.h"
#include "queue/record.h"
#include "queue/shard.h"

#define TKL__QUEUE_CLAIM_MAX 1000 /* jobs claimed, done or renewed in one run of a script */
#define TKL__QUEUE_RICH_MAX  250  /* of those done: rich ones */
/* A failed renewal is repeated after this. */
#define TKL__QUEUE_REPEAT_US 100000
/* How long close() and cancel() wait for a server that may be down. */
#define TKL__QUEUE_PARTING_US 250000

/* "id:token" */
#define TKL__QUEUE_MEMBER_LEN (TKL__QUEUE_ID_LEN + TKL_CLAIM_TOKEN_SIZE)

/* A job that was claimed here and has not been reported. */
typedef struct tkl__queue_claim {
    char member[TKL__QUEUE_MEMBER_LEN + 1]; /* "id:token" */
    struct tkl__queue_source *source;
    bool rich;       /* there is more to its end than that its record goes */
    bool answers;    /* its result is wanted */
    size_t bytes;    /* of the record */
    int64_t started; /* local time from before the claim, or its last renewal, was asked for */
    bool reporting;  /* a thread reports it now */
    bool unsure;     /* a report had no answer: it may not be claimed any more */
    bool told;       /* the owner knows that it is lost */
    struct tkl__queue_claim *chain;       /* in its bucket */
    struct tkl__queue_claim *next, *prev; /* of the source, the oldest first */
} tkl__queue_claim;

/* A partition to claim from. */
typedef struct tkl__queue_source {
    tkl_consumer *consumer;
    tkl__queue_shard *shard;
    char token[TKL_CLAIM_TOKEN_SIZE]; /* of the last claim */
    bool unsure;                      /* it had no answer, or may have left a place in the line */
    int failures;                     /* to reach its server, one after the other */
    int64_t away_until;               /* no use trying before; tkl__now() */
    unsigned char jitter;             /* random: keeps waiters apart that look for a missing one */

    tkl__queue_claim *first, *last; /* with the mutex */
    bool suspect;                   /* the last renewal failed; ditto */

    /* The renewal under way in the keeper. */
    tkl__kept kept;
    struct {
        char (*members)[TKL__QUEUE_MEMBER_LEN +
                        1]; /* TKL__QUEUE_CLAIM_MAX of them; NULL: not needed so far */
        tkl_bytes *args;
        size_t count;
        int64_t started;
    } renewal;
} tkl__queue_source;

typedef struct tkl__queue_span {
    size_t first, count; /* the partitions of a queue, in the sources */
} tkl__queue_span;

struct tkl_consumer {
    tkl_client *client;
    tkl__queue_source *sources; /* in the order of the queues */
    size_t nsources;
    tkl__queue_span *queues;
    size_t nqueues;
    size_t rotation; /* which partition comes first */
    int64_t lease_us;
    char lease[24];     /* milliseconds */
    int64_t timeout_ms; /* of one call; 0: the client's */
    bool no_renewal;
    void (*on_lost)(const char *id, const char *token, void *arg);
    void (*on_error)(int code, const char *message, void *arg);
    void *arg;

    pthread_mutex_t turn;    /* one claims at a time */
    _Atomic int64_t ends_at; /* not 0: cancelled, and when a request under way is given up */
    atomic_bool woken;       /* a wait is to end, and no other */
    int bell;                /* an eventfd for the thread that waits; -1: none so far */
    unsigned generation;     /* of the process that opened it */
    pthread_mutex_t mutex;   /* guards what follows, and where it says so */
    tkl__queue_claim **buckets;
    size_t nbuckets, nclaims;
};

/* ---- haul.c: what a claim brings home: the user's tkl_jobs and what they point into ---- */

typedef struct tkl__queue_haul tkl__queue_haul;

/* A claim whose record cannot be read. */
typedef struct tkl__queue_damaged {
    const tkl__queue_shard *shard;
    char id[TKL__QUEUE_ID_LEN + 1];
    char token[TKL_CLAIM_TOKEN_SIZE];
} tkl__queue_damaged;

tkl__queue_haul *tkl__queue_haul_new(void);
size_t tkl__queue_haul_count(const tkl__queue_haul *haul);
tkl_jobs *tkl__queue_haul_jobs(tkl__queue_haul *haul);
/* The haul becomes the owner of a reply, even when there is no memory for that. */
int tkl__queue_haul_own(tkl__queue_haul *haul, tkl_reply *reply);
/* The jobs in a reply that it owns: the elements at `at`, at + 1 and at + 2 are ids, records and
 * histories. `started`: local time from before they were claimed. */
int tkl__queue_haul_add(tkl__queue_haul *haul, tkl__queue_source *source, const tkl_reply *reply,
                        size_t at, int64_t started);
/* One job that was handed over; the bytes are copied. */
int tkl__queue_haul_add_one(tkl__queue_haul *haul, tkl__queue_source *source, const char *id,
                            tkl_bytes record, tkl_bytes history, int64_t started);
/* The claims whose records cannot be read, each told once; valid until the next is added. */
size_t tkl__queue_haul_damaged(tkl__queue_haul *haul, const tkl__queue_damaged **damaged);
/* From before the oldest of them was claimed; with at least one. */
int64_t tkl__queue_haul_oldest(const tkl__queue_haul *haul);
/* Takes the job out that is this claim. */
void tkl__queue_haul_drop(tkl__queue_haul *haul, const tkl__queue_shard *shard, const char *member);
/* Takes all jobs but the first `most` out. */
void tkl__queue_haul_cut(tkl__queue_haul *haul, size_t most);

/* ---- claims.c: what is claimed and not reported ---- */

int tkl__queue_claim_note(tkl__queue_source *source, const char *id,
                          const tkl__queue_record *record, size_t bytes, int64_t started);
/* The claim that a job is: its partition and "id:token". NULL: no id of its queue. */
tkl__queue_shard *tkl__queue_claim_of(const tkl_job *job, char member[TKL__QUEUE_MEMBER_LEN + 1]);
/* With the mutex. NULL: not claimed here, or reported. */
tkl__queue_claim *tkl__queue_claim_find(tkl_consumer *consumer, const tkl__queue_shard *shard,
                                        const char *member);
void tkl__queue_claim_forget(tkl_consumer *consumer, tkl__queue_claim *claim);
/* Whether its lease lasts, as far as this program knows. */
bool tkl__queue_claim_lasts(const tkl__queue_claim *claim);
void tkl__queue_claims_free(tkl_consumer *consumer);

/* ---- keep.c: the keeper's part ---- */

extern const tkl__kept tkl__queue_source_kept;
/* The source has claims, and had none before. */
void tkl__queue_source_keep(tkl__queue_source *source);

/* ---- confirm.c: claims that came late ---- */

/* Renews the claims of the haul when half of a lease is over, and drops those that were lost. */
void tkl__queue_confirm(tkl_consumer *consumer, tkl__queue_haul *haul);

/* ---- ask.c: what the server is asked ---- */

/* A job that was done, as claim.lua takes it. */
typedef struct tkl__queue_done {
    char member[TKL__QUEUE_MEMBER_LEN + 1];
    size_t source; /* the index of its source */
    bool rich;     /* see tkl__queue_claim */
    size_t bytes;  /* of the record */
    size_t report; /* whose it is */
    bool stale;    /* out */
} tkl__queue_done;

/* A run of claim.lua. */
typedef struct tkl__queue_ask {
    tkl__queue_source *source;
    size_t max;            /* jobs to claim; 0: only report */
    bool wait;             /* with a place in line */
    bool again;            /* in: the token has asked before; out: it was repeated */
    tkl__queue_done *done; /* the rich ones first */
    size_t ndone;

    int code;           /* out: TKL_OK, or an error */
    int64_t started;    /* out: local time before it was asked ... */
    int64_t server_now; /* out: ... and the server's, surely not before; milliseconds */
    int64_t look_ms;    /* out: until a waiter should look; -1: no need */
    bool other_looks;   /* out: another waiter does */
    size_t got;         /* out: jobs */
    bool fired;         /* out: schedules, whose jobs are not among them */

    char max_text[24], bytes_text[24], rich_text[24];
    tkl_bytes *args; /* owned */
    size_t nargs;
} tkl__queue_ask;

/* A run of finish.lua. */
typedef struct tkl__queue_finish {
    const tkl__queue_shard *shard;
    char id[TKL__QUEUE_ID_LEN + 1];
    char token[TKL_CLAIM_TOKEN_SIZE];
    size_t report;
    bool repeated; /* out: it had to be */
    int code;      /* out */

    char delay[24], jitter[TKL__DOUBLE_SIZE];
    tkl_bytes keys[TKL__QUEUE_KEYS + 1], args[7]; /* the last key is owned: the result */
} tkl__queue_finish;

/* What goes to the server together. */
typedef struct tkl__queue_trip {
    tkl__queue_finish *finishes; /* these first */
    size_t nfinishes;
    tkl__queue_ask *asks;
    size_t nasks;
} tkl__queue_trip;

/* Fills in all but where the code goes. */
void tkl__queue_finish_make(tkl__queue_finish *f, const tkl__queue_shard *shard, const char *id,
                            const char *token, tkl_outcome outcome, tkl_bytes text,
                            int64_t delay_ms);
/* Asks. The codes are in the asks and finishes; what was claimed is in the haul (which may be NULL
 * when nothing is claimed). */
void tkl__queue_trip_run(tkl_client *client, tkl__queue_trip *trip, int64_t deadline,
                         tkl__queue_haul *haul);
/* Gives up these places in line; what was given meanwhile goes into the haul. The first error:
 * sources that are left unsure did not get through. */
int tkl__queue_ask_leave(tkl__queue_source *const *sources, size_t count, int64_t deadline,
                         tkl__queue_haul *haul);
/* A new token for the next claim. */
void tkl__queue_source_begin(tkl__queue_source *source);

/* ---- consumer.c ---- */

/* Claims of the haul whose records cannot be read go to the dead letters. */
void tkl__queue_bury_damaged(tkl_consumer *consumer, tkl__queue_haul *haul);
/* Releases all jobs of the haul but the first `most`: no one has begun with them. */
void tkl__queue_hand_back(tkl_consumer *consumer, tkl__queue_haul *haul, size_t most);

/* ---- away.c: servers that cannot be reached ---- */

/* Whether to leave it alone for now: not when there is no other. */
bool tkl__queue_is_away(const tkl__queue_source *source);
/* What a request came to that was begun at `began`. */
void tkl__queue_note_reached(tkl__queue_source *source, int code, int64_t began);
/* The end of a request: where there are several sources, one that does not answer must not keep the
 * others. */
int64_t tkl__queue_ask_deadline(const tkl_consumer *consumer);
/* The end of a call that begins now. */
int64_t tkl__queue_consumer_deadline(const tkl_consumer *consumer);

/* ---- line.c: waiting ---- */

/* Waits at all sources for the first jobs. TKL_OK: there are some in the haul. TKL_EMPTY. */
int tkl__queue_line_wait(tkl_consumer *consumer, size_t max, int64_t deadline,
                         tkl__queue_haul *haul);

#endif
