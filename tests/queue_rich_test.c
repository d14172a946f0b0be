/* SPDX-License-Identifier: MIT
 *
 * Jobs that have everything, a key, a group, a result and a parent, in trouble.
 *
 * ctest: label threads
 */
#include "support/work.h"

/* A job that has everything, and its parent. */
static void make_rich(tkl_push jobs[2])
{
    static const size_t child[] = {0};
    jobs[0] = (tkl_push){.payload = tkl_str("child"),
                         .unique = tkl_str("u"),
                         .unique_mode = TKL_UNIQUE_UNTIL_STARTED,
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

/* A foreign key is reported, and nothing is lost. */
static void a_foreign_key_in_the_way_loses_nothing(void **state)
{
    fixture *f = *state;
    static const char *const cases[] = {"unique",      "unique_ends", "groups",   "parked",
                                        "rates",       "flow",        "history",  "dead",
                                        "flow_places", "parents",     "progress", "heads"};
    limit(&(tkl_queue_limits){
        .group_concurrency = 1, .group_rate = 1000, .group_rate_period_ms = 1000});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *part = cases[i];
        tkl_push jobs[2];
        tkl_jobs *got;
        make_rich(jobs);
        swap_in(f, part);
        assert_code(tkl_queue_push(queue, jobs, 2, NULL, NULL), TKL_ETYPE);
        swap_out(f, part);
        assert_ok(tkl_queue_push(queue, jobs, 2, NULL, NULL));
        assert_int_equal(stats_of(queue).ready, 1);
        assert_int_equal(stats_of(queue).held, 1);

        swap_in(f, part);
        assert_code(tkl_consumer_claim(consumer, 1, 0, &got), TKL_ETYPE);
        swap_out(f, part);
        assert_ok(tkl_consumer_claim(consumer, 1, 0, &got));
        claimed job = {0};
        memcpy(job.id, got->items[0].id, sizeof job.id);
        memcpy(job.token, got->items[0].token, sizeof job.token);
        tkl_jobs_free(got);

        swap_in(f, part);
        assert_code(finish_code(queue, &job, TKL_OUTCOME_DONE, "result"), TKL_ETYPE);
        swap_out(f, part);
        assert_ok(finish_code(queue, &job, TKL_OUTCOME_DONE, "result"));
        assert_result(job.id, 0, TKL_OK, "result");
        assert_claims(consumer, queue, "parent");
        assert_no_garbage(f->server);
    }
}

static int ended(const claimed *job, int how)
{
    switch (how) {
    case 0:
        return finish_code(queue, job, TKL_OUTCOME_DONE, "result");
    case 1:
        return finish_code(queue, job, TKL_OUTCOME_FAILED, "why");
    case 2:
        return finish_code(queue, job, TKL_OUTCOME_DEAD, "why");
    case 3:
        return finish_code(queue, job, TKL_OUTCOME_RELEASED, "");
    case 4:
        return tkl_queue_cancel(queue, job->id);
    default:
        return tkl_queue_drain(queue, NULL);
    }
}

/* A job may end in any way: a refused call has changed nothing, and works afterwards. */
static void a_foreign_key_in_the_way_keeps_jobs_where_they_are(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "ready", "delayed", "history", "active", "waiters"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int how = 0; how <= 5; how++) {
            tkl_push jobs[2];
            make_rich(jobs);
            assert_ok(tkl_queue_push(queue, jobs, 2, NULL, NULL));
            claimed job = claim_one(consumer);
            tkl_queue_stats before = stats_of(queue);
            swap_in(f, parts[i]);
            assert_code(ended(&job, how), TKL_ETYPE);
            swap_out(f, parts[i]);
            tkl_queue_stats after = stats_of(queue);
            assert_memory_equal(&before, &after, sizeof before);
            assert_ok(ended(&job, how));
            assert_ok(tkl_queue_drop(queue));
        }
}

static int brought_back(const char *id, int how)
{
    switch (how) {
    case 0:
        return tkl_queue_retry(queue, &(tkl_job_filter){.id = id}, NULL);
    case 1:
        return tkl_queue_resume(queue);
    default:
        return set_exactly(queue, &(tkl_queue_limits){.group_concurrency = 2});
    }
}

