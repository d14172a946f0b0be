/* SPDX-License-Identifier: MIT
 *
 * Waiting for jobs while connections break, servers fail and other waiters hang.
 *
 * ctest: label threads
 * ctest: cost 40
 */
#include <malloc.h>
#include <stdatomic.h>

#include "core/client.h"
#include "support/fixture.h"
#include "support/one_queue.h"
#include "support/proxy.h"
#include "support/waits.h"

/* A push that is refused for a foreign key has written nothing, and waiters go on. */
static void a_foreign_key_in_the_way_of_a_hand_over_leaves_nothing(void **state)
{
    static const char *const parts[] = {"active", "jobs", "history"};
    one_queue d = one_queue_open(state);
    for (size_t i = 0; i < 6; i++) {
        const char *part = parts[i % 3];
        pending p = {.consumer = d.consumer, .wait_ms = LONG_MS, .max = 1};
        start_waiting(&p, d.f->server);
        server_do(d.f->server, "SET " KEY "%s foreign", part);
        const tkl_push jobs[] = {{.payload = tkl_str("x")}, {.payload = tkl_str("y")}};
        int rc = tkl_queue_push(d.queue, jobs, i < 3 ? 1 : 2, NULL, NULL);
        if (i != 2) /* a lone push does not touch the extras */
            assert_code(rc, TKL_ETYPE);
        server_do(d.f->server, "DEL " KEY "%s", part);
        if (rc == TKL_ETYPE) {
            assert_int_equal(server_ask_int(d.f->server, "EXISTS " KEY "jobs " KEY "active"), 0);
            assert_int_equal(waiters(d.f->server), 1);
            push_words(d.queue, "x");
        }
        expect(&p, "x");
    }
    one_queue_close(&d);
}

/* ---- Trouble ------------------------------------------------------------- */

/* A producer that may not publish wakes no consumer. Its jobs are stored, and the next push hands
 * them over, too. */
static void one_who_may_not_wake_others_pushes_all_the_same(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    server_do(f->server, "ACL SETUSER mute on nopass ~* +@all resetchannels");
    tkl_client *client =
        test_open(f->server->url, &(tkl_options){.username = "mute", .password = "x"});
    tkl_queue *same = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    start_waiting(&p, f->server);
    const tkl_push job = {.payload = tkl_str("a")};
    const tkl_push_options options = {.request = tkl_str("once")};
    assert_ok(tkl_queue_push(same, &job, 1, &options, NULL));
    assert_ok(tkl_queue_push(same, &job, 1, &options, NULL)); /* the same */
    const tkl_push more[] = {{.payload = tkl_str("b")},
                             {.payload = tkl_str("c"), .unique = tkl_str("u")}};
    assert_ok(tkl_queue_push(same, more, 2, NULL, NULL));
    assert_int_equal(waiters(f->server), 1);
    push_words(queue, "d");
    expect(&p, "a");
    expect_all(p.consumer, "b c d");
    server_do(f->server, "ACL DELUSER mute");
    tkl_consumer_close(p.consumer);
    tkl_queue_close(same);
    tkl_close(client);
    tkl_queue_close(queue);
}

static void a_wait_survives_lost_connections(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_queue *same = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(same, 0), .wait_ms = -1};
    start_waiting(&p, f->server);
    for (int i = 0; i < 5; i++) {
        int64_t before = server_calls(f->server, "ssubscribe");
        server_do(f->server, "CLIENT KILL TYPE pubsub");
        server_do(f->server, "CLIENT KILL TYPE normal");
        eventually(server_calls(f->server, "ssubscribe") > before, LONG_MS);
    }
    push_words(queue, "a");
    expect(&p, "a");
    tkl_consumer_close(p.consumer);
    tkl_queue_close(same);
    tkl_close(client);
    tkl_queue_close(queue);
}

static void a_hand_over_that_is_lost_on_the_way_is_found(void **state)
{
    fixture *f = *state;
    proxy *px = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(px), NULL);
    tkl_queue *queue = open_queue(f->client, "q", 1), *same = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(same, 600000), .wait_ms = -1};
    start_waiting(&p, f->server);
    proxy_hold(px, TO_CLIENT, true);
    push_words(queue, "a");
    assert_int_equal(server_ask_int(f->server, "ZCARD " KEY "active"), 1);
    proxy_cut(px);
    proxy_hold(px, TO_CLIENT, false);
    expect(&p, "a");
    assert_int_equal(waiters(f->server), 0);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(same);
    tkl_close(client);
    proxy_end(px);
    tkl_queue_close(queue);
}

