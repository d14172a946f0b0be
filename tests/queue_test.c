/* SPDX-License-Identifier: MIT
 *
 * Queues: jobs are claimed in order and at their time, once, within limits; and none is lost on the
 * way.
 *
 * ctest: label threads
 */
#include "support/one_queue.h"
#include "support/process.h"
#include "support/proxy.h"

#define LONG_MS 30000

/* ---- Pushing and claiming ------------------------------------------------ */

static void jobs_come_out_as_they_went_in(void **state)
{
    one_queue d = one_queue_open(state);
    char id[TKL_JOB_ID_SIZE];
    const tkl_push job = {.payload = {"\0payload\n", 9},
                          .meta = {"me\0ta", 5},
                          .priority = 7,
                          .retries = 3,
                          .time_limit_ms = 1234};
    push_job(d.queue, &job, id);
    tkl_jobs *jobs = claim_jobs(d.consumer, 10, 0);
    assert_int_equal(jobs->count, 1);
    const tkl_job *got = &jobs->items[0];
    assert_string_equal(got->id, id);
    assert_int_equal(strlen(got->token), 32); /* 128 random bits */
    assert_int_equal(strspn(got->token, "0123456789abcdef"
                                        "ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"),
                     32);
    assert_ptr_equal(got->queue, d.queue);
    assert_int_equal(got->payload.len, 9);
    assert_memory_equal(got->payload.data, "\0payload\n", 9);
    assert_int_equal(got->meta.len, 5);
    assert_memory_equal(got->meta.data, "me\0ta", 5);
    assert_int_equal(got->priority, 7);
    assert_int_equal(got->retries, 3);
    assert_int_equal(got->time_limit_ms, 1234);
    assert_int_equal(got->attempt, 1);
    assert_int_equal(got->error.len, 0);
    int64_t now = server_ask_int(d.f->server, "EVAL %s 0", "return redis.call('TIME')[1] * 1000");
    assert_in_range(got->pushed_ms, now - LONG_MS, now + 1000);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    assert_clean(d.f->server);
    one_queue_close(&d);
}

static void first_in_first_out_and_lower_priorities_first(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_push jobs[] = {
        {.payload = tkl_str("a")},
        {.payload = tkl_str("late"), .priority = 1000},
        {.payload = tkl_str("b")},
        {.payload = tkl_str("first"), .priority = -1000},
        {.payload = tkl_str("second"), .priority = -999},
        {.payload = tkl_str("c")},
    };
    assert_ok(tkl_queue_push(d.queue, jobs, 6, NULL, NULL));
    push_words(d.queue, "d e");
    expect_all(d.consumer, "first second a b c d e late");
    expect_all(d.consumer, "");
    one_queue_close(&d);
}

static void a_claim_takes_no_more_than_it_asked_for(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_jobs *none;
    push_words(d.queue, "a b c");
    tkl_jobs *jobs = claim_jobs(d.consumer, 2, 0);
    assert_jobs(jobs, "a b");
    tkl_jobs_free(jobs);
    jobs = claim_jobs(d.consumer, 2, 0);
    assert_jobs(jobs, "c");
    tkl_jobs_free(jobs);
    assert_code(tkl_consumer_claim(d.consumer, 2, 0, &none), TKL_EMPTY);
    assert_null(none);
    assert_code(tkl_consumer_claim(d.consumer, 0, 0, &none), TKL_EINVAL);
    one_queue_close(&d);
}

static void a_large_batch_is_one_queue_in_order(void **state)
{
    enum { N = 3500 };
    one_queue d = one_queue_open(state);
    static char texts[N][8];
    static tkl_push jobs[N];
    static tkl_pushed pushed[N];
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        jobs[i] = (tkl_push){.payload = tkl_str(texts[i])};
    }
    assert_ok(tkl_queue_push(d.queue, jobs, N, NULL, pushed));
    for (int i = 0, done = 0; i < 4; i++) {
        tkl_jobs *some = claim_jobs(d.consumer, 1000, 0);
        for (size_t k = 0; k < some->count; k++, done++) {
            assert_int_equal(atoi(some->items[k].payload.data), done);
            assert_string_equal(some->items[k].id, pushed[done].id);
        }
        finish_all(d.consumer, some);
        tkl_jobs_free(some);
    }
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta pushed"), N);
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta done"), N);
    assert_clean(d.f->server);
    one_queue_close(&d);
}

