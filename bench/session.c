/* SPDX-License-Identifier: MIT
 *
 * Uses of sessions, against a bare script that does the same writes: the time of the session, the
 * item among its recent ones, its views in the ranking, the expiries.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "ours.h"

enum { BATCH = 100, SESSIONS = 100 };

/* ---- Bare hiredis -------------------------------------------------------- */

static const char least[] = "if not redis.call('HGET', KEYS[1], ARGV[1]) then redis.call('HSET', "
                            "KEYS[1], ARGV[1], 'x') end "
                            "local t = redis.call('TIME') local now = t[1] * 1000000 + t[2] "
                            "redis.call('ZADD', KEYS[2], now, ARGV[1]) "
                            "redis.call('ZADD', KEYS[4], now, ARGV[2]) "
                            "redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -26) "
                            "redis.call('ZINCRBY', KEYS[3], 1, ARGV[2]) "
                            "for i = 1, 4 do redis.call('PEXPIRE', KEYS[i], 86400000) end return 1";

static char sha1[BARE_SHA1_SIZE];

static void load_script(const bench_run *run)
{
    bare_load(run, least, sha1);
}

#define WORDS 9
#define WORDS_OF_A_USE                                                               \
    (const char *[])                                                                 \
    {                                                                                \
        "EVALSHA", sha1, "4", "sessions", "ends", "ranking", "items", "id", "teapot" \
    }

static void bare_touch(bench_worker *w)
{
    bare_call(w->own, WORDS, WORDS_OF_A_USE);
}

static void bare_batch(bench_worker *w)
{
    bare_pipeline(w->own, BATCH, WORDS, WORDS_OF_A_USE);
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_session *store;
    char tokens[SESSIONS][TKL_TOKEN_SIZE];
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_session_open(s->client, tkl_str("bench"), NULL, &s->store));
    for (int i = 0; i < SESSIONS; i++)
        check(tkl_session_create(s->store, tkl_str("alice"), 0, s->tokens[i]));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_session_close(s->store);
    tkl_close(s->client);
    free(s);
}

static tkl_session_view view_of(const scene *s, uint64_t number)
{
    return (tkl_session_view){.token = s->tokens[number % SESSIONS], .item = tkl_str("teapot")};
}

static void touch_one(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_session_view view = view_of(s, w->steps);
    check(tkl_session_touch(s->store, &view, 1, NULL));
}

static void touch_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_session_view views[BATCH];
    for (int i = 0; i < BATCH; i++)
        views[i] = view_of(s, (uint64_t)i);
    check(tkl_session_touch(s->store, views, BATCH, NULL));
}

static void check_one(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_session_info *session;
    check(tkl_session_check(s->store, s->tokens[w->steps % SESSIONS], &session));
    tkl_session_info_free(session);
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "session touch, 1 thread",
     .unit = "uses/s",
     .prepare = load_script,
     .contenders = {{.name = "hiredis, EVALSHA", BARE(bare_touch)},
                    {.name = "tackle", OURS(touch_one)},
                    {.name = "tackle, check", OURS(check_one)}}},
    {.name = "session touches, 100 at a time",
     .unit = "uses/s",
     .prepare = load_script,
     .contenders = {{.name = "hiredis, pipelines", .batch = BATCH, BARE(bare_batch)},
                    {.name = "tackle", .batch = BATCH, OURS(touch_batch)}}},
    {.name = NULL},
};

const bench_component session_bench = {"session", cases};
