/* SPDX-License-Identifier: MIT
 *
 * The lock without waiting: one owner, its lease, its token, its fence; other processes.
 *
 * ctest: label threads
 */
#include <sys/wait.h>
#include <unistd.h>

#include "support/locks.h"
#include "support/one_lock.h"
#include "support/peer.h"
#include "support/tamper.h"

/* ---- One owner ----------------------------------------------------------- */

static void one_at_a_time(void **state)
{
    fixture *f = *state;
    tkl_lock *mine = held_door(f), *yours = open_door(f, NULL);
    assert_int_equal(tkl_lock_state(mine), TKL_HOLD_HELD);
    assert_code(tkl_lock_acquire(yours, 0), TKL_BUSY);
    assert_int_equal(tkl_lock_state(yours), TKL_HOLD_FREE);
    assert_ok(tkl_lock_release(mine));
    assert_int_equal(tkl_lock_state(mine), TKL_HOLD_FREE);
    assert_ok(tkl_lock_acquire(yours, 0));
    assert_code(tkl_lock_acquire(mine, 0), TKL_BUSY);
    assert_all_keys_expire(f->server);
    tkl_lock_close(mine);
    tkl_lock_close(yours);
}

typedef struct room {
    tkl_client *client;
    int inside, count; /* guarded by nothing but the lock */
} room;

static void work_alone(void *arg, int index)
{
    (void)index;
    room *r = arg;
    tkl_lock *lock = open_lock(r->client, "door", &(tkl_lock_options){.lease_ms = 60000});
    for (int i = 0; i < 50; i++) {
        assert_ok(tkl_lock_acquire(lock, -1));
        assert_int_equal(__atomic_add_fetch(&r->inside, 1, __ATOMIC_SEQ_CST), 1);
        r->count++;
        __atomic_sub_fetch(&r->inside, 1, __ATOMIC_SEQ_CST);
        assert_ok(tkl_lock_release(lock));
    }
    tkl_lock_close(lock);
}

static void threads_exclude_each_other(void **state)
{
    fixture *f = *state;
    room r = {.client = f->client};
    crew_run(16, work_alone, &r);
    assert_int_equal(r.count, 16 * 50);
    assert_all_keys_expire(f->server);
}

static void a_handle_without_a_lock_has_nothing_to_give(void **state)
{
    fixture *f = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_lock *lock = open_door(f, NULL);
    assert_code(tkl_lock_release(lock), TKL_EINVAL);
    assert_code(tkl_lock_renew(lock, 0), TKL_EINVAL);
    assert_code(tkl_lock_downgrade(lock), TKL_EINVAL);
    assert_int_equal(tkl_lock_fence(lock), 0);
    assert_int_equal(tkl_lock_left_ms(lock), 0);
    tkl_lock_token(lock, token);
    assert_string_equal(token, "");
    tkl_lock_close(lock);
    tkl_lock_close(NULL);
}

static void closing_releases(void **state)
{
    fixture *f = *state;
    tkl_lock_close(held_door(f));
    tkl_lock_close(held_door(f));
}

static void a_second_acquire_by_the_same_handle_is_refused(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = held_door(f);
    assert_code(tkl_lock_acquire(lock, 0), TKL_EINVAL);
    assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
    tkl_lock_close(lock);
}

static void reentrant_needs_as_many_releases(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.reentrant = true, .lease_ms = 600000});
    tkl_lock *other = open_door(f, NULL);
    for (int i = 0; i < 3; i++)
        assert_ok(tkl_lock_acquire(lock, 0));
    uint64_t fence = tkl_lock_fence(lock);
    for (int i = 0; i < 2; i++) {
        assert_ok(tkl_lock_release(lock));
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
        assert_true(tkl_lock_fence(lock) == fence);
        assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    }
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_lock_acquire(other, 0));
    tkl_lock_close(lock);
    tkl_lock_close(other);
}

static void reentering_what_was_lost_is_told(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.reentrant = true, .lease_ms = 600000});
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_lock_break(lock));
    assert_code(tkl_lock_acquire(lock, 0), TKL_ELOST);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    assert_ok(tkl_lock_acquire(lock, 0));
    tkl_lock_close(lock);
}

/* ---- The lease ----------------------------------------------------------- */

