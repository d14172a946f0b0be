/* SPDX-License-Identifier: MIT
 *
 * Cron expressions: tables of times.
 */
#include <tackle/cron.h>

#include <time.h>

#include "cron/calendar.h"
#include "support/locale.h"
#include "support/test.h"

/* ---- Times as text ------------------------------------------------------- */

/* "2026-03-29 01:30" or with seconds, UTC. */
static int64_t seconds_of(const char *text)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%d %H:%M", &tm);
    if (!rest)
        fail_msg("not a time: %s", text);
    if (*rest == ':')
        tm.tm_sec = atoi(rest + 1);
    return timegm(&tm);
}

static char *text_of(int64_t seconds)
{
    char text[64];
    struct tm tm;
    time_t at = (time_t)seconds;
    gmtime_r(&at, &tm);
    strftime(text, sizeof text, tm.tm_sec ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
    return test_format("%s", text);
}

static int64_t next_of(const char *cron, const char *zone, int64_t after_s)
{
    int64_t next_ms;
    assert_ok(tkl_cron_next(cron, zone, after_s * 1000, &next_ms));
    assert_int_equal(next_ms % 1000, 0);
    return next_ms / 1000;
}

/* The times that follow `after`, separated by ", ". All are UTC. */
static void expect(const char *cron, const char *zone, const char *after, const char *times)
{
    int64_t at = seconds_of(after);
    char got[1024] = "";
    for (size_t want = strlen(times); strlen(got) < want;) {
        char *text;
        at = next_of(cron, zone, at);
        text = text_of(at);
        strcat(got, *got ? ", " : "");
        strcat(got, text);
        free(text);
    }
    if (strcmp(got, times) != 0)
        fail_msg("'%s' in %s after %s\nexpected %s\n     got %s", cron, zone ? zone : "UTC", after,
                 times, got);
}

static void assert_refused(const char *cron, const char *zone, const char *why)
{
    int64_t next_ms = 7;
    int rc = tkl_cron_next(cron, zone, 0, &next_ms);
    if (rc != TKL_EINVAL)
        fail_msg("'%s' in '%s': %s", cron, zone ? zone : "UTC", tkl_codename(rc));
    assert_int_equal(next_ms, 0);
    assert_contains(tkl_errmsg(), why);
}

/* ---- The grammar --------------------------------------------------------- */

static void every_form_of_a_field_is_understood(void **state)
{
    (void)state;
    expect("* * * * *", NULL, "2026-11-15 10:00", "2026-11-15 10:01, 2026-11-15 10:02");
    expect("5 * * * *", NULL, "2026-11-15 10:05", "2026-11-15 11:05, 2026-11-15 12:05");
    expect("*/20 * * * *", NULL, "2026-11-15 10:05",
           "2026-11-15 10:20, 2026-11-15 10:40, 2026-11-15 11:00");
    expect("10-30/10 1,5 * * *", NULL, "2026-11-15 01:10",
           "2026-11-15 01:20, 2026-11-15 01:30, 2026-11-15 05:10");
    expect("5/25 12 * * *", NULL, "2026-11-15 10:00",
           "2026-11-15 12:05, 2026-11-15 12:30, 2026-11-15 12:55, 2026-11-16 12:05");
    expect("0 0 * JAN,Jul *", NULL, "2026-07-31 00:00", "2027-01-01 00:00");
    expect("0 9 * * mon-Fri", NULL, "2026-11-13 08:00",
           "2026-11-13 09:00, 2026-11-16 09:00, 2026-11-17 09:00");
    expect("  0\t9  *   * 1 ", NULL, "2026-11-13 08:00", "2026-11-16 09:00");
    expect("0 0 ? * 3", NULL, "2026-11-13 08:00", "2026-11-18 00:00");
    expect("0 0 1 * ?", NULL, "2026-11-13 08:00", "2026-12-01 00:00");
    expect("00 007 01 1 *", NULL, "2026-11-13 08:00", "2027-01-01 07:00");
}

static void both_0_and_7_are_sunday(void **state)
{
    (void)state;
    const char *sundays = "2026-11-15 00:00, 2026-11-22 00:00, 2026-11-29 00:00";
    expect("0 0 * * 0", NULL, "2026-11-14 00:00", sundays);
    expect("0 0 * * 7", NULL, "2026-11-14 00:00", sundays);
    expect("0 0 * * sun", NULL, "2026-11-14 00:00", sundays);
    expect("0 0 * * 0,7", NULL, "2026-11-14 00:00", sundays);
    expect("0 0 * * 5-7", NULL, "2026-11-12 00:00",
           "2026-11-13 00:00, 2026-11-14 00:00, 2026-11-15 00:00, 2026-11-20 00:00");
    expect("0 0 * * 7-1", NULL, "2026-11-12 00:00",
           "2026-11-15 00:00, 2026-11-16 00:00, 2026-11-22 00:00");
    expect("0 0 * * 0-7", NULL, "2026-11-12 00:00", "2026-11-13 00:00, 2026-11-14 00:00");
    expect("0 0 * * 7/3", NULL, "2026-11-14 00:00",
           "2026-11-15 00:00, 2026-11-18 00:00, 2026-11-21 00:00, 2026-11-22 00:00");
}

static void ranges_may_go_over_the_end(void **state)
{
    (void)state;
    expect("0 22-2/2 * * *", NULL, "2026-11-15 12:00",
           "2026-11-15 22:00, 2026-11-16 00:00, 2026-11-16 02:00, 2026-11-16 22:00");
    expect("0 0 * * fri-mon", NULL, "2026-11-11 00:00",
           "2026-11-13 00:00, 2026-11-14 00:00, 2026-11-15 00:00, 2026-11-16 00:00, "
           "2026-11-20 00:00");
    expect("0 0 1 nov-feb *", NULL, "2026-02-01 00:00",
           "2026-11-01 00:00, 2026-12-01 00:00, 2027-01-01 00:00, 2027-02-01 00:00, "
           "2027-11-01 00:00");
    expect("58-1 0 * * *", NULL, "2026-11-15 12:00",
           "2026-11-16 00:00, 2026-11-16 00:01, 2026-11-16 00:58, 2026-11-16 00:59");
}

static void names_stand_for_expressions(void **state)
{
    (void)state;
    expect("@hourly", NULL, "2026-11-15 12:00", "2026-11-15 13:00, 2026-11-15 14:00");
    expect("@daily", NULL, "2026-11-15 12:00", "2026-11-16 00:00, 2026-11-17 00:00");
    expect("@midnight", NULL, "2026-11-15 12:00", "2026-11-16 00:00");
    expect("@weekly", NULL, "2026-11-15 12:00", "2026-11-22 00:00");
    expect(" @Monthly ", NULL, "2026-11-15 12:00", "2026-12-01 00:00, 2027-01-01 00:00");
    expect("@yearly", NULL, "2026-11-15 12:00", "2027-01-01 00:00");
    expect("@annually", NULL, "2026-11-15 12:00", "2027-01-01 00:00");
}

static void day_and_weekday_together_mean_either(void **state)
{
    (void)state;
    expect("0 0 13 * fri", NULL, "2026-11-01 00:00",
           "2026-11-06 00:00, 2026-11-13 00:00, 2026-11-20 00:00, 2026-11-27 00:00, "
           "2026-12-04 00:00, 2026-12-11 00:00, 2026-12-13 00:00");
    /* A day that never comes does not matter then. */
    expect("0 0 30 feb mon", NULL, "2026-03-01 00:00", "2027-02-01 00:00, 2027-02-08 00:00");
    /* A field that begins with a star does not restrict: both must match. A first Sunday. */
    expect("0 0 1-7 * */7", NULL, "2026-11-01 00:00", "2026-12-06 00:00, 2027-01-03 00:00");
    expect("0 0 */10 * mon", NULL, "2026-11-01 00:00", "2026-12-21 00:00, 2027-01-11 00:00");
}

static void what_cannot_be_read_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "0 of the five fields"},
        {"   ", "0 of the five fields"},
        {"0 0 * *", "4 of the five fields"},
        {"0 0 * * * *", "more than five fields"},
        {"0 0 * * 1 root", "from 'root' on"},
        {"60 * * * *", "minute '60': not from 0 to 59"},
        {"-1 * * * *", "minute '-1'"},
        {"* 24 * * *", "hour '24': not from 0 to 23"},
        {"* * 0 * *", "day '0': not from 1 to 31"},
        {"* * 32 * *", "day '32'"},
        {"* * * 13 *", "month '13'"},
        {"* * * 0 *", "month '0'"},
        {"* * * * 8", "weekday '8': not from 0 to 7"},
        {"* * * foo *", "month 'foo'"},
        {"* * * january *", "month 'january'"},
        {"* * * * mo", "weekday 'mo'"},
        {"* jan * * *", "hour 'jan'"},
        {"1,,2 * * * *", "minute ''"},
        {"1, * * * *", "minute ''"},
        {"1- * * * *", "minute '1-'"},
        {"1-2-3 * * * *", "minute '1-2-3'"},
        {"*/0 * * * *", "minute '*/0'"},
        {"*/ * * * *", "minute '*/'"},
        {"*/90 * * * *", "step is larger"},
        {"*/-5 * * * *", "minute '*/-5'"},
        {"*5 * * * *", "minute '*5'"},
        {"? * * * *", "minute '?'"},
        {"0 0 L * *", "day 'L'"},
        {"0 0 15W * *", "day '15W'"},
        {"0 0 * * 5#2", "weekday '5#2'"},
        {"99999999999999999999 * * * *", "minute '99999999999999999999'"},
        {"*/99999999999999999999 * * * *", "minute"},
        {"\xff * * * *", "minute"},
        {"0 0 30 2 *", "never comes"},
        {"0 0 30,31 feb *", "never comes"},
        {"0 0 31 2,4,6,9,11 *", "never comes"},
        {"0 0 31 feb */2", "never comes"},
        {"@reboot", "@hourly"},
        {"@every 5m", "@hourly"},
        {"@", "@hourly"},
        {"@daily *", "@hourly"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i][0], NULL, cases[i][1]);
}

