/* SPDX-License-Identifier: MIT
 *
 * Waiting for the lock: in order of arrival, woken by owning it, without traffic.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/one_lock.h"
#include "support/proxy.h"

/* ---- The time to wait ---------------------------------------------------- */

static void not_waiting_does_not_wait(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f), *lock = open_door(f, &HOUR);
    int64_t before = server_calls(f->server, "ssubscribe");
    assert_code(tkl_lock_acquire(lock, 0), TKL_BUSY);
    assert_int_equal(lock_waiters(holder), 0);
    assert_int_equal(server_calls(f->server, "ssubscribe"), before);
    tkl_lock_close(lock);
    tkl_lock_close(holder);
}

static void a_wait_ends_in_time_and_leaves_nothing(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f), *lock = open_door(f, &HOUR);
    static const int64_t waits[] = {1, 20, 300};
    for (int i = 0; i < 3; i++) {
        int64_t start = test_now_ms();
        assert_code(tkl_lock_acquire(lock, waits[i]), TKL_BUSY);
        assert_in_range(test_now_ms() - start, waits[i], waits[i] + LONG_MS);
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_FREE);
        assert_int_equal(lock_waiters(holder), 0);
    }
    assert_all_keys_expire(f->server);
    tkl_lock_close(lock);
    tkl_lock_close(holder);
}

static void those_who_give_up_leave_no_subscriptions_behind(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 200; i++) {
        char *name = test_format("door-%d", i);
        tkl_lock *holder = open_lock(f->client, name, &HOUR);
        tkl_lock *lock = open_lock(f->client, name, &HOUR);
        assert_ok(tkl_lock_acquire(holder, 0));
        assert_code(tkl_lock_acquire(lock, 1), TKL_BUSY);
        tkl_lock_close(lock);
        tkl_lock_close(holder);
        free(name);
    }
    assert_in_range(channels_of_waiters(f), 1, 100);
    assert_all_keys_expire(f->server);
}

/* A wait whose request had no answer may have left a place in the line, which giving up removes. */
static void a_wait_cut_off_leaves_no_ghost(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 1000});
    tkl_lock *holder = held_door(f);
    for (int retry = 0; retry < 2; retry++) {
        tkl_lock *lock = open_lock(client, "door", &HOUR);
        pending w = {.lock = lock, .wait_ms = 1000};
        stand_in_line(&w, holder);
        proxy_hold(p, TO_CLIENT, true);
        assert_true(pending_join(&w) < 0);
        proxy_hold(p, TO_CLIENT, false);
        if (retry)
            assert_code(tkl_lock_acquire(lock, 0), TKL_BUSY);
        else
            assert_ok(tkl_lock_release(lock));
        assert_int_equal(lock_waiters(holder), 0);
        tkl_lock_close(lock);
    }
    tkl_close(client);
    proxy_end(p);
    tkl_lock_close(holder);
}

/* The request that took the place in the line had no answer, and is repeated. */
static void a_place_asked_for_twice_is_one_place(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_lock *holder = held_door(f), *lock = open_lock(client, "door", &HOUR);
    eventually(tkl_lock_acquire(lock, 10) == TKL_BUSY && channels_of_waiters(f) == 1,
               LONG_MS); /* listens */
    int64_t listened = server_calls(f->server, "ssubscribe");
    pending w = {.lock = lock, .wait_ms = -1};
    proxy_hold(p, TO_CLIENT, true);
    stand_in_line(&w, holder);
    int64_t asked = server_functions(f->server);
    proxy_cut(p);
    proxy_hold(p, TO_CLIENT, false);
    eventually(server_functions(f->server) > asked, LONG_MS);
    assert_true(server_calls(f->server, "ssubscribe") > listened);
    assert_int_equal(lock_waiters(holder), 1);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w));
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_lock_acquire(holder, 0));
    tkl_lock_close(lock);
    tkl_close(client);
    proxy_end(p);
    tkl_lock_close(holder);
}

/* ---- Order --------------------------------------------------------------- */

typedef struct queue {
    tkl_client *client;
    tkl_lock *probe;
    int order[64]; /* indexes of the threads in the order of their turns; guarded by the lock */
    int served;
    atomic_int next; /* whose turn it is to join */
} queue;

static void join_and_sign(void *arg, int index)
{
    queue *q = arg;
    tkl_lock *lock = open_lock(q->client, "door", &HOUR);
    while (atomic_load(&q->next) != index)
        test_sleep_ms(1);
    assert_ok(tkl_lock_acquire(lock, -1));
    q->order[q->served++] = index;
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
}