static void an_ended_lease_lets_others_in_and_is_told(void **state)
{
    fixture *f = *state;
    tkl_lock *slow = open_door(f, &(tkl_lock_options){.lease_ms = 1000});
    tkl_lock *next = open_door(f, &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(tkl_lock_acquire(slow, 0));
    uint64_t fence = tkl_lock_fence(slow);
    eventually(tkl_lock_state(slow) == TKL_HOLD_LOST, LONG_MS);
    assert_int_equal(tkl_lock_left_ms(slow), 0);
    eventually(tkl_lock_acquire(next, 0) == TKL_OK, LONG_MS);
    assert_true(tkl_lock_fence(next) > fence);
    assert_code(tkl_lock_renew(slow, 0), TKL_NOTOWNER);
    assert_int_equal(tkl_lock_state(slow), TKL_HOLD_LOST);
    assert_code(tkl_lock_release(slow), TKL_NOTOWNER);
    assert_int_equal(tkl_lock_state(slow), TKL_HOLD_FREE);
    assert_code(tkl_lock_acquire(slow, 0), TKL_BUSY);
    assert_ok(tkl_lock_release(next));
    tkl_lock_close(slow);
    tkl_lock_close(next);
}

static void an_ended_lease_is_told_when_nobody_came(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = 1000});
    assert_ok(tkl_lock_acquire(lock, 0));
    test_sleep_ms(1100);
    assert_code(tkl_lock_renew(lock, 0), TKL_NOTOWNER);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    assert_ok(tkl_lock_acquire(lock, 0));
    test_sleep_ms(1100);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    tkl_lock_close(lock);
}

static void renewing_makes_it_last(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = 2000});
    assert_ok(tkl_lock_acquire(lock, 0));
    uint64_t fence = tkl_lock_fence(lock);
    assert_ok(tkl_lock_renew(lock, 600000));
    assert_true(tkl_lock_left_ms(lock) > 300000);
    assert_true(tkl_lock_fence(lock) == fence);
    assert_ok(tkl_lock_renew(lock, 0));
    assert_in_range(tkl_lock_left_ms(lock), 0, 2000);
    assert_all_keys_expire(f->server);
    assert_in_range(keys_left_ms(f->server), 1, 120000);
    tkl_lock_close(lock);
}

static void only_the_token_releases(void **state)
{
    fixture *f = *state;
    tkl_lock *mine = held_door(f), *thief = open_door(f, NULL);
    char token[TKL_TOKEN_SIZE];
    tkl_lock_token(mine, token);
    token[0] = token[0] == 'a' ? 'b' : 'a';
    assert_code(tkl_lock_adopt(thief, token, 0), TKL_NOTOWNER);
    assert_code(tkl_lock_adopt(thief, "", 0), TKL_NOTOWNER);
    assert_code(tkl_lock_adopt(thief, "fence", 0), TKL_NOTOWNER);
    assert_code(tkl_lock_release(thief), TKL_EINVAL);
    assert_int_equal(lock_holders(mine), 1);
    assert_ok(tkl_lock_release(mine));
    tkl_lock_close(mine);
    tkl_lock_close(thief);
}

static void two_owners_of_one_token_are_one_owner(void **state)
{
    fixture *f = *state;
    tkl_lock *first = held_door(f), *second = open_door(f, NULL);
    char token[TKL_TOKEN_SIZE];
    tkl_lock_token(first, token);
    assert_ok(tkl_lock_adopt(second, token, 300000));
    assert_true(tkl_lock_fence(second) == tkl_lock_fence(first));
    assert_int_equal(lock_holders(first), 1);
    assert_ok(tkl_lock_renew(first, 0));
    assert_ok(tkl_lock_release(second));
    assert_code(tkl_lock_renew(first, 0), TKL_NOTOWNER);
    assert_code(tkl_lock_release(first), TKL_NOTOWNER);
    tkl_lock_close(first);
    tkl_lock_close(second);
}

static void leases_of_all_lengths(void **state)
{
    fixture *f = *state;
    static const int64_t year = INT64_C(31536000000);
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = year});
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_in_range(tkl_lock_left_ms(lock), year - 60000, year);
    assert_all_keys_expire(f->server);
    assert_ok(tkl_lock_release(lock));
    assert_in_range(keys_left_ms(f->server), 1, 120000);
    tkl_lock_close(lock);

    lock = open_door(f, &(tkl_lock_options){.lease_ms = 1});
    int rc = tkl_lock_acquire(lock, 0);
    assert_true(rc == TKL_OK || rc == TKL_ELOST);
    test_sleep_ms(5);
    assert_int_not_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
    tkl_lock_close(lock);

    static const int64_t wrong[] = {-1, 10 * year + INT64_C(8640000000)};
    for (int i = 0; i < 2; i++)
        assert_code(tkl_lock_open(f->client, tkl_str("door"),
                                  &(tkl_lock_options){.lease_ms = wrong[i]}, &lock),
                    TKL_EINVAL);
    tkl_lock_close(lock);
}

