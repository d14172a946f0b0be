/* SPDX-License-Identifier: MIT
 *
 * Answers that a handle keeps for a while. Any thread may use the cache; a forked child starts with
 * an empty one.
 */
#ifndef TKL_IP_CACHE_H
#define TKL_IP_CACHE_H

#include "core/buf.h"
#include "ip/address.h"

typedef struct tkl__ip_cache tkl__ip_cache;

/* The result of a lookup. */
typedef struct tkl__ip_hit {
    bool known;
    tkl__ip_span span; /* valid if known */
    tkl_bytes fields;  /* packed fields of the place; valid if known */
} tkl__ip_hit;

int tkl__ip_cache_new(int64_t size, int64_t keep_ms, tkl__ip_cache **cache);
void tkl__ip_cache_free(tkl__ip_cache *cache); /* NULL is fine, here and below */
void tkl__ip_cache_clear(tkl__ip_cache *cache);

/* False: the address is not cached. The fields are appended to `text`; hit->fields.data is not
 * set. */
bool tkl__ip_cache_get(tkl__ip_cache *cache, const unsigned char address[TKL__IP_SIZE],
                       tkl__ip_hit *hit, tkl__buf *text);
/* Stores a hit. Replaces the address in that slot, if any. */
void tkl__ip_cache_put(tkl__ip_cache *cache, const unsigned char address[TKL__IP_SIZE],
                       const tkl__ip_hit *hit);

#endif
