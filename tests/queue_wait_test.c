/* SPDX-License-Identifier: MIT
 *
 * Waiting for jobs: woken by owning one, at the right time, without traffic.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include <dirent.h>

#include "support/fixture.h"
#include "support/waits.h"

/* ---- Waking -------------------------------------------------------------- */

static void waking_up_is_owning(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0), *other = open_consumer(queue, 0);
    pending p = {.consumer = consumer, .wait_ms = -1};
    for (int i = 0; i < 3; i++) {
        start_waiting(&p, f->server);
        int64_t before = server_functions(f->server);
        push_words(queue, "a");
        join(&p);
        assert_int_equal(server_functions(f->server) - before, 1); /* the push */
        expect_all(other, "");
        assert_jobs(p.jobs, "a");
        finish_all(consumer, p.jobs);
        tkl_jobs_free(p.jobs);
        assert_int_equal(waiters(f->server), 0);
    }
    assert_int_equal(server_ask_int(f->server, "HLEN " KEY "jobs"), 0);
    tkl_consumer_close(other);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void those_who_wait_are_served_in_order_of_arrival(void **state)
{
    enum { N = 8 };
    static const char *const words[N] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    pending p[N];
    for (int i = 0; i < N; i++) {
        p[i] = (pending){.consumer = open_consumer(queue, 0), .wait_ms = -1};
        start_waiting(&p[i], f->server);
    }
    push_words(queue, "a b c d e f g h i j");
    for (int i = 0; i < N; i++) {
        expect(&p[i], words[i]);
        tkl_consumer_close(p[i].consumer);
    }
    tkl_consumer *rest = open_consumer(queue, 0);
    expect_all(rest, "i j");
    tkl_consumer_close(rest);
    tkl_queue_close(queue);
}

/* There are more waiters than one script serves. */
static void a_large_push_wakes_all_who_wait(void **state)
{
    enum { N = 130 };
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    static pending p[N];
    static tkl_push jobs[N];
    for (int i = 0; i < N; i++) {
        p[i] = (pending){.consumer = open_consumer(queue, 0), .wait_ms = -1, .max = 1};
        p[i].thread = crew_start(1, claim_in_thread, &p[i]);
        jobs[i] = (tkl_push){.payload = tkl_str("x")};
    }
    eventually(waiters(f->server) == N, LONG_MS);
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    for (int i = 0; i < N; i++) {
        expect(&p[i], "x");
        tkl_consumer_close(p[i].consumer);
    }
    tkl_queue_close(queue);
}

static void what_comes_back_wakes_as_well(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *holder = open_consumer(queue, 0), *consumer = open_consumer(queue, 0);
    static const tkl_outcome outcomes[] = {TKL_OUTCOME_RELEASED, TKL_OUTCOME_FAILED};
    for (int i = 0; i < 2; i++) {
        push_words(queue, "a");
        tkl_jobs *jobs = claim_jobs(holder, 1, 0);
        pending p = {.consumer = consumer, .wait_ms = -1};
        start_waiting(&p, f->server);
        assert_ok(report_job(holder, &jobs->items[0], outcomes[i], "why", i));
        join(&p);
        assert_jobs(p.jobs, "a");
        assert_int_equal(p.jobs->items[0].attempt, 1 + i);
        finish_all(consumer, p.jobs);
        tkl_jobs_free(p.jobs);
        tkl_jobs_free(jobs);
    }
    tkl_consumer_close(holder);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void what_is_large_is_fetched(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    static char large[200000];
    memset(large, 'x', sizeof large);
    pending p = {.consumer = consumer, .wait_ms = -1};
    start_waiting(&p, f->server);
    push_job(queue, &(tkl_push){.payload = {large, sizeof large}}, NULL);
    join(&p);
    assert_ok(p.result);
    assert_int_equal(p.jobs->items[0].payload.len, sizeof large);
    assert_memory_equal(p.jobs->items[0].payload.data, large, sizeof large);
    finish_all(consumer, p.jobs);
    tkl_jobs_free(p.jobs);
    assert_int_equal(waiters(f->server), 0);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void a_claim_that_ends_makes_room_where_few_may_run(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *holder = open_consumer(queue, 0), *consumer = open_consumer(queue, 0);
    static const tkl_outcome outcomes[] = {TKL_OUTCOME_DONE, TKL_OUTCOME_DEAD};
    push_words(queue, "a b c");
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.concurrency = 1}));
    for (int i = 0; i < 2; i++) {
        tkl_jobs *jobs = claim_jobs(holder, 1, 0);
        pending p = {.consumer = consumer, .wait_ms = -1};
        start_waiting(&p, f->server);
        assert_ok(report_job(holder, &jobs->items[0], outcomes[i], "", 0));
        join(&p);
        assert_ok(p.result);
        assert_int_equal(p.jobs->count, 1);
        finish_all(consumer, p.jobs);
        tkl_jobs_free(p.jobs);
        tkl_jobs_free(jobs);
        push_words(queue, "d");
    }
    tkl_consumer_close(holder);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

