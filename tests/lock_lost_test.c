/* SPDX-License-Identifier: MIT
 *
 * Keeping a lock by renewal, and learning that it is lost.
 *
 * ctest: label threads
 * ctest: cost 40
 */
#include <sched.h>
#include <stdatomic.h>

#include "support/fixture.h"
#include "support/locks.h"
#include "support/peer.h"
#include "support/tamper.h"

typedef struct alarm_bell {
    atomic_int rung;
    atomic_int state;   /* the lock's state as seen in the callback */
    atomic_int release; /* the code of releasing it there */
    bool releases;
} alarm_bell;

static void ring(tkl_lock *lock, void *arg)
{
    alarm_bell *bell = arg;
    atomic_store(&bell->state, (int)tkl_lock_state(lock));
    if (bell->releases)
        atomic_store(&bell->release, tkl_lock_release(lock));
    atomic_fetch_add(&bell->rung, 1);
}

static tkl_lock *watched(tkl_client *client, int64_t lease_ms, bool auto_renew, alarm_bell *bell)
{
    tkl_lock *lock = open_lock(client, "door",
                               &(tkl_lock_options){.lease_ms = lease_ms,
                                                   .auto_renew = auto_renew,
                                                   .on_lost = bell ? ring : NULL,
                                                   .arg = bell});
    assert_ok(tkl_lock_acquire(lock, 0));
    return lock;
}

/* Checks that the bell has rung once, and does not ring again. */
static void assert_rung_once(alarm_bell *bell)
{
    eventually(atomic_load(&bell->rung) > 0, LONG_MS);
    assert_int_equal(atomic_load(&bell->state), TKL_HOLD_LOST);
    test_sleep_ms(150);
    assert_int_equal(atomic_load(&bell->rung), 1);
}

/* ---- Renewal ------------------------------------------------------------- */

static void renewal_keeps_it_beyond_its_lease(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_lock *lock = watched(f->client, 3000, true, &bell), *other;
    other = open_lock(f->client, "door", NULL);
    uint64_t fence = tkl_lock_fence(lock);
    for (int64_t start = test_now_ms(); test_now_ms() - start < 5000;) {
        assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
        assert_all_keys_expire(f->server);
        test_sleep_ms(50);
    }
    assert_true(tkl_lock_fence(lock) == fence);
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_lock_acquire(other, 0));
    assert_int_equal(atomic_load(&bell.rung), 0);
    tkl_lock_close(lock);
    tkl_lock_close(other);
}

static void without_renewal_nothing_is_sent(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_lock *lock = watched(f->client, 600, false, &bell);
    int64_t before = server_commands(f->server);
    assert_rung_once(&bell);
    assert_int_equal(server_commands(f->server), before);
    tkl_lock_close(lock);
}

static void what_was_released_is_renewed_no_more(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = watched(f->client, 1500, true, NULL);
    assert_ok(tkl_lock_release(lock));
    int64_t before = server_commands(f->server);
    test_sleep_ms(1500);
    assert_int_equal(server_commands(f->server), before);
    tkl_lock_close(lock);
}

static void churn(void *arg, int index)
{
    char *name = test_format("door-%d", index);
    tkl_lock *lock = open_lock(arg, name, &(tkl_lock_options){.lease_ms = 6, .auto_renew = true});
    for (int i = 0; i < 40; i++) {
        int rc = tkl_lock_acquire(lock, LONG_MS);
        if (rc == TKL_ELOST)
            continue;
        assert_ok(rc);
        test_sleep_ms(i % 4);
        rc = tkl_lock_release(lock);
        assert_true(rc == TKL_OK || rc == TKL_NOTOWNER);
        tkl_holders *h;
        assert_ok(tkl_lock_show(lock, &h)); /* nobody renewed it after all */
        assert_int_equal(h->held, 0);
        tkl_holders_free(h);
    }
    tkl_lock_close(lock);
    free(name);
}

static void a_release_during_a_renewal_is_final(void **state)
{
    fixture *f = *state;
    crew_run(8, churn, f->client);
}

static void many_are_renewed_together(void **state)
{
    fixture *f = *state;
    enum { N = 300 };
    tkl_lock *locks[N];
    for (int i = 0; i < N; i++) {
        char *name = test_format("door-%d", i);
        locks[i] =
            open_lock(f->client, name, &(tkl_lock_options){.lease_ms = 5000, .auto_renew = true});
        assert_ok(tkl_lock_acquire(locks[i], 0));
        free(name);
    }
    test_sleep_ms(5500);
    assert_in_range(server_connections(f->server, NULL), 1, 2);
    for (int i = 0; i < N; i++) {
        assert_int_equal(tkl_lock_state(locks[i]), TKL_HOLD_HELD);
        assert_ok(tkl_lock_release(locks[i]));
        tkl_lock_close(locks[i]);
    }
}

