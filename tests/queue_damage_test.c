/* SPDX-License-Identifier: MIT
 *
 * Keys of a queue that another program has written to: a refused call has changed nothing, and no
 * script runs for ever.
 */
#include "support/fixture.h"
#include "support/work.h"

#define WORK "tackle:queue:{work}:"

/* ---- Scores -------------------------------------------------------------- */

/* Calls everything that looks at the queue, and must end. */
static void look_at_everything(void)
{
    static const tkl_job_state states[] = {TKL_JOB_STATE_READY, TKL_JOB_STATE_DELAYED,
                                           TKL_JOB_STATE_HELD,  TKL_JOB_STATE_ACTIVE,
                                           TKL_JOB_STATE_DEAD,  TKL_JOB_STATE_DONE};
    tkl_queue_level_list *levels;
    stats_of(queue);
    assert_ok(tkl_queue_levels(queue, &levels));
    tkl_queue_level_list_free(levels);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        tkl_listing *listing;
        assert_ok(tkl_queue_peek(queue, states[i], 0, 10, 0, &listing));
        tkl_listing_free(listing);
    }
}

static void no_score_keeps_a_script_running(void **state)
{
    fixture *f = *state;
    static const char *const scores[] = {"inf", "-inf", "1e300", "-1e300", "1e18", "0.5"};
    static const char *const parts[] = {"ready",   "delayed", "active",      "dead",  "parked",
                                        "waiters", "flow",    "unique_ends", "rates", "done"};
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            server_do(f->server, "FLUSHALL");
            job_id id = push_text(queue, "a");
            push_group("g", "b");
            server_do(f->server, "ZADD " WORK "%s %s %s", parts[k], scores[i], id.text);
            server_do(f->server, "ZADD " WORK "%s %s nonsense", parts[k], scores[i]);
            look_at_everything();
            tkl_jobs *jobs;
            int rc = tkl_consumer_claim(consumer, 10, 0, &jobs);
            assert_true(rc == TKL_OK || rc == TKL_EMPTY);
            tkl_jobs_free(jobs);
            push_text(queue, "c");
            assert_ok(tkl_queue_drain(queue, NULL));
        }
}

/* ---- Numbers ------------------------------------------------------------- */

static void a_damaged_total_is_told_before_anything_is_written(void **state)
{
    fixture *f = *state;
    static const char *const fields[] = {"last",     "pushed", "done",    "failed",  "bytes",
                                         "max_jobs", "rate",   "full_at", "keep_ms", "keep_max"};
    static const char *const values[] = {"garbage", "1e999", "nan"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            server_do(f->server, "FLUSHALL");
            push_text(queue, "a");
            push_text(queue, "b");
            claimed job = claim_one(consumer);
            char *was = server_ask(f->server, "HGET " WORK "meta %s", fields[i]);
            server_do(f->server, "HSET " WORK "meta %s %s", fields[i], values[k]);
            tkl_jobs *jobs;
            assert_code(push_code(queue, &(tkl_push){.payload = tkl_str("c")}, NULL), TKL_EDAMAGED);
            assert_code(finish_code(queue, &job, TKL_OUTCOME_DONE, ""), TKL_EDAMAGED);
            assert_code(finish_code(queue, &job, TKL_OUTCOME_FAILED, ""), TKL_EDAMAGED);
            assert_code(tkl_consumer_claim(consumer, 1, 0, &jobs), TKL_EDAMAGED);
            assert_int_equal(call_int(f->client, "HLEN", WORK "jobs", NULL), 2);
            assert_int_equal(call_int(f->client, "ZCARD", WORK "active", NULL), 1);
            assert_int_equal(call_int(f->client, "ZCARD", WORK "ready", NULL), 1);
            if (*was)
                server_do(f->server, "HSET " WORK "meta %s %s", fields[i], was);
            else
                server_do(f->server, "HDEL " WORK "meta %s", fields[i]);
            free(was);
            finish_job(queue, &job, TKL_OUTCOME_DONE);
            assert_claims(consumer, queue, "b");
        }
}

