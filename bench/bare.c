/* SPDX-License-Identifier: MIT */
#include "bare.h"

#include <stdio.h>

redisContext *bare_connect(const char *socket)
{
    redisContext *c = redisConnectUnix(socket);
    if (!c || c->err)
        bench_die("hiredis cannot connect");
    return c;
}

void bare_open(bench_worker *w)
{
    w->own = bare_connect(w->run->socket);
}

void bare_close(bench_worker *w)
{
    redisFree(w->own);
}

redisReply *bare_ask(redisContext *c, int argc, const char *const *argv)
{
    redisReply *reply = redisCommandArgv(c, argc, (const char **)(uintptr_t)argv, NULL);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        bench_die("hiredis: %s failed", argv[0]);
    return reply;
}

void bare_call(redisContext *c, int argc, const char *const *argv)
{
    freeReplyObject(bare_ask(c, argc, argv));
}

void bare_pipeline(redisContext *c, int count, int argc, const char *const *argv)
{
    redisReply *reply;
    for (int i = 0; i < count; i++)
        redisAppendCommandArgv(c, argc, (const char **)(uintptr_t)argv, NULL);
    for (int i = 0; i < count; i++) {
        if (redisGetReply(c, (void **)&reply) != REDIS_OK)
            bench_die("hiredis: the pipeline failed");
        freeReplyObject(reply);
    }
}

void bare_load_library(redisContext *c, const char *source)
{
    bare_call(c, 4, (const char *[]){"FUNCTION", "LOAD", "REPLACE", source});
}

void bare_load(const bench_run *run, const char *source, char sha1[BARE_SHA1_SIZE])
{
    redisContext *c = bare_connect(run->socket);
    redisReply *reply = bare_ask(c, 3, (const char *[]){"SCRIPT", "LOAD", source});
    snprintf(sha1, BARE_SHA1_SIZE, "%s", reply->str);
    freeReplyObject(reply);
    redisFree(c);
}
