/* SPDX-License-Identifier: MIT
 *
 * A follower keeps a local copy of server data up to date: its thread listens to a channel and
 * loads the data whenever a message arrives.
 *
 * It misses no change: after every (re)connection it listens first and loads afterwards. While it
 * cannot listen, it loads once a second. Data that disappears without a message (FLUSHALL,
 * eviction) is noticed by a check at every heartbeat, if the component has one. The copy belongs to
 * the component; its load function replaces it under the follower's lock.
 *
 * In a forked child the thread does not exist: the first tkl__follow_lock() there starts it again.
 */
#ifndef TKL_CORE_FOLLOW_H
#define TKL_CORE_FOLLOW_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/client.h"
#include "core/cond.h"

typedef struct tkl__follower tkl__follower;

/* Loads the data as it is now. The follower's thread calls it, without the lock. *again: when to
 * load once more even without a message, on tkl__now(); TKL__FOREVER unless set. A "no" counts as
 * loaded, an error does not. */
typedef int tkl__follow_load(void *arg, int64_t deadline, int64_t *again);

/* Checks the copy. The follower's thread calls it, without the lock, when no message arrived for a
 * heartbeat. TKL_OK: the copy may still be current; a "no": it is not, and is loaded again. Must
 * not take longer than `timeout_ms`, after which a server that hangs is noticed. */
typedef int tkl__follow_check(void *arg, int64_t timeout_ms);

struct tkl__follower {
    tkl_client *client;
    tkl_bytes channel; /* owned by the component, for the life of the follower */
    tkl__follow_load *load;
    tkl__follow_check *check; /* NULL: none */
    void *arg;
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t gap_us;     /* least time between two loads because of messages: many changes at once
                           are loaded together */

    /* Private. */
    pthread_mutex_t mutex;
    tkl__cond changed;
    pthread_t thread;
    bool running;
    unsigned process;    /* fork generation of the thread, by tkl__fork_generation() */
    int bell;            /* an eventfd that wakes the thread */
    _Atomic int64_t end; /* deadline of all calls of the thread; 0: not ended */
    bool tried;          /* an attempt to load has ended */
    bool loaded;         /* ... and one has worked */
    bool live;           /* the thread listens: the copy is what the server has */
    int64_t current_at;  /* when the copy was last known to be current */
    int code;            /* result of the last attempt to load */
    char error[256];     /* its text */
};

/* Prepares the follower; no I/O, no thread yet. The caller sets all fields but the private ones. */
void tkl__follow_init(tkl__follower *follower);
/* Ends the thread at once, even if a server does not answer. In a forked child it only frees
 * memory. */
void tkl__follow_close(tkl__follower *follower);

/* Starts to follow and does not wait. */
int tkl__follow_start(tkl__follower *follower);
/* Starts to follow, if that has not happened yet, and waits for the first attempt to load. With
 * TKL_OK the lock is held and the copy may be read. If nothing was ever loaded, returns the error
 * of the last attempt, and the lock is not held. */
int tkl__follow_lock(tkl__follower *follower);
void tkl__follow_unlock(tkl__follower *follower);

/* With the lock: how long ago the copy was last known to be current, in milliseconds; 0 while it is
 * live. */
int64_t tkl__follow_age(const tkl__follower *follower);

/* With the lock: waits for the next load. TKL_EMPTY: the deadline passed. TKL_EINTR: the client was
 * interrupted. The lock is held again in any case. */
int tkl__follow_wait(tkl__follower *follower, int64_t deadline);

#endif
