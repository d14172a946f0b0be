/* SPDX-License-Identifier: MIT
 *
 * Waiting for the lock: in order of arrival, woken by owning it, without traffic; and past those
 * who died, fell silent or gave up.
 *
 * ctest: label threads
 */
#include <pthread.h>
#include <stdatomic.h>

#include "core/client.h"
#include "support/fixture.h"
#include "support/locks.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/puppet.h"

#define LINE "tackle:lock:{door}:line"

static const tkl_lock_options HOUR = {.lease_ms = 3600000};

static tkl_lock *held_door(fixture *f, int64_t lease_ms)
{
    tkl_lock *lock = open_lock(f->client, "door", &(tkl_lock_options){.lease_ms = lease_ms});
    assert_ok(tkl_lock_acquire(lock, 0));
    return lock;
}

static puppet *outsider(fixture *f, int64_t lease_ms)
{
    return puppet_start(
        &(puppet_options){.url = f->server->url, .name = "door", .lease_ms = lease_ms});
}

/* Lets another process wait, and returns when it does. */
static void make_wait(puppet *p, tkl_lock *lock)
{
    int64_t before = lock_waiters(lock);
    puppet_tell(p, "acquire -1");
    eventually(lock_waiters(lock) == before + 1, LONG_MS);
}

static void start_waiting(pending *p, tkl_lock *lock)
{
    int64_t before = lock_waiters(lock);
    pending_start(p);
    eventually(lock_waiters(lock) == before + 1, LONG_MS);
}

/* How many are listened to, by whomever. */
static int64_t channels(fixture *f)
{
    return server_ask_int(f->server, "EVAL %s 0",
                          "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*:w:*')");
}

/* ---- The time to wait ---------------------------------------------------- */

static void not_waiting_does_not_wait(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000), *lock = open_lock(f->client, "door", &HOUR);
    int64_t before = server_calls(f->server, "ssubscribe");
    assert_code(tkl_lock_acquire(lock, 0), TKL_BUSY);
    assert_int_equal(server_ask_int(f->server, "EXISTS " LINE), 0);
    assert_int_equal(server_calls(f->server, "ssubscribe"), before);
    tkl_lock_close(lock);
    tkl_lock_close(holder);
}

static void a_wait_ends_in_time_and_leaves_nothing(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000), *lock = open_lock(f->client, "door", &HOUR);
    static const int64_t waits[] = {1, 20, 300};
    for (int i = 0; i < 3; i++) {
        int64_t start = test_now_ms();
        assert_code(tkl_lock_acquire(lock, waits[i]), TKL_BUSY);
        assert_in_range(test_now_ms() - start, waits[i], waits[i] + LONG_MS);
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_FREE);
        assert_int_equal(server_ask_int(f->server, "EXISTS " LINE), 0);
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
    assert_in_range(channels(f), 1, 100);
    assert_all_keys_expire(f->server);
}

/* A wait that had no answer may have left a place in the line: giving up clears it away. */
static void a_wait_cut_off_leaves_no_ghost(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 1000});
    tkl_lock *holder = held_door(f, 3600000);
    for (int retry = 0; retry < 2; retry++) {
        tkl_lock *lock = open_lock(client, "door", &HOUR);
        pending w = {.lock = lock, .wait_ms = 1000};
        start_waiting(&w, holder);
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

/* What took the place in the line had no answer, and is asked for again. */
static void a_place_asked_for_twice_is_one_place(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_lock *holder = held_door(f, 3600000), *lock = open_lock(client, "door", &HOUR);
    eventually(tkl_lock_acquire(lock, 10) == TKL_BUSY && channels(f) == 1, LONG_MS); /* listens */
    int64_t before = server_calls(f->server, "ssubscribe");
    pending w = {.lock = lock, .wait_ms = -1};
    proxy_hold(p, TO_CLIENT, true);
    start_waiting(&w, holder);
    proxy_cut(p);
    proxy_hold(p, TO_CLIENT, false);
    eventually(server_calls(f->server, "lpos") > 0, LONG_MS);
    assert_true(server_calls(f->server, "ssubscribe") > before);
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
    int order[64]; /* who came when; guarded by the lock */
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
    tkl_lock *holder = held_door(f, 3600000);
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
    tkl_lock *holder = held_door(f, 3600000);
    puppet *all[N];
    for (int i = 0; i < N; i++) {
        all[i] = outsider(f, 3600000);
        make_wait(all[i], holder);
    }
    uint64_t fence = tkl_lock_fence(holder);
    assert_ok(tkl_lock_release(holder));
    for (int i = 0; i < N; i++) {
        assert_ok(puppet_hear(all[i]));
        assert_true(all[i]->fence > fence);
        fence = all[i]->fence;
        for (int j = i + 1; j < N; j++)
            assert_false(puppet_answers(all[j], 0));
        assert_ok(puppet_do(all[i], "release"));
        puppet_end(all[i]);
    }
    tkl_lock_close(holder);
}

static void nobody_overtakes_those_who_wait(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000), *late = open_lock(f->client, "door", &HOUR);
    puppet *p = outsider(f, 3600000);
    make_wait(p, holder);
    assert_ok(tkl_lock_release(holder));
    assert_code(tkl_lock_acquire(late, 0), TKL_BUSY);
    assert_ok(puppet_hear(p));
    tkl_lock_close(late);
    tkl_lock_close(holder);
    puppet_end(p);
}

