/* SPDX-License-Identifier: MIT
 *
 * The private parts of a hold, for the files of this folder. The essay is in hold.c.
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
#include "core/waiter.h"
#include "hold/hold.h"

/* The longest lease: ten years, in microseconds. */
#define TKL__HOLD_US_MAX (TKL__MS_MAX * 1000)
/* Passed as deadline to tkl__hold_try_or_wait(): try once, do not wait. */
#define TKL__HOLD_TRY INT64_C(0)
/* Pause before a failed look or renewal is repeated. */
#define REPEAT_US 100000

#define NKEYS 3

/* Flags of a waiter in the reply to an acquire; 0: the waiter stands in line. */
#define TKL__HOLD_LOOKER    1
#define TKL__HOLD_PLACELESS 2

/* The phases of a handle. keep.c makes all changes, with the mutex:
 *
 *   NOTHING    an acquire or adopt that is granted: HELD; without an answer: UNSURE
 *   UNSURE     repeated or given up: HELD or NOTHING
 *   HELD       a renewal of the keeper fails: DOUBTED; one that succeeds: HELD
 *   DOUBTED    the same
 *   RENEWING   the owner's request succeeds: HELD; is refused: LOST; fails: as before it
 *   RELEASING  the owner's request is answered: NOTHING; no answer: FREEING; fails: as before it
 *   FREEING    the keeper's release is answered: FREED; the owner's: NOTHING
 *   LOST       on_lost() is called: TOLD
 *
 * When the server refuses a renewal, or the lease ends, HELD, DOUBTED and RENEWING become LOST.
 * When the owner releases, all phases but UNSURE become NOTHING, for any answer of the server. */
typedef enum tkl__hold_phase {
    TKL__HOLD_NOTHING = 0, /* not acquired, or released */
    TKL__HOLD_UNSURE,    /* an acquire had no answer: the token may hold, or have a place in line */
    TKL__HOLD_HELD,      /* acquired; the lease may have ended since */
    TKL__HOLD_DOUBTED,   /* as HELD, and the last renewal failed */
    TKL__HOLD_RENEWING,  /* the owner renews or downgrades; the keeper does not renew */
    TKL__HOLD_RELEASING, /* the owner releases; the keeper does not renew */
    TKL__HOLD_FREEING,   /* a release had no answer: the keeper repeats it */
    TKL__HOLD_FREED,     /* the keeper has released it */
    TKL__HOLD_LOST,      /* the server refused a renewal, or the lease ended */
    TKL__HOLD_TOLD,      /* lost, and on_lost has been called */
} tkl__hold_phase;

typedef struct tkl__hold_onlooker tkl__hold_onlooker; /* a thread that waits for the loss */

/* Two locks. `turn` lets one operation of the owner run at a time; the keeper's thread never takes
 * it. `mutex` guards the fields that operations and keeper both use; no thread keeps it during a
 * request. Operations may read fields that only operations change (token, fence) with the turn
 * alone. */
struct tkl__hold {
    tkl_client *client;
    pid_t pid; /* the process that opened it */
    tkl__base base;
    tkl_bytes keys[NKEYS];     /* state, sharers, line */
    tkl_bytes channel;         /* grants for this client's waiters are published here */
    tkl_bytes everyone;        /* the channel on which all waiters of the name are recalled */
    char *who;                 /* "host/pid/label", one word */
    tkl__hold_rules rules;     /* adopting changes lease_ms, with turn and mutex */
    char id[33];               /* the client's id */
    char limit[24], lease[24]; /* script arguments: limit, "" for none; lease in microseconds */

    tkl__turn turn;    /* guards what follows */
    bool in_line;      /* this token has asked for a place in the line */
    bool out_of_reach; /* a release failed: close does not try again */
    int depth;         /* reentrant acquisitions */
    bool watched;      /* the follower runs */
    tkl__follower watch;

    pthread_mutex_t mutex; /* guards what follows */
    tkl__hold_phase phase;
    tkl__hold_phase before; /* RENEWING, RELEASING: the phase before */
    bool was_due;   /* RENEWING: the keeper was due meanwhile, and gets its turn afterwards */
    bool confirmed; /* held for the whole lease: no hand-over, or one that was renewed */
    bool may_share; /* acquired shared, adopted, or a downgrade was requested */
    char token[TKL_TOKEN_SIZE];
    uint64_t fence;
    int64_t lease_us; /* lease of the last acquire or renewal */
    int64_t started;  /* local time before that request was sent */
    int64_t expires;  /* started + lease */
    tkl__hold_onlooker *onlookers;
    uint64_t serial; /* counts operations; the keeper ignores answers from before the last one */

    /* The keeper's request under way; only the keeper's thread uses it. */
    tkl__kept kept;
    struct {
        char token[TKL_TOKEN_SIZE];
        char lease[24];
        tkl_bytes args[4];
        bool releases; /* repeats the release that had no answer */
        uint64_t serial;
        int64_t started;
    } renewal;
};