/* ---- The calendar -------------------------------------------------------- */

static void days_and_dates_agree_with_the_c_library(void **state)
{
    (void)state;
    for (int64_t day = -800000; day < 3000000; day += 17) {
        time_t at = (time_t)(day * TKL__DAY_S);
        struct tm tm;
        gmtime_r(&at, &tm);
        tkl__cron_date date = tkl__cron_date_of(day);
        if (date.year != tm.tm_year + 1900 || date.month != tm.tm_mon + 1 ||
            date.day != tm.tm_mday || tkl__cron_weekday_of(day) != tm.tm_wday ||
            tkl__cron_days_of(date) != day)
            fail_msg("day %ld", (long)day);
    }
}

static void february_29_comes_in_leap_years_only(void **state)
{
    (void)state;
    expect("0 12 29 2 *", NULL, "2026-11-15 00:00", "2028-02-29 12:00, 2032-02-29 12:00");
    expect("0 12 29 2 *", NULL, "2096-02-29 12:00", "2104-02-29 12:00");
    expect("0 12 29 2 *", NULL, "1996-03-01 00:00", "2000-02-29 12:00, 2004-02-29 12:00");
    expect("0 12 29 2 */7", NULL, "2026-11-15 00:00",
           "2032-02-29 12:00, 2060-02-29 12:00, "
           "2088-02-29 12:00, 2128-02-29 12:00");
    expect("0 12 29 2 */7", "Europe/Berlin", "2088-03-01 00:00", "2128-02-29 11:00");
    expect("0 0 31 * *", NULL, "2026-01-31 00:00",
           "2026-03-31 00:00, 2026-05-31 00:00, 2026-07-31 00:00, 2026-08-31 00:00");
}

