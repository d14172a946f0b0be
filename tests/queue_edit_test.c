/* SPDX-License-Identifier: MIT
 *
 * Editing the payload of a job.
 */
#include "support/work.h"

static void assert_payload(const char *id, const char *payload)
{
    tkl_listing *l;
    assert_ok(tkl_queue_show(queue, id, 0, &l));
    assert_int_equal(l->items[0].payload.len, strlen(payload));
    assert_memory_equal(l->items[0].payload.data, payload, strlen(payload));
    tkl_listing_free(l);
}

static void a_ready_job_is_edited_and_keeps_the_rest(void **state)
{
    (void)state;
    push_text(queue, "first");
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("to an"),
                                            .kind = tkl_str("mail"),
                                            .meta = tkl_str("m"),
                                            .group = tkl_str("g"),
                                            .unique = tkl_str("key"),
                                            .retries = 3});
    push_text(queue, "last");
    assert_ok(tkl_queue_edit(queue, id.text, tkl_str("to ann, and more")));
    assert_claims(consumer, queue, "first");
    tkl_jobs *jobs;
    assert_ok(tkl_consumer_claim(consumer, 1, 0, &jobs));
    const tkl_job *job = &jobs->items[0];
    assert_string_equal(job->id, id.text);
    assert_int_equal(job->payload.len, 16);
    assert_memory_equal(job->payload.data, "to ann, and more", 16);
    assert_memory_equal(job->kind.data, "mail", 4);
    assert_memory_equal(job->meta.data, "m", 1);
    assert_memory_equal(job->group.data, "g", 1);
    assert_int_equal(job->retries, 3);
    tkl_pushed again;
    assert_ok(tkl_queue_push(queue, &(tkl_push){.unique = tkl_str("key"), .group = tkl_str("g")}, 1,
                             NULL, &again));
    assert_int_equal(again.code, TKL_EXISTS);
    assert_ok(tkl_consumer_finish(consumer, &(tkl_report){.job = job}, 1));
    tkl_jobs_free(jobs);
    assert_claims(consumer, queue, "last");
    assert_int_equal(stats_of(queue).bytes, 0);
}

/* Jobs can be edited in every state in which no worker has them. */
static void jobs_that_wait_in_other_ways_are_edited(void **state)
{
    (void)state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    job_id delayed = push_one(queue, &(tkl_push){.payload = tkl_str("x"), .delay_ms = 1000000});
    job_id running = push_group("g", "running"), parked = push_group("g", "x");
    claimed job = claim_one(consumer);
    assert_string_equal(job.id, running.text);
    assert_nothing_ready(consumer); /* the second one of the group is parked */
    const size_t first = 0;
    tkl_pushed flow[2];
    assert_ok(tkl_queue_push(
        queue, (tkl_push[]){{.delay_ms = 1000000}, {.after = &first, .after_count = 1}}, 2, NULL,
        flow));
    finish_job(queue, &job, TKL_OUTCOME_DONE);
    bury("x");
    tkl_listing *dead = peek(TKL_JOB_STATE_DEAD, 0, 1);
    const char *const ids[] = {delayed.text, parked.text, flow[1].id, dead->items[0].id};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        assert_ok(tkl_queue_edit(queue, ids[i], tkl_str("edited")));
        assert_payload(ids[i], "edited");
    }
    assert_ok(tkl_queue_retry(queue, NULL, NULL));
    tkl_listing_free(dead);
}

static void a_job_that_a_worker_has_is_not_edited(void **state)
{
    (void)state;
    job_id id = push_text(queue, "x");
    claimed job = claim_one(consumer);
    assert_code(tkl_queue_edit(queue, id.text, tkl_str("y")), TKL_BUSY);
    assert_payload(id.text, "x");
    finish_job(queue, &job, TKL_OUTCOME_DONE);
    assert_code(tkl_queue_edit(queue, id.text, tkl_str("y")), TKL_NOTFOUND);
    assert_code(tkl_queue_edit(queue, "nonsense", tkl_str("y")), TKL_NOTFOUND);
    assert_int_equal(stats_of(queue).bytes, 0);
}

static void a_payload_may_be_empty_or_of_any_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "\n=\0\xff 1";
    job_id id = push_text(queue, "x");
    assert_ok(tkl_queue_edit(queue, id.text, (tkl_bytes){bytes, sizeof bytes}));
    tkl_listing *l = peek(TKL_JOB_STATE_READY, 0, 1);
    assert_int_equal(l->items[0].payload.len, sizeof bytes);
    assert_memory_equal(l->items[0].payload.data, bytes, sizeof bytes);
    tkl_listing_free(l);
    assert_ok(tkl_queue_edit(queue, id.text, tkl_str("")));
    assert_payload(id.text, "");
    assert_int_equal(stats_of(queue).bytes, 1);
}

/* A large record is not sent in the message to a waiter, who fetches it. */
static void a_job_that_became_large_arrives(void **state)
{
    (void)state;
    size_t len = 200000;
    char *large = malloc(len);
    memset(large, 'x', len);
    job_id id = push_one(queue, &(tkl_push){.delay_ms = 1000000});
    assert_ok(tkl_queue_edit(queue, id.text, (tkl_bytes){large, len}));
    assert_ok(tkl_queue_promote(queue, id.text));
    tkl_jobs *jobs;
    assert_ok(tkl_consumer_claim(consumer, 1, 0, &jobs));
    assert_int_equal(jobs->items[0].payload.len, len);
    assert_memory_equal(jobs->items[0].payload.data, large, len);
    tkl_jobs_free(jobs);
    free(large);
}

static void a_queue_that_is_full_takes_no_larger_payload(void **state)
{
    (void)state;
    job_id id = push_text(queue, "1234567890");
    limit(&(tkl_queue_limits){.max_bytes = 12});
    assert_ok(tkl_queue_edit(queue, id.text, tkl_str("12345678901")));
    assert_code(tkl_queue_edit(queue, id.text, tkl_str("123456789012")), TKL_FULL);
    assert_payload(id.text, "12345678901");
    limit(&(tkl_queue_limits){.max_bytes = 5});
    assert_ok(tkl_queue_edit(queue, id.text, tkl_str("1234567890"))); /* a smaller one always */
    assert_int_equal(stats_of(queue).bytes, 11);
}

static void a_key_of_another_type_is_reported(void **state)
{
    fixture *f = *state;
    job_id id = push_text(queue, "x");
    server_do(f->server, "SET tackle:queue:{work}:dead x");
    assert_code(tkl_queue_edit(queue, id.text, tkl_str("y")), TKL_ETYPE);
    server_do(f->server, "DEL tackle:queue:{work}:dead");
    assert_payload(id.text, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(a_ready_job_is_edited_and_keeps_the_rest),
        WORK_TEST(jobs_that_wait_in_other_ways_are_edited),
        WORK_TEST(a_job_that_a_worker_has_is_not_edited),
        WORK_TEST(a_payload_may_be_empty_or_of_any_bytes),
        WORK_TEST(a_job_that_became_large_arrives),
        WORK_TEST(a_queue_that_is_full_takes_no_larger_payload),
        WORK_TEST(a_key_of_another_type_is_reported),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
