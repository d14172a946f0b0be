/* SPDX-License-Identifier: MIT
 *
 * Cron expressions: tables of times, and random expressions against a clock that is looked at
 * every minute.
 *
 * ctest: timeout 180
 */
#include <tackle/cron.h>

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>

#include "cron/calendar.h"
#include "cron/cron.h"
#include "support/process.h"
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
    /* What begins with a star does not restrict: both must match. The first Sunday of a month. */
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
        tkl__date date = tkl__date_of(day);
        if (date.year != tm.tm_year + 1900 || date.month != tm.tm_mon + 1 ||
            date.day != tm.tm_mday || tkl__weekday_of(day) != tm.tm_wday ||
            tkl__days_of(date) != day)
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

/* ---- Files --------------------------------------------------------------- */

static size_t read_zone(const char *name, char *data, size_t cap)
{
    char *path = test_format("/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t len = fread(data, 1, cap, file);
    fclose(file);
    free(path);
    return len;
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    char data[8192];
    tkl__zone *zone;
    size_t len = read_zone("Europe/Berlin", data, sizeof data);
    for (size_t cut = 0; cut < len; cut++) {
        char *copy = malloc(cut + 1); /* so that AddressSanitizer sees its end */
        memcpy(copy, data, cut);
        assert_code(tkl__zone_parse((tkl_bytes){copy, cut}, &zone), TKL_EINVAL);
        assert_null(zone);
        free(copy);
    }
    assert_ok(tkl__zone_parse((tkl_bytes){data, len}, &zone));
    tkl__zone_close(zone);
}

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random_state >> 33) % n);
}

static void spoil(char *data, size_t len)
{
    for (uint32_t n = 1 + random_below(4); n > 0; n--) {
        size_t at = random_below(3) ? random_below((uint32_t)len) : random_below(88);
        data[at] = (char)random_below(256);
    }
}

static void spoilt_files_are_refused_or_bounded(void **state)
{
    (void)state;
    char data[8192], good[8192];
    size_t len = read_zone("America/New_York", good, sizeof good);
    tkl__cron cron;
    int accepted = 0;
    assert_ok(tkl__cron_parse("30 1-3 29 2 *", &cron));
    random_state = 1;
    for (int i = 0; i < 20000; i++) {
        tkl__zone *zone;
        int64_t next, after = 1700000000 + (int64_t)random_below(2000000000);
        memcpy(data, good, len);
        spoil(data, len);
        if (tkl__zone_parse((tkl_bytes){data, len}, &zone) != TKL_OK)
            continue;
        accepted++;
        if (tkl__cron_next(&cron, zone, after, &next) == TKL_OK)
            assert_true(next > after);
        tkl__zone_close(zone);
    }
    assert_true(accepted > 1000); /* names and offsets may be anything */
}

static void rules_are_read_to_the_last_letter(void **state)
{
    (void)state;
    static const char *const good[] = {
        "UTC0",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        "IST-1GMT0,M10.5.0,M3.5.0/1",
        "IST-2IDT,M3.4.4/26,M10.5.0",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "EST5EDT,0/0,J365/25",
        "XXX-0:00:30",
    };
    static const char *const bad[] = {
        "U0",
        "UTC",
        "UTC25",
        "UTC0 ",
        "<UTC0",
        "CET-1CEST",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/168",
        "CET-1CEST,J0,J365",
        "CET-1CEST,366,1",
        "CET-1CEST,M3.5.0,M10.5.0,",
        "UTC0:60",
        "UTC:1",
    };
    tkl__rule rule;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!tkl__rule_parse(tkl_str(good[i]), &rule))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (tkl__rule_parse(tkl_str(bad[i]), &rule))
            fail_msg("accepted: %s", bad[i]);
}

static void summer_time_all_the_year_is_possible(void **state)
{
    (void)state;
    tkl__rule rule;
    int64_t until, at = seconds_of("2026-06-01 00:00");
    assert_true(tkl__rule_parse(tkl_str("EST5EDT,0/0,J365/25"), &rule));
    for (int i = 0; i < 20; i++, at = until) {
        assert_int_equal(tkl__rule_offset(&rule, at, &until), -4 * 3600);
        assert_true(until > at);
    }
}

/* ---- Against the C library's clock --------------------------------------- */

