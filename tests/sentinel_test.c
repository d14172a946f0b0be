/* SPDX-License-Identifier: MIT
 *
 * A client that follows the master of real Sentinels.
 *
 * ctest: label threads
 * ctest: cost 20
 */
#include "support/call.h"
#include "support/cluster.h"
#include "support/fake.h"

#include <stdatomic.h>

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

/* ---- Finding the master -------------------------------------------------- */

static void calls_go_to_the_master(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "OK", "SET", "k", "1", NULL);
    char *value = server_ask(sentinels_master(f->trio), "GET k");
    assert_string_equal(value, "1");
    free(value);
}

static void a_master_that_is_back_after_its_failover_is_not_used(void **state)
{
    fixture *f = *state;
    server *old = sentinels_master(f->trio);
    call_expect(f->client, "OK", "SET", "k", "1", NULL);
    server_kill(old);
    sentinels_await_other(f->trio, old);
    server_restart(old); /* a master, until the Sentinels tell it otherwise */
    call_expect(f->client, "OK", "SET", "k", "2", NULL);
    char *value = server_ask(sentinels_master(f->trio), "GET k");
    assert_string_equal(value, "2");
    free(value);
}

static void the_database_is_the_masters_business(void **state)
{
    fixture *f = *state;
    char *url = test_format("%s/3", f->trio->url);
    tkl_client *client = test_open(url, NULL);
    call_expect(client, "OK", "SET", "k", "1", NULL);
    tkl_close(client);
    free(url);
    assert_int_equal(server_ask_int(sentinels_master(f->trio), "DBSIZE"), 0);
    assert_int_equal(call_int(f->client, "EXISTS", "k", NULL), 0);
}

static void a_single_live_sentinel_is_enough(void **state)
{
    fixture *f = *state;
    char *url = test_format("redis+sentinel://127.0.0.1:1,127.0.0.1:2,127.0.0.1:%d/" SENTINEL_NAME,
                            f->trio->watchers[0]->port);
    for (int i = 0; i < 5; i++) {
        tkl_client *client = test_open(url, NULL);
        call_expect(client, "PONG", "PING", NULL);
        tkl_close(client);
    }
    free(url);
}

static void no_live_sentinel_is_told_at_once(void **state)
{
    (void)state;
    tkl_client *client = test_open("redis+sentinel://127.0.0.1:1,127.0.0.1:2/" SENTINEL_NAME,
                                   &(tkl_options){.timeout_ms = PATIENCE_MS});
    int64_t start = test_now_ms();
    assert_code(call_code(client, NULL, "PING", NULL), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "sentinel");
    assert_true(test_now_ms() - start < PATIENCE_MS);
    tkl_close(client);
}

