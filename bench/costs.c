/* SPDX-License-Identifier: MIT
 *
 * The server's processor time for one operation, with reading and answering, against the same
 * writes by bare commands in one pipeline. All run on one server, in turns, and the least of many
 * short runs counts. The bare commands check nothing: no settings, no owner, no room, no change of
 * the hour.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"
#include "shelf.h"

typedef struct scene {
    bench_shelf *shelf;
    redisContext *bare;
    int sent; /* bare commands whose replies are to come */
    tkl_log *log;
    tkl_online *set, *bitmap;
    tkl_session *store;
    char token[TKL_TOKEN_SIZE];
    tkl_config *config;
    tkl_stats *stats;
} scene;

/* One server for all cases and rounds. */
static scene *stage(void)
{
    static scene *s;
    if (s)
        return s;
    s = ours_alloc(sizeof *s);
    s->shelf = shelf_open();
    s->bare = bare_connect(s->shelf->socket);
    tkl_client *client = s->shelf->client;
    check(tkl_log_open(client, tkl_str("app"), NULL, &s->log));
    tkl_online_options options = {.kind = TKL_ONLINE_SET};
    check(tkl_online_open(client, tkl_str("set"), &options, &s->set));
    options.kind = TKL_ONLINE_BITMAP;
    check(tkl_online_open(client, tkl_str("bitmap"), &options, &s->bitmap));
    check(tkl_session_open(client, tkl_str("shop"), NULL, &s->store));
    check(tkl_session_create(s->store, tkl_str("alice"), 0, s->token));
    check(tkl_config_open(client, tkl_str("limits"), tkl_str("bench"), NULL, &s->config));
    check(tkl_stats_open(client, tkl_str("time"), NULL, &s->stats));
    return s;
}

/* Sends one of the bare commands of a step, and reads the replies of all of them. */
#define SEND(s, ...)                                                     \
    send_bare(s, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
              (const char *[]){__VA_ARGS__})

static void send_bare(scene *s, size_t argc, const char **argv)
{
    if (redisAppendCommandArgv(s->bare, (int)argc, argv, NULL) != REDIS_OK)
        bench_die("out of memory");
    s->sent++;
}

static void receive_bare(scene *s)
{
    for (; s->sent > 0; s->sent--) {
        redisReply *reply;
        if (redisGetReply(s->bare, (void **)&reply) != REDIS_OK || reply->type == REDIS_REPLY_ERROR)
            bench_die("a bare command failed");
        freeReplyObject(reply);
    }
}

/* ---- Logs ---------------------------------------------------------------- */

#define MESSAGE "disk nearly full on the third machine of the second row"

static void write_bare(void *arg, uint64_t number)
{
    scene *s = arg;
    (void)number;
    SEND(s, "XADD", "recent", "MAXLEN", "100", "*", "m", MESSAGE);
    SEND(s, "PEXPIRE", "recent", "2592000000");
    SEND(s, "ZINCRBY", "this", "1", MESSAGE);
    SEND(s, "HINCRBY", "hour", "0:" MESSAGE, "1");
    receive_bare(s);
}

static void write_ours(void *arg, uint64_t number)
{
    tkl_log_message message = {.severity = TKL_LOG_INFO, .text = tkl_str(MESSAGE)};
    (void)number;
    check(tkl_log_write(((scene *)arg)->log, &message, 1));
}

/* ---- Online users -------------------------------------------------------- */

static void mark_set_bare(void *arg, uint64_t number)
{
    scene *s = arg;
    char user[24];
    snprintf(user, sizeof user, "%llu", (unsigned long long)number % 1000);
    SEND(s, "SADD", "day", user);
    SEND(s, "PEXPIRE", "day", "2592000000");
    receive_bare(s);
}

static void mark_bitmap_bare(void *arg, uint64_t number)
{
    scene *s = arg;
    char user[24];
    snprintf(user, sizeof user, "%llu", (unsigned long long)number % 1000);
    SEND(s, "SETBIT", "bits", user, "1");
    SEND(s, "PEXPIRE", "bits", "2592000000");
    receive_bare(s);
}

static void mark(tkl_online *online, uint64_t number)
{
    char user[24];
    snprintf(user, sizeof user, "%llu", (unsigned long long)number % 1000);
    tkl_bytes users[] = {tkl_str(user)};
    check(tkl_online_mark(online, users, 1, NULL));
}

static void mark_set_ours(void *arg, uint64_t number)
{
    mark(((scene *)arg)->set, number);
}

static void mark_bitmap_ours(void *arg, uint64_t number)
{
    mark(((scene *)arg)->bitmap, number);
}