/* Every zone there is: the same offsets as the C library has, from 1970 to 2100. */
static int compare_zone(void *name)
{
    tkl__zone *zone;
    setenv("TZ", name, 1);
    tzset();
    if (tkl__zone_open(name, &zone) != TKL_OK) {
        fprintf(stderr, "%s\n", tkl_errmsg());
        return 1;
    }
    for (int64_t at = 0; at < INT64_C(4102444800); at += 172807) {
        time_t now = (time_t)at;
        struct tm tm;
        int64_t until, offset = tkl__zone_offset(zone, at, &until);
        localtime_r(&now, &tm);
        if (tm.tm_gmtoff != offset) {
            fprintf(stderr, "%s at %ld: %ld, not %ld\n", (char *)name, (long)at, (long)offset,
                    tm.tm_gmtoff);
            return 1;
        }
    }
    tkl__zone_close(zone);
    return 0;
}

static int compare_folder(void *folder)
{
    char *path = test_format("/usr/share/zoneinfo/%s", (char *)folder);
    DIR *dir = opendir(path);
    int failed = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char *file = test_format("%s/%s", path, entry->d_name);
        char *name = test_format("%s/%s", (char *)folder, entry->d_name);
        struct stat about;
        if (stat(file, &about) == 0 && S_ISREG(about.st_mode))
            failed |= compare_zone(name);
        free(file);
        free(name);
    }
    if (dir)
        closedir(dir);
    free(path);
    return failed;
}

