/* SPDX-License-Identifier: MIT
 *
 * The plain blocking queue: a list on the server. No leases, no retries: popped items are gone. Use
 * queue.h for jobs that must not be lost.
 *
 *     tkl_blist *events;
 *     tkl_blist_items *items;
 *     TKL_TRY(tkl_blist_open(client, tkl_str("events"), NULL, &events));
 *     TKL_TRY(tkl_blist_push(events, &(tkl_bytes)TKL_LIT("signup"), 1, NULL));
 *     if (tkl_blist_pop(&events, 1, 1, 5000, &items) == TKL_OK)
 *         handle(items->items[0]);
 *     tkl_blist_items_free(items);
 *
 * Threads: a handle is immutable, any number of threads may use it. fork(): it holds nothing, a
 * child may use it. Callbacks: none. Key: ns:blist:{name}, a list. It is removed with its last
 * item, by drop, or after ttl_ms.
 */
#ifndef TACKLE_BLIST_H
#define TACKLE_BLIST_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_blist tkl_blist;

typedef struct tkl_blist_options {
    int64_t timeout_ms; /* time-out of one call, without the wait for items; 0: the client's */
    int64_t ttl_ms;     /* the list expires this long after the last push; 0: it stays */
    bool push_first;    /* pushes put items before all others, not behind them; the last item of a
                           push comes first */
    bool pop_last;      /* pops take items from the end of the list, the last one first */
    TKL_RESERVED(8);
} tkl_blist_options;

/* Popped items, in the order in which they were taken. */
typedef struct tkl_blist_items {
    size_t which; /* index of their list */
    const tkl_bytes *items;
    size_t count; /* at least 1 */
    TKL_RESERVED(2);
} tkl_blist_items;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_blist_open(tkl_client *client, tkl_bytes name, const tkl_blist_options *options,
                           tkl_blist **list) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the list. NULL is fine. */
TKL_API void tkl_blist_close(tkl_blist *list);

/* Appends the items (with `push_first` puts them before all others), all or none, in one trip;
 * *length (may be NULL) is the new length of the list, before waiters take items. TKL_ETIMEOUT,
 * TKL_EUNKNOWN: they may be in the list, and a second push may add them twice. */
TKL_API int tkl_blist_push(tkl_blist *list, const tkl_bytes *items, size_t count, int64_t *length)
    TKL_NONNULL(1) TKL_CHECK;

/* The most items of one pop. */
#define TKL_BLIST_POP_MAX 100000

/* Takes up to `max` of the first items (with `pop_last` of the last) from the first list that has
 * any; all lists are of one client and have the same `pop_last`. Waits up to `wait_ms` for an item
 * (0: does not wait, negative: for ever); the server serves the waiter that has waited longest.
 * TKL_EMPTY: no item in time. TKL_EINTR: tkl_interrupt() ended the wait, and nothing was taken.
 *
 * When the server goes down meanwhile, the call waits for it until the time is up. It replaces a
 * lost connection, and then waits at the end of the line. Items that the server sent into a broken
 * connection are lost: TKL_EUNKNOWN when a part of them arrived, or when the time was up.
 *
 * Each waiter has its own connection, in addition to the client's pool_size: see docs/blist.md. On
 * a cluster all lists must live in one slot (TKL_ECROSSSLOT). */
TKL_API int tkl_blist_pop(tkl_blist *const *lists, size_t count, size_t max, int64_t wait_ms,
                          tkl_blist_items **items) TKL_NONNULL(5) TKL_CHECK;
TKL_API void tkl_blist_items_free(tkl_blist_items *items); /* NULL is fine */

TKL_API int tkl_blist_length(tkl_blist *list, int64_t *length) TKL_NONNULL(1, 2) TKL_CHECK;
/* Removes all items. TKL_NOTFOUND: there were none. */
TKL_API int tkl_blist_drop(tkl_blist *list) TKL_NONNULL(1) TKL_CHECK;

/* The names of all lists that have items, sorted. See tkl_options.no_register. */
TKL_API int tkl_blist_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