/* A grant, as a script returned it. */
typedef struct tkl__hold_grant {
    uint64_t fence;
    int64_t lease_us;
    int64_t started; /* local time when the lease began; never later than the server's start */
} tkl__hold_grant;

/* The answer to an acquire when the lock is not free. */
typedef struct tkl__hold_busy {
    int64_t left_us;    /* until the earliest lease ends */
    int64_t server_now; /* the server's time; `started` is a local time not after it */
    int64_t started;
    bool looker;    /* this waiter has promised to look then */
    bool placeless; /* it got no place in the line: the cluster moves the slot */
} tkl__hold_busy;

static inline int64_t tkl__hold_us(int64_t ms)
{
    return ms * 1000;
}

/* False in a forked child: the hold belongs to the parent, and a thread of the parent may have held
 * the mutexes during the fork. */
static inline bool tkl__hold_is_ours(const tkl__hold *h)
{
    return h->pid == getpid();
}

/* ---- keep.c: the phases of the handle, and the keeper's callbacks; with the turn ---- */

extern const tkl__kept tkl__hold_kept;

/* The current phase. The keeper may change it at any time: HELD and DOUBTED to each other, and to
 * LOST and TOLD; LOST to TOLD; FREEING to FREED. */
tkl__hold_phase tkl__hold_phase_now(tkl__hold *h);

void tkl__hold_become_held(tkl__hold *h, const tkl__hold_grant *g);
void tkl__hold_become_free(tkl__hold *h);
void tkl__hold_become_unsure(tkl__hold *h);
/* Ends the follower that listens while the name is held. */
void tkl__hold_unwatch(tkl__hold *h);

/* Call these before and after a renewal by the owner. TKL_EINVAL: nothing is held. TKL_NOTOWNER: it
 * is lost. */
int tkl__hold_begin_renewal(tkl__hold *h, bool downgrade);
int tkl__hold_end_renewal(tkl__hold *h, int rc, const tkl__hold_grant *g);

/* Call these before and after a release by the owner. begin returns HELD: the lease still runs;
 * LOST; FREEING: an earlier release had no answer; FREED: the keeper has repeated that release.
 * After end it is free, or `rc` says why not. When the release had no answer and the token
 * `may_hold` still, the keeper repeats the release until the lease ends, because the owner's next
 * call may come late or never. */
tkl__hold_phase tkl__hold_begin_release(tkl__hold *h);
void tkl__hold_end_release(tkl__hold *h, int rc, bool may_hold);

/* ---- hold.c ---- With the mutex. */
tkl_hold_state tkl__hold_state_locked(const tkl__hold *h);

/* ---- lost.c ---- After every change of the handle, with the mutex. */
void tkl__hold_wake_onlookers(const tkl__hold *h);

/* ---- ask.c: each function is one request to the server ---- */

/* Prepares a script on the keys of the name, for callers that run it themselves. */
tkl__invocation tkl__hold_invoke(const tkl__hold *h, const tkl__script *script,
                                 const tkl_bytes *args, size_t nargs);
/* Reads the answer {code, fence, lease, ...} to a request sent at local time `started`. */
int tkl__hold_read_grant(const tkl_reply *reply, int64_t started, tkl__hold_grant *g);

/* Asks for the lock. `wait`: with a place in the line. TKL_OK, TKL_BUSY, or an error. */
int tkl__hold_ask_acquire(tkl__hold *h, bool wait, int64_t deadline, tkl__hold_grant *g,
                          tkl__hold_busy *b);
/* Starts the lease again from now; `downgrade`: a writer also becomes a reader. */
int tkl__hold_ask_renew(tkl__hold *h, int64_t lease_ms, bool downgrade, tkl__hold_grant *g);
/* Gives up the place in the line. TKL_OK: the lock was granted just before that. */
int tkl__hold_ask_leave(tkl__hold *h, tkl__hold_grant *g);
int tkl__hold_ask_release(tkl__hold *h, bool wait_for_reply, bool retry_safe);

/* TKL_EINVAL in a forked child. */
int tkl__hold_check_ours(const tkl__hold *h);
/* The deadline of one call that begins now. */
int64_t tkl__hold_deadline(const tkl__hold *h);

/* ---- show.c ---- */

/* tkl__hold_show() with a deadline of its own. */
int tkl__hold_show_by(tkl__hold *h, int64_t deadline, tkl_holders **holders);
/* Reads the answer of hold/show. */
int tkl__hold_read(const tkl_reply *reply, tkl_holders **holders);

/* ---- replicas.c ---- */

/* Waits for the replicas. An acquisition that too few replicas have does not count: it is
 * released. */
int tkl__hold_await_replicas(tkl__hold *h, tkl__hold_grant *g);

/* ---- line.c ---- */

/* Tries, then waits in line until the deadline. */
int tkl__hold_try_or_wait(tkl__hold *h, int64_t deadline, tkl__hold_grant *g);

#endif
