/* SPDX-License-Identifier: MIT
 *
 * Limits of claims: how many jobs of a group or of a queue run at once, and how many start in a
 * time. Other jobs pass the jobs that must wait, and these start as soon as they may.
 *
 * ctest: label threads
 */
#include "support/work.h"

/* ---- Groups -------------------------------------------------------------- */

static void groups_without_limits_are_not_held_up(void **state)
{
    fixture *f = *state;
    claimed jobs[4];
    for (int i = 0; i < 4; i++)
        push_group("g", "x");
    assert_int_equal(claim_some(consumer, 10, jobs), 4);
    assert_int_equal(call_int(f->client, "HGET", "tackle:queue:{work}:groups", "g", NULL), 4);
    for (int i = 0; i < 4; i++)
        finish_job(queue, &jobs[i], (tkl_outcome)(i % 2 ? TKL_OUTCOME_DONE : TKL_OUTCOME_DEAD));
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    assert_no_garbage(f->server);
}

static void a_group_is_worked_on_by_so_many_at_once(void **state)
{
    fixture *f = *state;
    claimed jobs[8];
    limit(&(tkl_queue_limits){.group_concurrency = 2});
    for (int i = 0; i < 5; i++) {
        push_group("a", "a");
        push_group("b", "b");
    }
    assert_int_equal(claim_some(consumer, 8, jobs), 4);
    assert_nothing_ready(consumer);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.active, 4);
    assert_int_equal(s.held + s.ready, 6);
    for (int i = 0; i < 4; i++)
        finish_job(queue, &jobs[i], TKL_OUTCOME_DONE);
    assert_int_equal(claim_some(consumer, 8, jobs), 4);
    for (int i = 0; i < 4; i++)
        finish_job(queue, &jobs[i], TKL_OUTCOME_DONE);
    assert_claims(consumer, queue, "a b");
    assert_no_garbage(f->server);
}

static void others_are_served_past_a_group_that_must_wait(void **state)
{
    (void)state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    for (int i = 0; i < 400; i++)
        push_group("big", "big");
    push_text(queue, "plain");
    push_group("small", "small");
    claimed first = claim_one(consumer);
    assert_string_equal(first.payload, "big");
    assert_claims(consumer, queue, "plain small");
    assert_nothing_ready(consumer);
    assert_int_equal(stats_of(queue).held, 399);
    finish_job(queue, &first, TKL_OUTCOME_DONE);
    assert_claims(consumer, queue, "big");
}

static void a_group_keeps_its_order_through_failures(void **state)
{
    fixture *f = *state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    push_group("g", "1");
    push_group("g", "2");
    push_group("g", "3");
    claimed first = claim_one(consumer);
    fail_for(queue, &first, 1000000);
    assert_nothing_ready(consumer); /* 2 waits for the retry of 1 */
    make_job_due(f, first.id);
    first = claim_one(consumer);
    assert_string_equal(first.payload, "1");
    finish_job(queue, &first, TKL_OUTCOME_RELEASED);
    first = claim_one(consumer);
    assert_string_equal(first.payload, "1");
    end_lease(f, &first);
    first = claim_one(consumer);
    assert_string_equal(first.payload, "1");
    assert_nothing_ready(consumer);
    assert_ok(
        tkl_queue_finish(queue, first.id, first.token, TKL_OUTCOME_RELEASED, tkl_str(""), 10));
    push_group("g", "4");
    eventually(claim_some(consumer, 1, &first) == 1, 10000);
    assert_string_equal(first.payload, "1");
    finish_job(queue, &first, TKL_OUTCOME_DEAD); /* dead letters hold up nobody */
    assert_claims(consumer, queue, "2 3 4");
    assert_ok(tkl_queue_retry(queue, NULL, NULL));
    assert_claims(consumer, queue, "1");
    assert_no_garbage(f->server);
}

static void priorities_count_within_a_group(void **state)
{
    (void)state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    static const struct {
        int priority;
        const char *payload;
    } jobs[] = {{0, "first"}, {5, "late"}, {0, "b"}, {-5, "a"}, {0, "c"}};
    for (size_t i = 0; i < 5; i++) {
        push_one(queue, &(tkl_push){.payload = tkl_str(jobs[i].payload),
                                    .group = tkl_str("g"),
                                    .priority = jobs[i].priority});
        if (i == 0)
            continue;
    }
    assert_claims(consumer, queue, "a first b c late");
}

