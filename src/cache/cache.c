/* SPDX-License-Identifier: MIT
 *
 * Cached values.
 *
 * Keys:
 *
 *     ns:cache:{key}                     string: the entry; also the name of the sharded channel
 *     ns:cache:{key}:lease               string: the token of the caller that computes the value;
 *                                        'failed' for a moment after a failure
 *     ns:cache-tag:{tag}                 sorted set: keys of the values with this tag, by expiry
 *     ns:cache-tag:{tag}:generation      string: random, new whenever the tag is dropped
 *
 * An entry is a header, "V<stale_ms>\n" or "N<stale_ms>\n" for "there is none", and the value. The
 * key expires when the value must not be used any more, even if it is stale. So the time that it
 * stays fresh is the time to live of the key without `stale_ms`: the server's clock decides, and a
 * hit costs a GET and a PTTL in one write, without a script.
 *
 * Computing (fetch.c). A caller that finds no value takes the lease, in one script that looks at
 * the value again. The lease is short and renewed by the keeper, so a caller that dies is replaced
 * soon. Only the holder of the lease can store; setting or dropping a value by hand removes the
 * lease, so what was computed from older data is not stored.
 *
 * Tags (tag.c). A tag is in another slot than its values, so both cannot change in one step.
 * Storing notes the key under its tags first, stores then, and at the end compares the generations
 * of the tags with those that were there before computing. Dropping a tag changes the generation
 * first, and removes what is noted then. Whichever comes first, one of the two sees the other.
 *
 * A local copy (local.c) is kept by the handles that want one. Client tracking reports every change
 * of an entry, by any client. Leases have the same prefix as entries, so a computation is reported
 * twice.
 *
 * Everything may be evicted at any time: a missing entry is computed again, a missing lease lets
 * two callers compute. A tag may keep names of values that have expired: later stores remove them,
 * and the tag expires with the last of its values. A tag that is evicted forgets its values.
 */
#include "cache/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/reply.h"
#include "pipeline/pipeline.h"

#define TTL_MS      INT64_C(600000)
#define HEADER_SIZE 24 /* a letter, up to 20 digits, a line feed */
#define PART        10 /* early refresh, and "there is none", take this part of the ttl */

/* ---- Handles ------------------------------------------------------------- */

static int check_options(const tkl_cache_options *options)
{
    const struct {
        const char *name;
        int64_t value, least;
    } numbers[] = {
        {"timeout_ms", options->timeout_ms, 0},
        {"ttl_ms", options->ttl_ms, 0},
        {"stale_ms", options->stale_ms, TKL_NONE},
        {"none_ttl_ms", options->none_ttl_ms, TKL_NONE},
        {"refresh_ms", options->refresh_ms, TKL_NONE},
        {"local_bytes", options->local_bytes, 0},
    };
    int rc = TKL__CHECK_RESERVED(options);
    for (size_t i = 0; rc == TKL_OK && i < sizeof numbers / sizeof *numbers; i++)
        rc = tkl__check_number(numbers[i].name, numbers[i].value, numbers[i].least, TKL__MS_MAX);
    if (rc == TKL_OK && options->tag_count > TKL_CACHE_TAGS_MAX)
        rc = tkl__fail(TKL_EINVAL, "%zu tags, %d are allowed", options->tag_count,
                       TKL_CACHE_TAGS_MAX);
    return rc;
}

static int add_tags(tkl_cache *cache, const tkl_cache_options *options)
{
    int rc = TKL_OK;
    cache->tags = options->tag_count > 0 ? calloc(options->tag_count, sizeof *cache->tags) : NULL;
    if (options->tag_count > 0 && !cache->tags)
        return tkl__nomem();
    while (rc == TKL_OK && cache->tag_count < options->tag_count) {
        rc = tkl__cache_tag_keys(cache->client, options->tags[cache->tag_count],
                                 &cache->tags[cache->tag_count]);
        cache->tag_count += rc == TKL_OK;
    }
    return rc;
}

/* Prepares the local copy: the prefix is what the keys of all values have in common. */
static int add_local(tkl_cache *cache, int64_t bytes)
{
    tkl__keys keys;
    int rc = bytes > 0 ? tkl__cache_keys(cache, tkl_str("x"), &keys) : TKL_OK;
    if (bytes == 0 || rc != TKL_OK)
        return rc;
    tkl_bytes name = keys.items[0];
    rc = tkl__local_open(cache->client, (tkl_bytes){name.data, name.len - 2}, bytes, &cache->local);
    tkl__keys_free(&keys);
    return rc;
}

