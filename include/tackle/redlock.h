/* SPDX-License-Identifier: MIT
 *
 * Redlock: a lock on N independent servers, held while a majority says so.
 *
 *     tkl_client *nodes[3];                   // opened each on a server of its own
 *     tkl_redlock *lock;
 *     tkl_redlock_open(nodes, 3, tkl_str("invoices"), NULL, &lock);
 *     if (tkl_redlock_acquire(lock, 5000) == TKL_OK) {
 *         work_for_at_most(tkl_redlock_left_ms(lock));
 *         tkl_redlock_release(lock);
 *     }
 *     tkl_redlock_close(lock);
 *
 * It survives the loss of a minority of servers. It has no fence, and its waiters poll with a
 * random delay: where one server (with replicas) will do, tkl_lock is the better tool.
 * docs/redlock.md says what it can and cannot guarantee.
 *
 * Threads: a handle is one owner, used by one thread at a time. It has a thread for each server,
 * from the first acquisition to tkl_redlock_close().
 * Fork: a handle belongs to the process that opened it. In a forked child every call on it is
 * TKL_EINVAL, and tkl_redlock_close() only frees memory.
 * Callbacks: none.
 * Keys: "ns:redlock:{name}" on every server, which expires with the lease.
 */
#ifndef TACKLE_REDLOCK_H
#define TACKLE_REDLOCK_H

#include <tackle/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_redlock tkl_redlock;

/* All zero means the defaults. */
typedef struct tkl_redlock_options {
    int64_t timeout_ms;     /* of one server's answer; 0: lease / 20, 10 to 1000 */
    int64_t lease_ms;       /* 0: 30000; 10 ms to 10 years */
    int64_t retry_delay_ms; /* the mean of the random pause between tries; 0: 100 */
    TKL_RESERVED(8);
} tkl_redlock_options;

/* No I/O. The clients stay the caller's and must outlive the handle; 1 to 64 of them. */
TKL_API int tkl_redlock_open(tkl_client *const *nodes, size_t count, tkl_bytes name,
                             const tkl_redlock_options *options, tkl_redlock **lock)
    TKL_NONNULL(5) TKL_CHECK;
/* Releases what it holds. NULL is fine. */
TKL_API void tkl_redlock_close(tkl_redlock *lock);

/* TKL_BUSY: no majority was free in time. TKL_ENOTSENT: a majority could not even be reached.
 * TKL_EINTR: tkl_interrupt() on one of the clients ended the wait. wait_ms as of
 * tkl_lock_acquire(). */
TKL_API int tkl_redlock_acquire(tkl_redlock *lock, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
/* Makes the lease last lease_ms from now (0: as opened), on a majority. TKL_NOTOWNER: so many
 * servers do not have it that no majority can, and it is not valid any more. TKL_ENOTSENT,
 * TKL_EUNKNOWN: too few answered to tell: it is valid as long as it was before, and may be renewed
 * again. */
TKL_API int tkl_redlock_renew(tkl_redlock *lock, int64_t lease_ms) TKL_NONNULL(1) TKL_CHECK;
/* On every server. TKL_NOTOWNER: no majority held it any more. TKL_ENOTSENT, TKL_EUNKNOWN: too
 * few answered to tell. The handle is free afterwards in any case: a server that the request did
 * not reach lets go when the lease ends. */
TKL_API int tkl_redlock_release(tkl_redlock *lock) TKL_NONNULL(1);

/* Milliseconds for which the lock is still valid: lease - elapsed - drift; 0 when it is not. No
 * I/O. */
TKL_API int64_t tkl_redlock_left_ms(tkl_redlock *lock) TKL_NONNULL(1);
/* The secret of the acquisition, 32 hex digits, copied; "" when free. No I/O. */
TKL_API void tkl_redlock_token(tkl_redlock *lock, char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 2);
/* Makes the handle free without releasing: the token keeps the lock until the lease ends, for
 * another process or a later command to adopt; read it before. The handle is still to be closed.
 * TKL_EINVAL: it holds nothing. No I/O. */
TKL_API int tkl_redlock_detach(tkl_redlock *lock) TKL_NONNULL(1) TKL_CHECK;
/* Makes a free handle the owner of that token, to release or renew it from another process. How
 * long it is valid is known once it was renewed. TKL_NOTOWNER: that is no token at all. No I/O. */
TKL_API int tkl_redlock_adopt(tkl_redlock *lock, const char *token) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
