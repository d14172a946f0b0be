/* SPDX-License-Identifier: MIT
 *
 * Redlock on servers that are killed, frozen, cut off and restarted empty.
 *
 * ctest: label threads
 */
#include "support/call.h"
#include "support/proxy.h"
#include "support/redlocks.h"

/* ---- Servers that are down ----------------------------------------------- */

static void a_dead_minority_does_not_matter(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 5), *other = redlock_on(w, 5);
    world_kill(w, 3, 5);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_code(tkl_redlock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_redlock_renew(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    assert_ok(tkl_redlock_acquire(other, 0));
    tkl_redlock_close(other);
    tkl_redlock_close(lock);
}

static void a_minority_that_dies_while_it_is_held_does_not_matter(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_with(w, 5, LONG_MS, 3000); /* close waits as long for the dead */
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(world_holds_token(w, 5, lock) == 5, 20000);
    world_kill(w, 0, 2);
    assert_ok(tkl_redlock_renew(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
}

static void without_a_majority_nothing_is_had_and_nothing_is_left(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 5);
    world_kill(w, 0, 3);
    assert_code(tkl_redlock_acquire(lock, 0), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "no majority of 5 servers answered");
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    tkl_redlock_close(lock); /* waits for the releases under way */
    assert_int_equal(world_holds_nothing(w, 5), 2);
}

static void what_was_never_reached_is_not_waited_for(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    world_kill(w, 0, 2);
    assert_code(tkl_redlock_acquire(lock, -1), TKL_ENOTSENT);
    tkl_redlock_close(lock);
}

static void acquire_patiently(void *arg, int index)
{
    (void)index;
    assert_ok(tkl_redlock_acquire(arg, -1));
}

static void a_waiter_sits_out_the_restart_of_a_majority(void **state)
{
    world *w = *state;
    for (int i = 0; i < 3; i++)
        call_expect(w->clients[i], "PONG", "PING", NULL);
    tkl_redlock *lock = redlock_with(w, 3, LONG_MS, 200);
    world_kill(w, 0, 2);
    crew *waiter = crew_start(1, acquire_patiently, lock);
    test_sleep_ms(300);
    server_restart(w->servers[0]);
    server_restart(w->servers[1]);
    crew_join(waiter);
    assert_true(tkl_redlock_left_ms(lock) > 0);
    tkl_redlock_close(lock);
}

static void a_majority_that_refuses_is_told_at_once(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.password = "secret"});
    tkl_client *client = test_open(s->url, NULL);
    tkl_redlock_options options = {.timeout_ms = 5000};
    tkl_redlock *lock;
    assert_ok(tkl_redlock_open(&client, 1, tkl_str("name"), &options, &lock));
    assert_code(tkl_redlock_acquire(lock, -1), TKL_EAUTH);
    tkl_redlock_close(lock);
    tkl_close(client);
    server_end(s);
}

/* ---- Servers that hang --------------------------------------------------- */

static void frozen_servers_delay_nobody_while_a_majority_answers(void **state)
{
    world *w = *state;
    enum { TIMEOUT = 20000 };
    tkl_redlock *lock = redlock_with(w, 5, LONG_MS, TIMEOUT);
    world_freeze(w, 0, 2);
    int64_t start = test_now_ms();
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_renew(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    assert_true(test_now_ms() - start < TIMEOUT);
    world_thaw(w, 0, 2);
    tkl_redlock_close(lock);
}

static void a_frozen_majority_delays_no_longer_than_the_time_out(void **state)
{
    world *w = *state;
    for (int i = 0; i < 3; i++)
        call_expect(w->clients[i], "PONG", "PING", NULL);
    tkl_redlock *lock = redlock_with(w, 3, 1000, 200);
    world_freeze(w, 0, 2);
    int64_t start = test_now_ms();
    assert_code(tkl_redlock_acquire(lock, 0), TKL_ENOTSENT);
    int64_t took = test_now_ms() - start;
    assert_true(took >= 195 && took < 15000); /* the client's own would be a minute */
    eventually(server_ask_int(w->servers[2], "EXISTS " KEY) == 0, 20000);
    world_thaw(w, 0, 2);
    /* The servers now execute the requests of that time, in any order; it ends with the lease. */
    eventually(world_holds_nothing(w, 3) == 3, 10000);
    tkl_redlock_close(lock);
}

static void many_tries_against_a_frozen_minority_pile_up_nothing(void **state)
{
    world *w = *state;
    tkl_redlock *holder = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(holder, 0));
    eventually(world_holds_token(w, 3, holder) == 3, 20000);
    tkl_redlock_options options = {.timeout_ms = 2000, .retry_delay_ms = 1};
    tkl_redlock *lock;
    assert_ok(tkl_redlock_open(w->clients, 3, tkl_str("name"), &options, &lock));
    world_freeze(w, 2, 3);
    assert_code(tkl_redlock_acquire(lock, 1000), TKL_BUSY);
    assert_ok(tkl_redlock_release(holder));
    assert_ok(tkl_redlock_acquire(lock, 20000));
    assert_ok(tkl_redlock_release(lock));
    world_thaw(w, 2, 3);
    tkl_redlock_close(lock);
    tkl_redlock_close(holder);
}

