/* SPDX-License-Identifier: MIT
 *
 * Redlock while all servers are well: acquiring, extending, releasing, tokens, mistakes.
 *
 * ctest: label threads
 */
#include "support/call.h"
#include "support/proxy.h"
#include "support/redlocks.h"

/* ---- All servers well ---------------------------------------------------- */

static void a_free_lock_is_had_on_every_server(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    char token[TKL_TOKEN_SIZE];
    assert_ok(tkl_redlock_acquire(lock, 0));
    tkl_redlock_token(lock, token);
    assert_int_equal(strspn(token, "0123456789abcdef"), 32);
    eventually(world_holds(w, 3, token) == 3, 20000);
    int64_t pttl = server_ask_int(w->servers[0], "PTTL " KEY);
    assert_true(pttl > LONG_MS / 2 && pttl <= LONG_MS);
    assert_ok(tkl_redlock_release(lock));
    eventually(world_holds_nothing(w, 3) == 3, 20000);
    tkl_redlock_token(lock, token);
    assert_string_equal(token, "");
    tkl_redlock_close(lock);
}

static void acquire_extend_release(world *w)
{
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_renew(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock); /* now the last server has answered, too */
}

static void an_operation_is_one_trip_to_each_server(void **state)
{
    world *w = *state;
    acquire_extend_release(w); /* the servers learn the scripts */
    for (int i = 0; i < 3; i++)
        server_do(w->servers[i], "CONFIG RESETSTAT");
    acquire_extend_release(w);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(server_calls(w->servers[i], "set"), 1);
        assert_int_equal(server_functions(w->servers[i]), 2);
        assert_int_equal(server_calls(w->servers[i], "eval"), 0);
    }
}

static void the_validity_is_the_lease_less_the_time_it_took_and_the_drift(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    int64_t full = LONG_MS - LONG_MS / 100 - 2;
    int64_t before = test_now_ms();
    assert_ok(tkl_redlock_acquire(lock, 0));
    int64_t left = tkl_redlock_left_ms(lock);
    int64_t took = test_now_ms() - before;
    assert_in_range(left, full - took - 2, full);

    before = test_now_ms();
    assert_ok(tkl_redlock_renew(lock, 2 * LONG_MS));
    left = tkl_redlock_left_ms(lock);
    took = test_now_ms() - before;
    full = 2 * LONG_MS - 2 * LONG_MS / 100 - 2;
    assert_in_range(left, full - took - 2, full);

    assert_ok(tkl_redlock_release(lock));
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    tkl_redlock_close(lock);
}

static void a_second_owner_is_refused_and_leaves_nothing(void **state)
{
    world *w = *state;
    tkl_redlock *first = redlock_on(w, 3), *second = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(first, 0));
    eventually(world_holds_token(w, 3, first) == 3, 20000);
    assert_code(tkl_redlock_acquire(second, 0), TKL_BUSY);
    assert_code(tkl_redlock_acquire(second, 50), TKL_BUSY);
    assert_int_equal(world_holds_token(w, 3, first), 3);
    assert_ok(tkl_redlock_release(first));
    assert_ok(tkl_redlock_acquire(second, 20000));
    tkl_redlock_close(second);
    tkl_redlock_close(first);
}

static void a_failed_try_gives_back_the_minority_it_got(void **state)
{
    world *w = *state;
    server_do(w->servers[0], "SET " KEY " other");
    server_do(w->servers[1], "SET " KEY " other");
    tkl_redlock *lock = redlock_on(w, 3);
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY);
    tkl_redlock_close(lock); /* waits for the release under way */
    assert_int_equal(world_holds_nothing(w, 3), 1);
    assert_int_equal(world_holds(w, 3, "other"), 2);
}

/* With a constant pause there is always the same number of tries within the mean: the first and the
 * one at the deadline. A shorter pause makes room for one more. */
