/* SPDX-License-Identifier: MIT */
#include "support/locks.h"

tkl_lock *open_lock(tkl_client *client, const char *name, const tkl_lock_options *options)
{
    tkl_lock *lock;
    assert_ok(tkl_lock_open(client, tkl_str(name), options, &lock));
    return lock;
}

tkl_semaphore *open_sem(tkl_client *client, const char *name, int64_t limit,
                        const tkl_semaphore_options *options)
{
    tkl_semaphore *sem;
    assert_ok(tkl_semaphore_open(client, tkl_str(name), limit, options, &sem));
    return sem;
}

static int64_t take_count(int code, tkl_holders *holders, bool waiters)
{
    assert_ok(code);
    int64_t count = waiters ? holders->waiters : holders->held;
    tkl_holders_free(holders);
    return count;
}

int64_t lock_waiters(tkl_lock *lock)
{
    tkl_holders *holders;
    int code = tkl_lock_show(lock, &holders);
    return take_count(code, holders, true);
}

int64_t lock_holders(tkl_lock *lock)
{
    tkl_holders *holders;
    int code = tkl_lock_show(lock, &holders);
    return take_count(code, holders, false);
}

int64_t sem_waiters(tkl_semaphore *sem)
{
    tkl_holders *holders;
    int code = tkl_semaphore_show(sem, &holders);
    return take_count(code, holders, true);
}

int64_t sem_holders(tkl_semaphore *sem)
{
    tkl_holders *holders;
    int code = tkl_semaphore_show(sem, &holders);
    return take_count(code, holders, false);
}

void assert_all_keys_expire(server *s)
{
    char *eternal = server_ask(s, "EVAL %s 0",
                               "local all = {} for _, key in ipairs(redis.call('KEYS', '*')) do "
                               "if redis.call('PTTL', key) == -1 then all[#all + 1] = key end end "
                               "return all");
    if (*eternal != '\0')
        fail_msg("keys without expiry: %s", eternal);
    free(eternal);
}

int64_t keys_left_ms(server *s)
{
    return server_ask_int(s, "EVAL %s 0",
                          "local most = 0 for _, key in ipairs(redis.call('KEYS', '*')) do "
                          "local left = redis.call('PTTL', key) if left == -1 then return -1 end "
                          "most = math.max(most, left) end return most");
}

static void wait_for_it(void *arg, int index)
{
    (void)index;
    pending *p = arg;
    int64_t start = test_now_ms();
    p->result =
        p->lock ? tkl_lock_acquire(p->lock, p->wait_ms) : tkl_semaphore_acquire(p->sem, p->wait_ms);
    p->took_ms = test_now_ms() - start;
}

void pending_start(pending *p)
{
    p->thread = crew_start(1, wait_for_it, p);
}

int pending_join(pending *p)
{
    crew_join(p->thread);
    return p->result;
}
