/* SPDX-License-Identifier: MIT
 *
 * Messages written to a log, against a bare script that does the same writes: the message into a
 * trimmed stream, its count into a sorted set, the expiry. With 16 threads the server is the limit:
 * there the bare connections run the same script as tackle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "core/script.h"
#include "ours.h"

enum { BATCH = 100 };

extern const tkl__script tkl__lua_log_write;

/* ---- Bare hiredis -------------------------------------------------------- */

static const char least[] = "redis.call('XADD', KEYS[1], 'MAXLEN', 100, '*', 'm', ARGV[1]) "
                            "redis.call('PEXPIRE', KEYS[1], 2592000000) "
                            "redis.call('ZINCRBY', KEYS[2], 1, ARGV[1]) return 1";

static char sha1[BARE_SHA1_SIZE];

static void load_script(const bench_run *run)
{
    redisContext *c = bare_connect(run->socket);
    bare_load(run, least, sha1);
    bare_load_library(c, tkl__lua_log_write.library->source);
    redisFree(c);
}

#define WORDS 6
#define WORDS_OF_A_WRITE                                           \
    (const char *[])                                               \
    {                                                              \
        "EVALSHA", sha1, "2", "recent", "this", "disk nearly full" \
    }

static void bare_write(bench_worker *w)
{
    bare_call(w->own, WORDS, WORDS_OF_A_WRITE);
}

static void bare_batch(bench_worker *w)
{
    bare_pipeline(w->own, BATCH, WORDS, WORDS_OF_A_WRITE);
}

static void bare_same(bench_worker *w)
{
    const char *argv[] = {"FCALL",
                          tkl__lua_log_write.function,
                          "6",
                          "tackle:log:{bench}:batch:",
                          "tackle:log:{bench}:recent:warning",
                          "tackle:log:{bench}:this:warning",
                          "tackle:log:{bench}:hour:warning",
                          "tackle:log:{bench}:last:warning",
                          "tackle:log:{bench}:last_hour:warning",
                          "",
                          "",
                          "100",
                          "1000",
                          "2592000000",
                          "1",
                          "disk nearly full"};
    bare_call(w->own, sizeof argv / sizeof *argv, argv);
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_log *log;
    tkl_log_writer *writer;
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_log_open(s->client, tkl_str("bench"), NULL, &s->log));
    check(tkl_log_writer_open(s->log, NULL, &s->writer));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    check(tkl_log_writer_close(s->writer, NULL));
    tkl_log_close(s->log);
    tkl_close(s->client);
    free(s);
}

static const tkl_log_message message = {.severity = TKL_LOG_WARNING,
                                        .text = TKL_LIT("disk nearly full")};

static void write_one(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_log_write(s->log, &message, 1));
}

static void write_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_log_message messages[BATCH];
    for (int i = 0; i < BATCH; i++)
        messages[i] = message;
    check(tkl_log_write(s->log, messages, BATCH));
}

static void collect_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    for (int i = 0; i < BATCH; i++)
        check(tkl_log_writer_write(s->writer, message.severity, message.text));
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "log write, 1 thread",
     .unit = "messages/s",
     .at_least = 0.8,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, EVALSHA", BARE(bare_write)},
                    {.name = "tackle", OURS(write_one)}}},
    {.name = "log write, 16 threads",
     .unit = "messages/s",
     .at_least = 0.95,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, 16 connections", .workers = 16, BARE(bare_same)},
                    {.name = "tackle, one client", .workers = 16, OURS(write_one)}}},
    {.name = "log writes, 100 at a time",
     .unit = "messages/s",
     .at_least = 0.8,
     .enough = 60000,
     .prepare = load_script,
     .contenders = {{.name = "hiredis, pipelines", .batch = BATCH, BARE(bare_batch)},
                    {.name = "tackle", .batch = BATCH, OURS(write_batch)},
                    {.name = "tackle, collecting writer", .batch = BATCH, OURS(collect_batch)}}},
    {.name = NULL},
};

const bench_component log_bench = {"log", cases};
