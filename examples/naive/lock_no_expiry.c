/* SPDX-License-Identifier: MIT
 *
 * A lock by SETNX, without an expiry. Its holder dies, and no program gets the lock any more.
 */
#include <signal.h>
#include <sys/wait.h>

#include "naive.h"

static bool take_naively(void)
{
    return tkl_reply_int(COMMAND("SETNX", "naive-door", "1")) == 1;
}

static bool take_lease(void)
{
    tkl_lock *door;
    tkl_lock_options brief = {.lease_ms = 100};
    check(tkl_lock_open(client, tkl_str("naive-door"), &brief, &door));
    return tkl_lock_acquire(door, 0) == TKL_OK;
}

/* Runs a program that takes the lock and is killed. */
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

/* Returns how many are shut out for good: the key is there, and has no expiry. */
static int wait_naively(void)
{
    take_and_die(take_naively);
    int shut_out = !take_naively() && tkl_reply_int(COMMAND("PTTL", "naive-door")) == -1;
    COMMAND("DEL", "naive-door");
    return shut_out;
}

/* The lease of the dead holder ends, and the waiter gets the lock. */
static int wait_by_lock(void)
{
    tkl_lock *door;
    take_and_die(take_lease);
    check(tkl_lock_open(client, tkl_str("naive-door"), NULL, &door));
    int shut_out = tkl_lock_acquire(door, 10000) != TKL_OK;
    tkl_lock_close(door);
    return shut_out;
}

int main(void)
{
    open_client();
    int naive = wait_naively(), ours = wait_by_lock();
    return compare("programs that are shut out for ever", naive, ours);
}
