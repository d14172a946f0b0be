/* SPDX-License-Identifier: MIT
 *
 * Why a job does not run: each cause.
 *
 * ctest: label threads
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "support/one_queue.h"

#define LONG_MS 30000
#define HOUR_MS 3600000

static tkl_queue_reasons *why(tkl_queue *queue, const char *id)
{
    tkl_queue_reasons *reasons;
    assert_ok(tkl_queue_why(queue, id, &reasons));
    return reasons;
}

/* Fails unless the causes, with commas in between, are these. */
static void assert_causes(tkl_queue *queue, const char *id, const char *expected)
{
    char text[256] = "";
    tkl_queue_reasons *reasons = why(queue, id);
    for (size_t i = 0; i < reasons->count; i++) {
        strcat(text, i ? "," : "");
        strcat(text, tkl_queue_cause_name(reasons->items[i].cause));
    }
    assert_string_equal(text, expected);
    if (id)
        assert_string_equal(reasons->id, id);
    tkl_queue_reasons_free(reasons);
}

/* The first cause, which must be this one. Its text is gone. */
static tkl_queue_reason first_cause(tkl_queue *queue, const char *id, tkl_queue_cause cause)
{
    tkl_queue_reasons *reasons = why(queue, id);
    assert_true(reasons->count > 0);
    tkl_queue_reason first = reasons->items[0];
    assert_string_equal(tkl_queue_cause_name(first.cause), tkl_queue_cause_name(cause));
    tkl_queue_reasons_free(reasons);
    return first;
}

static void assert_text_of(tkl_queue *queue, const char *id, const char *expected)
{
    tkl_queue_reasons *reasons = why(queue, id);
    assert_true(reasons->count > 0);
    assert_int_equal(reasons->items[0].text.len, strlen(expected));
    assert_memory_equal(reasons->items[0].text.data, expected, strlen(expected));
    tkl_queue_reasons_free(reasons);
}

static void nothing_waits_in_an_empty_queue(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_queue_reasons *reasons;
    assert_code(tkl_queue_why(d.queue, NULL, &reasons), TKL_NOTFOUND);
    assert_null(reasons);
    assert_code(tkl_queue_why(d.queue, "0000000000000", &reasons), TKL_NOTFOUND);
    assert_code(tkl_queue_why(d.queue, "nonsense", &reasons), TKL_NOTFOUND);
    assert_string_equal(tkl_queue_cause_name((tkl_queue_cause)0), "unknown");
    assert_string_equal(tkl_queue_cause_name((tkl_queue_cause)15), "unknown");
    tkl_queue_reasons_free(NULL);
    one_queue_close(&d);
}

static void a_paused_queue_without_workers(void **state)
{
    one_queue d = one_queue_open(state);
    char id[TKL_JOB_ID_SIZE];
    push_words(d.queue, "a");
    push_job(d.queue, &(tkl_push){.payload = tkl_str("b")}, id);
    assert_causes(d.queue, NULL, "no worker");
    assert_causes(d.queue, id, "no worker,behind");
    assert_ok(tkl_queue_pause(d.queue));
    assert_causes(d.queue, NULL, "paused,no worker");
    one_queue_close(&d);
}

static void *wait_for_jobs(void *consumer)
{
    tkl_jobs *jobs;
    int rc = tkl_consumer_claim(consumer, 1, -1, &jobs);
    tkl_jobs_free(jobs);
    return (void *)(intptr_t)rc;
}

static int64_t waiters_of(tkl_queue *queue)
{
    tkl_queue_stats stats;
    assert_ok(tkl_queue_stats_get(queue, &stats));
    return stats.waiters;
}

static void workers_that_are_busy_and_one_that_waits(void **state)
{
    one_queue d = one_queue_open(state);
    pthread_t thread;
    push_words(d.queue, "a b");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    tkl_queue_reason busy = first_cause(d.queue, NULL, TKL_QUEUE_CAUSE_BUSY);
    assert_int_equal(busy.used, 1);
    assert_int_equal(busy.limit, 1);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    assert_causes(d.queue, NULL, "busy"); /* it was heard of, and does not wait */
    assert_ok(tkl_queue_pause(d.queue));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_jobs, d.consumer), 0);
    eventually(waiters_of(d.queue) == 1, LONG_MS);
    assert_causes(d.queue, NULL, "paused");
    tkl_consumer_cancel(d.consumer);
    pthread_join(thread, NULL);
    one_queue_close(&d);
}

