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

static int say_at(void *it, int64_t at_ms)
{
    tkl_log_message message = {.severity = TKL_LOG_INFO, .text = TKL_LIT("a"), .at_ms = at_ms};
    return tkl_log_write(it, &message, 1);
}

static void expect_totals(void *it, int64_t this, int64_t last)
{
    assert_int_equal(total(it, TKL_HOUR_THIS), this);
    assert_int_equal(total(it, TKL_HOUR_LAST), last);
}

static const hourly logs = {.open = open_shop,
                            .close = close_log,
                            .add = say_one,
                            .add_at = say_at,
                            .expect = expect_totals};

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
    an_earlier_time_counts_in_its_hour(&logs);
}

/* Recent messages keep the order of writing and show their own times; tails get them as well. */
static void messages_of_an_earlier_time_show_it(void **state)
{
    (void)state;
    stage s = stage_open(&logs);
    tkl_log_tail *tail;
    tkl_log_entries *entries;
    assert_ok(tkl_log_tail_open(s.it, TKL_LOG_ANY, 0, NULL, &tail));
    assert_code(tkl_log_tail_next(tail, 0, &entries), TKL_EMPTY);
    const tkl_log_message messages[] = {
        {.severity = TKL_LOG_INFO, .text = TKL_LIT("now")},
        {.severity = TKL_LOG_ERROR, .text = TKL_LIT("then"), .at_ms = NOON_MS - 1000},
        {.severity = TKL_LOG_ERROR, .text = TKL_LIT("before"), .at_ms = NOON_MS - 2000},
        {.severity = TKL_LOG_INFO, .text = TKL_LIT("again")},
    };
    assert_ok(tkl_log_write(s.it, messages, 4));
    assert_recent(s.it, TKL_LOG_ANY, 10, "now then before again ");
    assert_ok(tkl_log_tail_next(tail, 20000, &entries));
    assert_int_equal(entries->count, 4);
    assert_int_equal(entries->items[1].time_ms, NOON_MS - 1000);
    assert_int_equal(entries->items[2].time_ms, NOON_MS - 2000);
    tkl_log_entries_free(entries);
    assert_ok(tkl_log_since(s.it, TKL_LOG_ANY, NOON_MS - 1000, 10, &entries));
    assert_int_equal(entries->count, 3);
    tkl_log_entries_free(entries);
    tkl_log_counts *c = common(s.it, TKL_LOG_ANY, TKL_HOUR_SLIDING);
    assert_int_equal(c->count, 4);
    tkl_log_counts_free(c);
    tkl_log_tail_close(tail);
    stage_close(&s);
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

/* Counts of both hours are added. A table without room for a message may have counted it before. */
static void both_hours_are_put_together(void **state)
{
    (void)state;
    stage s = stage_open(&logs);
    tkl_log *small;
    assert_ok(tkl_log_open(s.client, tkl_str("small"), &(tkl_log_options){.distinct = 2}, &small));
    static const char *const first[] = {"a", "a", "b", "c"}, *const second[] = {"a", "d"};
    for (int i = 0; i < 4; i++)
        say(small, TKL_LOG_INFO, first[i]);
    timed_shift(s.time, HOUR_MS);
    for (int i = 0; i < 2; i++)
        say(small, TKL_LOG_INFO, second[i]);
    tkl_log_counts *c = common(small, TKL_LOG_ANY, TKL_HOUR_BOTH);
    assert_int_equal(c->start_ms, NOON_MS);
    assert_int_equal(c->bound, 1);
    assert_int_equal(c->count, 3); /* a 3, c 2 (b's place), d 1 and perhaps 1 in the first hour */
    assert_memory_equal(c->items[0].message.data, "a", 1);
    assert_int_equal(c->items[0].times, 3);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(c->items[i].times, 2);
        assert_int_equal(c->items[i].excess, 1);
    }
    tkl_log_counts_free(c);
    tkl_log_close(small);
    stage_close(&s);
}

/* ---- The last 60 minutes ------------------------------------------------- */

/* Sets the clock to a minute behind noon, and asks. */
static void expect_sliding(stage *s, int minute, int64_t times, int64_t excess)
{
    timed_set(s->time, NOON_MS + minute * INT64_C(60000));
    tkl_log_counts *c = common(s->it, TKL_LOG_INFO, TKL_HOUR_SLIDING);
    assert_in_range(c->start_ms, NOON_MS + (minute - 60) * INT64_C(60000),
                    NOON_MS + (minute - 59) * INT64_C(60000));
    assert_int_equal(c->count, times > 0);
    if (times > 0) {
        assert_int_equal(c->items[0].times, times);
        assert_int_equal(c->items[0].excess, excess);
    }
    tkl_log_counts_free(c);
}