static void a_damaged_count_of_a_group_is_none(void **state)
{
    fixture *f = *state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    push_group("g", "a");
    server_do(f->server, "HSET " WORK "groups g garbage");
    assert_claims(consumer, queue, "a");
    assert_no_garbage(f->server);
}

/* Replaces the record of a job by garbage. */
static void damage(fixture *f, const char *id)
{
    assert_int_equal(call_int(f->client, "HSET", WORK "jobs", id, "priority=garbage\nx", NULL), 0);
}

static void assert_damage_is_told(const char *id)
{
    tkl_listing *listing;
    assert_ok(tkl_queue_show(queue, id, 0, &listing));
    assert_int_equal(listing->items[0].state, TKL_JOB_STATE_DEAD);
    assert_memory_equal(listing->items[0].error.data, "the record is damaged", 21);
    tkl_listing_free(listing);
}

typedef struct damages {
    int count;
    tkl_queue *queue;
    char id[TKL_JOB_ID_SIZE];
} damages;

static void note_damage(tkl_queue *of, const char *id, void *arg)
{
    damages *d = arg;
    d->count++;
    d->queue = of;
    snprintf(d->id, sizeof d->id, "%s", id);
}

static void the_owner_is_told_of_a_damaged_record(void **state)
{
    fixture *f = *state;
    damages seen = {0};
    tkl_consumer *other;
    tkl_jobs *jobs;
    const tkl_consumer_options options = {.on_damaged = note_damage, .arg = &seen};
    assert_ok(tkl_consumer_open(&queue, 1, &options, &other));
    job_id id = push_text(queue, "a");
    damage(f, id.text);
    assert_code(tkl_consumer_claim(other, 1, 0, &jobs), TKL_EMPTY);
    assert_int_equal(seen.count, 1);
    assert_ptr_equal(seen.queue, queue);
    assert_string_equal(seen.id, id.text);
    tkl_consumer_close(other);
}

/* One is claimed at a time: the first that is found cannot be read. */
static void a_damaged_record_goes_to_the_dead_letters_and_the_next_job_is_claimed(void **state)
{
    fixture *f = *state;
    job_id id = push_text(queue, "a"), other = push_text(queue, "b");
    damage(f, id.text);
    damage(f, other.text);
    push_text(queue, "c");
    claimed job = claim_one(consumer);
    assert_string_equal(job.payload, "c");
    assert_damage_is_told(id.text);
    assert_damage_is_told(other.text);
}

static void push_later(void *arg, int index)
{
    fixture *f = arg;
    (void)index;
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("a"), .delay_ms = 500});
    damage(f, id.text);
    test_sleep_ms(1000);
    push_text(queue, "b");
}

/* A waiter to whom a damaged record was handed stands in line again. */
static void a_waiter_that_is_given_a_damaged_record_waits_on(void **state)
{
    fixture *f = *state;
    tkl_jobs *jobs;
    crew *pusher = crew_start(1, push_later, f);
    assert_ok(tkl_consumer_claim(consumer, 1, 10000, &jobs));
    assert_memory_equal(jobs->items[0].payload.data, "b", 1);
    tkl_jobs_free(jobs);
    crew_join(pusher);
    assert_int_equal(stats_of(queue).dead, 1);
}

/* A record with metadata that no call can write is not read. */
static void a_record_that_cannot_be_read_does_not_stop_the_others(void **state)
{
    fixture *f = *state;
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("a"), .retries = TKL_NONE});
    char *record = test_format("retries=0 meta=200000\n%0200000d", 0);
    assert_int_equal(call_int(f->client, "HSET", WORK "jobs", id.text, record, NULL), 0);
    free(record);
    push_text(queue, "b");
    tkl_jobs *jobs;
    assert_ok(tkl_consumer_claim(consumer, 10, 0, &jobs));
    assert_int_equal(jobs->count, 1);
    assert_memory_equal(jobs->items[0].payload.data, "b", 1);
    tkl_jobs_free(jobs);
}

/* ---- Steps --------------------------------------------------------------- */

