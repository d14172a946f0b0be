/* SPDX-License-Identifier: MIT
 *
 * Deadlines: a call ends in time whatever the server does, and a late reply reaches no later call.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/fake.h"
#include "support/fixture.h"
#include "support/proxy.h"

#define SLACK_MS 50

/* A busy machine can delay a call, also before it is sent. So one round in time is enough: broken
 * code is late in all of them. */
#define ROUNDS 30
#define UNFAIR 1000000 /* ms late: the round says nothing */

static tkl_call_options within(int64_t ms)
{
    return (tkl_call_options){.timeout_ms = ms};
}

typedef struct trial {
    tkl_client *client;
    int expected;
    atomic_int late_ms; /* the worst */
} trial;

/* Makes one call with a time-out of its own, and notes by how much it was late. */
static void call_in_time(void *arg, int index)
{
    trial *t = arg;
    tkl_call_options options = within(100 + 25 * index);
    int64_t start = test_now_ms();
    int code = call_code(t->client, &options, "INCR", "n", NULL);
    int64_t late = test_now_ms() - start - options.timeout_ms;
    assert_true(late >= -5); /* it does not give up early, either */
    if (code == TKL_ENOTSENT && t->expected == TKL_ETIMEOUT)
        late = UNFAIR;
    else
        assert_code(code, t->expected);
    for (int worst = atomic_load(&t->late_ms); late > worst;)
        if (atomic_compare_exchange_weak(&t->late_ms, &worst, (int)late))
            break;
}

static int worst_of(tkl_client *client, int threads, int expected)
{
    trial t = {.client = client, .expected = expected};
    crew_run(threads, call_in_time, &t);
    return atomic_load(&t.late_ms);
}

/* ---- A server that does not answer --------------------------------------- */

typedef struct barrier {
    tkl_client *client;
    atomic_int there;
    int count;
} barrier;

static void hold_a_connection(void *arg, int index)
{
    (void)index;
    barrier *b = arg;
    atomic_fetch_add(&b->there, 1);
    while (atomic_load(&b->there) < b->count)
        test_sleep_ms(1);
    tkl_call_options options = within(20000);
    assert_ok(call_code(b->client, &options, "BLPOP", "nothing", "0.1", NULL));
}

/* Leaves `count` idle connections in the pool. */
static void warm_up(tkl_client *client, int count)
{
    barrier b = {.client = client, .count = count};
    crew_run(count, hold_a_connection, &b);
}

static void a_frozen_server_delays_nobody_beyond_the_deadline(void **state)
{
    fixture *f = *state;
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        warm_up(f->client, 16);
        server_freeze(f->server);
        late = worst_of(f->client, 16, TKL_ETIMEOUT);
        server_thaw(f->server);
        if (late <= SLACK_MS)
            return;
    }
    fail_msg("%d ms late", late);
}

static void a_server_frozen_before_the_first_call_is_not_reached_in_time(void **state)
{
    fixture *f = *state;
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        tkl_client *client = test_open(f->server->url, NULL);
        server_freeze(f->server);
        late = worst_of(client, 8, TKL_ENOTSENT);
        server_thaw(f->server);
        tkl_close(client);
        if (late <= SLACK_MS)
            return;
    }
    fail_msg("%d ms late", late);
}

static void after_the_thaw_calls_succeed_again(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "PONG", "PING", NULL);
    server_freeze(f->server);
    tkl_call_options options = within(1000);
    assert_code(call_code(f->client, &options, "ECHO", "lost", NULL), TKL_ETIMEOUT);
    server_thaw(f->server);
    call_expect(f->client, "found", "ECHO", "found", NULL);
}

static void a_timed_out_request_may_still_take_effect(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "PONG", "PING", NULL);
    server_freeze(f->server);
    tkl_call_options options = within(1000);
    assert_code(call_code(f->client, &options, "INCR", "n", NULL), TKL_ETIMEOUT);
    server_thaw(f->server);
    eventually(server_ask_int(f->server, "GET n") == 1, 20000);
}

static void a_reply_in_drops_does_not_stretch_the_deadline(void **state)
{
    fixture *f = *state;
    int64_t late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        proxy *p = proxy_start(f->server->socket);
        tkl_client *client = test_open(proxy_url(p), NULL);
        call_expect(client, "PONG", "PING", NULL);
        proxy_drip(p, TO_CLIENT, 20);
        tkl_call_options options = within(200);
        int64_t start = test_now_ms();
        int code = call_code(client, &options, "ECHO", "a reply of many drops", NULL);
        late = code == TKL_ENOTSENT ? UNFAIR : test_now_ms() - start - options.timeout_ms;
        if (late != UNFAIR)
            assert_code(code, TKL_ETIMEOUT);
        tkl_close(client);
        proxy_end(p);
        if (late <= SLACK_MS)
            return;
    }
    fail_msg("%d ms late", (int)late);
}

