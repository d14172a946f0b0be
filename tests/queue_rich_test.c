/* SPDX-License-Identifier: MIT
 *
 * Unique jobs, groups, limits at the claim, flows, results.
 *
 * ctest: label threads
 * ctest: timeout 120
 */
#include <tackle/queue.h>

#include "support/fixture.h"
#include "support/jobs.h"

static tkl_queue *queue;
static tkl_consumer *consumer;

static int fresh(void **state)
{
    fixture_fresh(state);
    fixture *f = *state;
    queue = open_queue(f->client, "work", 0);
    consumer = open_claimer(queue, 0);
    return 0;
}

static int done(void **state)
{
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    return fixture_done(state);
}

static void limit(const tkl_queue_limits *limits)
{
    assert_ok(tkl_queue_limit(queue, limits));
}

/* Makes a delayed job due now. */
static void make_due(fixture *f, const char *member)
{
    assert_int_equal(call_int(f->client, "ZADD", "tackle:queue:{work}:d", "XX", "CH",
                              "1600000000000", member, NULL),
                     1);
}

/* Ends the lease of a claim. */
static void end_lease(fixture *f, const claimed *job)
{
    char *member = test_format("%s%s", job->id, job->token);
    assert_int_equal(
        call_int(f->client, "ZADD", "tackle:queue:{work}:a", "XX", "CH", "1000", member, NULL), 1);
    free(member);
}

/* ---- Unique jobs --------------------------------------------------------- */

/* Keys of all kinds of bytes. */
static const tkl_bytes odd_keys[] = {
    {"plain", 5}, {"\0", 1}, {"\0\0", 2}, {"\xff", 1}, {"{a}", 3}, {"}{", 2}, {"a\nb", 3}, {" ", 1},
};
enum { ODD_KEYS = sizeof odd_keys / sizeof *odd_keys };

static void unique_until(tkl_unique_mode mode, tkl_push *job, tkl_bytes key)
{
    *job = (tkl_push){
        .payload = tkl_str("x"), .unique = key, .unique_mode = mode, .unique_ms = 3600000};
}

static void each_key_is_a_key_of_its_own(void **state)
{
    fixture *f = *state;
    job_id ids[ODD_KEYS], again;
    tkl_push job;
    for (int i = 0; i < ODD_KEYS; i++) {
        unique_until(TKL_UNTIL_FINISHED, &job, odd_keys[i]);
        ids[i] = push_one(queue, &job);
    }
    for (int i = 0; i < ODD_KEYS; i++) {
        unique_until((tkl_unique_mode)(i % 3), &job, odd_keys[i]);
        assert_code(push_code(queue, &job, &again), TKL_EXISTS);
        assert_string_equal(again.text, ids[i].text);
    }
    assert_int_equal(stats_of(queue).ready, ODD_KEYS);
    assert_int_equal(stats_of(queue).pushed, ODD_KEYS);
    assert_claims(consumer, queue, "x x x x x x x x");
    assert_no_garbage(f->server);
}

