/* SPDX-License-Identifier: MIT
 *
 * A Bloom filter: "was this seen before?" in about ten bits for each item, however long it is.
 *
 *     tkl_bloom *seen;
 *     bool added;
 *     tkl_bloom_open(client, tkl_str("seen"), &seen);
 *     tkl_bloom_reserve(seen, 0.01, 1000000, NULL);       // TKL_EXISTS: it is there already
 *     if (tkl_bloom_add(seen, tkl_str(url), &added) == TKL_OK && added)
 *         fetch(url);                                     // certainly never added before
 *     tkl_bloom_close(seen);
 *
 * "Absent" is certain. "Present" is wrong with the error rate that was asked for. Nothing can be
 * taken out again; only the whole filter can be dropped.
 *
 * A handle may be used by several threads.
 */
#ifndef TACKLE_BLOOM_H
#define TACKLE_BLOOM_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_bloom tkl_bloom;

/* All zero means the defaults. */
typedef struct tkl_bloom_options {
    bool fixed; /* when full, refuse (TKL_FULL) instead of growing */
} tkl_bloom_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_bloom_open(tkl_client *client, tkl_bytes name, tkl_bloom **bloom)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Frees the handle, not the filter. NULL is fine. */
TKL_API void tkl_bloom_close(tkl_bloom *bloom);

/* Makes the filter. `error`: from 1e-12 to 0.5, the share of absent items that it takes for present
 * when it is full; `capacity`: how many items it is meant for, 1 or more, as long as it takes up to
 * 128 GiB. TKL_EXISTS: there is one of that name already, which stays as it is. TKL_ETYPE: its key
 * is something else, which stays, too. */
TKL_API int tkl_bloom_reserve(tkl_bloom *bloom, double error, int64_t capacity,
                              const tkl_bloom_options *options) TKL_NONNULL(1) TKL_CHECK;

/* From now on adding with this handle, when there is no filter, makes one as tkl_bloom_reserve()
 * would, instead of answering TKL_NOTFOUND. No I/O. */
TKL_API int tkl_bloom_reserve_on_add(tkl_bloom *bloom, double error, int64_t capacity,
                                     const tkl_bloom_options *options) TKL_NONNULL(1) TKL_CHECK;

/* Adds an item: any bytes. *added (may be NULL): it was certainly not there before. TKL_NOTFOUND:
 * no such filter. TKL_FULL: a fixed filter has as many items as it was made for. After
 * TKL_ETIMEOUT or TKL_EUNKNOWN adding again is safe, but then `added` may be false. */
TKL_API int tkl_bloom_add(tkl_bloom *bloom, tkl_bytes item, bool *added) TKL_NONNULL(1) TKL_CHECK;

/* The same for many, in one trip. `added`: `count` of them, or NULL. With TKL_FULL those that were
 * there or still fitted are in, and the others are not: tkl_bloom_exists_many() tells. */
TKL_API int tkl_bloom_add_many(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *added)
    TKL_NONNULL(1) TKL_CHECK;

/* Whether it was added. TKL_NOTFOUND: no such filter. */
TKL_API int tkl_bloom_exists(tkl_bloom *bloom, tkl_bytes item, bool *present)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* The same for many: one trip for each thousand. `present`: `count` of them. */
TKL_API int tkl_bloom_exists_many(tkl_bloom *bloom, const tkl_bytes *items, size_t count,
                                  bool *present) TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_bloom_info {
    double error;     /* as asked for */
    int64_t capacity; /* of all sub-filters */
    int64_t count;    /* items that were new when added; after a merge, an estimate */
    int64_t bytes;    /* when every part of it is in use */
    int filters;      /* sub-filters: 1, and one more each time it has grown */
    int hashes;       /* bits for each item in the first of them */
    bool fixed;
} tkl_bloom_info;

TKL_API int tkl_bloom_show(tkl_bloom *bloom, tkl_bloom_info *info) TKL_NONNULL(1, 2) TKL_CHECK;

/* Adds all that is in `source`. Both must have been reserved with the same error, capacity and kind
 * (TKL_EINVAL). Each sub-filter is one step, on which the server works without a pause: about 0.2 s
 * for a gigabyte. In a cluster, where different names live in different slots, the source is
 * fetched instead and added a megabyte at a time, each of them, and the counting, a step of its
 * own. What was in `source` when it began is in `bloom` in the end; what is added meanwhile may be.
 * When it fails a part may be in, not counted yet; merging again is safe. */
TKL_API int tkl_bloom_merge(tkl_bloom *bloom, tkl_bloom *source) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes the filter with all that is in it. TKL_NOTFOUND: there was none. */
TKL_API int tkl_bloom_drop(tkl_bloom *bloom) TKL_NONNULL(1) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