static void pauses_between_tries_are_random(void **state)
{
    enum { MEAN_MS = 200 };
    world *w = *state;
    tkl_redlock_options options = {
        .lease_ms = LONG_MS, .timeout_ms = 5000, .retry_delay_ms = MEAN_MS};
    tkl_redlock *lock;
    server_do(w->servers[0], "SET " KEY " other");
    assert_ok(tkl_redlock_open(w->clients, 1, tkl_str("name"), &options, &lock));
    bool shorter = false, longer = false;
    for (int round = 0; round < 100 && !(shorter && longer); round++) {
        server_do(w->servers[0], "CONFIG RESETSTAT");
        assert_code(tkl_redlock_acquire(lock, MEAN_MS), TKL_BUSY);
        int64_t tries = server_calls(w->servers[0], "set");
        shorter = shorter || tries == 3;
        longer = longer || tries == 2;
    }
    assert_true(shorter);
    assert_true(longer);
    tkl_redlock_close(lock);
}

static void a_waiter_gets_what_expires(void **state)
{
    world *w = *state;
    tkl_redlock *first = redlock_with(w, 3, 2000, 5000), *second = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(first, 0));
    assert_ok(tkl_redlock_acquire(second, 20000));
    assert_int_equal(tkl_redlock_left_ms(first), 0);
    tkl_redlock_close(second);
    tkl_redlock_close(first);
}

static void wait_in_vain(void *arg, int index)
{
    (void)index;
    assert_code(tkl_redlock_acquire(arg, -1), TKL_EINTR);
}

static void a_wait_can_be_interrupted(void **state)
{
    world *w = *state;
    tkl_redlock *holder = redlock_on(w, 3), *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(holder, 0));
    crew *waiter = crew_start(1, wait_in_vain, lock);
    test_sleep_ms(50);
    tkl_interrupt(w->clients[1]);
    crew_join(waiter);
    assert_code(tkl_redlock_acquire(lock, -1), TKL_EINTR);
    assert_ok(tkl_redlock_release(holder));
    assert_ok(tkl_redlock_acquire(lock, -1)); /* without waiting */
    tkl_resume(w->clients[1]);
    tkl_redlock_close(lock);
    tkl_redlock_close(holder);
}

static void one_server_is_a_majority_of_one(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 1), *other = redlock_on(w, 1);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_code(tkl_redlock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_redlock_release(lock));
    assert_ok(tkl_redlock_acquire(other, 0));
    tkl_redlock_close(other);
    tkl_redlock_close(lock);
}

static void closing_releases(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    tkl_redlock_close(lock);
    assert_int_equal(world_holds_nothing(w, 3), 3);
    tkl_redlock_close(NULL);
}

static void names_and_namespaces_do_not_mix(void **state)
{
    world *w = *state;
    char *huge = malloc(TKL_NAME_MAX);
    assert_non_null(huge);
    memset(huge, 'x', TKL_NAME_MAX);
    tkl_client *apart[3];
    for (int i = 0; i < 3; i++)
        apart[i] = test_open(w->servers[i]->url, &(tkl_options){.ns = "apart"});
    const tkl_bytes names[] = {
        tkl_str("a"), tkl_str("{a}"), {"a\0b", 3}, {"a\0c", 3}, {huge, TKL_NAME_MAX}};
    enum { NAMES = sizeof(names) / sizeof(*names) };
    tkl_redlock *locks[NAMES + 1];
    for (int i = 0; i < NAMES + 1; i++) {
        tkl_client *const *nodes = i < NAMES ? w->clients : apart;
        assert_ok(tkl_redlock_open(nodes, 3, names[i % NAMES], NULL, &locks[i]));
        assert_ok(tkl_redlock_acquire(locks[i], 20000));
    }
    for (int i = 0; i < NAMES + 1; i++)
        tkl_redlock_close(locks[i]);
    for (int i = 0; i < 3; i++)
        tkl_close(apart[i]);
    free(huge);
}

/* ---- Leases -------------------------------------------------------------- */

static void extending_lengthens_and_never_shortens(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 1);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_renew(lock, 10 * LONG_MS));
    assert_true(server_ask_int(w->servers[0], "PTTL " KEY) > 9 * LONG_MS);
    assert_ok(tkl_redlock_renew(lock, LONG_MS));
    assert_true(server_ask_int(w->servers[0], "PTTL " KEY) > 9 * LONG_MS);
    assert_true(tkl_redlock_left_ms(lock) < LONG_MS);
    tkl_redlock_close(lock);
}

