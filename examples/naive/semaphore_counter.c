/* SPDX-License-Identifier: MIT
 *
 * A semaphore that is a counter. A program that dies does not count down, and its permit is lost.
 */
#include <signal.h>
#include <sys/wait.h>

#include "naive.h"

enum { LIMIT = 2 };

/* Takes a permit; counts down again when there was none. */
static bool count_up(void)
{
    if (tkl_reply_int(COMMAND("INCR", "naive-seats")) <= LIMIT)
        return true;
    COMMAND("DECR", "naive-seats");
    return false;
}

/* Runs a program that takes a permit and is killed. */
static void take_and_die(bool (*take)(void))
{
    pid_t child = fork();
    if (child == 0) {
        if (take())
            raise(SIGKILL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static bool take_permit(void)
{
    tkl_semaphore *seats;
    tkl_semaphore_options brief = {.lease_ms = 100};
    check(tkl_semaphore_open(client, tkl_str("naive-seats"), LIMIT, &brief, &seats));
    return tkl_semaphore_acquire(seats, 0) == TKL_OK;
}

/* The permits that are lost for good after all holders have died. */
static int lose_naively(void)
{
    for (int i = 0; i < LIMIT; i++)
        take_and_die(count_up);
    int left = 0;
    while (left < LIMIT && count_up())
        left++;
    COMMAND("DEL", "naive-seats");
    return LIMIT - left;
}

/* A permit has a lease, which ends by itself: then the waiter gets the permit. */
static int lose_by_semaphore(void)
{
    tkl_semaphore *seats[LIMIT];
    int left = 0;
    for (int i = 0; i < LIMIT; i++)
        take_and_die(take_permit);
    for (int i = 0; i < LIMIT; i++) {
        check(tkl_semaphore_open(client, tkl_str("naive-seats"), LIMIT, NULL, &seats[i]));
        left += tkl_semaphore_acquire(seats[i], 10000) == TKL_OK;
    }
    for (int i = 0; i < LIMIT; i++)
        tkl_semaphore_close(seats[i]);
    return LIMIT - left;
}

int main(void)
{
    open_client();
    int naive = lose_naively(), ours = lose_by_semaphore();
    return compare("permits lost with their holders", naive, ours);
}