int tkl_cache_open(tkl_client *client, const tkl_cache_options *options, tkl_cache **cache)
{
    static const tkl_cache_options defaults;
    *cache = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    int64_t ttl_ms = options->ttl_ms ? options->ttl_ms : TTL_MS;
    int64_t part_ms = ttl_ms >= PART ? ttl_ms / PART : 1;
    tkl_cache *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    *made = (tkl_cache){.client = client,
                        .timeout_ms = options->timeout_ms,
                        .ttl_ms = ttl_ms,
                        .stale_ms = tkl__or_default(options->stale_ms, ttl_ms),
                        .none_ttl_ms = tkl__or_default(options->none_ttl_ms, part_ms),
                        .refresh_ms = tkl__or_default(options->refresh_ms, part_ms)};
    if (made->refresh_ms > ttl_ms)
        rc = tkl__fail(TKL_EINVAL, "refresh_ms is longer than ttl_ms");
    if (rc == TKL_OK)
        rc = add_tags(made, options);
    if (rc == TKL_OK)
        rc = add_local(made, options->local_bytes);
    if (rc == TKL_OK)
        *cache = made;
    else
        tkl_cache_close(made);
    return rc;
}

void tkl_cache_close(tkl_cache *cache)
{
    if (!cache)
        return;
    tkl__local_close(cache->local);
    for (size_t i = 0; i < cache->tag_count; i++)
        tkl__keys_free(&cache->tags[i]);
    free(cache->tags);
    free(cache);
}

int64_t tkl__cache_deadline(const tkl_cache *cache)
{
    return tkl__deadline(cache->client, cache->timeout_ms);
}

int tkl__cache_keys(const tkl_cache *cache, tkl_bytes key, tkl__keys *keys)
{
    return tkl__keys_make(cache->client, "cache", key, (const char *const[]){"", "lease"}, 2, keys);
}

/* ---- Values -------------------------------------------------------------- */

/* The block that a value is part of. */
typedef struct block {
    tkl_cache_value value;
    tkl__shared *shared; /* has the bytes of a value from the local copy; NULL: they are here */
    char data[];
} block;

void tkl_cache_value_free(tkl_cache_value *value)
{
    if (value)
        tkl__shared_release(((block *)value)->shared);
    free(value);
}

static int make_value(tkl_bytes data, tkl_cache_value **value)
{
    block *made = calloc(1, sizeof *made + data.len + 1);
    if (!made)
        return tkl__nomem();
    if (data.len > 0)
        memcpy(made->data, data.data, data.len);
    made->value.data = (tkl_bytes){made->data, data.len};
    *value = &made->value;
    return TKL_OK;
}

/* Reads the header of an entry: its length, 0 if it is none. */
static size_t read_header(tkl_bytes entry, bool *none, int64_t *stale_ms)
{
    size_t at = 1;
    *stale_ms = 0;
    if (entry.len < 3 || (entry.data[0] != 'V' && entry.data[0] != 'N'))
        return 0;
    *none = entry.data[0] == 'N';
    for (; at < entry.len && at < HEADER_SIZE && entry.data[at] != '\n'; at++) {
        if (entry.data[at] < '0' || entry.data[at] > '9' || *stale_ms > TKL__MS_MAX)
            return 0;
        *stale_ms = *stale_ms * 10 + (entry.data[at] - '0');
    }
    return at < entry.len && entry.data[at] == '\n' && at > 1 ? at + 1 : 0;
}

int tkl__cache_value_read(tkl_bytes entry, int64_t left_ms, tkl_cache_value **value)
{
    bool none = false;
    int64_t stale_ms;
    size_t header = read_header(entry, &none, &stale_ms);
    if (header == 0)
        return tkl__fail(TKL_EDAMAGED, "the value was not written by tackle");
    int rc = make_value((tkl_bytes){entry.data + header, entry.len - header}, value);
    if (rc != TKL_OK)
        return rc;
    (*value)->none = none;
    (*value)->fresh_ms = left_ms - stale_ms;
    (*value)->stale = (*value)->fresh_ms <= 0;
    return TKL_OK;
}

