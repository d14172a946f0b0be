/* SPDX-License-Identifier: MIT
 *
 * A page of a web site: a session, a limit, a counter, who is online and a log, one after the other
 * and in one pipeline; beside them a pipeline by hand, with the commands that do about the same.
 */
#include <stdlib.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

typedef struct scene {
    tkl_client *client;
    tkl_session *sessions;
    tkl_limit *limit;
    tkl_counter *hits;
    tkl_online *online;
    tkl_log *log;
    tkl_pipeline *pipeline;
    char token[TKL_TOKEN_SIZE];
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    static const tkl_limit_rule rule = {.count = 1000000000, .period_ms = 1000};
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_session_open(s->client, tkl_str("bench"), NULL, &s->sessions));
    check(tkl_limit_open(s->client, tkl_str("bench"), &rule, NULL, &s->limit));
    check(tkl_counter_open(s->client, tkl_str("bench"), NULL, &s->hits));
    check(tkl_online_open(s->client, tkl_str("bench"), NULL, &s->online));
    check(tkl_log_open(s->client, tkl_str("bench"), NULL, &s->log));
    check(tkl_pipeline_open(s->client, NULL, &s->pipeline));
    check(tkl_session_create(s->sessions, tkl_str("alice"), 0, s->token));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_pipeline_close(s->pipeline);
    tkl_log_close(s->log);
    tkl_online_close(s->online);
    tkl_counter_close(s->hits);
    tkl_limit_close(s->limit);
    tkl_session_close(s->sessions);
    tkl_close(s->client);
    free(s);
}

static const tkl_log_message line = {.severity = TKL_LOG_INFO, .text = TKL_LIT("GET /cart")};

static void page_by_parts(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_bytes user = tkl_str("17");
    check(tkl_session_touch(s->sessions, &(tkl_session_view){.token = s->token}, 1, NULL));
    check(tkl_limit_check(s->limit, user, 1, NULL));
    check(tkl_counter_add(s->hits, 1));
    check(tkl_online_mark(s->online, &user, 1, NULL));
    check(tkl_log_write(s->log, &line, 1));
}

static void page_in_one(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_bytes user = tkl_str("17");
    tkl_result results[5];
    tkl_session_view view = {.token = s->token};
    tkl_session_touch_in(s->pipeline, s->sessions, &view, &results[0]);
    tkl_limit_check_in(s->pipeline, s->limit, user, 1, NULL, &results[1]);
    tkl_counter_add_in(s->pipeline, s->hits, 1, &results[2]);
    tkl_online_mark_in(s->pipeline, s->online, user, NULL, &results[3]);
    tkl_log_write_in(s->pipeline, s->log, &line, &results[4]);
    check(tkl_pipeline_run(s->pipeline, NULL, NULL));
    for (int i = 0; i < 5; i++)
        check(results[i].code);
}

/* A page by hand. Its limit has windows of the clock's minutes, it counts no hours, and it merges
 * no equal messages. */
static void page_by_hand(bench_worker *w)
{
    static const char *const commands[][8] = {
        {"EXPIRE", "bench:session", "3600"},
        {"ZADD", "bench:seen", "1763447400", "session"},
        {"INCR", "bench:limit:17"},
        {"EXPIRE", "bench:limit:17", "60"},
        {"HINCRBY", "bench:hits", "1763447400", "1"},
        {"SETBIT", "bench:online", "17", "1"},
        {"LPUSH", "bench:log", "2026-11-18 14:30:00 info GET /cart"},
        {"LTRIM", "bench:log", "0", "999"},
    };
    enum { COUNT = sizeof commands / sizeof *commands };
    redisReply *reply;
    for (int i = 0; i < COUNT; i++) {
        int words = 0;
        while (commands[i][words])
            words++;
        redisAppendCommandArgv(w->own, words, (const char **)commands[i], NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        if (redisGetReply(w->own, (void **)&reply) != REDIS_OK)
            bench_die("the server did not answer");
        freeReplyObject(reply);
    }
}

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "A page with five operations",
     .unit = "pages/s",
     .at_least = 1,
     .contenders = {{.name = "five calls", .role = BENCH_LIMIT, OURS(page_by_parts)},
                    {.name = "one pipeline", OURS(page_in_one)},
                    {.name = "hiredis, a pipeline by hand",
                     .role = BENCH_YARDSTICK,
                     .open = bare_open,
                     .step = page_by_hand,
                     .close = bare_close}}},
    {.name = NULL},
};

const bench_component pipeline_bench = {"pipeline", cases};
