/* SPDX-License-Identifier: MIT
 *
 * Durations, sizes, times, numbers and choices as people write them.
 */
#include "value.h"

#include <time.h>

#include "support/test.h"

typedef struct good {
    const char *text;
    int64_t value;
} good;

typedef struct bad {
    const char *text;
    const char *wrong;
} bad;

typedef const char *parser(const char *text, int64_t *value);

static void accepts(parser *parse, const good *cases)
{
    for (; cases->text != NULL; cases++) {
        int64_t value = -1;
        const char *wrong = parse(cases->text, &value);
        if (wrong != NULL || value != cases->value)
            fail_msg("'%s': %s, got %lld, expected %lld", cases->text, wrong != NULL ? wrong : "ok",
                     (long long)value, (long long)cases->value);
    }
}

static void refuses(parser *parse, const bad *cases)
{
    for (; cases->text != NULL; cases++) {
        int64_t value = -1;
        const char *wrong = parse(cases->text, &value);
        if (wrong == NULL)
            fail_msg("'%s' was accepted as %lld", cases->text, (long long)value);
        assert_contains(wrong, cases->wrong);
    }
}

static void durations_are_milliseconds_and_bare_numbers_seconds(void **state)
{
    (void)state;
    accepts(cli_parse_duration, (const good[]){
                                    {"250ms", 250},
                                    {"10s", 10000},
                                    {"5m", 300000},
                                    {"2h", 7200000},
                                    {"1d", 86400000},
                                    {"3", 3000},
                                    {"0", 0},
                                    {"0s", 0},
                                    {"1.5h", 5400000},
                                    {"2w", 1209600000},
                                    {"1h30m", 5400000},
                                    {"1d2h3m4s5ms", 93784005},
                                    {"0.25", 250},
                                    {"1.0625s", 1063},
                                    {"0.3ms", 1},
                                    {"0.000000001d", 1},
                                    {"1.0000000000009s", 1000},
                                    {"10S", 10000},
                                    {"007s", 7000},
                                    {"106751991167d", 9223372036828800000},
                                    {NULL, 0},
                                });
}

static void durations_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    refuses(cli_parse_duration, (const bad[]){
                                    {"", "not a number"},
                                    {"s", "not a number"},
                                    {"abc", "not a number"},
                                    {".5s", "not a number"},
                                    {" 5s", "not a number"},
                                    {"+5s", "not a number"},
                                    {"inf", "not a number"},
                                    {"-1s", "negative"},
                                    {"-0", "negative"},
                                    {"5x", "unknown unit"},
                                    {"5 s", "unknown unit"},
                                    {"5s ", "unknown unit"},
                                    {"5.s", "unknown unit"},
                                    {"1e3", "unknown unit"},
                                    {"0x10", "unknown unit"},
                                    {"1h30", "unknown unit"},
                                    {"30m1h", "unknown unit"},
                                    {"1h1h", "unknown unit"},
                                    {"1h-30m", "unknown unit"},
                                    {"106751991168d", "too large"},
                                    {"9223372036854775807s", "too large"},
                                    {"99999999999999999999ms", "too large"},
                                    {NULL, NULL},
                                });
}

static void sizes_are_powers_of_1024(void **state)
{
    (void)state;
    accepts(cli_parse_size, (const good[]){
                                {"512", 512},
                                {"512b", 512},
                                {"64kb", 65536},
                                {"256mb", 268435456},
                                {"256MB", 268435456},
                                {"1.5gb", 1610612736},
                                {"8589934591gb", 9223372035781033984},
                                {NULL, 0},
                            });
    refuses(cli_parse_size, (const bad[]){
                                {"64k", "unknown unit"},
                                {"64kib", "unknown unit"},
                                {"-1", "negative"},
                                {"8589934592gb", "too large"},
                                {NULL, NULL},
                            });
}

static void integers_are_whole_and_fit(void **state)
{
    (void)state;
    accepts(cli_parse_integer, (const good[]){
                                   {"0", 0},
                                   {"-12", -12},
                                   {"+7", 7},
                                   {"9223372036854775807", INT64_MAX},
                                   {"-9223372036854775808", INT64_MIN},
                                   {NULL, 0},
                               });
    refuses(cli_parse_integer, (const bad[]){
                                   {"", "not a whole number"},
                                   {"-", "not a whole number"},
                                   {" 1", "not a whole number"},
                                   {"1 ", "not a whole number"},
                                   {"1.5", "not a whole number"},
                                   {"0x1", "not a whole number"},
                                   {"9223372036854775808", "too large"},
                                   {NULL, NULL},
                               });
}