/* ---- Silence ------------------------------------------------------------- */

static void one_who_waits_sends_nothing(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    start_waiting(&p, f->server);
    int64_t before = server_commands(f->server);
    test_sleep_ms(1500);
    assert_int_equal(server_commands(f->server), before);
    push_words(queue, "a");
    expect(&p, "a");
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
}

static void one_who_waits_beside_leases_and_delays_hardly_asks(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *holder = open_consumer(queue, 3000);
    push_words(queue, "held");
    push_job(queue, &(tkl_push){.payload = tkl_str("late"), .delay_ms = 3600000}, NULL);
    tkl_jobs *jobs = claim_jobs(holder, 1, 0);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    start_waiting(&p, f->server);
    int64_t start = test_now_ms(), before = server_functions(f->server);
    test_sleep_ms(4000);
    int64_t asked = server_functions(f->server) - before;
    /* The holder renews once a second, the other looks every two or three. */
    assert_in_range(asked, 1, 2 + (test_now_ms() - start) * 2 / 1000);
    finish_all(holder, jobs);
    tkl_jobs_free(jobs);
    push_words(queue, "a");
    expect(&p, "a");
    tkl_consumer_close(holder);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
}

/* A program that does jobs one by one, until it is cancelled. */
typedef struct program {
    tkl_client *client;
    tkl_queue *queue;
    tkl_consumer *consumer;
} program;

static void do_jobs(void *arg, int index)
{
    tkl_jobs *jobs;
    const program *p = (const program *)arg + index;
    while (tkl_consumer_claim(p->consumer, 1, -1, &jobs) == TKL_OK) {
        finish_all(p->consumer, jobs);
        tkl_jobs_free(jobs);
    }
}

/* While a rate holds jobs back, one program looks for all. The others look only when it hangs:
 * once, when this machine stalls. */
static void one_of_many_programs_looks_for_all(void **state)
{
    enum { N = 60, SECONDS = 6, PER_JOB = 4 /* scripts */, RATE = 2 /* a second */ };
    static program all[N];
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    assert_ok(
        tkl_queue_limits_set(queue, &(tkl_queue_limits){.rate = RATE, .rate_period_ms = 1000}));
    for (int i = 0; i < N; i++) {
        push_words(queue, "job");
        all[i].client = test_open(f->server->url, NULL);
        all[i].queue = open_queue(all[i].client, "q", 1);
        all[i].consumer = open_consumer(all[i].queue, 0);
    }
    crew *programs = crew_start(N, do_jobs, all);
    eventually(waiters(f->server) >= N - RATE, LONG_MS);
    int64_t start = test_now_ms(), before = server_functions(f->server);
    test_sleep_ms(SECONDS * 1000);
    int64_t asked = server_functions(f->server) - before, took = test_now_ms() - start;
    for (int i = 0; i < N; i++)
        tkl_consumer_cancel(all[i].consumer);
    crew_join(programs);
    for (int i = 0; i < N; i++) {
        tkl_consumer_close(all[i].consumer);
        tkl_queue_close(all[i].queue);
        tkl_close(all[i].client);
    }
    tkl_queue_close(queue);
    assert_in_range(asked, 1, took * RATE * PER_JOB / 1000 + N);
}

/* ---- Time ---------------------------------------------------------------- */

static int64_t server_ms(server *s)
{
    return server_ask_int(
        s, "EVAL %s 0",
        "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)");
}

