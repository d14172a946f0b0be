/* SPDX-License-Identifier: MIT
 *
 * Waiting by asking again: SET NX, sleep 10 ms, SET NX. Bob waits half a second for the lock of
 * Ann, and 50 of his commands are for nothing. A waiter in line sends a few, however long it waits.
 */
#include <pthread.h>

#include "naive.h"

enum { ROUNDS = 50, PAUSE_US = 10000 };

static bool take_lock(const char *who)
{
    return !tkl_reply_is_nil(COMMAND("SET", "naive-door", who, "NX", "PX", "60000"));
}

/* Returns the commands that Bob needs. */
static int64_t wait_naively(void)
{
    int64_t asked = 0;
    if (!take_lock("ann"))
        exit(1);
    while (asked < ROUNDS) { /* Ann is at work as long */
        if (take_lock("bob"))
            exit(1);
        asked++;
        usleep(PAUSE_US);
    }
    COMMAND("DEL", "naive-door"); /* free; and it stays free until Bob wakes up and asks */
    if (!take_lock("bob"))
        exit(1);
    COMMAND("DEL", "naive-door");
    return asked + 1;
}

static void *stand_in_line(void *bob)
{
    check(tkl_lock_acquire(bob, 60000));
    return NULL;
}

static bool has_waiter(tkl_lock *lock)
{
    tkl_holders *holders;
    check(tkl_lock_show(lock, &holders));
    bool waits = holders->waiters > 0;
    tkl_holders_free(holders);
    return waits;
}

/* Requests of this program so far. */
static int64_t count_requests(void)
{
    tkl_client_stats stats;
    tkl_client_stats_get(client, &stats);
    return stats.calls;
}

/* The release hands the lock to the first waiter in line, and wakes it. */
static int64_t wait_by_lock(void)
{
    tkl_lock *ann, *bob;
    pthread_t thread;
    check(tkl_lock_open(client, tkl_str("naive-door"), NULL, &ann));
    check(tkl_lock_open(client, tkl_str("naive-door"), NULL, &bob));
    check(tkl_lock_acquire(ann, 0));
    int64_t of_others = count_requests() + 1; /* the release of Ann */
    if (pthread_create(&thread, NULL, stand_in_line, bob) != 0)
        exit(1);
    do
        of_others++; /* each look at the line */
    while (!has_waiter(ann));
    usleep(ROUNDS * PAUSE_US); /* Ann is at work as long */
    check(tkl_lock_release(ann));
    pthread_join(thread, NULL);
    int64_t of_bob = count_requests() - of_others;
    tkl_lock_close(bob);
    tkl_lock_close(ann);
    return of_bob;
}

int main(void)
{
    open_client();
    int64_t naive = wait_naively(), ours = wait_by_lock();
    return compare_less("commands of one waiter", naive, ours);
}