static void an_extension_that_reached_no_majority_may_be_repeated(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_with(w, 3, LONG_MS, 300);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    eventually(world_holds_token(w, 3, lock) == 3, 20000);
    world_freeze(w, 0, 2);
    assert_code(tkl_redlock_renew(lock, 0), TKL_ENOTSENT);
    assert_true(tkl_redlock_left_ms(lock) > 0);
    world_thaw(w, 0, 2);
    int rc = TKL_ENOTSENT;
    eventually((rc = tkl_redlock_renew(lock, 0)) != TKL_ENOTSENT, 10000);
    assert_ok(rc);
    tkl_redlock_close(lock);
}

static void a_release_that_reached_no_majority_frees_the_handle(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_with(w, 3, LONG_MS, 300);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    world_freeze(w, 0, 2);
    assert_code(tkl_redlock_release(lock), TKL_ENOTSENT);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    assert_code(tkl_redlock_release(lock), TKL_EINVAL);
    world_thaw(w, 0, 2);
    tkl_redlock_close(lock);
}

static void an_answer_that_was_lost_counts_as_a_no_and_is_taken_back(void **state)
{
    world *w = *state;
    proxy *proxies[2];
    tkl_client *nodes[3] = {NULL, NULL, w->clients[2]};
    for (int i = 0; i < 2; i++) {
        proxies[i] = proxy_start(w->servers[i]->socket);
        nodes[i] = test_open(proxy_url(proxies[i]), NULL);
        call_expect(nodes[i], "PONG", "PING", NULL);
        proxy_cut_after(proxies[i], TO_CLIENT, 0);
    }
    tkl_redlock *lock;
    tkl_redlock_options options = {.lease_ms = LONG_MS, .timeout_ms = 5000};
    assert_ok(tkl_redlock_open(nodes, 3, tkl_str("name"), &options, &lock));
    assert_code(tkl_redlock_acquire(lock, 0), TKL_ENOTSENT);
    eventually(server_calls(w->servers[0], "set") + server_calls(w->servers[1], "set") >= 2, 20000);
    eventually(world_holds_nothing(w, 3) == 3, 20000);
    assert_ok(tkl_redlock_acquire(lock, 0));
    tkl_redlock_close(lock);
    for (int i = 0; i < 2; i++) {
        tkl_close(nodes[i]);
        proxy_end(proxies[i]);
    }
}

/* ---- Servers that forget ------------------------------------------------- */

static void a_server_restarted_empty_gets_the_lock_back_when_it_is_extended(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(world_holds_token(w, 3, lock) == 3, 20000);
    for (int i = 0; i < 3; i++) {
        server_restart(w->servers[i]);
        tkl_redlock *other = redlock_on(w, 3);
        assert_code(tkl_redlock_acquire(other, 0), TKL_BUSY);
        tkl_redlock_close(other); /* it has given back what it got */
        assert_int_equal(world_holds_token(w, 3, lock), 2);
        assert_int_equal(world_holds_nothing(w, 3), 1);
        assert_ok(tkl_redlock_renew(lock, 0));
        eventually(world_holds_token(w, 3, lock) == 3, 20000);
    }
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
}