/* More timers than a step looks at stand before the jobs. */
static void draining_goes_on_behind_timers_and_schedules(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 500; i++)
        server_do(f->server, "ZADD " WORK "delayed %d %s:%d", i + 1, i % 2 ? "group" : "schedule",
                  i);
    push_one(queue, &(tkl_push){.payload = tkl_str("x"), .delay_ms = 1000000});
    push_one(queue, &(tkl_push){.payload = tkl_str("y"), .delay_ms = 2000000});
    int64_t count;
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, 2);
    assert_int_equal(call_int(f->client, "HLEN", WORK "jobs", NULL), 0);
    assert_int_equal(call_int(f->client, "ZCARD", WORK "delayed", NULL), 250);
}

/* More parents than one script tells: the next claims go on. */
static void many_parents_are_told_in_steps(void **state)
{
    fixture *f = *state;
    enum { CHILDREN = 2, PARENTS = 990 };
    static tkl_push jobs[CHILDREN + PARENTS];
    static const size_t after[CHILDREN] = {0, 1};
    for (int i = 0; i < CHILDREN + PARENTS; i++)
        jobs[i] = (tkl_push){
            .payload = tkl_str("x"), .after = after, .after_count = i < CHILDREN ? 0 : CHILDREN};
    assert_ok(tkl_queue_push(queue, jobs, CHILDREN + PARENTS, NULL, NULL));
    tkl_jobs *claims;
    tkl_report reports[CHILDREN] = {0};
    assert_ok(tkl_consumer_claim(consumer, CHILDREN, 0, &claims));
    assert_int_equal(claims->count, CHILDREN);
    for (int i = 0; i < CHILDREN; i++)
        reports[i].job = &claims->items[i];
    assert_ok(tkl_consumer_finish(consumer, reports, CHILDREN));
    tkl_jobs_free(claims);
    claimed all[1000];
    size_t got = 0;
    for (int i = 0; i < 10 && got < PARENTS; i++)
        got += claim_some(consumer, 1000 - got, all + got);
    assert_int_equal(got, PARENTS);
    for (size_t i = 0; i < got; i++)
        finish_job(queue, &all[i], TKL_OUTCOME_DONE);
    assert_no_garbage(f->server);
}

static void a_flow_with_too_many_edges_is_refused(void **state)
{
    (void)state;
    enum { N = 120 };
    static tkl_push jobs[N];
    static size_t after[N];
    for (int i = 0; i < N; i++) {
        after[i] = (size_t)i;
        jobs[i] = (tkl_push){.after = after, .after_count = (size_t)i};
    }
    assert_code(tkl_queue_push(queue, jobs, N, NULL, NULL), TKL_EINVAL);
    assert_int_equal(stats_of(queue).pushed, 0);
}

/* ---- Times --------------------------------------------------------------- */

static void a_delay_beyond_ten_years_is_refused(void **state)
{
    (void)state;
    push_text(queue, "a");
    claimed job = claim_one(consumer);
    static const tkl_outcome outcomes[] = {TKL_OUTCOME_RELEASED, TKL_OUTCOME_FAILED};
    for (int i = 0; i < 2; i++) {
        assert_code(tkl_queue_finish(queue, job.id, job.token, outcomes[i], tkl_str(""), INT64_MAX),
                    TKL_EINVAL);
        assert_code(tkl_queue_finish(queue, job.id, job.token, outcomes[i], tkl_str(""),
                                     INT64_C(315360000001)),
                    TKL_EINVAL);
    }
    assert_ok(tkl_queue_finish(queue, job.id, job.token, TKL_OUTCOME_RELEASED, tkl_str(""),
                               INT64_C(315360000000)));
    assert_nothing_ready(consumer);
    assert_int_equal(stats_of(queue).delayed, 1);
}

static void a_retried_dead_letter_takes_its_key_from_a_holder_whose_time_is_over(void **state)
{
    (void)state;
    tkl_push job = {.payload = tkl_str("x"), .unique = tkl_str("k"), .retries = TKL_NONE};
    job_id dead = push_one(queue, &job), found;
    claimed claim = claim_one(consumer);
    finish_job(queue, &claim, TKL_OUTCOME_FAILED);
    tkl_push timed = {.payload = tkl_str("y"),
                      .unique = tkl_str("k"),
                      .unique_mode = TKL_UNIQUE_FOR_A_TIME,
                      .unique_ms = 30};
    push_one(queue, &timed);
    test_sleep_ms(50);
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = dead.text}, NULL));
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_string_equal(found.text, dead.text);
}

