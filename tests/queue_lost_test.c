/* SPDX-License-Identifier: MIT
 *
 * Waiters whose places in line were lost, and waiters that hang.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include "core/client.h"
#include "support/call.h"
#include "support/cluster.h"
#include "support/fake.h"
#include "support/fixture.h"
#include "support/one_queue.h"
#include "support/proxy.h"
#include "support/timed.h"
#include "support/waits.h"

/* Several clients, each with a consumer that waits. */
enum { CLIENTS = 4 };

typedef struct hall {
    tkl_client *clients[CLIENTS];
    tkl_queue *queues[CLIENTS];
    pending waits[CLIENTS];
} hall;

static void hall_open(hall *h, server *s, const char *url)
{
    for (int i = 0; i < CLIENTS; i++) {
        h->clients[i] = test_open(url, NULL);
        h->queues[i] = open_queue(h->clients[i], "q", 1);
        h->waits[i] = (pending){
            .consumer = open_consumer(h->queues[i], 600000), .wait_ms = LONG_MS, .max = 1};
        start_waiting(&h->waits[i], s);
    }
}

static void hall_close(hall *h)
{
    for (int i = 0; i < CLIENTS; i++) {
        tkl_consumer_close(h->waits[i].consumer);
        tkl_queue_close(h->queues[i]);
        tkl_close(h->clients[i]);
    }
}

/* Checks that each waiter gets one of the jobs, long before it would have looked by itself. */
static void everybody_gets_a_job(hall *h)
{
    for (int i = 0; i < CLIENTS; i++) {
        join(&h->waits[i]);
        assert_ok(h->waits[i].result);
        assert_int_equal(h->waits[i].jobs->count, 1);
        finish_all(h->waits[i].consumer, h->waits[i].jobs);
        tkl_jobs_free(h->waits[i].jobs);
    }
}

static void waiters_whose_places_are_lost_stand_in_line_again(void **state)
{
    static const char *const losses[] = {"FLUSHALL", "DEL " KEY "waiters",
                                         "DEL " KEY "waiters " KEY "line"};
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        hall h;
        hall_open(&h, f->server, f->server->url);
        test_sleep_ms(1100); /* they were called when the first of them came */
        server_do(f->server, losses[i]);
        assert_int_equal(waiters(f->server), 0);
        for (int k = 0; k < CLIENTS; k++)
            push_words(queue, "x");
        everybody_gets_a_job(&h);
        hall_close(&h);
    }
    tkl_queue_close(queue);
}

/* A newcomer finds the line empty, and calls the other waiters. */
static void a_waiter_that_is_alone_in_line_calls_the_others(void **state)
{
    hall h;
    one_queue d = one_queue_open(state);
    hall_open(&h, d.f->server, d.f->server->url);
    test_sleep_ms(1100);
    server_do(d.f->server, "FLUSHALL");
    pending last = {.consumer = d.consumer, .wait_ms = LONG_MS, .max = 1};
    last.thread = crew_start(1, claim_in_thread, &last);
    eventually(waiters(d.f->server) == CLIENTS + 1, LONG_MS);
    for (int i = 0; i < CLIENTS + 1; i++)
        push_words(d.queue, "x");
    everybody_gets_a_job(&h);
    expect(&last, "x");
    hall_close(&h);
    one_queue_close(&d);
}

/* The newest waiters are asked to look, and do not hear it. */
static void waiters_that_hang_delay_a_job_by_seconds(void **state)
{
    fixture *f = *state;
    hall h;
    proxy *px = proxy_start(f->server->socket);
    tkl_queue *queue = open_queue(f->client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = LONG_MS};
    start_waiting(&p, f->server);
    hall_open(&h, f->server, proxy_url(px));
    proxy_hold(px, TO_CLIENT, true);
    push_job(queue, &(tkl_push){.payload = tkl_str("late"), .delay_ms = 200}, NULL);
    expect(&p, "late");
    assert_in_range(p.took_ms, 200, 15000); /* not five minutes */
    for (int i = 0; i < CLIENTS; i++)
        tkl_consumer_cancel(h.waits[i].consumer);
    proxy_hold(px, TO_CLIENT, false);
    for (int i = 0; i < CLIENTS; i++) {
        join(&h.waits[i]);
        tkl_jobs_free(h.waits[i].jobs);
    }
    hall_close(&h);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
    proxy_end(px);
}