static void threads_are_served_in_order_of_arrival(void **state)
{
    fixture *f = *state;
    enum { N = 40 };
    tkl_lock *holder = held_door(f);
    queue q = {.client = f->client};
    crew *threads = crew_start(N, join_and_sign, &q);
    for (int i = 0; i < N; i++) {
        atomic_store(&q.next, i);
        eventually(lock_waiters(holder) == i + 1, LONG_MS);
    }
    assert_all_keys_expire(f->server);
    assert_ok(tkl_lock_release(holder));
    crew_join(threads);
    for (int i = 0; i < N; i++)
        assert_int_equal(q.order[i], i);
    tkl_lock_close(holder);
}

static void processes_are_served_in_order_of_arrival(void **state)
{
    fixture *f = *state;
    enum { N = 6 };
    tkl_lock *holder = held_door(f);
    peer *all[N];
    for (int i = 0; i < N; i++) {
        all[i] = outsider(f);
        make_wait(all[i], holder);
    }
    uint64_t fence = tkl_lock_fence(holder);
    assert_ok(tkl_lock_release(holder));
    for (int i = 0; i < N; i++) {
        assert_ok(peer_hear(all[i]));
        assert_true(all[i]->fence > fence);
        fence = all[i]->fence;
        for (int j = i + 1; j < N; j++)
            assert_false(peer_answers(all[j], 0));
        assert_ok(peer_do(all[i], "release"));
        peer_end(all[i]);
    }
    tkl_lock_close(holder);
}

static void nobody_overtakes_those_who_wait(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f), *late = open_door(f, &HOUR);
    peer *p = outsider(f);
    make_wait(p, holder);
    assert_ok(tkl_lock_release(holder));
    assert_code(tkl_lock_acquire(late, 0), TKL_BUSY);
    assert_ok(peer_hear(p));
    tkl_lock_close(late);
    tkl_lock_close(holder);
    peer_end(p);
}

/* ---- Hand-over ----------------------------------------------------------- */

/* The waiter is stopped, so it can hold the lock only because the release handed it over. */
static void a_release_hands_over_in_one_step(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    peer *p = outsider(f);
    make_wait(p, holder);
    peer_signal(p, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    assert_int_equal(lock_holders(holder), 1);
    assert_int_equal(lock_waiters(holder), 0);
    peer_signal(p, SIGCONT);
    assert_ok(peer_hear(p));
    assert_int_equal(p->state, TKL_HOLD_HELD);
    peer_end(p);
    tkl_lock_close(holder);
}

static void what_was_handed_over_is_held_for_the_whole_lease(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    pending w = {.lock = open_door(f, &HOUR), .wait_ms = -1};
    stand_in_line(&w, holder);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w));
    eventually(tkl_lock_left_ms(w.lock) > 3000000, LONG_MS);
    assert_all_keys_expire(f->server);
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