int tkl__cache_value_new(const tkl_cache *cache, const tkl_bytes *data, tkl_cache_value **value)
{
    int rc = make_value(data ? *data : tkl_str(""), value);
    if (rc != TKL_OK)
        return rc;
    (*value)->none = !data;
    (*value)->computed = true;
    (*value)->fresh_ms = data ? cache->ttl_ms : cache->none_ttl_ms;
    return TKL_OK;
}

/* ---- Reading ------------------------------------------------------------- */

bool tkl__cache_find(const tkl_cache *cache, tkl_bytes key, int64_t early_ms,
                     tkl_cache_value **value)
{
    tkl__found found;
    if (!cache->local || !tkl__local_find(cache->local, key, early_ms, &found))
        return false;
    block *made = malloc(sizeof *made);
    if (!made) {
        tkl__shared_release(found.shared);
        return false;
    }
    made->shared = found.shared;
    made->value = (tkl_cache_value){.data = {found.shared->data, found.shared->len},
                                    .none = found.shared->none,
                                    .fresh_ms = found.fresh_us / 1000 + 1};
    *value = &made->value;
    tkl__begin();
    return true;
}

/* Forgets the local copy of these keys, after a change on the server. */
static void forget_copy(const tkl_cache *cache, const tkl__keys *keys)
{
    if (cache->local)
        tkl__local_drop(cache->local, keys->items[0]);
}

/* Makes a value of the reply of cache/get. */
static int read_entry(const tkl_reply *reply, tkl_cache_value **value)
{
    const tkl_reply *entry = tkl_reply_at(reply, 0);
    if (tkl_reply_is_nil(entry))
        return tkl__no(TKL_NOTFOUND);
    return tkl__cache_value_read(tkl_reply_bytes(entry), tkl__reply_number(tkl_reply_at(reply, 1)),
                                 value);
}

static tkl__invocation call_get(const tkl__keys *keys)
{
    return (tkl__invocation){.script = &tkl__lua_cache_get,
                             .keys = keys->items,
                             .nkeys = keys->count,
                             .retry_safe = true};
}

/* Reads the value and keeps a copy, unless a node answered that is about to get the slot: then it
 * is not known which node's messages name the key. */
static int read_and_keep(const tkl_cache *cache, tkl_bytes key, const tkl__keys *keys,
                         int64_t deadline, tkl_cache_value **value)
{
    bool imported = false;
    tkl_reply *reply = NULL;
    tkl__moment moment = tkl__local_note(cache->local, keys->items[0]);
    tkl__invocation call = call_get(keys);
    call.imported = &imported;
    int rc = tkl__run(cache->client, &call, deadline, &reply);
    if (rc == TKL_OK)
        rc = read_entry(reply, value);
    tkl_reply_free(reply);
    tkl__shared *shared =
        rc == TKL_OK && !imported ? tkl__shared_new((*value)->data, (*value)->none) : NULL;
    if (shared)
        tkl__local_store(cache->local, &moment, key, keys->items[0], shared, (*value)->fresh_ms);
    else
        forget_copy(cache, keys);
    tkl__shared_release(shared);
    return rc;
}

int tkl__cache_read(const tkl_cache *cache, tkl_bytes key, const tkl__keys *keys, int64_t deadline,
                    tkl_cache_value **value)
{
    tkl__batch batch;
    if (cache->local)
        return read_and_keep(cache, key, keys, deadline, value);
    tkl__batch_init(&batch, cache->client);
    TKL__BATCH_WORDS(&batch, tkl_str("GET"), keys->items[0]);
    TKL__BATCH_WORDS(&batch, tkl_str("PTTL"), keys->items[0]);
    int rc = tkl__batch_run(&batch, deadline);
    const tkl_reply *entry = tkl__batch_reply(&batch, 0), *left = tkl__batch_reply(&batch, 1);
    /* The entry may have expired between the two commands. */
    if (rc == TKL_OK && (tkl_reply_is_nil(entry) || tkl_reply_int(left) == -2))
        rc = tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK)
        rc = tkl__cache_value_read(tkl_reply_bytes(entry), tkl__reply_number(left), value);
    tkl__batch_free(&batch);
    return rc;
}

