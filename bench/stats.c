/* SPDX-License-Identifier: MIT
 *
 * Values recorded, against a bare script that does the same writes: the fields of a hash, a
 * ranking, a total. With 16 threads the server is the limit: there the bare connections run the
 * same script as tackle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "core/script.h"
#include "ours.h"

enum { BATCH = 100 };

extern const tkl__script tkl__lua_stats_record;

/* ---- Bare hiredis -------------------------------------------------------- */

static const char least[] =
    "redis.call('HINCRBY', KEYS[1], 'count', 1) "
    "redis.call('HINCRBYFLOAT', KEYS[1], 'sum', ARGV[1]) "
    "redis.call('HINCRBYFLOAT', KEYS[1], 'sumsq', ARGV[1] * ARGV[1]) "
    "redis.call('HINCRBY', KEYS[1], ARGV[2], 1) "
    "local h = redis.call('HMGET', KEYS[1], 'min', 'max') "
    "redis.call('HSET', KEYS[1], 'min', math.min(h[1] or ARGV[1], ARGV[1]), 'max', "
    "math.max(h[2] or ARGV[1], ARGV[1])) "
    "redis.call('HINCRBY', KEYS[2], 'count', 1) "
    "redis.call('HINCRBYFLOAT', KEYS[2], 'sum', ARGV[1]) "
    "redis.call('ZADD', KEYS[3], ARGV[1], 'bench') return 1";

static char sha1[BARE_SHA1_SIZE];

static void load_script(const bench_run *run)
{
    redisContext *c = bare_connect(run->socket);
    bare_load(run, least, sha1);
    bare_load_library(c, tkl__lua_stats_record.library->source);
    redisFree(c);
}

#define WORDS 8
#define WORDS_OF_A_RECORD                                              \
    (const char *[])                                                   \
    {                                                                  \
        "EVALSHA", sha1, "3", "this", "total", "rank", "0.125", "1291" \
    }

static void bare_record(bench_worker *w)
{
    bare_call(w->own, WORDS, WORDS_OF_A_RECORD);
}

static void bare_batch(bench_worker *w)
{
    bare_pipeline(w->own, BATCH, WORDS, WORDS_OF_A_RECORD);
}

static void bare_same(bench_worker *w)
{
    const char *argv[] = {"FCALL",
                          tkl__lua_stats_record.function,
                          "5",
                          "tackle:stats:{time}:this:bench",
                          "tackle:stats:{time}:last:bench",
                          "tackle:stats:{time}:total",
                          "tackle:stats:{time}:rank",
                          "tackle:stats:{time}:rank_last",
                          "bench",
                          "1000",
                          "1",
                          "0.125",
                          "0",
                          "0.125",
                          "0.125",
                          "0.125",
                          "0.015625",
                          "1291",
                          "1"};
    bare_call(w->own, sizeof argv / sizeof *argv, argv);
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_stats *stats;
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_stats_open(s->client, tkl_str("time"), NULL, &s->stats));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_stats_close(s->stats);
    tkl_close(s->client);
    free(s);
}

static const tkl_stats_value value = {.context = TKL_LIT("bench"), .value = 0.125};

static void record_one(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_stats_record(s->stats, &value, 1));
}

static void record_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_stats_value values[BATCH];
    for (int i = 0; i < BATCH; i++) {
        values[i] = value;
        values[i].value = 0.1 + i * 0.01;
    }
    check(tkl_stats_record(s->stats, values, BATCH));
}

/* Records values that each have a context of their own: a script for each. */
static void record_apart(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_stats_value values[BATCH];
    char names[BATCH][8];
    for (int i = 0; i < BATCH; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        values[i] = value;
        values[i].context = tkl_str(names[i]);
    }
    check(tkl_stats_record(s->stats, values, BATCH));
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "stats record, 1 thread",
     .unit = "values/s",
     .at_least = 0.8,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, EVALSHA of 9 writes", BARE(bare_record)},
                    {.name = "tackle", OURS(record_one)}}},
    {.name = "stats record, 16 threads",
     .unit = "values/s",
     .at_least = 0.95,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, 16 connections", .workers = 16, BARE(bare_same)},
                    {.name = "tackle, one client", .workers = 16, OURS(record_one)}}},
    {.name = "stats record, 100 at a time",
     .unit = "values/s",
     .at_least = 0.8,
     .enough = 60000,
     .prepare = load_script,
     .contenders =
         {{.name = "hiredis, pipelines", .batch = BATCH, BARE(bare_batch)},
          {.name = "tackle, one context", .batch = BATCH, OURS(record_batch)},
          {.name = "tackle, 100 contexts", .batch = BATCH, .at_least = 0.6, OURS(record_apart)}}},
    {.name = NULL},
};

const bench_component stats_bench = {"stats", cases};