static void one_who_is_gone_is_passed_over(void **state)
{
    fixture *f = *state;
    proxy *px = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(px), &(tkl_options){.timeout_ms = 1000});
    tkl_queue *queue = open_queue(f->client, "q", 1), *same = open_queue(client, "q", 1);
    pending gone = {.consumer = open_consumer(same, 600000), .wait_ms = LONG_MS};
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    start_waiting(&gone, f->server);
    start_waiting(&p, f->server);
    proxy_refuse(px, true);
    proxy_cut(px);
    eventually(server_ask_int(f->server, "EVAL %s 0",
                              "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*:waiter:*')") == 1,
               LONG_MS);
    push_words(queue, "a");
    expect(&p, "a");
    tkl_consumer_cancel(gone.consumer);
    join(&gone);
    assert_true(gone.result < 0);
    proxy_refuse(px, false);
    tkl_consumer_close(gone.consumer);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(same);
    tkl_close(client);
    proxy_end(px);
    tkl_queue_close(queue);
}

/* A client behind a proxy, and its waiter: first in line, with a lease that no test outlives. */
typedef struct silent {
    proxy *proxy;
    tkl_client *client;
    tkl_queue *queue;
    pending waiter;
} silent;

static void wait_and_fall_silent(silent *s, fixture *f)
{
    s->proxy = proxy_start(f->server->socket);
    s->client = test_open(proxy_url(s->proxy), &(tkl_options){.timeout_ms = 1000});
    s->client->heartbeat_us = INT64_C(600000000); /* it notices nothing */
    s->queue = open_queue(s->client, "q", 1);
    s->waiter = (pending){.consumer = open_consumer(s->queue, 600000), .wait_ms = -1};
    start_waiting(&s->waiter, f->server);
    proxy_hold(s->proxy, TO_CLIENT, true);
    proxy_hold(s->proxy, TO_SERVER, true);
}

static void end_silence(silent *s)
{
    tkl_consumer_cancel(s->waiter.consumer);
    join(&s->waiter);
    tkl_jobs_free(s->waiter.jobs);
    proxy_hold(s->proxy, TO_CLIENT, false);
    proxy_hold(s->proxy, TO_SERVER, false);
    tkl_consumer_close(s->waiter.consumer);
    tkl_queue_close(s->queue);
    tkl_close(s->client);
    proxy_end(s->proxy);
}

/* The silent worker has not begun, so the job goes to the next worker within seconds, and uses up
 * no attempt: also when it has but one, and when the silent worker was only told to come for it. */
static void one_who_fell_silent_delays_a_job_by_seconds(void **state)
{
    fixture *f = *state;
    static char large[70000];
    memset(large, 'x', sizeof large - 1);
    const tkl_push jobs[] = {
        {.payload = tkl_str("a"), .retries = TKL_NONE},
        {.payload = tkl_str("a"), .group = tkl_str("g")},
        {.payload = tkl_str(large)},
    };
    tkl_queue *queue = open_queue(f->client, "q", 1);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        silent s;
        wait_and_fall_silent(&s, f);
        pending p = {.consumer = open_consumer(queue, 600000), .wait_ms = -1};
        start_waiting(&p, f->server);
        push_job(queue, &jobs[i], NULL);
        join(&p);
        assert_ok(p.result);
        assert_in_range(p.took_ms, 0, LONG_MS);
        assert_int_equal(p.jobs->count, 1);
        assert_int_equal(p.jobs->items[0].attempt, 1);
        finish_all(p.consumer, p.jobs);
        tkl_jobs_free(p.jobs);
        tkl_consumer_close(p.consumer);
        end_silence(&s);
        assert_int_equal(server_ask_int(f->server, "HLEN " KEY "jobs"), 0);
        assert_int_equal(server_ask_int(f->server, "HGET " KEY "meta failed"), 0);
    }
    tkl_queue_close(queue);
}