static void a_delayed_job_starts_at_its_time(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    for (int told = 0; told < 2; told++) { /* pushed before the wait, or during it */
        pending p = {.consumer = consumer, .wait_ms = -1};
        if (told)
            start_waiting(&p, f->server);
        int64_t before = server_ms(f->server);
        push_job(queue, &(tkl_push){.payload = tkl_str("a"), .delay_ms = 300}, NULL);
        if (!told)
            p.thread = crew_start(1, claim_in_thread, &p);
        join(&p);
        assert_in_range(server_ms(f->server) - before, 300, LONG_MS);
        assert_jobs(p.jobs, "a");
        finish_all(consumer, p.jobs);
        tkl_jobs_free(p.jobs);
    }
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void an_earlier_time_is_told_to_those_who_wait(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_queue *same = open_queue(client, "q", 1);
    push_job(queue, &(tkl_push){.payload = tkl_str("late"), .delay_ms = 3600000}, NULL);
    pending p[] = {{.consumer = open_consumer(queue, 0), .wait_ms = -1, .max = 1},
                   {.consumer = open_consumer(same, 0), .wait_ms = -1, .max = 1}};
    start_waiting(&p[0], f->server);
    start_waiting(&p[1], f->server);
    const tkl_push jobs[] = {{.payload = tkl_str("a"), .delay_ms = 200},
                             {.payload = tkl_str("a"), .delay_ms = 100}};
    assert_ok(tkl_queue_push(queue, jobs, 2, NULL, NULL));
    expect(&p[0], "a");
    expect(&p[1], "a");
    tkl_consumer_close(p[0].consumer);
    tkl_consumer_close(p[1].consumer);
    tkl_queue_close(same);
    tkl_close(client);
    tkl_queue_close(queue);
}

/* The looker leaves, so another waiter must look. */
static void the_promise_to_look_is_passed_on(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_queue *same = open_queue(client, "q", 1);
    pending stays = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    pending leaves = {.consumer = open_consumer(same, 0), .wait_ms = -1};
    start_waiting(&stays, f->server);
    start_waiting(&leaves, f->server);
    push_job(queue, &(tkl_push){.payload = tkl_str("a"), .delay_ms = 3000}, NULL);
    tkl_consumer_cancel(leaves.consumer);
    expect(&leaves, "");
    expect(&stays, "a");
    tkl_consumer_close(stays.consumer);
    tkl_consumer_close(leaves.consumer);
    tkl_queue_close(same);
    tkl_close(client);
    tkl_queue_close(queue);
}

static void the_end_of_a_lease_is_noticed(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *dying;
    const tkl_consumer_options options = {.lease_ms = 3000, .no_renewal = true};
    for (int waits = 0; waits < 2; waits++) { /* before the claim, or after */
        assert_ok(tkl_consumer_open(&queue, 1, &options, &dying));
        pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
        pending first = {.consumer = dying, .wait_ms = -1};
        if (waits) {
            start_waiting(&first, f->server);
            start_waiting(&p, f->server);
            push_words(queue, "a");
            join(&first);
        } else {
            push_words(queue, "a");
            first.jobs = claim_jobs(dying, 1, 0);
            start_waiting(&p, f->server);
        }
        assert_jobs(first.jobs, "a");
        join(&p);
        assert_jobs(p.jobs, "a");
        assert_int_equal(p.jobs->items[0].attempt, 2);
        finish_all(p.consumer, p.jobs);
        tkl_jobs_free(p.jobs);
        tkl_jobs_free(first.jobs);
        tkl_consumer_close(dying);
        tkl_consumer_close(p.consumer);
    }
    tkl_queue_close(queue);
}

static void a_rate_lets_the_next_go_in_time(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.rate = 1, .rate_period_ms = 300}));
    push_words(queue, "a b");
    expect_all(p.consumer, "a");
    p.thread = crew_start(1, claim_in_thread, &p);
    expect(&p, "b");
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
}

