/* SPDX-License-Identifier: MIT
 *
 * Statistics by a clock that the test sets: the change of the hour, silence, a clock set back.
 */
#include <math.h>
#include <unistd.h>

#include <tackle/stats.h>

#include "support/fixture.h"
#include "support/process.h"
#include "support/timed.h"

static tkl_stats *open_stats(tkl_client *client, const char *type)
{
    tkl_stats *stats;
    assert_ok(tkl_stats_open(client, tkl_str(type), NULL, &stats));
    return stats;
}

static void record(tkl_stats *stats, const char *context, double value)
{
    tkl_stats_value one = {.context = tkl_str(context), .value = value};
    assert_ok(tkl_stats_record(stats, &one, 1));
}

static int show_code(tkl_stats *stats, const char *context, tkl_hour hour,
                     tkl_stats_summary **summary)
{
    tkl_bytes name = tkl_str(context);
    return tkl_stats_show(stats, &name, 1, hour, summary);
}

static tkl_stats_summary *show(tkl_stats *stats, const char *context, tkl_hour hour)
{
    tkl_stats_summary *summary;
    assert_ok(show_code(stats, context, hour, &summary));
    return summary;
}

/* 0 when there is nothing. */
static int64_t count_of(tkl_stats *stats, const char *context, tkl_hour hour)
{
    tkl_stats_summary *summary;
    int rc = show_code(stats, context, hour, &summary);
    if (rc == TKL_NOTFOUND)
        return 0;
    assert_ok(rc);
    int64_t count = summary->count;
    tkl_stats_summary_free(summary);
    return count;
}

static void assert_close(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("expected %.17g within %g, got %.17g", expected, tolerance, got);
}

/* ---- The hour ------------------------------------------------------------ */

/* A full hour. */
#define NOON_MS INT64_C(1800000000000)

typedef struct stage {
    timed_server *time;
    tkl_client *client;
    tkl_stats *stats;
} stage;

static stage stage_open(void)
{
    stage s = {.time = timed_start(NULL)};
    timed_set(s.time, NOON_MS + 60000);
    s.client = test_open(s.time->server->url, NULL);
    s.stats = open_stats(s.client, "time");
    return s;
}

static void stage_close(stage *s)
{
    tkl_stats_close(s->stats);
    tkl_close(s->client);
    timed_end(s->time);
}

/* Of the context and of the whole type. */
static void assert_counts(tkl_stats *s, int64_t this, int64_t last)
{
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

static void this_hour_becomes_last_hour(void **state)
{
    (void)state;
    stage s = stage_open();
    record(s.stats, "x", 1);
    record(s.stats, "x", 3);
    assert_counts(s.stats, 2, 0);
    timed_shift(s.time, HOUR_MS);
    assert_counts(s.stats, 0, 2);
    record(s.stats, "x", 8);
    assert_counts(s.stats, 1, 2);
    tkl_stats_summary *m = show(s.stats, "x", TKL_HOUR_LAST);
    assert_int_equal(m->start_ms, NOON_MS);
    assert_close(m->mean, 2, 0);
    tkl_stats_summary_free(m);
    m = show(s.stats, "x", TKL_HOUR_BOTH);
    assert_int_equal(m->start_ms, NOON_MS);
    assert_close(m->mean, 4, 1e-12);
    tkl_stats_summary_free(m);
    timed_shift(s.time, HOUR_MS);
    assert_counts(s.stats, 0, 1);
    record(s.stats, "x", 9);
    assert_counts(s.stats, 1, 1);
    stage_close(&s);
}

static void hours_of_silence_leave_last_hour_empty(void **state)
{
    (void)state;
    for (int hours = 2; hours < 5; hours++) {
        stage s = stage_open();
        record(s.stats, "x", 1);
        timed_shift(s.time, hours * HOUR_MS);
        assert_counts(s.stats, 0, 0);
        record(s.stats, "x", 1);
        assert_counts(s.stats, 1, 0);
        stage_close(&s);
    }
}

static void everything_expires_by_itself(void **state)
{
    (void)state;
    stage s = stage_open();
    record(s.stats, "x", 1);
    timed_shift(s.time, HOUR_MS);
    record(s.stats, "x", 1);
    assert_int_equal(call_int(s.client, "DBSIZE", NULL), 5);
    timed_shift(s.time, 2 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 0, 20000);
    stage_close(&s);
}

static void a_clock_set_back_neither_loses_nor_repeats(void **state)
{
    (void)state;
    static const struct {
        int64_t back_ms;
        int64_t this, last;           /* after one more value */
    } steps[] = {{1000, 3, 1},        /* within the hour */
                 {120000, 3, 1},      /* across the full hour: this hour goes on */
                 {HOUR_MS, 3, 1},     /* an hour */
                 {2 * HOUR_MS, 1, 2}, /* more: it becomes last hour */
                 {24 * 365 * HOUR_MS, 1, 2}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        stage s = stage_open();
        record(s.stats, "x", 1);
        timed_shift(s.time, HOUR_MS);
        record(s.stats, "x", 1);
        record(s.stats, "x", 1);
        assert_counts(s.stats, 2, 1);
        timed_shift(s.time, -steps[i].back_ms);
        record(s.stats, "x", 1);
        assert_counts(s.stats, steps[i].this, steps[i].last);
        stage_close(&s);
    }
}

enum { WRITERS = 8, EACH = 300 };

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
    pid_t writers[WRITERS];
    stage s = stage_open();
    timed_set(s.time, NOON_MS + HOUR_MS - 100);
    for (int i = 0; i < WRITERS; i++)
        writers[i] = process_fork(record_many, s.time->server->url);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(process_wait(writers[i]), 0);
    tkl_stats_summary *m = show(s.stats, "x", TKL_HOUR_BOTH);
    assert_int_equal(m->count, WRITERS * EACH * 2);
    assert_close(m->sum, WRITERS * (EACH * (EACH - 1) / 2 + EACH * 2), 0);
    tkl_stats_summary_free(m);
    assert_counts(s.stats, count_of(s.stats, "x", TKL_HOUR_THIS),
                  WRITERS * EACH * 2 - count_of(s.stats, "x", TKL_HOUR_THIS));
    assert_true(count_of(s.stats, "x", TKL_HOUR_THIS) > 0);
    stage_close(&s);
}

/* Both components change the hour by the same rules. */
static void the_hour_is_the_same_as_in_logs(void **state)
{
    (void)state;
    assert_int_equal(system("cmp " TACKLE_SOURCE_DIR "/src/log/hour.inc.lua " TACKLE_SOURCE_DIR
                            "/src/stats/hour.inc.lua"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_hour_becomes_last_hour),
        cmocka_unit_test(hours_of_silence_leave_last_hour_empty),
        cmocka_unit_test(everything_expires_by_itself),
        cmocka_unit_test(a_clock_set_back_neither_loses_nor_repeats),
        cmocka_unit_test(the_hour_changes_under_load_of_eight_processes),
        cmocka_unit_test(the_hour_is_the_same_as_in_logs),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
