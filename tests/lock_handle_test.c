/* SPDX-License-Identifier: MIT
 *
 * Other uses of a handle than acquire and release: stopping a wait, and detaching from a claim
 * without releasing it.
 *
 * ctest: label threads
 */
#include <tackle/lock.h>
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
    int64_t left = holders->count > 0 ? holders->items[0].left_ms : 0;
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

/* ---- Interrupting -------------------------------------------------------- */

static void interrupted_waits_leave_the_line(void **state)
{
    fixture *f = *state;
    enum { N = 4 };
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_lock *holder = open_lock(f, &(tkl_lock_options){.lease_ms = 600000});
    waiting w[N];
    assert_ok(tkl_lock_acquire(holder, 0));
    for (int i = 0; i < N; i++)
        assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &w[i].lock));
    crew *threads = crew_start(N, wait_for_ever, w);
    eventually(waiters(holder) == N, LONG);
    tkl_interrupt(client);
    crew_join(threads);
    assert_int_equal(waiters(holder), 0);
    for (int i = 0; i < N; i++) {
        assert_code(w[i].result, TKL_EINTR);
        assert_int_equal(tkl_lock_state(w[i].lock), TKL_HOLD_FREE);
    }
    /* Until tkl_resume() waits end at once, but a free lock can be acquired. */
    assert_code(tkl_lock_acquire(w[0].lock, -1), TKL_EINTR);
    assert_code(tkl_lock_acquire(w[0].lock, 0), TKL_BUSY);
    assert_ok(tkl_lock_release(holder));
    assert_ok(tkl_lock_acquire(w[0].lock, -1));
    assert_ok(tkl_lock_release(w[0].lock));
    assert_ok(tkl_lock_acquire(holder, 0));
    tkl_resume(client);
    assert_code(tkl_lock_acquire(w[0].lock, 1), TKL_BUSY);
    for (int i = 0; i < N; i++)
        tkl_lock_close(w[i].lock);
    tkl_lock_close(holder);
    tkl_close(client);
}

static void an_interrupted_wait_ends_while_the_server_is_away(void **state)
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
    tkl_interrupt(client);
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
    tkl_lock *lock = open_lock(f, &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(tkl_lock_acquire(lock, 0));
    uint64_t fence = tkl_lock_fence(lock);
    tkl_lock_token(lock, token);
    assert_ok(tkl_lock_detach(lock));
    assert_int_equal(tkl_lock_state(lock), TKL_HOLD_FREE);
    tkl_lock_close(lock);

    tkl_lock *other = open_lock(f, NULL);
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_lock_adopt(other, token, 0));
    assert_true(tkl_lock_fence(other) == fence);
    assert_ok(tkl_lock_release(other));
    assert_ok(tkl_lock_acquire(other, 0));
    tkl_lock_close(other);
}

/* A lock that was handed over is held for less than a second until it is confirmed. */
static void detaching_confirms_what_was_handed_over(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = open_lock(f, NULL);
    waiting w = {.lock = open_lock(f, &(tkl_lock_options){.lease_ms = 600000})};
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
    tkl_lock *lock = open_lock(f, &(tkl_lock_options){.lease_ms = 2000, .auto_renew = true});
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

static void permits_can_be_detached(void **state)
{
    fixture *f = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_semaphore *sem;
    assert_ok(tkl_semaphore_open(f->client, tkl_str("pool"), 1, NULL, &sem));
    assert_ok(tkl_semaphore_acquire(sem, 0));
    tkl_semaphore_token(sem, token);
    assert_ok(tkl_semaphore_detach(sem));
    assert_code(tkl_semaphore_acquire(sem, 1), TKL_BUSY);
    assert_ok(tkl_semaphore_adopt(sem, token, 0));
    assert_ok(tkl_semaphore_release(sem));
    tkl_semaphore_close(sem);
}

/* ---- Options ------------------------------------------------------------- */

static void options_that_make_no_sense_are_refused(void **state)
{
    fixture *f = *state;
    const tkl_lock_options wrong[] = {
        {.lease_ms = -1}, {.lease_ms = INT64_MAX}, {.timeout_ms = -1},      {.replicas = -1},
        {.watch = true},  {.reserved = {1}},       {.reserved = {[7] = 1}},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        tkl_lock *lock;
        assert_code(tkl_lock_open(f->client, tkl_str("door"), &wrong[i], &lock), TKL_EINVAL);
        assert_null(lock);
        assert_string_not_equal(tkl_errmsg(), "");
    }
    static const int64_t limits[] = {0, -1, 1000001};
    for (size_t i = 0; i < 3; i++) {
        tkl_semaphore *sem;
        assert_code(tkl_semaphore_open(f->client, tkl_str("door"), limits[i], NULL, &sem),
                    TKL_EINVAL);
        assert_null(sem);
    }
}

static void a_handle_has_a_time_out_of_its_own(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 60000});
    tkl_lock *lock;
    assert_ok(
        tkl_lock_open(client, tkl_str("door"), &(tkl_lock_options){.timeout_ms = 200}, &lock));
    assert_ok(tkl_lock_acquire(lock, 0));
    server_freeze(s);
    int64_t start = test_now_ms();
    assert_code(tkl_lock_release(lock), TKL_ETIMEOUT);
    assert_true(test_now_ms() - start < 30000);
    server_thaw(s);
    tkl_lock_close(lock);
    tkl_close(client);
    server_end(s);
}

static void a_no_has_a_text(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = open_lock(f, NULL), *lock = open_lock(f, NULL);
    assert_ok(tkl_lock_acquire(holder, 0));
    assert_code(tkl_lock_acquire(lock, 0), TKL_BUSY);
    assert_string_equal(tkl_errmsg(), tkl_strerror(TKL_BUSY));
    tkl_lock_close(lock);
    tkl_lock_close(holder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(interrupted_waits_leave_the_line),
        TEST(an_interrupted_wait_ends_while_the_server_is_away),
        TEST(detached_lock_stays_held),
        TEST(detaching_confirms_what_was_handed_over),
        TEST(detached_lock_is_renewed_no_more),
        TEST(only_holders_detach),
        TEST(options_that_make_no_sense_are_refused),
        cmocka_unit_test(a_handle_has_a_time_out_of_its_own),
        TEST(a_no_has_a_text),
        TEST(permits_can_be_detached),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
