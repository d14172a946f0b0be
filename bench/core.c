/* SPDX-License-Identifier: MIT
 *
 * The client itself, against hiredis doing nothing but the call.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

#define VALUE "0123456789abcdef0123456789abcdef"

static const char *const get_words[] = {"GET", "bench:key"};
static const char *const set_words[] = {"SET", "bench:key", VALUE};
static const char *const rpush_words[] = {"RPUSH", "bench:list", VALUE};

/* ---- Bare hiredis -------------------------------------------------------- */

static void bare_get(bench_worker *w)
{
    bare_call(w->own, 2, get_words);
}

static void bare_set(bench_worker *w)
{
    bare_call(w->own, 3, set_words);
}

static void bare_pipeline_100(bench_worker *w)
{
    bare_pipeline(w->own, 100, 3, rpush_words);
}

static void bare_pipeline_1000(bench_worker *w)
{
    bare_pipeline(w->own, 1000, 3, rpush_words);
}

/* ---- tackle -------------------------------------------------------------- */

static void client_open(bench_run *run, const bench_contender *self)
{
    run->shared = ours_client(run, self);
}

static void client_close(bench_run *run)
{
    tkl_close(run->shared);
}

static void tackle_call(bench_worker *w, int argc, const char *const *argv)
{
    tkl_reply *reply;
    check(tkl_call(w->run->shared, argc, argv, NULL, NULL, &reply));
    tkl_reply_free(reply);
}

static void tackle_get(bench_worker *w)
{
    tackle_call(w, 2, get_words);
}

static void tackle_set(bench_worker *w)
{
    tackle_call(w, 3, set_words);
}

static void tackle_getz(bench_worker *w)
{
    tkl_reply *reply;
    check(tkl_callz(w->run->shared, &reply, "GET", "bench:key", NULL));
    tkl_reply_free(reply);
}

static void pipeline_open(bench_worker *w)
{
    tkl_pipeline *pipeline;
    check(tkl_pipeline_open(w->run->shared, NULL, &pipeline));
    w->own = pipeline;
}

static void pipeline_close(bench_worker *w)
{
    tkl_pipeline_close(w->own);
}

static void tackle_pipeline(bench_worker *w, int count)
{
    tkl_reply *replies;
    for (int i = 0; i < count; i++)
        check(tkl_pipeline_add(w->own, 3, rpush_words, NULL));
    check(tkl_pipeline_run(w->own, NULL, &replies));
    tkl_reply_free(replies);
}

static void tackle_pipeline_100(bench_worker *w)
{
    tackle_pipeline(w, 100);
}

static void tackle_pipeline_1000(bench_worker *w)
{
    tackle_pipeline(w, 1000);
}

/* ---- Figures ------------------------------------------------------------- */

static double embedded_ms(const bench_run *run)
{
    (void)run;
    tkl_client *client;
    int64_t began = bench_now_ns();
    check(tkl_open("embedded:", NULL, &client));
    check(tkl_callz(client, NULL, "PING", NULL));
    double ms = (double)(bench_now_ns() - began) / 1e6;
    tkl_close(client);
    return ms;
}

static double heap_kb(void)
{
    struct mallinfo2 heap = mallinfo2();
    return (double)(heap.uordblks + heap.hblkhd) / 1024;
}

/* Measures many clients: the caches of malloc would hide much of a single one. */
static double client_kb(const bench_run *run)
{
    enum { MANY = 100 };
    tkl_client *clients[MANY];
    double before = heap_kb();
    for (int i = 0; i < MANY; i++) {
        check(tkl_open(run->url, NULL, &clients[i]));
        check(tkl_callz(clients[i], NULL, "PING", NULL));
    }
    double used = heap_kb() - before;
    for (int i = 0; i < MANY; i++)
        tkl_close(clients[i]);
    return used / MANY;
}

static void call_often(tkl_client *client, int count)
{
    tkl_reply *reply;
    for (int i = 0; i < count; i++) {
        check(tkl_call(client, 2, get_words, NULL, NULL, &reply));
        tkl_reply_free(reply);
    }
}

static double growth_kb(const bench_run *run)
{
    static bool done; /* an earlier round has measured it; with --long, once is enough */
    if (done && run->lengthy)
        return 0;
    tkl_client *client;
    check(tkl_open(run->url, NULL, &client));
    call_often(client, 1000);
    double before = heap_kb();
    call_often(client, run->lengthy ? 10000000 : 10000);
    double grown = heap_kb() - before;
    tkl_close(client);
    done = true;
    return grown;
}

/* ---- Cases --------------------------------------------------------------- */

#define CLIENT(function)   .setup = client_open, .step = function, .teardown = client_close
#define PIPELINE(function) CLIENT(function), .open = pipeline_open, .close = pipeline_close

static void prepare_key(const bench_run *run)
{
    tkl_client *client;
    check(tkl_open(run->url, NULL, &client));
    check(tkl_call(client, 3, set_words, NULL, NULL, NULL));
    tkl_close(client);
}

static const bench_case cases[] = {
    {.name = "GET, 1 thread",
     .unit = "ops/s",
     .at_least = 0.95,
     .prepare = prepare_key,
     .contenders = {{.name = "hiredis", BARE(bare_get)},
                    {.name = "tackle, tkl_call", CLIENT(tackle_get)},
                    {.name = "tackle, tkl_callz", CLIENT(tackle_getz)},
                    {.name = "redis-py",
                     .role = BENCH_PEER,
                     .command = "/usr/bin/python3 " TACKLE_SOURCE_DIR "/bench/peers/get.py"}}},
    {.name = "SET, 1 thread",
     .unit = "ops/s",
     .at_least = 0.95,
     .contenders = {{.name = "hiredis", BARE(bare_set)},
                    {.name = "tackle, tkl_call", CLIENT(tackle_set)}}},
    {.name = "GET, 16 threads",
     .unit = "ops/s",
     .at_least = 0.95,
     .prepare = prepare_key,
     .contenders = {{.name = "hiredis, 16 connections", .workers = 16, BARE(bare_get)},
                    {.name = "tackle, one client", .workers = 16, CLIENT(tackle_get)}}},
    {.name = "GET, 256 threads",
     .unit = "ops/s",
     .at_least = 0.9,
     .prepare = prepare_key,
     .contenders =
         {{.name = "hiredis, 32 threads", .workers = 32, BARE(bare_get)},
          {.name = "hiredis, 256 threads", .workers = 256, BARE(bare_get)},
          {.name = "tackle, 32 connections", .workers = 256, .pool = 32, CLIENT(tackle_get)}}},
    {.name = "RPUSH, pipelines of 100",
     .unit = "ops/s",
     .at_least = 0.9,
     .contenders = {{.name = "hiredis", .batch = 100, BARE(bare_pipeline_100)},
                    {.name = "tackle", .batch = 100, PIPELINE(tackle_pipeline_100)}}},
    {.name = "RPUSH, pipelines of 1000",
     .unit = "ops/s",
     .at_least = 0.9,
     .contenders = {{.name = "hiredis", .batch = 1000, BARE(bare_pipeline_1000)},
                    {.name = "tackle", .batch = 1000, PIPELINE(tackle_pipeline_1000)}}},
    {.name = "opening embedded: to the first reply",
     .unit = "ms",
     .at_most = 100,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = embedded_ms}}},
    {.name = "memory of a client after its first call",
     .unit = "KB",
     .at_most = 200,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = client_kb}}},
    {.name = "growth of memory over many calls",
     .unit = "KB",
     .at_most = 0,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = growth_kb}}},
    {.name = NULL},
};

const bench_component core_bench = {"core", cases};