static void breaking_hands_over(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    pending w = {.lock = open_door(f, &HOUR), .wait_ms = -1};
    stand_in_line(&w, holder);
    assert_ok(tkl_lock_break(w.lock));
    assert_ok(pending_join(&w));
    assert_code(tkl_lock_renew(holder, 0), TKL_NOTOWNER);
    assert_code(tkl_lock_release(holder), TKL_NOTOWNER);
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

/* ---- The end of a lease -------------------------------------------------- */

/* How late after the end of the lease a busy machine may be: less than the wait. */
#define LATE_MS 10000

static void an_expired_lease_hands_over_without_a_releaser(void **state)
{
    fixture *f = *state;
    int64_t start = test_now_ms();
    tkl_lock *holder = door_held_for(f, 400);
    pending w = {.lock = open_door(f, &HOUR), .wait_ms = LONG_MS};
    pending_start(&w);
    assert_ok(pending_join(&w));
    assert_in_range(test_now_ms() - start, 400, 400 + LATE_MS);
    assert_code(tkl_lock_release(holder), TKL_NOTOWNER);
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

static void a_killed_holder_blocks_until_its_lease_ends(void **state)
{
    fixture *f = *state;
    peer *p = peer_start(&(peer_options){.url = f->server->url, .name = "door", .lease_ms = 600});
    tkl_lock *lock = open_door(f, &HOUR);
    assert_ok(peer_do(p, "acquire 0"));
    uint64_t fence = p->fence;
    peer_signal(p, SIGKILL);
    int64_t start = test_now_ms();
    assert_ok(tkl_lock_acquire(lock, LONG_MS));
    assert_in_range(test_now_ms() - start, 0, 600 + LATE_MS);
    assert_true(tkl_lock_fence(lock) > fence);
    tkl_lock_close(lock);
    peer_end(p);
}

static void a_lease_cut_short_is_noticed(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    pending w = {.lock = open_door(f, &HOUR), .wait_ms = LONG_MS};
    stand_in_line(&w, holder);
    assert_ok(tkl_lock_renew(holder, 100));
    assert_ok(pending_join(&w));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

/* The lease is renewed again and again while threads wait: the next look is in time, by any of
 * them. */
static void renewed_leases_are_watched_by_threads_together(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = door_held_for(f, 3000);
    pending w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = (pending){.lock = open_door(f, &HOUR), .wait_ms = LONG_MS};
        stand_in_line(&w[i], holder);
        assert_ok(tkl_lock_renew(holder, 0));
    }
    for (int i = 0; i < 4; i++) {
        test_sleep_ms(1000);
        assert_ok(tkl_lock_renew(holder, 0));
    }
    int64_t start = test_now_ms();
    assert_ok(pending_join(&w[0]));
    assert_in_range(test_now_ms() - start, 0, 3000 + LATE_MS);
    tkl_lock_close(w[0].lock);
    for (int i = 1; i < 3; i++) {
        assert_ok(pending_join(&w[i]));
        tkl_lock_close(w[i].lock);
    }
    tkl_lock_close(holder);
}

/* ---- Many ---------------------------------------------------------------- */

typedef struct crowd {
    tkl_client *client;
    int names; /* how many different ones */
    atomic_int served;
} crowd;

static void wait_in_crowd(void *arg, int index)
{
    crowd *c = arg;
    char *name = test_format("door-%d", index % c->names);
    tkl_lock *lock = open_lock(c->client, name, &HOUR);
    assert_ok(tkl_lock_acquire(lock, -1));
    atomic_fetch_add(&c->served, 1);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    free(name);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY 200
#else
#define MANY 1000
#endif
#define POOL 8

static bool quiet_for(server *s, int64_t ms)
{
    int64_t before = server_commands(s);
    test_sleep_ms(ms);
    return server_commands(s) == before;
}

static void wait_many(fixture *f, int names)
{
    crowd c = {
        .client = test_open(f->server->url, &(tkl_options){.pool_size = POOL, .timeout_ms = 60000}),
        .names = names};
    tkl_lock **holders = calloc((size_t)names, sizeof(*holders));
    assert_non_null(holders);
    for (int i = 0; i < names; i++) {
        char *name = test_format("door-%d", i);
        holders[i] = open_lock(f->client, name, &HOUR);
        assert_ok(tkl_lock_acquire(holders[i], 0));
        free(name);
    }
    int others = server_connections(f->server, NULL);
    crew *threads = crew_start(MANY, wait_in_crowd, &c);
    for (int i = 0; i < names; i++)
        eventually(lock_waiters(holders[i]) == MANY / names, 2 * LONG_MS);
    assert_in_range(server_connections(f->server, NULL) - others, 1, POOL + 1);
    assert_all_keys_expire(f->server);

    eventually(quiet_for(f->server, 1000), LONG_MS); /* nothing is sent while they wait */

    int64_t evals = server_functions(f->server);
    for (int i = 0; i < names; i++)
        assert_ok(tkl_lock_release(holders[i]));
    crew_join(threads);
    assert_int_equal(atomic_load(&c.served), MANY);
    /* A hand-over is one script; the rest is for confirming and looking, on a slow machine. */
    assert_in_range(server_functions(f->server) - evals, MANY, 3 * MANY);
    for (int i = 0; i < names; i++)
        tkl_lock_close(holders[i]);
    free(holders);
    tkl_close(c.client);
    assert_all_keys_expire(f->server);
}

static void a_thousand_threads_wait_for_one_lock(void **state)
{
    wait_many(*state, 1);
}

static void a_thousand_threads_wait_for_as_many_locks(void **state)
{
    wait_many(*state, MANY);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(not_waiting_does_not_wait),
        TEST(a_wait_ends_in_time_and_leaves_nothing),
        TEST(those_who_give_up_leave_no_subscriptions_behind),
        TEST(a_wait_cut_off_leaves_no_ghost),
        TEST(a_place_asked_for_twice_is_one_place),
        TEST(threads_are_served_in_order_of_arrival),
        TEST(processes_are_served_in_order_of_arrival),
        TEST(nobody_overtakes_those_who_wait),
        TEST(a_release_hands_over_in_one_step),
        TEST(what_was_handed_over_is_held_for_the_whole_lease),
        TEST(breaking_hands_over),
        TEST(an_expired_lease_hands_over_without_a_releaser),
        TEST(a_killed_holder_blocks_until_its_lease_ends),
        TEST(a_lease_cut_short_is_noticed),
        TEST(renewed_leases_are_watched_by_threads_together),
        TEST(a_thousand_threads_wait_for_one_lock),
        TEST(a_thousand_threads_wait_for_as_many_locks),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