static void a_wait_ends_in_time_and_leaves_nothing(void **state)
{
    static const int64_t waits[] = {1, 30, 300};
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    for (int i = 0; i < 3; i++) {
        pending p = {.consumer = consumer, .wait_ms = waits[i]};
        p.thread = crew_start(1, claim_in_thread, &p);
        expect(&p, "");
        assert_in_range(p.took_ms, waits[i], waits[i] + LONG_MS);
        assert_int_equal(waiters(f->server), 0);
    }
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void a_cancelled_consumer_waits_no_more(void **state)
{
    fixture *f = *state;
    tkl_queue *queues[] = {open_queue(f->client, "q", 1), open_queue(f->client, "r", 3)};
    for (size_t n = 1; n <= 2; n++) {
        tkl_consumer *consumer;
        tkl_jobs *jobs;
        assert_ok(tkl_consumer_open(queues, n, NULL, &consumer));
        pending p = {.consumer = consumer, .wait_ms = -1};
        start_waiting(&p, f->server);
        tkl_consumer_cancel(consumer);
        expect(&p, "");
        assert_code(tkl_consumer_claim(consumer, 1, -1, &jobs), TKL_EMPTY);
        push_words(queues[0], "a b");
        assert_ok(tkl_consumer_claim(consumer, 1, -1, &jobs));
        tkl_jobs_free(jobs);
        expect_all(consumer, "b");
        assert_int_equal(waiters(f->server), 0);
        tkl_consumer_close(consumer);
    }
    tkl_queue_close(queues[0]);
    tkl_queue_close(queues[1]);
}

/* ---- Several queues ------------------------------------------------------ */

static void the_first_queue_is_always_served_first(void **state)
{
    fixture *f = *state;
    tkl_queue *queues[] = {open_queue(f->client, "q", 1), open_queue(f->client, "r", 1)};
    tkl_consumer *consumer;
    assert_ok(tkl_consumer_open(queues, 2, NULL, &consumer));
    push_words(queues[1], "c d");
    push_words(queues[0], "a b");
    static const char *const order[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        tkl_jobs *jobs = claim_jobs(consumer, 1, 0);
        assert_jobs(jobs, order[i]);
        assert_ptr_equal(jobs->items[0].queue, queues[i / 2]);
        finish_all(consumer, jobs);
        tkl_jobs_free(jobs);
    }
    tkl_consumer_close(consumer);
    tkl_queue_close(queues[0]);
    tkl_queue_close(queues[1]);
}

static void one_waits_at_several_queues_at_once(void **state)
{
    fixture *f = *state;
    tkl_queue *queues[] = {open_queue(f->client, "q", 1), open_queue(f->client, "r", 1),
                           open_queue(f->client, "s", 1)};
    tkl_consumer *consumer, *other = open_consumer(queues[2], 0);
    assert_ok(tkl_consumer_open(queues, 3, NULL, &consumer));
    for (int i = 0; i < 3; i++) {
        pending p = {.consumer = consumer, .wait_ms = -1, .max = 1};
        start_waiting(&p, f->server);
        push_words(queues[i], "a");
        expect(&p, "a");
        assert_int_equal(waiters(f->server), 0);
        assert_int_equal(server_ask_int(f->server, "EXISTS tackle:queue:{r}:waiters"), 0);
        assert_int_equal(server_ask_int(f->server, "EXISTS tackle:queue:{s}:waiters"), 0);
    }
    push_words(queues[2], "b");
    expect_all(other, "b"); /* no ghost of the consumer is in the way */
    tkl_consumer_close(other);
    tkl_consumer_close(consumer);
    for (int i = 0; i < 3; i++)
        tkl_queue_close(queues[i]);
}

static int threads(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void waiting_at_several_queues_takes_one_thread(void **state)
{
    fixture *f = *state;
    tkl_queue *queues[] = {open_queue(f->client, "q", 1), open_queue(f->client, "p", 4)};
    tkl_consumer *consumer;
    assert_ok(tkl_consumer_open(queues, 2, NULL, &consumer));
    pending p = {.consumer = consumer, .wait_ms = -1, .max = 1};
    int before = threads();
    start_waiting(&p, f->server);
    eventually(server_ask_int(f->server, "ZCARD tackle:queue:{p%%233}:waiters") == 1, LONG_MS);
    assert_int_equal(threads(), before + 1);
    assert_int_equal(server_connections(f->server, NULL), 2); /* one to ask, one to listen */
    push_words(queues[1], "a");
    expect(&p, "a");
    tkl_consumer_close(consumer);
    tkl_queue_close(queues[0]);
    tkl_queue_close(queues[1]);
}

/* Two queues hand over at the same time, and the consumer has room for one job: the other goes
 * back. */
static void what_is_handed_over_beyond_the_need_goes_back(void **state)
{
    fixture *f = *state;
    tkl_queue *queues[] = {open_queue(f->client, "q", 1), open_queue(f->client, "r", 1)};
    tkl_consumer *consumer;
    assert_ok(tkl_consumer_open(queues, 2, NULL, &consumer));
    for (int i = 0; i < 20; i++) {
        pending p = {.consumer = consumer, .wait_ms = -1, .max = 1};
        start_waiting(&p, f->server);
        push_words(queues[i % 2], "a");
        push_words(queues[1 - i % 2], "a");
        expect(&p, "a");
        tkl_jobs *jobs = claim_jobs(consumer, 1, 0);
        assert_int_equal(jobs->items[0].attempt, 1);
        finish_all(consumer, jobs);
        tkl_jobs_free(jobs);
    }
    tkl_consumer_close(consumer);
    tkl_queue_close(queues[0]);
    tkl_queue_close(queues[1]);
}

static void partitions_are_one_queue(void **state)
{
    enum { N = 100 };
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "p", 4);
    tkl_consumer *consumer = open_consumer(queue, 0);
    tkl_push jobs[N] = {0};
    tkl_pushed pushed[N];
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, pushed));
    for (int i = 0; i < 4; i++)
        assert_int_equal(server_ask_int(f->server, "ZCARD tackle:queue:{p%%23%d}:ready", i), N / 4);
    size_t done = 0;
    for (tkl_jobs *some; tkl_consumer_claim(consumer, 10, 0, &some) == TKL_OK;) {
        assert_in_range(some->count, 1, 10);
        done += some->count;
        finish_all(consumer, some);
        tkl_jobs_free(some);
    }
    assert_int_equal(done, N);
    for (int i = 0; i < 8; i++) { /* single pushes go round */
        pending p = {.consumer = consumer, .wait_ms = LONG_MS};
        p.thread = crew_start(1, claim_in_thread, &p);
        push_words(queue, "a");
        expect(&p, "a");
    }
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

