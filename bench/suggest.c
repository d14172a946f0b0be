/* SPDX-License-Identifier: MIT
 *
 * Suggestions of a hundred thousand phrases: the server's time of a hint, beside RediSearch's
 * FT.SUGGET of the same phrases (with --peers), feeding in batches, and memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "bench.h"
#include "ours.h"
#include "shelf.h"

enum { PHRASES = 100000, AT_ONCE = 1000, HINTS = 5 };

/* ---- Phrases ------------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Two or three words out of some thousands, of two to four syllables; 18 characters on average. */
static void make_phrase(uint64_t number, char phrase[64])
{
    static const char consonants[] = "bdfghjklmnprstvwz", vowels[] = "aeiou";
    char *at = phrase;
    uint64_t words = 2 + mix(number) % 2;
    for (uint64_t w = 0; w < words; w++) {
        uint64_t bits = mix(mix(number * 4 + w + 1) % 5000 + 77);
        uint64_t syllables = 2 + bits % 3;
        if (w)
            *at++ = ' ';
        for (bits /= 3; syllables--; bits /= 85) {
            *at++ = consonants[bits % 17];
            *at++ = vowels[bits / 17 % 5];
        }
    }
    *at = 0;
}

static double weight_of(uint64_t number)
{
    return (double)(1 + mix(number + 5) % 1000);
}

static void feed_all(tkl_suggest *suggest, uint64_t count)
{
    static char store[AT_ONCE][64];
    static tkl_suggest_text texts[AT_ONCE];
    for (uint64_t n = 0; n < count; n += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            make_phrase(n + i, store[i]);
            texts[i] = (tkl_suggest_text){.text = tkl_str(store[i]), .weight = weight_of(n + i)};
        }
        check(tkl_suggest_feed(suggest, texts, AT_ONCE));
    }
}

/* ---- Ours ---------------------------------------------------------------- */

static bench_shelf *ours(void)
{
    static bench_shelf *shelf;
    if (!shelf) {
        tkl_suggest *suggest;
        shelf = shelf_open();
        check(tkl_suggest_open(shelf->client, tkl_str("phrases"), NULL, &suggest));
        feed_all(suggest, PHRASES);
        tkl_suggest_close(suggest);
    }
    return shelf;
}

typedef struct hinting {
    tkl_suggest *suggest;
    tkl_client *client;
    size_t letters;
} hinting;

static void draw_prefix(uint64_t number, size_t letters, char phrase[64])
{
    make_phrase(mix(number) % PHRASES, phrase);
    phrase[letters] = 0;
}

static void hint_step(void *arg, uint64_t number)
{
    const hinting *h = arg;
    char prefix[64];
    tkl_suggestions *found;
    draw_prefix(number, h->letters, prefix);
    check(tkl_suggest_hint(h->suggest, tkl_str(prefix), HINTS, &found));
    if (found->count == 0)
        bench_die("no hint");
    tkl_suggestions_free(found);
}

static double hint_us(size_t letters)
{
    bench_shelf *shelf = ours();
    hinting h = {.letters = letters};
    check(tkl_suggest_open(shelf->client, tkl_str("phrases"), NULL, &h.suggest));
    double us = shelf_us(shelf, "fcall", NULL, hint_step, &h);
    tkl_suggest_close(h.suggest);
    return us;
}

static double hint_one(const bench_run *run)
{
    (void)run;
    return hint_us(1);
}

static double hint_two(const bench_run *run)
{
    (void)run;
    return hint_us(2);
}

static double hint_four(const bench_run *run)
{
    (void)run;
    return hint_us(4);
}

/* ---- RediSearch ---------------------------------------------------------- */

static void fill_peer(bench_shelf *shelf)
{
    char phrase[64], weight[24];
    for (uint64_t n = 0; n < PHRASES; n += AT_ONCE) {
        tkl_pipeline *pipeline;
        tkl_reply *replies;
        check(tkl_pipeline_open(shelf->client, NULL, &pipeline));
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            make_phrase(n + i, phrase);
            snprintf(weight, sizeof weight, "%.0f", weight_of(n + i));
            check(
                tkl_pipeline_addz(pipeline, "FT.SUGADD", "phrases", phrase, weight, "INCR", NULL));
        }
        check(tkl_pipeline_run(pipeline, NULL, &replies));
        tkl_reply_free(replies);
        tkl_pipeline_close(pipeline);
    }
}

