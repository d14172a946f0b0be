/* SPDX-License-Identifier: MIT
 *
 * Locks and permits on a cluster: waiting and handing over on many slots, while slots move and
 * masters die. And one under Sentinels.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include <limits.h>
#include <stdatomic.h>

#include "support/clustered.h"
#include "support/locks.h"
#include "support/peer.h"

#define POOL 4

static const tkl_lock_options HOUR = {.lease_ms = 3600000};

static int fresh_client(void **state)
{
    return clustered_fresh_with(state,
                                &(tkl_options){.timeout_ms = PATIENCE_MS, .pool_size = POOL});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_client, clustered_done)

static int door_slot(void)
{
    return slot_of("{door}");
}

static tkl_lock *held_door(clustered *f, const tkl_lock_options *options)
{
    tkl_lock *lock = open_lock(f->client, "door", options);
    assert_ok(tkl_lock_acquire(lock, PATIENCE_MS));
    return lock;
}

static void start_waiting(pending *p, tkl_lock *probe)
{
    int64_t before = lock_waiters(probe);
    p->wait_ms = -1;
    pending_start(p);
    eventually(lock_waiters(probe) == before + 1, LONG_MS);
}

static bool is_master(server *s)
{
    char *role = server_ask(s, "ROLE");
    bool master = strncmp(role, "master", 6) == 0;
    free(role);
    return master;
}

/* As assert_all_keys_expire(), which only works where all keys are of one server. */
static void assert_keys_of_node_expire(server *s)
{
    char *keys = server_ask(s, "KEYS *");
    bool master = is_master(s);
    for (char *rest = keys, *key; master && (key = strsep(&rest, "\n")) != NULL;)
        if (*key != '\0' && server_ask_int(s, "PTTL %s", key) == -1)
            fail_msg("%s does not expire", key);
    free(keys);
}

/* Checks that the waiter gets the lock, and that the lock works afterwards. A hand-over must be
 * confirmed within a second: on a machine that stood still for so long the lock may be lost, and
 * its handle must know it. */
static void assert_handed_over(tkl_lock *holder, pending *w)
{
    uint64_t fence = tkl_lock_fence(holder);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(w));
    assert_true(tkl_lock_fence(w->lock) > fence);
    int code = tkl_lock_acquire(holder, 0);
    bool lost = tkl_lock_state(w->lock) == TKL_HOLD_LOST;
    assert_true(code == TKL_BUSY || (lost && code == TKL_OK));
    code = tkl_lock_release(w->lock);
    assert_true(code == TKL_OK || (lost && code == TKL_NOTOWNER));
    tkl_lock_close(w->lock);
    tkl_lock_close(holder);
}

/* ---- Many slots ---------------------------------------------------------- */

typedef struct crowd {
    tkl_client *client;
    atomic_int served;
} crowd;

static void wait_in_crowd(void *arg, int index)
{
    crowd *c = arg;
    char *name = test_format("door-%d", index);
    tkl_lock *lock = open_lock(c->client, name, &HOUR);
    assert_ok(tkl_lock_acquire(lock, -1));
    atomic_fetch_add(&c->served, 1);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    free(name);
}

static void waits_on_many_slots_share_few_connections(void **state)
{
    clustered *f = *state;
    enum { N = 1000 };
    crowd c = {.client = test_open(
                   f->cluster->url,
                   &(tkl_options){.timeout_ms = PATIENCE_MS, .pool_size = POOL, .name = "crowd"})};
    tkl_lock *holders[N];
    for (int i = 0; i < N; i++) {
        char *name = test_format("door-%d", i);
        holders[i] = open_lock(f->client, name, &HOUR);
        assert_ok(tkl_lock_acquire(holders[i], 0));
        free(name);
    }
    crew *threads = crew_start(N, wait_in_crowd, &c);
    for (int i = 0; i < N; i++)
        eventually(lock_waiters(holders[i]) == 1, LONG_MS);
    for (int i = 0; i < CLUSTER_SIZE; i++) {
        assert_in_range(server_connections(f->cluster->servers[i], "crowd"), 0, POOL + 1);
        assert_keys_of_node_expire(f->cluster->servers[i]);
    }
    tkl_names *names;
    assert_ok(tkl_lock_names(f->client, &names));
    assert_int_equal(names->count, N);
    tkl_names_free(names);
    for (int i = 0; i < N; i++) {
        assert_ok(tkl_lock_release(holders[i]));
        tkl_lock_close(holders[i]);
    }
    crew_join(threads);
    assert_int_equal(atomic_load(&c.served), N);
    tkl_close(c.client);
}

