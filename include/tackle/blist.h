/* SPDX-License-Identifier: MIT
 *
 * The plain blocking queue: a list of the server, as such. No leases, no retries: what is popped is
 * gone. For jobs that must not be lost there is queue.h.
 *
 *     tkl_blist *events;
 *     tkl_blist_items *items;
 *     tkl_blist_open(client, tkl_str("events"), NULL, &events);
 *     tkl_blist_push(events, &(tkl_bytes)TKL_LIT("signup"), 1, NULL);
 *     if (tkl_blist_pop(&events, 1, 1, 5000, &items) == TKL_OK)
 *         handle(items->items[0]);
 *     tkl_blist_items_free(items);
 *
 * Threads: a handle is immutable, any number of threads may use it. fork(): it holds nothing, a
 * child may use it. Callbacks: none. Key: ns:blist:{name}, a list. It goes with its last item, by
 * drop, or by ttl_ms.
 */
#ifndef TACKLE_BLIST_H
#define TACKLE_BLIST_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_blist tkl_blist;

typedef struct tkl_blist_options {
    int64_t timeout_ms; /* of one call, beside what it waits for items; 0: the client's */
    int64_t ttl_ms;     /* the list expires this long after the last push; 0: it stays */
    TKL_RESERVED(8);
} tkl_blist_options;

/* What was popped, oldest first. */
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

/* Appends the items, all or none, in one trip; *length (may be NULL) is that of the list then,
 * before waiters took theirs. TKL_ETIMEOUT, TKL_EUNKNOWN: they may be in the list, and a
 * second push may add them twice. */
TKL_API int tkl_blist_push(tkl_blist *list, const tkl_bytes *items, size_t count, int64_t *length)
    TKL_NONNULL(1) TKL_CHECK;

/* The most items of one pop. */
#define TKL_BLIST_POP_MAX 100000

/* Takes the oldest items, up to `max`, of the first of the lists (of one client) that has any,
 * waiting up to `wait_ms` for the first (0: not, negative: for ever); of several waiters the one
 * that has waited longest is served first. TKL_EMPTY: none in time. TKL_EINTR: tkl_interrupt()
 * ended the wait, and nothing was taken.
 *
 * A server that goes away meanwhile is waited for until the time is up, and a lost connection is
 * replaced (at the end of the line). Items that the server sent into a connection that broke are
 * lost: TKL_EUNKNOWN when a part of them came, or when the time was up then.
 *
 * A waiter has a connection of its own, beside the client's pool_size: see docs/blist.md. On
 * a cluster all lists must live in one slot (TKL_ECROSSSLOT). */
TKL_API int tkl_blist_pop(tkl_blist *const *lists, size_t count, size_t max, int64_t wait_ms,
                          tkl_blist_items **items) TKL_NONNULL(5) TKL_CHECK;
TKL_API void tkl_blist_items_free(tkl_blist_items *items); /* NULL is fine */

TKL_API int tkl_blist_length(tkl_blist *list, int64_t *length) TKL_NONNULL(1, 2) TKL_CHECK;
/* Removes all items. TKL_NOTFOUND: there were none. */
TKL_API int tkl_blist_drop(tkl_blist *list) TKL_NONNULL(1) TKL_CHECK;

/* The names of all lists that have items, sorted. Walks over all keys of the servers. */
TKL_API int tkl_blist_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
