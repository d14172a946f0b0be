/* SPDX-License-Identifier: MIT
 *
 * The inside of a consumer, for the files of this folder. The essay is in queue.c.
 */
#ifndef TKL_QUEUE_CONSUMER_H
#define TKL_QUEUE_CONSUMER_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/keeper.h"
#include "core/wait.h"
#include "queue/record.h"
#include "queue/shard.h"

#define TKL__CLAIM_MAX 1000 /* jobs claimed, done or extended in one run of a script */
/* A failed renewal is repeated after this. */
#define TKL__REPEAT_US 100000
/* What a server that may be gone is waited for by one who goes. */
#define TKL__PARTING_US 250000

#define TKL__MEMBER_LEN (TKL__ID_LEN + TKL_CLAIM_TOKEN_SIZE - 1)

/* A job that was claimed here and has not been reported. */
typedef struct tkl__claim {
    char member[TKL__MEMBER_LEN + 1]; /* id .. token */
    struct tkl__source *source;
    uint64_t number; /* in the order in which they were claimed */
    char kind;       /* of the record */
    bool answers;    /* its result is wanted */
    size_t bytes;    /* of the record */
    int64_t started; /* local time of the claim or its last extension, from before it was asked */
    bool reporting;  /* somebody reports it now */
    bool unsure;     /* a report had no answer: it may not be claimed any more */
    bool told;       /* the owner knows that it is lost */
    struct tkl__claim *chain;       /* in its bucket */
    struct tkl__claim *next, *prev; /* of the source, the oldest first */
} tkl__claim;

/* A partition to claim from. */
typedef struct tkl__source {
    tkl_consumer *consumer;
    tkl__shard *shard;
    char token[TKL_CLAIM_TOKEN_SIZE]; /* of the last claim */
    bool unsure;                      /* it had no answer, or may have left a place in the line */
    int failures;                     /* to reach its server, one after the other */
    int64_t away_until;               /* no use trying before; tkl__now() */

    tkl__claim *first, *last; /* with the mutex */
    bool suspect;             /* the last renewal failed; ditto */

    /* The renewal under way in the keeper. */
    tkl__kept kept;
    struct {
        char (*members)[TKL__MEMBER_LEN + 1]; /* TKL__CLAIM_MAX of them; NULL: not needed so far */
        tkl_bytes *args;
        tkl_bytes keys[2];
        size_t count;
        int64_t started;
    } renewal;
} tkl__source;

typedef struct tkl__span {
    size_t first, count; /* the partitions of a queue, in the sources */
} tkl__span;

struct tkl_consumer {
    tkl_client *client;
    tkl__source *sources; /* in the order of the queues */
    size_t nsources;
    tkl__span *queues;
    size_t nqueues;
    size_t rotation; /* which partition comes first */
    int64_t lease_us;
    char lease[24]; /* milliseconds */
    bool no_renewal;
    void (*on_lost)(const char *id, const char *token, void *arg);
    void (*on_error)(int code, const char *message, void *arg);
    void *arg;

    pthread_mutex_t turn;    /* one claims at a time */
    _Atomic int64_t ends_at; /* not 0: cancelled, and when a request under way is given up */
    int bell;                /* an eventfd for the one who waits; -1: none so far */
    unsigned generation;     /* of the bell: a forked child needs its own */
    pthread_mutex_t mutex;   /* guards what follows, and where it says so */
    tkl__waiter *waiting;    /* while in tkl__await() */
    tkl__claim **buckets;
    size_t nbuckets, nclaims;
    uint64_t last_number; /* of a claim */
};

/* ---- haul.c: what a claim brings home: the user's tkl_jobs and what they point into ---- */

typedef struct tkl__haul tkl__haul;

tkl__haul *tkl__haul_new(void);
size_t tkl__haul_count(const tkl__haul *haul);
tkl_jobs *tkl__haul_jobs(tkl__haul *haul);
/* The haul becomes the owner of a reply, even when there is no memory for that. */
int tkl__haul_own(tkl__haul *haul, tkl_reply *reply);
/* The jobs in a reply that it owns: the elements at `at`, at + 1 and at + 2 are ids, records and
 * extras. `started`: local time from before they were claimed. */
int tkl__haul_add(tkl__haul *haul, tkl__source *source, const tkl_reply *reply, size_t at,
                  int64_t started);
/* One job that was handed over; the bytes are copied. */
int tkl__haul_add_one(tkl__haul *haul, tkl__source *source, const char *id, tkl_bytes record,
                      tkl_bytes extra, int64_t started);
/* Takes all jobs but the first `most` out. */
void tkl__haul_cut(tkl__haul *haul, size_t most);

/* ---- claims.c: what is claimed and not reported ---- */

