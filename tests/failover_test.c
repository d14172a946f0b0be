/* SPDX-License-Identifier: MIT
 *
 * Waiters for locks, permits and jobs across failovers: there is one holder at every moment, no
 * waiter is forgotten, and fences grow. On a cluster; sentinel_wait_test.c has the same under
 * Sentinels.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include <hiredis/hiredis.h>
#include <limits.h>
#include <stdatomic.h>

#include <tackle/queue.h>

#include "support/clustered.h"
#include "support/queues.h"
#include "support/room.h"
#include "support/tamper.h"

/* Time for waiters to get in line again, at the old master or at the new one. */
#define SETTLE_MS    1000
#define DOOR_CHANNEL "tackle:lock:{door}:w:ab"

#define TEST(name) cmocka_unit_test_setup_teardown(name, clustered_fresh, clustered_done)

static const tkl_options PATIENT = {.timeout_ms = PATIENCE_MS};

static int door_slot(void)
{
    return slot_of("{door}");
}

/* ---- On a cluster -------------------------------------------------------- */

static void fail_over_planned(void *where)
{
    cluster_fail_over(where, door_slot());
}

static void fail_over_with(cluster *c, const char *how)
{
    server *replica = cluster_replica(c, cluster_owner(c, door_slot()));
    server_do(replica, "CLUSTER FAILOVER %s", how);
    eventually(cluster_owner(c, door_slot()) == replica, LONG_MS);
}

static void fail_over_forced(void *where)
{
    fail_over_with(where, "FORCE");
}

static void fail_over_by_takeover(void *where)
{
    fail_over_with(where, "TAKEOVER");
}

static void kill_master(void *where)
{
    cluster *c = where;
    server *master = cluster_owner(c, door_slot()), *replica = cluster_replica(c, master);
    test_sleep_ms(200); /* the replica has what the master has */
    server_kill(master);
    eventually(cluster_owner(c, door_slot()) == replica, LONG_MS);
}

static void waiters_of_a_lock_outlast_a_planned_failover(void **state)
{
    clustered *f = *state;
    room_survives(&(room){.url = f->cluster->url}, fail_over_planned, f->cluster, SETTLE_MS);
}

/* The holder releases while the waiters are on their way to the new master. */
static void a_release_during_a_failover_forgets_nobody(void **state)
{
    clustered *f = *state;
    room_survives(&(room){.url = f->cluster->url}, fail_over_planned, f->cluster, 0);
}

static void waiters_for_permits_outlast_a_planned_failover(void **state)
{
    clustered *f = *state;
    room_survives(&(room){.url = f->cluster->url, .permits = true}, fail_over_planned, f->cluster,
                  SETTLE_MS);
}

static void waiters_outlast_a_forced_failover(void **state)
{
    clustered *f = *state;
    room_survives(&(room){.url = f->cluster->url}, fail_over_forced, f->cluster, SETTLE_MS);
}

static void waiters_outlast_a_takeover(void **state)
{
    clustered *f = *state;
    room_survives(&(room){.url = f->cluster->url}, fail_over_by_takeover, f->cluster, SETTLE_MS);
}

static void waiters_outlast_the_death_of_a_master(void **state)
{
    clustered *f = *state;
    room_survives(&(room){.url = f->cluster->url}, kill_master, f->cluster, SETTLE_MS);
}

/* Hand-overs happen all the time. A planned failover loses nothing, so nothing may go wrong. */
static void planned_failovers_under_load_leave_one_holder(void **state)
{
    clustered *f = *state;
    room r = {.url = f->cluster->url, .rounds = INT_MAX};
    crew *guests = room_open(&r);
    for (int i = 0; i < 3; i++) {
        int before = r.served;
        eventually(r.served > before + 5, LONG_MS);
        cluster_fail_over(f->cluster, door_slot());
    }
    r.closed = true;
    crew_join(guests);
    assert_int_equal(r.overlaps, 0);
    assert_int_equal(r.backward, 0);
}

/* ---- Waiters that listen at a replica ------------------------------------ */

static redisContext *subscribe_at(const server *s, const char *channel)
{
    redisContext *c = redisConnectUnix(s->socket);
    assert_non_null(c);
    assert_int_equal(c->err, 0);
    redisReply *reply = redisCommand(c, "SSUBSCRIBE %s", channel);
    assert_non_null(reply);
    freeReplyObject(reply);
    return c;
}