static void groups_are_told_apart_by_every_byte(void **state)
{
    fixture *f = *state;
    claimed jobs[ODD_KEYS + 1];
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < ODD_KEYS; i++)
            push_one(queue, &(tkl_push){.payload = tkl_str("x"), .group = odd_keys[i]});
    for (int round = 0; round < 3; round++) {
        assert_int_equal(claim_some(consumer, ODD_KEYS + 1, jobs), ODD_KEYS);
        assert_nothing_ready(consumer);
        for (int i = 0; i < ODD_KEYS; i++)
            finish_job(queue, &jobs[i], TKL_OUTCOME_DONE);
    }
    assert_no_garbage(f->server);
}

/* The other jobs of a group start, whatever happens to a job that has a place or is parked. */
static void nobody_of_a_group_is_stuck(void **state)
{
    fixture *f = *state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    job_id ids[6];
    for (int i = 0; i < 6; i++) {
        char payload[2] = {(char)('0' + i), '\0'};
        ids[i] = push_group("g", payload);
    }
    claimed job = claim_one(consumer);
    assert_nothing_ready(consumer);
    assert_ok(tkl_queue_cancel(queue, job.id)); /* active: 1 is let in */
    assert_ok(tkl_queue_cancel(queue, ids[1].text));
    assert_ok(tkl_queue_cancel(queue, ids[3].text)); /* parked */
    job = claim_one(consumer);
    assert_string_equal(job.payload, "2");
    fail_for(queue, &job, 1000000);
    assert_nothing_ready(consumer);
    assert_ok(tkl_queue_cancel(queue, job.id)); /* waits for its retry */
    assert_claims(consumer, queue, "4 5");
    assert_no_garbage(f->server);
}

static void parked_jobs_are_shown_and_drained(void **state)
{
    fixture *f = *state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    job_id ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = push_group("g", "x");
    claimed job = claim_one(consumer);
    assert_nothing_ready(consumer);
    assert_int_equal(state_of(queue, ids[0].text), TKL_JOB_STATE_ACTIVE);
    assert_int_equal(state_of(queue, ids[1].text), TKL_JOB_STATE_HELD);
    tkl_listing *l;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_HELD, 0, 10, 0, &l));
    assert_int_equal(l->count, 2);
    assert_string_equal(l->items[0].id, ids[1].text);
    assert_string_equal(l->items[1].id, ids[2].text);
    tkl_listing_free(l);
    assert_int_equal(stats_of(queue).held, 2);
    int64_t count;
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, 2);
    finish_job(queue, &job, TKL_OUTCOME_DONE);
    assert_no_garbage(f->server);
}

static void a_raised_limit_lets_in_those_parked(void **state)
{
    fixture *f = *state;
    claimed jobs[10];
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    for (int i = 0; i < 6; i++)
        push_group("g", "x");
    assert_int_equal(claim_some(consumer, 10, jobs), 1);
    limit(&(tkl_queue_limits){.group_concurrency = 3});
    assert_int_equal(claim_some(consumer, 10, jobs + 1), 2);
    limit(&(tkl_queue_limits){0});
    assert_int_equal(claim_some(consumer, 10, jobs + 3), 3);
    for (int i = 0; i < 6; i++)
        finish_job(queue, &jobs[i], TKL_OUTCOME_DONE);
    assert_no_garbage(f->server);
}

static void a_lowered_limit_holds_for_what_is_claimed_from_then_on(void **state)
{
    fixture *f = *state;
    claimed jobs[10];
    for (int i = 0; i < 6; i++)
        push_group("g", "x");
    assert_int_equal(claim_some(consumer, 4, jobs), 4);
    limit(&(tkl_queue_limits){.group_concurrency = 2});
    assert_nothing_ready(consumer);
    for (int i = 0; i < 2; i++) {
        finish_job(queue, &jobs[i], TKL_OUTCOME_DONE);
        assert_nothing_ready(consumer); /* still two of them */
    }
    finish_job(queue, &jobs[2], TKL_OUTCOME_DONE);
    jobs[2] = claim_one(consumer);
    assert_nothing_ready(consumer);
    finish_job(queue, &jobs[2], TKL_OUTCOME_DONE);
    finish_job(queue, &jobs[3], TKL_OUTCOME_DONE);
    assert_claims(consumer, queue, "x");
    assert_no_garbage(f->server);
}