static void what_expired_cannot_be_extended_and_is_not_written_again(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_with(w, 3, 100, 20000);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    eventually(world_holds_nothing(w, 3) == 3, 20000);
    assert_code(tkl_redlock_renew(lock, LONG_MS), TKL_NOTOWNER);
    tkl_redlock_close(lock);
    assert_int_equal(world_holds_nothing(w, 3), 3);
}

static void releasing_what_expired_is_told(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_with(w, 3, 100, 20000);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    eventually(world_holds_nothing(w, 3) == 3, 20000);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    assert_code(tkl_redlock_release(lock), TKL_NOTOWNER);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    tkl_redlock_close(lock);
}

static void releasing_touches_nobody_elses(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(world_holds_token(w, 3, lock) == 3, 20000);
    for (int i = 0; i < 3; i++)
        server_do(w->servers[i], "SET " KEY " other");
    assert_code(tkl_redlock_release(lock), TKL_NOTOWNER);
    tkl_redlock_close(lock);
    assert_int_equal(world_holds(w, 3, "other"), 3);
}

static void a_lease_shorter_than_its_acquisition_is_never_had(void **state)
{
    world *w = *state;
    proxy *p = proxy_start(w->servers[0]->socket);
    tkl_client *slow = test_open(proxy_url(p), NULL);
    call_expect(slow, "PONG", "PING", NULL);
    proxy_delay(p, TO_CLIENT, 150);
    tkl_redlock *lock;
    tkl_redlock_options options = {.lease_ms = 100, .timeout_ms = 5000};
    assert_ok(tkl_redlock_open(&slow, 1, tkl_str("name"), &options, &lock));
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY);
    assert_int_equal(world_holds_nothing(w, 1), 1);
    tkl_redlock_close(lock);
    tkl_close(slow);
    proxy_end(p);
}

/* ---- Tokens -------------------------------------------------------------- */

static void a_token_is_enough_to_extend_and_release_from_elsewhere(void **state)
{
    world *w = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_redlock *here = redlock_on(w, 3), *there = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(here, 0));
    tkl_redlock_token(here, token);
    assert_ok(tkl_redlock_adopt(there, token));
    assert_int_equal(tkl_redlock_left_ms(there), 0);
    assert_ok(tkl_redlock_renew(there, 0));
    assert_true(tkl_redlock_left_ms(there) > 0);
    assert_ok(tkl_redlock_release(there));
    assert_code(tkl_redlock_release(here), TKL_NOTOWNER);
    tkl_redlock_close(there);
    tkl_redlock_close(here);
}

static void a_detached_lock_stays_held(void **state)
{
    world *w = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_redlock *lock = redlock_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(world_holds_token(w, 3, lock) == 3, 20000);
    tkl_redlock_token(lock, token);
    assert_ok(tkl_redlock_detach(lock));
    assert_code(tkl_redlock_detach(lock), TKL_EINVAL);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    tkl_redlock_close(lock);
    assert_int_equal(world_holds(w, 3, token), 3);
}

static void only_a_token_can_be_adopted_and_only_by_a_free_handle(void **state)
{
    world *w = *state;
    static const char other[] = "0123456789abcdef0123456789abcdef";
    tkl_redlock *lock = redlock_on(w, 3);
    assert_code(tkl_redlock_adopt(lock, ""), TKL_NOTOWNER);
    assert_code(tkl_redlock_adopt(lock, "0123456789abcdef"), TKL_NOTOWNER);
    assert_code(tkl_redlock_adopt(lock, "0123456789ABCDEF0123456789ABCDEF"), TKL_NOTOWNER);
    assert_ok(tkl_redlock_adopt(lock, other));
    assert_code(tkl_redlock_adopt(lock, other), TKL_EINVAL);
    assert_code(tkl_redlock_renew(lock, 0), TKL_NOTOWNER);
    assert_code(tkl_redlock_release(lock), TKL_NOTOWNER);
    assert_int_equal(world_holds_nothing(w, 3), 3);
    tkl_redlock_close(lock);
}

