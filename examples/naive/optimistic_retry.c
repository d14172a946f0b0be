/* SPDX-License-Identifier: MIT
 *
 * Optimistic locking with WATCH, MULTI and EXEC: of all writers that have read the same value one
 * succeeds, and the others begin again. Six writers that meet need 21 attempts. WATCH needs a
 * connection for each writer, here with hiredis: link with -lhiredis.
 */
#include <hiredis/hiredis.h>
#include <sys/wait.h>

#include "naive.h"

enum { WRITERS = 6 };

/* Sends one command on a connection; its reply is valid until the next one. */
static redisReply *send_on(redisContext *redis, const char *line, int number)
{
    static redisReply *reply;
    if (reply != NULL)
        freeReplyObject(reply);
    reply = redisCommand(redis, line, number);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
        exit(1);
    return reply;
}

static int watch_and_read(redisContext *redis)
{
    send_on(redis, "WATCH naive-sum", 0);
    return atoi(send_on(redis, "GET naive-sum", 0)->str);
}

/* Returns whether the number was written: no other writer has written since WATCH. */
static bool write_if_unchanged(redisContext *redis, int number)
{
    send_on(redis, "MULTI", 0);
    send_on(redis, "SET naive-sum %d", number);
    return send_on(redis, "EXEC", 0)->type != REDIS_REPLY_NIL;
}

/* Returns the attempts that were for nothing. */
static int add_naively(void)
{
    redisContext *writers[WRITERS];
    char path[200];
    int tried = 0, seen[WRITERS];
    snprintf(path, sizeof path, "%s",
             tkl_reply_str(tkl_reply_at(COMMAND("CONFIG", "GET", "unixsocket"), 1)));
    COMMAND("SET", "naive-sum", "0");
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = redisConnectUnix(path);
        if (writers[i] == NULL || writers[i]->err)
            exit(1);
    }
    for (int left = WRITERS; left > 0;) { /* all that are left read at once, and write */
        int lost = 0;
        for (int i = 0; i < left; i++)
            seen[i] = watch_and_read(writers[i]);
        for (int i = 0; i < left; i++, tried++)
            lost += !write_if_unchanged(writers[i], seen[i] + 1);
        left = lost;
    }
    for (int i = 0; i < WRITERS; i++)
        redisFree(writers[i]);
    return tried - WRITERS;
}

/* A writer: it reads and writes while it has the lock. */
static void add_one(void)
{
    tkl_lock *lock;
    char sum[16];
    check(tkl_lock_open(client, tkl_str("naive-sum"), NULL, &lock));
    check(tkl_lock_acquire(lock, 60000));
    snprintf(sum, sizeof sum, "%d", atoi(tkl_reply_str(COMMAND("GET", "naive-sum"))) + 1);
    COMMAND("SET", "naive-sum", sum);
    tkl_lock_close(lock);
}

/* Six writers at once, one attempt each. */
static int add_by_lock(void)
{
    COMMAND("SET", "naive-sum", "0");
    for (int writer = 0; writer < WRITERS; writer++)
        if (fork() == 0) {
            add_one();
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
    int added = atoi(tkl_reply_str(COMMAND("GET", "naive-sum")));
    COMMAND("DEL", "naive-sum");
    return WRITERS - added;
}

int main(void)
{
    open_client();
    int naive = add_naively(), ours = add_by_lock();
    return compare("attempts for nothing", naive, ours);
}
