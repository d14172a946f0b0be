/* SPDX-License-Identifier: MIT
 *
 * Channels: publishing against a bare PUBLISH and XADD in one write, alone and in batches; a
 * message until a follower in another client has it.
 */
#include <stdio.h>
#include <string.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

enum { BATCH = 100, TRIPS = 200 };

static const char *const text = "the price of apples is 42, and that of pears is 17 today";

/* ---- Bare ---------------------------------------------------------------- */

static void bare_publish_times(bench_worker *w, int times)
{
    redisContext *c = w->own;
    const char *add[] = {"XADD", "bench:{channel}:stream", "MAXLEN", "~", "1000", "*", "m", text};
    const char *tell[] = {"SPUBLISH", "bench:{channel}", text};
    redisReply *reply;
    for (int i = 0; i < times; i++) {
        redisAppendCommandArgv(c, 8, add, NULL);
        redisAppendCommandArgv(c, 3, tell, NULL);
    }
    for (int i = 0; i < 2 * times; i++) {
        if (redisGetReply(c, (void **)&reply) != REDIS_OK)
            bench_die("%s", c->errstr);
        freeReplyObject(reply);
    }
}

static void bare_publish(bench_worker *w)
{
    bare_publish_times(w, 1);
}

static void bare_batch(bench_worker *w)
{
    bare_publish_times(w, BATCH);
}

/* ---- tackle -------------------------------------------------------------- */

static tkl_channel *channel;

static void channel_setup(bench_run *run, const bench_contender *self)
{
    run->shared = ours_client(run, self);
    check(tkl_channel_open(run->shared, tkl_str("bench"), NULL, &channel));
}

static void channel_teardown(bench_run *run)
{
    tkl_channel_close(channel);
    tkl_close(run->shared);
}

static void ours_publish(bench_worker *w)
{
    tkl_bytes message = tkl_str(text);
    (void)w;
    check(tkl_channel_publish(channel, &message, 1, NULL));
}

static void ours_batch(bench_worker *w)
{
    tkl_bytes messages[BATCH];
    (void)w;
    for (int i = 0; i < BATCH; i++)
        messages[i] = tkl_str(text);
    check(tkl_channel_publish(channel, messages, BATCH, NULL));
}

/* The time from the call that publishes until the follower of another client has the message. */
static double deliver_us(const bench_run *run)
{
    bench_run own = *run;
    tkl_client *client;
    tkl_channel *other;
    tkl_channel_follower *follower;
    tkl_channel_messages *messages;
    tkl_bytes message = tkl_str(text);
    int64_t total = 0;
    channel_setup(&own, &(bench_contender){.name = "tackle"});
    check(tkl_open(run->url, NULL, &client));
    check(tkl_channel_open(client, tkl_str("bench"), NULL, &other));
    check(tkl_channel_follow(other, NULL, &follower));
    if (tkl_channel_next(follower, 0, 0, &messages) != TKL_EMPTY)
        bench_die("a message came too early");
    for (int i = 0; i < TRIPS; i++) {
        int64_t start = bench_now_ns();
        check(tkl_channel_publish(channel, &message, 1, NULL));
        check(tkl_channel_next(follower, 0, -1, &messages));
        total += bench_now_ns() - start;
        tkl_channel_messages_free(messages);
    }
    tkl_channel_follower_close(follower);
    tkl_channel_close(other);
    tkl_close(client);
    channel_teardown(&own);
    return (double)total / TRIPS / 1000;
}

#define OURS(function) .setup = channel_setup, .step = function, .teardown = channel_teardown

static const bench_case cases[] = {
    {.name = "Channel publish",
     .unit = "ops/s",
     .contenders = {{.name = "hiredis, XADD and SPUBLISH in one write", BARE(bare_publish)},
                    {.name = "tackle", OURS(ours_publish)},
                    {.name = "NATS JetStream",
                     .role = BENCH_PEER,
                     .command =
                         "/usr/bin/python3 " TACKLE_SOURCE_DIR "/bench/peers/jetstream.py"}}},
    {.name = "Channel publish, 100 messages",
     .unit = "ops/s",
     .contenders = {{.name = "hiredis, XADD and SPUBLISH in one write", BARE(bare_batch)},
                    {.name = "tackle", OURS(ours_batch)}}},
    {.name = "Channel, until another follower has a message",
     .unit = "us",
     .contenders = {{.name = "tackle", .measure = deliver_us}}},
    {.name = NULL},
};

const bench_component channel_bench = {"channel", cases};
