/* SPDX-License-Identifier: MIT
 *
 * Waiting for the loss of a lock or a permit.
 *
 * ctest: label threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/semaphore.h>

#include "support/fixture.h"
#include "support/locks.h"

/* A thread that waits for the loss. */
typedef struct onlooker {
    pthread_t thread;
    tkl_lock *lock;
    atomic_int code; /* -1000: still waiting */
} onlooker;

static void *look_on(void *arg)
{
    onlooker *o = arg;
    atomic_store(&o->code, tkl_lock_wait_lost(o->lock, -1));
    return NULL;
}

static void start(onlooker *o, tkl_lock *lock)
{
    o->lock = lock;
    atomic_init(&o->code, -1000);
    assert_int_equal(pthread_create(&o->thread, NULL, look_on, o), 0);
    test_sleep_ms(20); /* most likely it waits by then; if not, the outcome is the same */
}

static void assert_ends(onlooker *o, int code)
{
    pthread_join(o->thread, NULL);
    assert_int_equal(atomic_load(&o->code), code);
}

static tkl_lock *acquired(tkl_client *client, const tkl_lock_options *options)
{
    tkl_lock *lock = open_lock(client, "door", options);
    assert_ok(tkl_lock_acquire(lock, 0));
    return lock;
}

static void a_break_ends_the_wait(void **state)
{
    fixture *f = *state;
    onlooker first, second;
    tkl_lock *lock = acquired(f->client, &(tkl_lock_options){.auto_renew = true, .watch = true});
    tkl_lock *other = open_lock(f->client, "door", NULL);
    start(&first, lock);
    start(&second, lock);
    assert_int_equal(atomic_load(&first.code), -1000);
    assert_ok(tkl_lock_break(other));
    assert_ends(&first, TKL_OK);
    assert_ends(&second, TKL_OK);
    assert_int_equal(tkl_lock_state(lock), TKL_HOLD_LOST);
    assert_ok(tkl_lock_wait_lost(lock, 0)); /* it stays lost until it is released */
    assert_int_equal(tkl_lock_release(lock), TKL_NOTOWNER);
    assert_int_equal(tkl_lock_wait_lost(lock, -1), TKL_NOTOWNER);
    tkl_lock_close(other);
    tkl_lock_close(lock);
}

/* The lease ends without a renewal and without a message. */
static void the_end_of_the_lease_ends_the_wait(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = acquired(f->client, &(tkl_lock_options){.lease_ms = 200});
    assert_ok(tkl_lock_wait_lost(lock, -1));
    assert_int_equal(tkl_lock_left_ms(lock), 0);
    tkl_lock_close(lock);
}

static void a_shorter_lease_is_noticed(void **state)
{
    fixture *f = *state;
    onlooker o;
    tkl_lock *lock = acquired(f->client, &(tkl_lock_options){.lease_ms = 3600000});
    start(&o, lock);
    assert_ok(tkl_lock_renew(lock, 50));
    assert_ends(&o, TKL_OK);
    tkl_lock_close(lock);
}

static void what_is_held_is_said_to_be_so(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = acquired(f->client, &(tkl_lock_options){.lease_ms = 3600000});
    assert_int_equal(tkl_lock_wait_lost(lock, 0), TKL_BUSY);
    assert_int_equal(tkl_lock_wait_lost(lock, 30), TKL_BUSY);
    assert_contains(tkl_errmsg(), "still held"); /* by us: not by another owner */
    tkl_lock_close(lock);
}

static void a_release_ends_the_wait(void **state)
{
    fixture *f = *state;
    onlooker o;
    tkl_lock *lock = acquired(f->client, &(tkl_lock_options){.auto_renew = true});
    start(&o, lock);
    assert_ok(tkl_lock_release(lock));
    assert_ends(&o, TKL_NOTOWNER);
    tkl_lock_close(lock);
}

static void a_free_handle_has_nothing_to_lose(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_lock(f->client, "door", NULL);
    assert_int_equal(tkl_lock_wait_lost(lock, -1), TKL_NOTOWNER);
    tkl_lock_close(lock);
}

static void an_interruption_ends_the_wait(void **state)
{
    fixture *f = *state;
    onlooker o;
    tkl_lock *lock = acquired(f->client, &(tkl_lock_options){.lease_ms = 3600000});
    start(&o, lock);
    tkl_interrupt(f->client);
    assert_ends(&o, TKL_EINTR);
    assert_int_equal(tkl_lock_wait_lost(lock, -1), TKL_EINTR);
    assert_int_equal(tkl_lock_wait_lost(lock, 0), TKL_BUSY); /* this does not wait */
    tkl_resume(f->client);
    assert_int_equal(tkl_lock_wait_lost(lock, 10), TKL_BUSY);
    tkl_lock_close(lock);
}

static void a_child_does_not_wait(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = acquired(f->client, &(tkl_lock_options){.lease_ms = 3600000});
    pid_t child = fork();
    if (child == 0)
        _exit(tkl_lock_wait_lost(lock, -1) == TKL_EINVAL ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tkl_lock_close(lock);
}

static void a_permit_is_waited_for_alike(void **state)
{
    fixture *f = *state;
    tkl_semaphore *sem;
    tkl_semaphore_options options = {.lease_ms = 200};
    assert_ok(tkl_semaphore_open(f->client, tkl_str("crew"), 2, &options, &sem));
    assert_int_equal(tkl_semaphore_wait_lost(sem, 0), TKL_NOTOWNER);
    assert_ok(tkl_semaphore_acquire(sem, 0));
    assert_ok(tkl_semaphore_wait_lost(sem, -1));
    tkl_semaphore_close(sem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_break_ends_the_wait),         TEST(the_end_of_the_lease_ends_the_wait),
        TEST(a_shorter_lease_is_noticed),    TEST(what_is_held_is_said_to_be_so),
        TEST(a_release_ends_the_wait),       TEST(a_free_handle_has_nothing_to_lose),
        TEST(an_interruption_ends_the_wait), TEST(a_child_does_not_wait),
        TEST(a_permit_is_waited_for_alike),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
