/* SPDX-License-Identifier: MIT
 *
 * Checks of a funnel, against a bare FCALL of the same function with the same arguments. All are
 * allowed, so that each of them writes.
 *
 * The batch also meets redis-benchmark, which reads no replies, and a library that increments a
 * counter, with 200 requests in flight as its users have them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "core/script.h"
#include "ours.h"

enum {
    BATCH = 100,
    SPENT_AT_ONCE = 1000,    /* checks in a step of a slice */
    LEASED = 2000000,        /* checks to measure a slice by */
    LEASED_QUICKLY = 200000, /* the same with --quick */
    MANY = 2000,             /* checks to measure the server's time by */
};

#define NAME tkl_str("api")
#define KEY  tkl_str("bench")

/* A billion at once, and one more each second. */
#define BURST 999999999
static const tkl_limit_rule rule = {.count = 1, .period_ms = 1000, .burst = BURST};

#define SERVER_KEY "tackle:limit:{bench}:api"

extern const tkl__script tkl__lua_limit_check;

/* ---- Bare hiredis -------------------------------------------------------- */

static const char *const words[] = {
    "FCALL", "", "1", SERVER_KEY,          "1", "gcra", "1", "1000000000", "1000000",
    "1",     "", "0", "1 1000 1000000000", "0"};
enum { WORDS = sizeof words / sizeof *words };

static void fill_words(const char *argv[WORDS])
{
    memcpy(argv, words, sizeof words);
    argv[1] = tkl__lua_limit_check.function;
}

static void load_script(const bench_run *run)
{
    redisContext *c = bare_connect(run->socket);
    bare_load_library(c, tkl__lua_limit_check.library->source);
    redisFree(c);
    setenv("BENCH_SCRIPT", tkl__lua_limit_check.function, 1);
}

/* redis-benchmark takes a number of requests in place of a time: about as many. */
#define REDIS_BENCHMARK                                                                  \
    "redis-benchmark -s $BENCH_SOCKET -c 1 -P 100 -n 30000 --csv FCALL $BENCH_SCRIPT 1 " \
    "'" SERVER_KEY "' 1 gcra 1 1000000000 1000000 1 '' 0 '1 1000 1000000000' 0 | "       \
    "awk -F '\"' 'END { printf \"{\\\"ops\\\": %d, \\\"seconds\\\": 1}\\n\", $4 }'"

static void bare_check(bench_worker *w)
{
    const char *argv[WORDS];
    fill_words(argv);
    bare_call(w->own, WORDS, argv);
}

static void bare_batch(bench_worker *w)
{
    const char *argv[WORDS];
    fill_words(argv);
    bare_pipeline(w->own, BATCH, WORDS, argv);
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_limit *limit;
    tkl_limit_slice *slice;
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_limit_open(s->client, NAME, &rule, NULL, &s->limit));
    check(tkl_limit_slice_open(s->limit, KEY, NULL, &s->slice));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_limit_slice_close(s->slice);
    tkl_limit_close(s->limit);
    tkl_close(s->client);
    free(s);
}

static void check_one(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_limit_answer answer;
    check(tkl_limit_check(s->limit, KEY, 1, &answer));
}

static void check_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_limit_item items[BATCH];
    tkl_limit_answer answers[BATCH];
    for (int i = 0; i < BATCH; i++)
        items[i] = (tkl_limit_item){.limit = s->limit, .key = KEY, .quantity = 1};
    check(tkl_limit_check_each(items, BATCH, answers));
}

static void spend(bench_worker *w)
{
    scene *s = w->run->shared;
    for (int i = 0; i < SPENT_AT_ONCE; i++)
        check(tkl_limit_slice_check(s->slice, 1, NULL));
}

/* ---- Figures ------------------------------------------------------------- */

static double slice_ns(const bench_run *given)
{
    bench_run run = *given;
    scene_open(&run, &(bench_contender){.name = NULL});
    scene *s = run.shared;
    int count = run.quick ? LEASED_QUICKLY : LEASED;
    for (int i = 0; i < count / 10; i++) /* until slices are large */
        check(tkl_limit_slice_check(s->slice, 1, NULL));
    int64_t began = bench_now_ns();
    for (int i = 0; i < count; i++)
        check(tkl_limit_slice_check(s->slice, 1, NULL));
    double ns = (double)(bench_now_ns() - began) / count;
    scene_close(&run);
    return ns;
}

static double script_us(redisContext *c)
{
    double us;
    redisReply *info = bare_ask(c, 2, (const char *[]){"INFO", "commandstats"});
    const char *line = strstr(info->str, "cmdstat_fcall:");
    if (!line || sscanf(strstr(line, "usec_per_call="), "usec_per_call=%lf", &us) != 1)
        bench_die("the server has not counted the checks");
    freeReplyObject(info);
    return us;
}

static double server_us(const bench_run *given)
{
    bench_run run = *given;
    redisContext *c = bare_connect(run.socket);
    scene_open(&run, &(bench_contender){.name = NULL});
    bench_worker w = {.run = &run};
    check_one(&w); /* loads the script */
    bare_call(c, 2, (const char *[]){"CONFIG", "RESETSTAT"});
    for (int i = 0; i < MANY / BATCH; i++)
        check_batch(&w);
    double us = script_us(c);
    scene_close(&run);
    redisFree(c);
    return us;
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close
#define PEERS          TACKLE_SOURCE_DIR "/bench/peers/"

static const bench_case cases[] = {
    {.name = "gcra check, 1 thread",
     .unit = "checks/s",
     .at_least = 0.95,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, FCALL", BARE(bare_check)},
                    {.name = "tackle", OURS(check_one)}}},
    {.name = "gcra check, 16 threads",
     .unit = "checks/s",
     .at_least = 0.95,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, 16 connections", .workers = 16, BARE(bare_check)},
                    {.name = "tackle, one client", .workers = 16, OURS(check_one)}}},
    {.name = "gcra checks, batches of 100",
     .unit = "checks/s",
     .at_least = 0.9,
     .over_peers = 1,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, pipelines", .batch = BATCH, BARE(bare_batch)},
                    {.name = "redis-benchmark -P 100",
                     .role = BENCH_LIMIT,
                     .command = REDIS_BENCHMARK},
                    {.name = "tackle", .batch = BATCH, OURS(check_batch)},
                    {.name = "rate-limiter-flexible, 200 in flight",
                     .role = BENCH_PEER,
                     .command = "node " PEERS "rate-limiter-flexible.js"}}},
    {.name = "checks of a slice, 1 and 4 threads",
     .unit = "checks/s",
     .contenders =
         {{.name = "tackle, 1 thread", .batch = SPENT_AT_ONCE, OURS(spend)},
          {.name = "tackle, 4 threads", .workers = 4, .batch = SPENT_AT_ONCE, OURS(spend)}}},
    {.name = "a check of a slice",
     .unit = "ns",
     .at_most = 200,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = slice_ns}}},
    {.name = "the server's time for a gcra check",
     .unit = "us",
     .at_most = 7,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = server_us}}},
    {.name = NULL},
};

const bench_component limit_bench = {"limit", cases};