static void a_claim_of_many_bytes_takes_some_of_them_in_order(void **state)
{
    enum { N = 100, SIZE = 60000 };
    one_queue d = one_queue_open(state);
    static char payload[SIZE];
    int done = 0;
    for (int i = 0; i < N; i++) {
        snprintf(payload, sizeof payload, "%d", i);
        assert_ok(tkl_queue_push(d.queue, &(tkl_push){.payload = {payload, SIZE}}, 1, NULL, NULL));
    }
    while (done < N) {
        tkl_jobs *some = claim_jobs(d.consumer, N, 0);
        assert_in_range(some->count, 1, 16);
        for (size_t k = 0; k < some->count; k++, done++)
            assert_int_equal(atoi(some->items[k].payload.data), done);
        finish_all(d.consumer, some);
        tkl_jobs_free(some);
    }
    assert_clean(d.f->server);
    one_queue_close(&d);
}

static void a_push_is_one_trip_and_so_is_a_turn(void **state)
{
    one_queue d = one_queue_open(state);
    push_words(d.queue, "a b c d");
    tkl_jobs *jobs = claim_jobs(d.consumer, 2, 0);
    tkl_report reports[] = {{.job = &jobs->items[0]}, {.job = &jobs->items[1]}};
    int64_t before = server_functions(d.f->server);
    push_words(d.queue, "e f");
    assert_int_equal(server_functions(d.f->server) - before, 1);
    tkl_jobs *more;
    before = server_functions(d.f->server);
    assert_ok(tkl_consumer_next(d.consumer, reports, 2, 10, 0, &more));
    assert_int_equal(server_functions(d.f->server) - before, 1);
    assert_ok(reports[0].code);
    assert_jobs(more, "c d e f");
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta done"), 2);
    tkl_jobs_free(jobs);
    tkl_jobs_free(more);
    one_queue_close(&d);
}

static void empty_and_huge_payloads_are_jobs_like_any(void **state)
{
    const size_t huge = 100 << 20;
    one_queue d = one_queue_open_lease(state, 600000);
    char *data = malloc(huge);
    assert_non_null(data);
    memset(data, 'x', huge);
    data[0] = data[huge - 1] = '\0';
    push_job(d.queue, &(tkl_push){.payload = {NULL, 0}}, NULL);
    push_job(d.queue, &(tkl_push){.payload = {data, huge}}, NULL);
    push_words(d.queue, "small");
    tkl_jobs *jobs = claim_jobs(d.consumer, 10, 0);
    assert_int_equal(jobs->items[0].payload.len, 0);
    assert_int_equal(jobs->count, 2); /* a reply has a limit */
    assert_int_equal(jobs->items[1].payload.len, huge);
    assert_memory_equal(jobs->items[1].payload.data, data, huge);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    expect_all(d.consumer, "small");
    assert_clean(d.f->server);
    free(data);
    one_queue_close(&d);
}

static void wrong_jobs_are_refused_as_a_whole(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_push jobs[] = {{.payload = tkl_str("good")}, {.priority = 5000}};
    tkl_pushed pushed[2];
    assert_code(tkl_queue_push(d.queue, jobs, 2, NULL, pushed), TKL_EINVAL);
    assert_code(pushed[0].code, TKL_ENOTSENT);
    assert_code(pushed[1].code, TKL_EINVAL);
    assert_string_equal(pushed[0].id, "");
    expect_all(d.consumer, "");
    one_queue_close(&d);
}

/* ---- Requests ------------------------------------------------------------ */

static void a_repeated_request_pushes_nothing_twice(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_push jobs[] = {{.payload = tkl_str("a")}, {.payload = tkl_str("b")}};
    const tkl_push_options options = {.request = {"r\0q", 3}}, other = {.request = {"r\0p", 3}};
    tkl_pushed first[2], second[2];
    assert_ok(tkl_queue_push(d.queue, jobs, 2, &options, first));
    assert_ok(tkl_queue_push(d.queue, jobs, 2, &options, second));
    assert_memory_equal(first[0].id, second[0].id, TKL_JOB_ID_SIZE);
    assert_memory_equal(first[1].id, second[1].id, TKL_JOB_ID_SIZE);
    expect_all(d.consumer, "a b");
    assert_ok(tkl_queue_push(d.queue, jobs, 2, &options, second)); /* done meanwhile */
    expect_all(d.consumer, "");
    assert_ok(tkl_queue_push(d.queue, jobs, 2, &other, NULL));
    expect_all(d.consumer, "a b");
    char large[65] = {0};
    assert_code(tkl_queue_push(d.queue, jobs, 2, &(tkl_push_options){.request = {large, 65}}, NULL),
                TKL_EINVAL);
    one_queue_close(&d);
}

