/* SPDX-License-Identifier: MIT
 *
 * A counting semaphore: at most `limit` holders of a name at once, on however many machines.
 *
 *     tkl_semaphore *sem;
 *     TKL_TRY(tkl_semaphore_open(client, tkl_str("crawlers"), 5, NULL, &sem));
 *     if (tkl_semaphore_acquire(sem, 60000) == TKL_OK) {
 *         crawl();
 *         tkl_semaphore_release(sem);
 *     }
 *     tkl_semaphore_close(sem);
 *
 * A handle is one permit. Leases, tokens, fences, waiting in order of arrival, states, threads,
 * fork and callbacks work as lock.h describes, with the functions of this header. Keys:
 * "ns:sem:{name}:state", ":sharers" and ":line", which expire like those of a lock.
 *
 * The latest caller sets the limit. Lowering it takes no permit away: new permits are granted once
 * enough have been returned.
 */
#ifndef TACKLE_SEMAPHORE_H
#define TACKLE_SEMAPHORE_H

#include <tackle/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_semaphore tkl_semaphore;

/* All zero means the defaults. */
typedef struct tkl_semaphore_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t lease_ms;   /* lease of a permit, 1 ms to 10 years; 0: 30000 */
    bool auto_renew;    /* renew in the background until released or lost */
    bool watch; /* with auto_renew: a thread listens while the permit is held, to notice at once,
                   and not at the next renewal, that it was broken or the server lost it */
    const char *label; /* shown by tkl_semaphore_show(); at most 256 bytes; copied; NULL: none */
    int replicas;      /* number of replicas that must have a permit before it counts; 0: none */
    /* Called once per permit that is lost while it is held. NULL: no callback. */
    void (*on_lost)(tkl_semaphore *sem, void *arg);
    void *arg;
    TKL_RESERVED(8);
} tkl_semaphore_options;

/* No I/O. `limit`: 1 to a million. */
TKL_API int tkl_semaphore_open(tkl_client *client, tkl_bytes name, int64_t limit,
                               const tkl_semaphore_options *options, tkl_semaphore **sem)
    TKL_NONNULL(1, 5) TKL_CHECK;
/* Returns the permit if the handle holds one, and frees the handle. NULL is fine. */
TKL_API void tkl_semaphore_close(tkl_semaphore *sem);

/* These work as the functions of the same names in lock.h. */
TKL_API int tkl_semaphore_acquire(tkl_semaphore *sem, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_renew(tkl_semaphore *sem, int64_t lease_ms) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_release(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API int tkl_semaphore_release_nowait(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API tkl_hold_state tkl_semaphore_state(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API int tkl_semaphore_wait_lost(tkl_semaphore *sem, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;
TKL_API uint64_t tkl_semaphore_fence(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API void tkl_semaphore_token(tkl_semaphore *sem, char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 2);
TKL_API int64_t tkl_semaphore_left_ms(tkl_semaphore *sem) TKL_NONNULL(1);
TKL_API int tkl_semaphore_detach(tkl_semaphore *sem) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_adopt(tkl_semaphore *sem, const char *token, int64_t lease_ms)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API int tkl_semaphore_show(tkl_semaphore *sem, tkl_holders **holders)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* Takes all permits away from their holders. */
TKL_API int tkl_semaphore_break(tkl_semaphore *sem) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_semaphore_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* All semaphores that are held or waited for, with their holders, in a few round trips, however
 * many there are. Free with tkl_hold_overview_free(). */
TKL_API int tkl_semaphore_overview(tkl_client *client, tkl_hold_overview **overview)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