static void limits_of_the_queue(void **state)
{
    one_queue d = one_queue_open(state);
    push_words(d.queue, "a b c");
    assert_ok(tkl_queue_limits_set(d.queue, &(tkl_queue_limits){.concurrency = 1}));
    tkl_jobs *jobs = claim_jobs(d.consumer, 5, 0);
    tkl_queue_reason full = first_cause(d.queue, NULL, TKL_QUEUE_CAUSE_CONCURRENCY);
    assert_int_equal(full.used, 1);
    assert_int_equal(full.limit, 1);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    const tkl_queue_limits rate = {.concurrency = TKL_NONE, .rate = 2, .rate_period_ms = HOUR_MS};
    assert_ok(tkl_queue_limits_set(d.queue, &rate));
    push_words(d.queue, "d");
    tkl_jobs_free(claim_jobs(d.consumer, 5, 0));
    tkl_queue_reason used_up = first_cause(d.queue, NULL, TKL_QUEUE_CAUSE_RATE);
    assert_int_equal(used_up.limit, 2);
    assert_int_equal(used_up.used, HOUR_MS);
    int64_t now = server_ask_int(d.f->server, "EVAL %s 0", "return redis.call('TIME')[1] * 1000");
    assert_in_range(used_up.time_ms, now + HOUR_MS / 2 - LONG_MS, now + HOUR_MS / 2 + 1000);
    one_queue_close(&d);
}

static void limits_of_a_group(void **state)
{
    one_queue d = one_queue_open(state);
    char id[TKL_JOB_ID_SIZE];
    const tkl_push job = {.group = tkl_str("ann")};
    tkl_jobs *none;
    assert_ok(tkl_queue_limits_set(d.queue, &(tkl_queue_limits){.group_concurrency = 1}));
    push_job(d.queue, &job, NULL);
    push_job(d.queue, &job, id);
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    assert_code(tkl_consumer_claim(d.consumer, 1, 0, &none), TKL_EMPTY); /* parks the other */
    tkl_queue_reason full = first_cause(d.queue, id, TKL_QUEUE_CAUSE_GROUP_CONCURRENCY);
    assert_int_equal(full.used, 1);
    assert_int_equal(full.limit, 1);
    assert_text_of(d.queue, NULL, "ann");
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    const tkl_queue_limits rate = {
        .group_concurrency = TKL_NONE, .group_rate = 1, .group_rate_period_ms = HOUR_MS};
    assert_ok(tkl_queue_limits_set(d.queue, &rate));
    tkl_jobs_free(claim_jobs(d.consumer, 1, 0));
    push_job(d.queue, &job, id);
    assert_code(tkl_consumer_claim(d.consumer, 1, 0, &none), TKL_EMPTY);
    tkl_queue_reason used_up = first_cause(d.queue, id, TKL_QUEUE_CAUSE_GROUP_RATE);
    assert_int_equal(used_up.limit, 1);
    assert_int_equal(used_up.used, HOUR_MS);
    assert_true(used_up.time_ms > 0);
    one_queue_close(&d);
}

static void delays_and_retries(void **state)
{
    one_queue d = one_queue_open(state);
    char id[TKL_JOB_ID_SIZE];
    push_job(d.queue, &(tkl_push){.delay_ms = HOUR_MS}, id);
    tkl_queue_reason delayed = first_cause(d.queue, NULL, TKL_QUEUE_CAUSE_DELAYED);
    assert_true(delayed.time_ms > 0);
    assert_causes(d.queue, id, "delayed");
    assert_ok(tkl_queue_cancel(d.queue, id));
    push_job(d.queue, &(tkl_push){.payload = tkl_str("a")}, id);
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_FAILED, "no disk", HOUR_MS));
    tkl_jobs_free(jobs);
    tkl_queue_reason retry = first_cause(d.queue, id, TKL_QUEUE_CAUSE_RETRY);
    assert_int_equal(retry.used, 1);
    assert_true(retry.time_ms > delayed.time_ms - HOUR_MS);
    assert_text_of(d.queue, id, "no disk");
    one_queue_close(&d);
}

static void jobs_of_a_flow(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_pushed pushed[3];
    const size_t both[] = {0, 1};
    const tkl_push jobs[] = {{.payload = tkl_str("a")},
                             {.payload = tkl_str("b"), .retries = TKL_NONE},
                             {.payload = tkl_str("c"), .after = both, .after_count = 2}};
    assert_ok(tkl_queue_push(d.queue, jobs, 3, NULL, pushed));
    assert_causes(d.queue, pushed[2].id, "flow,flow");
    tkl_jobs *some = claim_jobs(d.consumer, 2, 0);
    assert_ok(report_job(d.consumer, &some->items[0], TKL_OUTCOME_DONE, NULL, 0));
    assert_ok(report_job(d.consumer, &some->items[1], TKL_OUTCOME_FAILED, "no", 0));
    tkl_jobs_free(some);
    tkl_queue_reason dead = first_cause(d.queue, pushed[2].id, TKL_QUEUE_CAUSE_FLOW_DEAD);
    assert_int_equal(dead.used, 1);
    assert_string_equal(dead.id, pushed[1].id);
    assert_causes(d.queue, pushed[1].id, "dead");
    assert_text_of(d.queue, pushed[1].id, "no");
    one_queue_close(&d);
}