static void breaking_a_year_leaves_no_keys_for_a_year(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = INT64_C(31536000000)});
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_lock_break(lock));
    assert_in_range(keys_left_ms(f->server), 1, 120000);
    tkl_lock_close(lock);
}

/* ---- The fence ----------------------------------------------------------- */

static uint64_t next_fence(tkl_lock *lock)
{
    assert_ok(tkl_lock_acquire(lock, 0));
    return tkl_lock_fence(lock);
}

static void fences_rise_over_everything(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = 5000});
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t fence = next_fence(lock);
        assert_true(fence > last);
        last = fence;
        if (i % 3 == 0)
            assert_ok(tkl_lock_break(lock));
        else if (i % 3 == 1) /* as if the keys had expired */
            server_do(f->server, "FLUSHALL");
        tkl_lock_release(lock);
    }
    tkl_lock_close(lock);
}

/* As after a crash or a failover: the server has an older fence than the last. */
static void a_server_that_forgot_the_last_fences_is_ahead_of_them(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = held_door(f);
    uint64_t old = tkl_lock_fence(lock), last = 0;
    assert_ok(tkl_lock_release(lock));
    for (int i = 0; i < 20; i++) {
        last = next_fence(lock);
        assert_ok(tkl_lock_release(lock));
    }
    tamper_set_fence(f->server, DOOR, old);
    assert_true(next_fence(lock) > last);
    tkl_lock_close(lock);
}

static void a_clock_set_back_does_not_lower_the_fence(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, NULL);
    uint64_t fence = next_fence(lock) + 3600000000;
    assert_ok(tkl_lock_release(lock));
    tamper_set_fence(f->server, DOOR, fence);
    for (int i = 0; i < 3; i++) {
        assert_true(next_fence(lock) == fence + 1 + (uint64_t)i);
        assert_ok(tkl_lock_release(lock));
    }
    tkl_lock_close(lock);
}

static void a_restart_keeps_lock_and_fence(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"appendonly yes", "appendfsync always", NULL}});
    tkl_client *client = test_open(s->url, NULL);
    tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    tkl_lock *other = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    uint64_t fence = next_fence(lock);
    server_kill(s);
    server_restart(s);
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_lock_renew(lock, 0));
    assert_true(tkl_lock_fence(lock) == fence);
    assert_ok(tkl_lock_release(lock));
    server_restart(s);
    assert_true(next_fence(other) > fence);
    assert_all_keys_expire(s);
    tkl_lock_close(lock);
    tkl_lock_close(other);
    tkl_close(client);
    server_end(s);
}

/* ---- Other processes ----------------------------------------------------- */

static void a_holder_stopped_past_its_lease_is_refused(void **state)
{
    fixture *f = *state;
    peer *p = peer_start(&(peer_options){.url = f->server->url, .name = "door", .lease_ms = 1500});
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(peer_do(p, "acquire 0"));
    uint64_t fence = p->fence;
    peer_signal(p, SIGSTOP);
    assert_ok(tkl_lock_acquire(lock, -1));
    peer_signal(p, SIGCONT);
    assert_ok(peer_do(p, "look"));
    assert_int_equal(p->state, TKL_HOLD_LOST);
    assert_code(peer_do(p, "renew 0"), TKL_NOTOWNER);
    assert_code(peer_do(p, "release"), TKL_NOTOWNER);
    assert_true(tkl_lock_fence(lock) > fence);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    peer_end(p);
}

static void wrong_clocks_change_nothing(void **state)
{
    fixture *f = *state;
    if (!peer_can_fake_clock())
        skip();
    static const int64_t hour = 3600000;
    for (int sign = -1; sign <= 1; sign += 2) {
        peer *past = peer_start(&(peer_options){
            .url = f->server->url, .name = "door", .lease_ms = 3000, .clock_ms = sign * hour});
        peer *future = peer_start(&(peer_options){
            .url = f->server->url, .name = "door", .lease_ms = 60000, .clock_ms = -sign * hour});
        tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = 60000});
        assert_ok(peer_do(past, "acquire 0"));
        uint64_t fence = past->fence;
        assert_code(peer_do(future, "acquire 0"), TKL_BUSY);
        assert_ok(peer_do(past, "renew 60000"));
        assert_ok(peer_do(past, "release"));

        assert_ok(peer_do(past, "acquire 0"));
        assert_ok(peer_do(future, "acquire -1")); /* its lease ended by itself */
        assert_true(future->fence > fence);
        assert_code(peer_do(past, "release"), TKL_NOTOWNER);

        peer_tell(past, "acquire -1"); /* handed over */
        eventually(lock_waiters(lock) == 1, LONG_MS);
        assert_ok(peer_do(future, "release"));
        assert_ok(peer_hear(past));
        assert_true(past->fence > future->fence);
        assert_ok(peer_do(past, "release"));
        tkl_lock_close(lock);
        peer_end(past);
        peer_end(future);
    }
}