/* What ends the job, and whether another one may come then, in each of the modes. */
static void a_key_is_free_when_its_mode_says(void **state)
{
    fixture *f = *state;
    enum { CLAIMED, DONE, FAILED, RELEASED, DEAD, CANCELLED, DRAINED };
    static const struct {
        int what;
        tkl_unique_mode mode;
        int code;
    } cases[] = {
        {CLAIMED, TKL_UNTIL_FINISHED, TKL_EXISTS}, {CLAIMED, TKL_UNTIL_STARTED, TKL_OK},
        {CLAIMED, TKL_FOR_A_TIME, TKL_EXISTS},     {DONE, TKL_UNTIL_FINISHED, TKL_OK},
        {DONE, TKL_UNTIL_STARTED, TKL_OK},         {DONE, TKL_FOR_A_TIME, TKL_EXISTS},
        {FAILED, TKL_UNTIL_FINISHED, TKL_EXISTS},  {FAILED, TKL_UNTIL_STARTED, TKL_OK},
        {FAILED, TKL_FOR_A_TIME, TKL_EXISTS},      {RELEASED, TKL_UNTIL_FINISHED, TKL_EXISTS},
        {RELEASED, TKL_UNTIL_STARTED, TKL_OK},     {RELEASED, TKL_FOR_A_TIME, TKL_EXISTS},
        {DEAD, TKL_UNTIL_FINISHED, TKL_OK},        {DEAD, TKL_UNTIL_STARTED, TKL_OK},
        {DEAD, TKL_FOR_A_TIME, TKL_EXISTS},        {CANCELLED, TKL_UNTIL_FINISHED, TKL_OK},
        {CANCELLED, TKL_UNTIL_STARTED, TKL_OK},    {CANCELLED, TKL_FOR_A_TIME, TKL_EXISTS},
        {DRAINED, TKL_UNTIL_FINISHED, TKL_OK},     {DRAINED, TKL_UNTIL_STARTED, TKL_OK},
        {DRAINED, TKL_FOR_A_TIME, TKL_EXISTS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_push job;
        server_do(f->server, "FLUSHALL");
        unique_until(cases[i].mode, &job, odd_keys[i % ODD_KEYS]);
        job_id id = push_one(queue, &job);
        if (cases[i].what == CANCELLED)
            assert_ok(tkl_queue_cancel(queue, id.text));
        else if (cases[i].what == DRAINED)
            assert_ok(tkl_queue_drain(queue, NULL));
        else {
            claimed c = claim_one(consumer);
            if (cases[i].what == FAILED)
                fail_for(queue, &c, 100000);
            else if (cases[i].what != CLAIMED)
                finish_job(queue, &c,
                           cases[i].what == DONE       ? TKL_JOB_DONE
                           : cases[i].what == RELEASED ? TKL_JOB_RELEASED
                                                       : TKL_JOB_DEAD);
        }
        int code = push_code(queue, &job, NULL);
        if (code != cases[i].code)
            fail_msg("case %zu: %s", i, tkl_codename(code));
    }
}

static void a_key_for_a_time_is_free_after_it(void **state)
{
    fixture *f = *state;
    tkl_push job = {.payload = tkl_str("x"),
                    .unique = tkl_str("k"),
                    .unique_mode = TKL_FOR_A_TIME,
                    .unique_ms = 40};
    job_id first = push_one(queue, &job), second;
    eventually(push_code(queue, &job, &second) == TKL_OK, 10000);
    assert_string_not_equal(first.text, second.text);
    assert_claims(consumer, queue, "x x");
    job.unique = tkl_str("other"); /* pushing clears away what is over */
    eventually(push_code(queue, &job, NULL) == TKL_OK &&
                   call_int(f->client, "HLEN", "tackle:queue:{work}:u", NULL) == 1,
               10000);
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:queue:{work}:v", NULL), 1);
}

static void a_job_that_comes_back_does_not_take_its_key_from_another(void **state)
{
    fixture *f = *state;
    tkl_push job;
    unique_until(TKL_UNTIL_STARTED, &job, tkl_str("k"));
    push_one(queue, &job);
    claimed first = claim_one(consumer);
    job_id second = push_one(queue, &job), found;
    finish_job(queue, &first, TKL_JOB_RELEASED);
    claimed again = claim_one(consumer);
    assert_string_equal(again.id, first.id);
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_string_equal(found.text, second.text);
    finish_job(queue, &again, TKL_JOB_DONE);
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_claims(consumer, queue, "x");
    assert_no_garbage(f->server);
}

static void a_retried_dead_letter_takes_its_key_if_it_is_free(void **state)
{
    fixture *f = *state;
    tkl_push job;
    unique_until(TKL_UNTIL_FINISHED, &job, tkl_str("k"));
    push_one(queue, &job);
    claimed dead = claim_one(consumer);
    finish_job(queue, &dead, TKL_JOB_DEAD);
    assert_ok(tkl_queue_retry(queue, dead.id, NULL));
    job_id found;
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_string_equal(found.text, dead.id);

    dead = claim_one(consumer);
    finish_job(queue, &dead, TKL_JOB_DEAD);
    job_id other = push_one(queue, &job);
    assert_ok(tkl_queue_retry(queue, NULL, NULL));
    claimed first = claim_one(consumer); /* the retried one is older */
    assert_string_equal(first.id, dead.id);
    finish_job(queue, &first, TKL_JOB_DONE);
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_string_equal(found.text, other.text);
    assert_claims(consumer, queue, "x");
    assert_no_garbage(f->server);
}

static void of_equals_in_one_push_the_first_counts(void **state)
{
    (void)state;
    tkl_push jobs[3];
    tkl_pushed pushed[3];
    for (int i = 0; i < 3; i++)
        unique_until(TKL_UNTIL_FINISHED, &jobs[i], tkl_str(i == 1 ? "other" : "same"));
    assert_ok(tkl_queue_push(queue, jobs, 3, NULL, pushed));
    assert_ok(pushed[0].code);
    assert_ok(pushed[1].code);
    assert_code(pushed[2].code, TKL_EXISTS);
    assert_string_equal(pushed[2].id, pushed[0].id);
    assert_int_equal(stats_of(queue).ready, 2);
}

static void a_repeated_request_answers_the_same(void **state)
{
    (void)state;
    tkl_push jobs[2];
    tkl_pushed first[2], second[2];
    unique_until(TKL_UNTIL_FINISHED, &jobs[0], tkl_str("k"));
    unique_until(TKL_UNTIL_FINISHED, &jobs[1], tkl_str("k"));
    const tkl_push_options request = {.request = tkl_str("request 1")};
    assert_ok(tkl_queue_push(queue, jobs, 2, &request, first));
    assert_claims(consumer, queue, "x");
    assert_ok(tkl_queue_push(queue, jobs, 2, &request, second));
    for (int i = 0; i < 2; i++) {
        assert_code(second[i].code, first[i].code);
        assert_string_equal(second[i].id, first[i].id);
    }
    assert_nothing_ready(consumer);
}

static void unique_jobs_are_refused_by_a_full_queue(void **state)
{
    (void)state;
    tkl_push job;
    limit(&(tkl_queue_limits){.max_jobs = 1});
    unique_until(TKL_UNTIL_FINISHED, &job, tkl_str("a"));
    push_one(queue, &job);
    assert_code(push_code(queue, &job, NULL), TKL_EXISTS);
    unique_until(TKL_UNTIL_FINISHED, &job, tkl_str("b"));
    assert_code(push_code(queue, &job, NULL), TKL_FULL);
    assert_claims(consumer, queue, "x");
    push_one(queue, &job);
}

/* ---- Groups -------------------------------------------------------------- */

static job_id push_group(const char *group, const char *payload)
{
    return push_one(queue, &(tkl_push){.payload = tkl_str(payload), .group = tkl_str(group)});
}

static void groups_without_limits_are_not_held_up(void **state)
{
    fixture *f = *state;
    claimed jobs[4];
    for (int i = 0; i < 4; i++)
        push_group("g", "x");
    assert_int_equal(claim_some(consumer, 10, jobs), 4);
    assert_int_equal(call_int(f->client, "HGET", "tackle:queue:{work}:g", "g", NULL), 4);
    for (int i = 0; i < 4; i++)
        finish_job(queue, &jobs[i], (tkl_outcome)(i % 2 ? TKL_JOB_DONE : TKL_JOB_DEAD));
    assert_ok(tkl_queue_bury_none(queue, NULL));
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
        finish_job(queue, &jobs[i], TKL_JOB_DONE);
    assert_int_equal(claim_some(consumer, 8, jobs), 4);
    for (int i = 0; i < 4; i++)
        finish_job(queue, &jobs[i], TKL_JOB_DONE);
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
    finish_job(queue, &first, TKL_JOB_DONE);
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
    make_due(f, first.id);
    first = claim_one(consumer);
    assert_string_equal(first.payload, "1");
    finish_job(queue, &first, TKL_JOB_RELEASED);
    first = claim_one(consumer);
    assert_string_equal(first.payload, "1");
    end_lease(f, &first);
    first = claim_one(consumer);
    assert_string_equal(first.payload, "1");
    assert_nothing_ready(consumer);
    assert_ok(tkl_queue_finish(queue, first.id, first.token, TKL_JOB_RELEASED, tkl_str(""), 10));
    push_group("g", "4");
    eventually(claim_some(consumer, 1, &first) == 1, 10000);
    assert_string_equal(first.payload, "1");
    finish_job(queue, &first, TKL_JOB_DEAD); /* dead letters hold up nobody */
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
            finish_job(queue, &jobs[i], TKL_JOB_DONE);
    }
    assert_no_garbage(f->server);
}