/* ---- Loss ---------------------------------------------------------------- */

static void the_end_of_a_lease_is_told_once(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_lock *lock = watched(f->client, 100, false, &bell);
    assert_rung_once(&bell);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    assert_ok(tkl_lock_acquire(lock, 0)); /* for each acquisition again */
    eventually(atomic_load(&bell.rung) == 2, LONG_MS);
    tkl_lock_close(lock);
}

static void a_broken_lock_is_told_at_the_next_renewal(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_lock *lock = watched(f->client, 3000, true, &bell);
    assert_ok(tkl_lock_break(lock));
    assert_rung_once(&bell);
    assert_int_equal(tkl_lock_state(lock), TKL_HOLD_LOST);
    assert_int_equal(tkl_lock_left_ms(lock), 0);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    tkl_lock_close(lock);
}

/* Opens and acquires one that listens while it is held: its next renewal is minutes away. */
static tkl_lock *listening(fixture *f, alarm_bell *bell)
{
    tkl_lock *lock = open_lock(
        f->client, "door",
        &(tkl_lock_options){
            .lease_ms = 3600000, .auto_renew = true, .watch = true, .on_lost = ring, .arg = bell});
    int64_t before = server_calls(f->server, "ssubscribe");
    assert_ok(tkl_lock_acquire(lock, 0));
    eventually(server_calls(f->server, "ssubscribe") > before, LONG_MS);
    return lock;
}

static void a_holder_that_listens_hears_of_a_break_at_once(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_lock *boss = open_lock(other, "door", NULL), *lock = listening(f, &bell);
    int64_t start = test_now_ms();
    assert_ok(tkl_lock_break(boss));
    assert_rung_once(&bell);
    assert_in_range(test_now_ms() - start, 0, 5000);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    assert_ok(tkl_lock_acquire(lock, 0)); /* and listens again */
    assert_ok(tkl_lock_release(lock));
    assert_int_equal(atomic_load(&bell.rung), 1);
    tkl_lock_close(lock);
    tkl_lock_close(boss);
    tkl_close(other);
}

/* Each acquisition is renewed as soon as it listens, which is when it is released. */
static void a_release_beside_a_renewal_is_no_loss(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_lock *lock = open_lock(
        f->client, "door",
        &(tkl_lock_options){.auto_renew = true, .watch = true, .on_lost = ring, .arg = &bell});
    for (int i = 0; i < 1000; i++) {
        assert_ok(tkl_lock_acquire(lock, 0));
        if (i % 2)
            sched_yield();
        assert_ok(tkl_lock_release(lock));
    }
    assert_int_equal(atomic_load(&bell.rung), 0);
    tkl_lock_close(lock);
}

/* Holders that listen renew at every message, so renewals happen during all calls of their
 * owners. */
typedef struct hustle {
    fixture *f;
    atomic_bool over;
    alarm_bell bell;
} hustle;

static void make_them_renew(void *arg, int index)
{
    hustle *h = arg;
    (void)index;
    while (!atomic_load(&h->over)) {
        tamper_call_all(h->f->server, "lock:{door-0}");
        tamper_call_all(h->f->server, "lock:{door-1}");
    }
}

static void downgrade_again_and_again(void *arg, int index)
{
    hustle *h = arg;
    char *name = test_format("door-%d", index);
    tkl_lock *lock = open_lock(h->f->client, name,
                               &(tkl_lock_options){.lease_ms = 600000,
                                                   .auto_renew = true,
                                                   .watch = true,
                                                   .on_lost = ring,
                                                   .arg = &h->bell});
    for (int i = 0; i < 150; i++) {
        assert_ok(tkl_lock_acquire(lock, 0));
        test_sleep_ms(i % 3);
        assert_ok(tkl_lock_downgrade(lock));
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
        if (i % 2)
            assert_ok(tkl_lock_renew(lock, 300000 + i));
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
        assert_ok(tkl_lock_release(lock));
    }
    tkl_lock_close(lock);
    free(name);
}

static void a_downgrade_beside_renewals_is_no_loss(void **state)
{
    hustle h = {.f = *state};
    crew *caller = crew_start(1, make_them_renew, &h);
    crew_run(2, downgrade_again_and_again, &h);
    atomic_store(&h.over, true);
    crew_join(caller);
    assert_int_equal(atomic_load(&h.bell.rung), 0);
}