static void a_forked_child_has_locks_of_its_own(void **state)
{
    fixture *f = *state;
    tkl_lock *parents = held_door(f);
    pid_t child = fork();
    if (child == 0) {
        tkl_lock *busy = NULL, *own = NULL;
        bool good = tkl_lock_open(f->client, tkl_str("door"), NULL, &busy) == TKL_OK &&
                    tkl_lock_acquire(busy, 0) == TKL_BUSY &&
                    tkl_lock_acquire(busy, 50) == TKL_BUSY &&
                    tkl_lock_open(f->client, tkl_str("window"), NULL, &own) == TKL_OK &&
                    tkl_lock_acquire(own, -1) == TKL_OK && tkl_lock_release(own) == TKL_OK;
        tkl_lock_close(busy);
        tkl_lock_close(own);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_ok(tkl_lock_release(parents));
    tkl_lock_close(parents);
}

/* The child can do nothing with what its parent holds, and closing it only frees memory. */
static void a_forked_child_cannot_give_its_parents_lock_away(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = held_door(f);
    tkl_semaphore *sem = open_sem(f->client, "pool", 1, NULL);
    assert_ok(tkl_semaphore_acquire(sem, 0));
    pid_t child = fork();
    if (child == 0) {
        char token[TKL_TOKEN_SIZE] = "?";
        tkl_holders *holders;
        tkl_lock_token(lock, token);
        bool refused =
            tkl_lock_release(lock) == TKL_EINVAL && tkl_lock_release_nowait(lock) == TKL_EINVAL &&
            tkl_lock_renew(lock, 0) == TKL_EINVAL && tkl_lock_acquire(lock, 0) == TKL_EINVAL &&
            tkl_lock_detach(lock) == TKL_EINVAL && tkl_lock_downgrade(lock) == TKL_EINVAL &&
            tkl_lock_break(lock) == TKL_EINVAL && tkl_lock_show(lock, &holders) == TKL_EINVAL &&
            tkl_lock_state(lock) == TKL_HOLD_FREE && tkl_lock_fence(lock) == 0 &&
            tkl_lock_left_ms(lock) == 0 && *token == '\0' &&
            tkl_semaphore_release(sem) == TKL_EINVAL;
        tkl_lock_close(lock);
        tkl_semaphore_close(sem);
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(lock_holders(lock), 1);
    assert_int_equal(sem_holders(sem), 1);
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_semaphore_release(sem));
    tkl_lock_close(lock);
    tkl_semaphore_close(sem);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(one_at_a_time),
        TEST(threads_exclude_each_other),
        TEST(a_handle_without_a_lock_has_nothing_to_give),
        TEST(closing_releases),
        TEST(a_second_acquire_by_the_same_handle_is_refused),
        TEST(reentrant_needs_as_many_releases),
        TEST(reentering_what_was_lost_is_told),
        TEST(an_ended_lease_lets_others_in_and_is_told),
        TEST(an_ended_lease_is_told_when_nobody_came),
        TEST(renewing_makes_it_last),
        TEST(only_the_token_releases),
        TEST(two_owners_of_one_token_are_one_owner),
        TEST(leases_of_all_lengths),
        TEST(breaking_a_year_leaves_no_keys_for_a_year),
        TEST(fences_rise_over_everything),
        TEST(a_server_that_forgot_the_last_fences_is_ahead_of_them),
        TEST(a_clock_set_back_does_not_lower_the_fence),
        TEST(a_restart_keeps_lock_and_fence),
        TEST(a_holder_stopped_past_its_lease_is_refused),
        TEST(wrong_clocks_change_nothing),
        TEST(a_forked_child_has_locks_of_its_own),
        TEST(a_forked_child_cannot_give_its_parents_lock_away),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
