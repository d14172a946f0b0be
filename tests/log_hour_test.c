/* SPDX-License-Identifier: MIT
 *
 * Logs by a clock that the test sets: the change of the hour, silence, a clock set back.
 */
#include <unistd.h>

#include <tackle/log.h>

#include "support/hourly.h"
#include "support/logs.h"

/* ---- Logs as something hourly -------------------------------------------- */

static void *open_shop(tkl_client *client)
{
    return open_log(client, "shop");
}

static void close_log(void *it)
{
    tkl_log_close(it);
}

static void say_one(void *it)
{
    say(it, TKL_LOG_INFO, "a");
}

static void expect_totals(void *it, int64_t this, int64_t last)
{
    assert_int_equal(total(it, TKL_HOUR_THIS), this);
    assert_int_equal(total(it, TKL_HOUR_LAST), last);
}

static const hourly logs = {
    .open = open_shop, .close = close_log, .add = say_one, .expect = expect_totals};

/* ---- The clock ----------------------------------------------------------- */

static void messages_are_time_stamped_by_the_server(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_log *log = open_log(client, "shop");
    tkl_log_entries *entries;
    timed_set(t, INT64_C(1800000000000));
    say(log, TKL_LOG_INFO, "a");
    timed_shift(t, 5000);
    say(log, TKL_LOG_ERROR, "b");
    timed_shift(t, -60000); /* the order stays */
    say(log, TKL_LOG_ERROR, "c");
    assert_ok(tkl_log_recent(log, TKL_LOG_ANY, 10, &entries));
    assert_int_equal(entries->count, 3);
    assert_in_range(entries->items[0].time_ms, INT64_C(1800000000000), INT64_C(1800000004999));
    assert_int_equal(entries->items[0].severity, TKL_LOG_INFO);
    assert_in_range(entries->items[1].time_ms, INT64_C(1800000005000), INT64_C(1800000050000));
    assert_int_equal(entries->items[1].severity, TKL_LOG_ERROR);
    assert_memory_equal(entries->items[2].message.data, "c", 1);
    tkl_log_entries_free(entries);
    tkl_log_close(log);
    tkl_close(client);
    timed_end(t);
}

/* ---- The hour ------------------------------------------------------------ */

static void the_rules_of_the_hour_are_kept(void **state)
{
    (void)state;
    this_hour_becomes_last_hour(&logs);
    hours_of_silence_leave_last_hour_empty(&logs);
    a_clock_set_back_neither_loses_nor_repeats(&logs);
    a_clock_that_comes_back_goes_on(&logs);
}

static void last_hours_table_says_which_hour_it_is_of(void **state)
{
    (void)state;
    stage s = stage_open(&logs);
    stage_add(&s, 2, 2, 0);
    timed_shift(s.time, HOUR_MS);
    stage_add(&s, 1, 1, 2);
    tkl_log_counts *c = common(s.it, TKL_LOG_INFO, TKL_HOUR_LAST);
    assert_int_equal(c->start_ms, NOON_MS);
    assert_int_equal(c->items[0].times, 2);
    tkl_log_counts_free(c);
    stage_close(&s);
}

static void tables_expire_by_themselves(void **state)
{
    (void)state;
    stage s = stage_open(&logs);
    stage_add(&s, 1, 1, 0);
    timed_shift(s.time, HOUR_MS);
    stage_add(&s, 1, 1, 1);
    assert_int_equal(call_int(s.client, "DBSIZE", NULL), 4);
    timed_shift(s.time, 2 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 1, 20000); /* recent */
    timed_shift(s.time, 30 * 24 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 0, 20000);
    stage_close(&s);
}

enum { EACH = 300 };

/* Writes its messages; the result is the number of failures. */
static int write_many(void *url)
{
    tkl_client *client;
    tkl_log *log;
    int failures = 0;
    if (tkl_open(url, &(tkl_options){.timeout_ms = 60000}, &client) != TKL_OK ||
        tkl_log_open(client, tkl_str("shop"), NULL, &log) != TKL_OK)
        return 100;
    for (int i = 0; i < EACH; i++) {
        tkl_log_message batch[3] = {{.severity = TKL_LOG_INFO, .text = tkl_str("a")},
                                    {.severity = TKL_LOG_ERROR, .text = tkl_str("b")},
                                    {.severity = TKL_LOG_INFO, .text = tkl_str("c")}};
        failures += tkl_log_write(log, batch, 3) != TKL_OK;
        usleep(500);
    }
    tkl_log_close(log);
    tkl_close(client);
    return failures;
}

/* All three messages of a step are in the same hour, although of two severities. */
static void assert_whole_steps(tkl_log *log)
{
    for (tkl_hour hour = TKL_HOUR_THIS; hour <= TKL_HOUR_LAST; hour++) {
        tkl_log_counts *c = common(log, TKL_LOG_ANY, hour);
        for (size_t i = 1; i < c->count; i++)
            assert_int_equal(c->items[i].times, c->items[0].times);
        tkl_log_counts_free(c);
    }
}

/* What is counted in both hours is what was written. */
static void the_hour_changes_under_load_of_eight_processes(void **state)
{
    (void)state;
    for (int jumping = 0; jumping < 2; jumping++) {
        stage s = stage_open(&logs);
        hour_changes_under_load(&s, write_many, jumping);
        int64_t this = total(s.it, TKL_HOUR_THIS);
        assert_true(this > 0);
        expect_totals(s.it, this, HOURLY_WRITERS * EACH * 3 - this);
        assert_whole_steps(s.it);
        stage_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_time_stamped_by_the_server),
        cmocka_unit_test(the_rules_of_the_hour_are_kept),
        cmocka_unit_test(last_hours_table_says_which_hour_it_is_of),
        cmocka_unit_test(tables_expire_by_themselves),
        cmocka_unit_test(the_hour_changes_under_load_of_eight_processes),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
