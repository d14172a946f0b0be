/* SPDX-License-Identifier: MIT
 *
 * Online users: marks a thousand at a time, against pipelines of the bare command; what a day of
 * ten million users takes as a bitmap; and how far off a HyperLogLog is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "ours.h"

enum { BATCH = 1000, MANY = 10000000, TRIP = 10000, DIGITS = 12 };

/* ---- Bare hiredis -------------------------------------------------------- */

static void bare_set(bench_worker *w)
{
    bare_pipeline(w->own, BATCH, 4, (const char *[]){"SETBIT", "day", "9999999", "1"});
}

static void bare_pfadd(bench_worker *w)
{
    bare_pipeline(w->own, BATCH, 3, (const char *[]){"PFADD", "day", "9999999"});
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_online *online;
    char texts[TRIP][DIGITS];
    tkl_bytes users[TRIP];
} scene;

static void open_kind(bench_run *run, const bench_contender *self, tkl_online_kind kind)
{
    scene *s = ours_alloc(sizeof *s);
    tkl_online_options options = {.kind = kind};
    s->client = ours_client(run, self);
    check(tkl_online_open(s->client, tkl_str("bench"), &options, &s->online));
    run->shared = s;
}

static void open_bitmap(bench_run *run, const bench_contender *self)
{
    open_kind(run, self, TKL_ONLINE_BITMAP);
}

static void open_hll(bench_run *run, const bench_contender *self)
{
    open_kind(run, self, TKL_ONLINE_HLL);
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_online_close(s->online);
    tkl_close(s->client);
    free(s);
}

/* Marks every `every`th user from this number on. */
static void mark_from(scene *s, uint64_t first, uint64_t every, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int len =
            snprintf(s->texts[i], DIGITS, "%llu", (unsigned long long)(first + i * every) % MANY);
        s->users[i] = (tkl_bytes){s->texts[i], (size_t)len};
    }
    check(tkl_online_mark(s->online, s->users, count, NULL));
}

static void mark_some(bench_worker *w)
{
    mark_from(w->run->shared, w->steps * BATCH, 1, BATCH);
}

/* ---- Memory -------------------------------------------------------------- */

/* Marks every `every`th of these users. The caller frees the report of the day. */
static tkl_online_report *mark_day(const bench_run *given, tkl_online_kind kind, uint64_t users,
                                   uint64_t every)
{
    static const bench_contender self;
    bench_run run = *given;
    tkl_online_report *report;
    open_kind(&run, &self, kind);
    scene *s = run.shared;
    for (uint64_t first = 0; first < users; first += every * TRIP)
        mark_from(s, first, every, TRIP);
    check(tkl_online_show(s->online, &report));
    scene_close(&run);
    return report;
}

/* The memory of a bitmap, whose length is that of the largest number, however many are marked. */
static double megabytes_of_bitmap(const bench_run *run)
{
    tkl_online_report *report = mark_day(run, TKL_ONLINE_BITMAP, MANY, 100);
    double megabytes = (double)report->items[0].bytes / (1 << 20);
    tkl_online_report_free(report);
    return megabytes;
}

static double error_of_hll(const bench_run *run)
{
    uint64_t users = run->lengthy ? MANY : MANY / 10;
    tkl_online_report *report = mark_day(run, TKL_ONLINE_HLL, users, 1);
    double off = fabs((double)report->items[0].users - (double)users);
    double percent = off / (double)users * 100;
    tkl_online_report_free(report);
    return percent;
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(open) .setup = open, .step = mark_some, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "online marks of a bitmap, 1000 at a time",
     .unit = "marks/s",
     .contenders = {{.name = "hiredis, pipelines of SETBIT", .batch = BATCH, BARE(bare_set)},
                    {.name = "tackle", .batch = BATCH, OURS(open_bitmap)}}},
    {.name = "online marks of a HyperLogLog, 1000 at a time",
     .unit = "marks/s",
     .contenders = {{.name = "hiredis, pipelines of PFADD", .batch = BATCH, BARE(bare_pfadd)},
                    {.name = "tackle", .batch = BATCH, OURS(open_hll)}}},
    {.name = "a day of 10 million users as a bitmap, measured by the server",
     .unit = "MiB",
     .at_most = 1.2625,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = megabytes_of_bitmap}}},
    {.name = "a day of a million users as a HyperLogLog, error of the count",
     .unit = "%",
     .at_most = 2,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = error_of_hll}}},
    {.name = NULL},
};

const bench_component online_bench = {"online", cases};
