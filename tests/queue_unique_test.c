/* SPDX-License-Identifier: MIT
 *
 * Unique jobs: which keys are equal, and when a key is free again.
 *
 * ctest: label threads
 */
#include "support/work.h"

static void unique_until(tkl_unique_mode mode, tkl_push *job, tkl_bytes key)
{
    *job = (tkl_push){.payload = tkl_str("x"),
                      .unique = key,
                      .unique_mode = mode,
                      .unique_ms = mode == TKL_UNIQUE_FOR_A_TIME ? 3600000 : 0};
}

static void each_key_is_a_key_of_its_own(void **state)
{
    fixture *f = *state;
    job_id ids[ODD_KEYS], again;
    tkl_push job;
    for (int i = 0; i < ODD_KEYS; i++) {
        unique_until(TKL_UNIQUE_UNTIL_FINISHED, &job, odd_keys[i]);
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

/* Ways to end the job, and whether another one may come then, in each of the modes. */
static void a_key_is_free_when_its_mode_says(void **state)
{
    fixture *f = *state;
    enum { CLAIMED, DONE, FAILED, RELEASED, DEAD, CANCELLED, DRAINED };
    static const struct {
        int what;
        tkl_unique_mode mode;
        int code;
    } cases[] = {
        {CLAIMED, TKL_UNIQUE_UNTIL_FINISHED, TKL_EXISTS},
        {CLAIMED, TKL_UNIQUE_UNTIL_STARTED, TKL_OK},
        {CLAIMED, TKL_UNIQUE_FOR_A_TIME, TKL_EXISTS},
        {DONE, TKL_UNIQUE_UNTIL_FINISHED, TKL_OK},
        {DONE, TKL_UNIQUE_UNTIL_STARTED, TKL_OK},
        {DONE, TKL_UNIQUE_FOR_A_TIME, TKL_EXISTS},
        {FAILED, TKL_UNIQUE_UNTIL_FINISHED, TKL_EXISTS},
        {FAILED, TKL_UNIQUE_UNTIL_STARTED, TKL_OK},
        {FAILED, TKL_UNIQUE_FOR_A_TIME, TKL_EXISTS},
        {RELEASED, TKL_UNIQUE_UNTIL_FINISHED, TKL_EXISTS},
        {RELEASED, TKL_UNIQUE_UNTIL_STARTED, TKL_OK},
        {RELEASED, TKL_UNIQUE_FOR_A_TIME, TKL_EXISTS},
        {DEAD, TKL_UNIQUE_UNTIL_FINISHED, TKL_OK},
        {DEAD, TKL_UNIQUE_UNTIL_STARTED, TKL_OK},
        {DEAD, TKL_UNIQUE_FOR_A_TIME, TKL_EXISTS},
        {CANCELLED, TKL_UNIQUE_UNTIL_FINISHED, TKL_OK},
        {CANCELLED, TKL_UNIQUE_UNTIL_STARTED, TKL_OK},
        {CANCELLED, TKL_UNIQUE_FOR_A_TIME, TKL_EXISTS},
        {DRAINED, TKL_UNIQUE_UNTIL_FINISHED, TKL_OK},
        {DRAINED, TKL_UNIQUE_UNTIL_STARTED, TKL_OK},
        {DRAINED, TKL_UNIQUE_FOR_A_TIME, TKL_EXISTS},
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
                           cases[i].what == DONE       ? TKL_OUTCOME_DONE
                           : cases[i].what == RELEASED ? TKL_OUTCOME_RELEASED
                                                       : TKL_OUTCOME_DEAD);
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
                    .unique_mode = TKL_UNIQUE_FOR_A_TIME,
                    .unique_ms = 40};
    job_id first = push_one(queue, &job), second;
    eventually(push_code(queue, &job, &second) == TKL_OK, 10000);
    assert_string_not_equal(first.text, second.text);
    assert_claims(consumer, queue, "x x");
    job.unique = tkl_str("other"); /* pushing clears away what is over */
    eventually(push_code(queue, &job, NULL) == TKL_OK &&
                   call_int(f->client, "HLEN", "tackle:queue:{work}:unique", NULL) == 1,
               10000);
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:queue:{work}:unique_ends", NULL), 1);
}

static void a_job_that_comes_back_does_not_take_its_key_from_another(void **state)
{
    fixture *f = *state;
    tkl_push job;
    unique_until(TKL_UNIQUE_UNTIL_STARTED, &job, tkl_str("k"));
    push_one(queue, &job);
    claimed first = claim_one(consumer);
    job_id second = push_one(queue, &job), found;
    finish_job(queue, &first, TKL_OUTCOME_RELEASED);
    claimed again = claim_one(consumer);
    assert_string_equal(again.id, first.id);
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_string_equal(found.text, second.text);
    finish_job(queue, &again, TKL_OUTCOME_DONE);
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_claims(consumer, queue, "x");
    assert_no_garbage(f->server);
}

static void a_retried_dead_letter_takes_its_key_if_it_is_free(void **state)
{
    fixture *f = *state;
    tkl_push job;
    unique_until(TKL_UNIQUE_UNTIL_FINISHED, &job, tkl_str("k"));
    push_one(queue, &job);
    claimed dead = claim_one(consumer);
    finish_job(queue, &dead, TKL_OUTCOME_DEAD);
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = dead.id}, NULL));
    job_id found;
    assert_code(push_code(queue, &job, &found), TKL_EXISTS);
    assert_string_equal(found.text, dead.id);

    dead = claim_one(consumer);
    finish_job(queue, &dead, TKL_OUTCOME_DEAD);
    job_id other = push_one(queue, &job);
    assert_ok(tkl_queue_retry(queue, NULL, NULL));
    claimed first = claim_one(consumer); /* the retried one is older */
    assert_string_equal(first.id, dead.id);
    finish_job(queue, &first, TKL_OUTCOME_DONE);
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
        unique_until(TKL_UNIQUE_UNTIL_FINISHED, &jobs[i], tkl_str(i == 1 ? "other" : "same"));
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
    unique_until(TKL_UNIQUE_UNTIL_FINISHED, &jobs[0], tkl_str("k"));
    unique_until(TKL_UNIQUE_UNTIL_FINISHED, &jobs[1], tkl_str("k"));
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
    unique_until(TKL_UNIQUE_UNTIL_FINISHED, &job, tkl_str("a"));
    push_one(queue, &job);
    assert_code(push_code(queue, &job, NULL), TKL_EXISTS);
    unique_until(TKL_UNIQUE_UNTIL_FINISHED, &job, tkl_str("b"));
    assert_code(push_code(queue, &job, NULL), TKL_FULL);
    assert_claims(consumer, queue, "x");
    push_one(queue, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(each_key_is_a_key_of_its_own),
        WORK_TEST(a_key_is_free_when_its_mode_says),
        WORK_TEST(a_key_for_a_time_is_free_after_it),
        WORK_TEST(a_job_that_comes_back_does_not_take_its_key_from_another),
        WORK_TEST(a_retried_dead_letter_takes_its_key_if_it_is_free),
        WORK_TEST(of_equals_in_one_push_the_first_counts),
        WORK_TEST(a_repeated_request_answers_the_same),
        WORK_TEST(unique_jobs_are_refused_by_a_full_queue),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
