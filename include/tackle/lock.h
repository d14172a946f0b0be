/* SPDX-License-Identifier: MIT
 *
 * A lock that programs on many machines share.
 *
 *     tkl_lock *lock;
 *     TKL_TRY(tkl_lock_open(client, tkl_str("invoices"), NULL, &lock));
 *     if (tkl_lock_acquire(lock, 5000) == TKL_OK) {       // wait up to 5 s
 *         store("invoice 7", tkl_lock_fence(lock));       // the store refuses lower numbers
 *         tkl_lock_release(lock);
 *     }
 *     tkl_lock_close(lock);
 *
 * A lock is held for a lease and no longer: a holder that dies blocks nobody for longer than that.
 * Every acquisition has a token that nobody else can guess, and a fence: a number greater than that
 * of every acquisition of that name before it (docs/lock.md says when this holds).
 *
 * Waiting is first come, first served. A release hands the lock to the next live waiter and wakes
 * it: no waiter polls. tkl_interrupt(client) ends all waits of a client.
 *
 * Threads: a handle is one owner, with one acquisition at a time. Several threads may use it, one
 * operation after the other. Handles are cheap: threads that compete for a name open one each.
 * Fork: a handle belongs to the process that opened it. In a forked child every call on it is
 * TKL_EINVAL, its state is TKL_HOLD_FREE, and tkl_lock_close() only frees memory.
 * Callbacks: on_lost runs in a thread of the client. It must not block. It may call
 * tkl_lock_release() and the functions marked "No I/O", never tkl_lock_close().
 * Keys: "ns:lock:{name}:state", ":sharers" and ":line". They expire a minute after the last lease;
 * the line expires at most 15 minutes after a waiter last contacted the server.
 *
 * Misuse of a handle is TKL_EINVAL: to release a lock that it does not hold, or to acquire it twice
 * unless it is reentrant.
 */
#ifndef TACKLE_LOCK_H
#define TACKLE_LOCK_H

#include <tackle/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_lock tkl_lock;

/* All zero means the defaults. */
typedef struct tkl_lock_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t lease_ms;   /* 0: 30000; 1 to 10 years */
    bool auto_renew;    /* renew in the background until released or lost */
    bool watch; /* with auto_renew: a thread listens while the lock is held, to notice at once, and
                   not at the next renewal, that the lock was broken or the server lost it */
    bool reentrant;    /* this handle may acquire the lock again while it holds it; it needs as many
                          releases */
    bool shared;       /* a read lock: many readers at once, but no reader beside a writer */
    const char *label; /* shown by tkl_lock_show(); at most 256 bytes; copied; NULL: none */
    int replicas;      /* number of replicas that must have an acquisition before it counts; 0:
                          none */
    /* Called once per acquisition that is lost while it is held. NULL: no callback. */
    void (*on_lost)(tkl_lock *lock, void *arg);
    void *arg;
    TKL_RESERVED(8);
} tkl_lock_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_lock_open(tkl_client *client, tkl_bytes name, const tkl_lock_options *options,
                          tkl_lock **lock) TKL_NONNULL(1, 4) TKL_CHECK;

/* Releases the lock if the handle holds it, which may take as long as the time-out, and frees the
 * handle. NULL is fine. */
TKL_API void tkl_lock_close(tkl_lock *lock);

/* Takes the lock, waiting up to `wait_ms`: 0 tries once, negative waits for ever. One round trip
 * when it is free.
 *
 * TKL_BUSY: others held it all the time. TKL_EINTR: tkl_interrupt() ended the wait. TKL_ELOST: the
 * server granted it, but the lease ran out before the answer arrived, and no time is left to wait.
 * TKL_EUNREADY: fewer replicas than asked for have it. After TKL_ETIMEOUT or TKL_EUNKNOWN call it
 * again: the server recognises an acquisition of this handle whose reply was lost. Or give it back
 * with tkl_lock_release(). */