/* Whatever happens to those that are let in or parked, the others get on. */
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
    assert_int_equal(state_of(queue, ids[0].text), TKL_JOB_ACTIVE);
    assert_int_equal(state_of(queue, ids[1].text), TKL_JOB_HELD);
    tkl_listing *l;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_HELD, 0, 10, &l));
    assert_int_equal(l->count, 2);
    assert_string_equal(l->items[0].id, ids[1].text);
    assert_string_equal(l->items[1].id, ids[2].text);
    tkl_listing_free(l);
    assert_int_equal(stats_of(queue).held, 2);
    int64_t count;
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, 2);
    finish_job(queue, &job, TKL_JOB_DONE);
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
        finish_job(queue, &jobs[i], TKL_JOB_DONE);
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
        finish_job(queue, &jobs[i], TKL_JOB_DONE);
        assert_nothing_ready(consumer); /* still two of them */
    }
    finish_job(queue, &jobs[2], TKL_JOB_DONE);
    jobs[2] = claim_one(consumer);
    assert_nothing_ready(consumer);
    finish_job(queue, &jobs[2], TKL_JOB_DONE);
    finish_job(queue, &jobs[3], TKL_JOB_DONE);
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
    assert_int_equal(claim_some(consumer, N, taken + 2), N - 2);
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
    eventually(stats_of(queue).waiting == 1, 20000);
    finish_job(queue, &first, TKL_JOB_DONE);
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
    eventually(stats_of(queue).waiting == 1, 20000);
    limit(&(tkl_queue_limits){.group_concurrency = 2});
    crew_join(threads);
    assert_ok(w.result);
    assert_string_equal(w.job.payload, "2");
    tkl_consumer_close(w.consumer);
}

