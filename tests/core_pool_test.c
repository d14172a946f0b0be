/* SPDX-License-Identifier: MIT
 *
 * The pool: how many connections there are, when they are made and when they go.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/fixture.h"

static const tkl_call_options patient = {.timeout_ms = 30000};

typedef struct crowd {
    tkl_client *client;
    atomic_int finished;
} crowd;

static void echo_some(void *arg, int index)
{
    crowd *c = arg;
    for (int round = 0; round < 20; round++) {
        char token[64];
        snprintf(token, sizeof(token), "thread-%d-round-%d", index, round);
        int code;
        if (!call_echo(c->client, &patient, token, &code))
            assert_ok(code);
    }
    atomic_fetch_add(&c->finished, 1);
}

static void the_bound_holds_under_many_threads(void **state)
{
    fixture *f = *state;
    crowd c = {.client =
                   test_open(f->server->url, &(tkl_options){.pool_size = 4, .name = "crowd"})};
    crew *threads = crew_start(256, echo_some, &c);
    int most = 0;
    do {
        int now = server_connections(f->server, "crowd");
        most = now > most ? now : most;
    } while (atomic_load(&c.finished) < 256);
    crew_join(threads);
    int now = server_connections(f->server, "crowd");
    most = now > most ? now : most;
    assert_in_range(most, 1, 4);
    tkl_close(c.client);
}

static void one_caller_at_a_time_needs_one_connection(void **state)
{
    fixture *f = *state;
    int64_t before = server_info(f->server, "total_connections_received");
    for (int i = 0; i < 100; i++)
        call_int(f->client, "INCR", "n", NULL);
    assert_int_equal(server_info(f->server, "total_connections_received"), before + 1);
    assert_int_equal(server_connections(f->server, "tackle"), 1);
}

static void opening_a_client_connects_to_nothing(void **state)
{
    fixture *f = *state;
    test_sleep_ms(20);
    assert_int_equal(server_connections(f->server, NULL), 0);
}

static void block(void *arg, int index)
{
    (void)index;
    assert_ok(call_code(arg, &patient, "BLPOP", "gate", "0", NULL));
}

static void callers_at_once_get_connections_of_their_own(void **state)
{
    fixture *f = *state;
    crew *threads = crew_start(8, block, f->client);
    eventually(server_info(f->server, "blocked_clients") == 8, 10000);
    call_expect(f->client, "PONG", "PING", NULL);
    assert_int_equal(server_connections(f->server, "tackle"), 9);
    server_do(f->server, "RPUSH gate 1 2 3 4 5 6 7 8");
    crew_join(threads);
}

static void idle_connections_are_closed(void **state)
{
    fixture *f = *state;
    tkl_client *client =
        test_open(f->server->url, &(tkl_options){.idle_ms = 100, .name = "sleepy"});
    crew *threads = crew_start(8, block, client);
    eventually(server_info(f->server, "blocked_clients") == 8, 10000);
    server_do(f->server, "RPUSH gate 1 2 3 4 5 6 7 8");
    crew_join(threads);
    assert_int_equal(server_connections(f->server, "sleepy"), 8);
    eventually((call_int(client, "INCR", "n", NULL), server_connections(f->server, "sleepy") == 1),
               10000);
    tkl_close(client);
}

static void a_freed_connection_goes_to_one_who_waits(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.pool_size = 2});
    crew *threads = crew_start(12, block, client);
    eventually(server_info(f->server, "blocked_clients") == 2, 10000);
    for (int i = 0; i < 12; i++)
        server_do(f->server, "RPUSH gate x");
    crew_join(threads);
    assert_int_equal(server_ask_int(f->server, "LLEN gate"), 0);
    tkl_close(client);
}

typedef struct rush {
    tkl_client *client;
    atomic_int calls[16]; /* calls of each thread */
    atomic_bool enough;
} rush;

static void call_without_a_break(void *arg, int index)
{
    rush *r = arg;
    while (!atomic_load(&r->enough)) {
        assert_ok(call_code(r->client, &patient, "PING", NULL));
        atomic_fetch_add(&r->calls[index], 1);
    }
}

static int fewest_calls(rush *r)
{
    int fewest = atomic_load(&r->calls[0]);
    for (int i = 1; i < 16; i++) {
        int calls = atomic_load(&r->calls[i]);
        fewest = calls < fewest ? calls : fewest;
    }
    return fewest;
}

static void everybody_gets_a_turn_among_callers_without_a_break(void **state)
{
    fixture *f = *state;
    rush r = {.client = test_open(f->server->url, &(tkl_options){.pool_size = 1})};
    crew *threads = crew_start(16, call_without_a_break, &r);
    for (int want = 1; want <= 5; want++)
        eventually(fewest_calls(&r) >= want, 20000);
    atomic_store(&r.enough, true);
    crew_join(threads);
    tkl_close(r.client);
}

static void closing_the_client_closes_its_connections(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.name = "goner"});
    crowd c = {.client = client};
    crew_run(8, echo_some, &c);
    assert_true(server_connections(f->server, "goner") >= 1);
    tkl_close(client);
    eventually(server_connections(f->server, "goner") == 0, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_bound_holds_under_many_threads),
        TEST(one_caller_at_a_time_needs_one_connection),
        TEST(opening_a_client_connects_to_nothing),
        TEST(callers_at_once_get_connections_of_their_own),
        TEST(idle_connections_are_closed),
        TEST(a_freed_connection_goes_to_one_who_waits),
        TEST(everybody_gets_a_turn_among_callers_without_a_break),
        TEST(closing_the_client_closes_its_connections),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
