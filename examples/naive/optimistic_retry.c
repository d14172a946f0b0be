/* SPDX-License-Identifier: MIT
 *
 * Set if unchanged, as WATCH, MULTI and EXEC do: of all that have read the same value one succeeds,
 * and the others begin again. Six writers that meet need 21 attempts.
 */
#include <sys/wait.h>

#include "naive.h"

enum { WRITERS = 6 };

#define IF_UNCHANGED                                              \
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end " \
    "redis.call('INCR', KEYS[1]) return 1"

/* Returns the attempts that were for nothing. */
static int add_naively(void)
{
    int tried = 0;
    COMMAND("SET", "naive-sum", "0");
    for (int left = WRITERS; left > 0;) {
        char seen[16];
        snprintf(seen, sizeof seen, "%s", tkl_reply_str(COMMAND("GET", "naive-sum")));
        int won = 0;
        for (int writer = 0; writer < left; writer++, tried++)
            won += (int)tkl_reply_int(COMMAND("EVAL", IF_UNCHANGED, "1", "naive-sum", seen));
        left -= won;
    }
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
