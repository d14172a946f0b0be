/* SPDX-License-Identifier: MIT
 *
 * Logs by a clock that the test sets: the change of the hour, silence, a clock set back.
 */
#include <unistd.h>

#include <tackle/log.h>

#include "support/fixture.h"
#include "support/logs.h"
#include "support/process.h"
#include "support/timed.h"

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

/* A full hour. */
#define NOON_MS INT64_C(1800000000000)

typedef struct stage {
    timed_server *time;
    tkl_client *client;
    tkl_log *log;
} stage;

static stage stage_open(void)
{
    stage s = {.time = timed_start(NULL)};
    timed_set(s.time, NOON_MS + 60000);
    s.client = test_open(s.time->server->url, NULL);
    s.log = open_log(s.client, "shop");
    return s;
}

static void stage_close(stage *s)
{
    tkl_log_close(s->log);
    tkl_close(s->client);
    timed_end(s->time);
}

static void assert_totals(tkl_log *log, int64_t this, int64_t last)
{
    assert_int_equal(total(log, TKL_HOUR_THIS), this);
    assert_int_equal(total(log, TKL_HOUR_LAST), last);
}

static void this_hour_becomes_last_hour(void **state)
{
    (void)state;
    stage s = stage_open();
    say(s.log, TKL_LOG_INFO, "a");
    say(s.log, TKL_LOG_INFO, "a");
    assert_totals(s.log, 2, 0);
    timed_shift(s.time, HOUR_MS);
    assert_totals(s.log, 0, 2); /* nobody wrote: reading says so all the same */
    say(s.log, TKL_LOG_INFO, "b");
    assert_totals(s.log, 1, 2);
    tkl_log_counts *c = common(s.log, TKL_LOG_INFO, TKL_HOUR_LAST);
    assert_int_equal(c->start_ms, NOON_MS);
    assert_int_equal(c->items[0].times, 2);
    tkl_log_counts_free(c);
    timed_shift(s.time, HOUR_MS);
    say(s.log, TKL_LOG_INFO, "c");
    assert_totals(s.log, 1, 1);
    stage_close(&s);
}

static void hours_of_silence_leave_last_hour_empty(void **state)
{
    (void)state;
    for (int hours = 2; hours < 6; hours++) {
        stage s = stage_open();
        say(s.log, TKL_LOG_INFO, "a");
        timed_shift(s.time, hours * HOUR_MS);
        assert_totals(s.log, 0, 0);
        say(s.log, TKL_LOG_INFO, "b");
        assert_totals(s.log, 1, 0);
        stage_close(&s);
    }
}

static void tables_expire_by_themselves(void **state)
{
    (void)state;
    stage s = stage_open();
    say(s.log, TKL_LOG_INFO, "a");
    timed_shift(s.time, HOUR_MS);
    say(s.log, TKL_LOG_INFO, "a");
    assert_int_equal(call_int(s.client, "DBSIZE", NULL), 4);
    timed_shift(s.time, 2 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 1, 20000); /* recent */
    timed_shift(s.time, 30 * 24 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 0, 20000);
    stage_close(&s);
}

static void a_clock_set_back_neither_loses_nor_repeats(void **state)
{
    (void)state;
    static const struct {
        int64_t back_ms;
        int64_t this, last; /* after one more message */
    } steps[] = {
        {1000, 3, 1},               /* within the hour */
        {120000, 3, 1},             /* across the full hour: this table goes on */
        {HOUR_MS, 3, 1},            /* an hour */
        {2 * HOUR_MS, 1, 2},        /* more: it becomes last hour's */
        {365 * 24 * HOUR_MS, 1, 2}, /* a year */
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        stage s = stage_open();
        say(s.log, TKL_LOG_INFO, "a");
        timed_shift(s.time, HOUR_MS);
        say(s.log, TKL_LOG_INFO, "b");
        say(s.log, TKL_LOG_INFO, "b");
        assert_totals(s.log, 2, 1);
        timed_shift(s.time, -steps[i].back_ms);
        say(s.log, TKL_LOG_INFO, "c");
        assert_totals(s.log, steps[i].this, steps[i].last);
        stage_close(&s);
    }
}

static void a_clock_that_comes_back_goes_on(void **state)
{
    (void)state;
    stage s = stage_open();
    say(s.log, TKL_LOG_INFO, "a");
    timed_shift(s.time, -120000); /* 11:59 */
    say(s.log, TKL_LOG_INFO, "b");
    timed_shift(s.time, 120000);
    say(s.log, TKL_LOG_INFO, "c");
    assert_totals(s.log, 3, 0);
    timed_shift(s.time, HOUR_MS);
    say(s.log, TKL_LOG_INFO, "d");
    assert_totals(s.log, 1, 3);
    stage_close(&s);
}

enum { WRITERS = 8, EACH = 300 };

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

/* What is counted in both hours is what was written, at any moment. */
static void the_hour_changes_under_load_of_eight_processes(void **state)
{
    (void)state;
    pid_t writers[WRITERS];
    stage s = stage_open();
    timed_set(s.time, NOON_MS + HOUR_MS - 100);
    for (int i = 0; i < WRITERS; i++)
        writers[i] = process_fork(write_many, s.time->server->url);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(process_wait(writers[i]), 0);
    int64_t this = total(s.log, TKL_HOUR_THIS), last = total(s.log, TKL_HOUR_LAST);
    assert_int_equal(this + last, WRITERS * EACH * 3);
    assert_true(this > 0);
    /* All three messages of a step are in the same hour, although of two severities. */
    for (tkl_hour hour = TKL_HOUR_THIS; hour <= TKL_HOUR_LAST; hour++) {
        tkl_log_counts *c = common(s.log, TKL_LOG_ANY, hour);
        for (size_t i = 1; i < c->count; i++)
            assert_int_equal(c->items[i].times, c->items[0].times);
        tkl_log_counts_free(c);
    }
    stage_close(&s);
}

/* Between 12:45 and 13:15, back and forth: less than an hour. */
static void a_clock_that_jumps_around_the_full_hour_loses_nothing(void **state)
{
    (void)state;
    pid_t writers[WRITERS];
    stage s = stage_open();
    for (int i = 0; i < WRITERS; i++)
        writers[i] = process_fork(write_many, s.time->server->url);
    for (int i = 0; i < 200; i++) {
        timed_set(s.time, NOON_MS + HOUR_MS - 900000 + i * 7919 % 1800 * 1000);
        test_sleep_ms(1);
    }
    timed_set(s.time, NOON_MS + HOUR_MS + 900000);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(process_wait(writers[i]), 0);
    assert_int_equal(total(s.log, TKL_HOUR_THIS) + total(s.log, TKL_HOUR_LAST), WRITERS * EACH * 3);
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_time_stamped_by_the_server),
        cmocka_unit_test(this_hour_becomes_last_hour),
        cmocka_unit_test(hours_of_silence_leave_last_hour_empty),
        cmocka_unit_test(tables_expire_by_themselves),
        cmocka_unit_test(a_clock_set_back_neither_loses_nor_repeats),
        cmocka_unit_test(a_clock_that_comes_back_goes_on),
        cmocka_unit_test(the_hour_changes_under_load_of_eight_processes),
        cmocka_unit_test(a_clock_that_jumps_around_the_full_hour_loses_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
