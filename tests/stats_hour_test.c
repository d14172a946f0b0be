/* SPDX-License-Identifier: MIT
 *
 * Statistics by a clock that the test sets: the change of the hour, silence, a clock set back.
 */
#include <unistd.h>

#include "support/hourly.h"
#include "support/statistics.h"

/* ---- Statistics as something hourly -------------------------------------- */

static void *open_time(tkl_client *client)
{
    return open_stats(client, "time");
}

static void close_stats(void *it)
{
    tkl_stats_close(it);
}

static void record_one(void *it)
{
    record(it, "x", 1);
}

static int record_at(void *it, int64_t at_ms)
{
    tkl_stats_value value = {.context = TKL_LIT("x"), .value = 1, .at_ms = at_ms};
    return tkl_stats_record(it, &value, 1);
}

/* Checks the context and the whole type. */
static void expect_counts(void *it, int64_t this, int64_t last)
{
    tkl_stats *s = it;
    tkl_stats_ranking *r;
    assert_int_equal(count_of(s, "x", TKL_HOUR_THIS), this);
    assert_int_equal(count_of(s, "x", TKL_HOUR_LAST), last);
    assert_int_equal(count_of(s, "x", TKL_HOUR_BOTH), this + last);
    assert_ok(tkl_stats_slowest(s, TKL_HOUR_THIS, 10, &r));
    assert_int_equal(r->value_count, this);
    assert_int_equal(r->count, this > 0);
    tkl_stats_ranking_free(r);
    assert_ok(tkl_stats_slowest(s, TKL_HOUR_LAST, 10, &r));
    assert_int_equal(r->value_count, last);
    assert_int_equal(r->count, last > 0);
    tkl_stats_ranking_free(r);
}

static const hourly statistics = {.open = open_time,
                                  .close = close_stats,
                                  .add = record_one,
                                  .add_at = record_at,
                                  .expect = expect_counts};

/* ---- The hour ------------------------------------------------------------ */

static void the_rules_of_the_hour_are_kept(void **state)
{
    (void)state;
    this_hour_becomes_last_hour(&statistics);
    hours_of_silence_leave_last_hour_empty(&statistics);
    a_clock_set_back_neither_loses_nor_repeats(&statistics);
    a_clock_that_comes_back_goes_on(&statistics);
    an_earlier_time_counts_in_its_hour(&statistics);
}

static void both_hours_can_be_put_together(void **state)
{
    (void)state;
    stage s = stage_open(&statistics);
    record(s.it, "x", 1);
    record(s.it, "x", 3);
    timed_shift(s.time, HOUR_MS);
    record(s.it, "x", 8);
    tkl_stats_summary *m = show(s.it, "x", TKL_HOUR_LAST);
    assert_int_equal(m->start_ms, NOON_MS);
    assert_close(m->mean, 2, 0);
    tkl_stats_summary_free(m);
    m = show(s.it, "x", TKL_HOUR_BOTH);
    assert_int_equal(m->start_ms, NOON_MS);
    assert_close(m->mean, 4, 1e-12);
    tkl_stats_summary_free(m);
    stage_close(&s);
}

/* Values of several contexts and times in one call, some of them now. */
static void values_of_different_hours_go_apart(void **state)
{
    (void)state;
    stage s = stage_open(&statistics);
    const tkl_stats_value values[] = {
        {.context = TKL_LIT("x"), .value = 1},
        {.context = TKL_LIT("x"), .value = 5, .at_ms = NOON_MS - 2},
        {.context = TKL_LIT("y"), .value = 2},
        {.context = TKL_LIT("x"), .value = 7, .at_ms = NOON_MS - 1},
        {.context = TKL_LIT("x"), .value = 3, .at_ms = NOON_MS},
    };
    assert_ok(tkl_stats_record(s.it, values, 5));
    tkl_stats_summary *m = show(s.it, "x", TKL_HOUR_LAST);
    assert_int_equal(m->start_ms, NOON_MS - HOUR_MS);
    assert_int_equal(m->count, 2);
    assert_close(m->mean, 6, 0);
    assert_close(m->stddev, 1.4142135623731, 1e-9);
    assert_close(m->min, 5, 0);
    assert_close(m->max, 7, 0);
    tkl_stats_summary_free(m);
    m = show(s.it, "x", TKL_HOUR_THIS);
    assert_int_equal(m->count, 2);
    assert_close(m->mean, 2, 0);
    tkl_stats_summary_free(m);
    tkl_stats_ranking *r;
    assert_ok(tkl_stats_slowest(s.it, TKL_HOUR_LAST, 10, &r));
    assert_int_equal(r->count, 1);
    assert_close(r->mean, 6, 0);
    tkl_stats_ranking_free(r);
    eventually(call_int(s.client, "TTL", "tackle:stats:{time}:rank_last", NULL) > 0, 1000);
    stage_close(&s);
}

