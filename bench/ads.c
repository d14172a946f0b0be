/* SPDX-License-Identifier: MIT
 *
 * Ads at one location: the server's time of a target with a page of 20 words, and of a click, among
 * ten thousand to a million ads that have learned from a thousand views each; adding in batches,
 * and memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "bench.h"
#include "ours.h"
#include "shelf.h"

enum { AT_ONCE = 1000, AD_WORDS = 10, PAGE_WORDS = 20, VOCABULARY = 5000, VIEWS = 1000 };

static const tkl_bytes here = TKL_LIT("Berlin");

/* ---- Ads ----------------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Some words are much more frequent than others. */
static uint64_t draw_word(uint64_t number)
{
    double x = (double)(mix(number) % 1000000) / 1e6;
    return (uint64_t)(x * x * x * VOCABULARY);
}

static void make_text(uint64_t number, int words, char *text)
{
    *text = 0;
    for (int i = 0; i < words; i++)
        text += sprintf(text, "%sword%llu", i ? " " : "",
                        (unsigned long long)draw_word(number * 64 + (uint64_t)i));
}

static void make_ad(uint64_t number, char name[32], char text[512], tkl_ad *ad)
{
    sprintf(name, "ad%llu", (unsigned long long)number);
    make_text(number, AD_WORDS, text);
    *ad = (tkl_ad){.name = tkl_str(name),
                   .type = 1 + number % 3,
                   .price_micros = (int64_t)(1000 * (100 + mix(number) % 900)),
                   .locations = &here,
                   .location_count = 1,
                   .text = tkl_str(text)};
}

static void add_all(tkl_ads *ads, uint64_t count)
{
    static char names[AT_ONCE][32], texts[AT_ONCE][512];
    static tkl_ad items[AT_ONCE];
    for (uint64_t n = 0; n < count; n += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++)
            make_ad(n + i, names[i], texts[i], &items[i]);
        check(tkl_ads_add(ads, items, AT_ONCE));
    }
}

/* Sets what an ad has learned, as the scripts count it; the next add uses it. */
static void put_counts(tkl_pipeline *pipeline, uint64_t number)
{
    char name[32], text[512], field[3][64], value[3][24];
    tkl_ad ad;
    make_ad(number, name, text, &ad);
    static const char *const what[] = {"views", "clicks", "actions"};
    const uint64_t counts[] = {VIEWS, mix(number + 1) % 4, mix(number + 2) % 4};
    for (int i = 0; i < 3; i++) {
        sprintf(field[i], "%s:%s", what[i], name);
        sprintf(value[i], "%llu", (unsigned long long)counts[i]);
    }
    check(tkl_pipeline_addz(pipeline, "HSET", "tackle:ads:{bench}:counts", field[0], value[0],
                            field[1], value[1], field[2], value[2], NULL));
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        const char *argv[8] = {"HSET", "tackle:ads:{bench}:words"};
        size_t lens[8] = {4, strlen(argv[1])};
        for (int i = 0; i < 3; i++) {
            lens[2 + 2 * i] = (size_t)sprintf(field[i], "%s:%s%c%s", what[i], word, 0, name);
            lens[3 + 2 * i] = (size_t)sprintf(
                value[i], "%llu",
                (unsigned long long)(i ? mix(number + (uint64_t)(word - text) + (uint64_t)i) % 3
                                       : VIEWS / 3));
            argv[2 + 2 * i] = field[i];
            argv[3 + 2 * i] = value[i];
        }
        check(tkl_pipeline_add(pipeline, 8, argv, lens));
    }
}

static void learn_all(tkl_client *client, uint64_t count)
{
    for (uint64_t n = 0; n < count; n += AT_ONCE) {
        tkl_pipeline *pipeline;
        tkl_reply *replies;
        check(tkl_pipeline_open(client, NULL, &pipeline));
        for (uint64_t i = 0; i < AT_ONCE; i++)
            put_counts(pipeline, n + i);
        check(tkl_pipeline_run(pipeline, NULL, &replies));
        tkl_reply_free(replies);
        tkl_pipeline_close(pipeline);
    }
}

/* A server with `count` ads. */
typedef struct set {
    uint64_t count;
    bench_shelf *shelf;
    double bytes; /* bytes of an ad */
} set;

