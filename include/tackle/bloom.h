/* SPDX-License-Identifier: MIT
 *
 * A Bloom filter: "was this seen before?" in about ten bits for each item, however long it is.
 *
 *     static const tkl_bloom_options options = {.error = 0.001, .capacity = 1000000};
 *     tkl_bloom *seen;
 *     bool added;
 *     tkl_bytes url = tkl_str("https://example.org/");
 *     tkl_bloom_open(client, tkl_str("seen"), &options, &seen);
 *     if (tkl_bloom_add(seen, &url, 1, &added) == TKL_OK && added)
 *         fetch(url);                                     // certainly never added before
 *     tkl_bloom_close(seen);
 *
 * "Absent" is certain. "Present" is wrong with the error rate of the options. Nothing can be taken
 * out again; only the whole filter can be dropped.
 *
 * Threads: a handle may be used by several threads. Fork: a child may use the handle. Callbacks:
 * none. Keys: docs/bloom.md lists them; they go with tkl_bloom_drop(), or expire after `ttl_ms`.
 */
#ifndef TACKLE_BLOOM_H
#define TACKLE_BLOOM_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_bloom tkl_bloom;

/* All zero means the defaults. `error`, `capacity` and `fixed` are those of a filter that this
 * handle makes; one that exists keeps its own. */
typedef struct tkl_bloom_options {
    int64_t timeout_ms; /* of one round trip; 0: the client's */
    int64_t ttl_ms;     /* the filter expires this long after the last add; 0: it stays */
    double error;       /* the share of absent items that a full filter calls present; 1e-12 to
                           0.5; 0: 0.01 */
    int64_t capacity;   /* how many items it is meant for; 0: 10000; it takes up to 128 GiB */
    bool fixed;         /* when full, refuse (TKL_FULL) instead of growing */
    TKL_RESERVED(8);
} tkl_bloom_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. TKL_EINVAL: there is no
 * filter with such options. */
TKL_API int tkl_bloom_open(tkl_client *client, tkl_bytes name, const tkl_bloom_options *options,
                           tkl_bloom **bloom) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the filter. NULL is fine. */
TKL_API void tkl_bloom_close(tkl_bloom *bloom);

/* Makes the filter now instead of with the first item. TKL_EXISTS: there is one of that name
 * already, which stays as it is. TKL_ETYPE: its key is something else, which stays, too. */
TKL_API int tkl_bloom_reserve(tkl_bloom *bloom) TKL_NONNULL(1) TKL_CHECK;

/* Adds items, any bytes, in one round trip for a few thousand of them. Makes the filter when there
 * is none. `added` (may be NULL): `count` flags: the item was certainly not there before. TKL_FULL:
 * a fixed filter has as many items as it was made for; those that were there or still fitted are
 * in, and the others are not: tkl_bloom_exists() tells which. TKL_ETYPE: the key is something else,
 * or a filter of an older version of tackle. After TKL_ETIMEOUT or TKL_EUNKNOWN adding again is
 * safe, but then `added` may be false for an item that was new. */
TKL_API int tkl_bloom_add(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *added)
    TKL_NONNULL(1) TKL_CHECK;

/* Whether items were added, in one round trip for each thousand. `present`: `count` flags.
 * TKL_NOTFOUND: no such filter. */
TKL_API int tkl_bloom_exists(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *present)
    TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_bloom_info {
    double error;     /* as asked for */
    int64_t capacity; /* of all sub-filters */
    int64_t count;    /* items that were new when added; after a merge, an estimate */
    int64_t bytes;    /* when every part of it is in use */
    int filters;      /* sub-filters: 1, and one more each time it has grown */
    int hashes;       /* bits for each item in the first of them */
    bool fixed;
    TKL_RESERVED(8);
} tkl_bloom_info;

/* TKL_NOTFOUND: no such filter. */
TKL_API int tkl_bloom_show(tkl_bloom *bloom, tkl_bloom_info *info) TKL_NONNULL(1, 2) TKL_CHECK;

/* Adds all that is in `source`, a mebibyte at a time. Both filters must exist (TKL_NOTFOUND) and
 * have the same error, capacity and kind (TKL_EINVAL). What was in `source` when the merge began is
 * in `bloom` in the end; what is added meanwhile may be. When it fails, a part may be in and not be
 * counted yet; merging again is safe. A merged filter may hold more items than its capacity, and
 * errs more often then: see docs/bloom.md. */
TKL_API int tkl_bloom_merge(tkl_bloom *bloom, tkl_bloom *source) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes the filter with all that is in it. TKL_NOTFOUND: there was none. */
TKL_API int tkl_bloom_drop(tkl_bloom *bloom) TKL_NONNULL(1) TKL_CHECK;

/* The names of all filters. Walks over all keys of the servers. */
TKL_API int tkl_bloom_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