/* What operators do makes jobs ready, too: one who waits gets them. */
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
            finish_job(queue, &first, TKL_JOB_DEAD);
        waiter w = {.consumer = open_claimer(queue, 0)};
        crew *threads = crew_start(1, wait_for_a_job, &w);
        eventually(stats_of(queue).waiting == 1, 20000);
        if (i < RETRY)
            assert_ok(tkl_queue_cancel(queue, first.id));
        else
            assert_ok(tkl_queue_retry(queue, i == RETRY ? first.id : NULL, NULL));
        crew_join(threads);
        assert_ok(w.result);
        assert_string_equal(w.job.payload, i < RETRY ? "next" : "first");
        finish_job(queue, &w.job, TKL_JOB_DONE);
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
    finish_job(queue, &first, TKL_JOB_DONE);
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
        finish_job(queue, &jobs[i], TKL_JOB_DONE);
    assert_nothing_ready(consumer);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.held, 4);
    assert_int_equal(s.delayed, 0);
    assert_int_equal(s.ready, 0);
    limit(&(tkl_queue_limits){0});
    assert_claims(consumer, queue, "a b a b");
    make_due(f, "=a");
    make_due(f, "=b");
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
            assert_ok(tkl_queue_finish(queue, job->id, job->token, TKL_JOB_DONE, tkl_str(""), 0));
        }
        tkl_jobs_free(list);
    }
    (void)jobs;
    /* two at once, then one each half period */
    assert_true(test_now_ms() - start >= 4 * PERIOD / 2 - 10);
    eventually(call_int(f->client, "EXISTS", "tackle:queue:{work}:t", NULL) == 0, 10000);
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
    limit(&(tkl_queue_limits){.rate = 4, .rate_period_ms = 3600000}); /* begins anew */
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
    eventually(stats_of(queue).waiting == 2, 20000);
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
    finish_job(queue, &jobs[0], TKL_JOB_DONE);
    assert_int_equal(claim_some(consumer, 10, jobs), 1);
    finish_job(queue, &jobs[1], TKL_JOB_RELEASED);
    finish_job(queue, &jobs[0], TKL_JOB_DONE);
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
    eventually(stats_of(queue).waiting == 1, 20000);
    finish_job(queue, &first, TKL_JOB_DONE);
    crew_join(threads);
    assert_ok(w.result);
    assert_string_equal(w.job.payload, "2");
    tkl_consumer_close(w.consumer);
}

/* ---- Flows --------------------------------------------------------------- */

static void push_flow(tkl_push *jobs, size_t count, tkl_pushed *pushed)
{
    assert_ok(tkl_queue_push(queue, jobs, count, NULL, pushed));
    for (size_t i = 0; i < count; i++)
        assert_ok(pushed[i].code);
}

static void a_parent_runs_after_its_children(void **state)
{
    fixture *f = *state;
    static const size_t both[] = {0, 1}, second[] = {1}, all[] = {0, 2, 3};
    tkl_push jobs[] = {
        {.payload = tkl_str("a")},
        {.payload = tkl_str("b")},
        {.payload = tkl_str("ab"), .after = both, .after_count = 2, .priority = -9},
        {.payload = tkl_str("b2"), .after = second, .after_count = 1},
        {.payload = tkl_str("end"), .after = all, .after_count = 3},
        {.payload = tkl_str("plain")},
    };
    tkl_pushed pushed[6];
    push_flow(jobs, 6, pushed);
    assert_int_equal(stats_of(queue).held, 3);
    assert_int_equal(stats_of(queue).ready, 3);
    assert_int_equal(state_of(queue, pushed[2].id), TKL_JOB_HELD);
    tkl_listing *l;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_HELD, 0, 10, &l));
    assert_int_equal(l->count, 3);
    tkl_listing_free(l);
    claimed a = claim_one(consumer), b = claim_one(consumer);
    assert_string_equal(b.payload, "b");
    finish_job(queue, &b, TKL_JOB_DONE);
    assert_int_equal(state_of(queue, pushed[3].id), TKL_JOB_READY);
    assert_int_equal(state_of(queue, pushed[2].id), TKL_JOB_HELD);
    finish_job(queue, &a, TKL_JOB_DONE);
    assert_claims(consumer, queue, "ab b2 end plain");
    assert_no_garbage(f->server);
}

static void a_failed_child_is_waited_for(void **state)
{
    fixture *f = *state;
    static const size_t child[] = {0};
    tkl_push jobs[] = {{.payload = tkl_str("child")},
                       {.payload = tkl_str("parent"), .after = child, .after_count = 1}};
    tkl_pushed pushed[2];
    push_flow(jobs, 2, pushed);
    claimed c = claim_one(consumer);
    finish_job(queue, &c, TKL_JOB_DEAD);
    assert_nothing_ready(consumer);
    assert_int_equal(state_of(queue, pushed[1].id), TKL_JOB_HELD);
    assert_ok(tkl_queue_retry(queue, c.id, NULL));
    assert_claims(consumer, queue, "child parent");
    assert_no_garbage(f->server);
}

/* What makes a child count as done although it was not. */
static void a_child_that_is_given_up_counts_as_done(void **state)
{
    fixture *f = *state;
    enum { CANCEL_READY, CANCEL_ACTIVE, CANCEL_DEAD, BURY_NONE, TRIM, CASES };
    static const size_t child[] = {0};
    for (int i = 0; i < CASES; i++) {
        tkl_push jobs[] = {{.payload = tkl_str("child")},
                           {.payload = tkl_str("parent"), .after = child, .after_count = 1}};
        tkl_pushed pushed[2];
        push_flow(jobs, 2, pushed);
        if (i != CANCEL_READY) {
            claimed c = claim_one(consumer);
            if (i != CANCEL_ACTIVE)
                finish_job(queue, &c, TKL_JOB_DEAD);
        }
        if (i == BURY_NONE)
            assert_ok(tkl_queue_bury_none(queue, NULL));
        else if (i != TRIM)
            assert_ok(tkl_queue_cancel(queue, pushed[0].id));
        else {
            limit(&(tkl_queue_limits){.dead_max = 1});
            test_sleep_ms(2);
            push_text(queue, "other");
            claimed c = claim_one(consumer);
            finish_job(queue, &c, TKL_JOB_DEAD);
        }
        assert_claims(consumer, queue, "parent");
        assert_nothing_ready(consumer);
        assert_ok(tkl_queue_bury_none(queue, NULL));
        assert_no_garbage(f->server);
    }
}

