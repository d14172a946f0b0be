/* SPDX-License-Identifier: MIT
 *
 * A counting semaphore: at most `limit` holders of a name at once, on however many machines.
 *
 *     tkl_semaphore *sem;
 *     tkl_semaphore_open(client, tkl_str("crawlers"), 5, NULL, &sem);
 *     if (tkl_semaphore_acquire(sem, 60000) == TKL_OK) {
 *         crawl();
 *         tkl_semaphore_release(sem);
 *     }
 *     tkl_semaphore_close(sem);
 *
 * A handle is one permit. What lock.h says of leases, tokens, fences, waiting in order of arrival,
 * states, threads, fork and callbacks is true here, with the functions of this header. Keys:
 * "ns:sem:{name}:state", ":sharers" and ":line", which go as those of a lock do.
 *
 * The limit is that of the latest caller: lowering it takes no permit away; nobody gets a new one
 * until enough have been returned.
 */
#ifndef TACKLE_SEMAPHORE_H
#define TACKLE_SEMAPHORE_H

#include <tackle/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_semaphore tkl_semaphore;

/* All zero means the defaults. */
typedef struct tkl_semaphore_options {
    int64_t timeout_ms; /* of one call; 0: the client's */
    int64_t lease_ms;   /* of a permit; 0: 30000; 1 to 10 years */
    bool auto_renew;    /* renew in the background until released or lost */
    bool watch; /* with auto_renew: a thread listens while it is held, so that a break and a server
                   that forgot it are noticed at once, and not at the next renewal */
    const char *label; /* shown by tkl_semaphore_show(); at most 256 bytes; copied; NULL: none */
    int replicas;      /* a permit counts once this many replicas have it; 0: none */
    /* Called once per permit when it is lost while held. NULL: nobody wants to know. */
    void (*on_lost)(tkl_semaphore *sem, void *arg);
    void *arg;
    TKL_RESERVED(8);
} tkl_semaphore_options;

/* No I/O. `limit`: 1 to a million. */
TKL_API int tkl_semaphore_open(tkl_client *client, tkl_bytes name, int64_t limit,
                               const tkl_semaphore_options *options, tkl_semaphore **sem)
    TKL_NONNULL(1, 5) TKL_CHECK;
/* Frees the handle; returns its permit. NULL is fine. */
TKL_API void tkl_semaphore_close(tkl_semaphore *sem);

/* As the functions of the same names in lock.h. */
TKL_API int tkl_semaphore_acquire(tkl_semaphore *sem, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_renew(tkl_semaphore *sem, int64_t lease_ms) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_release(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API int tkl_semaphore_release_nowait(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API tkl_hold_state tkl_semaphore_state(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API uint64_t tkl_semaphore_fence(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API void tkl_semaphore_token(tkl_semaphore *sem, char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 2);
TKL_API int64_t tkl_semaphore_left_ms(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API int tkl_semaphore_detach(tkl_semaphore *sem) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_adopt(tkl_semaphore *sem, const char *token, int64_t lease_ms)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API int tkl_semaphore_show(tkl_semaphore *sem, tkl_holders **holders)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* All permits. */
TKL_API int tkl_semaphore_break(tkl_semaphore *sem) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
