/* SPDX-License-Identifier: MIT
 *
 * Online users: the kinds give the same answers, days are those of the server's clock.
 */
#include <tackle/online.h>

#include "online/online.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/permissions.h"
#include "support/timed.h"

/* 2027-01-15, a Friday, 12:00 UTC. */
#define NOON_MS INT64_C(1800014400000)
#define DAY_MS  INT64_C(86400000)

static tkl_online *open_online(tkl_client *client, const char *name,
                               const tkl_online_options *options)
{
    tkl_online *online;
    assert_ok(tkl_online_open(client, tkl_str(name), options, &online));
    return online;
}

/* The users of a text, separated by blanks. */
static size_t split(const char *users, tkl_bytes list[64])
{
    size_t count = 0;
    for (const char *at = users; *at; at += strcspn(at, " "), at += strspn(at, " "))
        list[count++] = (tkl_bytes){at, strcspn(at, " ")};
    return count;
}

static void mark(tkl_online *online, const char *users)
{
    tkl_bytes list[64];
    size_t count = split(users, list);
    assert_ok(tkl_online_mark(online, list, count, NULL));
}

static int64_t count_of(tkl_online *online, int64_t days, tkl_online_over over)
{
    int64_t count;
    assert_ok(tkl_online_count(online, days, over, &count));
    return count;
}

static bool is_present(tkl_online *online, const char *user, int64_t days_ago)
{
    bool present;
    assert_ok(tkl_online_check(online, tkl_str(user), days_ago, &present));
    return present;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The users that a walk over the day finds, sorted, with blanks between them; to be freed. */
static char *users_of(tkl_online *online, int64_t days_ago)
{
    tkl_online_users_options options = {.days_ago = days_ago};
    tkl_online_users *users;
    tkl_bytes user;
    char *names[64], *text = strdup("");
    size_t count = 0;
    int rc;
    assert_ok(tkl_online_users_open(online, &options, &users));
    while ((rc = tkl_online_users_next(users, &user)) == TKL_OK)
        names[count++] = test_format(TKL_FMT, TKL_ARG(user));
    assert_code(rc, TKL_EMPTY);
    assert_code(tkl_online_users_next(users, &user), TKL_EMPTY);
    tkl_online_users_close(users);
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++) {
        char *longer = test_format("%s%s%s", text, i > 0 ? " " : "", names[i]);
        free(text);
        free(names[i]);
        text = longer;
    }
    return text;
}

static void there_are(tkl_online *online, int64_t days_ago, const char *expected)
{
    char *found = users_of(online, days_ago);
    assert_string_equal(found, expected);
    free(found);
}

/* ---- The kinds agree ----------------------------------------------------- */

static const tkl_online_kind day_kinds[] = {TKL_ONLINE_SET, TKL_ONLINE_BITMAP, TKL_ONLINE_ASSIGNED,
                                            TKL_ONLINE_HLL};

static void the_kinds_give_the_same_answers(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    for (size_t k = 0; k < sizeof day_kinds / sizeof *day_kinds; k++) {
        tkl_online_options options = {.kind = day_kinds[k]};
        const char *name = tkl_online_kind_name(day_kinds[k]);
        tkl_online *online = open_online(client, name, &options);
        int64_t back, fresh;
        timed_set(t, NOON_MS);
        mark(online, "1 2 3 4");
        timed_set(t, NOON_MS + DAY_MS);
        mark(online, "3 4 5 3");
        timed_set(t, NOON_MS + 2 * DAY_MS);
        mark(online, "4 5 6 7 8");
        assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 5);
        assert_int_equal(count_of(online, 1, TKL_ONLINE_EVERY_DAY), 5);
        assert_int_equal(count_of(online, 3, TKL_ONLINE_ANY_DAY), 8);
        assert_ok(tkl_online_returning(online, 2, &back, &fresh));
        assert_int_equal(back, 2);
        assert_int_equal(fresh, 3);
        assert_ok(tkl_online_returning(online, 1, &back, NULL));
        assert_int_equal(back, 2);
        if (day_kinds[k] != TKL_ONLINE_HLL) {
            assert_int_equal(count_of(online, 2, TKL_ONLINE_EVERY_DAY), 2);
            assert_int_equal(count_of(online, 3, TKL_ONLINE_EVERY_DAY), 1);
            assert_int_equal(count_of(online, 4, TKL_ONLINE_EVERY_DAY), 0);
            assert_true(is_present(online, "8", 0));
            assert_false(is_present(online, "3", 0));
            assert_true(is_present(online, "3", 1));
            assert_false(is_present(online, "99", 2));
            there_are(online, 0, "4 5 6 7 8");
            there_are(online, 1, "3 4 5");
            there_are(online, 3, "");
        }
        tkl_online_close(online);
    }
    tkl_close(client);
    timed_end(t);
}

static void a_hyperloglog_says_what_it_cannot_tell(void **state)
{
    fixture *f = *state;
    tkl_online_options options = {.kind = TKL_ONLINE_HLL};
    tkl_online *online = open_online(f->client, "x", &options);
    bool present;
    int64_t count;
    mark(online, "ann");
    assert_code(tkl_online_check(online, tkl_str("ann"), 0, &present), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "cannot tell");
    assert_code(tkl_online_count(online, 7, TKL_ONLINE_EVERY_DAY, &count), TKL_EINVAL);
    tkl_online_users *users;
    tkl_bytes user;
    assert_ok(tkl_online_users_open(online, NULL, &users));
    assert_code(tkl_online_users_next(users, &user), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "cannot tell");
    assert_code(tkl_online_users_next(users, &user), TKL_EINVAL); /* the walk is over */
    tkl_online_users_close(users);
    tkl_online_close(online);
}