static void permits_are_handed_over_as_well(void **state)
{
    clustered *f = *state;
    enum { N = 10, LIMIT = 2 };
    for (int i = 0; i < N; i++) { /* on as many slots */
        char *name = test_format("pool-%d", i);
        peer *waiter =
            peer_start(&(peer_options){.url = f->cluster->url, .name = name, .limit = LIMIT});
        tkl_semaphore *permits[LIMIT];
        for (int j = 0; j < LIMIT; j++) {
            permits[j] = open_sem(f->client, name, LIMIT, NULL);
            assert_ok(tkl_semaphore_acquire(permits[j], 0));
        }
        assert_code(peer_do(waiter, "acquire 0"), TKL_BUSY);
        peer_tell(waiter, "acquire -1");
        eventually(sem_waiters(permits[0]) == 1, LONG_MS);
        assert_ok(tkl_semaphore_release(permits[1]));
        assert_ok(peer_hear(waiter));
        assert_true(waiter->fence > tkl_semaphore_fence(permits[0]));
        assert_int_equal(sem_holders(permits[0]), LIMIT);
        for (int j = 0; j < LIMIT; j++)
            tkl_semaphore_close(permits[j]);
        peer_end(waiter);
        free(name);
    }
}

static void processes_hand_over_and_skip_the_dead(void **state)
{
    clustered *f = *state;
    tkl_lock *holder = held_door(f, &HOUR);
    peer *p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = peer_start(
            &(peer_options){.url = f->cluster->url, .name = "door", .lease_ms = 3600000});
        peer_tell(p[i], "acquire -1");
        eventually(lock_waiters(holder) == i + 1, LONG_MS);
    }
    peer_signal(p[0], SIGKILL);
    assert_ok(tkl_lock_release(holder));
    assert_ok(peer_hear(p[1]));
    assert_false(peer_answers(p[2], 0));
    assert_ok(peer_do(p[1], "release"));
    assert_ok(peer_hear(p[2]));
    assert_true(p[2]->fence > p[1]->fence);
    for (int i = 0; i < 3; i++)
        peer_end(p[i]);
    tkl_lock_close(holder);
}

static void renewal_serves_all_nodes(void **state)
{
    clustered *f = *state;
    enum { N = 12 };
    tkl_lock *locks[N];
    for (int i = 0; i < N; i++) {
        char *name = test_format("door-%d", i);
        locks[i] =
            open_lock(f->client, name, &(tkl_lock_options){.lease_ms = 5000, .auto_renew = true});
        assert_ok(tkl_lock_acquire(locks[i], 0));
        free(name);
    }
    test_sleep_ms(5500);
    for (int i = 0; i < N; i++) {
        assert_int_equal(tkl_lock_state(locks[i]), TKL_HOLD_HELD);
        assert_ok(tkl_lock_release(locks[i]));
        tkl_lock_close(locks[i]);
    }
}

/* ---- Moving slots -------------------------------------------------------- */

static void a_slot_moves_while_waited_for(void **state)
{
    clustered *f = *state;
    tkl_lock *holder = held_door(f, &HOUR);
    pending w = {.lock = open_lock(f->client, "door", &HOUR)};
    start_waiting(&w, holder);
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    cluster_move_begin(from, to, door_slot());
    cluster_move_keys(from, to, door_slot(), INT_MAX);
    cluster_move_end(f->cluster, to, door_slot());
    assert_keys_of_node_expire(to);
    assert_handed_over(holder, &w);
}

/* A slow migration: the slot is declared to be moving, and its keys are here or there. */
static void a_lock_works_while_its_slot_moves(void **state)
{
    clustered *f = *state;
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    tkl_lock *lock = held_door(f, &(tkl_lock_options){.lease_ms = 3000, .auto_renew = true});
    tkl_lock *other = open_lock(f->client, "door", NULL);
    cluster_move_begin(from, to, door_slot());
    for (int moved = 0; moved < 2; moved++) {
        test_sleep_ms(2000); /* it is renewed */
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
        assert_ok(tkl_lock_renew(lock, 0));
        assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
        assert_ok(tkl_lock_release(lock));
        assert_ok(tkl_lock_acquire(lock, 0));
        if (!moved)
            cluster_move_keys(from, to, door_slot(), INT_MAX);
    }
    cluster_move_end(f->cluster, to, door_slot());
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_lock_acquire(other, PATIENCE_MS));
    tkl_lock_close(other);
    tkl_lock_close(lock);
}