static void a_name_that_no_sentinel_knows_is_told_at_once(void **state)
{
    fixture *f = *state;
    char *url = test_format("redis+sentinel://127.0.0.1:1,127.0.0.1:%d,127.0.0.1:%d/nobody",
                            f->trio->watchers[0]->port, f->trio->watchers[1]->port);
    tkl_client *client = test_open(url, &(tkl_options){.timeout_ms = PATIENCE_MS});
    int64_t start = test_now_ms();
    assert_code(call_code(client, NULL, "PING", NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "no sentinel knows master 'nobody'");
    assert_true(test_now_ms() - start < PATIENCE_MS);
    tkl_close(client);
    free(url);
}

/* ---- Sentinels that are wrong -------------------------------------------- */

/* A Sentinel that always names the server of one port; 0: nobody. */
static void name_one_port(fake_conn *conn, void *arg)
{
    const int *port = arg;
    while (fake_expect(conn) != NULL) {
        char digits[16];
        int len = snprintf(digits, sizeof(digits), "%d", *port);
        char *answer = *port == 0
                           ? strdup("*-1\r\n")
                           : test_format("*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n", len, digits);
        fake_sendz(conn, answer);
        free(answer);
    }
}

static server *some_replica(sentinels *trio)
{
    return trio->data[sentinels_master(trio) == trio->data[0] ? 1 : 0];
}

static void a_replica_is_not_taken_for_the_master(void **state)
{
    fixture *f = *state;
    int port = some_replica(f->trio)->port;
    fake *liar = fake_start_tcp(name_one_port, &port);
    char *url = test_format("redis+sentinel://127.0.0.1:%d/" SENTINEL_NAME, fake_port(liar));
    tkl_client *client = test_open(url, &(tkl_options){.timeout_ms = PATIENCE_MS});
    const tkl_call_options brief = {.timeout_ms = 300};
    assert_code(call_code(client, &brief, "SET", "k", "1", NULL), TKL_ENOTSENT);

    port = sentinels_master(f->trio)->port;
    assert_ok(call_code(client, NULL, "SET", "k", "1", NULL));
    tkl_close(client);
    free(url);
    fake_end(liar);
}

static void one_honest_sentinel_is_enough(void **state)
{
    fixture *f = *state;
    int replica = some_replica(f->trio)->port, nobody = 0;
    fake *liar = fake_start_tcp(name_one_port, &replica);
    fake *stranger = fake_start_tcp(name_one_port, &nobody);
    char *url =
        test_format("redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/" SENTINEL_NAME,
                    fake_port(liar), fake_port(stranger), f->trio->watchers[0]->port);
    for (int i = 0; i < 5; i++) {
        tkl_client *client = test_open(url, NULL);
        call_expect(client, "OK", "SET", "k", "1", NULL);
        tkl_close(client);
    }
    free(url);
    fake_end(liar);
    fake_end(stranger);
}

static void a_frozen_sentinel_does_not_use_up_the_time(void **state)
{
    fixture *f = *state;
    server_freeze(f->trio->watchers[0]);
    for (int i = 0; i < 6; i++) {
        tkl_client *client = test_open(f->trio->url, NULL);
        call_expect(client, "PONG", "PING", NULL);
        tkl_close(client);
    }
    server_thaw(f->trio->watchers[0]);
}

/* ---- Failover under load ------------------------------------------------- */

#define THREADS 16

typedef struct hammer {
    tkl_client *client;
    atomic_bool stop;
    atomic_int calls;
    atomic_int failed; /* outcome unknown */
    crew *crew;
} hammer;

/* Each thread adds to a set of its own; what it adds need not be added only once. */
static void hammer_work(void *arg, int index)
{
    hammer *h = arg;
    for (int i = 0; !h->stop; i++) {
        char key[32], member[32];
        snprintf(key, sizeof(key), "set:%d", index);
        snprintf(member, sizeof(member), "%d", i);
        int code = call_code(h->client, NULL, "SADD", key, member, NULL);
        if (code != TKL_OK && code != TKL_EUNKNOWN)
            fail_msg("SADD: %s: %s", tkl_codename(code), tkl_errmsg());
        h->failed += code != TKL_OK;
        h->calls++;
    }
}

static void hammer_wait(hammer *h, int more)
{
    int until = h->calls + more;
    eventually(h->calls >= until, 2 * PATIENCE_MS);
}

static void hammer_start(hammer *h, tkl_client *client)
{
    memset(h, 0, sizeof(*h));
    h->client = client;
    h->crew = crew_start(THREADS, hammer_work, h);
    hammer_wait(h, 500);
}

static void hammer_stop(hammer *h)
{
    hammer_wait(h, 500);
    h->stop = true;
    crew_join(h->crew);
}

static void a_planned_failover_is_followed(void **state)
{
    fixture *f = *state;
    static hammer h;
    hammer_start(&h, f->client);
    for (int i = 0; i < 2; i++) {
        sentinels_fail_over(f->trio);
        hammer_wait(&h, 500);
        sentinels_heal(f->trio);
    }
    hammer_stop(&h);
    call_expect(f->client, "OK", "SET", "after", "1", NULL);
    char *value = server_ask(sentinels_master(f->trio), "GET after");
    assert_string_equal(value, "1");
    free(value);
}

static void a_killed_master_is_replaced(void **state)
{
    fixture *f = *state;
    static hammer h;
    server *victim = sentinels_master(f->trio);
    hammer_start(&h, f->client);
    server_kill(victim);
    sentinels_await_other(f->trio, victim);
    hammer_stop(&h);
    assert_true(h.failed <= 2 * THREADS);

    server_restart(victim); /* still thinks it is the master, until the Sentinels tell it */
    sentinels_heal(f->trio);
    call_expect(f->client, "OK", "SET", "after", "1", NULL);
    char *value = server_ask(sentinels_master(f->trio), "GET after");
    assert_string_equal(value, "1");
    free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_master_that_is_back_after_its_failover_is_not_used),
        TEST(calls_go_to_the_master),
        TEST(the_database_is_the_masters_business),
        TEST(a_single_live_sentinel_is_enough),
        TEST(no_live_sentinel_is_told_at_once),
        TEST(a_name_that_no_sentinel_knows_is_told_at_once),
        TEST(a_replica_is_not_taken_for_the_master),
        TEST(one_honest_sentinel_is_enough),
        TEST(a_frozen_sentinel_does_not_use_up_the_time),
        TEST(a_planned_failover_is_followed),
        TEST(a_killed_master_is_replaced),
    };
    return cmocka_run_group_tests(tests, start_trio, end_trio);
}