static void a_bitmap_takes_numbers_up_to_its_limit(void **state)
{
    fixture *f = *state;
    tkl_online_options options = {.kind = TKL_ONLINE_BITMAP};
    tkl_online *online = open_online(f->client, "x", &options);
    static const struct {
        const char *user, *text;
    } bad[] = {
        {"ann", "in digits"},
        {"-1", "in digits"},
        {"1.5", "in digits"},
        {"007", "in digits"},
        {"007", "in digits"},
        {"1099511627776", "137439 MB"},
        {"100000000", "max_id is 99999999 (12.5 MB)"},
        {"99999999999999999999999999", "26 digits"},
        {"", "0 bytes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tkl_bytes users[] = {tkl_str("7"), tkl_str(bad[i].user)};
        assert_code(tkl_online_mark(online, users, 2, NULL), TKL_EINVAL);
        assert_contains(tkl_errmsg(), bad[i].text);
    }
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 0); /* nobody was marked */
    mark(online, "0 99999999 0");
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 2);
    tkl_online_close(online);
}

/* No command works on more than 2 MB. */
static void a_large_bitmap_is_made_of_chunks(void **state)
{
    fixture *f = *state;
    enum { USERS = 3000 };
    tkl_online_options options = {.kind = TKL_ONLINE_BITMAP, .max_id = TKL_ONLINE_ID_MAX};
    tkl_online *online = open_online(f->client, "x", &options);
    tkl_online_report *report;
    static char texts[USERS][16];
    tkl_bytes users[USERS];
    int64_t fresh;
    for (int64_t i = 0; i < USERS; i++) { /* all over the range, its end included */
        snprintf(texts[i], sizeof texts[i], "%lld",
                 (long long)(TKL_ONLINE_ID_MAX - i * 7919 % USERS * (TKL_ONLINE_ID_MAX / USERS)));
        users[i] = tkl_str(texts[i]);
    }
    assert_ok(tkl_online_mark(online, users, USERS, &fresh));
    assert_int_equal(fresh, USERS);
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), USERS);
    assert_true(is_present(online, "268435455", 0));
    tkl_online *usual = open_online(f->client, "x", NULL); /* which may not mark that one */
    assert_true(is_present(usual, "268435455", 0));
    tkl_online_close(usual);
    assert_true(is_present(online, texts[1234], 0));
    assert_false(is_present(online, "16777216", 0));
    mark(online, "16777215 16777216 33554431");
    assert_true(is_present(online, "16777216", 0) && is_present(online, "16777215", 0));
    tkl_online_users *walk;
    tkl_bytes user;
    int64_t found = 0, last = -1;
    assert_ok(tkl_online_users_open(online, NULL, &walk));
    for (; tkl_online_users_next(walk, &user) == TKL_OK; found++) {
        assert_true(atoll(user.data) > last);
        last = atoll(user.data);
    }
    tkl_online_users_close(walk);
    assert_int_equal(found, USERS + 3);
    assert_int_equal(last, TKL_ONLINE_ID_MAX);
    assert_ok(tkl_online_show(online, &report));
    assert_int_equal(report->count, 1);
    assert_int_equal(report->items[0].users, USERS + 3);
    assert_in_range(report->items[0].theory_bytes, 33000000, 33554432);
    tkl_online_report_free(report);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 17); /* 16 chunks and the settings */
    char *keys = server_ask(f->server, "KEYS *:bitmap:*"), *rest = keys;
    for (const char *key; (key = strsep(&rest, "\n")) && *key;) {
        assert_in_range(server_ask_int(f->server, "STRLEN %s", key), 1, 2 << 20);
        assert_true(server_ask_int(f->server, "PTTL %s", key) > 0);
    }
    free(keys);
    assert_ok(tkl_online_drop(online));
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    tkl_online_close(online);
}

/* A bitmap may grow in any way: left alone, the server would give it twice the room. */
static void a_bitmap_takes_little_more_than_its_bits(void **state)
{
    fixture *f = *state;
    static const int steps[] = {1000, 77777, 123456};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        tkl_online_options options = {.kind = TKL_ONLINE_BITMAP};
        tkl_online *online = open_online(f->client, "x", &options);
        tkl_online_report *report;
        for (int id = 0; id <= 9999999; id += steps[i]) {
            char text[16];
            snprintf(text, sizeof text, "%d", id);
            mark(online, text);
        }
        mark(online, "9999999");
        assert_ok(tkl_online_show(online, &report));
        assert_int_equal(report->items[0].theory_bytes, 1250000);
        assert_in_range(report->items[0].bytes, 1250000, 1323000); /* 1 % above 1.25 MiB */
        tkl_online_report_free(report);
        char *keys = server_ask(f->server, "KEYS *:bitmap:*");
        *strchr(keys, '\n') = '\0';
        assert_true(server_ask_int(f->server, "PTTL %s", keys) > 0);
        free(keys);
        assert_ok(tkl_online_drop(online));
        tkl_online_close(online);
    }
}