static set few = {.count = 10000}, many = {.count = 100000}, most = {.count = 1000000};

static bench_shelf *fill_set(set *s)
{
    if (!s->shelf) {
        tkl_ads *ads;
        s->shelf = shelf_open();
        double before = shelf_memory(s->shelf);
        check(tkl_ads_open(s->shelf->client, tkl_str("bench"), NULL, &ads));
        learn_all(s->shelf->client, s->count);
        add_all(ads, s->count);
        s->bytes = (shelf_memory(s->shelf) - before) / (double)s->count;
        tkl_ads_close(ads);
    }
    return s->shelf;
}

/* ---- Targets and clicks -------------------------------------------------- */

static tkl_ads_choice *target(tkl_ads *ads, uint64_t number)
{
    char text[1024];
    tkl_ads_choice *choice;
    make_text(number + 1000000007, PAGE_WORDS, text);
    tkl_ads_page page = {.locations = &here, .location_count = 1, .text = tkl_str(text)};
    check(tkl_ads_target(ads, &page, &choice));
    return choice;
}

static void target_step(void *arg, uint64_t number)
{
    tkl_ads_choice_free(target(arg, number));
}

static double target_us(set *s)
{
    bench_shelf *shelf = fill_set(s);
    tkl_ads *ads;
    check(tkl_ads_open(shelf->client, tkl_str("bench"), NULL, &ads));
    double us = shelf_us(shelf, "fcall", NULL, target_step, ads);
    tkl_ads_close(ads);
    return us;
}

static double target_few(const bench_run *run)
{
    (void)run;
    return target_us(&few);
}

static double target_many(const bench_run *run)
{
    (void)run;
    return target_us(&many);
}

static double target_most(const bench_run *run)
{
    if (run->quick)
        return target_us(&many);
    return target_us(&most);
}

/* Targets that are made before, so that only clicks are measured. */
enum { CLICKS = 2000 };

static char click_targets[CLICKS][64];

static void click_step(void *arg, uint64_t number)
{
    check(tkl_ads_click(arg, tkl_str(click_targets[number % CLICKS])));
}

static double click_us(const bench_run *run)
{
    bench_shelf *shelf = fill_set(&many);
    tkl_ads *ads;
    (void)run;
    check(tkl_ads_open(shelf->client, tkl_str("bench"), NULL, &ads));
    for (uint64_t i = 0; i < CLICKS; i++) {
        tkl_ads_choice *choice = target(ads, i + 5000);
        snprintf(click_targets[i], sizeof click_targets[i], TKL_FMT, TKL_ARG(choice->target));
        tkl_ads_choice_free(choice);
    }
    double us = shelf_us(shelf, "fcall", NULL, click_step, ads);
    tkl_ads_close(ads);
    return us;
}

/* ---- Adding and memory --------------------------------------------------- */

static double add_rate(const bench_run *run)
{
    bench_shelf *shelf = shelf_open();
    tkl_ads *ads;
    uint64_t count = run->quick ? 10000 : 50000;
    check(tkl_ads_open(shelf->client, tkl_str("bench"), NULL, &ads));
    int64_t start = bench_now_ns();
    add_all(ads, count);
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    tkl_ads_close(ads);
    tkl_close(shelf->client);
    return (double)count / seconds;
}

static double bytes_each(const bench_run *run)
{
    (void)run;
    fill_set(&many);
    return many.bytes;
}

/* ---- Cases --------------------------------------------------------------- */

static const bench_case cases[] = {
    {.name = "ads target, page of 20 words, the server's time",
     .unit = "us",
     .at_most = 300,
     .has_at_most = true,
     .rise_at_most = 2,
     .contenders = {{.name = "10 000 ads", .measure = target_few},
                    {.name = "100 000 ads", .measure = target_many},
                    {.name = "1 000 000 ads", .measure = target_most}}},
    {.name = "ads click, 100 000 ads, the server's time",
     .unit = "us",
     .at_most = 150,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = click_us}}},
    {.name = "ads add, batches of 1000",
     .unit = "ads/s",
     .contenders = {{.name = "tackle", .measure = add_rate}}},
    {.name = "ads memory of an ad with 10 words",
     .unit = "bytes",
     .contenders = {{.name = "tackle", .measure = bytes_each}}},
    {.name = NULL},
};

const bench_component ads_bench = {"ads", cases};