static void requests_leave_as_many_traces_as_there_are_threads(void **state)
{
    one_queue d = one_queue_open(state);
    for (int i = 0; i < 100; i++)
        push_words(d.queue, "x");
    int64_t fields = server_ask_int(d.f->server, "HLEN " KEY "requests_even") +
                     server_ask_int(d.f->server, "HLEN " KEY "requests_odd");
    assert_in_range(fields, 1, 2); /* 2: the window has changed just now */
    int64_t ttl = server_ask_int(d.f->server, "PTTL " KEY "requests_even"),
            other = server_ask_int(d.f->server, "PTTL " KEY "requests_odd");
    assert_true((ttl > 0 && ttl <= 1200000) || (other > 0 && other <= 1200000));
    one_queue_close(&d);
}

static void a_push_whose_answer_is_lost_counts_once(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    push_words(queue, "a"); /* the server knows the script */
    for (int i = 0; i < 5; i++) {
        proxy_cut_after(p, TO_CLIENT, i);
        push_words(queue, "b");
    }
    expect_all(consumer, "a b b b b b");
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    proxy_end(p);
}

static int push_in_child(void *arg)
{
    return tkl_queue_push(arg, &(tkl_push){.payload = tkl_str("child's")}, 1, NULL, NULL);
}

/* A child's push must not pass for a repetition of its parent's, nor the other way round. */
static void a_forked_child_pushes_for_itself(void **state)
{
    skip_under_sanitizers();
    one_queue d = one_queue_open(state);
    push_words(d.queue, "first");
    assert_int_equal(process_wait(process_fork(push_in_child, d.queue)), 0);
    push_words(d.queue, "last");
    expect_all(d.consumer, "first child's last");
    one_queue_close(&d);
}

/* ---- Delays -------------------------------------------------------------- */

static void delayed_jobs_wait_and_then_go_ahead_of_their_priority(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_push jobs[] = {
        {.payload = tkl_str("plain")},
        {.payload = tkl_str("later"), .delay_ms = 40},
        {.payload = tkl_str("sooner"), .delay_ms = 20},
        {.payload = tkl_str("urgent"), .priority = -1},
        {.payload = tkl_str("past"), .at_ms = 1},
        {.payload = tkl_str("never"), .delay_ms = 3600000},
    };
    assert_ok(tkl_queue_push(d.queue, jobs, 6, NULL, NULL));
    int64_t due = server_ask_int(d.f->server, "ZCOUNT " KEY "delayed -inf +inf");
    assert_int_equal(due, 4);
    test_sleep_ms(60);
    expect_all(d.consumer, "urgent past sooner later plain");
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "delayed"), 1);
    one_queue_close(&d);
}

/* A forked child uses the consumer of its parent. */
static int use_in_child(void *arg)
{
    tkl_consumer *consumer = arg;
    tkl_jobs *jobs;
    bool refused = tkl_consumer_claim(consumer, 1, 0, &jobs) == TKL_EINVAL &&
                   tkl_consumer_finish(consumer, NULL, 0) == TKL_EINVAL;
    tkl_consumer_close(consumer);
    return refused ? 0 : 1;
}

static void a_forked_child_leaves_the_claims_of_its_parent_alone(void **state)
{
    skip_under_sanitizers();
    one_queue d = one_queue_open(state);
    push_words(d.queue, "a");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    assert_int_equal(process_wait(process_fork(use_in_child, d.consumer)), 0);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

static void a_time_out_of_its_own_ends_a_call_to_a_silent_server(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 60000});
    tkl_queue *queue;
    tkl_queue_stats stats;
    const tkl_queue_options quick = {.timeout_ms = 100};
    const tkl_push job = {.payload = tkl_str("x")};
    assert_ok(tkl_queue_open(client, tkl_str("q"), &quick, &queue));
    eventually(tkl_queue_stats_get(queue, &stats) == TKL_OK, LONG_MS); /* connected, loaded */
    proxy_hold(p, TO_CLIENT, true);
    int64_t start = test_now_ms();
    assert_true(tkl_is_transient(tkl_queue_stats_get(queue, &stats)));
    assert_true(tkl_is_transient(tkl_queue_push(queue, &job, 1, NULL, NULL)));
    assert_in_range(test_now_ms() - start, 0, 30000);
    proxy_hold(p, TO_CLIENT, false);
    tkl_queue_close(queue);
    tkl_close(client);
    proxy_end(p);
}

