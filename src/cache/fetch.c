/* SPDX-License-Identifier: MIT
 *
 * Get or compute.
 *
 * A caller that finds a fresh value returns it. A caller that finds an old one, or one that is soon
 * to be refreshed, tries to take the lease: the one that gets it computes, the others return what
 * they found. A caller that finds nothing waits until there is a value, or until it gets the lease.
 */
#include <stddef.h>
#include <stdlib.h>

#include "cache/cache.h"
#include "cache/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/keeper.h"
#include "core/letters.h"
#include "core/reply.h"
#include "core/token.h"
#include "core/waiting.h"

#define LEASE_TEXT    "950"  /* ms; a dead caller is replaced within a second */
#define RENEW_US      250000 /* between renewals */
#define RETRY_MS      1000   /* after a failure the old value is used for this long */
#define LOOK_SLACK_US 10000  /* waiters look this long after the end of a lease */

struct tkl_cache_result {
    char *data;
    size_t len;
    bool given;
};

typedef struct fetch {
    const tkl_cache *cache;
    tkl_bytes key;
    tkl__keys keys;
    char token[TKL_TOKEN_SIZE];
    tkl_cache_value *value; /* the value that was found; NULL: none */

    /* The renewal of the lease. */
    tkl__kept kept;
    tkl_bytes renew_args[2];
    int64_t due;
} fetch;

int tkl_cache_give(tkl_cache_result *result, tkl_bytes data)
{
    if (data.len > TKL_CACHE_VALUE_MAX)
        return tkl__fail(TKL_EINVAL, "the value has %zu bytes, %d are allowed", data.len,
                         TKL_CACHE_VALUE_MAX);
    char *copy = tkl__copy_bytes(data);
    if (!copy)
        return tkl__nomem();
    free(result->data);
    *result = (tkl_cache_result){copy, data.len, true};
    return TKL_OK;
}

/* ---- The lease ----------------------------------------------------------- */

/* TKL_OK: the lease is ours. TKL_EXISTS: f->value was found. TKL_BUSY: another caller has the lease
 * for *left_ms. `absent`: there must be no value. */
static int take_lease(fetch *f, bool absent, int64_t deadline, int64_t *left_ms)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    tkl__args_str(&args, f->token);
    tkl__args_str(&args, LEASE_TEXT);
    tkl__args_str(&args, absent ? "1" : "0");
    int rc =
        tkl__eval(f->cache->client, &tkl__lua_cache_begin, &f->keys, &args, deadline, true, &reply);
    tkl__args_free(&args);
    if (rc != TKL_OK)
        return rc;
    rc = (int)tkl_reply_int(tkl_reply_at(reply, 0));
    *left_ms = rc == TKL_BUSY ? tkl__reply_number(tkl_reply_at(reply, 1)) : 0;
    if (rc == TKL_EXISTS) {
        int failed = tkl__cache_value_read(tkl_reply_bytes(tkl_reply_at(reply, 1)),
                                           tkl__reply_number(tkl_reply_at(reply, 2)), &f->value);
        rc = failed != TKL_OK ? failed : rc;
    } else if (rc != TKL_OK && rc != TKL_BUSY) {
        rc = tkl__fail(TKL_EPROTO, "the server answered with a strange code");
    }
    tkl_reply_free(reply);
    return rc;
}

/* Gives the lease back without a value. If this fails, the lease ends by itself. `failed`: the
 * computation has failed, and waiters need not try; otherwise they try. */
static void give_back(fetch *f, bool failed)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    tkl__args_str(&args, f->token);
    tkl__args_int(&args, RETRY_MS);
    tkl__args_str(&args, failed ? "failed" : "ready");
    int rc = tkl__eval(f->cache->client, &tkl__lua_cache_fail, &f->keys, &args,
                       tkl__cache_deadline(f->cache), true, &reply);
    (void)rc;
    tkl_reply_free(reply);
    tkl__args_free(&args);
}

static fetch *fetch_of(tkl__kept *kept)
{
    return (fetch *)(void *)((char *)kept - offsetof(fetch, kept));
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    fetch *f = fetch_of(kept);
    *call = (tkl__invocation){.script = &tkl__lua_cache_renew,
                              .keys = f->keys.items,
                              .nkeys = f->keys.count,
                              .args = f->renew_args,
                              .nargs = 2,
                              .retry_safe = true};
    return true;
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    bool lost = rc == TKL_OK && tkl_reply_int(reply) == 0;
    fetch_of(kept)->due = lost ? TKL__FOREVER : tkl__now() + RENEW_US;
}

static int64_t keeper_due(tkl__kept *kept)
{
    return fetch_of(kept)->due;
}

static int64_t keeper_patience(tkl__kept *kept)
{
    (void)kept;
    return RENEW_US;
}

/* ---- Computing ----------------------------------------------------------- */

/* Computes, while the keeper renews the lease if there is one. */
static int compute_leased(fetch *f, bool leased, tkl_cache_compute *compute, void *arg,
                          tkl_cache_result *result)
{
    tkl_client *client = f->cache->client;
    f->renew_args[0] = tkl_str(f->token);
    f->renew_args[1] = tkl_str(LEASE_TEXT);
    f->due = tkl__now() + RENEW_US;
    f->kept = (tkl__kept){.prepare = keeper_prepare,
                          .done = keeper_done,
                          .due = keeper_due,
                          .patience = keeper_patience};
    int rc = leased ? tkl__keep(client, &f->kept, f->due) : TKL_OK;
    if (rc != TKL_OK)
        return rc;
    rc = compute(f->key, result, arg);
    if (leased)
        tkl__unkeep_wait(client, &f->kept);
    if (rc == TKL_OK && !result->given)
        rc = tkl__fail(TKL_EINVAL, "the function that computes gave no value");
    return rc;
}