static void a_cancelled_parent_leaves_its_children_alone(void **state)
{
    fixture *f = *state;
    static const size_t child[] = {0};
    tkl_push jobs[] = {{.payload = tkl_str("child")},
                       {.payload = tkl_str("parent"), .after = child, .after_count = 1}};
    tkl_pushed pushed[2];
    push_flow(jobs, 2, pushed);
    assert_ok(tkl_queue_cancel(queue, pushed[1].id));
    assert_claims(consumer, queue, "child");
    assert_nothing_ready(consumer);
    assert_no_garbage(f->server);
}

static void a_parent_waits_for_its_time_too(void **state)
{
    fixture *f = *state;
    static const size_t child[] = {0};
    tkl_push jobs[] = {
        {.payload = tkl_str("child")},
        {.payload = tkl_str("parent"), .after = child, .after_count = 1, .delay_ms = 1000000}};
    tkl_pushed pushed[2];
    push_flow(jobs, 2, pushed);
    assert_claims(consumer, queue, "child");
    assert_nothing_ready(consumer);
    assert_int_equal(state_of(queue, pushed[1].id), TKL_JOB_DELAYED);
    make_due(f, pushed[1].id);
    assert_claims(consumer, queue, "parent");
    assert_no_garbage(f->server);
}

static void a_flow_can_wait_for_a_unique_job_that_is_there(void **state)
{
    fixture *f = *state;
    static const size_t child[] = {0};
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("child"), .unique = tkl_str("k")});
    tkl_push jobs[] = {{.payload = tkl_str("again"), .unique = tkl_str("k")},
                       {.payload = tkl_str("parent"), .after = child, .after_count = 1}};
    tkl_pushed pushed[2];
    assert_ok(tkl_queue_push(queue, jobs, 2, NULL, pushed));
    assert_code(pushed[0].code, TKL_EXISTS);
    assert_string_equal(pushed[0].id, id.text);
    assert_claims(consumer, queue, "child parent");
    assert_no_garbage(f->server);
}

static void so_many_can_wait_for_one(void **state)
{
    fixture *f = *state;
    enum { N = 500 };
    static tkl_push jobs[N];
    static tkl_pushed pushed[N];
    static const size_t child[] = {0};
    for (int i = 1; i < N; i++)
        jobs[i] = (tkl_push){.payload = tkl_str("parent"), .after = child, .after_count = 1};
    jobs[0] = (tkl_push){.payload = tkl_str("child"), .unique = tkl_str("k")};
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    assert_code(tkl_queue_push(queue, jobs, N, NULL, pushed), TKL_FULL);
    assert_code(pushed[2].code, TKL_OK);
    assert_code(pushed[3].code, TKL_FULL);
    assert_int_equal(stats_of(queue).held, 1000);
    assert_claims(consumer, queue, "child");
    assert_int_equal(stats_of(queue).ready, 1000);
    assert_ok(tkl_queue_drain(queue, NULL));
    assert_no_garbage(f->server);
}

static void flows_must_point_backwards(void **state)
{
    (void)state;
    static const size_t self[] = {1}, later[] = {2};
    const size_t *const bad[] = {self, later};
    for (int i = 0; i < 2; i++) {
        tkl_push jobs[] = {{.payload = tkl_str("a")},
                           {.payload = tkl_str("b"), .after = bad[i], .after_count = 1},
                           {.payload = tkl_str("c")}};
        assert_code(tkl_queue_push(queue, jobs, 3, NULL, NULL), TKL_EINVAL);
    }
    assert_int_equal(stats_of(queue).pushed, 0);
}

static void a_drained_flow_runs_nothing(void **state)
{
    fixture *f = *state;
    enum { N = 700 };
    static tkl_push jobs[N];
    static size_t after[N];
    static tkl_pushed pushed[N];
    for (size_t i = 1; i < N; i++) {
        after[i] = i - 1;
        jobs[i] = (tkl_push){.payload = tkl_str("x"), .after = &after[i], .after_count = 1};
    }
    push_flow(jobs, N, pushed);
    assert_int_equal(stats_of(queue).held, N - 1);
    int64_t count;
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, N);
    assert_nothing_ready(consumer);
    assert_no_garbage(f->server);
}

/* ---- Results ------------------------------------------------------------- */

static void assert_result(const char *id, int64_t wait_ms, int code, const char *text)
{
    tkl_reply *result;
    assert_code(tkl_queue_result(queue, id, wait_ms, &result), code);
    if (text)
        assert_string_equal(tkl_reply_str(result), text);
    else
        assert_null(result);
    tkl_reply_free(result);
}

static job_id push_for_result(int64_t result_ms)
{
    return push_one(queue, &(tkl_push){.payload = tkl_str("x"), .result_ms = result_ms});
}

