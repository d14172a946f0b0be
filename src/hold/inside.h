/* SPDX-License-Identifier: MIT
 *
 * The inside of a hold, for the files of this folder. The essay is in hold.c.
 */
#ifndef TKL_HOLD_INSIDE_H
#define TKL_HOLD_INSIDE_H

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/follow.h"
#include "core/keeper.h"
#include "core/name.h"
#include "core/options.h"
#include "core/wait.h"
#include "hold/hold.h"

/* No lease is longer: ten years, in microseconds. */
#define TKL__HOLD_US_MAX (TKL__MS_MAX * 1000)
/* A deadline of tkl__hold_try_or_wait(): without waiting. */
#define TKL__HOLD_TRY INT64_C(0)
/* A failed look or renewal is repeated after this. */
#define REPEAT_US 100000

#define NKEYS 3

struct tkl__hold {
    tkl_client *client;
    pid_t pid; /* the process that opened it */
    tkl__base base;
    tkl_bytes keys[NKEYS]; /* state, sharers, line */
    tkl_bytes channel;     /* where grants for this client's waiters are published */
    tkl_bytes everyone;    /* where all waiters of the name are called back into the line */
    char *who;             /* "host/pid/label", one word */
    tkl__hold_rules rules;
    char id[33];               /* of the client */
    char limit[24], lease[24]; /* as the scripts take them: "" for none; microseconds */

    pthread_mutex_t turn; /* one operation at a time; guards these: */
    bool in_line;         /* a place in the line was asked for with this token */
    bool out_of_reach;    /* a release failed: closing does not try once more */
    bool watched;         /* the follower runs */
    tkl__follower watch;

    pthread_mutex_t mutex; /* guards what follows */
    char token[TKL_TOKEN_SIZE];
    bool held;        /* acquired and not released; the lease may have run out since */
    bool unsure;      /* an acquire had no answer: the token may hold */
    bool lost;        /* the server said so, or the time is up */
    bool told;        /* ... and so does the owner know */
    bool releasing;   /* a release is under way: a renewal that finds nothing is no loss */
    bool freeing;     /* a release had no answer: the keeper repeats it */
    bool freed;       /* ... and the server has answered that */
    bool suspect;     /* the last renewal failed */
    bool short_lease; /* a grant not yet confirmed */
    bool shared;      /* as acquired, or downgraded */
    int depth;        /* reentrant acquisitions */
    uint64_t fence;
    int64_t lease_us; /* of the last acquire or renewal */
    int64_t started;  /* local time of it, from before it was asked for */
    int64_t expires;  /* started + lease */
    uint64_t serial;  /* counts acquisitions: a late renewal of another is not mistaken */

    /* The renewal under way in the keeper. */
    tkl__kept kept;
    struct {
        char token[TKL_TOKEN_SIZE];
        char lease[24];
        tkl_bytes args[4];
        bool releases; /* it is the release that had no answer */
        uint64_t serial;
        int64_t started;
    } renewal;
};

/* What a script granted. */
typedef struct tkl__hold_grant {
    uint64_t fence;
    int64_t lease_us;
    int64_t started; /* local time that is surely not after the server's when it began */
} tkl__hold_grant;

/* The answer to a caller that could not have it. */
typedef struct tkl__hold_busy {
    int64_t left_us;    /* until the earliest lease ends */
    int64_t server_now; /* and the local time, surely not after it */
    int64_t started;
    bool looker; /* this one has promised to look then */
} tkl__hold_busy;

static inline int64_t tkl__hold_us(int64_t ms)
{
    return ms * 1000;
}

/* ---- watch.c: with the turn ---- */
void tkl__hold_watch(tkl__hold *h);
void tkl__hold_unwatch(tkl__hold *h);

/* Not in a forked child: what the handle holds is its parent's, and a thread of the parent may have
 * had its mutexes. */
static inline bool tkl__hold_is_ours(const tkl__hold *h)
{
    return h->pid == getpid();
}

/* ---- keep.c: what the handle believes, and the keeper's part in it ---- */

extern const tkl__kept tkl__hold_kept;

/* With the mutex: a lease begins, or begins again. */
void tkl__hold_note_lease(tkl__hold *h, int64_t started, int64_t lease_us);
/* With the mutex: when the keeper should look after it; TKL__FOREVER: never. */
int64_t tkl__hold_next_due(const tkl__hold *h);
void tkl__hold_become_held(tkl__hold *h, const tkl__hold_grant *g);
void tkl__hold_become_free(tkl__hold *h);
void tkl__hold_become_unsure(tkl__hold *h);
/* A release had no answer. If it may still hold, the keeper repeats the release until the lease
 * ends: the next call may come late, or never. */
void tkl__hold_become_freeing(tkl__hold *h, bool may_hold);
/* Whether the keeper has done so. */
bool tkl__hold_is_freed(tkl__hold *h);

/* ---- ask.c: one question to the server each ---- */

/* A script on the keys of the name, for callers that run it themselves. */
tkl__invocation tkl__hold_invoke(const tkl__hold *h, const tkl__script *script,
                                 const tkl_bytes *args, size_t nargs);
/* The answer {code, fence, lease, ...} to what was asked at local time `started`. */
int tkl__hold_read_grant(const tkl_reply *reply, int64_t started, tkl__hold_grant *g);

/* For the lock; `wait`: with a place in the line; not long after the deadline (TKL__FOREVER: in the
 * time of a call). TKL_OK, TKL_BUSY, or an error. */
int tkl__hold_ask(tkl__hold *h, bool wait, int64_t deadline, tkl__hold_grant *g, tkl__hold_busy *b);
/* To make the lease last from now; `downgrade`: and to share it. */
int tkl__hold_ask_renewal(tkl__hold *h, int64_t lease_ms, bool downgrade, tkl__hold_grant *g);
/* To give up the place in the line. TKL_OK when the turn had come just then. */
int tkl__hold_ask_leave(tkl__hold *h, tkl__hold_grant *g);
int tkl__hold_ask_release(tkl__hold *h, bool wait_for_reply, bool retry_safe);

/* TKL_EINVAL in a forked child. */
int tkl__hold_check_ours(const tkl__hold *h);
/* The deadline of one call that begins now. */
int64_t tkl__hold_deadline(const tkl__hold *h);

/* ---- replicas.c ---- */

/* An acquisition that too few replicas have does not count: it is given back. */
int tkl__hold_await_replicas(tkl__hold *h, tkl__hold_grant *g);

/* ---- line.c ---- */

/* Tries, and waits in line until the deadline. */
int tkl__hold_try_or_wait(tkl__hold *h, int64_t deadline, tkl__hold_grant *g);

#endif