static void offsets_are_those_of_the_c_library(void **state)
{
    (void)state;
    static const char *const folders[] = {"Africa",    "America", "Antarctica", "Asia", "Atlantic",
                                          "Australia", "Europe",  "Pacific",    "Etc"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        assert_int_equal(process_wait(process_fork(compare_folder, (void *)folders[i])), 0);
}

/* A random expression: what it allows, and one of the ways to write it. */
typedef struct expression {
    bool allowed[5][60];
    bool star[5]; /* begins with "*" */
    char text[1024];
    int64_t predicted;
} expression;

static const int lowest[5] = {0, 0, 1, 1, 0}, highest[5] = {59, 23, 31, 12, 6};

static void add_star(expression *e, int field)
{
    int step = random_below(2) ? 1 : 1 + (int)random_below(7);
    for (int v = lowest[field]; v <= highest[field]; v += step)
        e->allowed[field][v] = true;
    sprintf(e->text + strlen(e->text), step == 1 ? "*" : "*/%d", step);
}

static void add_range(expression *e, int field)
{
    int size = highest[field] - lowest[field] + 1;
    int from = (int)random_below((uint32_t)size), length = (int)random_below((uint32_t)size);
    int step = 1 + (int)random_below(4);
    if (random_below(2))
        length = 0;
    for (int i = 0; i <= length; i += step)
        e->allowed[field][lowest[field] + (from + i) % size] = true;
    from += lowest[field];
    int to = lowest[field] + (from - lowest[field] + length) % size;
    sprintf(e->text + strlen(e->text), length ? "%d-%d/%d" : "%d", from, to, step);
}

static void random_field(expression *e, int field)
{
    e->star[field] = random_below(field < 2 ? 3 : 2) == 0;
    if (e->star[field])
        add_star(e, field);
    else
        for (uint32_t n = 1 + random_below(3); n > 0; n--) {
            add_range(e, field);
            strcat(e->text, n > 1 ? "," : "");
        }
    strcat(e->text, field < 4 ? " " : "");
}

static void random_expression(expression *e)
{
    tkl__cron cron;
    do {
        memset(e, 0, sizeof *e);
        for (int field = 0; field < 5; field++)
            random_field(e, field);
    } while (tkl__cron_parse(e->text, &cron) != TKL_OK &&
             strstr(tkl_errmsg(), "never comes")); /* such as 30 2: another one */
}

static bool allows(const expression *e, const struct tm *tm)
{
    bool day = e->allowed[2][tm->tm_mday], weekday = e->allowed[4][tm->tm_wday];
    bool either = !e->star[2] && !e->star[4];
    return e->allowed[0][tm->tm_min] && e->allowed[1][tm->tm_hour] &&
           e->allowed[3][tm->tm_mon + 1] && (either ? day || weekday : day && weekday);
}

static bool all_hours(const expression *e)
{
    for (int hour = 0; hour < 24; hour++)
        if (!e->allowed[1][hour])
            return false;
    return true;
}

/* Whether the expression names a minute of [from, to), both local times as if they were UTC. */
static bool names_one(const expression *e, int64_t from, int64_t to)
{
    for (; from < to; from += 60) {
        time_t at = (time_t)from;
        struct tm tm;
        gmtime_r(&at, &tm);
        if (allows(e, &tm))
            return true;
    }
    return false;
}

static bool fires(const expression *e, const struct tm *tm, int64_t local, int64_t seen)
{
    if (all_hours(e))
        return allows(e, tm);
    return local >= seen && (allows(e, tm) || names_one(e, seen, local));
}

typedef struct trial {
    const char *zone;
    int64_t start;
    uint64_t seed;
} trial;

#define EXPRESSIONS 6
#define DAYS        120

static bool minute_is_right(const trial *t, expression *e, int64_t at, bool fired)
{
    if (fired != (at == e->predicted)) {
        fprintf(stderr, "'%s' in %s: at %ld, predicted %ld\n", e->text, t->zone, (long)at,
                (long)e->predicted);
        return false;
    }
    int64_t next_ms;
    if (fired && tkl_cron_next(e->text, t->zone, at * 1000, &next_ms) != TKL_OK)
        return false;
    if (fired)
        e->predicted = next_ms / 1000;
    return true;
}

static int walk_minutes(const trial *t, expression *expressions)
{
    int64_t seen = INT64_MIN;
    for (int64_t at = t->start - 4 * 86400; at < t->start + DAYS * 86400; at += 60) {
        time_t now = (time_t)at;
        struct tm tm;
        localtime_r(&now, &tm);
        int64_t local = at + tm.tm_gmtoff;
        if (seen == INT64_MIN)
            seen = local;
        for (int i = 0; i < EXPRESSIONS && at > t->start; i++)
            if (!minute_is_right(t, &expressions[i], at, fires(&expressions[i], &tm, local, seen)))
                return 1;
        if (local + 60 > seen)
            seen = local + 60;
    }
    return 0;
}

static int try_zone(void *arg)
{
    const trial *t = arg;
    static expression expressions[EXPRESSIONS];
    random_state = t->seed;
    setenv("TZ", t->zone, 1);
    tzset();
    for (int i = 0; i < EXPRESSIONS; i++) {
        expression *e = &expressions[i];
        int64_t next_ms;
        random_expression(e);
        if (tkl_cron_next(e->text, t->zone, t->start * 1000, &next_ms) != TKL_OK) {
            fprintf(stderr, "'%s' in %s: %s\n", e->text, t->zone, tkl_errmsg());
            return 1;
        }
        e->predicted = next_ms / 1000;
    }
    return walk_minutes(t, expressions);
}

static void random_expressions_come_as_a_clock_says(void **state)
{
    (void)state;
    static const char *const zones[] = {
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "America/St_Johns",
        "America/Havana",
        "America/Santiago",
        "America/Sao_Paulo",
        "America/Nuuk",
        "Asia/Beirut",
        "Asia/Jerusalem",
        "Asia/Tehran",
        "Asia/Kathmandu",
        "Africa/Cairo",
        "Africa/Casablanca",
        "Australia/Lord_Howe",
        "Australia/Sydney",
        "Europe/Dublin",
        "Pacific/Apia",
        "Pacific/Chatham",
        "Antarctica/Troll",
    };
    const char *given = getenv("TACKLE_TEST_SEED");
    uint64_t base = given ? strtoull(given, NULL, 10) : 1;
    random_state = base;
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
        trial t = {.zone = zones[i], .seed = base * 1000 + i};
        /* In minutes, from 1980 on, every other one behind the last entries of the files. */
        t.start =
            315532800 + (int64_t)random_below(31000000) * 60 + (i % 2 ? INT64_C(1893456000) : 0);
        if (process_wait(process_fork(try_zone, &t)) != 0)
            fail_msg("seed %ld", (long)base);
    }
    trial samoa = {.zone = "Pacific/Apia", .seed = base, .start = seconds_of("2011-09-01 00:00")};
    assert_int_equal(process_wait(process_fork(try_zone, &samoa)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_a_field_is_understood),
        cmocka_unit_test(both_0_and_7_are_sunday),
        cmocka_unit_test(ranges_may_go_over_the_end),
        cmocka_unit_test(names_stand_for_expressions),
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
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(spoilt_files_are_refused_or_bounded),
        cmocka_unit_test(rules_are_read_to_the_last_letter),
        cmocka_unit_test(summer_time_all_the_year_is_possible),
        cmocka_unit_test(offsets_are_those_of_the_c_library),
        cmocka_unit_test(random_expressions_come_as_a_clock_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
