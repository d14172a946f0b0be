/* SPDX-License-Identifier: MIT
 *
 * Ads: reports about all ads of a set. The server sends them in pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ads/ads.h"
#include "ads/scripts.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/rounds.h"

/* Fields of an ad in a reply of list.lua, behind the cursor. */
enum { NAME, TYPE, PRICE, VIEWS, CLICKS, ACTIONS, SPENT, ECPM, BOUND, FIELDS };

/* ---- Pages of ads -------------------------------------------------------- */

static int ask_page(tkl_ads *ads, tkl_bytes cursor, int64_t deadline, tkl_reply **reply)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, cursor);
    int rc = tkl__eval(ads->client, &tkl__lua_ads_list, &ads->keys, &args, deadline, true, reply);
    tkl__args_free(&args);
    return rc;
}

static int read_cursor(const tkl_reply *page, tkl__circle *circle, char *cursor, size_t size)
{
    tkl_bytes next = tkl_reply_bytes(tkl_reply_at(page, 0));
    int rc = tkl__circle_next(circle, next);
    if (rc == TKL_OK)
        snprintf(cursor, size, "%s", next.data);
    return rc;
}

static size_t lines_of(const tkl_reply *page)
{
    size_t count = tkl_reply_count(page);
    return count > 0 ? (count - 1) / FIELDS : 0;
}

static const tkl_reply *field(const tkl_reply *page, size_t row, size_t which)
{
    return tkl_reply_at(page, 1 + row * FIELDS + which);
}

/* ---- All ads ------------------------------------------------------------- */

/* The lines of a report. Their names are offsets in `names` until all are read. */
typedef struct collected {
    tkl_ads_line *lines;
    size_t count, cap;
    tkl__buf names;
} collected;

static int make_room(collected *c, size_t more)
{
    if (c->count + more <= c->cap)
        return TKL_OK;
    size_t cap = 2 * (c->count + more);
    tkl_ads_line *lines = realloc(c->lines, cap * sizeof *lines);
    if (!lines)
        return tkl__nomem();
    c->lines = lines;
    c->cap = cap;
    return TKL_OK;
}

static int collect_page(const tkl_reply *page, collected *c)
{
    int rc = make_room(c, lines_of(page));
    for (size_t i = 0; rc == TKL_OK && i < lines_of(page); i++) {
        tkl_bytes name = tkl_reply_bytes(field(page, i, NAME));
        c->lines[c->count++] = (tkl_ads_line){
            .name = {NULL, name.len},
            .type = tkl__ads_type(tkl_reply_bytes(field(page, i, TYPE))),
            .price_micros = tkl_reply_int(field(page, i, PRICE)),
            .counts = {.views = tkl_reply_int(field(page, i, VIEWS)),
                       .clicks = tkl_reply_int(field(page, i, CLICKS)),
                       .actions = tkl_reply_int(field(page, i, ACTIONS)),
                       .spent_micros = tkl_reply_int(field(page, i, SPENT)),
                       .ecpm = tkl__ads_double(field(page, i, ECPM)),
                       .bound = tkl__ads_double(field(page, i, BOUND))},
        };
        tkl__buf_add(&c->names, name.data, name.len);
    }
    return rc == TKL_OK && c->names.failed ? tkl__nomem() : rc;
}

/* Reads all ads. Each page has its own time-out: a report of a million ads takes a while. */
static int collect_all(tkl_ads *ads, collected *c)
{
    char cursor[32] = "0";
    tkl__circle circle = {.steps = 0};
    int rc = TKL_OK;
    do {
        tkl_reply *page = NULL;
        rc = ask_page(ads, tkl_str(cursor), tkl__ads_deadline(ads), &page);
        if (rc == TKL_OK)
            rc = read_cursor(page, &circle, cursor, sizeof cursor);
        if (rc == TKL_OK)
            rc = collect_page(page, c);
        tkl_reply_free(page);
    } while (rc == TKL_OK && strcmp(cursor, "0") != 0);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return tkl__compare_bytes(((const tkl_ads_line *)a)->name, ((const tkl_ads_line *)b)->name);
}

static int by_ecpm(const void *a, const void *b)
{
    const tkl_ads_line *x = a, *y = b;
    if (x->counts.ecpm != y->counts.ecpm)
        return x->counts.ecpm > y->counts.ecpm ? -1 : 1;
    return by_name(a, b);
}

/* Removes duplicates: the server may send an ad twice. */
static size_t keep_each_once(tkl_ads_line *lines, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_name(&lines[kept - 1], &lines[i]) != 0)
            lines[kept++] = lines[i];
    return kept;
}

static int make_lines(const collected *c, tkl_ads_lines **result)
{
    tkl_ads_lines *all = malloc(sizeof *all + c->count * sizeof *c->lines + c->names.len);
    if (!all)
        return tkl__nomem();
    tkl_ads_line *lines = (tkl_ads_line *)(all + 1);
    char *names = (char *)(lines + c->count);
    if (c->count) {
        memcpy(lines, c->lines, c->count * sizeof *lines);
        memcpy(names, c->names.data, c->names.len);
    }
    for (size_t i = 0; i < c->count; i++) {
        lines[i].name.data = names;
        names += lines[i].name.len;
    }
    qsort(lines, c->count, sizeof *lines, by_name);
    size_t count = keep_each_once(lines, c->count);
    qsort(lines, count, sizeof *lines, by_ecpm);
    *all = (tkl_ads_lines){lines, count};
    *result = all;
    return TKL_OK;
}