static void a_majority_restarted_empty_has_lost_the_lock(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(world_holds_token(w, 3, lock) == 3, 20000);
    server_restart(w->servers[0]);
    server_restart(w->servers[1]);
    assert_code(tkl_redlock_renew(lock, 0), TKL_NOTOWNER);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    test_sleep_ms(100); /* the servers have it again; but another owner may have had it between */
    assert_code(tkl_redlock_renew(lock, 0), TKL_NOTOWNER);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    assert_code(tkl_redlock_release(lock), TKL_NOTOWNER);
    eventually(world_holds_nothing(w, 3) == 3, 20000);
    assert_ok(tkl_redlock_acquire(lock, LONG_MS));
    tkl_redlock_close(lock);
}

static void a_minority_that_is_another_owners_stays_so(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(world_holds_token(w, 3, lock) == 3, 20000);
    server_do(w->servers[1], "SET " KEY " other");
    assert_ok(tkl_redlock_renew(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
    assert_int_equal(world_holds(w, 3, "other"), 1);
}

/* Two servers have the lock, two do not, one is silent: that one may be the third that has it. */
static void what_a_silent_server_may_have_is_not_called_lost(void **state)
{
    world *w = *state;
    for (int release = 0; release < 2; release++) {
        tkl_redlock *lock = redlock_with(w, 5, LONG_MS, 300);
        assert_ok(tkl_redlock_acquire(lock, 0));
        eventually(world_holds_token(w, 5, lock) == 5, 20000);
        server_do(w->servers[0], "DEL " KEY);
        server_do(w->servers[1], "SET " KEY " somebody");
        server_do(w->servers[0], "SET " KEY " somebody");
        world_freeze(w, 4, 5);
        assert_code(release ? tkl_redlock_release(lock) : tkl_redlock_renew(lock, 0), TKL_EUNKNOWN);
        if (!release)
            assert_true(tkl_redlock_left_ms(lock) > 0);
        world_thaw(w, 4, 5);
        if (!release) {
            eventually(tkl_redlock_renew(lock, 0) == TKL_OK, 20000);
            server_do(w->servers[2], "DEL " KEY);
            server_do(w->servers[2], "SET " KEY " somebody");
            assert_code(tkl_redlock_renew(lock, 0), TKL_NOTOWNER);
            assert_int_equal(tkl_redlock_left_ms(lock), 0);
        }
        tkl_redlock_close(lock);
        for (int i = 0; i < 5; i++)
            server_do(w->servers[i], "FLUSHALL");
    }
}

/* A failed attempt blocks others on the live servers: releasing does not wait for dead ones. */
static void a_split_vote_does_not_wait_for_the_dead_twice(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_with(w, 5, LONG_MS, 5000);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    world_kill(w, 3, 5);
    server_do(w->servers[0], "SET " KEY " other");
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY); /* learns that they are */
    int64_t start = test_now_ms();
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY);
    assert_true(test_now_ms() - start < 3000);
    assert_int_equal(world_holds_nothing(w, 3), 2);
    server_do(w->servers[0], "DEL " KEY);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_silent_server_may_have_is_not_called_lost),
        TEST(a_split_vote_does_not_wait_for_the_dead_twice),
        TEST(a_dead_minority_does_not_matter),
        TEST(a_minority_that_dies_while_it_is_held_does_not_matter),
        TEST(without_a_majority_nothing_is_had_and_nothing_is_left),
        TEST(what_was_never_reached_is_not_waited_for),
        TEST(a_waiter_sits_out_the_restart_of_a_majority),
        TEST(a_majority_that_refuses_is_told_at_once),
        TEST(frozen_servers_delay_nobody_while_a_majority_answers),
        TEST(a_frozen_majority_delays_no_longer_than_the_time_out),
        TEST(many_tries_against_a_frozen_minority_pile_up_nothing),
        TEST(an_extension_that_reached_no_majority_may_be_repeated),
        TEST(a_release_that_reached_no_majority_frees_the_handle),
        TEST(an_answer_that_was_lost_counts_as_a_no_and_is_taken_back),
        TEST(a_server_restarted_empty_gets_the_lock_back_when_it_is_extended),
        TEST(a_majority_restarted_empty_has_lost_the_lock),
        TEST(a_minority_that_is_another_owners_stays_so),
    };
    return cmocka_run_group_tests(tests, world_start, world_end);
}