static void many_parked_come_back_in_steps(void **state)
{
    (void)state;
    enum { N = 1000 };
    static tkl_push jobs[N];
    static claimed taken[N];
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    for (int i = 0; i < N; i++)
        jobs[i] = (tkl_push){.payload = tkl_str("x"), .group = tkl_str(i % 2 ? "odd" : "even")};
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    assert_int_equal(claim_some(consumer, 2, taken), 2);
    assert_nothing_ready(consumer);
    assert_int_equal(stats_of(queue).held, N - 2);
    limit(&(tkl_queue_limits){0});
    assert_int_equal(stats_of(queue).ready, N - 2);
    size_t count = 2;
    for (int i = 0; i < 10 && count < N; i++) /* a claim looks at some hundred of a group */
        count += claim_some(consumer, N - count, taken + count);
    assert_int_equal(count, N);
}

typedef struct waiter {
    tkl_consumer *consumer;
    int result;
    claimed job;
} waiter;

static void wait_for_a_job(void *arg, int index)
{
    waiter *w = (waiter *)arg + index;
    tkl_jobs *jobs;
    w->result = tkl_consumer_claim(w->consumer, 1, 20000, &jobs);
    if (w->result == TKL_OK) {
        memcpy(w->job.id, jobs->items[0].id, sizeof w->job.id);
        memcpy(w->job.token, jobs->items[0].token, sizeof w->job.token);
        snprintf(w->job.payload, sizeof w->job.payload, "%.*s", (int)jobs->items[0].payload.len,
                 jobs->items[0].payload.data);
    }
    tkl_jobs_free(jobs);
}

static void one_who_waits_gets_the_next_of_a_group(void **state)
{
    (void)state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    push_group("g", "1");
    push_group("g", "2");
    claimed first = claim_one(consumer);
    waiter w = {.consumer = open_claimer(queue, 0)};
    crew *threads = crew_start(1, wait_for_a_job, &w);
    eventually(stats_of(queue).waiters == 1, 20000);
    finish_job(queue, &first, TKL_OUTCOME_DONE);
    crew_join(threads);
    assert_ok(w.result);
    assert_string_equal(w.job.payload, "2");
    tkl_consumer_close(w.consumer);
}

static void one_who_waits_gets_on_when_a_limit_is_raised(void **state)
{
    (void)state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    push_group("g", "1");
    push_group("g", "2");
    claim_one(consumer);
    waiter w = {.consumer = open_claimer(queue, 0)};
    crew *threads = crew_start(1, wait_for_a_job, &w);
    eventually(stats_of(queue).waiters == 1, 20000);
    limit(&(tkl_queue_limits){.group_concurrency = 2});
    crew_join(threads);
    assert_ok(w.result);
    assert_string_equal(w.job.payload, "2");
    tkl_consumer_close(w.consumer);
}

/* Operators make jobs ready, too: a waiter gets them. */
static void one_who_waits_gets_what_operators_let_go(void **state)
{
    (void)state;
    enum { CANCEL_ACTIVE, CANCEL_CHILD, RETRY, RETRY_ALL, CASES };
    static const size_t child[] = {0};
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    for (int i = 0; i < CASES; i++) {
        tkl_push jobs[] = {
            {.payload = tkl_str("first"), .group = tkl_str("g")},
            {.payload = tkl_str("next"), .group = tkl_str("g")},
            {.payload = tkl_str("next"), .after = child, .after_count = 1},
        };
        jobs[1] = i == CANCEL_CHILD ? jobs[2] : jobs[1];
        assert_ok(tkl_queue_push(queue, jobs, i < RETRY ? 2 : 1, NULL, NULL));
        claimed first = claim_one(consumer);
        if (i >= RETRY)
            finish_job(queue, &first, TKL_OUTCOME_DEAD);
        waiter w = {.consumer = open_claimer(queue, 0)};
        crew *threads = crew_start(1, wait_for_a_job, &w);
        eventually(stats_of(queue).waiters == 1, 20000);
        if (i < RETRY)
            assert_ok(tkl_queue_cancel(queue, first.id));
        else
            assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = i == RETRY ? first.id : NULL},
                                      NULL));
        crew_join(threads);
        assert_ok(w.result);
        assert_string_equal(w.job.payload, i < RETRY ? "next" : "first");
        finish_job(queue, &w.job, TKL_OUTCOME_DONE);
        tkl_consumer_close(w.consumer);
    }
}

