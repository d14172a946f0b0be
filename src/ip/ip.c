/* SPDX-License-Identifier: MIT
 *
 * Addresses to places.
 *
 * Keys. `G` is a generation, 32 random hex digits.
 *
 *     ns:ip:{table}            hash: generation (the current one), ranges, places, imported
 *     ns:ip:{table}:ranges:G   sorted set of chunks, all of score 0
 *
 * A chunk (chunk.h) is a member with up to 16 ranges that follow each other, and their places. It
 * begins with the first address. Only the last chunk that does not begin behind an address may have
 * it, and the server finds that chunk by ZREVRANGEBYLEX: members of one score are in the order of
 * their bytes. The client looks into the chunk. So a look-up is a plain command, without a script,
 * that returns address and place at once; and 16 ranges share the fixed costs of a member.
 *
 * Generations. An import sends a new generation under a name that nobody uses, with an expiry that
 * it renews: the data of a killed import expires. One script then checks that the whole generation
 * is there, removes its expiry, names it in the table and unlinks the one before (the server frees
 * it in the background). A look-up reads chunks of the generation that its handle knows, and behind
 * them, in the same round trip, which generation is the current one. If it is the same generation,
 * all chunks were there when they were read. If not, the client asks once more.
 *
 * Files: address.c texts of addresses; place.c stored form of places; intern.c strings, each once;
 * chunk.c stored form of ranges; lookup.c and cache.c; csv.c rows of files; import.c collecting and
 * checking rows; send.c sending chunks, and the switch.
 */
#include "ip/ip.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "core/rounds.h"
#include "core/script.h"
#include "ip/cache.h"
#include "ip/scripts.h"

#define CACHE_MAX (INT64_C(1) << 24)
#define CACHE_MS  10000

/* ---- Handles ------------------------------------------------------------- */

static int check_options(const tkl_ip_options *options)
{
    return TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX},
                              {"cache_size", options->cache_size, 0, CACHE_MAX},
                              {"cache_ms", options->cache_ms, 0, TKL__MS_MAX});
}

static int fill_ip(tkl_ip *ip, tkl_bytes name, const tkl_ip_options *options)
{
    int rc = tkl__name_keep(ip->client, "ip", name, &ip->name);
    if (rc != TKL_OK)
        return rc;
    ip->timeout_ms = options->timeout_ms;
    int64_t cache_ms = options->cache_ms ? options->cache_ms : CACHE_MS;
    return options->cache_size ? tkl__ip_cache_new(options->cache_size, cache_ms, &ip->cache)
                               : TKL_OK;
}

int tkl_ip_open(tkl_client *client, tkl_bytes name, const tkl_ip_options *options, tkl_ip **ip)
{
    static const tkl_ip_options defaults;
    *ip = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_ip *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->client = client;
    rc = fill_ip(made, name, options);
    if (rc == TKL_OK)
        *ip = made;
    else
        tkl_ip_close(made);
    return rc;
}

void tkl_ip_close(tkl_ip *ip)
{
    if (!ip)
        return;
    tkl__ip_cache_free(ip->cache);
    free((char *)ip->name.data);
    free(ip);
}

/* ---- Generations --------------------------------------------------------- */

void tkl__ip_generation(tkl_ip *ip, char generation[TKL__IP_GENERATION_SIZE])
{
    tkl__client_lock(ip->client);
    memcpy(generation, ip->generation, TKL__IP_GENERATION_SIZE);
    tkl__client_unlock(ip->client);
}

static bool is_generation(tkl_bytes text)
{
    if (text.len != 0 && text.len != TKL__IP_GENERATION_SIZE - 1)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!memchr("0123456789abcdef", text.data[i], 16))
            return false;
    return true;
}