int tkl_cache_get(tkl_cache *cache, tkl_bytes key, tkl_cache_value **value)
{
    tkl__keys keys;
    *value = NULL;
    if (tkl__cache_find(cache, key, 0, value))
        return TKL_OK;
    int rc = tkl__cache_keys(cache, key, &keys);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__cache_read(cache, key, &keys, tkl__cache_deadline(cache), value);
    tkl__keys_free(&keys);
    return rc;
}

/* ---- Storing ------------------------------------------------------------- */

/* How long a value is kept, stale or not; NULL: there is none. */
static int64_t keep_ms(const tkl_cache *cache, const tkl_bytes *data)
{
    return data ? cache->ttl_ms + cache->stale_ms : cache->none_ttl_ms;
}

/* The arguments of cache/store. */
static void write_store(tkl__args *args, const tkl_cache *cache, const char *token,
                        const tkl_bytes *data)
{
    size_t len = data ? data->len : 0;
    tkl__args_init(args);
    tkl__args_str(args, token);
    char *entry = tkl__args_room(args, HEADER_SIZE + len);
    if (entry) {
        int header = snprintf(entry, HEADER_SIZE, "%c%" PRId64 "\n", data ? 'V' : 'N',
                              data ? cache->stale_ms : 0);
        if (len > 0)
            memcpy(entry + header, data->data, len);
        args->items[args->count - 1].len = (size_t)header + len;
    }
    tkl__args_int(args, keep_ms(cache, data));
}

static int run_store(const tkl_cache *cache, const tkl__keys *keys, const char *token,
                     const tkl_bytes *data, int64_t deadline)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    write_store(&args, cache, token, data);
    int rc = tkl__eval(cache->client, &tkl__lua_cache_store, keys, &args, deadline, true, &reply);
    forget_copy(cache, keys);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return rc;
}

static int drop_entry(const tkl_cache *cache, const tkl__keys *keys, int64_t deadline,
                      int64_t *dropped)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    int rc = tkl__eval(cache->client, &tkl__lua_cache_drop, keys, &args, deadline, true, &reply);
    *dropped = tkl__reply_number(reply);
    forget_copy(cache, keys);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return rc;
}

int tkl__cache_store(const tkl_cache *cache, tkl_bytes key, const tkl__keys *keys,
                     const char *token, const tkl_bytes *data, const tkl_reply *generations)
{
    int64_t deadline = tkl__cache_deadline(cache), dropped;
    int64_t px = keep_ms(cache, data);
    int rc = TKL_OK;
    if (cache->tag_count > 0 && px > 0)
        rc = tkl__cache_tag(cache, key, px, deadline);
    if (rc == TKL_OK)
        rc = run_store(cache, keys, token, data, deadline);
    if (rc != TKL_OK || !generations)
        return rc;
    tkl_reply *now = NULL;
    rc = tkl__cache_generations(cache, deadline, &now);
    if (rc != TKL_OK || !tkl__cache_same_generations(generations, now)) {
        int failed = drop_entry(cache, keys, deadline, &dropped);
        rc = rc != TKL_OK ? rc : failed;
    }
    tkl_reply_free(now);
    return rc;
}

static int check_data(const tkl_bytes *data)
{
    if (!data || data->len <= TKL_CACHE_VALUE_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the value has %zu bytes, %d are allowed", data->len,
                     TKL_CACHE_VALUE_MAX);
}

int tkl_cache_set(tkl_cache *cache, tkl_bytes key, const tkl_bytes *data)
{
    tkl__keys keys;
    int rc = check_data(data);
    if (rc == TKL_OK)
        rc = tkl__cache_keys(cache, key, &keys);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__cache_store(cache, key, &keys, "", data, NULL);
    tkl__keys_free(&keys);
    return rc;
}