TKL_API int tkl_lock_acquire(tkl_lock *lock, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;

/* Makes the lease last `lease_ms` from now (0: the lease of the options). TKL_NOTOWNER: the lease
 * ran out or the lock was broken; the state is now TKL_HOLD_LOST. */
TKL_API int tkl_lock_renew(tkl_lock *lock, int64_t lease_ms) TKL_NONNULL(1) TKL_CHECK;

/* Releases the lock. TKL_NOTOWNER: this handle did not hold it any more; all work since the lease
 * ran out was unprotected. After TKL_OK and TKL_NOTOWNER the handle is free. After other errors it
 * is not, and may be released again. After TKL_ETIMEOUT and TKL_EUNKNOWN a background thread
 * repeats the release until the server has answered or the handle is closed. */
TKL_API int tkl_lock_release(tkl_lock *lock) TKL_NONNULL(1);

/* Releases without waiting for the server's answer: faster, but a loss that only the server knows
 * is not reported. When the server refuses the request because it lost the function or the slot
 * moved, the next call of this client on that connection repeats it. */
TKL_API int tkl_lock_release_nowait(tkl_lock *lock) TKL_NONNULL(1);

/* Turns a held write lock into a read lock; waiting readers get the lock, too. */
TKL_API int tkl_lock_downgrade(tkl_lock *lock) TKL_NONNULL(1) TKL_CHECK;

/* No I/O. */
TKL_API tkl_hold_state tkl_lock_state(tkl_lock *lock) TKL_NONNULL(1);
/* Waits up to `wait_ms` (0: looks once; negative: for ever) until the lock is lost: the lease
 * ended, or, noticed by a renewal or at once with `watch`, it was broken. No I/O; from any thread.
 * TKL_OK: it is lost. TKL_BUSY: it was still held when the time was up. TKL_NOTOWNER: the handle
 * holds nothing, or was released meanwhile. TKL_EINTR: tkl_interrupt(). */
TKL_API int tkl_lock_wait_lost(tkl_lock *lock, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
/* The fence of the acquisition; 0 when the handle is free. No I/O. */
TKL_API uint64_t tkl_lock_fence(tkl_lock *lock) TKL_NONNULL(1);
/* Copies the token of the acquisition, a secret; "" when the handle is free. No
 * I/O. */
TKL_API void tkl_lock_token(tkl_lock *lock, char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 2);
/* Milliseconds until the lease ends by the local clock; 0 when it has ended or the handle is free.
 * No I/O. */
TKL_API int64_t tkl_lock_left_ms(tkl_lock *lock) TKL_NONNULL(1);

/* Makes the handle free without releasing the lock: the token holds it until the lease ends.
 * Another process or a later command can adopt the token, so read the token first. The handle must
 * still be closed. TKL_NOTOWNER: this handle did not hold the lock any more. After other errors the
 * handle holds it as before. */
TKL_API int tkl_lock_detach(tkl_lock *lock) TKL_NONNULL(1) TKL_CHECK;

/* Makes a free handle the owner of an acquisition that another process or an earlier command made.
 * Renews the lease to check it: TKL_NOTOWNER when the token does not hold the lock. */
TKL_API int tkl_lock_adopt(tkl_lock *lock, const char *token, int64_t lease_ms)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- For operators ------------------------------------------------------- */

/* Lists the holders of the lock and its waiters, in one round trip; none of either: nobody uses it.
 * Free with tkl_holders_free(). */
TKL_API int tkl_lock_show(tkl_lock *lock, tkl_holders **holders) TKL_NONNULL(1, 2) TKL_CHECK;

/* Takes the lock away from all its holders; the next waiter gets it. The former holders learn it at
 * their next call or renewal, with `watch` at once. TKL_NOTFOUND: nobody held it. */
TKL_API int tkl_lock_break(tkl_lock *lock) TKL_NONNULL(1) TKL_CHECK;

/* The names of all locks in the client's namespace that are held now. See
 * tkl_options.no_register. Free with tkl_names_free(). */
TKL_API int tkl_lock_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* All locks that are held or waited for, with their holders, in a few round trips, however many
 * there are. Free with tkl_hold_overview_free(). */
TKL_API int tkl_lock_overview(tkl_client *client, tkl_hold_overview **overview)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