/* A push tells a waiter to fetch its job, and the waiter gives up in that moment. */
static void what_one_who_gives_up_did_not_fetch_goes_to_the_next(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    const tkl_push job = {.payload = tkl_str("a"), .group = tkl_str("g")};
    pending first = {.consumer = open_consumer(queue, 0), .wait_ms = -1};
    pending next = {.consumer = open_consumer(queue, 0), .wait_ms = LONG_MS};
    start_waiting(&first, f->server);
    start_waiting(&next, f->server);
    assert_ok(tkl_queue_pause(queue)); /* no waiter hears of it */
    push_job(queue, &job, NULL);
    server_do(f->server, "ZPOPMIN " KEY "waiters");
    server_do(f->server, "HDEL " KEY "meta paused");
    tkl_consumer_cancel(first.consumer);
    expect(&first, "");
    expect(&next, "a");
    tkl_consumer_close(first.consumer);
    tkl_consumer_close(next.consumer);
    tkl_queue_close(queue);
}

/* ---- Flows --------------------------------------------------------------- */

/* A job, and one that waits for it. */
static void push_pair(tkl_queue *queue, int64_t delay_ms)
{
    static const size_t child[] = {0};
    const tkl_push jobs[] = {
        {.payload = tkl_str("child")},
        {.payload = tkl_str("parent"), .after = child, .after_count = 1, .delay_ms = delay_ms}};
    assert_ok(tkl_queue_push(queue, jobs, 2, NULL, NULL));
}

static void whoever_waits_gets_what_a_removed_dead_letter_held(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = LONG_MS};
    push_pair(queue, 0);
    tkl_jobs *child = claim_jobs(p.consumer, 1, 0);
    assert_ok(report_job(p.consumer, &child->items[0], TKL_OUTCOME_DEAD, "no", 0));
    tkl_jobs_free(child);
    start_waiting(&p, f->server);
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    expect(&p, "parent");
    assert_true(p.took_ms < LONG_MS);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
}

/* The waiter only knows the end of the other consumer's lease, which is far. */
static void whoever_waits_learns_when_a_parent_is_due(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "q", 1);
    tkl_consumer *other = open_consumer(queue, 20 * LONG_MS);
    pending p = {.consumer = open_consumer(queue, 0), .wait_ms = LONG_MS};
    push_pair(queue, 2000);
    tkl_jobs *child = claim_jobs(other, 1, 0);
    start_waiting(&p, f->server);
    finish_all(other, child);
    expect(&p, "parent");
    tkl_jobs_free(child);
    tkl_consumer_close(other);
    tkl_consumer_close(p.consumer);
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waking_up_is_owning),
        TEST(those_who_wait_are_served_in_order_of_arrival),
        TEST(a_large_push_wakes_all_who_wait),
        TEST(what_comes_back_wakes_as_well),
        TEST(what_is_large_is_fetched),
        TEST(a_claim_that_ends_makes_room_where_few_may_run),
        TEST(one_who_waits_sends_nothing),
        TEST(one_who_waits_beside_leases_and_delays_hardly_asks),
        TEST(one_of_many_programs_looks_for_all),
        TEST(a_delayed_job_starts_at_its_time),
        TEST(an_earlier_time_is_told_to_those_who_wait),
        TEST(the_promise_to_look_is_passed_on),
        TEST(the_end_of_a_lease_is_noticed),
        TEST(a_rate_lets_the_next_go_in_time),
        TEST(a_wait_ends_in_time_and_leaves_nothing),
        TEST(a_cancelled_consumer_waits_no_more),
        TEST(the_first_queue_is_always_served_first),
        TEST(one_waits_at_several_queues_at_once),
        TEST(waiting_at_several_queues_takes_one_thread),
        TEST(what_is_handed_over_beyond_the_need_goes_back),
        TEST(partitions_are_one_queue),
        TEST(what_one_who_gives_up_did_not_fetch_goes_to_the_next),
        TEST(whoever_waits_gets_what_a_removed_dead_letter_held),
        TEST(whoever_waits_learns_when_a_parent_is_due),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