/* ---- Hand-over ----------------------------------------------------------- */

/* The waiter is stopped: if the lock is its own all the same, the release gave it away. */
static void a_release_hands_over_in_one_step(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    puppet *p = outsider(f, 3600000);
    make_wait(p, holder);
    puppet_signal(p, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    assert_int_equal(lock_holders(holder), 1);
    assert_int_equal(lock_waiters(holder), 0);
    puppet_signal(p, SIGCONT);
    assert_ok(puppet_hear(p));
    assert_int_equal(p->state, TKL_HOLD_HELD);
    puppet_end(p);
    tkl_lock_close(holder);
}

static void what_was_handed_over_is_held_for_the_whole_lease(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    pending w = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = -1};
    start_waiting(&w, holder);
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
    tkl_lock *holder = held_door(f, 3600000);
    pending w = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = -1};
    start_waiting(&w, holder);
    assert_ok(tkl_lock_break(w.lock));
    assert_ok(pending_join(&w));
    assert_code(tkl_lock_renew(holder, 0), TKL_NOTOWNER);
    assert_code(tkl_lock_release(holder), TKL_NOTOWNER);
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

/* ---- The end of a lease -------------------------------------------------- */

/* How much later than the end of the lease it may come on a busy machine: less than the wait. */
#define LATE_MS 10000

static void an_expired_lease_hands_over_without_a_releaser(void **state)
{
    fixture *f = *state;
    int64_t start = test_now_ms();
    tkl_lock *holder = held_door(f, 400);
    pending w = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = LONG_MS};
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
    puppet *p = outsider(f, 600);
    tkl_lock *lock = open_lock(f->client, "door", &HOUR);
    assert_ok(puppet_do(p, "acquire 0"));
    uint64_t fence = p->fence;
    puppet_signal(p, SIGKILL);
    int64_t start = test_now_ms();
    assert_ok(tkl_lock_acquire(lock, LONG_MS));
    assert_in_range(test_now_ms() - start, 0, 600 + LATE_MS);
    assert_true(tkl_lock_fence(lock) > fence);
    tkl_lock_close(lock);
    puppet_end(p);
}

static void a_lease_cut_short_is_noticed(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    pending w = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = LONG_MS};
    start_waiting(&w, holder);
    assert_ok(tkl_lock_renew(holder, 100));
    assert_ok(pending_join(&w));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

/* Renewed again and again while they wait: whoever looks, the next look is in time. */
static void renewed_leases_are_watched_by_threads_together(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3000);
    pending w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = (pending){.lock = open_lock(f->client, "door", &HOUR), .wait_ms = LONG_MS};
        start_waiting(&w[i], holder);
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

/* ---- The dead and the silent --------------------------------------------- */

/* Holders have an hour: who gets it within seconds did not wait for the end of a lease. */
#define SOON_MS 20000

static void a_killed_waiter_is_skipped_at_once(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    puppet *dead[3], *alive = outsider(f, 3600000);
    for (int i = 0; i < 3; i++) {
        dead[i] = outsider(f, 3600000);
        make_wait(dead[i], holder);
    }
    make_wait(alive, holder);
    for (int i = 0; i < 3; i++)
        puppet_signal(dead[i], SIGKILL);
    eventually(channels(f) == 1, LONG_MS);
    assert_ok(tkl_lock_release(holder));
    assert_true(puppet_answers(alive, SOON_MS));
    assert_ok(puppet_hear(alive));
    for (int i = 0; i < 3; i++)
        puppet_end(dead[i]);
    puppet_end(alive);
    tkl_lock_close(holder);
}