int tkl_ads_report(tkl_ads *ads, tkl_ads_lines **lines)
{
    collected c = {.count = 0};
    *lines = NULL;
    tkl__buf_init(&c.names);
    int rc = collect_all(ads, &c);
    if (rc == TKL_OK)
        rc = make_lines(&c, lines);
    free(c.lines);
    tkl__buf_free(&c.names);
    return rc;
}

void tkl_ads_lines_free(tkl_ads_lines *lines)
{
    free(lines);
}

/* ---- All words ----------------------------------------------------------- */

#define AT_ONCE 100 /* ads of one round trip */

/* Sums of words. While they are collected, eCPM and bonus are sums of eCPM times views and bonus
 * times views. */
typedef struct sums {
    tkl_ads_word *words; /* their texts are malloc'ed */
    size_t count, cap;
    size_t merged; /* count after words were last merged */
} sums;

static int by_word(const void *a, const void *b)
{
    return tkl__compare_bytes(((const tkl_ads_word *)a)->word, ((const tkl_ads_word *)b)->word);
}

static void add_counts(tkl_ads_word *to, const tkl_ads_word *from)
{
    to->bonus += from->bonus;
    to->counts.ecpm += from->counts.ecpm;
    to->counts.bound += from->counts.bound;
    to->counts.views += from->counts.views;
    to->counts.clicks += from->counts.clicks;
    to->counts.actions += from->counts.actions;
    to->counts.spent_micros += from->counts.spent_micros;
}

static void merge_sums(sums *s)
{
    size_t kept = 0;
    if (s->count)
        qsort(s->words, s->count, sizeof *s->words, by_word);
    for (size_t i = 0; i < s->count; i++) {
        if (kept && by_word(&s->words[kept - 1], &s->words[i]) == 0) {
            add_counts(&s->words[kept - 1], &s->words[i]);
            free((char *)s->words[i].word.data);
        } else {
            s->words[kept++] = s->words[i];
        }
    }
    s->count = s->merged = kept;
}

static int make_space(sums *s)
{
    if (s->count < s->cap)
        return TKL_OK;
    if (s->count > 2 * s->merged)
        merge_sums(s);
    if (2 * s->count < s->cap)
        return TKL_OK;
    size_t cap = s->cap ? 2 * s->cap : 1024;
    tkl_ads_word *words = realloc(s->words, cap * sizeof *words);
    if (!words)
        return tkl__nomem();
    s->words = words;
    s->cap = cap;
    return TKL_OK;
}

static int add_word(sums *s, tkl_ads_word word)
{
    char *text = tkl__copy_bytes(word.word);
    int rc = text ? make_space(s) : tkl__nomem();
    if (rc != TKL_OK) {
        free(text);
        return rc;
    }
    word.word.data = text;
    word.bonus *= (double)word.counts.views;
    word.counts.ecpm *= (double)word.counts.views;
    word.counts.bound *= (double)word.counts.views;
    s->words[s->count++] = word;
    return TKL_OK;
}

static int add_ads(tkl_ads *ads, const tkl_ads_line *lines, size_t count, sums *s)
{
    tkl_bytes names[AT_ONCE];
    tkl_reply *replies = NULL;
    for (size_t i = 0; i < count; i++)
        names[i] = lines[i].name;
    int rc = tkl__ads_show_all(ads, names, count, &replies);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        const tkl_reply *shown = tkl_reply_at(replies, i);
        for (size_t w = 0; rc == TKL_OK && w < tkl__ads_shown_words(shown); w++) {
            tkl_ads_word word = tkl__ads_shown_word(shown, w);
            if (word.counts.views > 0)
                rc = add_word(s, word);
        }
    }
    tkl_reply_free(replies);
    return rc;
}

static int make_words(sums *s, tkl_ads_words **result)
{
    size_t bytes = 0;
    merge_sums(s);
    for (size_t i = 0; i < s->count; i++)
        bytes += s->words[i].word.len;
    tkl_ads_words *all = malloc(sizeof *all + s->count * sizeof(tkl_ads_word) + bytes);
    if (!all)
        return tkl__nomem();
    tkl_ads_word *words = (tkl_ads_word *)(all + 1);
    tkl__ads_room room = {(char *)(words + s->count)};
    for (size_t i = 0; i < s->count; i++) {
        words[i] = s->words[i];
        words[i].word = tkl__ads_copy(&room, s->words[i].word);
        words[i].bonus /= (double)words[i].counts.views;
        words[i].counts.ecpm /= (double)words[i].counts.views;
        words[i].counts.bound /= (double)words[i].counts.views;
    }
    qsort(words, s->count, sizeof *words, tkl__ads_by_bonus);
    *all = (tkl_ads_words){words, s->count};
    *result = all;
    return TKL_OK;
}

int tkl_ads_report_words(tkl_ads *ads, tkl_ads_words **words)
{
    sums s = {.count = 0};
    tkl_ads_lines *lines;
    *words = NULL;
    int rc = tkl_ads_report(ads, &lines);
    for (size_t i = 0; rc == TKL_OK && i < lines->count; i += AT_ONCE) {
        size_t left = lines->count - i;
        rc = add_ads(ads, lines->items + i, left < AT_ONCE ? left : AT_ONCE, &s);
    }
    if (rc == TKL_OK)
        rc = make_words(&s, words);
    for (size_t i = 0; i < s.count; i++)
        free((char *)s.words[i].word.data);
    free(s.words);
    tkl_ads_lines_free(lines);
    return rc;
}

void tkl_ads_words_free(tkl_ads_words *words)
{
    free(words);
}
