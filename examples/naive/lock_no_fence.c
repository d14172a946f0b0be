/* SPDX-License-Identifier: MIT
 *
 * A holder that sleeps, wakes up and writes. The lock of Ann expires meanwhile, Bob has it and
 * writes; then Ann writes her old sum, and Bob's write is gone.
 */
#include "naive.h"

enum { LEASE_MS = 50, SLEEP_US = 200000 };

static void take_lock(const char *who, const char *ms)
{
    if (tkl_reply_is_nil(COMMAND("SET", "naive-door", who, "NX", "PX", ms)))
        exit(1);
}

static int read_balance(void)
{
    return atoi(tkl_reply_str(COMMAND("HGET", "naive-account", "balance")));
}

static void write_naively(int balance)
{
    char text[16];
    snprintf(text, sizeof text, "%d", balance);
    COMMAND("HSET", "naive-account", "balance", text);
}

/* Ann adds 1 and Bob adds 100. Returns what is missing. */
static int add_naively(void)
{
    write_naively(10);
    take_lock("ann", "50");
    int seen = read_balance();
    usleep(SLEEP_US); /* her machine sleeps for longer than that */
    take_lock("bob", "60000");
    write_naively(read_balance() + 100);
    write_naively(seen + 1); /* Ann wakes up: she has the lock, as far as she knows */
    int missing = 111 - read_balance();
    COMMAND("DEL", "naive-door", "naive-account");
    return missing;
}

/* The account remembers the highest fence, and refuses a lower one. */
#define WRITE_FENCED                                                                            \
    "if tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) > tonumber(ARGV[1]) then return 0 " \
    "end redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'balance', ARGV[2]) return 1"

static bool write_fenced(uint64_t fence, int balance)
{
    char number[24], text[16];
    snprintf(number, sizeof number, "%" PRIu64, fence);
    snprintf(text, sizeof text, "%d", balance);
    return tkl_reply_int(COMMAND("EVAL", WRITE_FENCED, "1", "naive-account", number, text)) == 1;
}

/* Waits for the lock, reads, and writes with its fence. */
static bool add_amount(tkl_lock *lock, int amount)
{
    check(tkl_lock_acquire(lock, 10000));
    bool written = write_fenced(tkl_lock_fence(lock), read_balance() + amount);
    return tkl_lock_release(lock) == TKL_OK && written;
}

/* The late write of Ann is refused. So she begins again, with the present balance. */
static int add_with_fence(void)
{
    tkl_lock *ann, *bob;
    tkl_lock_options brief = {.lease_ms = LEASE_MS};
    check(tkl_lock_open(client, tkl_str("naive-door"), &brief, &ann));
    check(tkl_lock_open(client, tkl_str("naive-door"), NULL, &bob));
    write_naively(10);
    check(tkl_lock_acquire(ann, 10000));
    uint64_t fence = tkl_lock_fence(ann);
    int seen = read_balance();
    usleep(SLEEP_US);
    if (!add_amount(bob, 100) || write_fenced(fence, seen + 1) || tkl_lock_release(ann) == TKL_OK)
        exit(1);
    tkl_lock_close(ann);
    check(tkl_lock_open(client, tkl_str("naive-door"), NULL, &ann));
    int missing = add_amount(ann, 1) ? 111 - read_balance() : 1;
    tkl_lock_close(bob);
    tkl_lock_close(ann);
    COMMAND("DEL", "naive-account");
    return missing;
}

int main(void)
{
    open_client();
    int naive = add_naively(), ours = add_with_fence();
    return compare("euros that a late write has overwritten", naive, ours);
}