/* Nothing is stored under its name: the node that gives the slot away sends callers to the other,
 * which refuses to run a script with several keys that it does not have. */
static void a_free_lock_is_had_while_its_slot_moves(void **state)
{
    clustered *f = *state;
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    tkl_lock *lock = open_lock(f->client, "door", &HOUR), *other;
    other = open_lock(f->client, "door", &(tkl_lock_options){.lease_ms = 1000});
    cluster_move_begin(from, to, door_slot());
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_lock_renew(lock, 0));
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_lock_acquire(other, PATIENCE_MS));
    assert_ok(tkl_lock_acquire(lock, PATIENCE_MS)); /* when that lease ends */
    assert_true(tkl_lock_fence(lock) > tkl_lock_fence(other));
    assert_code(tkl_lock_release(other), TKL_NOTOWNER);
    assert_keys_of_node_expire(to);
    cluster_move_keys(from, to, door_slot(), INT_MAX);
    cluster_move_end(f->cluster, to, door_slot());
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(other);
    tkl_lock_close(lock);
}

/* Callers that get no place in the line are answered in time, and see who holds it. */
static void a_held_lock_is_busy_while_its_slot_moves(void **state)
{
    clustered *f = *state;
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    tkl_lock *holder = held_door(f, &HOUR), *other = open_lock(f->client, "door", NULL);
    tkl_lock *reader = open_lock(f->client, "door", &(tkl_lock_options){.shared = true});
    cluster_move_begin(from, to, door_slot());
    for (int moved = 0; moved < 2; moved++) {
        assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
        assert_code(tkl_lock_acquire(other, 300), TKL_BUSY);
        assert_code(tkl_lock_acquire(reader, 0), TKL_BUSY);
        assert_code(tkl_lock_acquire(reader, 300), TKL_BUSY);
        tkl_holders *holders;
        assert_ok(tkl_lock_show(other, &holders));
        assert_int_equal(holders->held, 1);
        assert_int_equal(holders->items[0].pid, getpid());
        tkl_holders_free(holders);
        if (!moved)
            cluster_move_keys(from, to, door_slot(), INT_MAX);
    }
    pending w = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = -1};
    pending_start(&w); /* without a place in the line */
    test_sleep_ms(200);
    assert_handed_over(holder, &w);
    assert_ok(tkl_lock_acquire(other, 0));
    assert_ok(tkl_lock_break(reader));
    assert_code(tkl_lock_release(other), TKL_NOTOWNER);
    cluster_move_end(f->cluster, to, door_slot());
    tkl_lock_close(other);
    tkl_lock_close(reader);
}

/* Waiters that stood in line before keep their places. */
static void a_lock_is_handed_over_while_its_slot_moves(void **state)
{
    clustered *f = *state;
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    tkl_lock *holder = held_door(f, &HOUR);
    pending w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = (pending){.lock = open_lock(f->client, "door", &HOUR)};
        start_waiting(&w[i], holder);
    }
    cluster_move_begin(from, to, door_slot());
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w[0]));
    assert_int_equal(lock_waiters(holder), 2);
    cluster_move_keys(from, to, door_slot(), INT_MAX);
    assert_ok(tkl_lock_release(w[0].lock)); /* the waiters listen elsewhere, and are called */
    eventually(tkl_lock_state(w[1].lock) == TKL_HOLD_HELD ||
                   tkl_lock_state(w[2].lock) == TKL_HOLD_HELD,
               LONG_MS);
    pending *first = tkl_lock_state(w[1].lock) == TKL_HOLD_HELD ? &w[1] : &w[2];
    pending *second = first == &w[1] ? &w[2] : &w[1];
    assert_ok(pending_join(first));
    assert_handed_over(first->lock, second);
    cluster_move_end(f->cluster, to, door_slot());
    tkl_lock_close(w[0].lock);
    tkl_lock_close(holder);
}

