/* SPDX-License-Identifier: MIT
 *
 * Leaderboards, against bare sorted sets, which have no order among equal scores; and against a
 * script by hand, which keeps the time in the last bits of the score.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "ours.h"

enum { MEMBERS = 100000, BATCH = 250 };

static void name_member(uint64_t number, char name[16])
{
    snprintf(name, 16, "m%d", (int)(number * 7919 % MEMBERS));
}

/* ---- Bare hiredis -------------------------------------------------------- */

static char around_sha1[BARE_SHA1_SIZE], ties_sha1[BARE_SHA1_SIZE];

static void fill_bare(const bench_run *run)
{
    redisContext *c = bare_connect(run->socket);
    bare_load(run,
              "local rank = redis.call('ZREVRANK', KEYS[1], ARGV[1]) return redis.call('ZRANGE', "
              "KEYS[1], math.max(0, rank - 5), rank + 5, 'REV', 'WITHSCORES')",
              around_sha1);
    bare_load(run,
              "local score = math.floor(tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)) "
              "local now = redis.call('TIME')[1] return redis.call('ZADD', KEYS[1], "
              "string.format('%.17g', score + ARGV[2] + 1 - now / 1e10), ARGV[1])",
              ties_sha1);
    bare_call(c, 4,
              (const char *[]){"EVAL",
                               "for i = 0, 99999 do redis.call('ZADD', KEYS[1], i % 1000, 'm' .. "
                               "i) end return 1",
                               "1", "bench:board"});
    redisFree(c);
}

static void bare_add(bench_worker *w)
{
    char name[16];
    name_member(w->steps, name);
    bare_call(w->own, 4, (const char *[]){"ZINCRBY", "bench:board", "1", name});
}

static void bare_add_ties(bench_worker *w)
{
    char name[16];
    name_member(w->steps, name);
    bare_call(w->own, 6, (const char *[]){"EVALSHA", ties_sha1, "1", "bench:board", name, "1"});
}

static void bare_rank(bench_worker *w)
{
    char name[16];
    name_member(w->steps, name);
    bare_call(w->own, 3, (const char *[]){"ZREVRANK", "bench:board", name});
}

static void bare_around(bench_worker *w)
{
    char name[16];
    name_member(w->steps, name);
    bare_call(w->own, 5, (const char *[]){"EVALSHA", around_sha1, "1", "bench:board", name});
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_board *board;
} scene;

static void fill_board(tkl_board *board)
{
    enum { SOME = 10000 };
    static char names[SOME][16];
    static tkl_board_score scores[SOME];
    int64_t count;
    check(tkl_board_count(board, &count));
    for (int from = 0; count == 0 && from < MEMBERS; from += SOME) {
        for (int i = 0; i < SOME; i++) {
            snprintf(names[i], sizeof names[i], "m%d", from + i);
            scores[i] = (tkl_board_score){tkl_str(names[i]), (from + i) % 1000};
        }
        check(tkl_board_set(board, scores, SOME, NULL));
    }
}

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_board_open(s->client, tkl_str("bench"), NULL, &s->board));
    fill_board(s->board);
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_board_close(s->board);
    tkl_close(s->client);
    free(s);
}

static void add_one(bench_worker *w)
{
    scene *s = w->run->shared;
    char name[16];
    name_member(w->steps, name);
    check(tkl_board_add(s->board, &(tkl_board_score){tkl_str(name), 1}, 1, NULL));
}

static void add_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    static char names[BATCH][16];
    tkl_board_score scores[BATCH];
    for (uint64_t i = 0; i < BATCH; i++) {
        name_member(w->steps * BATCH + i, names[i]);
        scores[i] = (tkl_board_score){tkl_str(names[i]), 1};
    }
    check(tkl_board_add(s->board, scores, BATCH, NULL));
}

static void rank_one(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_board_entries *entries;
    char name[16];
    name_member(w->steps, name);
    tkl_bytes member = tkl_str(name);
    check(tkl_board_rank(s->board, &member, 1, &entries));
    tkl_board_entries_free(entries);
}

static void around_one(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_board_entries *entries;
    char name[16];
    name_member(w->steps, name);
    check(tkl_board_around(s->board, tkl_str(name), 5, 5, &entries));
    tkl_board_entries_free(entries);
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "board add, 100,000 members",
     .unit = "adds/s",
     .prepare = fill_bare,
     .contenders = {{.name = "hiredis, ZINCRBY", BARE(bare_add)},
                    {.name = "hiredis, ties in the score's last bits",
                     .role = BENCH_YARDSTICK,
                     .open = bare_open,
                     .step = bare_add_ties,
                     .close = bare_close},
                    {.name = "tackle", OURS(add_one)},
                    {.name = "tackle, 250 at a time", .batch = BATCH, OURS(add_batch)}}},
    {.name = "board rank, 100,000 members",
     .unit = "ranks/s",
     .prepare = fill_bare,
     .contenders = {{.name = "hiredis, ZREVRANK", BARE(bare_rank)},
                    {.name = "tackle", OURS(rank_one)}}},
    {.name = "board around a member, 11 of 100,000",
     .unit = "lists/s",
     .prepare = fill_bare,
     .contenders = {{.name = "hiredis, EVALSHA", BARE(bare_around)},
                    {.name = "tackle", OURS(around_one)}}},
    {.name = NULL},
};

const bench_component board_bench = {"board", cases};
