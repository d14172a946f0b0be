/* SPDX-License-Identifier: MIT
 *
 * Cached values: a hit against a bare GET, storing against a bare SET, and a computation against a
 * typical one that is written by hand: SET NX, compute, SET, DEL.
 */
#include <string.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

static char page[1024];

static void store_page(const bench_run *run)
{
    redisContext *c = bare_connect(run->socket);
    memset(page, 'x', sizeof page - 1);
    const char *argv[] = {"SET", "bench:page", page};
    bare_call(c, 3, argv);
    redisFree(c);
}

static void bare_get(bench_worker *w)
{
    const char *argv[] = {"GET", "bench:page"};
    bare_call(w->own, 2, argv);
}

static void bare_set(bench_worker *w)
{
    const char *argv[] = {"SET", "bench:page", page, "PX", "600000"};
    bare_call(w->own, 5, argv);
}

/* Computes a missing value once, as programs usually do it by hand. It deletes the lock of another
 * caller when computing takes longer than the lock lives. */
static void bare_miss(bench_worker *w)
{
    bare_call(w->own, 2, (const char *[]){"DEL", "bench:page"});
    bare_call(w->own, 2, (const char *[]){"GET", "bench:page"});
    bare_call(w->own, 6, (const char *[]){"SET", "bench:page:lock", "1", "NX", "PX", "10000"});
    bare_set(w);
    bare_call(w->own, 2, (const char *[]){"DEL", "bench:page:lock"});
}

static tkl_cache *cache;

static void cache_setup(bench_run *run, const bench_contender *self)
{
    tkl_bytes data = tkl_str(page);
    run->shared = ours_client(run, self);
    check(tkl_cache_open(run->shared, NULL, &cache));
    check(tkl_cache_set(cache, tkl_str("page"), &data));
}

static void cache_teardown(bench_run *run)
{
    tkl_cache_close(cache);
    tkl_close(run->shared);
}

static int compute(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    (void)key;
    (void)arg;
    return tkl_cache_give(result, tkl_str(page));
}

static void ours_hit(bench_worker *w)
{
    tkl_cache_value *value;
    (void)w;
    check(tkl_cache_fetch(cache, tkl_str("page"), compute, NULL, -1, &value));
    tkl_cache_value_free(value);
}

static void ours_set(bench_worker *w)
{
    tkl_bytes data = tkl_str(page);
    (void)w;
    check(tkl_cache_set(cache, tkl_str("page"), &data));
}

static void ours_miss(bench_worker *w)
{
    check(tkl_cache_drop(cache, tkl_str("page")));
    ours_hit(w);
}

static void local_setup(bench_run *run, const bench_contender *self)
{
    tkl_bytes data = tkl_str(page);
    tkl_cache_options options = {.local_bytes = 1 << 20};
    tkl_cache_local_stats stats = {.hits = 0};
    run->shared = ours_client(run, self);
    check(tkl_cache_open(run->shared, &options, &cache));
    check(tkl_cache_set(cache, tkl_str("page"), &data));
    while (stats.hits == 0) {
        tkl_cache_value *value;
        check(tkl_cache_get(cache, tkl_str("page"), &value));
        tkl_cache_value_free(value);
        check(tkl_cache_local_stats_get(cache, &stats));
    }
}

#define HITS 1000

static void local_hits(bench_worker *w)
{
    for (int i = 0; i < HITS; i++)
        ours_hit(w);
}

#define OURS(function) .setup = cache_setup, .step = function, .teardown = cache_teardown
#define LOCAL          .setup = local_setup, .step = local_hits, .batch = HITS, .teardown = cache_teardown

static const bench_case cases[] = {
    {.name = "Cache hit of 1 KB",
     .unit = "ops/s",
     .prepare = store_page,
     .contenders = {{.name = "hiredis, GET", BARE(bare_get)},
                    {.name = "tackle", OURS(ours_hit)},
                    {.name = "tackle, local copy", LOCAL},
                    {.name = "dogpile.cache",
                     .role = BENCH_PEER,
                     .command =
                         "/usr/bin/python3 " TACKLE_SOURCE_DIR "/bench/peers/dogpile-cache.py"}}},
    {.name = "Cache drop, miss and computation",
     .unit = "ops/s",
     .prepare = store_page,
     .contenders = {{.name = "hiredis, DEL GET SETNX SET DEL", BARE(bare_miss)},
                    {.name = "tackle", OURS(ours_miss)}}},
    {.name = "Cache set of 1 KB",
     .unit = "ops/s",
     .prepare = store_page,
     .contenders = {{.name = "hiredis, SET PX", BARE(bare_set)},
                    {.name = "tackle", OURS(ours_set)}}},
    {.name = NULL},
};

const bench_component cache_bench = {"cache", cases};
