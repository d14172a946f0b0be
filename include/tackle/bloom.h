/* SPDX-License-Identifier: MIT
 *
 * A Bloom filter: "was this seen before?" in about ten bits for each item, however long it is.
 *
 *     static const tkl_bloom_options options = {.error = 0.001, .capacity = 1000000};
 *     tkl_bloom *seen;
 *     bool added;
 *     tkl_bytes url = tkl_str("https://example.org/");
 *     TKL_TRY(tkl_bloom_open(client, tkl_str("seen"), &options, &seen));
 *     if (tkl_bloom_add(seen, &url, 1, &added) == TKL_OK && added)
 *         fetch(url);                                     // certainly never added before
 *     tkl_bloom_close(seen);
 *
 * "Absent" is certain. "Present" is wrong with the error rate of the options. Items cannot be
 * removed; only the whole filter can be dropped.
 *
 * Threads: a handle may be used by several threads. Fork: a child may use the handle. Callbacks:
 * none. Keys: docs/bloom.md lists them; tkl_bloom_drop() removes them, or they expire after
 * `ttl_ms`.
 */
#ifndef TACKLE_BLOOM_H
#define TACKLE_BLOOM_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_bloom tkl_bloom;

/* All zero means the defaults. `error`, `capacity` and `fixed` apply to a filter that this handle
 * creates; an existing filter keeps its own. */
typedef struct tkl_bloom_options {
    int64_t timeout_ms; /* time-out of one round trip; 0: the client's */
    int64_t ttl_ms;     /* the filter expires this long after the last add; 0: it stays */
    double error;       /* the share of absent items that a full filter calls present; 1e-12 to
                           0.5; 0: 0.01 */
    int64_t capacity;   /* number of items the filter is made for; 0: 10000; the filter takes at
                           most 128 GiB */
    bool fixed;         /* when full, refuse (TKL_FULL) instead of growing */
    TKL_RESERVED(8);
} tkl_bloom_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. TKL_EINVAL: no filter can
 * have these options. */
TKL_API int tkl_bloom_open(tkl_client *client, tkl_bytes name, const tkl_bloom_options *options,
                           tkl_bloom **bloom) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the filter. NULL is fine. */
TKL_API void tkl_bloom_close(tkl_bloom *bloom);

/* Creates the filter now instead of with the first item. TKL_EXISTS: the filter exists already and
 * stays as it is. TKL_ETYPE: the key is something else, and stays as it is. */
TKL_API int tkl_bloom_reserve(tkl_bloom *bloom) TKL_NONNULL(1) TKL_CHECK;

/* Adds items, any bytes, in one round trip for a few thousand of them. Creates the filter if there
 * is none. `added` (may be NULL) has room for `count` flags: true means that the item was certainly
 * not there before. TKL_FULL: a fixed filter is full; items that were there before or still fitted
 * are in it, the others are not: tkl_bloom_exists() says which. TKL_ETYPE: the key is something
 * else, or a filter of an older version of tackle. After TKL_ETIMEOUT or TKL_EUNKNOWN adding again
 * is safe, but then `added` may be false for an item that was new. */
TKL_API int tkl_bloom_add(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *added)
    TKL_NONNULL(1) TKL_CHECK;

/* Checks whether items were added, in one round trip for each thousand. `present` has room for
 * `count` flags. TKL_NOTFOUND: no such filter. */
TKL_API int tkl_bloom_exists(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *present)
    TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_bloom_info {
    double error;     /* error rate the filter was created with */
    int64_t capacity; /* capacity of all sub-filters together */
    int64_t count;    /* items that were new when added; after a merge, an estimate */
    int64_t bytes;    /* memory it takes when every part is in use */
    int filters;      /* number of sub-filters: 1, and one more each time the filter grew */
    int hashes;       /* bits for each item in the first sub-filter */
    bool fixed;
    TKL_RESERVED(8);
} tkl_bloom_info;

/* TKL_NOTFOUND: no such filter. */
TKL_API int tkl_bloom_show(tkl_bloom *bloom, tkl_bloom_info **info) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_bloom_info_free(tkl_bloom_info *info); /* NULL is fine */

/* Adds all items of `source` to `bloom`, a mebibyte at a time. Both filters must exist
 * (TKL_NOTFOUND) and have the same error, capacity and kind (TKL_EINVAL). At the end `bloom` has
 * all items that `source` had when the merge began; items added meanwhile may be missing. After a
 * failure, a part of the items may be in `bloom` and not be counted yet; merging again is safe. A
 * merged filter may hold more items than its capacity, and then has a higher error rate: see
 * docs/bloom.md. */
TKL_API int tkl_bloom_merge(tkl_bloom *bloom, tkl_bloom *source) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes the filter with all that is in it. TKL_NOTFOUND: there was none. */
TKL_API int tkl_bloom_drop(tkl_bloom *bloom) TKL_NONNULL(1) TKL_CHECK;

/* The names of all filters. See tkl_options.no_register. */
TKL_API int tkl_bloom_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