/* ---- Mistakes ------------------------------------------------------------ */

static void refuse(tkl_client *const *nodes, size_t count, tkl_bytes name,
                   tkl_redlock_options options)
{
    tkl_redlock *lock = (tkl_redlock *)(void *)&options;
    assert_code(tkl_redlock_open(nodes, count, name, &options, &lock), TKL_EINVAL);
    assert_null(lock);
}

static void wrong_arguments_are_refused(void **state)
{
    world *w = *state;
    tkl_client *many[65], *none[2] = {w->clients[0], NULL};
    char *huge = calloc(1, TKL_NAME_MAX + 1);
    assert_non_null(huge);
    for (int i = 0; i < 65; i++)
        many[i] = w->clients[0];
    tkl_bytes name = tkl_str("name");
    tkl_redlock_options good = {0};
    refuse(w->clients, 0, name, good);
    refuse(many, 65, name, good);
    refuse(many, 3, name, good); /* the same one */
    refuse(none, 2, name, good);
    refuse(w->clients, 3, tkl_str(""), good);
    refuse(w->clients, 3, (tkl_bytes){huge, TKL_NAME_MAX + 1}, good);
    refuse(w->clients, 3, name, (tkl_redlock_options){.lease_ms = -1});
    refuse(w->clients, 3, name, (tkl_redlock_options){.lease_ms = 9});
    refuse(w->clients, 3, name, (tkl_redlock_options){.lease_ms = INT64_MAX});
    refuse(w->clients, 3, name, (tkl_redlock_options){.timeout_ms = -1});
    refuse(w->clients, 3, name, (tkl_redlock_options){.retry_delay_ms = -1});
    free(huge);
}

static void what_is_held_is_not_acquired_again_and_what_is_free_not_released(void **state)
{
    world *w = *state;
    tkl_redlock *lock = redlock_on(w, 3);
    assert_code(tkl_redlock_release(lock), TKL_EINVAL);
    assert_code(tkl_redlock_renew(lock, 0), TKL_EINVAL);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_code(tkl_redlock_acquire(lock, 0), TKL_EINVAL);
    assert_code(tkl_redlock_renew(lock, -1), TKL_EINVAL);
    assert_true(tkl_redlock_left_ms(lock) > 0);
    tkl_redlock_close(lock);
}

static void a_key_of_another_type_is_in_the_way_but_not_harmed(void **state)
{
    world *w = *state;
    for (int i = 0; i < 2; i++)
        server_do(w->servers[i], "RPUSH " KEY " element");
    tkl_redlock *lock = redlock_on(w, 3);
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY);
    tkl_redlock_close(lock);
    assert_int_equal(server_ask_int(w->servers[0], "LLEN " KEY), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_free_lock_is_had_on_every_server),
        TEST(an_operation_is_one_trip_to_each_server),
        TEST(the_validity_is_the_lease_less_the_time_it_took_and_the_drift),
        TEST(a_second_owner_is_refused_and_leaves_nothing),
        TEST(a_failed_try_gives_back_the_minority_it_got),
        TEST(pauses_between_tries_are_random),
        TEST(a_waiter_gets_what_expires),
        TEST(a_wait_can_be_interrupted),
        TEST(one_server_is_a_majority_of_one),
        TEST(closing_releases),
        TEST(names_and_namespaces_do_not_mix),
        TEST(extending_lengthens_and_never_shortens),
        TEST(what_expired_cannot_be_extended_and_is_not_written_again),
        TEST(releasing_what_expired_is_told),
        TEST(releasing_touches_nobody_elses),
        TEST(a_lease_shorter_than_its_acquisition_is_never_had),
        TEST(a_token_is_enough_to_extend_and_release_from_elsewhere),
        TEST(a_detached_lock_stays_held),
        TEST(only_a_token_can_be_adopted_and_only_by_a_free_handle),
        TEST(wrong_arguments_are_refused),
        TEST(what_is_held_is_not_acquired_again_and_what_is_free_not_released),
        TEST(a_key_of_another_type_is_in_the_way_but_not_harmed),
    };
    return cmocka_run_group_tests(tests, world_start, world_end);
}