static void a_choice_is_one_whole_word_of_the_list(void **state)
{
    (void)state;
    assert_null(cli_parse_choice("none", "none|always"));
    assert_null(cli_parse_choice("always", "none|always"));
    assert_null(cli_parse_choice("only", "only"));
    assert_non_null(cli_parse_choice("", "none|always"));
    assert_non_null(cli_parse_choice("non", "none|always"));
    assert_non_null(cli_parse_choice("none|always", "none|always"));
    assert_non_null(cli_parse_choice("None", "none|always"));
}

#define DAY_MS 86400000LL

static const char *parse_next(const char *text, int64_t *ms)
{
    return cli_parse_time(text, CLI_NEXT, ms);
}

static const char *parse_last(const char *text, int64_t *ms)
{
    return cli_parse_time(text, CLI_LAST, ms);
}

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void times_are_unix_time_in_milliseconds(void **state)
{
    (void)state;
    setenv("TZ", "Europe/Berlin", 1);
    accepts(parse_next, (const good[]){
                            {"2030-01-31T12:00:00Z", 1896091200000},
                            {"2030-01-31T12:00:00.25Z", 1896091200250},
                            {"2030-01-31 12:00Z", 1896091200000},
                            {"2030-01-31t12:00:00z", 1896091200000},
                            {"2030-01-31 12:00:00.250 +02:00", 1896084000250},
                            {"2030-01-31Z", 1896048000000},
                            {"2030-01-31T12:00+02:00", 1896084000000},
                            {"2030-01-31T12:00-02:30", 1896100200000},
                            {"2030-01-31T12:00", 1896087600000},
                            {"2030-07-31T12:00", 1911722400000},
                            {"2030-01-31", 1896044400000},
                            {"1970-01-01T00:00Z", 0},
                            {"@1893456000", 1893456000000},
                            {"@1893456000.5", 1893456000500},
                            {"31/Jan/2030:12:00:00 +0000", 1896091200000},
                            {"[31/Jan/2030:12:00:00 +0000]", 1896091200000},
                            {"[31/Jan/2030:12:00:00 -0230]", 1896100200000},
                            {NULL, 0},
                        });
    unsetenv("TZ");
}

/* Asserts that the clock shows this at the moment `ms`, in UTC. */
static void assert_clock(int64_t ms, int hour, int minute)
{
    assert_int_equal(ms / 3600000 % 24, hour);
    assert_int_equal(ms / 60000 % 60, minute);
    assert_int_equal(ms % 60000, 0);
}

static void a_bare_time_is_the_next_one_or_the_last_one(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    for (int hour = 0; hour < 24; hour++) {
        char *text = test_format("%02d:30", hour), *there = test_format("%02d:30+05:00", hour);
        int64_t next = 0, last = 0, before = wall_ms();
        assert_null(parse_next(text, &next));
        assert_null(parse_last(text, &last));
        int64_t after = wall_ms();
        assert_clock(next, hour, 30);
        assert_clock(last, hour, 30);
        assert_true(next > before && next <= after + DAY_MS);
        assert_true(last > before - DAY_MS && last <= after);
        assert_null(parse_next(there, &next));
        assert_null(parse_last(there, &last));
        assert_clock(next, (hour + 19) % 24, 30);
        assert_clock(last, (hour + 19) % 24, 30);
        assert_true(next > before && next <= wall_ms() + DAY_MS);
        assert_true(last > before - DAY_MS && last <= wall_ms());
        free(there);
        free(text);
    }
    unsetenv("TZ");
}