/* A reader's first lease needs a key that does not exist: it comes when the slot has moved. */
static void a_reader_waits_until_the_slot_has_moved(void **state)
{
    clustered *f = *state;
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    tkl_lock *holder = held_door(f, &HOUR);
    pending w = {.lock = open_lock(f->client, "door",
                                   &(tkl_lock_options){.lease_ms = 3600000, .shared = true})};
    start_waiting(&w, holder);
    cluster_move_begin(from, to, door_slot());
    assert_ok(tkl_lock_release(holder));
    test_sleep_ms(300);
    cluster_move_keys(from, to, door_slot(), INT_MAX);
    cluster_move_end(f->cluster, to, door_slot());
    assert_ok(pending_join(&w));
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

static void permits_last_while_their_slot_moves(void **state)
{
    clustered *f = *state;
    enum { LIMIT = 2 };
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    const tkl_semaphore_options renewed = {.lease_ms = 3000, .auto_renew = true};
    tkl_semaphore *permits[LIMIT];
    tkl_semaphore *other = open_sem(f->client, "door", LIMIT, NULL);
    for (int i = 0; i < LIMIT; i++) {
        permits[i] = open_sem(f->client, "door", LIMIT, &renewed);
        assert_ok(tkl_semaphore_acquire(permits[i], PATIENCE_MS));
    }
    cluster_move_begin(from, to, door_slot());
    for (int moved = 0; moved < 2; moved++) {
        test_sleep_ms(2000); /* they are renewed */
        assert_code(tkl_semaphore_acquire(other, 0), TKL_BUSY);
        assert_code(tkl_semaphore_acquire(other, 300), TKL_BUSY);
        assert_int_equal(sem_holders(other), LIMIT);
        for (int i = 0; i < LIMIT; i++)
            assert_int_equal(tkl_semaphore_state(permits[i]), TKL_HOLD_HELD);
        assert_ok(tkl_semaphore_release(permits[0]));
        assert_ok(tkl_semaphore_acquire(permits[0], 0));
        assert_ok(tkl_semaphore_renew(permits[1], 0));
        if (!moved)
            cluster_move_keys(from, to, door_slot(), INT_MAX);
    }
    cluster_move_end(f->cluster, to, door_slot());
    for (int i = 0; i < LIMIT; i++) {
        assert_ok(tkl_semaphore_release(permits[i]));
        tkl_semaphore_close(permits[i]);
    }
    tkl_semaphore_close(other);
}

static void a_slot_moves_while_released(void **state)
{
    clustered *f = *state;
    tkl_lock *holder = held_door(f, &HOUR);
    pending w = {.lock = open_lock(f->client, "door", &HOUR)};
    start_waiting(&w, holder);
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    cluster_move_begin(from, to, door_slot());
    cluster_move_keys(from, to, door_slot(), 1);
    pending again = {.lock = open_lock(f->client, "door", &HOUR), .wait_ms = -1};
    pending_start(&again);
    test_sleep_ms(200);
    cluster_move_keys(from, to, door_slot(), INT_MAX);
    cluster_move_end(f->cluster, to, door_slot());
    assert_ok(tkl_lock_release(holder));
    eventually(tkl_lock_state(w.lock) == TKL_HOLD_HELD ||
                   tkl_lock_state(again.lock) == TKL_HOLD_HELD,
               LONG_MS);
    pending *first = tkl_lock_state(w.lock) == TKL_HOLD_HELD ? &w : &again;
    pending *second = first == &w ? &again : &w;
    assert_ok(pending_join(first));
    assert_handed_over(first->lock, second);
    tkl_lock_close(holder);
}

static void release_without_waiting(tkl_lock *lock)
{
    for (int i = 0; i < 3; i++) {
        assert_ok(tkl_lock_release_nowait(lock));
        assert_ok(tkl_lock_acquire(lock, 0));
    }
}

static void a_release_that_nobody_waits_for_counts_while_its_slot_moves(void **state)
{
    clustered *f = *state;
    server *from = cluster_owner(f->cluster, door_slot());
    server *to = cluster_other(f->cluster, door_slot());
    tkl_lock *lock = held_door(f, &(tkl_lock_options){.timeout_ms = 5000});
    release_without_waiting(lock); /* from now on the answer is not waited for */
    cluster_move_begin(from, to, door_slot());
    release_without_waiting(lock);
    cluster_move_keys(from, to, door_slot(), INT_MAX);
    release_without_waiting(lock);
    cluster_move_end(f->cluster, to, door_slot());
    release_without_waiting(lock);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
}

/* ---- Failover ------------------------------------------------------------ */

static void a_planned_failover_keeps_holder_and_waiter(void **state)
{
    clustered *f = *state;
    tkl_lock *holder = held_door(f, &HOUR);
    pending w = {.lock = open_lock(f->client, "door", &HOUR)};
    start_waiting(&w, holder);
    cluster_fail_over(f->cluster, door_slot());
    assert_ok(tkl_lock_renew(holder, 0));
    assert_handed_over(holder, &w);
}

/* An acquisition that a replica has survives the death of its master. */
static void a_killed_master_keeps_what_its_replica_has(void **state)
{
    clustered *f = *state;
    tkl_lock *holder = held_door(f, &(tkl_lock_options){.lease_ms = 3600000, .replicas = 1});
    tkl_lock *other = open_lock(f->client, "door", &HOUR);
    pending w = {.lock = open_lock(f->client, "door", &HOUR)};
    start_waiting(&w, holder);
    server_kill(cluster_owner(f->cluster, door_slot()));
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_lock_renew(holder, 0));
    tkl_lock_close(other);
    assert_handed_over(holder, &w);
}

