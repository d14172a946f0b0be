/* SPDX-License-Identifier: MIT
 *
 * The limits of a queue that are kept on the server, and keys of other programs in its way.
 */
#include "support/work.h"

/* ---- Limits -------------------------------------------------------------- */

static const tkl_queue_limits no_limits = {.max_jobs = TKL_NONE,
                                           .max_bytes = TKL_NONE,
                                           .concurrency = TKL_NONE,
                                           .rate = TKL_NONE,
                                           .rate_period_ms = TKL_NONE,
                                           .group_concurrency = TKL_NONE,
                                           .group_rate = TKL_NONE,
                                           .group_rate_period_ms = TKL_NONE,
                                           .dead_max = 10000,
                                           .dead_ms = INT64_C(2592000000),
                                           .keep_ms = TKL_NONE,
                                           .keep_max = 10000,
                                           .keep_bytes = 16777216};

static void limits_are_kept_on_the_server(void **state)
{
    fixture *f = *state;
    const tkl_queue_limits limits = {.max_jobs = 1,
                                     .max_bytes = 2,
                                     .concurrency = 3,
                                     .rate = 4,
                                     .rate_period_ms = 5,
                                     .group_concurrency = 6,
                                     .group_rate = 7,
                                     .group_rate_period_ms = 8,
                                     .dead_max = 9,
                                     .dead_ms = 10,
                                     .keep_ms = 11,
                                     .keep_max = 12,
                                     .keep_bytes = 13};
    tkl_queue_limits got, none = no_limits, nothing = {0};
    assert_ok(tkl_queue_limits_get(queue, &got));
    assert_memory_equal(&got, &none, sizeof got);
    assert_ok(tkl_queue_limits_set(queue, &limits));
    assert_ok(tkl_queue_limits_set(queue, &nothing));
    tkl_queue *other = open_queue(f->client, "work", 0);
    assert_ok(tkl_queue_limits_get(other, &got));
    assert_memory_equal(&got, &limits, sizeof got);
    assert_ok(tkl_queue_limits_set(queue, &none));
    assert_ok(tkl_queue_limits_get(other, &got));
    assert_memory_equal(&got, &none, sizeof got);
    tkl_queue_close(other);
    assert_no_garbage(f->server);
}

static void limits_that_are_to_stay_are_kept(void **state)
{
    (void)state;
    tkl_queue_limits got, some = {.max_jobs = 5, .rate = 10, .rate_period_ms = 1000},
                          others = {.max_jobs = TKL_NONE, .dead_max = 7};
    assert_ok(tkl_queue_limits_set(queue, &some));
    assert_ok(tkl_queue_limits_set(queue, &others));
    assert_ok(tkl_queue_limits_get(queue, &got));
    tkl_queue_limits expected = no_limits;
    expected.rate = 10;
    expected.rate_period_ms = 1000;
    expected.dead_max = 7;
    assert_memory_equal(&got, &expected, sizeof got);
}

static void senseless_limits_are_refused(void **state)
{
    (void)state;
    static const tkl_queue_limits bad[] = {
        {.max_jobs = -2},
        {.concurrency = INT64_MAX},
        {.rate = 1},
        {.rate_period_ms = 1},
        {.rate = 1001, .rate_period_ms = 0},
        {.rate = 1001000, .rate_period_ms = 1000},
        {.rate = TKL_NONE, .rate_period_ms = 1000},
        {.rate = 5, .rate_period_ms = TKL_NONE},
        {.reserved = {1}},
        {.group_rate = 5},
        {.group_rate = 5, .group_rate_period_ms = INT64_C(1) << 51},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(tkl_queue_limits_set(queue, &bad[i]), TKL_EINVAL);
    tkl_queue_limits got;
    assert_ok(tkl_queue_limits_get(queue, &got));
    assert_memory_equal(&got, &no_limits, sizeof got);
}

static void a_full_queue_says_so(void **state)
{
    (void)state;
    assert_ok(set_exactly(queue, &(tkl_queue_limits){.max_jobs = 2}));
    push_text(queue, "a");
    push_text(queue, "b");
    job_id id;
    assert_code(push_code(queue, &(tkl_push){.payload = tkl_str("c")}, &id), TKL_FULL);
    assert_string_equal(id.text, "");
    assert_claims(consumer, queue, "a");
    push_text(queue, "c");
    assert_ok(set_exactly(queue, &(tkl_queue_limits){.max_bytes = 6}));
    assert_code(push_code(queue, &(tkl_push){.payload = tkl_str("dd")}, &id), TKL_FULL);
    push_text(queue, "d");
    assert_ok(set_exactly(queue, &(tkl_queue_limits){0}));
    push_text(queue, "eeeee");
    assert_claims(consumer, queue, "b c d eeeee");
}

static void only_the_newest_dead_letters_stay(void **state)
{
    fixture *f = *state;
    assert_ok(set_exactly(queue, &(tkl_queue_limits){.dead_max = 2}));
    bury("a");
    test_sleep_ms(2);
    bury("b");
    test_sleep_ms(2);
    bury("c");
    assert_peek(TKL_JOB_STATE_DEAD, 0, 10, "c b");
    assert_ok(set_exactly(queue, &(tkl_queue_limits){.dead_ms = 1}));
    test_sleep_ms(3);
    bury("d");
    assert_peek(TKL_JOB_STATE_DEAD, 0, 10, "d");
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    assert_int_equal(stats_of(queue).bytes, 0);
    assert_no_garbage(f->server);
}

/* A lower limit removes more dead letters than one step does. */
static void a_lower_limit_of_dead_letters_holds_at_once(void **state)
{
    fixture *f = *state;
    enum { N = 500 };
    static claimed jobs[N];
    for (int i = 0; i < N; i++)
        push_text(queue, "x");
    assert_int_equal(claim_some(consumer, N, jobs), N);
    for (int i = 0; i < N; i++)
        finish_job(queue, &jobs[i], TKL_OUTCOME_DEAD);
    assert_int_equal(stats_of(queue).dead, N);
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.dead_max = 3}));
    assert_int_equal(stats_of(queue).dead, 3);
    assert_int_equal(stats_of(queue).bytes, 3 * 2);
    test_sleep_ms(2);
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.dead_ms = 1}));
    assert_int_equal(stats_of(queue).dead, 0);
    assert_no_garbage(f->server);
}

