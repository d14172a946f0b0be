/* SPDX-License-Identifier: MIT
 *
 * A semaphore of one permit that is a sorted set: the program with rank 0 has the permit. Bob
 * comes later and gets rank 0 all the same, because his clock is slow, or because he took his
 * number earlier.
 */
#include "naive.h"

/* Enters a program with its score. True: it has the permit now. */
static bool enter_semaphore(const char *who, const char *score)
{
    COMMAND("ZADD", "naive-permits", score, who);
    return tkl_reply_int(COMMAND("ZRANK", "naive-permits", who)) == 0;
}

/* The scores are times, and the clock of Bob is 10 ms behind. Returns the holders too many. */
static int enter_by_clock(void)
{
    int holders = enter_semaphore("ann", "1000");
    holders += enter_semaphore("bob", "995"); /* 5 ms after Ann */
    COMMAND("DEL", "naive-permits");
    return holders - 1;
}

/* The scores are numbers from a counter. Bob pauses between his number and his entry. */
static int enter_by_number(void)
{
    char bob[24], ann[24];
    snprintf(bob, sizeof bob, "%" PRId64, tkl_reply_int(COMMAND("INCR", "naive-number")));
    snprintf(ann, sizeof ann, "%" PRId64, tkl_reply_int(COMMAND("INCR", "naive-number")));
    int holders = enter_semaphore("ann", ann);
    holders += enter_semaphore("bob", bob);
    COMMAND("DEL", "naive-permits", "naive-number");
    return holders - 1;
}

/* The server gives place and permit in one step, by its own clock. */
static int enter_by_semaphore(void)
{
    tkl_semaphore *ann, *bob;
    check(tkl_semaphore_open(client, tkl_str("naive-permits"), 1, NULL, &ann));
    check(tkl_semaphore_open(client, tkl_str("naive-permits"), 1, NULL, &bob));
    int holders = tkl_semaphore_acquire(ann, 0) == TKL_OK;
    holders += tkl_semaphore_acquire(bob, 0) == TKL_OK;
    tkl_semaphore_close(bob);
    tkl_semaphore_close(ann);
    return holders - 1;
}

int main(void)
{
    open_client();
    int naive = enter_by_clock() + enter_by_number(), ours = enter_by_semaphore();
    return compare("holders too many", naive, ours);
}
