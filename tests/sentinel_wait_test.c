/* SPDX-License-Identifier: MIT
 *
 * A client that hears of failovers from real Sentinels, and waiters across them.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include "core/clock.h"
#include "core/waiter.h"
#include "support/call.h"
#include "support/cluster.h"
#include "support/room.h"

#define PATIENCE_MS 120000 /* for calls that must outlast a failover on a slow machine */

typedef struct fixture {
    sentinels *trio;
    tkl_client *client;
} fixture;

static int start_trio(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->trio = sentinels_start();
    *state = f;
    return 0;
}

static int end_trio(void **state)
{
    fixture *f = *state;
    sentinels_end(f->trio);
    free(f);
    return 0;
}

static int fresh_client(void **state)
{
    fixture *f = *state;
    sentinels_heal(f->trio);
    f->client = test_open(f->trio->url, &(tkl_options){.timeout_ms = PATIENCE_MS});
    call_expect(f->client, "OK", "FLUSHALL", NULL);
    return 0;
}

static int close_client(void **state)
{
    fixture *f = *state;
    tkl_close(f->client);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_client, close_client)

/* ---- A master that does not know that it was replaced -------------------- */

/* Sets the Sentinels' publish period: an old master stays a master for four periods. */
static void set_publish_period(fixture *f, int ms)
{
    for (int i = 0; i < 3; i++)
        server_do(f->trio->watchers[i], "SENTINEL DEBUG publish-period %d", ms);
}

static bool is_master(server *s)
{
    char *role = server_ask(s, "ROLE");
    bool master = strncmp(role, "master", 6) == 0;
    free(role);
    return master;
}

/* A planned failover, and the client's writes go to the new master before the old one is
 * demoted. */
static void a_replaced_master_gets_no_more_writes(void **state)
{
    fixture *f = *state;
    server *old = sentinels_master(f->trio);
    set_publish_period(f, 5000);
    call_expect(f->client, "OK", "SET", "k", "0", NULL);
    sentinels_fail_over(f->trio);
    server *new = sentinels_master(f->trio);
    bool moved = false;
    for (int i = 1; !moved; i++) {
        char *number = test_format("%d", i);
        call_expect(f->client, "OK", "SET", "k", number, NULL);
        char *value = server_ask(new, "GET k");
        moved = strcmp(value, number) == 0;
        assert_true(moved || is_master(old)); /* otherwise it was told to leave */
        free(value);
        free(number);
        test_sleep_ms(10);
    }
    assert_true(is_master(old));
    set_publish_period(f, 200);
}

/* The same for a thread that waits and sends nothing. */
static void a_waiter_leaves_a_replaced_master(void **state)
{
    fixture *f = *state;
    server *old = sentinels_master(f->trio);
    tkl__waiter waiter;
    tkl_bytes message;
    set_publish_period(f, 5000);
    assert_ok(tkl__listen(f->client, tkl_str("news"), tkl_str(""), tkl__deadline_ms(PATIENCE_MS),
                          &waiter));
    sentinels_fail_over(f->trio);
    assert_int_equal(tkl__await(&waiter, tkl__deadline_ms(PATIENCE_MS), &message), TKL__CUT);
    tkl__unlisten(&waiter);
    assert_ok(tkl__listen(f->client, tkl_str("news"), tkl_str(""), tkl__deadline_ms(PATIENCE_MS),
                          &waiter));
    assert_true(is_master(old));
    server_do(sentinels_master(f->trio), "SPUBLISH news hello");
    assert_int_equal(tkl__await(&waiter, tkl__deadline_ms(PATIENCE_MS), &message), TKL__MESSAGE);
    tkl__unlisten(&waiter);
    set_publish_period(f, 200);
}

/* The Sentinel that the client listens to is gone, or hangs: another one is listened to. */
static void a_lookout_that_is_lost_is_replaced(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->trio->url, &(tkl_options){.name = "lookout"});
    client->heartbeat_us = 200000;
    for (int kind = 0; kind < 2; kind++) {
        int chosen = -1;
        while (chosen < 0) {
            call_expect(client, "PONG", "PING", NULL);
            for (int i = 0; i < 3; i++)
                if (server_connections(f->trio->watchers[i], "lookout") > 0)
                    chosen = i;
        }
        server *lost = f->trio->watchers[chosen];
        if (kind == 0)
            server_do(lost, "CLIENT KILL TYPE pubsub");
        else
            server_freeze(lost);
        int64_t heard = 0;
        for (int64_t until = test_now_ms() + PATIENCE_MS; !heard && test_now_ms() < until;) {
            call_expect(client, "PONG", "PING", NULL);
            for (int i = 0; i < 3; i++)
                if (kind == 0 || i != chosen)
                    heard += server_connections(f->trio->watchers[i], "lookout");
            test_sleep_ms(20);
        }
        assert_int_equal(heard, 1);
        if (kind == 1)
            server_thaw(lost);
    }
    tkl_close(client);
}

