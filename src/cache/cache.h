/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of this component share.
 */
#ifndef TKL_CACHE_CACHE_H
#define TKL_CACHE_CACHE_H

#include <tackle/cache.h>

#include "cache/local.h"
#include "core/batch.h"

struct tkl_cache {
    tkl_client *client;
    int64_t timeout_ms;
    int64_t ttl_ms;
    int64_t stale_ms;    /* 0: none */
    int64_t none_ttl_ms; /* 0: not kept */
    int64_t refresh_ms;  /* 0: not before the end */
    tkl__local *local;   /* NULL: none */
    tkl__keys *tags;     /* keys of each tag: the values that have it, and its generation */
    size_t tag_count;
};

int64_t tkl__cache_deadline(const tkl_cache *cache);

/* ---- cache.c ---- */

/* The keys of a value: the entry, whose name is also that of the sharded channel, and the lease. */
int tkl__cache_keys(const tkl_cache *cache, tkl_bytes key, tkl__keys *keys);
/* Makes a value from an entry and the milliseconds until it expires. */
int tkl__cache_value_read(tkl_bytes entry, int64_t left_ms, tkl_cache_value **value);
/* Makes a value that was just computed; NULL: there is none. */
int tkl__cache_value_new(const tkl_cache *cache, const tkl_bytes *data, tkl_cache_value **value);
/* Finds the value in the local copy, if there is one and it is fresh for more than `early_ms`. */
bool tkl__cache_find(const tkl_cache *cache, tkl_bytes key, int64_t early_ms,
                     tkl_cache_value **value);
/* Reads the value of these keys from the server. TKL_NOTFOUND: there is none. */
int tkl__cache_read(const tkl_cache *cache, tkl_bytes key, const tkl__keys *keys, int64_t deadline,
                    tkl_cache_value **value);
/* Stores a value under these keys; NULL: there is none. `token`: the lease that must
 * be held; "": none. It is not stored when a tag was dropped since `generations` (NULL: not checked) were read. */
int tkl__cache_store(const tkl_cache *cache, tkl_bytes key, const tkl__keys *keys,
                     const char *token, const tkl_bytes *data, const tkl_reply *generations);

/* ---- tag.c ---- */

int tkl__cache_tag_keys(const tkl_client *client, tkl_bytes tag, tkl__keys *keys);
/* Reads the generations of all tags of the handle; NULL when it has none. */
int tkl__cache_generations(const tkl_cache *cache, int64_t deadline, tkl_reply **generations);
bool tkl__cache_same_generations(const tkl_reply *a, const tkl_reply *b);
/* Notes that the value of a key has the tags of the handle, for `px` milliseconds. */
int tkl__cache_tag(const tkl_cache *cache, tkl_bytes key, int64_t px, int64_t deadline);

#endif