int tkl__claim_note(tkl__source *source, const char *id, const tkl__record *record, size_t bytes,
                    int64_t started);
/* With the mutex. NULL: not claimed here, or reported. */
tkl__claim *tkl__claim_find(tkl_consumer *consumer, const tkl__shard *shard, const char *member);
void tkl__claim_forget(tkl_consumer *consumer, tkl__claim *claim);
/* Whether its lease lasts, as far as this program knows. */
bool tkl__claim_lasts(const tkl__claim *claim);
void tkl__claims_free(tkl_consumer *consumer);

/* ---- keep.c: the keeper's part ---- */

extern const tkl__kept tkl__source_kept;
/* The source has claims, and had none before. */
void tkl__source_keep(tkl__source *source);

/* ---- ask.c: what the server is asked ---- */

#define TKL__CLAIM_KEYS 13 /* of claim.lua and of finish.lua */

/* A job that was done, as claim.lua takes it. */
typedef struct tkl__done {
    char member[TKL__MEMBER_LEN + 1];
    size_t source;   /* the index of its source */
    uint64_t number; /* of the claim */
    char kind;       /* of the record, and its ... */
    size_t bytes;
    size_t report; /* whose it is */
    bool stale;    /* out */
    char run[8];   /* of the first of a run: how many */
} tkl__done;

/* A run of claim.lua. */
typedef struct tkl__ask {
    tkl__source *source;
    size_t max; /* jobs to claim; 0: only report */
    bool wait;  /* with a place in the line */
    bool again; /* in: the token has asked before; out: it was repeated */
    tkl__done *done;
    size_t ndone;

    int code;           /* out: TKL_OK, or an error */
    int64_t started;    /* out: local time before it was asked ... */
    int64_t server_now; /* out: ... and the server's, surely not before; milliseconds */
    int64_t look_ms;    /* out: until somebody should look; -1: no need */
    int64_t rank;       /* out: among those who look */
    size_t got;         /* out: jobs */
    bool fired;         /* out: schedules, whose jobs are not among them */

    char max_text[24], bytes_text[24];
    tkl_bytes keys[TKL__CLAIM_KEYS];
    tkl_bytes *args; /* owned */
    size_t nargs;
} tkl__ask;

/* A run of finish.lua. */
typedef struct tkl__finish {
    const tkl__shard *shard;
    char id[TKL__ID_LEN + 1];
    char token[TKL_CLAIM_TOKEN_SIZE];
    size_t report;
    bool repeated; /* out: it had to be */
    int code;      /* out */

    char delay[24], jitter[24];
    tkl_bytes keys[TKL__CLAIM_KEYS], args[6]; /* the last key is owned */
} tkl__finish;

/* What goes to the server together. */
typedef struct tkl__trip {
    tkl__finish *finishes; /* these first */
    size_t nfinishes;
    tkl__ask *asks;
    size_t nasks;
} tkl__trip;

/* Fills in all but where the code goes. */
void tkl__finish_make(tkl__finish *f, const tkl__shard *shard, const char *id, const char *token,
                      tkl_outcome outcome, tkl_bytes text, int64_t delay_ms);
/* Asks. The codes are in the asks and finishes; what was claimed is in the haul (which may be NULL
 * when nothing is claimed). */
void tkl__trip_run(tkl_client *client, tkl__trip *trip, int64_t deadline, tkl__haul *haul);
/* Gives up the places in these lines; what was given meanwhile goes into the haul. The first error:
 * sources that are left unsure did not get through. */
int tkl__ask_leave(tkl__source *const *sources, size_t count, int64_t deadline, tkl__haul *haul);
/* A new token for the next claim. */
void tkl__source_begin(tkl__source *source);
/* Whether an error may be gone the next time. */
bool tkl__may_pass(int rc);

/* ---- consumer.c ---- */

/* Releases all jobs of the haul but the first `most`: nobody has begun with them. */
void tkl__hand_back(tkl_consumer *consumer, tkl__haul *haul, size_t most);

/* ---- away.c: servers that cannot be reached ---- */

/* Whether to leave it alone for now: not when there is no other. */
bool tkl__is_away(const tkl__source *source);
/* What a request came to that was begun at `began`. */
void tkl__note_reached(tkl__source *source, int code, int64_t began);
/* The end of a request: where there are several sources, one that does not answer must not keep the
 * others. */
int64_t tkl__ask_deadline(const tkl_consumer *consumer);

/* ---- line.c: waiting ---- */

/* Waits at all sources for the first jobs. TKL_OK: there are some in the haul. TKL_EMPTY. */
int tkl__line_wait(tkl_consumer *consumer, size_t max, int64_t deadline, tkl__haul *haul);

#endif