/* A job that silences each worker that gets it does not go round for ever. */
static void silence_twice_in_a_row_is_a_failure(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *reporter = open_consumer(queue, 0);
    silent s[2];
    push_words(queue, "other");
    tkl_jobs *other = claim_jobs(reporter, 1, 0);
    wait_and_fall_silent(&s[0], f);
    wait_and_fall_silent(&s[1], f);
    push_words(queue, "a");
    for (int i = 0; i < 2; i++) { /* a report looks at the leases, and hands over what they left */
        test_sleep_ms(4100);
        if (i == 0)
            finish_all(reporter, other);
    }
    tkl_jobs *jobs = claim_jobs(reporter, 1, LONG_MS);
    assert_jobs(jobs, "a");
    assert_int_equal(jobs->items[0].attempt, 2);
    finish_all(reporter, jobs);
    tkl_jobs_free(jobs);
    tkl_jobs_free(other);
    end_silence(&s[0]);
    end_silence(&s[1]);
    tkl_consumer_close(reporter);
    tkl_queue_close(queue);
}

/* A job that was handed over is confirmed in the background while another worker waits for it, or
 * at once when the consumer does not renew. */
static void what_was_handed_over_is_held_for_the_whole_lease(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        tkl_consumer_options options = {.lease_ms = 600000, .no_renewal = by_hand};
        pending p = {.wait_ms = -1}, next = {.wait_ms = by_hand ? 1 : 6000};
        assert_ok(tkl_consumer_open(&queue, 1, &options, &p.consumer));
        next.consumer = open_consumer(queue, 0);
        start_waiting(&p, f->server);
        push_words(queue, "a");
        join(&p);
        assert_jobs(p.jobs, "a");
        claim_in_thread(&next, 0);
        assert_code(next.result, TKL_EMPTY);
        int64_t end = server_ask_int(f->server, "ZSCORE " KEY "active %s:%s", p.jobs->items[0].id,
                                     p.jobs->items[0].token);
        int64_t now = server_ask_int(f->server, "EVAL %s 0", "return redis.call('TIME')[1]");
        assert_true(end > (now + 300) * 1000);
        finish_all(p.consumer, p.jobs);
        tkl_jobs_free(p.jobs);
        tkl_consumer_close(p.consumer);
        tkl_consumer_close(next.consumer);
    }
    tkl_queue_close(queue);
}

/* Until the server has confirmed a hand-over, its receiver has the first few seconds only. */
static void a_hand_over_lasts_for_seconds_until_it_is_confirmed(void **state)
{
    fixture *f = *state;
    proxy *px = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(px), NULL);
    tkl_queue *queue = open_queue(f->client, "q", 1), *same = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(same, 600000), .wait_ms = -1};
    start_waiting(&p, f->server);
    proxy_hold(px, TO_SERVER, true); /* it cannot confirm */
    push_words(queue, "a");
    join(&p);
    assert_jobs(p.jobs, "a");
    assert_in_range(tkl_consumer_left_ms(p.consumer, &p.jobs->items[0]), 0, 4000);
    proxy_hold(px, TO_SERVER, false);
    eventually(tkl_consumer_left_ms(p.consumer, &p.jobs->items[0]) > 300000, LONG_MS);
    finish_all(p.consumer, p.jobs);
    tkl_jobs_free(p.jobs);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(same);
    tkl_close(client);
    proxy_end(px);
    tkl_queue_close(queue);
}

static void count_error(int code, const char *message, void *arg)
{
    (void)code;
    (void)message;
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* This program was stopped while it waited: when it reads the hand-over, the job belongs to another
 * consumer. */
static void a_hand_over_that_came_too_late_is_not_begun(void **state)
{
    fixture *f = *state;
    atomic_int errors = 0;
    proxy *px = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(px), &(tkl_options){.timeout_ms = 300});
    client->heartbeat_us = INT64_C(600000000); /* it notices nothing */
    tkl_queue *queue = open_queue(f->client, "q", 1), *same = open_queue(client, "q", 1);
    tkl_consumer *next = open_consumer(queue, 0);
    pending p = {.wait_ms = -1};
    assert_ok(tkl_consumer_open(
        &same, 1,
        &(tkl_consumer_options){.lease_ms = 1000, .on_error = count_error, .arg = &errors},
        &p.consumer));
    start_waiting(&p, f->server);
    proxy_hold(px, TO_SERVER, true);
    server_do(f->server, "SPUBLISH " KEY "line %s", "recall other"); /* it finds nothing */
    eventually(atomic_load(&errors) > 0, LONG_MS);
    proxy_hold(px, TO_CLIENT, true);
    push_words(queue, "a");
    assert_int_equal(server_ask_int(f->server, "ZCARD " KEY "active"), 1);
    tkl_jobs *jobs = claim_jobs(next, 1, LONG_MS); /* when the lease has ended */
    assert_jobs(jobs, "a");
    proxy_hold(px, TO_CLIENT, false);
    test_sleep_ms(300);
    tkl_consumer_cancel(p.consumer);
    join(&p);
    assert_true(p.result < 0);
    finish_all(next, jobs);
    tkl_jobs_free(jobs);
    tkl_jobs_free(p.jobs);
    proxy_hold(px, TO_SERVER, false);
    tkl_consumer_close(p.consumer);
    tkl_consumer_close(next);
    tkl_queue_close(same);
    tkl_close(client);
    proxy_end(px);
    tkl_queue_close(queue);
}