/* Plain jobs, unique ones and those of a group, in several chunks, and the server has no
 * function. */
static void jobs_of_all_kinds_keep_their_order(void **state)
{
    enum { N = 2500 };
    static tkl_push jobs[N];
    static char texts[N][16];
    one_queue d = one_queue_open(state);
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        jobs[i] = (tkl_push){.payload = tkl_str(texts[i]),
                             .unique = i % 3 == 1 ? tkl_str(texts[i]) : tkl_str(""),
                             .group = i % 3 > 0 ? tkl_str("g") : tkl_str("")};
    }
    server_do(d.f->server, "FUNCTION FLUSH SYNC");
    assert_ok(tkl_queue_push(d.queue, jobs, N, NULL, NULL));
    for (int i = 0; i < N;) {
        tkl_jobs *got = claim_jobs(d.consumer, 1000, 0);
        for (size_t k = 0; k < got->count; k++, i++)
            assert_int_equal(atoi(got->items[k].payload.data), i);
        finish_all(d.consumer, got);
        tkl_jobs_free(got);
    }
    one_queue_close(&d);
}

/* ---- Limits -------------------------------------------------------------- */

static void a_full_queue_says_so_and_takes_what_fits(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_push jobs[] = {
        {.payload = tkl_str("a")}, {.payload = tkl_str("b")}, {.payload = tkl_str("c")}};
    tkl_pushed pushed[3];
    assert_ok(set_exactly(d.queue, &(tkl_queue_limits){.max_jobs = 2}));
    assert_code(tkl_queue_push(d.queue, jobs, 3, NULL, pushed), TKL_FULL);
    assert_ok(pushed[0].code);
    assert_ok(pushed[1].code);
    assert_code(pushed[2].code, TKL_FULL);
    assert_string_equal(pushed[2].id, "");
    assert_code(tkl_queue_push(d.queue, jobs, 1, NULL, NULL), TKL_FULL);
    expect_all(d.consumer, "a b");
    assert_ok(set_exactly(d.queue, &(tkl_queue_limits){.max_bytes = 5}));
    assert_code(tkl_queue_push(d.queue, jobs, 3, NULL, pushed), TKL_FULL);
    assert_ok(pushed[1].code);
    assert_code(pushed[2].code, TKL_FULL);
    one_queue_close(&d);
}

static void concurrency_and_rate_hold_claims_back(void **state)
{
    one_queue d = one_queue_open(state);
    push_words(d.queue, "a b c d e f");
    server_do(d.f->server, "HSET " KEY "meta concurrency 2");
    tkl_jobs *jobs = claim_jobs(d.consumer, 10, 0), *none;
    assert_jobs(jobs, "a b");
    assert_code(tkl_consumer_claim(d.consumer, 10, 0, &none), TKL_EMPTY);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    server_do(d.f->server, "HDEL " KEY "meta concurrency");
    server_do(d.f->server, "HSET " KEY "meta rate 3 rate_period 3600000");
    expect_all(d.consumer, "c d e");
    expect_all(d.consumer, "");
    server_do(d.f->server, "HSET " KEY "meta paused 1 full_at 0");
    expect_all(d.consumer, "");
    server_do(d.f->server, "HDEL " KEY "meta paused");
    expect_all(d.consumer, "f");
    one_queue_close(&d);
}

/* ---- Trouble ------------------------------------------------------------- */

static void something_else_under_the_keys_is_told_and_loses_nothing(void **state)
{
    static const char *const parts[] = {"meta", "jobs", "ready", "delayed", "active", "waiters"};
    one_queue d = one_queue_open(state);
    tkl_jobs *jobs;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        push_words(d.queue, "x");
        if (server_ask_int(d.f->server, "EXISTS " KEY "%s", parts[i]))
            server_do(d.f->server, "RENAME " KEY "%s saved", parts[i]);
        server_do(d.f->server, "SET " KEY "%s foreign", parts[i]);
        if (strchr("mjqw", parts[i][0])) /* the others it does not touch */
            assert_code(tkl_queue_push(d.queue, &(tkl_push){0}, 1, NULL, NULL), TKL_ETYPE);
        assert_code(tkl_consumer_claim(d.consumer, 1, 0, &jobs), TKL_ETYPE);
        server_do(d.f->server, "DEL " KEY "%s", parts[i]);
        if (server_ask_int(d.f->server, "EXISTS saved"))
            server_do(d.f->server, "RENAME saved " KEY "%s", parts[i]);
        expect_all(d.consumer, "x");
    }
    one_queue_close(&d);
}

