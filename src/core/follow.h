/* SPDX-License-Identifier: MIT
 *
 * A follower keeps a local copy of something on the server up to date: a thread that listens to a
 * channel and loads what there is whenever something was published.
 *
 * No change is missed: after every (re)connection it listens first and loads then. While it cannot
 * listen, it loads once a second. What goes without a message (FLUSHALL, eviction) is noticed by a
 * check at every heartbeat, if the component has one. The copy itself belongs to the component that
 * follows; its load function replaces it under the follower's lock.
 *
 * In a forked child the thread does not exist: the first tkl__follow_lock() there begins anew.
 */
#ifndef TKL_CORE_FOLLOW_H
#define TKL_CORE_FOLLOW_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/client.h"

typedef struct tkl__follower tkl__follower;

/* Called by the follower's thread, without its lock. Loads what there is now. *again: when to load
 * once more even if nothing is published, on tkl__now(); TKL__FOREVER unless set. A "no" counts as
 * loaded, an error does not. */
typedef int tkl__follow_load(void *arg, int64_t deadline, int64_t *again);

/* Called by the follower's thread, without its lock, when nothing was published for as long as a
 * heartbeat. TKL_OK: the copy may still be right; a "no": it is not, and is loaded. It must not
 * take longer than `timeout_ms`: a server that hangs is noticed after it. */
typedef int tkl__follow_check(void *arg, int64_t timeout_ms);

struct tkl__follower {
    tkl_client *client;
    tkl_bytes channel; /* the component's, as long as the follower lives */
    tkl__follow_load *load;
    tkl__follow_check *check; /* NULL: none */
    void *arg;
    int64_t timeout_ms; /* of one call; 0: the client's */
    int64_t gap_us;     /* at least so long from one load to the next because of messages: many
                           changes at once are loaded together */

    /* Private. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool running;
    unsigned process;    /* whose thread it is, by tkl__fork_generation() */
    int bell;            /* an eventfd that wakes the thread */
    _Atomic int64_t end; /* no call of the thread lasts longer; 0: not ended */
    bool tried;          /* to load, at least once */
    bool loaded;         /* ... and it worked, at least once */
    bool live;           /* it listens: the copy is what the server has */
    int64_t current_at;  /* when the copy was last known to be that */
    int code;            /* of the last attempt to load */
    char error[256];     /* what it had to say */
};

/* No I/O and no thread yet. All but the private fields must be set. */
void tkl__follow_init(tkl__follower *follower);
/* Ends the thread, at once even if a server does not answer. In a forked child: frees memory. */
void tkl__follow_close(tkl__follower *follower);

/* Begins to follow, and does not wait. */
int tkl__follow_start(tkl__follower *follower);
/* Begins to follow, if that has not happened yet, and waits for the first attempt to load. With
 * TKL_OK the copy may be read under the lock, which is held then. When nothing was ever loaded, the
 * result is the error of the last attempt, and the lock is not held. */
int tkl__follow_lock(tkl__follower *follower);
void tkl__follow_unlock(tkl__follower *follower);

/* With the lock: how long ago the copy was last known to be what the server has; 0 while it is
 * live. In milliseconds. */
int64_t tkl__follow_age(const tkl__follower *follower);

/* With the lock: waits until something was loaded, or the deadline passed: TKL_EMPTY then.
 * TKL_EINTR: the client was interrupted. The lock is held again in any case. */
int tkl__follow_wait(tkl__follower *follower, int64_t deadline);

#endif