/* A server neither answers nor closes the connection: a waiter whose look another server answers
 * listens there from then on. */
static void a_silent_master_is_left_by_those_who_wait(void **state)
{
    clustered *f = *state;
    tkl_client *client = test_open(f->cluster->url, &(tkl_options){.timeout_ms = 1000});
    tkl_lock *holder =
        open_lock(client, "door", &(tkl_lock_options){.lease_ms = 15000, .replicas = 1});
    assert_ok(tkl_lock_acquire(holder, PATIENCE_MS));
    pending w = {.lock = open_lock(client, "door", &HOUR)};
    start_waiting(&w, holder);
    server *silent = cluster_owner(f->cluster, door_slot());
    server *next = cluster_replica(f->cluster, silent);
    server_freeze(silent);
    eventually(is_master(next), LONG_MS);
    eventually(tkl_lock_renew(holder, 3600000) == TKL_OK, 15000);
    eventually(server_ask_int(next, "EVAL %s 0",
                              "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*:w:*')") == 1,
               LONG_MS);
    assert_handed_over(holder, &w);
    server_thaw(silent);
    tkl_close(client);
}

/* ---- Sentinels ----------------------------------------------------------- */

static void a_failover_by_sentinels_keeps_holder_and_waiter(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    clustered f = {.client = test_open(trio->url, &(tkl_options){.timeout_ms = PATIENCE_MS})};
    tkl_lock *holder = held_door(&f, &(tkl_lock_options){.lease_ms = 3600000, .replicas = 2});
    pending w = {.lock = open_lock(f.client, "door", &HOUR)};
    start_waiting(&w, holder);
    sentinels_fail_over(trio);
    assert_ok(tkl_lock_renew(holder, 0));
    assert_handed_over(holder, &w);
    tkl_close(f.client);
    sentinels_end(trio);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(waits_on_many_slots_share_few_connections),
        TEST(permits_are_handed_over_as_well),
        TEST(processes_hand_over_and_skip_the_dead),
        TEST(renewal_serves_all_nodes),
        TEST(a_slot_moves_while_waited_for),
        TEST(a_lock_works_while_its_slot_moves),
        TEST(a_free_lock_is_had_while_its_slot_moves),
        TEST(a_held_lock_is_busy_while_its_slot_moves),
        TEST(a_lock_is_handed_over_while_its_slot_moves),
        TEST(a_reader_waits_until_the_slot_has_moved),
        TEST(permits_last_while_their_slot_moves),
        TEST(a_slot_moves_while_released),
        TEST(a_release_that_nobody_waits_for_counts_while_its_slot_moves),
        TEST(a_planned_failover_keeps_holder_and_waiter),
        TEST(a_killed_master_keeps_what_its_replica_has),
        TEST(a_silent_master_is_left_by_those_who_wait),
        cmocka_unit_test(a_failover_by_sentinels_keeps_holder_and_waiter),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
