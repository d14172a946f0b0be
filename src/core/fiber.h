/* SPDX-License-Identifier: MIT
 *
 * Fibers: how a few threads run thousands of blocking calls.
 *
 * A fiber is a function with a stack of its own. Where a thread would sleep, in poll() or on a
 * condition variable, a fiber parks: its thread (the carrier) goes on with another fiber, and
 * resumes this one when its descriptor is ready, its condition is signalled or its time has come.
 * So all code of the library runs unchanged on fibers, as long as it sleeps in one of these:
 *
 *     tkl__poll()                             here, in place of poll()
 *     tkl__cond_wait(), tkl__turn_take()      cond.h, in place of those of pthreads
 *     tkl__sleep_until(), tkl__sleep()        clock.h, interrupt.h
 *
 * On a plain thread these do what their names say.
 *
 * A fiber stays with the carrier that began it. It must not park while it holds a mutex, which
 * another fiber of the same carrier may want: see tkl__fiber_stay(). A lock that is held across
 * calls is a tkl__turn.
 *
 * Resting fibers. A fiber that waits for news, not for a reply, says so (tkl__rest_begin). Each
 * carrier begins new fibers only while few of its fibers do not rest, so that a flood of
 * operations waits in the queue, where it costs no stacks and no connections.
 */
#ifndef TKL_CORE_FIBER_H
#define TKL_CORE_FIBER_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tkl__fiber tkl__fiber;
typedef struct tkl__fibers tkl__fibers;

/* ---- For everything that sleeps ------------------------------------------ */

/* The calling fiber; NULL: a plain thread calls. */
tkl__fiber *tkl__fiber_self(void);

/* poll() until `until` on tkl__now(). May return 0 before: callers look at the time themselves. */
int tkl__poll(struct pollfd *files, size_t count, int64_t until);

/* Parks until tkl__fiber_wake(), or `until`. May return before for no reason. */
void tkl__fiber_park(int64_t until);
/* Any thread may call this. The next tkl__fiber_park() returns at once if the fiber is not
 * parked. */
void tkl__fiber_wake(tkl__fiber *fiber);

/* Between these calls tkl__poll() blocks the thread also on a fiber: the caller holds a mutex. */
void tkl__fiber_stay(void);
void tkl__fiber_stay_no_more(void);

/* Between these calls the fiber waits for news. Calls may be nested. Plain threads may call
 * them, too. */
void tkl__rest_begin(void);
void tkl__rest_end(void);

/* ---- Cancelling ---------------------------------------------------------- */

/* Any thread: interrupts all waits of this fiber from now on, as tkl_interrupt() does for a
 * client. */
void tkl__fiber_cancel(tkl__fiber *fiber);
/* When the calling fiber was cancelled, by tkl__now(). 0: it was not, or a plain thread calls. */
int64_t tkl__fiber_cancelled_at(void);

/* ---- Running ------------------------------------------------------------- */

/* All fields but the first three are private, and zero at first. */
struct tkl__fiber {
    void (*body)(tkl__fiber *fiber);  /* runs on the stack of the fiber */
    void (*ended)(tkl__fiber *fiber); /* the carrier calls this at last, and then forgets it */
    /* The same for a fiber that could not begin: in time (TKL_ENOTSENT), or without memory. */
    void (*refused)(tkl__fiber *fiber, int code);

    tkl__fiber *next;             /* in the queue, or in a carrier's list of ready fibers */
    tkl__fiber *prev;             /* in the queue */
    bool queued;                  /* not begun */
    bool parked;                  /* sleeps, and is not ready */
    bool woken;                   /* not parked: it must not park the next time */
    int64_t begin_by;             /* in the queue: it is refused after this */
    _Atomic int64_t cancelled_at; /* by tkl__now(); 0: it was not */
    struct tkl__carrier *carrier;
    struct tkl__strand *strand; /* its stack and what is on it; NULL: not begun */
    size_t timer;               /* its place among the carrier's timers, from 1; 0: none */
    int64_t until;              /* when it has to be resumed */
    int stays, rests;           /* calls of tkl__fiber_stay() and tkl__rest_begin() that are open */
};

typedef struct tkl__fibers_options {
    int threads;
    size_t stack_bytes; /* for each fiber */
    int busy_max;       /* all carriers together: a new fiber begins while fewer are not resting */
} tkl__fibers_options;

typedef struct tkl__fibers_counts {
    size_t queued, begun, resting;
} tkl__fibers_counts;

int tkl__fibers_open(const tkl__fibers_options *options, tkl__fibers **fibers);
/* Ends the threads, once all fibers have ended; the queue must be empty. NULL is fine. */
void tkl__fibers_close(tkl__fibers *fibers);
/* In a forked child: frees the memory, without the threads and fibers of the parent. */
void tkl__fibers_forget(tkl__fibers *fibers);

/* Puts the fiber into the queue. Any thread may call these. */
void tkl__fibers_add(tkl__fibers *fibers, tkl__fiber *fiber, int64_t begin_by);
/* Takes the fiber out of the queue. False: it has begun or was refused. */
bool tkl__fibers_withdraw(tkl__fibers *fibers, tkl__fiber *fiber);
void tkl__fibers_count(tkl__fibers *fibers, tkl__fibers_counts *counts);

#endif