/* ---- Sessions ------------------------------------------------------------ */

static const char *item_of(uint64_t number)
{
    static const char *const items[] = {"teapot", "cup", "saucer", "spoon"};
    return items[number % 4];
}

static void touch_bare(void *arg, uint64_t number)
{
    scene *s = arg;
    char now[24];
    snprintf(now, sizeof now, "%llu", (unsigned long long)(1700000000000 + number));
    SEND(s, "HGET", "sessions", "id");
    SEND(s, "ZADD", "ends", now, "id");
    SEND(s, "ZADD", "items", now, item_of(number));
    SEND(s, "ZREMRANGEBYRANK", "items", "0", "-26");
    SEND(s, "ZINCRBY", "ranking", "1", item_of(number));
    SEND(s, "PEXPIRE", "items", "86400000");
    receive_bare(s);
}

static void touch_ours(void *arg, uint64_t number)
{
    scene *s = arg;
    tkl_session_view view = {.token = s->token, .item = tkl_str(item_of(number))};
    check(tkl_session_touch(s->store, &view, 1, NULL));
}

/* ---- Configuration ------------------------------------------------------- */

#define VALUE "{\"results\": 50}"

static void set_bare(void *arg, uint64_t number)
{
    scene *s = arg;
    char version[24], request[40];
    snprintf(version, sizeof version, "%llu", (unsigned long long)number);
    snprintf(request, sizeof request, "%032llx", (unsigned long long)number);
    SEND(s, "SPUBLISH", "versions", version);
    SEND(s, "LPUSH", "versions", "author", "1700000000000", VALUE, version);
    SEND(s, "LTRIM", "versions", "0", "39");
    SEND(s, "ZADD", "requests", version, request);
    receive_bare(s);
}

static void set_ours(void *arg, uint64_t number)
{
    (void)number;
    check(tkl_config_set(((scene *)arg)->config, tkl_str(VALUE), NULL, NULL));
}

/* ---- Statistics ---------------------------------------------------------- */

static void record_bare(void *arg, uint64_t number)
{
    scene *s = arg;
    (void)number;
    SEND(s, "HINCRBY", "time", "count", "1");
    SEND(s, "HINCRBYFLOAT", "time", "sum", "0.125");
    SEND(s, "HINCRBYFLOAT", "time", "sumsq", "0.015625");
    SEND(s, "HINCRBY", "time", "1291", "1");
    SEND(s, "HMGET", "time", "min", "max");
    SEND(s, "HSET", "time", "min", "0.125", "max", "0.125");
    SEND(s, "HINCRBY", "total", "count", "1");
    SEND(s, "HINCRBYFLOAT", "total", "sum", "0.125");
    SEND(s, "ZADD", "rank", "0.125", "bench");
    receive_bare(s);
}

static void record_ours(void *arg, uint64_t number)
{
    tkl_stats_value value = {.context = tkl_str("bench"), .value = 0.125};
    (void)number;
    check(tkl_stats_record(((scene *)arg)->stats, &value, 1));
}

/* ---- Cases --------------------------------------------------------------- */

/* The measures of an operation. */
#define MEASURES(name, bare, ours)                          \
    static double name##_by_commands(const bench_run *run)  \
    {                                                       \
        (void)run;                                          \
        return shelf_cpu_us(stage()->shelf, bare, stage()); \
    }                                                       \
    static double name##_by_tackle(const bench_run *run)    \
    {                                                       \
        (void)run;                                          \
        return shelf_cpu_us(stage()->shelf, ours, stage()); \
    }

MEASURES(log, write_bare, write_ours)
MEASURES(set, mark_set_bare, mark_set_ours)
MEASURES(bitmap, mark_bitmap_bare, mark_bitmap_ours)
MEASURES(session, touch_bare, touch_ours)
MEASURES(config, set_bare, set_ours)
MEASURES(stats, record_bare, record_ours)

/* The aim: 1.5 times the bare commands. */
#define COST(what, count, measures)                                                         \
    {                                                                                       \
        .name = what ", the server's processor time", .unit = "us", .rise_at_most = 1.5,    \
        .contenders = {{.name = count " bare commands", .measure = measures##_by_commands}, \
                       {.name = "tackle", .measure = measures##_by_tackle}},                \
    }

static const bench_case cases[] = {
    COST("log write", "4", log),
    COST("online mark, a set", "2", set),
    COST("online mark, a bitmap", "2", bitmap),
    COST("session touch with an item", "6", session),
    COST("config set", "4", config),
    COST("stats record", "9", stats),
    {.name = NULL},
};

const bench_component costs_bench = {"costs", cases};