/* Each message makes the waiter ask the server again, with an answer of a kilobyte or two. */
static void a_long_wait_does_not_grow(void **state)
{
    enum { TIMES = 1500, WARM_UP = 100, MOST = 1 << 20 };
    fixture *f = *state;
    size_t before = 0;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    start_waiting(&p, f->server);
    for (int i = 0; i < TIMES; i++) {
        int64_t asked = server_functions(f->server);
        server_do(f->server, "SPUBLISH " KEY "line %s", "recall other");
        eventually(server_functions(f->server) > asked, LONG_MS);
        if (i == WARM_UP)
            before = mallinfo2().uordblks;
    }
    assert_true(mallinfo2().uordblks < before + MOST); /* sanitizers say 0 */
    push_words(queue, "a");
    join(&p);
    assert_jobs(p.jobs, "a");
    finish_all(p.consumer, p.jobs);
    tkl_jobs_free(p.jobs);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
}

static void a_wait_survives_the_restart_of_a_persistent_server(void **state)
{
    (void)state;
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    server *s = server_start(&(server_options){.config = config});
    tkl_client *client = test_open(s->url, NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    tkl_consumer *holder = open_consumer(queue, 600000);
    push_words(queue, "held");
    tkl_jobs *jobs = claim_jobs(holder, 1, 0);
    start_waiting(&p, s);
    server_kill(s);
    test_sleep_ms(200);
    server_restart(s);
    push_words(queue, "a");
    expect(&p, "a");
    finish_all(holder, jobs);
    tkl_jobs_free(jobs);
    assert_int_equal(server_ask_int(s, "HLEN " KEY "jobs"), 0);
    tkl_consumer_close(holder);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    server_end(s);
}

/* The time-out is far longer than the test. */
static void a_claim_is_cancelled_during_its_first_request(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 10 * LONG_MS});
    tkl_queue *queue = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    call_expect(client, "PONG", "PING", NULL);
    server_freeze(s);
    p.thread = crew_start(1, claim_in_thread, &p);
    test_sleep_ms(300);
    tkl_consumer_cancel(p.consumer);
    join(&p);
    server_thaw(s);
    assert_code(p.result, TKL_EMPTY);
    assert_in_range(p.took_ms, 0, LONG_MS);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    server_end(s);
}

/* The server may have executed the claim: that the wait ended early does not make it undone. */
static void a_claim_that_is_interrupted_during_its_first_request_is_in_doubt(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 10 * LONG_MS});
    tkl_queue *queue = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    push_words(queue, "a");
    server_freeze(s);
    p.thread = crew_start(1, claim_in_thread, &p);
    test_sleep_ms(300);
    tkl_interrupt(client);
    join(&p);
    server_thaw(s);
    assert_true(tkl_is_unknown(p.result));
    assert_in_range(p.took_ms, 0, LONG_MS);
    tkl_resume(client);
    expect_all(p.consumer, "a");
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    server_end(s);
}

static void a_server_that_does_not_come_back_ends_the_wait_with_an_error(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 2000});
    tkl_queue *queue = open_queue(client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = 4000};
    start_waiting(&p, s);
    server_kill(s);
    join(&p);
    assert_true(p.result < 0);
    assert_in_range(p.took_ms, 4000, 4000 + LONG_MS);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    server_end(s);
}

/* ---- Many ---------------------------------------------------------------- */

enum { WORKERS = 4, PUSHERS = 2, JOBS = 500 };

typedef struct traffic {
    fixture *f;
    tkl_queue *queue;
    atomic_int seen[PUSHERS * JOBS]; /* how often each was done */
    atomic_int done;                 /* how many of them at all */
    atomic_bool stop;
} traffic;

