/* SPDX-License-Identifier: MIT
 *
 * Redlock: a lock on N independent servers, held while a majority says so.
 *
 *     tkl_client *nodes[3] = {a, b, c};
 *     tkl_redlock *lock;
 *     tkl_redlock_open(nodes, 3, tkl_str("invoices"), NULL, &lock);
 *     if (tkl_redlock_acquire(lock, 5000) == TKL_OK) {
 *         work_for_at_most(tkl_redlock_left_ms(lock));
 *         tkl_redlock_release(lock);
 *     }
 *
 * It survives the loss of a minority of servers. It has no fence and its waiters poll with a random
 * delay: where one server (with replicas) will do, tkl_lock is the better tool. docs/redlock.md
 * says what it can and cannot guarantee.
 *
 * A handle is one owner, used by one thread at a time (but see tkl_redlock_cancel).
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
    int64_t ttl_ms;          /* the lease; 0: 10000; 10 ms to 10 years */
    int64_t node_timeout_ms; /* how long one server may take to answer; 0: ttl / 20, at least 10, at
                                most 200 */
    int64_t retry_delay_ms;  /* the mean of the random pause between tries; 0: 100 */
} tkl_redlock_options;

/* No I/O. The clients stay the caller's and must outlive the handle; 1 to 64 of them. */
TKL_API int tkl_redlock_open(tkl_client *const *nodes, size_t count, tkl_bytes name,
                             const tkl_redlock_options *options, tkl_redlock **lock)
    TKL_NONNULL(1, 5) TKL_CHECK;
/* Releases what it holds. NULL is fine. */
TKL_API void tkl_redlock_close(tkl_redlock *lock);

/* TKL_BUSY when no majority was had in time; TKL_ENOTSENT when a majority could not even be
 * reached. wait_ms as of tkl_lock_acquire. */
TKL_API int tkl_redlock_acquire(tkl_redlock *lock, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
/* From another thread: ends a wait of this handle. From then on it tries only. For programs that
 * shall end. No I/O. */
TKL_API void tkl_redlock_cancel(tkl_redlock *lock) TKL_NONNULL(1);
/* Makes the lease last ttl_ms from now (0: as opened) on a majority; else TKL_NOTOWNER, and it is
 * not valid any more. TKL_ENOTSENT when a majority could not be reached: it is valid as long as it
 * was before, and may be extended again. */
TKL_API int tkl_redlock_extend(tkl_redlock *lock, int64_t ttl_ms) TKL_NONNULL(1) TKL_CHECK;
/* On every server. TKL_NOTOWNER when it was held on no majority any more; TKL_ENOTSENT when a
 * majority could not be reached. The handle is free afterwards in any case: a server that did not
 * hear of it lets go when the lease ends. */
TKL_API int tkl_redlock_release(tkl_redlock *lock) TKL_NONNULL(1);

/* Milliseconds for which the lock is valid still: ttl - elapsed - drift; 0 when it is not. */
TKL_API int64_t tkl_redlock_left_ms(tkl_redlock *lock) TKL_NONNULL(1);
/* The secret of the acquisition, 32 hex digits, copied; "" when free. */
TKL_API void tkl_redlock_token(tkl_redlock *lock, char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 2);
/* Makes the handle free without releasing: the token keeps the lock until the lease ends, for
 * another process or a later command to adopt; read it before. The handle is still to be closed.
 * No I/O. */
TKL_API void tkl_redlock_detach(tkl_redlock *lock) TKL_NONNULL(1);
/* Makes a free handle the owner of that token, for release and extend from another process. No I/O:
 * how long it is valid is known once it was extended. TKL_NOTOWNER when it is no token at all. */
TKL_API int tkl_redlock_adopt(tkl_redlock *lock, const char *token) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