/* Asserts that the next message is a token and then this. */
static void assert_told(redisContext *c, const char *expected)
{
    void *reply;
    assert_int_equal(redisGetReply(c, &reply), REDIS_OK);
    const redisReply *message = reply;
    assert_int_equal(message->elements, 3);
    const char *space = strchr(message->element[2]->str, ' ');
    assert_non_null(space);
    assert_string_equal(space + 1, expected);
    freeReplyObject(reply);
}

/* The master hands over only to waiters that listen to it. It calls any other waiter back. */
static void a_waiter_at_a_replica_is_called_and_given_nothing(void **state)
{
    clustered *f = *state;
    server *master = cluster_owner(f->cluster, door_slot());
    redisContext *stray = subscribe_at(cluster_replica(f->cluster, master), DOOR_CHANNEL);
    tkl_lock *lock = open_lock(f->client, "door", NULL);
    assert_ok(tkl_lock_acquire(lock, 0));
    tamper_add_listener(master, DOOR, DOOR_CHANNEL);
    assert_int_equal(lock_waiters(lock), 1);
    assert_ok(tkl_lock_release(lock));
    assert_told(stray, "recall");
    assert_int_equal(lock_holders(lock), 0);
    assert_int_equal(lock_waiters(lock), 0);
    assert_ok(tkl_lock_acquire(lock, 0));
    tkl_lock_close(lock);
    redisFree(stray);
}

static void a_consumer_at_a_replica_is_called_and_given_nothing(void **state)
{
    clustered *f = *state;
    server *master = cluster_owner(f->cluster, slot_of("{q}"));
    redisContext *stray =
        subscribe_at(cluster_replica(f->cluster, master), "tackle:queue:{q}:w:ab");
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    server_do(master, "ZADD tackle:queue:{q}:waiters 1 %s",
              "ffffffffffffffffffffffffffffffff 10000 tackle:queue:{q}:w:ab");
    push_words(queue, "a");
    assert_told(stray, "recall");
    expect_all(consumer, "a");
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    redisFree(stray);
}

/* ---- Jobs ---------------------------------------------------------------- */

typedef struct office {
    const char *url;
    atomic_int claimed[GUESTS]; /* number of jobs that each consumer claimed */
    atomic_int total;
} office;

static void consume(void *arg, int index)
{
    office *o = arg;
    tkl_client *client = test_open(o->url, &PATIENT);
    tkl_queue *queue = open_queue(client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    tkl_jobs *jobs = claim_jobs(consumer, 1, -1);
    o->claimed[index] += (int)jobs->count;
    o->total += (int)jobs->count;
    eventually(o->total >= GUESTS, LONG_MS); /* nobody is idle again before all have worked */
    finish_all(consumer, jobs);
    tkl_jobs_free(jobs);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
}

static void idle_consumers_outlast_a_planned_failover(void **state)
{
    clustered *f = *state;
    office o = {.url = f->cluster->url};
    tkl_queue *queue = open_queue(f->client, "q", 1);
    crew *consumers = crew_start(GUESTS, consume, &o);
    eventually(server_ask_int(cluster_owner(f->cluster, slot_of("{q}")),
                              "ZCARD tackle:queue:{q}:waiters") == GUESTS,
               LONG_MS);
    cluster_fail_over(f->cluster, slot_of("{q}"));
    test_sleep_ms(SETTLE_MS);
    for (int i = 1; i <= GUESTS; i++) {
        push_words(queue, "job");
        eventually(o.total >= i, LONG_MS);
        test_sleep_ms(200);
        assert_int_equal(o.total, i);
    }
    crew_join(consumers);
    for (int i = 0; i < GUESTS; i++)
        assert_int_equal(o.claimed[i], 1);
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waiters_of_a_lock_outlast_a_planned_failover),
        TEST(a_release_during_a_failover_forgets_nobody),
        TEST(waiters_for_permits_outlast_a_planned_failover),
        TEST(waiters_outlast_a_forced_failover),
        TEST(waiters_outlast_a_takeover),
        TEST(waiters_outlast_the_death_of_a_master),
        TEST(planned_failovers_under_load_leave_one_holder),
        TEST(a_waiter_at_a_replica_is_called_and_given_nothing),
        TEST(a_consumer_at_a_replica_is_called_and_given_nothing),
        TEST(idle_consumers_outlast_a_planned_failover),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