static void names_and_users_are_any_bytes(void **state)
{
    fixture *f = *state;
    static const tkl_bytes users[] = {TKL_LIT("a:b c"), TKL_LIT("nul\0"), TKL_LIT("nul\0x"),
                                      TKL_LIT("{}%\xff\n")};
    for (size_t k = 0; k < sizeof day_kinds / sizeof *day_kinds; k++) {
        tkl_online_options options = {.kind = day_kinds[k]};
        tkl_online *online;
        bool present = false;
        if (day_kinds[k] == TKL_ONLINE_BITMAP)
            continue;
        assert_ok(tkl_online_open(f->client, (tkl_bytes){"x: \0", 3 + k % 3}, &options, &online));
        assert_ok(tkl_online_mark(online, users, 4, NULL));
        assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 4);
        if (day_kinds[k] != TKL_ONLINE_HLL) {
            assert_ok(tkl_online_check(online, users[2], 0, &present));
            assert_true(present);
        }
        assert_ok(tkl_online_drop(online));
        tkl_online_close(online);
    }
}

/* Keys that were evicted are written again by the next mark. */
static void settings_that_are_lost_come_back(void **state)
{
    fixture *f = *state;
    tkl_online_options options = {.kind = TKL_ONLINE_BITMAP};
    tkl_online *online = open_online(f->client, "x", &options);
    mark(online, "1 2");
    server_do(f->server, "DEL tackle:online:{x}:settings");
    mark(online, "3");
    tkl_online *other = open_online(f->client, "x", NULL);
    assert_int_equal(count_of(other, 1, TKL_ONLINE_ANY_DAY), 3);
    tkl_online_close(other);
    tkl_online_close(online);
}

static void long_names_are_marked_in_short_steps(void **state)
{
    fixture *f = *state;
    enum { USERS = 1000 };
    static char texts[USERS][TKL_ONLINE_USER_MAX];
    static tkl_bytes users[USERS];
    tkl_online *online = open_online(f->client, "x", NULL);
    int64_t before = server_functions(f->server);
    for (int i = 0; i < USERS; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        users[i] = (tkl_bytes){texts[i], sizeof texts[i]};
    }
    assert_ok(tkl_online_mark(online, users, USERS, NULL));
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), USERS);
    assert_true(server_functions(f->server) - before >= 8);
    tkl_online_close(online);
}

static void many_users_are_marked_in_batches(void **state)
{
    fixture *f = *state;
    enum { USERS = 25000 };
    tkl_online_options options = {.kind = TKL_ONLINE_ASSIGNED};
    tkl_online *online = open_online(f->client, "x", &options);
    static char texts[USERS][16];
    static tkl_bytes users[USERS];
    int64_t fresh;
    for (int i = 0; i < USERS; i++) {
        snprintf(texts[i], sizeof texts[i], "user%d", i % 20000);
        users[i] = tkl_str(texts[i]);
    }
    assert_ok(tkl_online_mark(online, users, USERS, &fresh));
    assert_int_equal(fresh, 20000);
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 20000);
    assert_int_equal(server_ask_int(f->server, "HLEN tackle:online:{x}:ids"), 20000);
    users[USERS - 1] = tkl_str("");
    assert_code(tkl_online_mark(online, users, USERS, &fresh), TKL_EINVAL);
    assert_ok(tkl_online_mark(online, NULL, 0, &fresh));
    assert_int_equal(fresh, 0);
    tkl_online_close(online);
}

/* ---- Time ---------------------------------------------------------------- */

static void days_are_those_of_the_zone(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_online_options berlin = {.zone = "Europe/Berlin"}, utc = {.zone = "UTC"};
    tkl_online *there = open_online(client, "berlin", &berlin);
    tkl_online *here = open_online(client, "utc", &utc);
    timed_set(t, NOON_MS + DAY_MS / 2 - 3600000); /* 23:00 in UTC, midnight in Berlin */
    timed_shift(t, -60000);
    mark(there, "ann");
    mark(here, "ann");
    timed_shift(t, 120000);
    mark(there, "bob");
    mark(here, "bob");
    assert_int_equal(count_of(there, 1, TKL_ONLINE_ANY_DAY), 1);
    assert_int_equal(count_of(there, 2, TKL_ONLINE_ANY_DAY), 2);
    assert_int_equal(count_of(here, 1, TKL_ONLINE_ANY_DAY), 2);
    tkl_online_close(there);
    tkl_online_close(here);
    tkl_close(client);
    timed_end(t);
}

static void a_day_of_25_hours_is_kept_to_its_end(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_online_options options = {.zone = "Europe/Berlin", .keep_days = 2};
    tkl_online *online = open_online(client, "x", &options);
    timed_set(t, INT64_C(1792843200000)); /* 2026-10-24 14:00 in Berlin */
    mark(online, "ann");
    timed_set(t, INT64_C(1792967400000)); /* 2026-10-25 23:30, the clocks were set back that day */
    mark(online, "bob");
    assert_true(is_present(online, "ann", 1));
    assert_int_equal(count_of(online, 2, TKL_ONLINE_ANY_DAY), 2);
    tkl_online_close(online);
    tkl_close(client);
    timed_end(t);
}

