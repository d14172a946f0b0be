/* SPDX-License-Identifier: MIT
 *
 * Counts different items, with the server's HyperLogLog: an estimate (standard error 0.81 %) in at
 * most 12 KB, however many items there are.
 *
 *     static const tkl_unique_options month = {.ttl_ms = INT64_C(30) * 24 * 3600 * 1000};
 *     tkl_unique *visitors;
 *     int64_t count;
 *     TKL_TRY(tkl_unique_open(client, tkl_str("2026-11-15"), &month, &visitors));
 *     TKL_TRY(tkl_unique_add(visitors, &(tkl_bytes)TKL_LIT("203.0.113.9"), 1, NULL));
 *     TKL_TRY(tkl_unique_count(&visitors, 1, &count));
 *
 * Threads: a handle may be used by several threads. Fork: a child may use the handle. Callbacks:
 * none. Keys: one for each name; tkl_unique_drop() removes it, or it expires after `ttl_ms`.
 */
#ifndef TACKLE_UNIQUE_H
#define TACKLE_UNIQUE_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_unique tkl_unique;

/* All zero means the defaults. */
typedef struct tkl_unique_options {
    int64_t timeout_ms; /* time-out of one round trip; 0: the client's */
    int64_t ttl_ms;     /* the count expires this long after the last add or merge; 0: it stays */
    TKL_RESERVED(8);
} tkl_unique_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_unique_open(tkl_client *client, tkl_bytes name, const tkl_unique_options *options,
                            tkl_unique **unique) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the count. NULL is fine. */
TKL_API void tkl_unique_close(tkl_unique *unique);

/* Adds items, in one round trip. *changed (may be NULL): true when the estimate has changed, so at
 * least one item is new. Adding again does no harm. */
TKL_API int tkl_unique_add(tkl_unique *unique, const tkl_bytes *items, size_t count, bool *changed)
    TKL_NONNULL(1) TKL_CHECK;

/* Estimates how many different items were added to one or more counts, up to 1001 of one client,
 * taken together; 0 when nothing was added. One round trip, and as exact for several counts as for
 * one. On a cluster the names live in different slots: then the library merges copies, in one round
 * trip for each node and one more. */
TKL_API int tkl_unique_count(tkl_unique *const *uniques, size_t count, int64_t *different)
    TKL_NONNULL(3) TKL_CHECK;

/* Adds all items of the other counts, up to 1000 of the same client. */
TKL_API int tkl_unique_merge(tkl_unique *unique, tkl_unique *const *others, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Removes the count. TKL_NOTFOUND: nothing was added. */
TKL_API int tkl_unique_drop(tkl_unique *unique) TKL_NONNULL(1) TKL_CHECK;

/* The names of all counts. See tkl_options.no_register. */
TKL_API int tkl_unique_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