static void any_year_up_to_9900_will_do(void **state)
{
    (void)state;
    int64_t next;
    expect("@yearly", NULL, "9899-06-01 00:00", "9900-01-01 00:00");
    expect("@yearly", "Europe/Berlin", "9899-06-01 00:00", "9899-12-31 23:00");
    expect("0 3 * jun *", "Europe/Berlin", "9899-06-01 00:00", "9899-06-01 01:00");
    expect("@yearly", NULL, "1900-06-01 00:00", "1901-01-01 00:00");
    assert_ok(tkl_cron_next("* * * * *", NULL, -62135596800000, &next));
    assert_int_equal(next, -62135596740000);
    assert_code(tkl_cron_next("* * * * *", NULL, -62135596800001, &next), TKL_EINVAL);
    assert_code(tkl_cron_next("* * * * *", NULL, INT64_MAX, &next), TKL_EINVAL);
    assert_code(tkl_cron_next("* * * * *", NULL, INT64_MIN, &next), TKL_EINVAL);
}

static void the_next_time_is_later_to_the_millisecond(void **state)
{
    (void)state;
    int64_t next, noon = seconds_of("2026-11-15 12:00") * 1000;
    assert_ok(tkl_cron_next("0 12 * * *", NULL, noon - 1, &next));
    assert_int_equal(next, noon);
    assert_ok(tkl_cron_next("0 12 * * *", NULL, noon, &next));
    assert_int_equal(next, noon + 86400000);
    assert_ok(tkl_cron_next("0 0 * * *", NULL, -1, &next));
    assert_int_equal(next, 0);
}