static void a_silent_waiter_is_passed_over(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    puppet *silent = outsider(f, 3600000), *alive = outsider(f, 3600000);
    make_wait(silent, holder);
    make_wait(alive, holder);
    puppet_signal(silent, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    assert_true(puppet_answers(alive, SOON_MS));
    assert_ok(puppet_hear(alive));
    assert_ok(puppet_do(alive, "release"));
    puppet_signal(silent, SIGCONT); /* comes too late, and lines up again */
    assert_ok(puppet_hear(silent));
    assert_true(silent->fence > alive->fence);
    assert_ok(puppet_do(silent, "release"));
    puppet_end(silent);
    puppet_end(alive);
    tkl_lock_close(holder);
}

/* A place in the line like the first one, "token mode lease client who channel", of another waiter;
 * of another process, too, if asked for. */
static void forge_place(server *s, char token, bool other_process)
{
    char *place = server_ask(s, "LRANGE " LINE " 0 0");
    place[strcspn(place, "\n")] = '\0';
    memset(place, token, 32);
    if (other_process)
        memset(strchr(place + 35, ' ') + 1, token, 32);
    server_do(s, "RPUSH " LINE " %s", place);
    free(place);
}

/* The first and the last in the line are of the same process: nobody may rely on the one
 * to look after the other. */
static void a_silent_process_with_many_waiters_is_passed_over(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    puppet *silent = outsider(f, 3600000), *alive = outsider(f, 3600000);
    make_wait(silent, holder);
    make_wait(alive, holder);
    forge_place(f->server, 'f', false); /* another of its threads, behind the living */
    puppet_signal(silent, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    assert_true(puppet_answers(alive, SOON_MS));
    assert_ok(puppet_hear(alive));
    puppet_end(silent);
    puppet_end(alive);
    tkl_lock_close(holder);
}

/* The one who is asked to look is silent as well. */
static void many_silent_waiters_are_passed_over_together(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    client->heartbeat_us = 500000;
    tkl_lock *holder = held_door(f, 3600000);
    puppet *silent = outsider(f, 3600000);
    pending alive = {.lock = open_lock(client, "door", &HOUR), .wait_ms = LONG_MS};
    make_wait(silent, holder);
    for (char token = 'a'; token <= 'f'; token++)
        forge_place(f->server, token, true);
    start_waiting(&alive, holder);
    forge_place(f->server, '0', true);
    puppet_signal(silent, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&alive));
    assert_in_range(alive.took_ms, 4000, 15000); /* of seven times 4 s, and 30 s for the looker */
    puppet_end(silent);
    tkl_lock_close(alive.lock);
    tkl_lock_close(holder);
    tkl_close(client);
}

static void the_silent_one_killed_after_the_grant_is_passed_over(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    puppet *silent = outsider(f, 3600000), *alive = outsider(f, 3600000);
    make_wait(silent, holder);
    make_wait(alive, holder);
    puppet_signal(silent, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    puppet_signal(silent, SIGKILL);
    assert_true(puppet_answers(alive, SOON_MS));
    assert_ok(puppet_hear(alive));
    puppet_end(silent);
    puppet_end(alive);
    tkl_lock_close(holder);
}

static void a_crowd_of_dead_waiters_holds_nobody_up(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    server_do(f->server, "EVAL %s 1 " LINE,
              "for i = 1, 350 do redis.call('RPUSH', KEYS[1], "
              "string.format('%032d', i) .. ' x 1000000 ab host/1/ gone') end "
              "redis.call('PEXPIRE', KEYS[1], 60000)");
    puppet *alive = outsider(f, 3600000);
    make_wait(alive, holder);
    assert_ok(tkl_lock_release(holder));
    assert_true(puppet_answers(alive, SOON_MS));
    assert_ok(puppet_hear(alive));
    assert_int_equal(lock_waiters(holder), 0);
    puppet_end(alive);
    tkl_lock_close(holder);
}

/* On a channel that it shared with its parent it would seem alive as long as that. */
static void a_forked_child_waits_on_a_channel_of_its_own(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000), *lock = open_lock(f->client, "door", &HOUR);
    eventually(tkl_lock_acquire(lock, 10) == TKL_BUSY && channels(f) == 1, LONG_MS); /* listens */
    pid_t child = fork();
    if (child == 0) {
        tkl_lock *own;
        bool good = tkl_lock_open(f->client, tkl_str("door"), &HOUR, &own) == TKL_OK &&
                    tkl_lock_acquire(own, -1) == TKL_OK;
        _exit(good ? 0 : 1);
    }
    eventually(lock_waiters(holder) == 1, LONG_MS);
    assert_int_equal(channels(f), 2);
    kill(child, SIGKILL);
    assert_int_equal(process_wait(child), 128 + SIGKILL);
    eventually(channels(f) == 1, LONG_MS);
    assert_ok(tkl_lock_release(holder));
    assert_ok(tkl_lock_acquire(lock, 0)); /* nobody has it */
    tkl_lock_close(lock);
    tkl_lock_close(holder);
}

/* ---- Cuts and restarts --------------------------------------------------- */

static void a_cut_subscription_does_not_cost_the_lock(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    pending w[2];
    for (int i = 0; i < 2; i++) {
        w[i] = (pending){.lock = open_lock(f->client, "door", &HOUR), .wait_ms = -1};
        start_waiting(&w[i], holder);
    }
    server_do(f->server, "CLIENT KILL TYPE pubsub");
    assert_ok(tkl_lock_release(holder)); /* nobody hears it */
    for (int i = 0; i < 2; i++)          /* whoever comes first */
        eventually(tkl_lock_state(w[i].lock) == TKL_HOLD_HELD ||
                       tkl_lock_state(w[!i].lock) == TKL_HOLD_HELD,
                   LONG_MS);
    int first = tkl_lock_state(w[0].lock) == TKL_HOLD_HELD ? 0 : 1;
    assert_ok(pending_join(&w[first]));
    assert_ok(tkl_lock_release(w[first].lock));
    assert_ok(pending_join(&w[!first]));
    for (int i = 0; i < 2; i++)
        tkl_lock_close(w[i].lock);
    tkl_lock_close(holder);
}

static void cuts_again_and_again_do_not_cost_the_lock(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    pending w = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = -1};
    start_waiting(&w, holder);
    for (int i = 0; i < 5; i++) {
        server_do(f->server, "CLIENT KILL TYPE pubsub");
        server_do(f->server, "CLIENT KILL TYPE normal SKIPME yes");
        test_sleep_ms(37);
    }
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

static void a_restart_while_waited_for(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"appendonly yes", "appendfsync always", NULL}});
    tkl_client *client = test_open(s->url, NULL);
    tkl_lock *holder = open_lock(client, "door", &HOUR);
    assert_ok(tkl_lock_acquire(holder, 0));
    pending w = {.lock = open_lock(client, "door", &HOUR), .wait_ms = -1};
    start_waiting(&w, holder);
    uint64_t fence = tkl_lock_fence(holder);
    server_kill(s);
    server_restart(s);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w));
    assert_true(tkl_lock_fence(w.lock) > fence);
    assert_all_keys_expire(s);
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
    tkl_close(client);
    server_end(s);
}

