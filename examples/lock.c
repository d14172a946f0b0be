/* SPDX-License-Identifier: MIT
 *
 * A register that is safe from late writers.
 *
 * Four tellers add to one balance: read, add, write, under a lock. Then one of them falls asleep
 * with the lock in its hand. Its lease ends, another takes over, and when the sleeper
 * wakes up and writes its old sum, the register refuses: its fence is too low. A lock alone cannot
 * do that, since any time may pass between "do I still hold it?" and the write.
 *
 *     TACKLE_URL=redis://localhost examples/lock
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

enum { TELLERS = 4, ROUNDS = 5 };

static tkl_client *client;

static void check(int code, const char *what)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, code < 0 ? tkl_errmsg() : tkl_strerror(code));
    exit(1);
}

static tkl_lock *open_lock(int64_t lease_ms)
{
    tkl_lock *lock;
    tkl_lock_options options = {.lease_ms = lease_ms, .label = "teller"};
    check(tkl_lock_open(client, tkl_str("balance"), &options, &lock), "open");
    return lock;
}

/* ---- The register: a table with a column for the fence would do the same --- */

static struct {
    pthread_mutex_t mutex;
    uint64_t fence; /* the highest it has seen */
    int balance;
} account = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int read_balance(void)
{
    pthread_mutex_lock(&account.mutex);
    int balance = account.balance;
    pthread_mutex_unlock(&account.mutex);
    return balance;
}

/* UPDATE account SET balance = ?, fence = ? WHERE fence <= ? */
static bool write_balance(int balance, uint64_t fence)
{
    pthread_mutex_lock(&account.mutex);
    bool accepted = fence >= account.fence;
    if (accepted) {
        account.fence = fence;
        account.balance = balance;
    }
    pthread_mutex_unlock(&account.mutex);
    return accepted;
}

/* ---- Tellers that do as they should ------------------------------------------ */

static void *work(void *unused)
{
    tkl_lock *lock = open_lock(0);
    for (int i = 0; i < ROUNDS; i++) {
        check(tkl_lock_acquire(lock, 60000), "acquire");
        if (!write_balance(read_balance() + 1, tkl_lock_fence(lock)))
            check(TKL_ELOST, "write");
        check(tkl_lock_release(lock), "release");
    }
    tkl_lock_close(lock);
    return unused;
}

static void all_work(void)
{
    pthread_t tellers[TELLERS];
    for (int i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, work, NULL);
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    printf("%d tellers, %d rounds each: %d\n", TELLERS, ROUNDS, read_balance());
}

/* ---- One that falls asleep ---------------------------------------------------- */

static void fall_asleep(void)
{
    tkl_lock *sleeper = open_lock(1000), *next = open_lock(0);
    check(tkl_lock_acquire(sleeper, 60000), "acquire");
    int balance = read_balance();
    uint64_t fence = tkl_lock_fence(sleeper);

    /* The sleeper neither renews nor releases: the next in line gets the lock when the lease
     * ends. */
    check(tkl_lock_acquire(next, 60000), "acquire");
    if (!write_balance(balance + 100, tkl_lock_fence(next)))
        check(TKL_ELOST, "write");
    check(tkl_lock_release(next), "release");

    bool accepted = write_balance(balance + 1, fence);
    printf("the sleeper's write: %s\n", accepted ? "accepted" : "refused");
    printf("the sleeper's lock: %s\n", tkl_lock_state(sleeper) == TKL_HOLD_LOST ? "lost" : "held");
    printf("the sleeper's release: %s\n", tkl_strerror(tkl_lock_release(sleeper)));
    printf("balance: %d\n", read_balance());
    if (accepted || read_balance() != balance + 100)
        exit(1);
    tkl_lock_close(sleeper);
    tkl_lock_close(next);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    check(tkl_open(url ? url : "embedded:", NULL, &client), "open");
    all_work();
    fall_asleep();
    tkl_close(client);
    return account.balance == TELLERS * ROUNDS + 100 ? 0 : 1;
}