/* NOON_MS is on 2027-01-15. */
static void earlier_days_can_be_marked_as_long_as_they_are_kept(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof day_kinds / sizeof *day_kinds; k++) {
        timed_server *t = timed_start(NULL);
        tkl_client *client = test_open(t->server->url, NULL);
        tkl_online_options options = {.kind = day_kinds[k], .keep_days = 5};
        timed_set(t, NOON_MS);
        tkl_online *online = open_online(client, "x", &options);
        tkl_bytes users[64];
        int64_t fresh;
        assert_ok(tkl_online_mark_day(online, "2027-01-14", users, split("1 2 3", users), &fresh));
        assert_int_equal(fresh, day_kinds[k] == TKL_ONLINE_HLL ? TKL_NONE : 3);
        assert_ok(tkl_online_mark_day(online, "yesterday", users, split("3 4", users), &fresh));
        assert_int_equal(fresh, day_kinds[k] == TKL_ONLINE_HLL ? TKL_NONE : 1);
        assert_ok(tkl_online_mark_day(online, "2027-01-11", users, split("9", users), NULL));
        assert_ok(tkl_online_mark_day(online, "today", users, split("4 5", users), NULL));
        assert_ok(tkl_online_mark_day(online, NULL, users, split("6", users), NULL));
        assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 3);
        assert_int_equal(count_of(online, 2, TKL_ONLINE_ANY_DAY), 6);
        assert_int_equal(count_of(online, 5, TKL_ONLINE_ANY_DAY), 7);
        if (day_kinds[k] != TKL_ONLINE_HLL)
            there_are(online, 1, "1 2 3 4");
        static const struct {
            const char *day, *says;
        } wrong[] = {{"2027-01-10", "too long ago: 5 days are kept"},
                     {"2027-01-16", "yet to come"},
                     {"2027-02-29", "not a day"},
                     {"", "not a day"},
                     {"someday", "not a day"}};
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            assert_code(tkl_online_mark_day(online, wrong[i].day, users, 1, &fresh), TKL_EINVAL);
            assert_contains(tkl_errmsg(), wrong[i].says);
        }
        assert_int_equal(count_of(online, 5, TKL_ONLINE_ANY_DAY), 7);

        timed_set(t, NOON_MS + DAY_MS); /* the earliest day goes when its time is over, not later */
        eventually(call_int(client, "DBSIZE", NULL) ==
                       (day_kinds[k] == TKL_ONLINE_ASSIGNED ? 4 : 3),
                   20000);
        assert_int_equal(count_of(online, 5, TKL_ONLINE_ANY_DAY), 6);
        timed_set(t, NOON_MS + 6 * DAY_MS);
        eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
        tkl_online_close(online);
        tkl_close(client);
        timed_end(t);
    }
}

static void marks_are_taken_back(void **state)
{
    fixture *f = *state;
    static const tkl_online_kind kinds[] = {TKL_ONLINE_SET, TKL_ONLINE_BITMAP, TKL_ONLINE_ASSIGNED,
                                            TKL_ONLINE_HEARTBEAT};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tkl_online_options options = {.kind = kinds[k]};
        tkl_online *online = open_online(f->client, tkl_online_kind_name(kinds[k]), &options);
        tkl_bytes users[64];
        int64_t removed;
        assert_ok(tkl_online_unmark(online, NULL, users, split("1", users), &removed));
        assert_int_equal(removed, 0);
        mark(online, "1 2 3 4");
        assert_ok(tkl_online_unmark(online, NULL, users, split("2 3 99999 2", users), &removed));
        assert_int_equal(removed, 2);
        there_are(online, 0, "1 4");
        assert_ok(tkl_online_unmark(online, NULL, users, 0, &removed));
        if (kinds[k] == TKL_ONLINE_HEARTBEAT) {
            assert_code(tkl_online_unmark(online, "today", users, 1, NULL), TKL_EINVAL);
            assert_code(tkl_online_mark_day(online, "today", users, 1, NULL), TKL_EINVAL);
        } else {
            assert_ok(tkl_online_mark_day(online, "yesterday", users, split("1 2", users), NULL));
            assert_ok(tkl_online_unmark(online, "yesterday", users, split("1", users), &removed));
            assert_int_equal(removed, 1);
            there_are(online, 1, "2");
            there_are(online, 0, "1 4");
            assert_code(tkl_online_unmark(online, "1999-01-01", users, 1, NULL), TKL_EINVAL);
        }
        tkl_online_close(online);
    }
    /* A bitmap does not grow by it. */
    int64_t bytes = call_int(f->client, "EVAL",
                             "local sum = 0 for _, key in ipairs("
                             "redis.call('KEYS', '*{bitmap}:bitmap:*')) do sum = sum + "
                             "redis.call('STRLEN', key) end return sum",
                             "0", NULL);
    assert_int_equal(bytes, 2);
    tkl_online *estimate =
        open_online(f->client, "hll", &(tkl_online_options){.kind = TKL_ONLINE_HLL});
    mark(estimate, "1");
    assert_code(tkl_online_unmark(estimate, NULL, &(tkl_bytes)TKL_LIT("1"), 1, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "cannot forget");
    tkl_online_close(estimate);
}

static void old_days_expire_and_a_clock_set_back_goes_on(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_online_options options = {.keep_days = 2};
    tkl_online *online = open_online(client, "x", &options);
    timed_set(t, NOON_MS);
    mark(online, "ann");
    timed_set(t, NOON_MS + DAY_MS);
    mark(online, "bob");
    timed_set(t, NOON_MS); /* back by a day */
    mark(online, "eve");
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 2);
    timed_set(t, NOON_MS + 5 * DAY_MS);
    eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
    tkl_online_close(online);
    tkl_close(client);
    timed_end(t);
}