static void a_result_is_kept_for_its_time(void **state)
{
    fixture *f = *state;
    job_id id = push_for_result(60000);
    assert_result(id.text, 0, TKL_EMPTY, NULL);
    claimed job = claim_one(consumer);
    assert_ok(tkl_queue_finish(queue, job.id, job.token, TKL_JOB_DONE, (tkl_bytes){"4\0 2", 4}, 0));
    tkl_reply *result;
    assert_ok(tkl_queue_result(queue, id.text, 0, &result));
    assert_int_equal(tkl_reply_bytes(result).len, 4);
    assert_memory_equal(tkl_reply_bytes(result).data, "4\0 2", 4);
    tkl_reply_free(result);
    assert_int_equal(state_of(queue, id.text), TKL_JOB_FINISHED);
    char *key = test_format("tackle:queue:{work}:o:%s", id.text);
    assert_in_range(call_int(f->client, "PTTL", key, NULL), 1, 60000);
    assert_int_equal(call_int(f->client, "DEL", key, NULL), 1);
    free(key);
    assert_result(id.text, 0, TKL_NOTFOUND, NULL);
}

static void only_wanted_results_are_kept(void **state)
{
    fixture *f = *state;
    job_id id = push_text(queue, "x");
    assert_result(id.text, 0, TKL_NOTFOUND, NULL);
    assert_claims(consumer, queue, "x");
    assert_result(id.text, 1000, TKL_NOTFOUND, NULL);
    assert_no_garbage(f->server);
}

static void the_end_in_the_dead_letters_is_told(void **state)
{
    (void)state;
    job_id id = push_for_result(60000);
    claimed job = claim_one(consumer);
    fail_for(queue, &job, 1);
    assert_result(id.text, 0, TKL_EMPTY, NULL);
    eventually(claim_some(consumer, 1, &job) == 1, 10000);
    assert_code(finish_code(queue, &job, TKL_JOB_DEAD, "no paper"), TKL_OK);
    assert_result(id.text, 0, TKL_ELOST, "no paper");
}

typedef struct asker {
    char id[TKL_JOB_ID_SIZE];
    int code;
    char text[64];
    size_t len;
} asker;

static void wait_for_result(void *arg, int index)
{
    asker *a = (asker *)arg + index;
    tkl_reply *result;
    a->code = tkl_queue_result(queue, a->id, 20000, &result);
    a->len = tkl_reply_bytes(result).len;
    snprintf(a->text, sizeof a->text, "%s", tkl_reply_str(result));
    tkl_reply_free(result);
}

static int listeners(fixture *f, const char *id)
{
    char *channel = test_format("tackle:queue:{work}:o:%s", id);
    int64_t count =
        server_ask_int(f->server, "EVAL %s 0 %s",
                       "return redis.call('PUBSUB', 'SHARDNUMSUB', ARGV[1])[2]", channel);
    free(channel);
    return (int)count;
}

/* Each way a job can end is told to those who wait for it. */
static void those_who_wait_for_a_result_are_told(void **state)
{
    fixture *f = *state;
    enum { DONE, LARGE, DEAD, CANCELLED, CASES };
    static const int codes[CASES] = {TKL_OK, TKL_OK, TKL_ELOST, TKL_NOTFOUND};
    static char large[200000];
    memset(large, 'x', sizeof large);
    for (int i = 0; i < CASES; i++) {
        job_id id = push_for_result(60000);
        asker a[2] = {0};
        for (int k = 0; k < 2; k++)
            memcpy(a[k].id, id.text, sizeof a[k].id);
        crew *threads = crew_start(2, wait_for_result, a);
        eventually(listeners(f, id.text) == 1, 20000); /* of this client */
        claimed job = claim_one(consumer);
        if (i == DONE)
            assert_ok(finish_code(queue, &job, TKL_JOB_DONE, "42"));
        else if (i == LARGE)
            assert_ok(tkl_queue_finish(queue, job.id, job.token, TKL_JOB_DONE,
                                       (tkl_bytes){large, sizeof large}, 0));
        else if (i == DEAD)
            assert_ok(finish_code(queue, &job, TKL_JOB_DEAD, "no paper"));
        else
            assert_ok(tkl_queue_cancel(queue, job.id));
        crew_join(threads);
        for (int k = 0; k < 2; k++) {
            assert_code(a[k].code, codes[i]);
            assert_int_equal(a[k].len, i == DONE    ? 2
                                       : i == LARGE ? sizeof large
                                       : i == DEAD  ? 8
                                                    : 0);
        }
    }
}

static void waiting_for_a_result_sends_nothing(void **state)
{
    fixture *f = *state;
    job_id id = push_for_result(60000);
    asker a = {0};
    memcpy(a.id, id.text, sizeof a.id);
    crew *threads = crew_start(1, wait_for_result, &a);
    eventually(listeners(f, id.text) == 1, 20000);
    int64_t calls, last = -1;
    do { /* until what it asks at the beginning has been asked */
        last = server_commands(f->server);
        test_sleep_ms(300);
        calls = server_commands(f->server);
    } while (calls != last);
    assert_claims(consumer, queue, "x");
    crew_join(threads);
    assert_ok(a.code);
}