int tkl__ip_learn(tkl_ip *ip, tkl_bytes generation)
{
    if (!is_generation(generation))
        return tkl__fail(TKL_EDAMAGED, "the table's generation is not one");
    tkl__client_lock(ip->client);
    memset(ip->generation, 0, sizeof ip->generation);
    if (generation.len > 0)
        memcpy(ip->generation, generation.data, generation.len);
    tkl__client_unlock(ip->client);
    tkl__ip_cache_clear(ip->cache);
    return TKL_OK;
}

int tkl__ip_keys(const tkl_ip *ip, const char *const *generations, size_t count, tkl__keys *keys)
{
    enum { GENERATIONS_MAX = 2, PART_SIZE = 48 };
    char texts[GENERATIONS_MAX][PART_SIZE];
    const char *parts[1 + GENERATIONS_MAX] = {""};
    for (size_t i = 0; i < count; i++) {
        stpcpy(stpcpy(texts[i], "ranges:"), generations[i]);
        parts[1 + i] = texts[i];
    }
    return tkl__keys_make(ip->client, "ip", ip->name, parts, 1 + count, keys);
}

/* ---- Tables -------------------------------------------------------------- */

static int hmget(tkl_ip *ip, tkl_reply **reply)
{
    tkl__keys keys;
    tkl_call_options safe = {.timeout_ms = ip->timeout_ms, .retry_safe = true};
    int rc = tkl__ip_keys(ip, NULL, 0, &keys);
    if (rc != TKL_OK)
        return rc;
    const char *argv[] = {"HMGET",  keys.items[0].data, "generation",
                          "ranges", "places",           "imported"};
    const size_t lens[] = {5, keys.items[0].len, 10, 6, 6, 8};
    rc = tkl_call(ip->client, 6, argv, lens, &safe, reply);
    tkl__keys_free(&keys);
    return rc;
}

int tkl_ip_stats_get(tkl_ip *ip, tkl_ip_stats *stats)
{
    tkl_reply *reply = NULL;
    *stats = (tkl_ip_stats){0};
    int rc = hmget(ip, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(tkl_reply_at(reply, 0)))
        rc = tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK) {
        stats->ranges = (uint64_t)tkl_reply_int(tkl_reply_at(reply, 1));
        stats->places = (uint64_t)tkl_reply_int(tkl_reply_at(reply, 2));
        stats->imported_ms = tkl_reply_int(tkl_reply_at(reply, 3));
    }
    tkl_reply_free(reply);
    return rc;
}

/* Drops the table. *again: the generation was another one, which is known now. */
static int drop_once(tkl_ip *ip, int64_t deadline, bool *again)
{
    char generation[TKL__IP_GENERATION_SIZE];
    const char *generations[] = {generation};
    tkl__keys keys;
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__ip_generation(ip, generation);
    int rc = tkl__ip_keys(ip, generations, 1, &keys);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, generation);
    rc = tkl__eval(ip->client, &tkl__lua_ip_drop, &keys, &args, deadline, false, &reply);
    *again = rc == TKL_OK && tkl_reply_type_of(reply) == TKL_REPLY_STRING;
    if (*again)
        rc = tkl__ip_learn(ip, tkl_reply_bytes(reply));
    if (*again && rc == TKL_OK && tkl_reply_bytes(reply).len == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    tkl__keys_free(&keys);
    return rc;
}

int tkl_ip_drop(tkl_ip *ip)
{
    int64_t deadline = tkl__deadline(ip->client, ip->timeout_ms);
    bool again = true;
    tkl__rounds rounds = {.idle = 0};
    int rc = drop_once(ip, deadline, &again);
    while (rc == TKL_OK && again) {
        rc = tkl__next_round(&rounds, ip->client, ip->timeout_ms, false);
        if (rc == TKL_OK)
            rc = drop_once(ip, deadline, &again);
    }
    if (rc == TKL_OK)
        rc = tkl__ip_learn(ip, (tkl_bytes){0});
    return rc;
}

int tkl_ip_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "ip", "", "hash", names);
}