/* Settings and numbers live as long as the last day, whichever was marked last. */
static void a_clock_set_back_does_not_shorten_the_life_of_settings(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof day_kinds / sizeof *day_kinds; k++) {
        timed_server *t = timed_start(NULL);
        tkl_client *client = test_open(t->server->url, NULL);
        tkl_online_options options = {.kind = day_kinds[k], .keep_days = 10};
        tkl_online *online = open_online(client, "x", &options);
        timed_set(t, NOON_MS);
        mark(online, "1 2");
        timed_set(t, NOON_MS - 7 * DAY_MS);
        mark(online, "2 3");
        timed_set(t, NOON_MS + 8 * DAY_MS);
        mark(online, "3"); /* an assigned bitmap must know the numbers of the others */
        assert_int_equal(count_of(online, 10, TKL_ONLINE_ANY_DAY), 3);
        assert_int_equal(call_int(client, "EXISTS", "tackle:online:{x}:settings", NULL), 1);
        timed_set(t, NOON_MS + 19 * DAY_MS);
        eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
        timed_set(t, NOON_MS);
        mark(online, "1");
        timed_set(t, NOON_MS - 7 * DAY_MS);
        mark(online, "2");
        timed_set(t, NOON_MS + 8 * DAY_MS); /* nobody marks: reading needs the settings, too */
        tkl_online *reader = open_online(client, "x", NULL);
        assert_int_equal(count_of(reader, 10, TKL_ONLINE_ANY_DAY), 1);
        tkl_online_close(reader);
        tkl_online_close(online);
        tkl_close(client);
        timed_end(t);
    }
}

static void a_cohort_is_followed_day_by_day(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    static const char *const marks[] = {"1 2 3 99999999", "2 3 99999999 7", NULL, "3 8 20000000"};
    static const int64_t back[] = {3, 0, 1};
    tkl_online_cohort *c;
    for (size_t k = 0; k < sizeof day_kinds / sizeof *day_kinds; k++) {
        tkl_online_options options = {.kind = day_kinds[k], .keep_days = 50};
        tkl_online *online = open_online(client, tkl_online_kind_name(day_kinds[k]), &options);
        for (int day = 0; day < 4; day++) {
            timed_set(t, NOON_MS + day * DAY_MS);
            if (marks[day])
                mark(online, marks[day]);
        }
        assert_ok(tkl_online_cohort_get(online, "2027-01-15", &c));
        assert_string_equal(c->day, "2027-01-15");
        assert_int_equal(c->users, 4);
        assert_int_equal(c->count, 3);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(c->items[i].users, back[i]);
        assert_string_equal(c->items[0].day, "2027-01-16");
        tkl_online_cohort_free(c);
        assert_ok(tkl_online_cohort_get(online, "2027-01-18", &c)); /* today */
        assert_int_equal(c->users, 3);
        assert_int_equal(c->count, 0);
        tkl_online_cohort_free(c);
        timed_set(t, NOON_MS + 40 * DAY_MS); /* more than go in one trip */
        mark(online, "1 2 4");
        assert_ok(tkl_online_cohort_get(online, "2027-01-15", &c));
        assert_int_equal(c->count, 40);
        assert_int_equal(c->items[39].users, 2);
        assert_int_equal(c->items[38].users, 0);
        tkl_online_cohort_free(c);
        static const char *const bad[] = {"2027-03-01", "2026-11-01", "2027-02-29",  "yester",
                                          "2027-1-15",  "",           "2027-01-15 ", "+027-01-15"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            assert_code(tkl_online_cohort_get(online, bad[i], &c), TKL_EINVAL);
            assert_null(c);
        }
        tkl_online_close(online);
    }
    tkl_online_options beats = {.kind = TKL_ONLINE_HEARTBEAT};
    tkl_online *online = open_online(client, "beats", &beats);
    assert_code(tkl_online_cohort_get(online, "2027-01-15", &c), TKL_EINVAL);
    tkl_online_close(online);
    tkl_online_cohort_free(NULL);
    tkl_close(client);
    timed_end(t);
}

static void reports_and_drops_go_by_the_servers_clock(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_online *first = open_online(client, "x", NULL);
    timed_set(t, NOON_MS);
    mark(first, "ann bob");
    tkl_online *fresh = open_online(client, "x", NULL); /* has not met the server's clock */
    tkl_online_report *report;
    assert_ok(tkl_online_show(fresh, &report));
    assert_int_equal(report->items[0].users, 2);
    tkl_online_report_free(report);
    tkl_online *other = open_online(client, "x", NULL);
    assert_ok(tkl_online_drop(other));
    assert_int_equal(call_int(client, "DBSIZE", NULL), 0);
    tkl_online_close(first);
    tkl_online_close(fresh);
    tkl_online_close(other);
    tkl_close(client);
    timed_end(t);
}

