/* SPDX-License-Identifier: MIT
 *
 * Books of a million names: completing against the bare ZRANGE of the same answers, the server's
 * time, and memory against the bare sorted set. --quick: a hundred thousand names; --long: what ten
 * million cost, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>
#include <tackle/tackle.h>

#include "bench.h"
#include "ours.h"
#include "shelf.h"

enum { AT_ONCE = 5000, ANSWERS = 10 };

/* ---- Names --------------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* "Kamoti Besura": two words of three syllables, all names different. */
static void make_name(uint64_t number, char name[32])
{
    static const char consonants[] = "bdfghjklmnprstvwz", vowels[] = "aeiou";
    uint64_t bits = mix(number + 1);
    char *at = name;
    for (int i = 0; i < 6; i++) {
        if (i == 3)
            *at++ = ' ';
        *at++ = consonants[bits % 17];
        *at++ = vowels[bits / 17 % 5];
        bits /= 85;
    }
    *at = 0;
    name[0] = (char)(name[0] - 32);
    name[7] = (char)(name[7] - 32);
}

static void fill_book(tkl_client *client, const char *name, const tkl_book_options *options,
                      uint64_t count, bool ids)
{
    static char texts[AT_ONCE][32], numbers[AT_ONCE][24];
    static tkl_book_entry entries[AT_ONCE];
    tkl_book *book;
    check(tkl_book_open(client, tkl_str(name), options, &book));
    for (uint64_t n = 0; n < count; n += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            make_name(n + i, texts[i]);
            sprintf(numbers[i], "%llu", (unsigned long long)(n + i));
            entries[i] = (tkl_book_entry){.text = tkl_str(texts[i])};
            if (ids)
                entries[i].id = tkl_str(numbers[i]);
        }
        check(tkl_book_add(book, entries, AT_ONCE, NULL));
    }
    tkl_book_close(book);
}

static uint64_t many(const bench_run *run)
{
    return run->quick ? 100000 : 1000000;
}

/* The book that most cases use. */
static bench_shelf *large(const bench_run *run)
{
    static bench_shelf *shelf;
    if (!shelf) {
        shelf = shelf_open();
        fill_book(shelf->client, "large", NULL, many(run), false);
    }
    return shelf;
}

static void draw_prefix(uint64_t *state, size_t len, char prefix[32])
{
    make_name(mix(*state += 7919) % 100000, prefix);
    prefix[len] = 0;
    prefix[0] = (char)(prefix[0] + 32);
}

/* ---- Completing ---------------------------------------------------------- */

typedef struct own {
    redisContext *bare;
    tkl_client *client;
    tkl_book *book;
    uint64_t state;
} own;

static void open_worker(bench_worker *w)
{
    own *o = calloc(1, sizeof *o);
    const bench_shelf *shelf = large(w->run);
    if (!o)
        bench_die("out of memory");
    o->bare = redisConnectUnix(shelf->socket);
    check(tkl_open(shelf->url, NULL, &o->client));
    check(tkl_book_open(o->client, tkl_str("large"), NULL, &o->book));
    w->own = o;
}

static void close_worker(bench_worker *w)
{
    own *o = w->own;
    redisFree(o->bare);
    tkl_book_close(o->book);
    tkl_close(o->client);
    free(o);
}

static void bare_complete(bench_worker *w)
{
    own *o = w->own;
    char prefix[32], above[32];
    draw_prefix(&o->state, 3, prefix);
    strcpy(above, prefix);
    above[2]++;
    redisReply *reply =
        redisCommand(o->bare, "ZRANGE tackle:book:{large}:names [%s (%s BYLEX LIMIT 0 %d", prefix,
                     above, ANSWERS);
    if (!reply || reply->elements != ANSWERS)
        bench_die("the bare range has other answers");
    freeReplyObject(reply);
}

static void book_complete(bench_worker *w)
{
    own *o = w->own;
    char prefix[32];
    tkl_book_answers *answers;
    draw_prefix(&o->state, 3, prefix);
    check(tkl_book_complete(o->book, tkl_str(prefix), ANSWERS, (tkl_bytes){NULL, 0}, &answers));
    if (answers->count != ANSWERS)
        bench_die("not all answers");
    tkl_book_answers_free(answers);
}

/* ---- The server's time --------------------------------------------------- */

/* With two letters there are enough answers in the smallest book, too. */
static void complete_step(void *book, uint64_t number)
{
    char prefix[32];
    tkl_book_answers *answers;
    draw_prefix(&number, 2, prefix);
    check(tkl_book_complete(book, tkl_str(prefix), ANSWERS, (tkl_bytes){NULL, 0}, &answers));
    tkl_book_answers_free(answers);
}

static double complete_us(bench_shelf *shelf, const char *name)
{
    tkl_book *book;
    check(tkl_book_open(shelf->client, tkl_str(name), NULL, &book));
    double us = shelf_us(shelf, "hget", "zrange", complete_step, book);
    tkl_book_close(book);
    return us;
}

static double complete_small(const bench_run *run)
{
    (void)run;
    static bench_shelf *shelf;
    if (!shelf) {
        shelf = shelf_open();
        fill_book(shelf->client, "small", NULL, 10000, false);
    }
    return complete_us(shelf, "small");
}

static double complete_large(const bench_run *run)
{
    return complete_us(large(run), "large");
}