static void many_of_a_group_are_passed(void **state)
{
    (void)state;
    enum { N = 3500 };
    static tkl_push jobs[N];
    for (int i = 0; i < N; i++)
        jobs[i] = (tkl_push){.payload = tkl_str("x"), .group = tkl_str("g")};
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    push_text(queue, "plain");
    claimed first = claim_one(consumer);
    assert_claims(consumer, queue, "plain");
    assert_int_equal(stats_of(queue).held, N - 1);
    finish_job(queue, &first, TKL_OUTCOME_DONE);
    assert_claims(consumer, queue, "x x x");
    assert_int_equal(stats_of(queue).held, N - 5);
}

/* ---- Rates --------------------------------------------------------------- */

/* A group's rate holds whatever was pushed before, and for each group on its own. */
static void a_group_starts_so_many_in_a_time(void **state)
{
    fixture *f = *state;
    claimed jobs[10];
    limit(&(tkl_queue_limits){.group_rate = 2, .group_rate_period_ms = 3600000});
    for (int i = 0; i < 4; i++) {
        push_group("a", "a");
        push_group("b", "b");
    }
    push_text(queue, "plain");
    assert_int_equal(claim_some(consumer, 10, jobs), 5);
    assert_nothing_ready(consumer);
    for (int i = 0; i < 5; i++)
        finish_job(queue, &jobs[i], TKL_OUTCOME_DONE);
    assert_nothing_ready(consumer);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.held, 4);
    assert_int_equal(s.delayed, 0);
    assert_int_equal(s.ready, 0);
    limit(&(tkl_queue_limits){0});
    assert_claims(consumer, queue, "a b a b");
    make_job_due(f, "group:a");
    make_job_due(f, "group:b");
    assert_nothing_ready(consumer);
    assert_no_garbage(f->server);
}

static void those_held_by_a_rate_start_in_time(void **state)
{
    fixture *f = *state;
    enum { N = 6, PERIOD = 300 };
    claimed jobs[N];
    limit(&(tkl_queue_limits){.group_rate = 2, .group_rate_period_ms = PERIOD});
    for (int i = 0; i < N; i++) {
        char payload[2] = {(char)('0' + i), '\0'};
        push_group("g", payload);
    }
    int64_t start = test_now_ms();
    size_t got = 0;
    while (got < N) {
        tkl_jobs *list;
        assert_ok(tkl_consumer_claim(consumer, N, 20000, &list));
        for (size_t i = 0; i < list->count; i++, got++) {
            const tkl_job *job = &list->items[i];
            assert_int_equal(job->payload.data[0], '0' + (int)got);
            assert_ok(
                tkl_queue_finish(queue, job->id, job->token, TKL_OUTCOME_DONE, tkl_str(""), 0));
        }
        tkl_jobs_free(list);
    }
    (void)jobs;
    /* two at once, then one each half period */
    assert_true(test_now_ms() - start >= 4 * PERIOD / 2 - 10);
    eventually(call_int(f->client, "EXISTS", "tackle:queue:{work}:rates", NULL) == 0, 10000);
    assert_nothing_ready(consumer);
    assert_no_garbage(f->server);
}

static void a_queue_gives_so_many_in_a_time(void **state)
{
    (void)state;
    claimed jobs[10];
    limit(&(tkl_queue_limits){.rate = 3, .rate_period_ms = 3600000});
    for (int i = 0; i < 8; i++)
        push_text(queue, "x");
    assert_int_equal(claim_some(consumer, 10, jobs), 3);
    assert_nothing_ready(consumer);
    limit(&(tkl_queue_limits){.rate = 3, .rate_period_ms = 3600000, .dead_max = 5});
    assert_nothing_ready(consumer);
    limit(&(tkl_queue_limits){.rate = 4, .rate_period_ms = 3600000}); /* starts over */
    assert_int_equal(claim_some(consumer, 10, jobs), 4);
    limit(&(tkl_queue_limits){0});
    assert_int_equal(claim_some(consumer, 10, jobs), 1);
}