/* ---- Zones --------------------------------------------------------------- */

static void times_are_those_of_the_zone(void **state)
{
    (void)state;
    expect("0 9 * * *", "Europe/Berlin", "2026-01-01 00:00", "2026-01-01 08:00");
    expect("0 9 * * *", "Europe/Berlin", "2026-07-01 00:00", "2026-07-01 07:00");
    expect("0 9 * * *", "America/New_York", "2026-07-01 00:00", "2026-07-01 13:00");
    expect("0 9 * * *", "Asia/Kathmandu", "2026-07-01 00:00", "2026-07-01 03:15");
    expect("0 0 1 1 *", "Pacific/Kiritimati", "2026-07-01 00:00", "2026-12-31 10:00");
    expect("0 9 * * *", "UTC", "2026-07-01 00:00", "2026-07-01 09:00");
    expect("0 9 * * *", "Etc/GMT+5", "2026-07-01 00:00", "2026-07-01 14:00");
}

static void a_time_that_is_left_out_comes_when_clocks_are_changed(void **state)
{
    (void)state;
    /* Berlin, 2026-03-29: 02:00 becomes 03:00, at 01:00 UTC. */
    expect("30 2 * * *", "Europe/Berlin", "2026-03-27 12:00",
           "2026-03-28 01:30, 2026-03-29 01:00, 2026-03-30 00:30");
    /* Once for all that is left out, and once with what comes anyway. */
    expect("*/15 2 * * *", "Europe/Berlin", "2026-03-28 12:00",
           "2026-03-29 01:00, 2026-03-30 00:00, 2026-03-30 00:15");
    expect("0,30 2-3 * * *", "Europe/Berlin", "2026-03-28 12:00",
           "2026-03-29 01:00, 2026-03-29 01:30, 2026-03-30 00:00");
    /* The hour before and the hour after are as ever. */
    expect("59 1 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 00:59, 2026-03-29 23:59");
    expect("0 3 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 01:00, 2026-03-30 01:00");
    /* Half an hour, on Lord Howe Island: 02:00 becomes 02:30, at 15:30 UTC. */
    expect("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00",
           "2026-10-03 15:30, 2026-10-04 15:15");
    /* Midnight, in Beirut, and a whole day, in Samoa. */
    expect("0 0 * * *", "Asia/Beirut", "2026-03-27 23:00", "2026-03-28 22:00, 2026-03-29 21:00");
    expect("0 12 * * *", "Pacific/Apia", "2011-12-29 00:00",
           "2011-12-29 22:00, 2011-12-30 10:00, 2011-12-30 22:00");
}

static void a_time_that_comes_twice_counts_the_first_time(void **state)
{
    (void)state;
    /* Berlin, 2026-10-25: 03:00 becomes 02:00, at 01:00 UTC. */
    expect("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 00:30, 2026-10-26 01:30");
    expect("*/30 2-3 * * *", "Europe/Berlin", "2026-10-24 12:00",
           "2026-10-25 00:00, 2026-10-25 00:30, 2026-10-25 02:00, 2026-10-25 02:30");
    /* Asked between the two. */
    expect("30 2 * * *", "Europe/Berlin", "2026-10-25 01:10", "2026-10-26 01:30");
    /* An evening that comes twice: Santiago, 24:00 becomes 23:00, at 03:00 UTC. */
    expect("30 23 * * *", "America/Santiago", "2026-04-04 12:00",
           "2026-04-05 02:30, 2026-04-06 03:30");
    expect("0 0 * * *", "America/Santiago", "2026-04-04 12:00",
           "2026-04-05 04:00, 2026-04-06 04:00");
}

