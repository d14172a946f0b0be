/* SPDX-License-Identifier: MIT
 *
 * Cached values: computed by one caller at a time, however many ask, on however many machines.
 *
 *     static int compute(tkl_bytes key, tkl_cache_result *result, void *arg)
 *     {
 *         (void)key;
 *         (void)arg;
 *         return tkl_cache_give(result, tkl_str("the page"));    // or TKL_NOTFOUND: there is none
 *     }
 *
 *     int show_page(tkl_client *client)
 *     {
 *         tkl_cache *cache;
 *         tkl_cache_value *value;
 *         TKL_TRY(tkl_cache_open(client, &(tkl_cache_options){.ttl_ms = 60000}, &cache));
 *         int rc = tkl_cache_fetch(cache, tkl_str("page/7"), compute, NULL, 5000, &value);
 *         if (rc == TKL_OK)
 *             use(value->data);
 *         tkl_cache_value_free(value);
 *         tkl_cache_close(cache);
 *         return rc;
 *     }
 *
 * A value is fresh for `ttl_ms`. Shortly before its end (`refresh_ms`) one caller computes it
 * again, while the others get the value that is there. For `stale_ms` after its end the old value
 * is returned while a caller computes, or when computing fails.
 *
 * Threads: a cache may be used by several threads. fork(): a child may go on using it. Callbacks:
 * the function that computes runs in the thread of tkl_cache_fetch(); it may take long, and use the
 * client, this cache included (but not for its own key). Keys: a value expires `ttl_ms` + `stale_ms`
 * after it was computed.
 */
#ifndef TACKLE_CACHE_H
#define TACKLE_CACHE_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_cache tkl_cache;

#define TKL_CACHE_VALUE_MAX 4194304 /* bytes of a value */
#define TKL_CACHE_TAGS_MAX  16      /* tags of a value */
#define TKL_CACHE_TAG_MAX   1024    /* bytes of a tag */

typedef struct tkl_cache_options {
    int64_t timeout_ms;  /* time-out of one call; 0: the client's */
    int64_t ttl_ms;      /* how long a value is fresh; 0: ten minutes */
    int64_t stale_ms;    /* how long the old value is used after that; 0: as long as it was fresh;
                               TKL_NONE: not at all */
    int64_t none_ttl_ms; /* how long the answer "there is none" is fresh; 0: a tenth of `ttl_ms`;
                               TKL_NONE: it is not kept. It is never used after its end */
    int64_t refresh_ms; /* a caller computes the value again this long before its end; 0: a tenth of
                               `ttl_ms`; TKL_NONE: not before */
    const tkl_bytes *tags; /* tags of the values that this handle stores; copied */
    size_t tag_count;
    int64_t local_bytes; /* most memory of the local copy, see below; 0: no copy */
    TKL_RESERVED(8);
} tkl_cache_options;

/* No I/O. `options` may be NULL. */
TKL_API int tkl_cache_open(tkl_client *client, const tkl_cache_options *options, tkl_cache **cache)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Frees the handle, not the values. NULL is fine. */
TKL_API void tkl_cache_close(tkl_cache *cache);

/* One object: free it with tkl_cache_value_free(). */
typedef struct tkl_cache_value {
    tkl_bytes data;
    bool none;        /* there is none: `data` is empty */
    bool stale;       /* past its end: computing has failed, or a caller computes it now */
    bool computed;    /* by this call */
    int64_t fresh_ms; /* how long it stays fresh; 0 or less: it is stale */
    TKL_RESERVED(4);
} tkl_cache_value;

TKL_API void tkl_cache_value_free(tkl_cache_value *value); /* NULL is fine */

/* ---- Get or compute ------------------------------------------------------ */

typedef struct tkl_cache_result tkl_cache_result;

/* Computes the value of a key. TKL_OK after tkl_cache_give(): this is it. TKL_NOTFOUND: there is
 * none. Any other code: it failed; nothing is stored. */
typedef int tkl_cache_compute(tkl_bytes key, tkl_cache_result *result, void *arg);

/* Gives the computed value; copies the bytes. The last call counts. TKL_EINVAL: longer than
 * TKL_CACHE_VALUE_MAX. No I/O. */
TKL_API int tkl_cache_give(tkl_cache_result *result, tkl_bytes data) TKL_NONNULL(1) TKL_CHECK;