static void one_who_waits_is_served_when_the_rate_allows(void **state)
{
    (void)state;
    enum { PERIOD = 400 };
    waiter w = {.consumer = open_claimer(queue, 0)};
    limit(&(tkl_queue_limits){.rate = 1, .rate_period_ms = PERIOD});
    push_text(queue, "1");
    assert_claims(consumer, queue, "1");
    crew *threads = crew_start(1, wait_for_a_job, &w);
    push_text(queue, "2");
    crew_join(threads);
    assert_ok(w.result);
    tkl_consumer_close(w.consumer);
}

static void one_who_waits_since_before_the_rate_was_used_up_is_served(void **state)
{
    (void)state;
    enum { PERIOD = 500 };
    waiter w[2] = {{.consumer = open_claimer(queue, 0)}, {.consumer = open_claimer(queue, 0)}};
    limit(&(tkl_queue_limits){.rate = 1, .rate_period_ms = PERIOD});
    crew *threads = crew_start(2, wait_for_a_job, w);
    eventually(stats_of(queue).waiters == 2, 20000);
    push_text(queue, "1");
    push_text(queue, "2");
    crew_join(threads);
    for (int i = 0; i < 2; i++) {
        assert_ok(w[i].result);
        tkl_consumer_close(w[i].consumer);
    }
}

static void so_many_jobs_are_claimed_at_once(void **state)
{
    fixture *f = *state;
    claimed jobs[10];
    limit(&(tkl_queue_limits){.concurrency = 2});
    for (int i = 0; i < 5; i++)
        push_text(queue, "x");
    assert_int_equal(claim_some(consumer, 10, jobs), 2);
    assert_nothing_ready(consumer);
    finish_job(queue, &jobs[0], TKL_OUTCOME_DONE);
    assert_int_equal(claim_some(consumer, 10, jobs), 1);
    finish_job(queue, &jobs[1], TKL_OUTCOME_RELEASED);
    finish_job(queue, &jobs[0], TKL_OUTCOME_DONE);
    assert_claims(consumer, queue, "x x x");
    assert_no_garbage(f->server);
}

static void one_who_waits_is_served_when_another_is_done(void **state)
{
    (void)state;
    limit(&(tkl_queue_limits){.concurrency = 1});
    push_text(queue, "1");
    push_text(queue, "2");
    claimed first = claim_one(consumer);
    waiter w = {.consumer = open_claimer(queue, 0)};
    crew *threads = crew_start(1, wait_for_a_job, &w);
    eventually(stats_of(queue).waiters == 1, 20000);
    finish_job(queue, &first, TKL_OUTCOME_DONE);
    crew_join(threads);
    assert_ok(w.result);
    assert_string_equal(w.job.payload, "2");
    tkl_consumer_close(w.consumer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(groups_without_limits_are_not_held_up),
        WORK_TEST(a_group_is_worked_on_by_so_many_at_once),
        WORK_TEST(others_are_served_past_a_group_that_must_wait),
        WORK_TEST(a_group_keeps_its_order_through_failures),
        WORK_TEST(priorities_count_within_a_group),
        WORK_TEST(groups_are_told_apart_by_every_byte),
        WORK_TEST(nobody_of_a_group_is_stuck),
        WORK_TEST(parked_jobs_are_shown_and_drained),
        WORK_TEST(a_raised_limit_lets_in_those_parked),
        WORK_TEST(a_lowered_limit_holds_for_what_is_claimed_from_then_on),
        WORK_TEST(many_parked_come_back_in_steps),
        WORK_TEST(one_who_waits_gets_the_next_of_a_group),
        WORK_TEST(one_who_waits_gets_on_when_a_limit_is_raised),
        WORK_TEST(one_who_waits_gets_what_operators_let_go),
        WORK_TEST(many_of_a_group_are_passed),
        WORK_TEST(a_group_starts_so_many_in_a_time),
        WORK_TEST(those_held_by_a_rate_start_in_time),
        WORK_TEST(a_queue_gives_so_many_in_a_time),
        WORK_TEST(one_who_waits_is_served_when_the_rate_allows),
        WORK_TEST(one_who_waits_since_before_the_rate_was_used_up_is_served),
        WORK_TEST(so_many_jobs_are_claimed_at_once),
        WORK_TEST(one_who_waits_is_served_when_another_is_done),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