static void push_or_work(void *arg, int index)
{
    traffic *t = arg;
    if (index < PUSHERS) {
        for (int i = 0; i < JOBS; i++) {
            char *text = test_format("%d", index * JOBS + i);
            push_job(t->queue, &(tkl_push){.payload = tkl_str(text)}, NULL);
            free(text);
        }
        return;
    }
    tkl_consumer *consumer = open_consumer(t->queue, 0);
    while (atomic_load(&t->done) < PUSHERS * JOBS) {
        tkl_jobs *jobs;
        if (tkl_consumer_claim(consumer, 5, 200, &jobs) != TKL_OK)
            continue;
        for (size_t i = 0; i < jobs->count; i++) {
            char text[16];
            snprintf(text, sizeof text, "%.*s", (int)jobs->items[i].payload.len,
                     jobs->items[i].payload.data);
            if (atomic_fetch_add(&t->seen[atoi(text)], 1) == 0)
                atomic_fetch_add(&t->done, 1);
            while (report_job(consumer, &jobs->items[i], TKL_OUTCOME_DONE, NULL, 0) < 0)
                test_sleep_ms(1);
        }
        tkl_jobs_free(jobs);
    }
    tkl_consumer_close(consumer);
}

static void many_push_and_work_and_each_job_is_done_once(void **state)
{
    static traffic t;
    t = (traffic){.f = *state};
    t.queue = open_queue(t.f->client, "q", 1);
    crew_run(PUSHERS + WORKERS, push_or_work, &t);
    for (int i = 0; i < PUSHERS * JOBS; i++)
        assert_int_equal(atomic_load(&t.seen[i]), 1);
    assert_int_equal(server_ask_int(t.f->server, "HLEN " KEY "jobs"), 0);
    assert_int_equal(server_ask_int(t.f->server, "ZCARD " KEY "active"), 0);
    assert_int_equal(server_ask_int(t.f->server, "HEXISTS " KEY "meta failed"), 0);
    tkl_queue_close(t.queue);
}

static void kill_connections(void *arg, int index)
{
    traffic *t = arg;
    (void)index;
    while (!atomic_load(&t->stop)) {
        server_do(t->f->server, "CLIENT KILL TYPE normal");
        server_do(t->f->server, "CLIENT KILL TYPE pubsub");
        test_sleep_ms(50);
    }
}

/* Every connection is killed again and again: nothing is lost, and nothing is done twice either, as
 * long as no lease ends. */
static void killed_connections_lose_nothing(void **state)
{
    static traffic t;
    t = (traffic){.f = *state};
    t.queue = open_queue(t.f->client, "q", 1);
    call_expect(t.f->client, "PONG", "PING", NULL); /* only a server that was reached is retried */
    crew *killer = crew_start(1, kill_connections, &t);
    crew_run(PUSHERS + WORKERS, push_or_work, &t);
    atomic_store(&t.stop, true);
    crew_join(killer);
    int64_t failed = server_ask_int(t.f->server, "HGET " KEY "meta failed");
    for (int i = 0; i < PUSHERS * JOBS; i++)
        assert_in_range(atomic_load(&t.seen[i]), 1, failed == 0 ? 1 : 1 + failed);
    tkl_queue_close(t.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_who_may_not_wake_others_pushes_all_the_same),
        TEST(a_foreign_key_in_the_way_of_a_hand_over_leaves_nothing),
        TEST(a_wait_survives_lost_connections),
        TEST(a_hand_over_that_is_lost_on_the_way_is_found),
        TEST(one_who_is_gone_is_passed_over),
        TEST(one_who_fell_silent_delays_a_job_by_seconds),
        TEST(silence_twice_in_a_row_is_a_failure),
        TEST(what_was_handed_over_is_held_for_the_whole_lease),
        TEST(a_hand_over_lasts_for_seconds_until_it_is_confirmed),
        TEST(a_hand_over_that_came_too_late_is_not_begun),
        TEST(a_long_wait_does_not_grow),
        TEST(a_wait_survives_the_restart_of_a_persistent_server),
        TEST(a_claim_is_cancelled_during_its_first_request),
        TEST(a_claim_that_is_interrupted_during_its_first_request_is_in_doubt),
        TEST(a_server_that_does_not_come_back_ends_the_wait_with_an_error),
        TEST(many_push_and_work_and_each_job_is_done_once),
        TEST(killed_connections_lose_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