int tkl_cache_drop(tkl_cache *cache, tkl_bytes key)
{
    tkl__keys keys;
    int64_t dropped = 0;
    int rc = tkl__cache_keys(cache, key, &keys);
    if (rc != TKL_OK)
        return rc;
    rc = drop_entry(cache, &keys, tkl__cache_deadline(cache), &dropped);
    tkl__keys_free(&keys);
    return rc == TKL_OK && dropped == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

/* ---- In a pipeline ------------------------------------------------------- */

static int finish_get(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    return code == TKL_OK ? read_entry(reply, operation->output) : code;
}

int tkl_cache_get_in(tkl_pipeline *pipeline, tkl_cache *cache, tkl_bytes key,
                     tkl_cache_value **value, tkl_result *result)
{
    tkl__keys keys;
    *value = NULL;
    int rc = tkl__cache_keys(cache, key, &keys);
    if (rc != TKL_OK)
        return tkl__result_set(result, rc);
    tkl__invocation call = call_get(&keys);
    rc = tkl__pipeline_operation(pipeline, cache->client, &call,
                                 &(tkl__operation){finish_get, cache, NULL, value, result});
    tkl__keys_free(&keys);
    return rc;
}

/* The operation's `own`: the keys. */
static int finish_set(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    tkl__keys *keys = operation->own;
    (void)reply;
    forget_copy(operation->handle, keys);
    tkl__keys_free(keys);
    return code;
}

int tkl_cache_set_in(tkl_pipeline *pipeline, tkl_cache *cache, tkl_bytes key, const tkl_bytes *data,
                     tkl_result *result)
{
    tkl__args args;
    tkl__keys keys, *own = NULL;
    int rc = check_data(data);
    if (rc == TKL_OK && cache->tag_count > 0)
        rc = tkl__fail(TKL_EINVAL, "a value with tags is stored in several steps: not in one of a "
                                   "pipeline");
    if (rc == TKL_OK && !(own = malloc(sizeof *own)))
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__cache_keys(cache, key, &keys);
    if (rc != TKL_OK) {
        free(own);
        return tkl__result_set(result, rc);
    }
    *own = keys;
    write_store(&args, cache, "", data);
    rc = tkl__pipeline_eval(pipeline, cache->client, &tkl__lua_cache_store, &keys, &args, true,
                            &(tkl__operation){finish_set, cache, own, NULL, result});
    tkl__args_free(&args);
    if (rc != TKL_OK)
        tkl__keys_free(&keys);
    return rc;
}

/* ---- For operators ------------------------------------------------------- */

void tkl_cache_info_free(tkl_cache_info *info)
{
    free(info);
}

/* Makes the result of a reply of cache/show. */
static int read_info(const tkl_reply *reply, tkl_cache_info **info)
{
    tkl_bytes head = tkl_reply_bytes(tkl_reply_at(reply, 0));
    tkl_bytes lease = tkl_reply_bytes(tkl_reply_at(reply, 3));
    int64_t stale_ms, left = tkl__reply_number(tkl_reply_at(reply, 2));
    bool none = false, failed = tkl__same_bytes(lease, tkl_str("failed"));
    size_t header = read_header(head, &none, &stale_ms);
    if (head.len == 0)
        return tkl__no(TKL_NOTFOUND);
    if (header == 0)
        return tkl__fail(TKL_EDAMAGED, "the value was not written by tackle");
    *info = malloc(sizeof **info);
    if (!*info)
        return tkl__nomem();
    **info = (tkl_cache_info){
        .bytes = tkl__reply_number(tkl_reply_at(reply, 1)) - (int64_t)header,
        .fresh_ms = left - stale_ms,
        .expires_ms = left > 0 ? left : 0,
        .none = none,
        .computing = lease.len > 0 && !failed,
        .failed = failed,
    };
    return TKL_OK;
}

int tkl_cache_show(tkl_cache *cache, tkl_bytes key, tkl_cache_info **info)
{
    tkl__keys keys;
    tkl__args args;
    tkl_reply *reply = NULL;
    *info = NULL;
    int rc = tkl__cache_keys(cache, key, &keys);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_int(&args, HEADER_SIZE);
    rc = tkl__eval(cache->client, &tkl__lua_cache_show, &keys, &args, tkl__cache_deadline(cache),
                   true, &reply);
    if (rc == TKL_OK)
        rc = read_info(reply, info);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    tkl__keys_free(&keys);
    return rc;
}

int tkl_cache_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "cache", "", "string", names);
}

int tkl_cache_local_stats_get(tkl_cache *cache, tkl_cache_local_stats *stats)
{
    *stats = (tkl_cache_local_stats){.hits = 0};
    if (!cache->local)
        return tkl__fail(TKL_EINVAL, "the cache has no local copy");
    tkl__local_stats(cache->local, stats);
    return TKL_OK;
}