/* The largest flow of one job, whose children are far before it. */
static void a_job_that_waits_for_a_thousand(void **state)
{
    enum { CHILDREN = 999 };
    static tkl_push jobs[CHILDREN + 1];
    static size_t after[CHILDREN];
    tkl_pushed pushed[CHILDREN + 1];
    one_queue d = one_queue_open(state);
    for (size_t i = 0; i < CHILDREN; i++)
        after[i] = i;
    jobs[CHILDREN] = (tkl_push){.after = after, .after_count = CHILDREN};
    assert_ok(tkl_queue_push(d.queue, jobs, CHILDREN + 1, NULL, pushed));
    tkl_queue_reasons *reasons = why(d.queue, pushed[CHILDREN].id);
    assert_int_equal(reasons->count, 5);
    assert_int_equal(reasons->items[0].used, CHILDREN);
    tkl_queue_reasons_free(reasons);
    tkl_jobs *first = claim_jobs(d.consumer, 1, 0), *some;
    while (tkl_consumer_claim(d.consumer, 1000, 0, &some) == TKL_OK) {
        finish_all(d.consumer, some);
        tkl_jobs_free(some);
    }
    tkl_queue_reason last = first_cause(d.queue, pushed[CHILDREN].id, TKL_QUEUE_CAUSE_FLOW);
    assert_int_equal(last.used, 1);
    assert_string_equal(last.id, pushed[0].id);
    tkl_jobs_free(first);
    one_queue_close(&d);
}

static void a_job_that_runs(void **state)
{
    one_queue d = one_queue_open(state);
    char text[128], host[65] = "";
    push_words(d.queue, "a");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    tkl_queue_reason runs = first_cause(d.queue, jobs->items[0].id, TKL_QUEUE_CAUSE_RUNS);
    assert_in_range(runs.time_ms, jobs->items[0].pushed_ms, jobs->items[0].pushed_ms + LONG_MS);
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "%s:%d", host, getpid());
    assert_text_of(d.queue, jobs->items[0].id, text);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

static int64_t ready_jobs(tkl_queue *queue)
{
    tkl_queue_stats stats;
    assert_ok(tkl_queue_stats_get(queue, &stats));
    return stats.ready;
}

/* The next claim gets it, so it counts as ready, before the jobs behind it. */
static void a_job_whose_lease_has_ended(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_consumer *crashed;
    const tkl_consumer_options options = {.lease_ms = 100, .no_renewal = true};
    assert_ok(tkl_consumer_open(&d.queue, 1, &options, &crashed));
    push_words(d.queue, "a b");
    assert_ok(tkl_queue_limits_set(d.queue, &(tkl_queue_limits){.concurrency = 1}));
    tkl_jobs *jobs = claim_jobs(crashed, 1, 0);
    const char *id = jobs->items[0].id;
    assert_causes(d.queue, NULL, "concurrency,busy");
    eventually(ready_jobs(d.queue) == 2, LONG_MS);
    tkl_queue_reasons *reasons = why(d.queue, NULL);
    assert_string_equal(reasons->id, id);
    assert_int_equal(reasons->state, TKL_JOB_STATE_READY);
    tkl_queue_reasons_free(reasons);
    assert_causes(d.queue, id, "no worker");
    tkl_jobs *again = claim_jobs(d.consumer, 1, 0);
    assert_string_equal(again->items[0].id, id);
    tkl_jobs_free(again);
    tkl_jobs_free(jobs);
    tkl_consumer_close(crashed);
    one_queue_close(&d);
}

/* With partitions the job that is ready counts, wherever it is. */
static void partitions_are_asked_together(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "wide", 8);
    char later[TKL_JOB_ID_SIZE], ready[TKL_JOB_ID_SIZE];
    push_job(queue, &(tkl_push){.delay_ms = HOUR_MS}, later);
    assert_causes(queue, NULL, "delayed");
    push_job(queue, &(tkl_push){.payload = tkl_str("a")}, ready);
    tkl_queue_reasons *reasons = why(queue, NULL);
    assert_string_equal(reasons->id, ready);
    assert_int_equal(reasons->state, TKL_JOB_STATE_READY);
    tkl_queue_reasons_free(reasons);
    assert_causes(queue, later, "delayed");
    assert_ok(tkl_queue_drop(queue));
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_waits_in_an_empty_queue),
        TEST(a_paused_queue_without_workers),
        TEST(workers_that_are_busy_and_one_that_waits),
        TEST(limits_of_the_queue),
        TEST(limits_of_a_group),
        TEST(delays_and_retries),
        TEST(jobs_of_a_flow),
        TEST(a_job_that_waits_for_a_thousand),
        TEST(a_job_that_runs),
        TEST(a_job_whose_lease_has_ended),
        TEST(partitions_are_asked_together),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