/* The owner wants more than its usual lease: the keeper does not take that back. */
static void a_longer_lease_is_not_cut_short_by_renewals(void **state)
{
    fixture *f = *state;
    for (int shared = 0; shared < 2; shared++) { /* each on a channel of its own */
        char *name = test_format("door-%d", shared), *of = test_format("lock:{%s}", name);
        tkl_lock *lock =
            open_lock(f->client, name,
                      &(tkl_lock_options){
                          .lease_ms = 60000, .auto_renew = true, .watch = true, .shared = shared});
        int64_t before = server_calls(f->server, "ssubscribe");
        assert_ok(tkl_lock_acquire(lock, 0));
        eventually(server_calls(f->server, "ssubscribe") > before, LONG_MS);
        assert_ok(tkl_lock_renew(lock, 3600000));
        before = server_functions(f->server);
        tamper_call_all(f->server, of);
        eventually(server_functions(f->server) > before, LONG_MS);
        test_sleep_ms(50);
        assert_true(tkl_lock_left_ms(lock) > 1800000);
        tkl_holders *h;
        assert_ok(tkl_lock_show(lock, &h));
        assert_true(h->items[0].left_ms > 1800000);
        tkl_holders_free(h);
        assert_ok(tkl_lock_release(lock));
        tkl_lock_close(lock);
        free(name);
        free(of);
    }
}

/* The server forgot it, and another program notices. */
static void a_holder_that_listens_hears_that_the_server_forgot_it(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {.releases = true};
    tkl_lock *lock = listening(f, &bell), *other = open_lock(f->client, "door", NULL);
    server_do(f->server, "FLUSHALL");
    assert_ok(tkl_lock_acquire(other, 0));
    eventually(atomic_load(&bell.rung) == 1, LONG_MS);
    assert_ok(tkl_lock_release(other));
    tkl_lock_close(other);
    tkl_lock_close(lock);
}

static void a_loss_found_by_hand_is_told_too(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_lock *lock = watched(f->client, 600000, false, &bell);
    assert_ok(tkl_lock_break(lock));
    assert_code(tkl_lock_renew(lock, 0), TKL_NOTOWNER);
    assert_rung_once(&bell);
    tkl_lock_close(lock);
}

static void it_may_be_released_where_the_loss_is_told(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {.releases = true};
    tkl_lock *lock = watched(f->client, 3000, true, &bell);
    assert_ok(tkl_lock_break(lock));
    eventually(atomic_load(&bell.rung) == 1, LONG_MS);
    assert_code(atomic_load(&bell.release), TKL_NOTOWNER);
    assert_int_equal(tkl_lock_state(lock), TKL_HOLD_FREE);
    tkl_lock_close(lock);
}

static void releasing_in_time_rings_no_bell(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    for (int i = 0; i < 20; i++) {
        tkl_lock *lock = watched(f->client, 60000, true, &bell);
        assert_ok(tkl_lock_release(lock));
        tkl_lock_close(lock);
    }
    test_sleep_ms(50);
    assert_int_equal(atomic_load(&bell.rung), 0);
}

/* ---- A server that does not answer --------------------------------------- */

/* The client would wait for minutes: suspicion and loss must not. */
static void a_frozen_server_makes_it_suspect_then_lost(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 120000});
    alarm_bell bell = {0};
    tkl_lock *lock = watched(client, 5000, true, &bell);
    server_freeze(s);
    eventually(tkl_lock_state(lock) == TKL_HOLD_SUSPECT, LONG_MS);
    assert_int_equal(atomic_load(&bell.rung), 0);
    eventually(tkl_lock_state(lock) == TKL_HOLD_LOST, LONG_MS);
    assert_rung_once(&bell);
    server_thaw(s);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    assert_ok(tkl_lock_acquire(lock, LONG_MS));
    tkl_lock_close(lock);
    tkl_close(client);
    server_end(s);
}

static void suspicion_passes(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    alarm_bell bell = {0};
    tkl_lock *lock = watched(client, 8000, true, &bell);
    server_freeze(s);
    eventually(tkl_lock_state(lock) == TKL_HOLD_SUSPECT, LONG_MS);
    server_thaw(s);
    eventually(tkl_lock_state(lock) == TKL_HOLD_HELD, LONG_MS);
    assert_int_equal(atomic_load(&bell.rung), 0);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    tkl_close(client);
    server_end(s);
}