static void a_full_server_refuses_pushes_and_lets_work_go_on(void **state)
{
    one_queue d = one_queue_open_lease(state, 3000);
    push_job(d.queue, &(tkl_push){.payload = tkl_str("fails"), .backoff_ms = 1}, NULL);
    push_words(d.queue, "a b c");
    push_job(d.queue, &(tkl_push){.payload = tkl_str("late"), .at_ms = 1}, NULL);
    server_do(d.f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_queue_push(d.queue, &(tkl_push){0}, 1, NULL, NULL), TKL_EOOM);
    assert_non_null(strstr(tkl_errmsg(), "the server is out of memory (maxmemory)"));
    assert_null(strstr(tkl_errmsg(), "script: "));
    tkl_jobs *jobs = claim_jobs(d.consumer, 10, LONG_MS);
    assert_int_equal(jobs->count, 5);
    int64_t before = server_calls(d.f->server, "zadd");
    eventually(server_calls(d.f->server, "zadd") >= before + 2, LONG_MS); /* renewals */
    for (size_t i = 0; i < jobs->count; i++) {
        bool fails = jobs->items[i].payload.len == 5;
        assert_ok(report_job(d.consumer, &jobs->items[i],
                             fails ? TKL_OUTCOME_FAILED : TKL_OUTCOME_DONE, "no", 0));
    }
    tkl_jobs_free(jobs);
    jobs = claim_jobs(d.consumer, 10, LONG_MS); /* waits for it, in line */
    assert_jobs(jobs, "fails");
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DEAD, "no", 0));
    tkl_jobs_free(jobs);
    server_do(d.f->server, "CONFIG SET maxmemory 0");
    one_queue_close(&d);
}

static void consumers_that_cannot_be_are_not_opened(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_consumer *consumer;
    assert_code(tkl_consumer_open(&d.queue, 0, NULL, &consumer), TKL_EINVAL);
    assert_null(consumer);
    assert_code(tkl_consumer_open(&d.queue, 1, &(tkl_consumer_options){.lease_ms = 99}, &consumer),
                TKL_EINVAL);
    tkl_client *client = test_open(d.f->server->url, NULL);
    tkl_queue *queues[] = {d.queue, open_queue(client, "q", 1)};
    assert_code(tkl_consumer_open(queues, 2, NULL, &consumer), TKL_EINVAL);
    tkl_queue_close(queues[1]);
    tkl_close(client);
    tkl_consumer_close(NULL);
    tkl_jobs_free(NULL);
    one_queue_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_come_out_as_they_went_in),
        TEST(first_in_first_out_and_lower_priorities_first),
        TEST(a_claim_takes_no_more_than_it_asked_for),
        TEST(a_large_batch_is_one_queue_in_order),
        TEST(a_claim_of_many_bytes_takes_some_of_them_in_order),
        TEST(a_push_is_one_trip_and_so_is_a_turn),
        TEST(empty_and_huge_payloads_are_jobs_like_any),
        TEST(wrong_jobs_are_refused_as_a_whole),
        TEST(a_repeated_request_pushes_nothing_twice),
        TEST(requests_leave_as_many_traces_as_there_are_threads),
        TEST(a_push_whose_answer_is_lost_counts_once),
        TEST(a_forked_child_pushes_for_itself),
        TEST(delayed_jobs_wait_and_then_go_ahead_of_their_priority),
        TEST(a_forked_child_leaves_the_claims_of_its_parent_alone),
        TEST(a_time_out_of_its_own_ends_a_call_to_a_silent_server),
        TEST(jobs_of_all_kinds_keep_their_order),
        TEST(a_full_queue_says_so_and_takes_what_fits),
        TEST(concurrency_and_rate_hold_claims_back),
        TEST(something_else_under_the_keys_is_told_and_loses_nothing),
        TEST(a_full_server_refuses_pushes_and_lets_work_go_on),
        TEST(consumers_that_cannot_be_are_not_opened),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
