/* SPDX-License-Identifier: MIT
 *
 * Bloom filters at 1 %: items in batches of 100, against a SETBIT or GETBIT for each of their
 * seven bits, all 700 in one pipeline. Items that are added are new. Look-ups are in a full filter,
 * which has half of the items; the GETBITs read a copy of the same bits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>
#include <tackle/tackle.h>

#include "bench.h"
#include "ours.h"

enum { BATCH = 100, BITS = 7, CAPACITY = 10000000, FULL = 800000 /* one part */ };
#define ADD_BITS (UINT64_C(9585059) * 10)
#define ASK_BITS UINT64_C(7668047)

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Draws a number that no other worker draws: a counter for each worker and turn, well mixed. */
static uint64_t draw_number(void)
{
    static _Thread_local uint64_t state;
    if (state == 0)
        state = (uint64_t)bench_now_ns();
    return mix(state += UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- A command for each bit ---------------------------------------------- */

static void bare_open(bench_worker *w)
{
    redisContext *c = redisConnectUnix(w->run->socket);
    if (!c || c->err)
        bench_die("hiredis cannot connect");
    w->own = c;
}

static void bare_close(bench_worker *w)
{
    redisFree(w->own);
}

static void bare_bits(bench_worker *w, int argc, const char *command, uint64_t bits)
{
    char place[24];
    redisReply *reply;
    for (int i = 0; i < BATCH * BITS; i++) {
        snprintf(place, sizeof place, "%" PRIu64, draw_number() % bits);
        const char *argv[] = {command, "bench:bits", place, "1"};
        redisAppendCommandArgv(w->own, argc, argv, NULL);
    }
    for (int i = 0; i < BATCH * BITS; i++) {
        if (redisGetReply(w->own, (void **)&reply) != REDIS_OK)
            bench_die("hiredis: the pipeline failed");
        freeReplyObject(reply);
    }
}

static void bare_set(bench_worker *w)
{
    bare_bits(w, 4, "SETBIT", ADD_BITS);
}

static void bare_get(bench_worker *w)
{
    bare_bits(w, 3, "GETBIT", ASK_BITS);
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct own {
    tkl_bloom *bloom;
    uint64_t numbers[BATCH];
    tkl_bytes items[BATCH];
} own;

static void client_open(bench_run *run, const bench_contender *self)
{
    tkl_client *client;
    check(tkl_open(run->url, &(tkl_options){.pool_size = self->pool}, &client));
    run->shared = client;
}

static void client_close(bench_run *run)
{
    tkl_close(run->shared);
}

static void filter_open(bench_worker *w)
{
    own *o = calloc(1, sizeof *o);
    if (!o)
        bench_die("out of memory");
    check(tkl_bloom_open(w->run->shared, tkl_str("bench"), NULL, &o->bloom));
    for (int i = 0; i < BATCH; i++)
        o->items[i] = (tkl_bytes){(const char *)&o->numbers[i], sizeof o->numbers[i]};
    w->own = o;
}

static void filter_close(bench_worker *w)
{
    own *o = w->own;
    tkl_bloom_close(o->bloom);
    free(o);
}

static void filter_add(bench_worker *w)
{
    own *o = w->own;
    bool added[BATCH];
    for (int i = 0; i < BATCH; i++)
        o->numbers[i] = draw_number();
    check(tkl_bloom_add(o->bloom, o->items, BATCH, added));
}

static void filter_exists(bench_worker *w)
{
    own *o = w->own;
    bool present[BATCH];
    int found = 0;
    for (int i = 0; i < BATCH; i++)
        o->numbers[i] = i % 2 ? draw_number() : mix(draw_number() % FULL);
    check(tkl_bloom_exists(o->bloom, o->items, BATCH, present));
    for (int i = 0; i < BATCH; i++)
        found += present[i];
    if (found < BATCH / 2)
        bench_die("an item that was added is not there");
}

/* ---- Figures ------------------------------------------------------------- */

static double bits_each(const bench_run *run)
{
    tkl_client *client;
    tkl_bloom *bloom;
    tkl_bloom_info *info;
    check(tkl_open(run->url, NULL, &client));
    check(tkl_bloom_open(client, tkl_str("bench"), NULL, &bloom));
    check(tkl_bloom_show(bloom, &info));
    tkl_bloom_close(bloom);
    tkl_close(client);
    double bits = 8.0 * (double)info->bytes / (double)info->capacity;
    tkl_bloom_info_free(info);
    return bits;
}

/* The share of absent items that a full filter takes for present, in percent. */
static double error_percent(const bench_run *run)
{
    enum { ADDED = 100000, ASKED = 200000 };
    tkl_client *client;
    own o;
    bool found[BATCH];
    int wrong = 0;
    check(tkl_open(run->url, NULL, &client));
    check(
        tkl_bloom_open(client, tkl_str("full"), &(tkl_bloom_options){.capacity = ADDED}, &o.bloom));
    for (int i = 0; i < BATCH; i++)
        o.items[i] = (tkl_bytes){(const char *)&o.numbers[i], sizeof o.numbers[i]};
    for (int n = 0; n < ADDED + ASKED; n += BATCH) {
        for (int i = 0; i < BATCH; i++)
            o.numbers[i] = draw_number();
        if (n < ADDED) {
            check(tkl_bloom_add(o.bloom, o.items, BATCH, NULL));
            continue;
        }
        check(tkl_bloom_exists(o.bloom, o.items, BATCH, found));
        for (int i = 0; i < BATCH; i++)
            wrong += found[i];
    }
    check(tkl_bloom_drop(o.bloom));
    tkl_bloom_close(o.bloom);
    tkl_close(client);
    return 100.0 * wrong / ASKED;
}

/* ---- Cases --------------------------------------------------------------- */

#define BARE(function) \
    .role = BENCH_LIMIT, .batch = BATCH, .open = bare_open, .step = function, .close = bare_close
#define CLIENT(function)                                                         \
    .batch = BATCH, .setup = client_open, .open = filter_open, .step = function, \
    .close = filter_close, .teardown = client_close

static void open_reserved(const bench_run *run, int64_t capacity, tkl_client **client,
                          tkl_bloom **bloom)
{
    check(tkl_open(run->url, NULL, client));
    check(tkl_bloom_open(*client, tkl_str("bench"), &(tkl_bloom_options){.capacity = capacity},
                         bloom));
    check(tkl_bloom_reserve(*bloom));
}

static void add_some(tkl_bloom *bloom)
{
    enum { SOME = 1000 };
    static uint64_t numbers[SOME];
    static tkl_bytes items[SOME];
    for (int i = 0; i < SOME; i++) {
        numbers[i] = draw_number();
        items[i] = (tkl_bytes){(const char *)&numbers[i], sizeof numbers[i]};
    }
    check(tkl_bloom_add(bloom, items, SOME, NULL));
}

static void prepare_empty(const bench_run *run)
{
    tkl_client *client;
    tkl_bloom *bloom;
    open_reserved(run, CAPACITY, &client, &bloom);
    add_some(bloom); /* makes all parts of the filter, as SETBIT does for the other bits */
    check(tkl_callz(client, NULL, "SETBIT", "bench:bits", "95850589", "1", NULL));
    tkl_bloom_close(bloom);
    tkl_close(client);
}

static void fill_filter(tkl_bloom *bloom)
{
    enum { AT_ONCE = 5000 };
    static uint64_t numbers[AT_ONCE];
    static tkl_bytes items[AT_ONCE];
    for (uint64_t n = 0; n < FULL; n += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            numbers[i] = mix(n + i);
            items[i] = (tkl_bytes){(const char *)&numbers[i], sizeof numbers[i]};
        }
        check(tkl_bloom_add(bloom, items, AT_ONCE, NULL));
    }
}

/* Fills the server, which is empty at the start of every turn: the bits are computed once, and then
 * stored again. */
static void prepare_full(const bench_run *run)
{
    static tkl_reply *bits;
    const char *key = "tackle:bloom:{bench}:0.0";
    tkl_client *client;
    tkl_bloom *bloom;
    open_reserved(run, FULL, &client, &bloom);
    if (!bits) {
        fill_filter(bloom);
        check(tkl_callz(client, &bits, "GET", key, NULL));
    }
    tkl_bytes bytes = tkl_reply_bytes(bits);
    const char *argv[] = {"SET", key, bytes.data};
    const size_t lens[] = {3, strlen(key), bytes.len};
    check(tkl_call(client, 3, argv, lens, NULL, NULL));
    check(tkl_callz(client, NULL, "COPY", key, "bench:bits", NULL));
    tkl_bloom_close(bloom);
    tkl_close(client);
}

static const bench_case cases[] = {
    {.name = "Bloom add, batches of 100",
     .unit = "items/s",
     .at_least = 5,
     .prepare = prepare_empty,
     .contenders = {{.name = "hiredis, SETBIT for each bit", BARE(bare_set)},
                    {.name = "tackle", CLIENT(filter_add)}}},
    {.name = "Bloom exists, batches of 100",
     .unit = "items/s",
     .at_least = 5,
     .prepare = prepare_full,
     .contenders = {{.name = "hiredis, GETBIT for each bit", BARE(bare_get)},
                    {.name = "tackle", CLIENT(filter_exists)}}},
    {.name = "Bloom bits an item at 1 % (theory 9.585)",
     .unit = "bits",
     .at_most = 9.585 * 1.02,
     .has_at_most = true,
     .prepare = prepare_empty,
     .contenders = {{.name = "tackle", .measure = bits_each}}},
    {.name = "Bloom errors of a full filter at 1 %",
     .unit = "%",
     .at_most = 1.1,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = error_percent}}},
    {.name = NULL},
};

const bench_component bloom_bench = {"bloom", cases};