/* Renewing a long lease may take long, but must not keep a short lease from being renewed. */
static void a_long_renewal_holds_up_no_short_lease(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 120000});
    alarm_bell bell = {0};
    tkl_lock *slow =
        open_lock(client, "slow", &(tkl_lock_options){.lease_ms = 600000, .auto_renew = true});
    assert_ok(tkl_lock_acquire(slow, 0));
    tkl_lock *lock = watched(client, 2000, true, &bell);
    server_freeze(s);
    assert_rung_once(&bell);
    assert_int_equal(tkl_lock_state(slow), TKL_HOLD_HELD);
    server_thaw(s);
    tkl_lock_close(slow);
    tkl_lock_close(lock);
    tkl_close(client);
    server_end(s);
}

/* On a server whose clock was set back by an hour, leases end an hour later. Holders go on
 * renewing, so they notice when the clock is corrected or the lock is broken. */
static void a_clock_set_back_does_not_end_the_renewals(void **state)
{
    fixture *f = *state;
    alarm_bell bell = {0};
    tkl_lock *lock = watched(f->client, 3000, true, &bell);
    tamper_put_off_end(f->server, DOOR, 3600000);
    test_sleep_ms(1500);
    assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
    assert_in_range(tkl_lock_left_ms(lock), 1, 3000);
    server_do(f->server, "FLUSHALL");
    assert_rung_once(&bell);
    tkl_lock_close(lock);
}

static void a_restart_without_memory_is_a_loss(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    alarm_bell bell = {0};
    tkl_lock *lock = watched(client, 1500, true, &bell);
    server_restart(s);
    assert_rung_once(&bell);
    assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
    tkl_lock_close(lock);
    tkl_close(client);
    server_end(s);
}

static void a_restart_with_memory_is_none(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"appendonly yes", "appendfsync always", NULL}});
    tkl_client *client = test_open(s->url, NULL);
    alarm_bell bell = {0};
    tkl_lock *lock = watched(client, 10000, true, &bell);
    server_kill(s);
    server_restart(s);
    assert_ok(tkl_lock_renew(lock, 0));
    assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
    assert_int_equal(atomic_load(&bell.rung), 0);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    tkl_close(client);
    server_end(s);
}

static void a_process_that_slept_past_its_lease_knows_it(void **state)
{
    fixture *f = *state;
    peer *p = peer_start(&(peer_options){
        .url = f->server->url, .name = "door", .lease_ms = 3000, .auto_renew = true});
    tkl_lock *lock = open_lock(f->client, "door", &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(peer_do(p, "acquire 0"));
    test_sleep_ms(3500);
    assert_code(tkl_lock_acquire(lock, 0), TKL_BUSY); /* it renews */
    peer_signal(p, SIGSTOP);
    assert_ok(tkl_lock_acquire(lock, -1));
    peer_signal(p, SIGCONT);
    eventually((assert_ok(peer_do(p, "look")), p->state == TKL_HOLD_LOST), LONG_MS);
    assert_true(p->fence < tkl_lock_fence(lock));
    assert_code(peer_do(p, "release"), TKL_NOTOWNER);
    assert_ok(tkl_lock_renew(lock, 0));
    tkl_lock_close(lock);
    peer_end(p);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(renewal_keeps_it_beyond_its_lease),
        TEST(without_renewal_nothing_is_sent),
        TEST(what_was_released_is_renewed_no_more),
        TEST(a_release_during_a_renewal_is_final),
        TEST(many_are_renewed_together),
        TEST(the_end_of_a_lease_is_told_once),
        TEST(a_broken_lock_is_told_at_the_next_renewal),
        TEST(a_holder_that_listens_hears_of_a_break_at_once),
        TEST(a_release_beside_a_renewal_is_no_loss),
        TEST(a_downgrade_beside_renewals_is_no_loss),
        TEST(a_longer_lease_is_not_cut_short_by_renewals),
        TEST(a_holder_that_listens_hears_that_the_server_forgot_it),
        TEST(a_loss_found_by_hand_is_told_too),
        TEST(it_may_be_released_where_the_loss_is_told),
        TEST(releasing_in_time_rings_no_bell),
        TEST(a_frozen_server_makes_it_suspect_then_lost),
        TEST(suspicion_passes),
        TEST(a_long_renewal_holds_up_no_short_lease),
        TEST(a_clock_set_back_does_not_end_the_renewals),
        TEST(a_restart_without_memory_is_a_loss),
        TEST(a_restart_with_memory_is_none),
        TEST(a_process_that_slept_past_its_lease_knows_it),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