/* Computes the value, stores it if the lease is ours, and returns it. */
static int compute_value(fetch *f, bool leased, tkl_cache_compute *compute, void *arg,
                         tkl_cache_value **value)
{
    tkl_cache_result result = {0};
    tkl_reply *generations = NULL;
    int rc = TKL_OK;
    if (leased)
        rc = tkl__cache_generations(f->cache, tkl__cache_deadline(f->cache), &generations);
    if (rc == TKL_OK)
        rc = compute_leased(f, leased, compute, arg, &result);
    if (rc == TKL_OK || rc == TKL_NOTFOUND) {
        tkl_bytes data = {result.data, result.len};
        const tkl_bytes *given = rc == TKL_OK ? &data : NULL;
        /* A value that cannot be stored is returned all the same. */
        if (leased &&
            tkl__cache_store(f->cache, f->key, &f->keys, f->token, given, generations) != TKL_OK)
            give_back(f, false);
        rc = tkl__cache_value_new(f->cache, given, value);
    } else if (leased) {
        tkl_error failure = {0};
        tkl__first_note(&failure, rc);
        give_back(f, true);
        rc = tkl__first_tell(&failure);
    }
    tkl_reply_free(generations);
    free(result.data);
    return rc;
}

/* ---- Waiting ------------------------------------------------------------- */

static int look_for_value(void *arg, tkl__wait *wait, const tkl__news *news)
{
    fetch *f = arg;
    int64_t left_ms;
    if (news->kind == TKL__NEWS_MESSAGE && tkl__same_bytes(news->message, tkl_str("failed")))
        return tkl__fail(TKL_DEAD, "the computation of another caller has failed");
    int rc = take_lease(f, true, tkl__wait_deadline(wait), &left_ms);
    if (rc != TKL_BUSY)
        return rc;
    int64_t at = tkl__now() + (left_ms > 0 ? left_ms * 1000 : 0) + LOOK_SLACK_US;
    if (wait->ears[0]->waiter.hub)
        tkl__look_at(&wait->ears[0]->waiter, at);
    return TKL__NOT_YET;
}

/* Waits for a value (TKL_EXISTS) or the lease (TKL_OK). */
static int await_turn(fetch *f, int64_t wait_ms)
{
    int64_t left_ms;
    int rc = take_lease(f, true, tkl__cache_deadline(f->cache), &left_ms);
    if (rc != TKL_BUSY)
        return rc;
    if (wait_ms == 0)
        return tkl__fail(TKL_BUSY, "another caller computes the value");
    tkl__ear ear = {.channel = f->keys.items[0]};
    tkl__wait wait = {.client = f->cache->client,
                      .timeout_ms = f->cache->timeout_ms,
                      .deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      .ears = TKL__EARS(&ear),
                      .count = 1};
    rc = tkl__wait_until(&wait, look_for_value, f);
    tkl__wait_end(&wait);
    return rc == TKL__NOT_YET ? tkl__fail(TKL_BUSY, "another caller computes the value") : rc;
}

/* ---- The whole ----------------------------------------------------------- */

/* The value is there. Computes it again when it is time to, unless another caller does. */
static int refresh_value(fetch *f, tkl_cache_compute *compute, void *arg, tkl_cache_value **value)
{
    int64_t left_ms, early = f->value->none ? 0 : f->cache->refresh_ms;
    if (f->value->fresh_ms > early)
        return TKL_BUSY;
    int rc = take_lease(f, false, tkl__cache_deadline(f->cache), &left_ms);
    return rc == TKL_OK ? compute_value(f, true, compute, arg, value) : TKL_BUSY;
}

int tkl_cache_fetch(tkl_cache *cache, tkl_bytes key, tkl_cache_compute *compute, void *arg,
                    int64_t wait_ms, tkl_cache_value **value)
{
    fetch f = {.cache = cache, .key = key};
    *value = NULL;
    if (tkl__cache_find(cache, key, cache->refresh_ms, value))
        return TKL_OK;
    int rc = tkl__cache_keys(cache, key, &f.keys);
    if (rc != TKL_OK)
        return rc;
    tkl__token_new(f.token);
    rc = tkl__cache_read(cache, key, &f.keys, tkl__cache_deadline(cache), &f.value);
    if (rc == TKL_OK && refresh_value(&f, compute, arg, value) != TKL_OK) {
        *value = f.value; /* others compute, or it failed */
        f.value = NULL;
    } else if (rc == TKL_NOTFOUND) {
        rc = await_turn(&f, wait_ms);
        if (rc == TKL_EXISTS) {
            *value = f.value;
            f.value = NULL;
            rc = TKL_OK;
        } else if (rc == TKL_OK || rc == TKL_EOOM) {
            rc = compute_value(&f, rc == TKL_OK, compute, arg, value);
        }
    }
    tkl_cache_value_free(f.value);
    tkl__keys_free(&f.keys);
    return rc;
}