static void timed_unique_keys_go_though_no_more_jobs_come(void **state)
{
    fixture *f = *state;
    tkl_push job = {.payload = tkl_str("x"),
                    .unique = tkl_str("k"),
                    .unique_mode = TKL_UNIQUE_FOR_A_TIME,
                    .unique_ms = 200};
    push_one(queue, &job);
    push_one(queue, &(tkl_push){.payload = tkl_str("y"), .unique = tkl_str("other")});
    assert_claims(consumer, queue, "x y");
    eventually(call_int(f->client, "EXISTS", WORK "unique", WORK "unique_ends", NULL) == 0, 10000);
}

/* ---- Figures as people read them ------------------------------------------ */

static void an_ended_lease_counts_as_ready(void **state)
{
    fixture *f = *state;
    job_id id = push_text(queue, "a");
    push_text(queue, "b");
    claimed job = claim_one(consumer);
    assert_int_equal(stats_of(queue).ready, 1);
    end_lease(f, &job);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready, 2);
    assert_int_equal(s.active, 0);
    assert_int_equal(state_of(queue, id.text), TKL_JOB_STATE_READY);
    tkl_listing *listing;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_READY, 0, 10, 0, &listing));
    assert_int_equal(listing->count, 2);
    assert_string_equal(listing->items[0].id, id.text);
    tkl_listing_free(listing);
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_ACTIVE, 0, 10, 0, &listing));
    assert_int_equal(listing->count, 0);
    tkl_listing_free(listing);
    tkl_queue_level_list *levels;
    assert_ok(tkl_queue_levels(queue, &levels));
    assert_int_equal(levels->items[0].ready, 2);
    tkl_queue_level_list_free(levels);
    assert_claims(consumer, queue, "a b");
}

/* Fails when the oldest ready job has been ready since before that moment of this program's
 * clock. */
static void assert_ready_since(int64_t moment_ms)
{
    int64_t oldest_ms = stats_of(queue).oldest_ms;
    assert_in_range(oldest_ms, 0, test_now_ms() - moment_ms + 10);
}

static void the_oldest_counts_from_when_it_became_ready(void **state)
{
    (void)state;
    int64_t start = test_now_ms();
    push_one(queue, &(tkl_push){.payload = tkl_str("past"), .at_ms = 1});
    assert_ready_since(start);
    assert_claims(consumer, queue, "past");
    push_text(queue, "a");
    claimed job = claim_one(consumer);
    test_sleep_ms(300);
    start = test_now_ms();
    finish_job(queue, &job, TKL_OUTCOME_RELEASED);
    assert_ready_since(start);
    job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    test_sleep_ms(300);
    start = test_now_ms();
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = job.id}, NULL));
    assert_ready_since(start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(no_score_keeps_a_script_running),
        WORK_TEST(a_damaged_total_is_told_before_anything_is_written),
        WORK_TEST(a_damaged_count_of_a_group_is_none),
        WORK_TEST(a_damaged_record_goes_to_the_dead_letters_and_the_next_job_is_claimed),
        WORK_TEST(the_owner_is_told_of_a_damaged_record),
        WORK_TEST(a_waiter_that_is_given_a_damaged_record_waits_on),
        WORK_TEST(a_record_that_cannot_be_read_does_not_stop_the_others),
        WORK_TEST(draining_goes_on_behind_timers_and_schedules),
        WORK_TEST(many_parents_are_told_in_steps),
        WORK_TEST(a_flow_with_too_many_edges_is_refused),
        WORK_TEST(a_delay_beyond_ten_years_is_refused),
        WORK_TEST(a_retried_dead_letter_takes_its_key_from_a_holder_whose_time_is_over),
        WORK_TEST(timed_unique_keys_go_though_no_more_jobs_come),
        WORK_TEST(an_ended_lease_counts_as_ready),
        WORK_TEST(the_oldest_counts_from_when_it_became_ready),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
