/* SPDX-License-Identifier: MIT
 *
 * The plain blocking queue: a list of the server, as such. No leases, no retries: what is popped is
 * gone. For jobs that must not be lost there is queue.h.
 *
 *     tkl_blist *events;
 *     tkl_reply *item;
 *     tkl_blist_open(client, tkl_str("events"), &events);
 *     tkl_blist_push(events, &event, 1, NULL);
 *     tkl_blist_pop(&events, 1, 5000, NULL, &item);
 */
#ifndef TACKLE_BLIST_H
#define TACKLE_BLIST_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_blist tkl_blist;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. A handle is immutable: any number of threads
 * may use it. */
TKL_API int tkl_blist_open(tkl_client *client, tkl_bytes name, tkl_blist **list)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Frees the handle, not the list. NULL is fine. */
TKL_API void tkl_blist_close(tkl_blist *list);

/* Appends the items, all or none, in one trip; *length (may be NULL) is that of the list then,
 * before those who wait took theirs. TKL_ETIMEOUT, TKL_EUNKNOWN: they may be in the list, and a
 * second push may add them twice. */
TKL_API int tkl_blist_push(tkl_blist *list, const tkl_bytes *items, size_t count, int64_t *length)
    TKL_NONNULL(1) TKL_CHECK;

/* Takes the oldest item of the first of the lists (of one client) that has one, waiting up to
 * `wait_ms` for it (0: not, negative: for ever); of several who wait the oldest is served first.
 * *which (may be NULL) is the index of its list. TKL_EMPTY: none in time.
 *
 * A server that goes away meanwhile is waited for until the time is up, and a lost connection is
 * replaced (at the end of the line). An item that the server sent into a connection that broke is
 * lost; TKL_EUNKNOWN tells it when a part of it came, or when the time was up then.
 *
 * Whoever waits has a connection of its own, beside the client's pool_size: see docs/blist.md. On
 * a cluster all lists must live in one slot (TKL_ECROSSSLOT). Free *item with tkl_reply_free(). */
TKL_API int tkl_blist_pop(tkl_blist *const *lists, size_t count, int64_t wait_ms, size_t *which,
                          tkl_reply **item) TKL_NONNULL(1, 5) TKL_CHECK;

TKL_API int tkl_blist_length(tkl_blist *list, int64_t *length) TKL_NONNULL(1, 2) TKL_CHECK;
/* Removes all items. TKL_NOTFOUND: there were none. */
TKL_API int tkl_blist_clear(tkl_blist *list) TKL_NONNULL(1) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