static void those_who_wait_for_a_result_survive_a_cut(void **state)
{
    fixture *f = *state;
    job_id id = push_for_result(60000);
    asker a = {0};
    memcpy(a.id, id.text, sizeof a.id);
    crew *threads = crew_start(1, wait_for_result, &a);
    for (int i = 0; i < 3; i++) {
        eventually(listeners(f, id.text) == 1, 20000);
        server_do(f->server, "CLIENT KILL TYPE pubsub");
    }
    claimed job = claim_one(consumer); /* perhaps before it listens again */
    assert_ok(finish_code(queue, &job, TKL_JOB_DONE, "42"));
    crew_join(threads);
    assert_ok(a.code);
    assert_string_equal(a.text, "42");
}

static void a_result_that_does_not_come_in_time_is_told(void **state)
{
    (void)state;
    job_id id = push_for_result(60000);
    assert_result(id.text, 30, TKL_EMPTY, NULL);
}

static void the_end_of_a_lost_worker_is_told(void **state)
{
    fixture *f = *state;
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("x"),
                                            .result_ms = 60000,
                                            .retries = -1,
                                            .unique = tkl_str("u"),
                                            .group = tkl_str("g")});
    asker a = {0};
    memcpy(a.id, id.text, sizeof a.id);
    crew *threads = crew_start(1, wait_for_result, &a);
    eventually(listeners(f, id.text) == 1, 20000);
    claimed job = claim_one(consumer);
    end_lease(f, &job);
    assert_nothing_ready(consumer);
    crew_join(threads);
    assert_code(a.code, TKL_ELOST);
    assert_int_equal(state_of(queue, id.text), TKL_JOB_BURIED);
    assert_ok(tkl_queue_bury_none(queue, NULL));
    assert_no_garbage(f->server);
}

/* ---- Trouble ------------------------------------------------------------- */

/* A job that has everything, and its parent. */
static void make_rich(tkl_push jobs[2])
{
    static const size_t child[] = {0};
    jobs[0] = (tkl_push){.payload = tkl_str("child"),
                         .unique = tkl_str("u"),
                         .unique_mode = TKL_UNTIL_STARTED,
                         .group = tkl_str("g"),
                         .result_ms = 60000};
    jobs[1] = (tkl_push){.payload = tkl_str("parent"),
                         .group = tkl_str("g"),
                         .unique = tkl_str("v"),
                         .after = child,
                         .after_count = 1};
}

/* Puts a key of another kind in the place of one of the queue's, and that back. */
static void swap_in(fixture *f, const char *part)
{
    server_do(f->server, "EVAL %s 2 tackle:queue:{work}:%s aside{work}",
              "if redis.call('EXISTS', KEYS[1]) == 1 then "
              "redis.call('RENAME', KEYS[1], KEYS[2]) end redis.call('SET', KEYS[1], 'foreign')",
              part);
}

static void swap_out(fixture *f, const char *part)
{
    server_do(f->server, "EVAL %s 2 tackle:queue:{work}:%s aside{work}",
              "assert(redis.call('GET', KEYS[1]) == 'foreign') redis.call('DEL', KEYS[1]) "
              "if redis.call('EXISTS', KEYS[2]) == 1 then "
              "redis.call('RENAME', KEYS[2], KEYS[1]) end",
              part);
}

/* It is told, and nothing is lost. */
static void a_foreign_key_in_the_way_loses_nothing(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *part;
        int push, claim, finish;
    } cases[] = {
        {"u", TKL_ETYPE, TKL_ETYPE, TKL_ETYPE}, {"v", TKL_ETYPE, TKL_OK, TKL_OK},
        {"g", TKL_OK, TKL_ETYPE, TKL_ETYPE},    {"y", TKL_OK, TKL_ETYPE, TKL_ETYPE},
        {"t", TKL_OK, TKL_ETYPE, TKL_OK},       {"k", TKL_ETYPE, TKL_OK, TKL_ETYPE},
        {"x", TKL_ETYPE, TKL_ETYPE, TKL_ETYPE}, {"z", TKL_ETYPE, TKL_OK, TKL_ETYPE},
    };
    limit(&(tkl_queue_limits){
        .group_concurrency = 1, .group_rate = 1000, .group_rate_period_ms = 1000});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *part = cases[i].part;
        tkl_push jobs[2];
        tkl_jobs *got;
        make_rich(jobs);
        swap_in(f, part);
        assert_code(tkl_queue_push(queue, jobs, 2, NULL, NULL), cases[i].push);
        swap_out(f, part);
        if (cases[i].push != TKL_OK)
            assert_ok(tkl_queue_push(queue, jobs, 2, NULL, NULL));
        assert_int_equal(stats_of(queue).ready, 1);
        assert_int_equal(stats_of(queue).held, 1);

        swap_in(f, part);
        assert_code(tkl_consumer_claim(consumer, 1, 0, &got), cases[i].claim);
        swap_out(f, part);
        if (cases[i].claim != TKL_OK)
            assert_ok(tkl_consumer_claim(consumer, 1, 0, &got));
        claimed job = {0};
        memcpy(job.id, got->items[0].id, sizeof job.id);
        memcpy(job.token, got->items[0].token, sizeof job.token);
        tkl_jobs_free(got);

        swap_in(f, part);
        assert_code(finish_code(queue, &job, TKL_JOB_DONE, "result"), cases[i].finish);
        swap_out(f, part);
        if (cases[i].finish != TKL_OK)
            assert_ok(finish_code(queue, &job, TKL_JOB_DONE, "result"));
        assert_result(job.id, 0, TKL_OK, "result");
        assert_claims(consumer, queue, "parent");
        assert_no_garbage(f->server);
    }
}