static void the_last_60_minutes_slide(void **state)
{
    (void)state;
    stage s = stage_open(&logs);
    expect_sliding(&s, 5, 0, 0);
    stage_add(&s, 1, 1, 0); /* 12:05 */
    timed_set(s.time, NOON_MS + 15 * INT64_C(60000));
    stage_add(&s, 2, 3, 0); /* 12:15 */
    timed_set(s.time, NOON_MS + 59 * INT64_C(60000));
    stage_add(&s, 4, 7, 0); /* 12:59 */
    expect_sliding(&s, 59, 7, 0);
    expect_sliding(&s, 63, 7, 1); /* since 12:03: nobody wrote in this hour yet */
    timed_set(s.time, NOON_MS + 64 * INT64_C(60000));
    stage_add(&s, 8, 8, 7);        /* 13:04 */
    expect_sliding(&s, 69, 15, 1); /* since 12:09: that of 12:05 is counted, and is in doubt */
    expect_sliding(&s, 71, 14, 2);
    expect_sliding(&s, 80, 12, 0);
    expect_sliding(&s, 118, 12, 4);
    expect_sliding(&s, 123, 8, 8);
    expect_sliding(&s, 130, 0, 0);
    stage_close(&s);
}

/* A clock that was set back writes into an hour that has not begun. */
static void the_last_60_minutes_survive_a_clock_set_back(void **state)
{
    (void)state;
    stage s = stage_open(&logs);
    stage_add(&s, 1, 1, 0); /* 12:01 */
    timed_set(s.time, NOON_MS - 120000);
    stage_add(&s, 1, 2, 0); /* 11:58 */
    expect_sliding(&s, 30, 2, 0);
    expect_sliding(&s, 65, 2, 2);
    expect_sliding(&s, 70, 0, 0);
    stage_close(&s);
}

enum { KINDS = 60, ROOM = 20, MINUTES = 400 };

/* How often each kind was written since a minute, up to now. */
static int64_t written_since(const int written[MINUTES][KINDS], int minute, int now, int kind)
{
    int64_t sum = 0;
    for (int i = minute < 0 ? 0 : minute; i < now; i++)
        sum += written[i][kind];
    return sum;
}

/* Random messages for hours, more kinds than there is room for, beside a log with room for all. */
static void sliding_counts_are_within_what_they_promise(void **state)
{
    (void)state;
    static int written[MINUTES][KINDS];
    stage s = stage_open(&logs);
    unsigned seed = 7;
    tkl_log *both[2];
    assert_ok(
        tkl_log_open(s.client, tkl_str("small"), &(tkl_log_options){.distinct = ROOM}, &both[0]));
    assert_ok(tkl_log_open(s.client, tkl_str("large"), NULL, &both[1]));
    memset(written, 0, sizeof written);
    for (int now = 1; now < MINUTES; now++) {
        timed_set(s.time, NOON_MS + now * INT64_C(60000) - 30000);
        for (int i = 0; now % 90 < 80 && i < 5; i++) { /* ten minutes of silence */
            int kind = rand_r(&seed) % 2 ? now / 25 : (int)(rand_r(&seed) % KINDS);
            written[now - 1][kind]++;
            for (int k = 0; k < 2; k++)
                assert_ok(tkl_log_print(both[k], TKL_LOG_ERROR, "%d", kind));
        }
        timed_set(s.time, NOON_MS + now * INT64_C(60000));
        for (int k = 0; k < 2 && now % 7 == 0; k++) {
            tkl_log_counts *c = common(both[k], TKL_LOG_ERROR, TKL_HOUR_SLIDING);
            bool listed[KINDS] = {false};
            for (size_t i = 0; i < c->count; i++) {
                int kind = atoi(c->items[i].message.data);
                int64_t truth = written_since(written, now - 60, now, kind);
                int64_t slices = written_since(written, (now - 60) / 10 * 10, now, kind);
                listed[kind] = true;
                assert_in_range(truth, c->items[i].times - c->items[i].excess, c->items[i].times);
                if (k == 1)
                    assert_int_equal(c->items[i].times, slices);
            }
            for (int i = 0; i < KINDS; i++)
                assert_true(listed[i] || written_since(written, now - 60, now, i) <= c->bound);
            tkl_log_counts_free(c);
        }
    }
    assert_in_range(call_int(s.client, "HLEN", "tackle:log:{small}:hour:error", NULL), 2,
                    2 + 6 * ROOM);
    for (int k = 0; k < 2; k++)
        tkl_log_close(both[k]);
    stage_close(&s);
}

static void tables_expire_by_themselves(void **state)
{
    (void)state;
    stage s = stage_open(&logs);
    stage_add(&s, 1, 1, 0);
    timed_shift(s.time, HOUR_MS);
    stage_add(&s, 1, 1, 1);
    assert_int_equal(call_int(s.client, "DBSIZE", NULL), 5);
    timed_shift(s.time, 2 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 1, 20000); /* recent */
    timed_shift(s.time, 30 * 24 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 0, 20000);
    stage_close(&s);
}

enum { EACH = 300 };

/* Writes messages, in a process of its own; returns the number of failures. */
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

/* The messages counted in both hours are those that were written. */
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
        cmocka_unit_test(messages_of_an_earlier_time_show_it),
        cmocka_unit_test(last_hours_table_says_which_hour_it_is_of),
        cmocka_unit_test(both_hours_are_put_together),
        cmocka_unit_test(the_last_60_minutes_slide),
        cmocka_unit_test(the_last_60_minutes_survive_a_clock_set_back),
        cmocka_unit_test(sliding_counts_are_within_what_they_promise),
        cmocka_unit_test(tables_expire_by_themselves),
        cmocka_unit_test(the_hour_changes_under_load_of_eight_processes),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
