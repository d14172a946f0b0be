/* SPDX-License-Identifier: MIT
 *
 * Flows: jobs that wait for others.
 *
 * ctest: label threads
 */
#include "support/work.h"

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
    assert_int_equal(state_of(queue, pushed[2].id), TKL_JOB_STATE_HELD);
    tkl_listing *l;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_HELD, 0, 10, 0, &l));
    assert_int_equal(l->count, 3);
    tkl_listing_free(l);
    claimed a = claim_one(consumer), b = claim_one(consumer);
    assert_string_equal(b.payload, "b");
    finish_job(queue, &b, TKL_OUTCOME_DONE);
    assert_int_equal(state_of(queue, pushed[3].id), TKL_JOB_STATE_READY);
    assert_int_equal(state_of(queue, pushed[2].id), TKL_JOB_STATE_HELD);
    finish_job(queue, &a, TKL_OUTCOME_DONE);
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
    finish_job(queue, &c, TKL_OUTCOME_DEAD);
    assert_nothing_ready(consumer);
    assert_int_equal(state_of(queue, pushed[1].id), TKL_JOB_STATE_HELD);
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = c.id}, NULL));
    assert_claims(consumer, queue, "child parent");
    assert_no_garbage(f->server);
}

/* Events that make a child count as done although it was not. */
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
                finish_job(queue, &c, TKL_OUTCOME_DEAD);
        }
        if (i == BURY_NONE)
            assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
        else if (i != TRIM)
            assert_ok(tkl_queue_cancel(queue, pushed[0].id));
        else {
            limit(&(tkl_queue_limits){.dead_max = 1});
            test_sleep_ms(2);
            push_text(queue, "other");
            claimed c = claim_one(consumer);
            finish_job(queue, &c, TKL_OUTCOME_DEAD);
        }
        assert_claims(consumer, queue, "parent");
        assert_nothing_ready(consumer);
        assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
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
    assert_int_equal(state_of(queue, pushed[1].id), TKL_JOB_STATE_DELAYED);
    make_job_due(f, pushed[1].id);
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

