/* SPDX-License-Identifier: MIT
 *
 * Leases and their holders: the types that locks, semaphores, redlocks and leaders share.
 */
#ifndef TACKLE_HOLD_H
#define TACKLE_HOLD_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a lock or permit as its handle knows it: from the local monotonic clock and the last
 * answer of the server. */
typedef enum tkl_hold_state {
    TKL_HOLD_FREE = 0,    /* not acquired, or released */
    TKL_HOLD_HELD = 1,    /* held, and the lease has not run out */
    TKL_HOLD_SUSPECT = 2, /* the lease has not run out, but renewing it fails: wind up */
    TKL_HOLD_LOST = 3,    /* the lease ran out, or an operator broke it: stop */
} tkl_hold_state;

/* "free", "held", "suspect", "lost"; "unknown" for another number. */
TKL_API const char *tkl_hold_state_name(tkl_hold_state state);

/* A holder. Views into the tkl_holders. */
typedef struct tkl_holder {
    tkl_bytes host;
    tkl_bytes label;
    int64_t pid;
    uint64_t fence;
    int64_t since_ms; /* how long it has held the lock */
    int64_t left_ms;  /* time left of its lease */
    TKL_RESERVED(4);
} tkl_holder;

/* A waiter, in the order of the line. Views into the tkl_holders. */
typedef struct tkl_holder_waiting {
    tkl_bytes host;
    tkl_bytes label;
    int64_t pid;
    bool shared; /* it waits for a read lock */
    TKL_RESERVED(4);
} tkl_holder_waiting;

typedef struct tkl_holders {
    const tkl_holder *items; /* at most 500 */
    size_t count;
    const tkl_holder_waiting *line; /* at most 500 */
    size_t line_count;
    int64_t held;    /* number of all holders */
    int64_t limit;   /* limit of a semaphore; 0 for a lock */
    int64_t waiters; /* number of all waiters */
    bool shared;     /* the holders are readers (or have permits) */
    TKL_RESERVED(4);
} tkl_holders;

TKL_API void tkl_holders_free(tkl_holders *holders); /* NULL is fine */

/* A name that is held or waited for. Views into the overview. */
typedef struct tkl_hold_summary {
    tkl_bytes name;
    const tkl_holders *holders; /* with at most 20 holders and waiters; NULL: see `code` */
    int code;                   /* TKL_OK, or why this name could not be read: TKL_ETYPE ... */
    TKL_RESERVED(4);
} tkl_hold_summary;

/* The result of tkl_lock_overview() and the like. */
typedef struct tkl_hold_overview {
    const tkl_hold_summary *items; /* by name */
    size_t count;
} tkl_hold_overview;

TKL_API void tkl_hold_overview_free(tkl_hold_overview *overview); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