/* More days than one script puts together. */
static void months_are_combined_in_short_steps(void **state)
{
    (void)state;
    enum { DAYS = 100 };
    for (size_t k = 0; k < sizeof day_kinds / sizeof *day_kinds; k++) {
        timed_server *t = timed_start(NULL);
        tkl_client *client = test_open(t->server->url, NULL);
        tkl_online_options options = {.kind = day_kinds[k], .keep_days = DAYS + 5};
        tkl_online *online = open_online(client, "x", &options);
        int64_t back, fresh;
        for (int day = 0; day < DAYS; day++) {
            char users[64];
            snprintf(users, sizeof users, "7 99999999 %d", 16777200 + day);
            timed_set(t, NOON_MS + day * DAY_MS);
            mark(online, users);
        }
        int64_t keys = call_int(client, "DBSIZE", NULL);
        for (int days = 14; days <= DAYS; days += days < 32 ? 1 : 17) {
            int64_t any = count_of(online, days, TKL_ONLINE_ANY_DAY);
            if (day_kinds[k] == TKL_ONLINE_HLL) {
                assert_in_range(any, days, days + 4);
                continue;
            }
            assert_int_equal(any, days + 2);
            assert_int_equal(count_of(online, days, TKL_ONLINE_EVERY_DAY), 2);
        }
        assert_int_equal(count_of(online, DAYS, TKL_ONLINE_ANY_DAY) >= DAYS, 1);
        assert_ok(tkl_online_returning(online, DAYS - 1, &back, &fresh));
        if (day_kinds[k] != TKL_ONLINE_HLL) {
            assert_int_equal(back, 2);
            assert_int_equal(fresh, 1);
            assert_int_equal(count_of(online, DAYS + 1, TKL_ONLINE_EVERY_DAY), 0);
        }
        assert_int_equal(call_int(client, "DBSIZE", NULL), keys); /* nothing is left behind */
        assert_ok(tkl_online_drop(online));
        assert_int_equal(call_int(client, "DBSIZE", NULL), 0);
        tkl_online_close(online);
        tkl_close(client);
        timed_end(t);
    }
}

static void a_heartbeat_is_present_for_its_window(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_online_options options = {.kind = TKL_ONLINE_HEARTBEAT, .window_ms = 30000};
    tkl_online *online = open_online(client, "x", &options);
    int64_t count;
    timed_set(t, NOON_MS);
    mark(online, "ann bob");
    timed_shift(t, 20000);
    mark(online, "bob eve");
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 3);
    timed_shift(t, 20000);
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 2);
    assert_true(is_present(online, "bob", 0));
    assert_false(is_present(online, "ann", 0));
    there_are(online, 0, "bob eve");
    mark(online, "dan"); /* forgets ann */
    assert_int_equal(call_int(client, "ZCARD", "tackle:online:{x}:heartbeat", NULL), 3);
    timed_shift(t, -3600000);
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 0);
    assert_false(is_present(online, "bob", 0));
    there_are(online, 0, "");
    mark(online, "bob"); /* forgets the others: their marks lie in the future */
    assert_int_equal(count_of(online, 1, TKL_ONLINE_ANY_DAY), 1);
    assert_int_equal(call_int(client, "ZCARD", "tackle:online:{x}:heartbeat", NULL), 1);
    timed_shift(t, 40000); /* a full server marks no user, also where it could forget another */
    tkl_bytes eve = tkl_str("eve");
    server_do(t->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_online_mark(online, &eve, 1, NULL), TKL_EOOM);
    server_do(t->server, "CONFIG SET maxmemory 0");
    assert_int_equal(call_int(client, "ZCARD", "tackle:online:{x}:heartbeat", NULL), 1);
    mark(online, "eve");
    timed_shift(t, 2 * HOUR_MS);
    eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
    assert_code(tkl_online_count(online, 2, TKL_ONLINE_ANY_DAY, &count), TKL_EINVAL);
    tkl_online_close(online);
    tkl_close(client);
    timed_end(t);
}

/* ---- Settings ------------------------------------------------------------ */

static void the_first_mark_decides(void **state)
{
    fixture *f = *state;
    tkl_online_options bitmap = {.kind = TKL_ONLINE_BITMAP, .keep_days = 5},
                       set = {.kind = TKL_ONLINE_SET};
    tkl_online *first = open_online(f->client, "x", &bitmap);
    tkl_online *other = open_online(f->client, "x", &set);
    tkl_online *plain = open_online(f->client, "x", NULL);
    tkl_online *reader = open_online(f->client, "x", NULL);
    int64_t count;
    tkl_online_report *report;
    mark(first, "1 2 3");
    assert_int_equal(count_of(reader, 1, TKL_ONLINE_ANY_DAY), 3);
    assert_int_equal(count_of(plain, 1, TKL_ONLINE_ANY_DAY), 3);
    mark(plain, "4");
    assert_code(tkl_online_mark(plain, &(tkl_bytes)TKL_LIT("ann"), 1, NULL), TKL_EINVAL);
    assert_code(tkl_online_count(other, 1, TKL_ONLINE_ANY_DAY, &count), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "bitmap UTC 5");
    assert_code(tkl_online_mark(other, &(tkl_bytes)TKL_LIT("5"), 1, NULL), TKL_EINVAL);
    assert_code(tkl_online_count(plain, 6, TKL_ONLINE_ANY_DAY, &count), TKL_EINVAL);
    assert_ok(tkl_online_show(plain, &report));
    assert_int_equal(report->kind, TKL_ONLINE_BITMAP);
    assert_int_equal(report->count, 1);
    assert_int_equal(report->items[0].users, 4);
    assert_true(report->items[0].bytes > 0);
    tkl_online_report_free(report);
    assert_ok(tkl_online_drop(first));
    assert_code(tkl_online_drop(first), TKL_NOTFOUND);
    assert_code(tkl_online_show(first, &report), TKL_NOTFOUND);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    mark(other, "ann"); /* now it is a set */
    assert_code(tkl_online_mark(first, &(tkl_bytes)TKL_LIT("5"), 1, NULL), TKL_EINVAL);
    mark(plain, "eve");
    assert_int_equal(count_of(other, 1, TKL_ONLINE_ANY_DAY), 2);
    reader->known_until = 0; /* ten seconds later */
    assert_int_equal(count_of(reader, 1, TKL_ONLINE_ANY_DAY), 2);
    tkl_online_close(reader);
    tkl_online_close(first);
    tkl_online_close(other);
    tkl_online_close(plain);
}