/* Returns the value of a key: from the server in one round trip, or computed. `key`: any bytes, 1
 * to TKL_NAME_MAX. While another caller computes a value that is missing, it waits for `wait_ms`
 * (0: not at all; negative: for ever). When that caller dies, one of the waiters computes it within
 * a second. TKL_BUSY: not computed in time. TKL_DEAD: the computation of the other caller
 * has failed. When computing fails in this call: the old value if there is one, or else the code of
 * `compute`. On a server that is out of memory the value is computed and not stored. */
TKL_API int tkl_cache_fetch(tkl_cache *cache, tkl_bytes key, tkl_cache_compute *compute, void *arg,
                            int64_t wait_ms, tkl_cache_value **value)
    TKL_NONNULL(1, 3, 6) TKL_CHECK;

/* ---- Values by hand ------------------------------------------------------ */

/* TKL_NOTFOUND: there is no value. */
TKL_API int tkl_cache_get(tkl_cache *cache, tkl_bytes key, tkl_cache_value **value)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Stores a value; NULL: "there is none". A computation that is under way is not stored. */
TKL_API int tkl_cache_set(tkl_cache *cache, tkl_bytes key, const tkl_bytes *data)
    TKL_NONNULL(1) TKL_CHECK;
/* The same in a pipeline, see tkl_result. *value is NULL until the run. A handle with tags cannot
 * store in a pipeline (TKL_EINVAL). */
TKL_API int tkl_cache_get_in(tkl_pipeline *pipeline, tkl_cache *cache, tkl_bytes key,
                             tkl_cache_value **value, tkl_result *result) TKL_NONNULL(1, 2, 4);
TKL_API int tkl_cache_set_in(tkl_pipeline *pipeline, tkl_cache *cache, tkl_bytes key,
                             const tkl_bytes *data, tkl_result *result) TKL_NONNULL(1, 2);
/* Removes a value. A computation that is under way is not stored. TKL_NOTFOUND: there is none. */
TKL_API int tkl_cache_drop(tkl_cache *cache, tkl_bytes key) TKL_NONNULL(1) TKL_CHECK;
/* Removes all values with this tag, 1000 in a round trip or two; *dropped (may be NULL): how many.
 * Values whose computation began before this call are not kept either. */
TKL_API int tkl_cache_drop_tag(tkl_cache *cache, tkl_bytes tag, int64_t *dropped)
    TKL_NONNULL(1) TKL_CHECK;

/* One object: free it with tkl_cache_info_free(). */
typedef struct tkl_cache_info {
    int64_t bytes;      /* size of the value */
    int64_t fresh_ms;   /* how long it stays fresh; 0 or less: it is stale */
    int64_t expires_ms; /* until it is gone */
    bool none;          /* "there is none" is stored */
    bool computing;     /* a caller computes it now */
    bool failed;        /* the last computation failed; the next one waits for a moment */
    TKL_RESERVED(4);
} tkl_cache_info;

/* TKL_NOTFOUND: there is no value. */
TKL_API int tkl_cache_show(tkl_cache *cache, tkl_bytes key, tkl_cache_info **info)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_cache_info_free(tkl_cache_info *info); /* NULL is fine */
/* The keys of all values. */
TKL_API int tkl_cache_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- The local copy ------------------------------------------------------ */

/* With `local_bytes` the handle keeps fresh values that it has read, in memory: a hit is no round
 * trip, and takes some 100 ns. The servers tell the handle which values change (client
 * tracking): a thread of the handle listens, on one connection to each master. Changes that this
 * handle makes are seen by its next call. Changes of others are seen as soon as the server's message
 * has arrived; while a server hangs or is cut off, values may be outdated for two heartbeats, 8 s.
 * When a connection is lost, or the servers change their roles, the whole copy is dropped, and
 * values come from the server until all masters are heard again. Where the user may not listen, the
 * copy stays empty. A forked child begins with an empty copy. tkl_cache_get_in() does not use
 * it. */
typedef struct tkl_cache_local_stats {
    bool live;       /* the servers are heard: the copy is in use */
    int64_t entries; /* values in it */
    int64_t bytes;   /* their memory, at most `local_bytes` */
    int64_t hits;    /* calls that were answered by it */
    TKL_RESERVED(4);
} tkl_cache_local_stats;

/* No I/O. TKL_EINVAL: the handle has no local copy. */
TKL_API int tkl_cache_local_stats_get(tkl_cache *cache, tkl_cache_local_stats *stats)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