/* An operator has removed the record by hand. */
static void a_dead_letter_without_a_record_is_trimmed(void **state)
{
    fixture *f = *state;
    bury("a");
    server_do(f->server, "DEL tackle:queue:{work}:jobs");
    assert_ok(set_exactly(queue, &(tkl_queue_limits){.dead_max = 1}));
    bury("b");
    assert_peek(TKL_JOB_STATE_DEAD, 0, 10, "b");
}

/* ---- In the way ---------------------------------------------------------- */

static void a_foreign_key_in_the_way_is_told(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "jobs",   "ready", "delayed", "active",
                                        "dead", "parked", "flow",  "waiters"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *key = test_format("tackle:queue:{work}:%s", parts[i]);
        server_do(f->server, "FLUSHALL");
        assert_ok(call_code(f->client, NULL, "SET", key, "mine", NULL));
        int codes[] = {tkl_queue_stats_get(queue, &(tkl_queue_stats){0}),
                       tkl_queue_drain(queue, NULL), tkl_queue_drop_dead(queue, NULL, NULL)};
        bool told = false;
        for (size_t k = 0; k < 3; k++) {
            assert_true(codes[k] == TKL_OK || codes[k] == TKL_ETYPE);
            told = told || codes[k] == TKL_ETYPE;
        }
        assert_true(told);
        call_expect(f->client, "mine", "GET", key, NULL);
        free(key);
    }
}

/* Operators can clear up, whatever is wrong in the keys. */
static void what_is_broken_can_be_cleared_away(void **state)
{
    fixture *f = *state;
    static const char *const zsets[] = {"ready", "delayed", "dead"};
    static const char *const records[] = {
        "", "no record", "\n", "priority=", "group=99 retries=x\n", "unique=5\nab"};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        for (size_t k = 0; k < 3; k++) {
            char *id = test_format("%012zx%zx", i + 1, k);
            server_do(f->server, "HSET tackle:queue:{work}:jobs %s %s", id, records[i]);
            server_do(f->server, "ZADD tackle:queue:{work}:%s 4000000000000 %s", zsets[k], id);
            if (i % 2)
                server_do(f->server, "HSET tackle:queue:{work}:history %s broken", id);
            free(id);
        }
    for (size_t k = 0; k < 3; k++) /* and one without a record */
        server_do(f->server, "ZADD tackle:queue:{work}:%s 4000000000000 fffffffffffff", zsets[k]);
    tkl_listing *l;
    static const tkl_job_state states[] = {TKL_JOB_STATE_READY, TKL_JOB_STATE_DELAYED,
                                           TKL_JOB_STATE_DEAD};
    for (size_t k = 0; k < 3; k++) {
        assert_ok(tkl_queue_peek(queue, states[k], 0, 100, 0, &l));
        assert_int_equal(l->count, 6);
        for (size_t i = 0; i < l->count; i++)
            assert_int_equal(state_of(queue, l->items[i].id), states[k]);
        tkl_listing_free(l);
    }
    assert_ok(tkl_queue_cancel(queue, "0000000000010"));
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = "0000000000022"}, NULL));
    int64_t count;
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, 12);
    assert_ok(tkl_queue_drop_dead(queue, NULL, &count));
    assert_int_equal(count, 5);
    assert_no_garbage(f->server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(limits_are_kept_on_the_server),
        WORK_TEST(limits_that_are_to_stay_are_kept),
        WORK_TEST(senseless_limits_are_refused),
        WORK_TEST(a_full_queue_says_so),
        WORK_TEST(only_the_newest_dead_letters_stay),
        WORK_TEST(a_dead_letter_without_a_record_is_trimmed),
        WORK_TEST(a_lower_limit_of_dead_letters_holds_at_once),
        WORK_TEST(a_foreign_key_in_the_way_is_told),
        WORK_TEST(what_is_broken_can_be_cleared_away),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
