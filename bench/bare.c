/* SPDX-License-Identifier: MIT */
#include "bare.h"

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