/* A job is claimed with a short lease, again and again: one of the waiters looks for all. */
static void one_waiter_looks_for_all(void **state)
{
    fixture *f = *state;
    hall h;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *worker = open_consumer(queue, 300);
    push_words(queue, "x");
    tkl_jobs *jobs = claim_jobs(worker, 1, 0);
    hall_open(&h, f->server, f->server->url);
    test_sleep_ms(500);
    int64_t before = server_functions(f->server), start = test_now_ms();
    test_sleep_ms(3000);
    int64_t passed = test_now_ms() - start;
    /* The worker renews ten times a second; each look finds the lease renewed. */
    int64_t asked = server_functions(f->server) - before;
    assert_in_range(asked, 0, 10 * passed / 1000 + 10 * passed / 1000);
    finish_all(worker, jobs);
    tkl_jobs_free(jobs);
    for (int i = 0; i < CLIENTS; i++)
        push_words(queue, "x");
    everybody_gets_a_job(&h);
    hall_close(&h);
    tkl_consumer_close(worker);
    tkl_queue_close(queue);
}

static void an_interruption_ends_a_claim_and_a_wait_for_a_result(void **state)
{
    one_queue d = one_queue_open(state);
    pending p = {.consumer = d.consumer, .wait_ms = -1};
    start_waiting(&p, d.f->server);
    tkl_interrupt(d.f->client);
    join(&p);
    assert_code(p.result, TKL_EINTR);
    assert_null(p.jobs);
    char id[TKL_JOB_ID_SIZE];
    tkl_job_result *result;
    tkl_resume(d.f->client);
    push_job(d.queue, &(tkl_push){.payload = tkl_str("x"), .result_ms = 1000}, id);
    tkl_interrupt(d.f->client);
    assert_code(tkl_queue_result(d.queue, id, -1, &result), TKL_EINTR);
    tkl_resume(d.f->client);
    expect_all(d.consumer, "x");
    one_queue_close(&d);
}

/* ---- Clocks and servers -------------------------------------------------- */

/* No job is pushed, and no lease is about to end. */
static void a_jump_of_the_servers_clock_makes_delayed_jobs_due(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = LONG_MS, .max = 1};
    push_job(queue, &(tkl_push){.payload = tkl_str("late"), .delay_ms = HOUR_MS}, NULL);
    start_waiting(&p, t->server);
    timed_shift(t, 2 * HOUR_MS);
    expect(&p, "late");
    assert_in_range(p.took_ms, 0, 15000); /* not five minutes */
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    timed_end(t);
}

/* Waiters, a delayed job and a push find their way from a master that hangs to the new one. */
static void a_master_that_hangs_is_left_for_the_new_one(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, &(tkl_options){.timeout_ms = 1000});
    client->heartbeat_us = 300000;
    tkl_queue *queue = open_queue(client, "q", 1);
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", KEY "meta", NULL);
    server *old = cluster_owner(c, slot);
    pending p[2];
    push_job(queue, &(tkl_push){.payload = tkl_str("late"), .delay_ms = 3000}, NULL);
    assert_true(server_ask_int(old, "WAIT 1 5000") >= 1);
    for (int i = 0; i < 2; i++) {
        p[i] = (pending){.consumer = open_consumer(queue, 0), .wait_ms = LONG_MS, .max = 1};
        start_waiting(&p[i], old);
    }
    server_freeze(old);
    const tkl_push job = {.payload = tkl_str("new")};
    eventually(tkl_queue_push(queue, &job, 1, NULL, NULL) == TKL_OK, LONG_MS);
    for (int i = 0; i < 2; i++) {
        join(&p[i]);
        assert_ok(p[i].result);
        assert_int_equal(p[i].jobs->count, 1);
        assert_in_range(p[i].took_ms, 0, 20000);
        finish_all(p[i].consumer, p[i].jobs);
        tkl_jobs_free(p[i].jobs);
        tkl_consumer_close(p[i].consumer);
    }
    server_thaw(old);
    tkl_queue_close(queue);
    tkl_close(client);
    cluster_end(c);
}

/* The answer to every step says that there is more to do. */
static void never_end(fake_conn *c, void *arg)
{
    const char *answer = arg;
    while (fake_expect(c))
        if (!fake_sendz(c, answer))
            return;
}

static void no_server_keeps_a_caller_for_ever(void **state)
{
    (void)state;
    fake *f = fake_start(never_end, "*3\r\n:1\r\n:1\r\n:1\r\n");
    tkl_client *client = test_open(fake_url(f), &(tkl_options){.timeout_ms = 1000});
    tkl_queue *queue = open_queue(client, "q", 1);
    int64_t count;
    assert_code(tkl_queue_drain(queue, &count), TKL_EPROTO);
    tkl_queue_close(queue);
    tkl_close(client);
    fake_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waiters_whose_places_are_lost_stand_in_line_again),
        TEST(a_waiter_that_is_alone_in_line_calls_the_others),
        TEST(waiters_that_hang_delay_a_job_by_seconds),
        TEST(one_waiter_looks_for_all),
        cmocka_unit_test(a_jump_of_the_servers_clock_makes_delayed_jobs_due),
        cmocka_unit_test(a_master_that_hangs_is_left_for_the_new_one),
        cmocka_unit_test(no_server_keeps_a_caller_for_ever),
        TEST(an_interruption_ends_a_claim_and_a_wait_for_a_result),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