static void days_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"yesterday", "today", "tomorrow"};
    setenv("TZ", "UTC", 1);
    for (int i = 0; i < 3; i++) {
        char *at_two = test_format("%s 14:00", names[i]),
             *there = test_format("%s 01:00Z", names[i]);
        int64_t begin = 0, clock = 0, with_zone = 0, today;
        do { /* until all was asked on one day */
            today = wall_ms() / DAY_MS;
            assert_null(parse_last(names[i], &begin));
            assert_null(parse_next(at_two, &clock));
            assert_null(parse_last(there, &with_zone));
        } while (wall_ms() / DAY_MS != today);
        assert_int_equal(begin, (today + i - 1) * DAY_MS);
        assert_int_equal(clock, begin + 14 * 3600000LL);
        assert_int_equal(with_zone, begin + 3600000LL);
        free(there);
        free(at_two);
    }
    unsetenv("TZ");
}

static void a_moment_may_be_so_far_from_now(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t distance_ms;
    } cases[] = {{"now", 0}, {"10m ago", -600000}, {"1h30m ago", -5400000}, {"in 2d", 2 * DAY_MS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t next = 0, last = 0, before = wall_ms();
        assert_null(parse_next(cases[i].text, &next));
        assert_null(parse_last(cases[i].text, &last));
        int64_t after = wall_ms();
        assert_true(next >= before + cases[i].distance_ms && next <= after + cases[i].distance_ms);
        assert_true(last >= before + cases[i].distance_ms && last <= after + cases[i].distance_ms);
    }
}

static void rates_are_so_many_in_that_time(void **state)
{
    (void)state;
    int64_t count = 0, period_ms = 0;
    assert_null(cli_parse_rate("30/60s", &count, &period_ms));
    assert_int_equal(count, 30);
    assert_int_equal(period_ms, 60000);
    assert_null(cli_parse_rate("5/s", &count, &period_ms));
    assert_int_equal(count, 5);
    assert_int_equal(period_ms, 1000);
    assert_contains(cli_parse_rate("5", &count, &period_ms), "COUNT/PERIOD");
    assert_contains(cli_parse_rate("/s", &count, &period_ms), "COUNT/PERIOD");
    assert_contains(cli_parse_rate("5/", &count, &period_ms), "missing");
    assert_contains(cli_parse_rate("x/s", &count, &period_ms), "not a whole number");
    assert_contains(cli_parse_rate("5/x", &count, &period_ms), "unknown unit");
}

static void times_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    refuses(parse_next, (const bad[]){
                            {"", "not a time"},
                            {"12:00 13:00", "not a time"},
                            {"yesterdays", "not a time"},
                            {"yesterday 25:00", "not a time"},
                            {"yesterday 2030-01-31", "not a time"},
                            {"10m", "not a time"},
                            {"ago", "not a time"},
                            {" ago", "not a time"},
                            {"10 minutes ago", "unknown unit"},
                            {"in", "not a time"},
                            {"in 10x", "unknown unit"},
                            {"in -10m", "negative"},
                            {"2030-01-31 +02:00x", "not a time"},
                            {"12", "not a time"},
                            {"1893456000", "not a time"},
                            {"25:00", "not a time"},
                            {"12:60", "not a time"},
                            {"12:00x", "not a time"},
                            {"2030-13-01", "not a time"},
                            {"2030-02-30", "no such day"},
                            {"2029-02-29T12:00Z", "no such day"},
                            {"2030-01-31T", "not a time"},
                            {"2030-01-31T12:00+2", "not a time"},
                            {"2030-01-31T12:00+25:00", "not a time"},
                            {"2030-01-31T12:00+01:60", "not a time"},
                            {"2030-01-31T12:00+-1:05", "not a time"},
                            {"2030-01-31T12:00Zulu", "not a time"},
                            {"@", "not a number"},
                            {"@-1", "negative"},
                            {"@5s", "not a time"},
                            {NULL, NULL},
                        });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_milliseconds_and_bare_numbers_seconds),
        cmocka_unit_test(durations_that_mean_nothing_are_refused),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(integers_are_whole_and_fit),
        cmocka_unit_test(a_choice_is_one_whole_word_of_the_list),
        cmocka_unit_test(rates_are_so_many_in_that_time),
        cmocka_unit_test(times_are_unix_time_in_milliseconds),
        cmocka_unit_test(a_bare_time_is_the_next_one_or_the_last_one),
        cmocka_unit_test(days_have_names),
        cmocka_unit_test(a_moment_may_be_so_far_from_now),
        cmocka_unit_test(times_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