static void a_full_server_lets_rich_jobs_be_worked_off(void **state)
{
    fixture *f = *state;
    tkl_push jobs[2];
    make_rich(jobs);
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    assert_ok(tkl_queue_push(queue, jobs, 2, NULL, NULL));
    push_group("g", "next");
    server_do(f->server, "CONFIG SET maxmemory 1");
    jobs[0].unique = tkl_str("other");
    assert_code(tkl_queue_push(queue, jobs, 2, NULL, NULL), TKL_EOOM);
    claimed job = claim_one(consumer);
    assert_nothing_ready(consumer);
    fail_for(queue, &job, 1);
    eventually(claim_some(consumer, 1, &job) == 1, 10000);
    assert_string_equal(job.payload, "child");
    finish_job(queue, &job, TKL_JOB_DEAD);
    assert_ok(tkl_queue_pause(queue));
    assert_ok(tkl_queue_retry(queue, job.id, NULL));
    assert_ok(tkl_queue_resume(queue));
    assert_ok(tkl_queue_limit(queue, &(tkl_queue_limits){0}));
    assert_claims(consumer, queue, "child parent next");
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_no_garbage(f->server);
}

#define RICH_TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RICH_TEST(each_key_is_a_key_of_its_own),
        RICH_TEST(a_key_is_free_when_its_mode_says),
        RICH_TEST(a_key_for_a_time_is_free_after_it),
        RICH_TEST(a_job_that_comes_back_does_not_take_its_key_from_another),
        RICH_TEST(a_retried_dead_letter_takes_its_key_if_it_is_free),
        RICH_TEST(of_equals_in_one_push_the_first_counts),
        RICH_TEST(a_repeated_request_answers_the_same),
        RICH_TEST(unique_jobs_are_refused_by_a_full_queue),
        RICH_TEST(groups_without_limits_are_not_held_up),
        RICH_TEST(a_group_is_worked_on_by_so_many_at_once),
        RICH_TEST(others_are_served_past_a_group_that_must_wait),
        RICH_TEST(a_group_keeps_its_order_through_failures),
        RICH_TEST(priorities_count_within_a_group),
        RICH_TEST(groups_are_told_apart_by_every_byte),
        RICH_TEST(nobody_of_a_group_is_stuck),
        RICH_TEST(parked_jobs_are_shown_and_drained),
        RICH_TEST(a_raised_limit_lets_in_those_parked),
        RICH_TEST(a_lowered_limit_holds_for_what_is_claimed_from_then_on),
        RICH_TEST(many_parked_come_back_in_steps),
        RICH_TEST(one_who_waits_gets_the_next_of_a_group),
        RICH_TEST(one_who_waits_gets_on_when_a_limit_is_raised),
        RICH_TEST(one_who_waits_gets_what_operators_let_go),
        RICH_TEST(many_of_a_group_are_passed),
        RICH_TEST(a_group_starts_so_many_in_a_time),
        RICH_TEST(those_held_by_a_rate_start_in_time),
        RICH_TEST(a_queue_gives_so_many_in_a_time),
        RICH_TEST(one_who_waits_is_served_when_the_rate_allows),
        RICH_TEST(one_who_waits_since_before_the_rate_was_used_up_is_served),
        RICH_TEST(so_many_jobs_are_claimed_at_once),
        RICH_TEST(one_who_waits_is_served_when_another_is_done),
        RICH_TEST(a_parent_runs_after_its_children),
        RICH_TEST(a_failed_child_is_waited_for),
        RICH_TEST(a_child_that_is_given_up_counts_as_done),
        RICH_TEST(a_cancelled_parent_leaves_its_children_alone),
        RICH_TEST(a_parent_waits_for_its_time_too),
        RICH_TEST(a_flow_can_wait_for_a_unique_job_that_is_there),
        RICH_TEST(so_many_can_wait_for_one),
        RICH_TEST(flows_must_point_backwards),
        RICH_TEST(a_drained_flow_runs_nothing),
        RICH_TEST(a_result_is_kept_for_its_time),
        RICH_TEST(only_wanted_results_are_kept),
        RICH_TEST(the_end_in_the_dead_letters_is_told),
        RICH_TEST(those_who_wait_for_a_result_are_told),
        RICH_TEST(waiting_for_a_result_sends_nothing),
        RICH_TEST(those_who_wait_for_a_result_survive_a_cut),
        RICH_TEST(a_result_that_does_not_come_in_time_is_told),
        RICH_TEST(the_end_of_a_lost_worker_is_told),
        RICH_TEST(a_foreign_key_in_the_way_loses_nothing),
        RICH_TEST(a_full_server_lets_rich_jobs_be_worked_off),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
