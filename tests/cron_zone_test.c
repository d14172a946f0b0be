/* SPDX-License-Identifier: MIT
 *
 * Time zones: damaged files, every zone against the C library, and random cron expressions against
 * a clock that is looked at every minute.
 */
#include <tackle/cron.h>

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>

#include "cron/cron.h"
#include "support/process.h"
#include "support/test.h"

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
    tkl__cron_zone *zone;
    size_t len = read_zone("Europe/Berlin", data, sizeof data);
    for (size_t cut = 0; cut < len; cut++) {
        char *copy = malloc(cut + 1); /* so that AddressSanitizer sees its end */
        memcpy(copy, data, cut);
        assert_code(tkl__cron_zone_parse((tkl_bytes){copy, cut}, &zone), TKL_EINVAL);
        assert_null(zone);
        free(copy);
    }
    assert_ok(tkl__cron_zone_parse((tkl_bytes){data, len}, &zone));
    tkl__cron_zone_close(zone);
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
        tkl__cron_zone *zone;
        int64_t next, after = 1700000000 + (int64_t)random_below(2000000000);
        memcpy(data, good, len);
        spoil(data, len);
        if (tkl__cron_zone_parse((tkl_bytes){data, len}, &zone) != TKL_OK)
            continue;
        accepted++;
        if (tkl__cron_next(&cron, zone, after, &next) == TKL_OK)
            assert_true(next > after);
        tkl__cron_zone_close(zone);
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
    tkl__cron_rule rule;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!tkl__cron_rule_parse(tkl_str(good[i]), &rule))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (tkl__cron_rule_parse(tkl_str(bad[i]), &rule))
            fail_msg("accepted: %s", bad[i]);
}

static void summer_time_all_the_year_is_possible(void **state)
{
    (void)state;
    tkl__cron_rule rule;
    int64_t until, at = 1780272000 /* 2026-06-01 */;
    assert_true(tkl__cron_rule_parse(tkl_str("EST5EDT,0/0,J365/25"), &rule));
    for (int i = 0; i < 20; i++, at = until) {
        assert_int_equal(tkl__cron_rule_offset(&rule, at, &until), -4 * 3600);
        assert_true(until > at);
    }
}

/* ---- Against the C library's clock --------------------------------------- */

/* Every zone there is: the same offsets as the C library has, from 1970 to 2100. */
static int compare_zone(void *name)
{
    tkl__cron_zone *zone;
    setenv("TZ", name, 1);
    tzset();
    if (tkl__cron_zone_open(name, &zone) != TKL_OK) {
        fprintf(stderr, "%s\n", tkl_errmsg());
        return 1;
    }
    for (int64_t at = 0; at < INT64_C(4102444800); at += 172807) {
        time_t now = (time_t)at;
        struct tm tm;
        int64_t until, offset = tkl__cron_zone_offset(zone, at, &until);
        localtime_r(&now, &tm);
        if (tm.tm_gmtoff != offset) {
            fprintf(stderr, "%s at %ld: %ld, not %ld\n", (char *)name, (long)at, (long)offset,
                    tm.tm_gmtoff);
            return 1;
        }
    }
    tkl__cron_zone_close(zone);
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
    trial samoa = {.zone = "Pacific/Apia", .seed = base, .start = 1314835200 /* 2011-09-01 */};
    assert_int_equal(process_wait(process_fork(try_zone, &samoa)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(spoilt_files_are_refused_or_bounded),
        cmocka_unit_test(rules_are_read_to_the_last_letter),
        cmocka_unit_test(summer_time_all_the_year_is_possible),
        cmocka_unit_test(offsets_are_those_of_the_c_library),
        cmocka_unit_test(random_expressions_come_as_a_clock_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