static void every_hour_means_every_hour_that_passes(void **state)
{
    (void)state;
    expect("30 * * * *", "Europe/Berlin", "2026-03-29 00:00",
           "2026-03-29 00:30, 2026-03-29 01:30, 2026-03-29 02:30");
    expect("30 * * * *", "Europe/Berlin", "2026-10-24 23:59",
           "2026-10-25 00:30, 2026-10-25 01:30, 2026-10-25 02:30");
    expect("*/15 * * * *", "Europe/Berlin", "2026-10-25 00:30",
           "2026-10-25 00:45, 2026-10-25 01:00, 2026-10-25 01:15");
    expect("*/15 0-23 * * *", "Europe/Berlin", "2026-03-29 00:40",
           "2026-03-29 00:45, 2026-03-29 01:00, 2026-03-29 01:15");
}

static void zones_go_on_behind_the_last_entry_of_their_files(void **state)
{
    (void)state;
    expect("0 12 1 1,7 *", "Europe/Berlin", "2099-06-01 00:00",
           "2099-07-01 10:00, 2100-01-01 11:00");
    expect("0 12 1 1,7 *", "Europe/Dublin", "2099-06-01 00:00",
           "2099-07-01 11:00, 2100-01-01 12:00");
    expect("0 12 1 1,7 *", "America/Nuuk", "2099-06-01 00:00",
           "2099-07-01 13:00, 2100-01-01 14:00");
    expect("0 12 1 1,7 *", "Australia/Sydney", "2099-06-01 00:00",
           "2099-07-01 02:00, 2100-01-01 01:00");
}

static void unknown_zones_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "Europe/Berln",
        "europe/berlin!",
        "../../../etc/passwd",
        "Europe/../UTC",
        "/etc/passwd",
        "Europe",
        "zone.tab",
        "Europe//",
        "Europe/Berlin/",
        "Mars/Olympus Mons",
        "\xff",
        "right/UTC\n",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_refused("0 0 * * *", names[i], names[i]);
    char *long_name = test_format("%04096d", 0);
    assert_refused("0 0 * * *", long_name, "no time zone has the name");
    free(long_name);
}

/* In a Turkish one, "FRI" is not "fri" to strcasecmp(). */
static void names_are_the_same_in_every_locale(void **state)
{
    (void)state;
    int64_t next_ms;
    locale_with_another_i();
    int weekday = tkl_cron_next("0 0 * * FRI", NULL, 0, &next_ms);
    int nickname = tkl_cron_next("@MIDNIGHT", NULL, 0, &next_ms);
    locale_plain();
    assert_ok(weekday);
    assert_ok(nickname);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_a_field_is_understood),
        cmocka_unit_test(both_0_and_7_are_sunday),
        cmocka_unit_test(ranges_may_go_over_the_end),
        cmocka_unit_test(names_stand_for_expressions),
        cmocka_unit_test(names_are_the_same_in_every_locale),
        cmocka_unit_test(day_and_weekday_together_mean_either),
        cmocka_unit_test(what_cannot_be_read_is_refused_with_its_place),
        cmocka_unit_test(days_and_dates_agree_with_the_c_library),
        cmocka_unit_test(february_29_comes_in_leap_years_only),
        cmocka_unit_test(any_year_up_to_9900_will_do),
        cmocka_unit_test(the_next_time_is_later_to_the_millisecond),
        cmocka_unit_test(times_are_those_of_the_zone),
        cmocka_unit_test(a_time_that_is_left_out_comes_when_clocks_are_changed),
        cmocka_unit_test(a_time_that_comes_twice_counts_the_first_time),
        cmocka_unit_test(every_hour_means_every_hour_that_passes),
        cmocka_unit_test(zones_go_on_behind_the_last_entry_of_their_files),
        cmocka_unit_test(unknown_zones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