/* No Sentinel answers any more, and the master is well: calls go on without delay. */
static void a_master_serves_on_without_sentinels(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 100000;
    call_expect(f->client, "OK", "SET", "k", "1", NULL);
    for (int i = 0; i < 3; i++)
        server_freeze(f->trio->watchers[i]);
    const tkl_call_options brief = {.timeout_ms = 2000};
    for (int64_t until = test_now_ms() + 3000; test_now_ms() < until; test_sleep_ms(20))
        assert_ok(call_code(f->client, &brief, "SET", "k", "2", NULL));
    for (int i = 0; i < 3; i++)
        server_thaw(f->trio->watchers[i]);
}

/* The old master granted the lock, and the new one never heard of it. */
static void a_holder_learns_at_once_what_a_failover_lost(void **state)
{
    fixture *f = *state;
    server *old = sentinels_master(f->trio);
    tkl_lock *lock =
        open_lock(f->client, "door", &(tkl_lock_options){.lease_ms = 3600000, .auto_renew = true});
    assert_ok(tkl_lock_acquire(lock, 0));
    for (int i = 0; i < 3; i++)
        if (f->trio->data[i] != old) {
            eventually(server_ask_int(f->trio->data[i], "DBSIZE") == 1, LONG_MS);
            server_do(f->trio->data[i], "CONFIG SET replica-read-only no");
            server_do(f->trio->data[i], "FLUSHALL");
        }
    sentinels_fail_over(f->trio);
    eventually(call_code(f->client, NULL, "PING", NULL) == TKL_OK &&
                   tkl_lock_state(lock) == TKL_HOLD_LOST,
               LONG_MS);
    tkl_lock_close(lock);
    sentinels_heal(f->trio); /* a server that is made a replica drops its connections */
    for (int i = 0; i < 3; i++)
        server_do(f->trio->data[i], "CONFIG SET replica-read-only yes");
}

/* ---- Waiters ------------------------------------------------------------- */

/* Until the old master is demoted there are two: a release that is repeated may reach both. */
static void fail_over_planned(void *where)
{
    sentinels_fail_over(where);
    sentinels_heal(where);
}

static void kill_master(void *where)
{
    sentinels *trio = where;
    server *master = sentinels_master(trio);
    test_sleep_ms(200); /* the replicas have what the master has */
    server_kill(master);
    sentinels_await_other(trio, master);
}

/* Sentinels have two masters for a moment, in which lock.md promises less. All waiters get their
 * turn, and not all at once. */
static void waiters_outlast_a_planned_failover(void **state)
{
    fixture *f = *state;
    room_survives(&(room){.url = f->trio->url, .excused = 1}, fail_over_planned, f->trio, 1000);
}

static void waiters_for_permits_outlast_a_planned_failover(void **state)
{
    fixture *f = *state;
    room_survives(&(room){.url = f->trio->url, .permits = true, .excused = 1}, fail_over_planned,
                  f->trio, 1000);
}

static void waiters_outlast_the_death_of_a_master(void **state)
{
    fixture *f = *state;
    room_survives(&(room){.url = f->trio->url, .excused = 1}, kill_master, f->trio, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_replaced_master_gets_no_more_writes),
        TEST(a_waiter_leaves_a_replaced_master),
        TEST(a_lookout_that_is_lost_is_replaced),
        TEST(a_holder_learns_at_once_what_a_failover_lost),
        TEST(waiters_outlast_a_planned_failover),
        TEST(waiters_for_permits_outlast_a_planned_failover),
        TEST(waiters_outlast_the_death_of_a_master),
        /* Sentinels that were stopped do nothing for half a minute. */
        TEST(a_master_serves_on_without_sentinels),
    };
    return cmocka_run_group_tests(tests, start_trio, end_trio);
}