static void peer_step(void *arg, uint64_t number)
{
    const hinting *h = arg;
    char prefix[64];
    draw_prefix(number, h->letters, prefix);
    check(
        tkl_callz(h->client, NULL, "FT.SUGGET", "phrases", prefix, "MAX", "5", "WITHSCORES", NULL));
}

static double peer_us(size_t letters)
{
    static bench_shelf *shelf;
    if (!shelf) {
        shelf = shelf_with_search();
        if (!shelf)
            bench_die("redis-redisearch is not installed: tools/setup peers");
        fill_peer(shelf);
    }
    hinting h = {.client = shelf->client, .letters = letters};
    return shelf_us(shelf, "FT.SUGGET", NULL, peer_step, &h);
}

static double peer_one(const bench_run *run)
{
    (void)run;
    return peer_us(1);
}

static double peer_two(const bench_run *run)
{
    (void)run;
    return peer_us(2);
}

static double peer_four(const bench_run *run)
{
    (void)run;
    return peer_us(4);
}

/* ---- Feeding and memory -------------------------------------------------- */

static double feed_rate(const bench_run *run, const tkl_suggest_options *options)
{
    bench_shelf *shelf = shelf_open();
    tkl_suggest *suggest;
    uint64_t count = run->quick ? PHRASES / 4 : PHRASES;
    check(tkl_suggest_open(shelf->client, tkl_str("phrases"), options, &suggest));
    int64_t start = bench_now_ns();
    feed_all(suggest, count);
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    tkl_suggest_close(suggest);
    tkl_close(shelf->client);
    return (double)count / seconds;
}

static double feed_plain(const bench_run *run)
{
    return feed_rate(run, NULL);
}

static double feed_fading(const bench_run *run)
{
    return feed_rate(run, &(tkl_suggest_options){.half_life_ms = 3600000});
}

static double feed_words(const bench_run *run)
{
    return feed_rate(run, &(tkl_suggest_options){.words = TKL_SETTING_ON});
}

static double bytes_each(const tkl_suggest_options *options)
{
    bench_shelf *shelf = shelf_open();
    double before = shelf_memory(shelf);
    tkl_suggest *suggest;
    tkl_suggest_info *info;
    check(tkl_suggest_open(shelf->client, tkl_str("phrases"), options, &suggest));
    feed_all(suggest, PHRASES);
    check(tkl_suggest_show(suggest, &info));
    double bytes = (shelf_memory(shelf) - before) / (double)info->texts;
    tkl_suggest_info_free(info);
    tkl_suggest_close(suggest);
    tkl_close(shelf->client);
    return bytes;
}

static double bytes_plain(const bench_run *run)
{
    static double bytes;
    (void)run;
    if (bytes == 0)
        bytes = bytes_each(NULL);
    return bytes;
}

static double bytes_words(const bench_run *run)
{
    static double bytes;
    (void)run;
    if (bytes == 0)
        bytes = bytes_each(&(tkl_suggest_options){.words = TKL_SETTING_ON});
    return bytes;
}

/* ---- Cases --------------------------------------------------------------- */

/* RediSearch takes 1600, 400 and 130 microseconds where this was first measured; --peers measures
 * it in the same run. */
static const bench_case cases[] = {
    {.name = "suggest hint, top 5 at 1 letter, the server's time",
     .unit = "us",
     .at_most = 160,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = hint_one},
                    {.name = "FT.SUGGET", .role = BENCH_PEER, .measure = peer_one}}},
    {.name = "suggest hint, top 5 at 2 letters, the server's time",
     .unit = "us",
     .at_most = 40,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = hint_two},
                    {.name = "FT.SUGGET", .role = BENCH_PEER, .measure = peer_two}}},
    {.name = "suggest hint, top 5 at 4 letters, the server's time",
     .unit = "us",
     .at_most = 13,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = hint_four},
                    {.name = "FT.SUGGET", .role = BENCH_PEER, .measure = peer_four}}},
    {.name = "suggest feed, batches of 1000",
     .unit = "texts/s",
     .contenders = {{.name = "plain", .measure = feed_plain},
                    {.name = "with a half-life", .measure = feed_fading},
                    {.name = "with words", .measure = feed_words}}},
    {.name = "suggest memory of a text",
     .unit = "bytes",
     .contenders = {{.name = "plain", .measure = bytes_plain},
                    {.name = "with words", .measure = bytes_words}}},
    {.name = NULL},
};

const bench_component suggest_bench = {"suggest", cases};