/* The same holds for calls that bring jobs back. */
static void a_foreign_key_in_the_way_of_an_operator_changes_nothing(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *part;
        int how;
    } cases[] = {{"meta", 0},    {"jobs", 0}, {"ready", 0},   {"delayed", 0}, {"active", 0},
                 {"history", 0}, {"dead", 0}, {"waiters", 0}, {"unique", 0},  {"line", 0},
                 {"meta", 1},    {"line", 1}, {"waiters", 1}, {"meta", 2},    {"ready", 2},
                 {"history", 2}, {"line", 2}, {"waiters", 2}, {"parked", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *part = cases[i].part;
        tkl_queue_limits limits;
        job_id id = push_one(
            queue, &(tkl_push){.payload = tkl_str("x"), .unique = tkl_str("u"), .retries = -1});
        claimed job = claim_one(consumer);
        finish_job(queue, &job, TKL_OUTCOME_FAILED);
        assert_ok(tkl_queue_pause(queue));
        tkl_queue_stats before = stats_of(queue);
        swap_in(f, part);
        assert_code(brought_back(id.text, cases[i].how), TKL_ETYPE);
        swap_out(f, part);
        tkl_queue_stats after = stats_of(queue);
        assert_memory_equal(&before, &after, sizeof before);
        assert_ok(tkl_queue_limits_get(queue, &limits));
        assert_int_equal(limits.group_concurrency, TKL_NONE);
        assert_ok(brought_back(id.text, cases[i].how));
        assert_ok(tkl_queue_drop(queue));
    }
}

/* The next of a group whose rate is used up is not forgotten. */
static void a_foreign_key_in_the_way_keeps_the_timer_of_a_group(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"groups", "parked"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        limit(&(tkl_queue_limits){.group_rate = 1, .group_rate_period_ms = 300});
        push_group("g", "first");
        push_group("g", "second");
        claimed job = claim_one(consumer);
        assert_nothing_ready(consumer);
        server_do(f->server, "ZADD tackle:queue:{work}:delayed XX 1 group:g");
        tkl_jobs *got;
        swap_in(f, parts[i]);
        assert_code(tkl_consumer_claim(consumer, 1, 0, &got), TKL_ETYPE);
        swap_out(f, parts[i]);
        eventually(claim_some(consumer, 1, &job) == 1, 10000);
        assert_string_equal(job.payload, "second");
        assert_ok(tkl_queue_drop(queue));
    }
}

/* Due jobs and ended leases stay: a call that finds them cannot move them. */
static void a_foreign_key_in_the_way_keeps_what_is_due(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "jobs", "ready", "history", "dead"};
    tkl_consumer *dying = open_claimer(queue, 100);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tkl_push jobs[] = {{.payload = tkl_str("lost")},
                           {.payload = tkl_str("later"), .delay_ms = 1},
                           {.payload = tkl_str("last"), .delay_ms = 2}};
        assert_ok(tkl_queue_push(queue, jobs, 1, NULL, NULL));
        claim_one(dying);
        assert_ok(tkl_queue_push(queue, jobs + 1, 2, NULL, NULL));
        test_sleep_ms(150);
        for (int again = 0; again < 3; again++) {
            tkl_jobs *got;
            swap_in(f, parts[i]);
            assert_code(tkl_consumer_claim(consumer, 1, 0, &got), TKL_ETYPE);
            swap_out(f, parts[i]);
        }
        assert_claims(consumer, queue, "lost later last");
        assert_no_garbage(f->server);
    }
    tkl_consumer_close(dying);
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
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    assert_ok(tkl_queue_pause(queue));
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = job.id}, NULL));
    assert_ok(tkl_queue_resume(queue));
    assert_ok(set_exactly(queue, &(tkl_queue_limits){0}));
    assert_claims(consumer, queue, "child parent next");
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_no_garbage(f->server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(a_foreign_key_in_the_way_loses_nothing),
        WORK_TEST(a_foreign_key_in_the_way_keeps_jobs_where_they_are),
        WORK_TEST(a_foreign_key_in_the_way_of_an_operator_changes_nothing),
        WORK_TEST(a_foreign_key_in_the_way_keeps_the_timer_of_a_group),
        WORK_TEST(a_foreign_key_in_the_way_keeps_what_is_due),
        WORK_TEST(a_full_server_lets_rich_jobs_be_worked_off),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
