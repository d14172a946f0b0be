/* SPDX-License-Identifier: MIT
 *
 * Tags of cached values: the essay is in cache.c.
 */

#include "cache/cache.h"
#include "cache/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/token.h"

#define AT_ONCE       1000       /* values that are dropped in one round trip */
#define GENERATION_MS "86400000" /* longer than any computation */

int tkl__cache_tag_keys(const tkl_client *client, tkl_bytes tag, tkl__keys *keys)
{
    if (tag.len > TKL_CACHE_TAG_MAX)
        return tkl__fail(TKL_EINVAL, "the tag has %zu bytes, %d are allowed", tag.len,
                         TKL_CACHE_TAG_MAX);
    return tkl__keys_make(client, "cache-tag", tag, (const char *const[]){"", "generation"}, 2,
                          keys);
}

int tkl__cache_generations(const tkl_cache *cache, int64_t deadline, tkl_reply **generations)
{
    tkl__batch batch;
    *generations = NULL;
    if (cache->tag_count == 0)
        return TKL_OK;
    tkl__batch_init(&batch, cache->client);
    for (size_t i = 0; i < cache->tag_count; i++)
        TKL__BATCH_WORDS(&batch, tkl_str("GET"), cache->tags[i].items[1]);
    return tkl__batch_end(&batch, deadline, generations);
}

bool tkl__cache_same_generations(const tkl_reply *a, const tkl_reply *b)
{
    bool same = tkl_reply_count(a) == tkl_reply_count(b);
    for (size_t i = 0; same && i < tkl_reply_count(a); i++) {
        same = tkl__same_bytes(tkl_reply_bytes(tkl_reply_at(a, i)),
                               tkl_reply_bytes(tkl_reply_at(b, i)));
    }
    return same;
}

int tkl__cache_tag(const tkl_cache *cache, tkl_bytes key, int64_t px, int64_t deadline)
{
    tkl__batch batch;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, key);
    tkl__args_int(&args, px);
    tkl__batch_init(&batch, cache->client);
    for (size_t i = 0; i < cache->tag_count; i++)
        tkl__batch_eval(&batch, &tkl__lua_cache_tag, &(tkl__keys){cache->tags[i].items, 1}, &args,
                        true);
    int rc = tkl__batch_run(&batch, deadline);
    tkl__batch_free(&batch);
    tkl__args_free(&args);
    return rc;
}

/* ---- Dropping ------------------------------------------------------------ */

static int begin_generation(const tkl_cache *cache, const tkl__keys *tag)
{
    char generation[TKL_TOKEN_SIZE];
    tkl__batch batch;
    tkl__token_new(generation);
    tkl__batch_init(&batch, cache->client);
    TKL__BATCH_WORDS(&batch, tkl_str("SET"), tag->items[1], tkl_str(generation), tkl_str("PX"),
                     tkl_str(GENERATION_MS));
    int rc = tkl__batch_run(&batch, tkl__cache_deadline(cache));
    tkl__batch_free(&batch);
    return rc;
}

/* Drops the values of these keys, then removes the keys from the tag: a caller that is interrupted
 * in between does it again. */
static int drop_some(const tkl_cache *cache, const tkl__keys *tag, const tkl_reply *names,
                     int64_t *dropped)
{
    const tkl_reply *other;
    int64_t count = 0;
    tkl__batch batch;
    tkl__args none, words;
    int rc = TKL_OK;
    tkl__args_init(&none);
    tkl__args_init(&words);
    tkl__args_str(&words, "ZREM");
    tkl__args_bytes(&words, tag->items[0]);
    tkl__batch_init(&batch, cache->client);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(names); i++) {
        tkl__keys keys;
        tkl_bytes name = tkl_reply_bytes(tkl_reply_at(names, i));
        tkl__args_bytes(&words, name);
        if (name.len == 0 || name.len > TKL_NAME_MAX)
            continue; /* tackle has not put it there */
        rc = tkl__cache_keys(cache, name, &keys);
        if (rc != TKL_OK)
            break;
        tkl__batch_eval(&batch, &tkl__lua_cache_drop, &keys, &none, true);
        tkl__keys_free(&keys);
    }
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__cache_deadline(cache));
    if (rc == TKL_OK) {
        tkl__batch_sum(&batch, &count, &other);
        tkl__add(dropped, count);
        tkl__batch_clear(&batch);
        tkl__batch_plain(&batch, &words, true);
        rc = tkl__batch_run(&batch, tkl__cache_deadline(cache));
    }
    tkl__batch_free(&batch);
    tkl__args_free(&none);
    tkl__args_free(&words);
    return rc;
}

int tkl_cache_drop_tag(tkl_cache *cache, tkl_bytes tag, int64_t *dropped)
{
    tkl__keys keys;
    int64_t count = 0;
    size_t came = 0;
    if (dropped)
        *dropped = 0;
    int rc = tkl__cache_tag_keys(cache->client, tag, &keys);
    if (rc != TKL_OK)
        return rc;
    rc = begin_generation(cache, &keys);
    for (bool more = rc == TKL_OK; more; more = rc == TKL_OK && came == AT_ONCE) {
        tkl__batch batch;
        tkl_reply *replies = NULL;
        tkl__batch_init(&batch, cache->client);
        TKL__BATCH_WORDS(&batch, tkl_str("ZRANGE"), keys.items[0], tkl_str("0"), tkl_str("999"));
        rc = tkl__batch_end(&batch, tkl__cache_deadline(cache), &replies);
        came = rc == TKL_OK ? tkl_reply_count(tkl_reply_at(replies, 0)) : 0;
        if (came > 0)
            rc = drop_some(cache, &keys, tkl_reply_at(replies, 0), &count);
        tkl_reply_free(replies);
    }
    if (dropped)
        *dropped = count;
    if (cache->local)
        tkl__local_drop_all(cache->local);
    tkl__keys_free(&keys);
    return rc;
}