/* Small enough for the test's memory, and more than can be read in the time. */
static void answer_without_end(fake_conn *c, void *arg)
{
    (void)arg;
    static char many[1 << 20];
    memset(many, 'x', sizeof(many));
    if (fake_expect(c) == NULL || !fake_sendz(c, "$2000000000\r\n"))
        return;
    while (fake_send(c, many, sizeof(many)))
        test_sleep_ms(2); /* a quick machine would send all of reply_max in the time */
}

static void a_reply_without_end_does_not_stretch_the_deadline(void **state)
{
    (void)state;
    fake *f = fake_start(answer_without_end, NULL);
    tkl_client *client = test_open(fake_url(f), NULL);
    tkl_call_options options = within(1000);
    int64_t start = test_now_ms();
    assert_code(call_code(client, &options, "GET", "endless", NULL), TKL_ETIMEOUT);
    assert_true(test_now_ms() - start < 20000);
    tkl_close(client);
    fake_end(f);
}

static void the_time_out_of_the_client_is_the_default(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.timeout_ms = 1000});
    eventually(tkl_callz(client, NULL, "PING", NULL) == TKL_OK, 20000);
    server_freeze(f->server);
    int64_t start = test_now_ms();
    assert_code(tkl_callz(client, NULL, "PING", NULL), TKL_ETIMEOUT);
    assert_true(test_now_ms() - start >= 999);
    server_thaw(f->server);
    tkl_close(client);
}

static void wait_long(void *arg, int index)
{
    (void)index;
    tkl_call_options options = within(20000);
    assert_ok(call_code(arg, &options, "BLPOP", "gate", "0", NULL));
}

static void those_who_wait_for_a_connection_keep_their_deadline(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.pool_size = 1});
    crew *holder = crew_start(1, wait_long, client);
    eventually(server_info(f->server, "blocked_clients") == 1, 20000);
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        late = worst_of(client, 8, TKL_ENOTSENT);
        if (late <= SLACK_MS)
            break;
    }
    server_do(f->server, "RPUSH gate open");
    crew_join(holder);
    tkl_close(client);
    assert_true(late <= SLACK_MS);
    assert_int_equal(server_ask_int(f->server, "EXISTS n"), 0);
}

/* ---- Late replies -------------------------------------------------------- */

static void a_late_reply_reaches_nobody(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    for (int i = 0, late = 0; late < 5; i++) {
        assert_true(i < 100);
        call_expect(client, "PONG", "PING", NULL);
        proxy_delay(p, TO_CLIENT, 100);
        tkl_call_options options = within(40);
        late += call_code(client, &options, "ECHO", "late", NULL) == TKL_ETIMEOUT;
        proxy_delay(p, TO_CLIENT, 0);
        call_expect(client, "mine", "ECHO", "mine", NULL);
        test_sleep_ms(80);
        call_expect(client, "mine too", "ECHO", "mine too", NULL);
    }
    tkl_close(client);
    proxy_end(p);
}

typedef struct rush {
    tkl_client *client;
    atomic_int answered, late;
} rush;

static void echo_with_little_time(void *arg, int index)
{
    rush *r = arg;
    for (int round = 0; round < 30; round++) {
        char token[64];
        snprintf(token, sizeof(token), "thread-%d-round-%d", index, round);
        tkl_call_options options = within(10 + (index * 7 + round * 13) % 60);
        int code;
        if (call_echo(r->client, &options, token, &code))
            atomic_fetch_add(&r->answered, 1);
        else if (code == TKL_ETIMEOUT || code == TKL_ENOTSENT)
            atomic_fetch_add(&r->late, 1);
        else
            assert_ok(code);
    }
}

static void replies_near_their_deadline_reach_their_caller_or_nobody(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    rush r = {.client = test_open(proxy_url(p), &(tkl_options){.pool_size = 8})};
    proxy_delay(p, TO_CLIENT, 15);
    crew_run(16, echo_with_little_time, &r);
    assert_int_equal(atomic_load(&r.answered) + atomic_load(&r.late), 16 * 30);
    assert_true(atomic_load(&r.late) > 0);
    proxy_delay(p, TO_CLIENT, 0);
    call_expect(r.client, "at last", "ECHO", "at last", NULL);
    tkl_close(r.client);
    proxy_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_frozen_server_delays_nobody_beyond_the_deadline),
        TEST(a_server_frozen_before_the_first_call_is_not_reached_in_time),
        TEST(after_the_thaw_calls_succeed_again),
        TEST(a_timed_out_request_may_still_take_effect),
        TEST(a_reply_in_drops_does_not_stretch_the_deadline),
        TEST(a_reply_without_end_does_not_stretch_the_deadline),
        TEST(the_time_out_of_the_client_is_the_default),
        TEST(those_who_wait_for_a_connection_keep_their_deadline),
        TEST(a_late_reply_reaches_nobody),
        TEST(replies_near_their_deadline_reach_their_caller_or_nobody),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
