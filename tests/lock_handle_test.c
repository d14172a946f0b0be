/* SPDX-License-Identifier: MIT
 *
 * What a handle can be told beside acquire and release: to stop waiting, and to let go of its
 * claim without releasing it.
 *
 * ctest: label threads
 */
#include <tackle/semaphore.h>

#include "support/fixture.h"

static const int64_t LONG = 30000;

static tkl_lock *open_lock(fixture *f, const tkl_lock_options *options)
{
    tkl_lock *lock;
    assert_ok(tkl_lock_open(f->client, tkl_str("door"), options, &lock));
    return lock;
}

static int64_t waiters(tkl_lock *lock)
{
    tkl_holders *holders;
    assert_ok(tkl_lock_show(lock, &holders));
    int64_t n = holders->waiters;
    tkl_holders_free(holders);
    return n;
}

static int64_t held_for(tkl_lock *lock)
{
    tkl_holders *holders;
    assert_ok(tkl_lock_show(lock, &holders));
    int64_t left = holders->count > 0 ? holders->items[0].ttl_ms : 0;
    tkl_holders_free(holders);
    return left;
}

typedef struct waiting {
    tkl_lock *lock;
    int result;
} waiting;

static void wait_for_ever(void *arg, int index)
{
    waiting *w = &((waiting *)arg)[index];
    w->result = tkl_lock_acquire(w->lock, -1);
}

/* ---- Cancelling ---------------------------------------------------------- */

static void cancelled_wait_leaves_the_line(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = open_lock(f, NULL);
    waiting w = {.lock = open_lock(f, NULL)};
    assert_ok(tkl_lock_acquire(holder, 0));
    crew *thread = crew_start(1, wait_for_ever, &w);
    eventually(waiters(holder) == 1, LONG);
    tkl_lock_cancel(w.lock);
    crew_join(thread);
    assert_code(w.result, TKL_BUSY);
    assert_int_equal(waiters(holder), 0);
    assert_int_equal(tkl_lock_state(w.lock), TKL_FREE);
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

/* One of the waiters reads the connection for the others: whichever is cancelled, the rest go
 * on. */
static void cancelled_waits_disturb_no_others(void **state)
{
    fixture *f = *state;
    enum { N = 4 };
    tkl_lock *holder = open_lock(f, &(tkl_lock_options){.ttl_ms = 600000});
    waiting w[N];
    assert_ok(tkl_lock_acquire(holder, 0));
    for (int i = 0; i < N; i++)
        w[i] = (waiting){.lock = open_lock(f, NULL)};
    crew *threads = crew_start(N, wait_for_ever, w);
    eventually(waiters(holder) == N, LONG);
    for (int i = 0; i < N - 1; i++) {
        tkl_lock_cancel(w[i].lock);
        eventually(waiters(holder) == N - 1 - i, LONG);
    }
    assert_ok(tkl_lock_release(holder));
    crew_join(threads);
    for (int i = 0; i < N; i++) {
        assert_code(w[i].result, i < N - 1 ? TKL_BUSY : TKL_OK);
        tkl_lock_close(w[i].lock);
    }
    tkl_lock_close(holder);
}

static void cancelled_handle_tries_only(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = open_lock(f, &(tkl_lock_options){.ttl_ms = 600000});
    tkl_lock *lock = open_lock(f, NULL);
    assert_ok(tkl_lock_acquire(holder, 0));
    tkl_lock_cancel(lock);
    assert_code(tkl_lock_acquire(lock, -1), TKL_BUSY);
    assert_ok(tkl_lock_release(holder));
    assert_ok(tkl_lock_acquire(lock, -1));
    tkl_lock_close(lock);
    tkl_lock_close(holder);
}

static void cancelled_wait_ends_while_the_server_is_away(void **state)
{
    (void)state;
    tkl_client *client;
    server *s = server_start(NULL);
    assert_ok(tkl_open(s->url, &(tkl_options){.timeout_ms = 2000}, &client));
    tkl_lock *holder;
    waiting w;
    assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &holder));
    assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &w.lock));
    assert_ok(tkl_lock_acquire(holder, 0));
    crew *thread = crew_start(1, wait_for_ever, &w);
    eventually(waiters(holder) == 1, LONG);
    server_kill(s);
    tkl_lock_cancel(w.lock);
    crew_join(thread);
    assert_int_not_equal(w.result, TKL_OK);
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
    tkl_close(client);
    server_end(s);
}

/* ---- Detaching ----------------------------------------------------------- */

static void detached_lock_stays_held(void **state)
{
    fixture *f = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_lock *lock = open_lock(f, &(tkl_lock_options){.ttl_ms = 600000});
    assert_ok(tkl_lock_acquire(lock, 0));
    uint64_t fence = tkl_lock_fence(lock);
    tkl_lock_token(lock, token);
    assert_ok(tkl_lock_detach(lock));
    assert_int_equal(tkl_lock_state(lock), TKL_FREE);
    tkl_lock_close(lock);

    tkl_lock *other = open_lock(f, NULL);
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_lock_adopt(other, token, 0));
    assert_true(tkl_lock_fence(other) == fence);
    assert_ok(tkl_lock_release(other));
    assert_ok(tkl_lock_acquire(other, 0));
    tkl_lock_close(other);
}

/* What was handed over is held for less than a second until it is confirmed. */
static void detaching_confirms_what_was_handed_over(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = open_lock(f, NULL);
    waiting w = {.lock = open_lock(f, &(tkl_lock_options){.ttl_ms = 600000})};
    assert_ok(tkl_lock_acquire(holder, 0));
    crew *thread = crew_start(1, wait_for_ever, &w);
    eventually(waiters(holder) == 1, LONG);
    assert_ok(tkl_lock_release(holder));
    crew_join(thread);
    assert_ok(w.result);
    assert_ok(tkl_lock_detach(w.lock));
    tkl_lock_close(w.lock);
    assert_true(held_for(holder) > 300000);
    tkl_lock_close(holder);
}

static void detached_lock_is_renewed_no_more(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_lock(f, &(tkl_lock_options){.ttl_ms = 2000, .auto_renew = true});
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_lock_detach(lock));
    eventually(held_for(lock) == 0, LONG);
    tkl_lock_close(lock);
}

static void only_holders_detach(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_lock(f, NULL);
    assert_code(tkl_lock_detach(lock), TKL_EINVAL);
    tkl_lock_close(lock);
}

static void permits_can_be_detached_and_waits_for_them_cancelled(void **state)
{
    fixture *f = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_semaphore *sem;
    assert_ok(tkl_semaphore_open(f->client, tkl_str("pool"), 1, NULL, &sem));
    assert_ok(tkl_semaphore_acquire(sem, 0));
    tkl_semaphore_token(sem, token);
    assert_ok(tkl_semaphore_detach(sem));
    tkl_semaphore_cancel(sem);
    assert_code(tkl_semaphore_acquire(sem, -1), TKL_BUSY);
    assert_ok(tkl_semaphore_adopt(sem, token, 0));
    assert_ok(tkl_semaphore_release(sem));
    tkl_semaphore_close(sem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cancelled_wait_leaves_the_line),
        TEST(cancelled_waits_disturb_no_others),
        TEST(cancelled_handle_tries_only),
        TEST(cancelled_wait_ends_while_the_server_is_away),
        TEST(detached_lock_stays_held),
        TEST(detaching_confirms_what_was_handed_over),
        TEST(detached_lock_is_renewed_no_more),
        TEST(only_holders_detach),
        TEST(permits_can_be_detached_and_waits_for_them_cancelled),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