static void a_server_that_forgot_everything_gives_it_to_a_waiter(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f, 3600000);
    pending w = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = -1};
    start_waiting(&w, holder);
    server_do(f->server, "FLUSHALL");
    server_do(f->server, "CLIENT KILL TYPE pubsub"); /* as its restart does */
    assert_ok(pending_join(&w));
    assert_code(tkl_lock_release(holder), TKL_NOTOWNER);
    tkl_lock_close(w.lock);
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

    int64_t evals = server_calls(f->server, "evalsha");
    for (int i = 0; i < names; i++)
        assert_ok(tkl_lock_release(holders[i]));
    crew_join(threads);
    assert_int_equal(atomic_load(&c.served), MANY);
    /* A hand-over is one script; the rest is for confirming and looking, on a slow machine. */
    assert_in_range(server_calls(f->server, "evalsha") - evals, MANY, 3 * MANY);
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
    if (puppet_called(argc, argv))
        return puppet_main(argv);
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
        TEST(a_killed_waiter_is_skipped_at_once),
        TEST(a_silent_waiter_is_passed_over),
        TEST(a_silent_process_with_many_waiters_is_passed_over),
        TEST(many_silent_waiters_are_passed_over_together),
        TEST(the_silent_one_killed_after_the_grant_is_passed_over),
        TEST(a_crowd_of_dead_waiters_holds_nobody_up),
        TEST(a_forked_child_waits_on_a_channel_of_its_own),
        TEST(a_cut_subscription_does_not_cost_the_lock),
        TEST(cuts_again_and_again_do_not_cost_the_lock),
        TEST(a_restart_while_waited_for),
        TEST(a_server_that_forgot_everything_gives_it_to_a_waiter),
        TEST(a_thousand_threads_wait_for_one_lock),
        TEST(a_thousand_threads_wait_for_as_many_locks),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
