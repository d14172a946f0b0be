/* SPDX-License-Identifier: MIT
 *
 * Redlock: a lock on N independent servers, held while a majority says so.
 *
 *     tkl_client *nodes[3];                   // opened each on a server of its own
 *     tkl_redlock *lock;
 *     TKL_TRY(tkl_redlock_open(nodes, 3, tkl_str("invoices"), NULL, &lock));
 *     if (tkl_redlock_acquire(lock, 5000) == TKL_OK) {
 *         work_for_at_most(tkl_redlock_left_ms(lock));
 *         tkl_redlock_release(lock);
 *     }
 *     tkl_redlock_close(lock);
 *
 * It survives the loss of a minority of servers. It has no fence, and its waiters poll with a
 * random delay: prefer tkl_lock where one server (with replicas) is enough. docs/redlock.md says
 * what a redlock can and cannot guarantee.
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

#include <tackle/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_redlock tkl_redlock;

/* All zero means the defaults. */
typedef struct tkl_redlock_options {
    int64_t timeout_ms;     /* time-out of one server's answer; 0: lease / 20, 10 to 1000 */
    int64_t lease_ms;       /* 10 ms to 10 years; 0: 30000 */
    int64_t retry_delay_ms; /* mean of the random pause between attempts; 0: 100 */
    TKL_RESERVED(8);
} tkl_redlock_options;

/* No I/O. The caller keeps the 1 to 64 clients, which must outlive the handle. */
TKL_API int tkl_redlock_open(tkl_client *const *nodes, size_t count, tkl_bytes name,
                             const tkl_redlock_options *options, tkl_redlock **lock)
    TKL_NONNULL(5) TKL_CHECK;
/* Releases the lock if the handle holds it, and frees the handle. NULL is fine. */
TKL_API void tkl_redlock_close(tkl_redlock *lock);

/* Takes the lock on a majority of servers, waiting up to `wait_ms` as tkl_lock_acquire() does.
 * TKL_BUSY: no majority was free in time. TKL_ENOTSENT: a majority could not be reached. TKL_EINTR:
 * tkl_interrupt() on one of the clients ended the wait. */
TKL_API int tkl_redlock_acquire(tkl_redlock *lock, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
/* Makes the lease last `lease_ms` from now (0: the lease of the options), on a majority.
 * TKL_NOTOWNER: too many servers have lost the lock for a majority, and it is not valid any more.
 * TKL_ENOTSENT, TKL_EUNKNOWN: too few servers answered to decide; the lock stays valid until its
 * old lease ends, and may be renewed again. */
TKL_API int tkl_redlock_renew(tkl_redlock *lock, int64_t lease_ms) TKL_NONNULL(1) TKL_CHECK;
/* Releases the lock on every server. TKL_NOTOWNER: no majority held it any more. TKL_ENOTSENT,
 * TKL_EUNKNOWN: too few servers answered to decide. The handle is free afterwards in any case; on a
 * server that the request did not reach, the lock expires with its lease. */
TKL_API int tkl_redlock_release(tkl_redlock *lock) TKL_NONNULL(1);

/* Milliseconds for which the lock is still valid: lease - elapsed - drift; 0 when it is not valid.
 * No I/O. */
TKL_API int64_t tkl_redlock_left_ms(tkl_redlock *lock) TKL_NONNULL(1);
/* Copies the token of the acquisition, a secret of 32 hex digits; "" when the handle is free. No
 * I/O. */
TKL_API void tkl_redlock_token(tkl_redlock *lock, char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 2);
/* Makes the handle free without releasing the lock: the token holds it until the lease ends.
 * Another process or a later command can adopt the token, so read the token first. The handle must
 * still be closed. TKL_EINVAL: the handle holds nothing. No I/O. */
TKL_API int tkl_redlock_detach(tkl_redlock *lock) TKL_NONNULL(1) TKL_CHECK;
/* Makes a free handle the owner of a token that another process detached, to release or renew it.
 * tkl_redlock_left_ms() is known after a renewal. TKL_NOTOWNER: the text is not a token. No I/O. */
TKL_API int tkl_redlock_adopt(tkl_redlock *lock, const char *token) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