/* Checks a job of a flow: its state, for how many it waits, and for which of the list. */
static void assert_flow_job(const tkl_flow *flow, size_t at, const char *id, tkl_job_state state,
                            int64_t waits_for, const char *after)
{
    char text[64] = "";
    const tkl_flow_job *job = &flow->items[at];
    for (size_t i = 0; i < job->after_count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%zu ", job->after[i]);
    assert_string_equal(job->id, id);
    assert_int_equal(job->state, state);
    assert_int_equal(job->waits_for, waits_for);
    assert_string_equal(text, after);
}

static void a_flow_is_shown_around_each_of_its_jobs(void **state)
{
    (void)state;
    static const size_t both[] = {0, 1}, second[] = {1}, third[] = {2};
    tkl_push jobs[] = {
        {.payload = tkl_str("a"), .kind = tkl_str("cut")},
        {.payload = tkl_str("b"), .priority = 1},
        {.payload = tkl_str("ab"), .after = both, .after_count = 2},
        {.payload = tkl_str("b2"), .after = second, .after_count = 1},
        {.payload = tkl_str("end"), .after = third, .after_count = 1},
        {.payload = tkl_str("plain"), .priority = 2},
    };
    tkl_pushed pushed[6];
    tkl_flow *flow;
    push_flow(jobs, 6, pushed);
    for (int i = 0; i < 5; i++) {
        assert_ok(tkl_queue_flow(queue, pushed[i].id, 10, &flow));
        assert_int_equal(flow->count, 5);
        assert_int_equal(flow->more, 0);
        assert_flow_job(flow, 0, pushed[0].id, TKL_JOB_STATE_READY, 0, "");
        assert_int_equal(flow->items[0].kind.len, 3);
        assert_flow_job(flow, 1, pushed[1].id, TKL_JOB_STATE_READY, 0, "");
        assert_flow_job(flow, 2, pushed[2].id, TKL_JOB_STATE_HELD, 2, "0 1 ");
        assert_flow_job(flow, 3, pushed[3].id, TKL_JOB_STATE_HELD, 1, "1 ");
        assert_flow_job(flow, 4, pushed[4].id, TKL_JOB_STATE_HELD, 1, "2 ");
        tkl_flow_free(flow);
    }
    assert_ok(tkl_queue_flow(queue, pushed[5].id, 10, &flow));
    assert_int_equal(flow->count, 1);
    assert_flow_job(flow, 0, pushed[5].id, TKL_JOB_STATE_READY, 0, "");
    tkl_flow_free(flow);

    assert_ok(tkl_queue_flow(queue, pushed[4].id, 2, &flow)); /* the nearest, the rest counted */
    assert_int_equal(flow->count, 2);
    assert_int_equal(flow->more, 3);
    assert_flow_job(flow, 0, pushed[2].id, TKL_JOB_STATE_HELD, 2, "");
    assert_flow_job(flow, 1, pushed[4].id, TKL_JOB_STATE_HELD, 1, "0 ");
    tkl_flow_free(flow);

    claimed a = claim_one(consumer);
    finish_job(queue, &a, TKL_OUTCOME_DEAD);
    claimed b = claim_one(consumer);
    assert_ok(tkl_queue_cancel(queue, pushed[4].id));
    assert_ok(tkl_queue_flow(queue, pushed[2].id, 10, &flow));
    assert_int_equal(flow->count, 4);
    assert_flow_job(flow, 0, pushed[0].id, TKL_JOB_STATE_DEAD, 0, "");
    assert_flow_job(flow, 1, pushed[1].id, TKL_JOB_STATE_ACTIVE, 0, "");
    assert_flow_job(flow, 2, pushed[2].id, TKL_JOB_STATE_HELD, 2, "0 1 ");
    tkl_flow_free(flow);
    finish_job(queue, &b, TKL_OUTCOME_DONE);
    assert_ok(tkl_queue_flow(queue, pushed[2].id, 10, &flow)); /* b is done: b2 stands alone */
    assert_int_equal(flow->count, 2);
    assert_flow_job(flow, 1, pushed[2].id, TKL_JOB_STATE_HELD, 1, "0 ");
    tkl_flow_free(flow);

    assert_code(tkl_queue_flow(queue, pushed[1].id, 10, &flow), TKL_NOTFOUND);
    assert_null(flow);
    assert_code(tkl_queue_flow(queue, "no id", 10, &flow), TKL_NOTFOUND);
    assert_code(tkl_queue_flow(queue, pushed[2].id, 0, &flow), TKL_EINVAL);
    assert_code(tkl_queue_flow(queue, pushed[2].id, TKL_FLOW_MAX + 1, &flow), TKL_EINVAL);
}

/* A thousand jobs that wait for each other 2400 times: the nearest are listed, all are counted. */
static void a_large_flow_is_shown_in_part(void **state)
{
    (void)state;
    enum { FIRST = 400, JOBS = 1000, EACH = 4 };
    static tkl_push jobs[JOBS];
    static tkl_pushed pushed[JOBS];
    static size_t after[JOBS][EACH];
    tkl_flow *flow;
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i] = (tkl_push){.payload = tkl_str("x")};
        for (size_t k = 0; i >= FIRST && k < EACH; k++)
            after[i][k] = (i * 7 + k * 31) % FIRST;
        jobs[i].after = after[i];
        jobs[i].after_count = i >= FIRST ? EACH : 0;
    }
    push_flow(jobs, JOBS, pushed);
    assert_ok(tkl_queue_flow(queue, pushed[JOBS - 1].id, 50, &flow));
    assert_int_equal(flow->count, 50);
    assert_int_equal(flow->more, JOBS - 50);
    for (size_t i = 0; i < flow->count; i++)
        for (size_t k = 0; k < flow->items[i].after_count; k++)
            assert_true(flow->items[i].after[k] < i);
    assert_int_equal(flow->items[flow->count - 1].waits_for, EACH);
    tkl_flow_free(flow);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(a_parent_runs_after_its_children),
        WORK_TEST(a_failed_child_is_waited_for),
        WORK_TEST(a_child_that_is_given_up_counts_as_done),
        WORK_TEST(a_cancelled_parent_leaves_its_children_alone),
        WORK_TEST(a_parent_waits_for_its_time_too),
        WORK_TEST(a_flow_can_wait_for_a_unique_job_that_is_there),
        WORK_TEST(a_flow_is_shown_around_each_of_its_jobs),
        WORK_TEST(a_large_flow_is_shown_in_part),
        WORK_TEST(so_many_can_wait_for_one),
        WORK_TEST(flows_must_point_backwards),
        WORK_TEST(a_drained_flow_runs_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