static void names_are_listed(void **state)
{
    fixture *f = *state;
    tkl_online *online = open_online(f->client, "a{b}", NULL);
    tkl_names *names;
    mark(online, "ann");
    assert_ok(tkl_online_names(f->client, &names));
    assert_int_equal(names->count, 1);
    assert_memory_equal(names->items[0].data, "a{b}", 4);
    tkl_names_free(names);
    tkl_online_close(online);
}

/* ---- Bad cases ----------------------------------------------------------- */

static void wrong_options_are_refused(void **state)
{
    fixture *f = *state;
    static const tkl_online_options bad[] = {
        {.timeout_ms = -1},  {.kind = (tkl_online_kind)6},
        {.keep_days = -1},   {.keep_days = 1001},
        {.max_id = -1},      {.max_id = TKL_ONLINE_ID_MAX + 1},
        {.window_ms = -1},   {.zone = "Mars/Olympus"},
        {.window_ms = 1000}, {.kind = TKL_ONLINE_SET, .window_ms = 1000},
        {.reserved = {1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tkl_online *none;
        assert_code(tkl_online_open(f->client, tkl_str("x"), &bad[i], &none), TKL_EINVAL);
        assert_null(none);
    }
    tkl_online *online = open_online(f->client, "x", NULL);
    int64_t count;
    bool present;
    assert_code(tkl_online_count(online, 0, TKL_ONLINE_ANY_DAY, &count), TKL_EINVAL);
    assert_code(tkl_online_count(online, -1, TKL_ONLINE_ANY_DAY, &count), TKL_EINVAL);
    assert_code(tkl_online_count(online, 1, (tkl_online_over)2, &count), TKL_EINVAL);
    assert_code(tkl_online_check(online, tkl_str("ann"), -1, &present), TKL_EINVAL);
    assert_code(tkl_online_returning(online, 0, NULL, NULL), TKL_EINVAL);
    static const tkl_online_users_options walks[] = {
        {.timeout_ms = -1}, {.days_ago = -1}, {.days_ago = 1001}, {.reserved = {1}}};
    tkl_online_users *users;
    tkl_bytes user;
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        assert_code(tkl_online_users_open(online, &walks[i], &users), TKL_EINVAL);
        assert_null(users);
    }
    assert_ok(tkl_online_users_open(online, &(tkl_online_users_options){.days_ago = 31}, &users));
    assert_code(tkl_online_users_next(users, &user), TKL_EINVAL); /* it is not kept */
    tkl_online_users_close(users);
    tkl_online_users_close(NULL);
    tkl_online_close(online);
    tkl_online_close(NULL);
}

static void foreign_data_is_reported(void **state)
{
    fixture *f = *state;
    int64_t count;
    server_do(f->server, "HSET tackle:online:{x}:settings shape garbage");
    tkl_online *online = open_online(f->client, "x", NULL);
    assert_code(tkl_online_count(online, 1, TKL_ONLINE_ANY_DAY, &count), TKL_EDAMAGED);
    server_do(f->server, "DEL tackle:online:{x}:settings");
    server_do(f->server, "SET tackle:online:{x}:settings x");
    assert_code(tkl_online_count(online, 1, TKL_ONLINE_ANY_DAY, &count), TKL_ETYPE);
    tkl_online_close(online);
    online = open_online(f->client, "y", &(tkl_online_options){.kind = TKL_ONLINE_HEARTBEAT});
    mark(online, "ann");
    server_do(f->server, "DEL tackle:online:{y}:heartbeat");
    server_do(f->server, "HSET tackle:online:{y}:heartbeat ann lately");
    tkl_online_users *users;
    tkl_bytes user;
    assert_ok(tkl_online_users_open(online, NULL, &users));
    assert_code(tkl_online_users_next(users, &user), TKL_EDAMAGED);
    tkl_online_users_close(users);
    tkl_online_close(online);
}

/* The server's hash tables return members in any order, and some twice. */
static void many_users_are_listed_once(void **state)
{
    fixture *f = *state;
    enum { USERS = 20000 };
    static const tkl_online_kind kinds[] = {TKL_ONLINE_SET, TKL_ONLINE_ASSIGNED,
                                            TKL_ONLINE_HEARTBEAT};
    static char texts[USERS][16];
    static tkl_bytes all[USERS];
    for (int i = 0; i < USERS; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        all[i] = tkl_str(texts[i]);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tkl_online_options options = {.kind = kinds[k]};
        tkl_online *online = open_online(f->client, tkl_online_kind_name(kinds[k]), &options);
        tkl_online_users *users;
        tkl_bytes user;
        static bool seen[USERS];
        memset(seen, 0, sizeof seen);
        assert_ok(tkl_online_mark(online, all, USERS, NULL));
        assert_ok(tkl_online_users_open(online, NULL, &users));
        int found = 0;
        for (; tkl_online_users_next(users, &user) == TKL_OK; found++) {
            int number = atoi(user.data);
            assert_false(seen[number]);
            seen[number] = true;
        }
        assert_int_equal(found, USERS);
        tkl_online_users_close(users);
        tkl_online_close(online);
    }
}

static void a_full_server_marks_nobody(void **state)
{
    fixture *f = *state;
    tkl_bytes user = tkl_str("ann");
    for (int kind = TKL_ONLINE_SET; kind <= TKL_ONLINE_HEARTBEAT; kind++) {
        tkl_online_options options = {.kind = (tkl_online_kind)kind};
        tkl_online *online = open_online(f->client, tkl_online_kind_name(options.kind), &options);
        user = tkl_str(kind == TKL_ONLINE_BITMAP ? "7" : "ann");
        server_do(f->server, "CONFIG SET maxmemory 1");
        assert_code(tkl_online_mark(online, &user, 1, NULL), TKL_EOOM);
        server_do(f->server, "CONFIG SET maxmemory 0");
        assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
        tkl_online_close(online);
    }
}

static void use_everything(tkl_client *client, tkl_online_kind kind)
{
    tkl_online_options options = {.kind = kind, .keep_days = 300};
    tkl_online *online = open_online(client, tkl_online_kind_name(kind), &options);
    tkl_online_report *report;
    tkl_names *names;
    mark(online, "1 2");
    count_of(online, 1, TKL_ONLINE_ANY_DAY);
    if (kind != TKL_ONLINE_HEARTBEAT) {
        count_of(online, 3, TKL_ONLINE_ANY_DAY);
        count_of(online, 300, TKL_ONLINE_ANY_DAY);
        assert_ok(tkl_online_returning(online, 2, NULL, NULL));
        assert_ok(tkl_online_returning(online, 200, NULL, NULL));
        assert_ok(tkl_online_show(online, &report));
        tkl_online_cohort *cohort;
        assert_ok(tkl_online_cohort_get(online, report->items[0].day, &cohort));
        assert_int_equal(cohort->users, 2);
        tkl_online_cohort_free(cohort);
        tkl_online_report_free(report);
    }
    if (kind != TKL_ONLINE_HLL) {
        is_present(online, "1", 0);
        assert_ok(tkl_online_unmark(online, NULL, &(tkl_bytes)TKL_LIT("7"), 1, NULL));
        there_are(online, 0, "1 2");
    }
    if (kind != TKL_ONLINE_HLL && kind != TKL_ONLINE_HEARTBEAT) {
        count_of(online, 3, TKL_ONLINE_EVERY_DAY);
        count_of(online, 300, TKL_ONLINE_EVERY_DAY);
    }
    assert_ok(tkl_online_show(online, &report));
    tkl_online_report_free(report);
    assert_ok(tkl_online_names(client, &names));
    tkl_names_free(names);
    assert_ok(tkl_online_drop(online));
    tkl_online_close(online);
}

static void the_permissions_of_the_page_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "online.md");
    for (int kind = TKL_ONLINE_SET; kind <= TKL_ONLINE_HEARTBEAT; kind++)
        use_everything(client, (tkl_online_kind)kind);
    tkl_close(client);
}