static double complete_huge(const bench_run *run)
{
    static bench_shelf *shelf;
    if (!run->lengthy)
        return complete_large(run);
    if (!shelf) {
        shelf = shelf_open();
        fill_book(shelf->client, "huge", NULL, 10000000, false);
    }
    return complete_us(shelf, "huge");
}

/* ---- Parts and memory ---------------------------------------------------- */

/* The time and memory of the book with contains are measured while it is filled. */
static bench_shelf *with_parts(const bench_run *run, double *each)
{
    static bench_shelf *shelf;
    static double bytes;
    if (!shelf) {
        shelf = shelf_open();
        double before = shelf_memory(shelf);
        fill_book(shelf->client, "parts", &(tkl_book_options){.contains = TKL_SETTING_ON},
                  many(run), false);
        bytes = (shelf_memory(shelf) - before) / (double)many(run);
    }
    *each = bytes;
    return shelf;
}

static void find_step(tkl_book *book, uint64_t number, size_t letters)
{
    char name[32];
    tkl_book_answers *answers;
    make_name(mix(number) % 100000, name);
    name[2 + letters] = 0;
    check(tkl_book_find(book, tkl_str(name + 2), ANSWERS, &answers));
    tkl_book_answers_free(answers);
}

static void find_three_step(void *book, uint64_t number)
{
    find_step(book, number, 3);
}

static void find_four_step(void *book, uint64_t number)
{
    find_step(book, number, 4);
}

static double find_us(const bench_run *run, shelf_step *step)
{
    double each;
    bench_shelf *shelf = with_parts(run, &each);
    tkl_book *book;
    check(tkl_book_open(shelf->client, tkl_str("parts"), NULL, &book));
    double us = shelf_us(shelf, "fcall", NULL, step, book);
    tkl_book_close(book);
    return us;
}

static double find_three(const bench_run *run)
{
    return find_us(run, find_three_step);
}

static double find_four(const bench_run *run)
{
    return find_us(run, find_four_step);
}

static double bytes_of_bare(const bench_run *run)
{
    static double bytes;
    if (bytes > 0)
        return bytes;
    bench_shelf *shelf = shelf_open();
    redisContext *c = redisConnectUnix(shelf->socket);
    double before = shelf_memory(shelf);
    for (uint64_t n = 0; n < many(run); n += AT_ONCE) {
        char name[32];
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            make_name(n + i, name);
            redisAppendCommand(c, "ZADD names 0 %s", name);
        }
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            redisReply *reply;
            if (redisGetReply(c, (void **)&reply) != REDIS_OK)
                bench_die("hiredis failed");
            freeReplyObject(reply);
        }
    }
    bytes = (shelf_memory(shelf) - before) / (double)many(run);
    redisFree(c);
    tkl_close(shelf->client);
    return bytes;
}

static double bytes_of_book(const bench_run *run, bool ids)
{
    bench_shelf *shelf = shelf_open();
    double before = shelf_memory(shelf);
    fill_book(shelf->client, "book", NULL, many(run), ids);
    double bytes = (shelf_memory(shelf) - before) / (double)many(run);
    tkl_close(shelf->client);
    return bytes;
}

static double ratio_plain(const bench_run *run)
{
    static double bytes;
    if (bytes == 0)
        bytes = bytes_of_book(run, false);
    return bytes / bytes_of_bare(run);
}

static double ratio_ids(const bench_run *run)
{
    static double bytes;
    if (bytes == 0)
        bytes = bytes_of_book(run, true);
    return bytes / bytes_of_bare(run);
}

static double bytes_bare(const bench_run *run)
{
    return bytes_of_bare(run);
}

static double bytes_parts(const bench_run *run)
{
    double each;
    with_parts(run, &each);
    return each;
}

/* ---- Cases --------------------------------------------------------------- */

static const bench_case cases[] = {
    {.name = "book complete, 10 answers among a million names",
     .unit = "ops/s",
     .at_least = 1 / 1.2,
     .contenders =
         {{.name = "hiredis, ZRANGE BYLEX",
           .role = BENCH_LIMIT,
           .open = open_worker,
           .step = bare_complete,
           .close = close_worker},
          {.name = "tackle", .open = open_worker, .step = book_complete, .close = close_worker}}},
    {.name = "book complete, the server's time by the size of the book",
     .unit = "us",
     .rise_at_most = 1.5,
     .contenders = {{.name = "10 thousand names", .measure = complete_small},
                    {.name = "a million", .measure = complete_large},
                    {.name = "ten million (--long)", .measure = complete_huge}}},
    {.name = "book find with contains, the server's time",
     .unit = "us",
     .at_most = 1000,
     .has_at_most = true,
     .contenders = {{.name = "3 letters", .measure = find_three},
                    {.name = "4 letters", .measure = find_four}}},
    {.name = "book memory by that of the bare sorted set",
     .unit = "times",
     .at_most = 1.3,
     .has_at_most = true,
     .contenders = {{.name = "names", .measure = ratio_plain}}},
    {.name = "book memory with ids by that of the bare sorted set",
     .unit = "times",
     .contenders = {{.name = "names and ids", .measure = ratio_ids}}},
    {.name = "book memory of a name",
     .unit = "bytes",
     .contenders = {{.name = "bare sorted set", .role = BENCH_YARDSTICK, .measure = bytes_bare},
                    {.name = "with contains", .measure = bytes_parts}}},
    {.name = NULL},
};

const bench_component book_bench = {"book", cases};