/* The first value of an hour must not remove anything when it cannot be added. */
static void a_full_server_records_nothing_in_a_new_hour(void **state)
{
    (void)state;
    for (int hours = 1; hours < 4; hours++) {
        stage s = stage_open(&statistics);
        static const char *const contexts[] = {"x", "new"};
        stage_add(&s, 1, 1, 0);
        timed_shift(s.time, HOUR_MS);
        stage_add(&s, 1, 1, 1);
        timed_shift(s.time, (hours - 1) * HOUR_MS);
        server_do(s.time->server, "CONFIG SET maxmemory 1");
        for (int i = 0; i < 2; i++) {
            tkl_stats_value one = {.context = tkl_str(contexts[i]), .value = 1};
            assert_code(tkl_stats_record(s.it, &one, 1), TKL_EOOM);
        }
        stage_add(&s, 0, hours == 1, hours < 3);
        server_do(s.time->server, "CONFIG SET maxmemory 0");
        stage_add(&s, 1, 1 + (hours == 1), hours < 3);
        stage_close(&s);
    }
}

/* A machine without a battery begins there. */
static void the_first_hour_of_1970_is_an_hour(void **state)
{
    (void)state;
    stage s = stage_open(&statistics);
    timed_set(s.time, 100000);
    record(s.it, "x", 3);
    tkl_stats_summary *m = show(s.it, "x", TKL_HOUR_THIS);
    assert_close(m->min, 3, 0);
    assert_close(m->p50, 3, 0);
    tkl_stats_summary_free(m);
    assert_true(call_int(s.client, "PTTL", "tackle:stats:{time}:this:x", NULL) > 0);
    stage_close(&s);
}

static void everything_expires_by_itself(void **state)
{
    (void)state;
    stage s = stage_open(&statistics);
    stage_add(&s, 1, 1, 0);
    timed_shift(s.time, HOUR_MS);
    stage_add(&s, 1, 1, 1);
    assert_int_equal(call_int(s.client, "DBSIZE", NULL), 5);
    timed_shift(s.time, 2 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 0, 20000);
    stage_close(&s);
}

enum { EACH = 300 };

static int record_many(void *url)
{
    tkl_client *client;
    tkl_stats *stats;
    int failures = 0;
    if (tkl_open(url, &(tkl_options){.timeout_ms = 60000}, &client) != TKL_OK ||
        tkl_stats_open(client, tkl_str("time"), NULL, &stats) != TKL_OK)
        return 100;
    for (int i = 0; i < EACH; i++) {
        tkl_stats_value values[] = {{.context = TKL_LIT("x"), .value = i},
                                    {.context = TKL_LIT("x"), .value = 2}};
        failures += tkl_stats_record(stats, values, 2) != TKL_OK;
        usleep(500);
    }
    tkl_stats_close(stats);
    tkl_close(client);
    return failures;
}

static void the_hour_changes_under_load_of_eight_processes(void **state)
{
    (void)state;
    for (int jumping = 0; jumping < 2; jumping++) {
        stage s = stage_open(&statistics);
        hour_changes_under_load(&s, record_many, jumping);
        tkl_stats_summary *m = show(s.it, "x", TKL_HOUR_BOTH);
        assert_int_equal(m->count, HOURLY_WRITERS * EACH * 2);
        assert_close(m->sum, HOURLY_WRITERS * (EACH * (EACH - 1) / 2 + EACH * 2), 0);
        tkl_stats_summary_free(m);
        int64_t this = count_of(s.it, "x", TKL_HOUR_THIS);
        assert_true(this > 0);
        expect_counts(s.it, this, HOURLY_WRITERS * EACH * 2 - this);
        stage_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rules_of_the_hour_are_kept),
        cmocka_unit_test(both_hours_can_be_put_together),
        cmocka_unit_test(values_of_different_hours_go_apart),
        cmocka_unit_test(a_full_server_records_nothing_in_a_new_hour),
        cmocka_unit_test(the_first_hour_of_1970_is_an_hour),
        cmocka_unit_test(everything_expires_by_itself),
        cmocka_unit_test(the_hour_changes_under_load_of_eight_processes),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
