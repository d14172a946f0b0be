/* SPDX-License-Identifier: MIT
 *
 * How many different items were there? An estimate (standard error 0.81 %) in 12 KB at most,
 * however many there were: the server's HyperLogLog.
 *
 *     tkl_unique *visitors;
 *     int64_t count;
 *     tkl_unique_open(client, tkl_str("2026-11-15"), &visitors);
 *     tkl_unique_add(visitors, &address, 1, NULL);
 *     tkl_unique_count(visitors, &count);
 *
 * A handle may be used by several threads.
 */
#ifndef TACKLE_UNIQUE_H
#define TACKLE_UNIQUE_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_unique tkl_unique;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_unique_open(tkl_client *client, tkl_bytes name, tkl_unique **unique)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Frees the handle, not what was counted. NULL is fine. */
TKL_API void tkl_unique_close(tkl_unique *unique);

/* Adds items, in one trip. *changed (may be NULL): the estimate has changed, so at least one of
 * them is new. Adding again does no harm. */
TKL_API int tkl_unique_add(tkl_unique *unique, const tkl_bytes *items, size_t count, bool *changed)
    TKL_NONNULL(1) TKL_CHECK;

/* The estimate; 0 when nothing was added. */
TKL_API int tkl_unique_count(tkl_unique *unique, int64_t *count) TKL_NONNULL(1, 2) TKL_CHECK;

/* How many different items were added to any of these, all of one client. One trip, and exact as
 * the estimate of one. In a cluster the names live in different slots: then copies are put
 * together, in one trip for each node and one more. */
TKL_API int tkl_unique_count_all(tkl_unique *const *uniques, size_t n, int64_t *count)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* Adds all that was added to the others, of the same client. */
TKL_API int tkl_unique_merge(tkl_unique *unique, tkl_unique *const *others, size_t n)
    TKL_NONNULL(1) TKL_CHECK;

/* Forgets everything. TKL_NOTFOUND: nothing was added. */
TKL_API int tkl_unique_drop(tkl_unique *unique) TKL_NONNULL(1) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
