/* SPDX-License-Identifier: MIT
 *
 * A table of slots. The hash of an address selects its slot; a new address replaces the old one
 * there.
 */
#include "ip/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/client.h"
#include "core/clock.h"
#include "core/error.h"

typedef struct slot {
    int64_t until;  /* 0: empty */
    uint64_t epoch; /* epoch of the cache when the slot was filled */
    unsigned char address[TKL__IP_SIZE];
    tkl__ip_hit hit; /* owns its fields */
} slot;

struct tkl__ip_cache {
    pthread_mutex_t mutex;
    unsigned process; /* process that owns the cache, by tkl__fork_generation() */
    int64_t keep_us;
    uint64_t epoch; /* slots of another epoch are ignored */
    size_t mask;
    slot slots[];
};

int tkl__ip_cache_new(int64_t size, int64_t keep_ms, tkl__ip_cache **cache)
{
    size_t slots = 1;
    while (slots < (size_t)size)
        slots *= 2;
    *cache = calloc(1, sizeof **cache + slots * sizeof(slot));
    if (!*cache)
        return tkl__nomem();
    pthread_mutex_init(&(*cache)->mutex, NULL);
    (*cache)->process = tkl__fork_generation();
    (*cache)->keep_us = keep_ms * 1000;
    (*cache)->mask = slots - 1;
    return TKL_OK;
}

static void empty(slot *s)
{
    free((char *)s->hit.fields.data);
    *s = (slot){0};
}

void tkl__ip_cache_free(tkl__ip_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i <= cache->mask; i++)
        empty(&cache->slots[i]);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* In a forked child the parent's threads may have left the mutex locked and a slot half written:
 * the child abandons all slots without freeing them. */
static void lock_cache(tkl__ip_cache *cache)
{
    if (cache->process != tkl__fork_generation()) {
        pthread_mutex_init(&cache->mutex, NULL);
        memset(cache->slots, 0, (cache->mask + 1) * sizeof *cache->slots);
        cache->process = tkl__fork_generation();
    }
    pthread_mutex_lock(&cache->mutex);
}

void tkl__ip_cache_clear(tkl__ip_cache *cache)
{
    if (!cache)
        return;
    lock_cache(cache);
    cache->epoch++;
    pthread_mutex_unlock(&cache->mutex);
}

static slot *slot_of(tkl__ip_cache *cache, const unsigned char address[TKL__IP_SIZE])
{
    return &cache->slots[XXH3_64bits(address, TKL__IP_SIZE) & cache->mask];
}

bool tkl__ip_cache_get(tkl__ip_cache *cache, const unsigned char address[TKL__IP_SIZE],
                       tkl__ip_hit *hit, tkl__buf *text)
{
    if (!cache)
        return false;
    lock_cache(cache);
    const slot *s = slot_of(cache, address);
    bool found = s->until > tkl__now() && s->epoch == cache->epoch &&
                 memcmp(s->address, address, TKL__IP_SIZE) == 0;
    if (found) {
        *hit = s->hit;
        tkl__buf_add(text, s->hit.fields.data, s->hit.fields.len);
        hit->fields.data = NULL;
    }
    pthread_mutex_unlock(&cache->mutex);
    return found;
}

void tkl__ip_cache_put(tkl__ip_cache *cache, const unsigned char address[TKL__IP_SIZE],
                       const tkl__ip_hit *hit)
{
    char *fields = cache ? tkl__copy_bytes(hit->fields) : NULL;
    if (!fields)
        return;
    lock_cache(cache);
    slot *s = slot_of(cache, address);
    empty(s);
    s->until = tkl__now() + cache->keep_us;
    s->epoch = cache->epoch;
    memcpy(s->address, address, TKL__IP_SIZE);
    s->hit = *hit;
    s->hit.fields.data = fields;
    pthread_mutex_unlock(&cache->mutex);
}