static void all_kinds_work_on_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    for (int kind = TKL_ONLINE_SET; kind <= TKL_ONLINE_HEARTBEAT; kind++)
        use_everything(client, (tkl_online_kind)kind);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kinds_give_the_same_answers),
        TEST(a_hyperloglog_says_what_it_cannot_tell),
        TEST(a_bitmap_takes_numbers_up_to_its_limit),
        TEST(a_large_bitmap_is_made_of_chunks),
        TEST(a_bitmap_takes_little_more_than_its_bits),
        TEST(names_and_users_are_any_bytes),
        TEST(settings_that_are_lost_come_back),
        TEST(long_names_are_marked_in_short_steps),
        TEST(many_users_are_marked_in_batches),
        cmocka_unit_test(days_are_those_of_the_zone),
        cmocka_unit_test(a_day_of_25_hours_is_kept_to_its_end),
        cmocka_unit_test(earlier_days_can_be_marked_as_long_as_they_are_kept),
        TEST(marks_are_taken_back),
        cmocka_unit_test(old_days_expire_and_a_clock_set_back_goes_on),
        cmocka_unit_test(a_clock_set_back_does_not_shorten_the_life_of_settings),
        cmocka_unit_test(a_cohort_is_followed_day_by_day),
        cmocka_unit_test(reports_and_drops_go_by_the_servers_clock),
        cmocka_unit_test(months_are_combined_in_short_steps),
        cmocka_unit_test(a_heartbeat_is_present_for_its_window),
        TEST(the_first_mark_decides),
        TEST(names_are_listed),
        TEST(wrong_options_are_refused),
        TEST(foreign_data_is_reported),
        TEST(many_users_are_listed_once),
        TEST(a_full_server_marks_nobody),
        TEST(the_permissions_of_the_page_are_enough),
        cmocka_unit_test(all_kinds_work_on_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
