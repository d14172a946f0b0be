/* SPDX-License-Identifier: MIT
 *
 * Redlock keeps threads and processes apart, also while servers hang.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "support/call.h"
#include "support/process.h"
#include "support/redlocks.h"

/* ---- Mutual exclusion ---------------------------------------------------- */

/* In memory that processes share. */
typedef struct register_ {
    atomic_int inside, together, turns;
} register_;

static void enter_and_leave(register_ *r)
{
    if (atomic_fetch_add(&r->inside, 1) != 0)
        atomic_fetch_add(&r->together, 1);
    test_sleep_ms(1);
    atomic_fetch_sub(&r->inside, 1);
    atomic_fetch_add(&r->turns, 1);
}

typedef struct contest {
    world *world;
    register_ *shared;
    int turns;
} contest;

static void take_turns(void *arg, int index)
{
    contest *c = arg;
    tkl_redlock *lock = redlock_on(c->world, index % 2 ? 5 : 4); /* two of the sets that overlap */
    for (int i = 0; i < c->turns; i++) {
        assert_ok(tkl_redlock_acquire(lock, LONG_MS));
        enter_and_leave(c->shared);
        assert_ok(tkl_redlock_release(lock));
    }
    tkl_redlock_close(lock);
}

static void threads_exclude_each_other(void **state)
{
    register_ shared = {0};
    contest c = {.world = *state, .shared = &shared, .turns = 10};
    crew_run(6, take_turns, &c);
    assert_int_equal(atomic_load(&shared.together), 0);
    assert_int_equal(atomic_load(&shared.turns), 60);
}

static int take_turns_in_a_process(void *arg)
{
    contest *c = arg;
    tkl_redlock_options options = {.lease_ms = LONG_MS, .timeout_ms = 5000, .retry_delay_ms = 5};
    tkl_redlock *lock;
    int rc = tkl_redlock_open(c->world->clients, 3, tkl_str("name"), &options, &lock);
    for (int i = 0; rc == TKL_OK && i < c->turns; i++) {
        rc = tkl_redlock_acquire(lock, LONG_MS);
        if (rc == TKL_OK) {
            enter_and_leave(c->shared);
            rc = tkl_redlock_release(lock);
        }
    }
    tkl_redlock_close(lock);
    return rc == TKL_OK ? 0 : 1;
}

static void processes_exclude_each_other(void **state)
{
    register_ *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    contest c = {.world = *state, .shared = shared, .turns = 10};
    pid_t pids[4];
    for (int i = 0; i < 4; i++)
        pids[i] = process_fork(take_turns_in_a_process, &c);
    for (int i = 0; i < 4; i++)
        assert_int_equal(process_wait(pids[i]), 0);
    assert_int_equal(atomic_load(&shared->together), 0);
    assert_int_equal(atomic_load(&shared->turns), 40);
    munmap(shared, sizeof(*shared));
}

/* A held lock is the parent's: the child can do nothing with it, and closing the handle only frees
 * memory. */
static int use_the_parents_handle(void *arg)
{
    tkl_redlock *lock = arg;
    char token[TKL_TOKEN_SIZE] = "?";
    tkl_redlock_token(lock, token);
    bool refused =
        tkl_redlock_acquire(lock, 0) == TKL_EINVAL && tkl_redlock_renew(lock, 0) == TKL_EINVAL &&
        tkl_redlock_release(lock) == TKL_EINVAL && tkl_redlock_detach(lock) == TKL_EINVAL &&
        tkl_redlock_left_ms(lock) == 0 && *token == '\0';
    tkl_redlock_close(lock);
    return refused ? 0 : 1;
}

static void a_forked_child_cannot_give_the_lock_away(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(world_holds_token(w, 3, lock) == 3, 20000);
    assert_int_equal(process_wait(process_fork(use_the_parents_handle, lock)), 0);
    assert_int_equal(world_holds_token(w, 3, lock), 3);
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
}

/* ---- Mutual exclusion while servers hang --------------------------------- */

typedef struct chaos {
    world *world;
    register_ shared;
    atomic_bool over;
    atomic_int overstayed; /* this machine kept a holder from its work for longer than a lease */
} chaos;

static void take_turns_in_chaos(void *arg, int index)
{
    (void)index;
    chaos *c = arg;
    tkl_redlock *lock = redlock_with(c->world, 5, 3000, 100);
    while (!atomic_load(&c->over)) {
        int rc = tkl_redlock_acquire(lock, 200);
        if (rc != TKL_OK)
            continue;
        enter_and_leave(&c->shared);
        if (tkl_redlock_left_ms(lock) == 0)
            atomic_fetch_add(&c->overstayed, 1);
        tkl_redlock_release(lock);
    }
    tkl_redlock_close(lock);
}

static void late_requests_of_frozen_servers_break_nothing(void **state)
{
    chaos c = {.world = *state};
    crew *threads = crew_start(4, take_turns_in_chaos, &c);
    for (int round = 0; round < 15; round++) {
        server *first = c.world->servers[round % SERVERS];
        server *second = c.world->servers[(round + 1 + round % 3) % SERVERS];
        server_freeze(first);
        server_freeze(second);
        test_sleep_ms(150);
        server_thaw(first);
        server_thaw(second);
        test_sleep_ms(30);
    }
    eventually(atomic_load(&c.shared.turns) > 0, 20000);
    atomic_store(&c.over, true);
    crew_join(threads);
    assert_true(atomic_load(&c.shared.together) == 0 || atomic_load(&c.overstayed) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_exclude_each_other),
        TEST(processes_exclude_each_other),
        TEST(a_forked_child_cannot_give_the_lock_away),
        TEST(late_requests_of_frozen_servers_break_nothing),
    };
    return cmocka_run_group_tests(tests, world_start, world_end);
}
