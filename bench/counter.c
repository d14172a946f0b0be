/* SPDX-License-Identifier: MIT
 *
 * Adds to a counter of seven precisions, against a bare script of seven HINCRBY.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "ours.h"

enum {
    BATCH = 100,
    SUMMED_AT_ONCE = 1000, /* adds in a step of a buffer */
};

/* ---- Bare hiredis -------------------------------------------------------- */

static const char seven[] = "local t = redis.call('TIME') "
                            "for i = 1, 7 do redis.call('HINCRBY', KEYS[1], "
                            "ARGV[i] .. ':' .. math.floor(t[1] / ARGV[i]), 1) end return 1";

static const char *const words[] = {"EVALSHA", "",    "1",    "bench", "1",    "5",
                                    "60",      "300", "3600", "18000", "86400"};
enum { WORDS = sizeof words / sizeof *words };

static char sha1[BARE_SHA1_SIZE];

static void load_script(const bench_run *run)
{
    bare_load(run, seven, sha1);
}

static void fill_words(const char *argv[WORDS])
{
    memcpy(argv, words, sizeof words);
    argv[1] = sha1;
}

static void bare_add(bench_worker *w)
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
    tkl_counter *counter;
    tkl_counter_buffer *buffer;
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_counter_open(s->client, tkl_str("bench"), NULL, &s->counter));
    check(tkl_counter_buffer_open(s->counter, NULL, &s->buffer));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    check(tkl_counter_buffer_close(s->buffer, NULL));
    tkl_counter_close(s->counter);
    tkl_close(s->client);
    free(s);
}

static void add_one(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_counter_add(s->counter, 1));
}

static void add_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_counter_item items[BATCH] = {{0}};
    for (int i = 0; i < BATCH; i++)
        items[i] = (tkl_counter_item){.counter = s->counter, .amount = 1};
    check(tkl_counter_add_each(items, BATCH, NULL));
}

static void sum_up(bench_worker *w)
{
    scene *s = w->run->shared;
    for (int i = 0; i < SUMMED_AT_ONCE; i++)
        check(tkl_counter_buffer_add(s->buffer, 1));
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "counter add, 7 precisions, 1 thread",
     .unit = "adds/s",
     .at_least = 0.8,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, EVALSHA of 7 HINCRBY", BARE(bare_add)},
                    {.name = "tackle", OURS(add_one)}}},
    {.name = "counter add, 7 precisions, 16 threads",
     .unit = "adds/s",
     .at_least = 0.95,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, 16 connections", .workers = 16, BARE(bare_add)},
                    {.name = "tackle, one client", .workers = 16, OURS(add_one)}}},
    {.name = "counter adds, batches of 100",
     .unit = "adds/s",
     .at_least = 0.8,
     .enough = 60000,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, pipelines", .batch = BATCH, BARE(bare_batch)},
                    {.name = "tackle", .batch = BATCH, OURS(add_batch)}}},
    {.name = "buffered counter adds, 1 and 4 threads",
     .unit = "adds/s",
     .contenders =
         {{.name = "tackle, 1 thread", .batch = SUMMED_AT_ONCE, OURS(sum_up)},
          {.name = "tackle, 4 threads", .workers = 4, .batch = SUMMED_AT_ONCE, OURS(sum_up)}}},
    {.name = NULL},
};

const bench_component counter_bench = {"counter", cases};
