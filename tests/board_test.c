/* SPDX-License-Identifier: MIT
 *
 * Leaderboards against a model; ties, seasons, bad input, servers in trouble.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <tackle/board.h>

#include "support/call.h"
#include "support/clustered.h"
#include "support/fixture.h"
#include "support/permissions.h"
#include "support/timed.h"

static tkl_board *open_board(tkl_client *client, const char *name, const tkl_board_options *options)
{
    tkl_board *board;
    assert_ok(tkl_board_open(client, tkl_str(name), options, &board));
    return board;
}

typedef int write_fn(tkl_board *board, const tkl_board_score *scores, size_t count,
                     int64_t *changed);

static int64_t write_one(write_fn *write, tkl_board *board, const char *member, double score)
{
    int64_t changed = -1;
    assert_ok(write(board, &(tkl_board_score){tkl_str(member), score}, 1, &changed));
    return changed;
}

/* "bob alice carol": the first members. */
static void assert_top(tkl_board *board, const char *expected)
{
    char text[1024] = "";
    tkl_board_entries *e;
    assert_ok(tkl_board_top(board, 1, 100, &e));
    assert_int_equal(e->total, e->count);
    for (size_t i = 0; i < e->count; i++) {
        assert_int_equal(e->items[i].rank, i + 1);
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s" TKL_FMT, i > 0 ? " " : "",
                 TKL_ARG(e->items[i].member));
    }
    assert_string_equal(text, expected);
    tkl_board_entries_free(e);
}

/* ---- A model ----------------------------------------------------------------- */

enum { MEMBERS = 40, ROUNDS = 1500, SCORES = 6 };

typedef struct model {
    bool lower;
    bool there[MEMBERS];
    double score[MEMBERS];
    int reached[MEMBERS]; /* which round */
} model;

static uint32_t dice(uint32_t *seed, uint32_t sides)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % sides;
}

/* Any bytes: zero, braces, high ones. */
static tkl_bytes name_of(int member, char name[8])
{
    memcpy(name, "\0{\xff}m", 5);
    name[5] = (char)('A' + member % 8);
    name[6] = (char)(member / 8);
    return (tkl_bytes){name, 7};
}

static bool is_ahead(const model *m, int a, int b)
{
    if (m->score[a] != m->score[b])
        return m->lower ? m->score[a] < m->score[b] : m->score[a] > m->score[b];
    return m->reached[a] < m->reached[b];
}

static int model_rank(const model *m, int member)
{
    int rank = 1;
    for (int i = 0; i < MEMBERS; i++)
        rank += m->there[i] && i != member && is_ahead(m, i, member);
    return rank;
}

static int model_total(const model *m)
{
    int total = 0;
    for (int i = 0; i < MEMBERS; i++)
        total += m->there[i];
    return total;
}

static int model_at(const model *m, int rank)
{
    for (int i = 0; i < MEMBERS; i++)
        if (m->there[i] && model_rank(m, i) == rank)
            return i;
    fail_msg("no member has rank %d", rank);
    return -1;
}

static void assert_entry(const model *m, const tkl_board_entry *entry, int member)
{
    char name[8];
    tkl_bytes expected = name_of(member, name);
    assert_int_equal(entry->member.len, expected.len);
    assert_memory_equal(entry->member.data, expected.data, expected.len);
    assert_true(entry->score == m->score[member]);
    assert_int_equal(entry->rank, model_rank(m, member));
}

static void change(model *m, tkl_board *board, uint32_t *seed, int round)
{
    static write_fn *const writes[] = {tkl_board_add, tkl_board_set, tkl_board_best};
    char name[8];
    int member = (int)dice(seed, MEMBERS);
    uint32_t how = dice(seed, 7);
    int64_t changed;
    double number = ((double)dice(seed, SCORES) - 2) / 4;
    if (how == 6) {
        tkl_bytes bytes = name_of(member, name);
        assert_ok(tkl_board_remove(board, &bytes, 1, &changed));
        assert_int_equal(changed, m->there[member]);
        m->there[member] = false;
        return;
    }
    double before = m->there[member] ? m->score[member] : 0, after = number;
    if (how % 3 == 0)
        after = before + number;
    else if (how % 3 == 2 && m->there[member])
        after = m->lower ? fmin(before, number) : fmax(before, number);
    bool changes = !m->there[member] || after != before;
    assert_ok(
        writes[how % 3](board, &(tkl_board_score){name_of(member, name), number}, 1, &changed));
    assert_int_equal(changed, changes);
    if (changes) {
        m->there[member] = true;
        m->score[member] = after;
        m->reached[member] = round;
    }
}

static void look(const model *m, tkl_board *board, uint32_t *seed)
{
    char names[MEMBERS][8];
    tkl_bytes friends[MEMBERS];
    tkl_board_entries *e;
    int total = model_total(m), member = (int)dice(seed, MEMBERS);
    int first = 1 + (int)dice(seed, MEMBERS), count = (int)dice(seed, 10);
    assert_ok(tkl_board_top(board, first, (size_t)count, &e));
    assert_int_equal(e->total, total);
    int left = total - first + 1;
    assert_int_equal(e->count, left < 0 ? 0 : left < count ? left : count);
    for (size_t i = 0; i < e->count; i++)
        assert_entry(m, &e->items[i], model_at(m, first + (int)i));
    tkl_board_entries_free(e);

    int before = (int)dice(seed, 5), after = (int)dice(seed, 5);
    int rc = tkl_board_around(board, name_of(member, names[0]), (size_t)before, (size_t)after, &e);
    assert_code(rc, m->there[member] ? TKL_OK : TKL_NOTFOUND);
    if (rc == TKL_OK) {
        int rank = model_rank(m, member), from = rank - before < 1 ? 1 : rank - before;
        int till = rank + after > total ? total : rank + after;
        assert_int_equal(e->count, till - from + 1);
        for (size_t i = 0; i < e->count; i++)
            assert_entry(m, &e->items[i], model_at(m, from + (int)i));
    }
    tkl_board_entries_free(e);

    int some = (int)dice(seed, 12), known = 0;
    bool chosen[MEMBERS] = {false};
    for (int i = 0; i < some; i++) {
        int one = (int)dice(seed, MEMBERS);
        friends[i] = name_of(one, names[i]);
        known += m->there[one] && !chosen[one];
        chosen[one] = true;
    }
    assert_ok(tkl_board_rank(board, friends, (size_t)some, &e));
    assert_int_equal(e->count, known);
    for (size_t i = 0; i < e->count; i++) {
        int one = model_at(m, (int)e->items[i].rank);
        assert_true(chosen[one]);
        assert_entry(m, &e->items[i], one);
        assert_true(i == 0 || e->items[i].rank > e->items[i - 1].rank);
    }
    tkl_board_entries_free(e);
}

static void agree(tkl_client *client, tkl_board_order order, tkl_board_per per)
{
    model m = {.lower = order == TKL_BOARD_LOWER};
    uint32_t seed = (uint32_t)getpid() + order;
    tkl_board *board =
        open_board(client, "\x01{model}", &(tkl_board_options){.order = order, .per = per});
    for (int round = 1; round <= ROUNDS; round++) {
        change(&m, board, &seed, round);
        if (round % 5 == 0)
            look(&m, board, &seed);
    }
    assert_ok(tkl_board_drop(board));
    assert_code(tkl_board_drop(board), TKL_NOTFOUND);
    tkl_board_close(board);
}

static void a_board_is_like_its_model(void **state)
{
    fixture *f = *state;
    agree(f->client, TKL_BOARD_HIGHER, TKL_BOARD_FOREVER);
    agree(f->client, TKL_BOARD_LOWER, TKL_BOARD_YEAR);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
}

/* ---- Many ---------------------------------------------------------------------- */

static void a_large_batch_keeps_its_order(void **state)
{
    enum { MANY = 12345 };
    fixture *f = *state;
    tkl_board *board = open_board(f->client, "many", NULL);
    tkl_board_score *scores = calloc(MANY, sizeof *scores);
    char(*names)[8] = calloc(MANY, 8);
    int64_t changed, count;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], 8, "%d", i * 7919 % MANY);
        scores[i] = (tkl_board_score){tkl_str(names[i]), 1}; /* all are equal */
    }
    assert_ok(tkl_board_set(board, scores, MANY, &changed));
    assert_int_equal(changed, MANY);
    assert_ok(tkl_board_set(board, scores, MANY, &changed));
    assert_int_equal(changed, 0);
    assert_ok(tkl_board_count(board, &count));
    assert_int_equal(count, MANY);
    for (int i = 0; i < MANY; i += 1234) {
        tkl_board_entries *e;
        assert_ok(tkl_board_rank(board, &scores[i].member, 1, &e));
        assert_int_equal(e->items[0].rank, i + 1);
        tkl_board_entries_free(e);
    }
    assert_ok(tkl_board_add(board, NULL, 0, &changed));
    assert_int_equal(changed, 0);
    tkl_board_close(board);
    free(scores);
    free(names);
}

static void the_first_to_reach_a_score_is_ahead(void **state)
{
    fixture *f = *state;
    tkl_board *board = open_board(f->client, "ties", NULL);
    write_one(tkl_board_set, board, "zoe", 10);
    write_one(tkl_board_set, board, "bob", 10);
    write_one(tkl_board_set, board, "amy", 7);
    assert_top(board, "zoe bob amy");
    assert_int_equal(write_one(tkl_board_set, board, "zoe", 10), 0); /* keeps her place */
    assert_top(board, "zoe bob amy");
    write_one(tkl_board_add, board, "amy", 3);
    assert_top(board, "zoe bob amy");
    write_one(tkl_board_add, board, "zoe", 1);
    write_one(tkl_board_add, board, "zoe", -1); /* she has reached it again, after them */
    assert_top(board, "bob amy zoe");
    tkl_board_close(board);
}

/* The last of 100 members changes, and at once, in the next script of the trip, another one reaches
 * the same score. */
static void members_that_do_not_change_take_no_time(void **state)
{
    enum { STEP = 100, TRIPS = 20 };
    fixture *f = *state;
    tkl_board *board = open_board(f->client, "still", NULL);
    tkl_board_score scores[STEP + 1];
    char names[STEP + 1][8];
    for (int i = 0; i <= STEP; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        scores[i] = (tkl_board_score){tkl_str(names[i]), 1};
    }
    for (int trip = 1; trip <= TRIPS; trip++) {
        tkl_board_entries *e;
        scores[STEP - 1].score = scores[STEP].score = 1 + trip;
        assert_ok(tkl_board_set(board, scores, STEP + 1, NULL));
        assert_ok(tkl_board_top(board, 1, 2, &e));
        assert_memory_equal(e->items[0].member.data, "99", 2);
        tkl_board_entries_free(e);
    }
    tkl_board_close(board);
}

static void sums_stay_numbers(void **state)
{
    fixture *f = *state;
    tkl_board *board = open_board(f->client, "sums", NULL);
    tkl_board_entries *e;
    write_one(tkl_board_set, board, "x", 1.7e308);
    write_one(tkl_board_add, board, "x", 1.7e308);
    write_one(tkl_board_set, board, "y", 0.1);
    write_one(tkl_board_add, board, "y", 0.2);
    write_one(tkl_board_set, board, "z", -0.0);
    assert_ok(tkl_board_top(board, 1, 3, &e));
    assert_true(e->items[0].score == 1.7976931348623157e308);
    assert_true(e->items[1].score == 0.1 + 0.2);
    assert_true(e->items[2].score == 0 && !signbit(e->items[2].score));
    tkl_board_entries_free(e);
    tkl_board_close(board);
}

/* ---- Settings and seasons -------------------------------------------------------- */

static void later_handles_need_not_name_the_settings(void **state)
{
    fixture *f = *state;
    tkl_board *lower =
                  open_board(f->client, "race", &(tkl_board_options){.order = TKL_BOARD_LOWER}),
              *plain = open_board(f->client, "race", NULL),
              *higher =
                  open_board(f->client, "race", &(tkl_board_options){.order = TKL_BOARD_HIGHER}),
              *weekly = open_board(f->client, "race", &(tkl_board_options){.per = TKL_BOARD_WEEK}),
              *past = open_board(f->client, "race", &(tkl_board_options){.season = "previous"});
    tkl_board_score score = {tkl_str("bob"), 5};
    int64_t count;
    write_one(tkl_board_set, lower, "amy", 3);
    write_one(tkl_board_set, plain, "bob", 2);
    assert_top(plain, "bob amy");
    assert_code(tkl_board_set(higher, &score, 1, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "lower forever");
    assert_code(tkl_board_count(weekly, &count), TKL_EINVAL);
    assert_code(tkl_board_count(past, &count), TKL_EINVAL);
    assert_code(tkl_board_set(past, &score, 1, NULL), TKL_EINVAL);
    assert_top(lower, "bob amy");
    tkl_board_close(lower);
    tkl_board_close(plain);
    tkl_board_close(higher);
    tkl_board_close(weekly);
    tkl_board_close(past);
}

#define MIDNIGHT INT64_C(1794956400000) /* 2026-11-18 00:00 in Berlin: 17th, 23:00 UTC */

static void a_day_begins_at_midnight_in_its_zone(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_board *board =
        open_board(client, "quiz",
                   &(tkl_board_options){.per = TKL_BOARD_DAY, .zone = "Europe/Berlin", .keep = 2});
    tkl_board *past = open_board(client, "quiz", &(tkl_board_options){.season = "previous"});
    tkl_board *named = open_board(client, "quiz", &(tkl_board_options){.season = "2026-11-17"});
    tkl_names *seasons;
    timed_set(t, MIDNIGHT - 3600000);
    write_one(tkl_board_add, board, "amy", 1);
    assert_top(board, "amy");
    timed_set(t, MIDNIGHT + 5000);
    assert_top(board, "");
    write_one(tkl_board_add, board, "bob", 1);
    assert_top(board, "bob");
    assert_top(past, "amy");
    assert_top(named, "amy");
    assert_ok(tkl_board_remove(named, &(tkl_bytes){"amy", 3}, 1, NULL));
    assert_top(past, "");
    timed_set(t, MIDNIGHT + 86400000 - 3600000); /* the same day */
    assert_top(board, "bob");
    timed_set(t, MIDNIGHT + 86400000 + 5000);
    write_one(tkl_board_add, board, "cid", 1);
    assert_top(past, "bob");
    assert_ok(tkl_board_seasons(board, &seasons));
    assert_int_equal(seasons->count, 2);
    assert_memory_equal(seasons->items[0].data, "2026-11-18", 10);
    tkl_names_free(seasons);
    timed_set(t, MIDNIGHT + 2 * 86400000 + 3 * 3600000); /* two are kept: the first is gone */
    write_one(tkl_board_add, board, "dan", 1);
    assert_ok(tkl_board_seasons(board, &seasons));
    assert_int_equal(seasons->count, 2);
    assert_memory_equal(seasons->items[0].data, "2026-11-19", 10);
    tkl_names_free(seasons);
    timed_set(t, MIDNIGHT + 86400000 + 3600000); /* back by a day */
    assert_top(board, "cid");
    timed_set(t, MIDNIGHT + 30 * INT64_C(86400000));
    assert_top(board, "");
    assert_int_equal(server_ask_int(t->server, "EXISTS tackle:board:{quiz}:settings"), 0);
    tkl_board_close(board);
    tkl_board_close(past);
    tkl_board_close(named);
    tkl_close(client);
    timed_end(t);
}

static void weeks_months_and_years_begin_on_their_first_day(void **state)
{
    static const struct {
        tkl_board_per per;
        const char *season;
    } cases[] = {{TKL_BOARD_WEEK, "2026-11-16"},
                 {TKL_BOARD_MONTH, "2026-11-01"},
                 {TKL_BOARD_YEAR, "2026-01-01"}};
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    timed_set(t, MIDNIGHT + 3600000);
    for (size_t i = 0; i < 3; i++) {
        char name[8];
        tkl_names *seasons;
        snprintf(name, sizeof name, "b%zu", i);
        tkl_board *board = open_board(client, name, &(tkl_board_options){.per = cases[i].per});
        write_one(tkl_board_best, board, "amy", 1);
        assert_ok(tkl_board_seasons(board, &seasons));
        assert_int_equal(seasons->count, 1);
        assert_string_equal(seasons->items[0].data, cases[i].season);
        tkl_names_free(seasons);
        tkl_board_close(board);
    }
    tkl_close(client);
    timed_end(t);
}

/* The day on which a season begins, by the C library. */
static const char *first_day_of(tkl_board_per per, time_t at)
{
    static char name[16];
    struct tm tm;
    localtime_r(&at, &tm);
    if (per == TKL_BOARD_WEEK)
        tm.tm_mday -= (tm.tm_wday + 6) % 7;
    if (per == TKL_BOARD_MONTH || per == TKL_BOARD_YEAR)
        tm.tm_mday = 1;
    if (per == TKL_BOARD_YEAR)
        tm.tm_mon = 0;
    tm.tm_hour = 12;
    tm.tm_isdst = -1;
    mktime(&tm);
    strftime(name, sizeof name, "%Y-%m-%d", &tm);
    return name;
}

/* Clocks change: at midnight in Havana and Cairo, by half an hour on Lord Howe Island. */
static void seasons_follow_the_clocks_of_their_zone(void **state)
{
    static const char *const zones[] = {"Europe/Berlin",       "America/Havana", "Africa/Cairo",
                                        "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"};
    static const time_t changes[] = {
        1776981600, /* 2026-04-23 22:00 UTC: Cairo's Friday begins at one o'clock */
        1791041400, /* 2026-10-03 15:30 UTC: Lord Howe Island */
        1792890000, /* 2026-10-25 01:00 UTC: Berlin's Sunday has 25 hours */
        1793307600, /* 2026-10-29 21:00 UTC: Cairo's Thursday has 25 hours */
        1793509200, /* 2026-11-01 05:00 UTC: Havana's midnight comes twice */
        1798761600, /* 2027-01-01 00:00 UTC */
        1805000400, /* 2027-03-14 05:00 UTC: Havana's Sunday begins at one o'clock */
        1806195600, /* 2027-03-28 01:00 UTC: Berlin's Sunday has 23 hours */
    };
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    (void)state;
    for (size_t z = 0; z < sizeof zones / sizeof *zones; z++) {
        setenv("TZ", zones[z], 1);
        tzset();
        for (int i = 0; i < (int)(sizeof changes / sizeof *changes) * 52; i++) {
            tkl_board_per per = TKL_BOARD_DAY + (tkl_board_per)(i % 4);
            time_t at = changes[i / 52] + (i / 4 % 13 - 6) * 1800 + 60;
            tkl_names *seasons;
            timed_set(t, (int64_t)at * 1000);
            tkl_board *board =
                open_board(client, "dst", &(tkl_board_options){.per = per, .zone = zones[z]});
            write_one(tkl_board_add, board, "amy", 1);
            assert_top(board, "amy");
            assert_ok(tkl_board_seasons(board, &seasons));
            assert_int_equal(seasons->count, 1);
            assert_string_equal(seasons->items[0].data, first_day_of(per, at));
            tkl_names_free(seasons);
            assert_ok(tkl_board_drop(board));
            tkl_board_close(board);
        }
    }
    unsetenv("TZ");
    tzset();
    tkl_close(client);
    timed_end(t);
}

/* ---- Bad input, full and damaged servers ------------------------------------------ */

static void bad_input_is_refused_and_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_board *board;
    tkl_board_entries *e;
    const tkl_board_options bad[] = {
        {.order = (tkl_board_order)3},
        {.per = (tkl_board_per)-1},
        {.keep = -1, .per = TKL_BOARD_DAY},
        {.keep = 401, .per = TKL_BOARD_DAY},
        {.keep = 2},
        {.zone = "Mars/Olympus", .per = TKL_BOARD_DAY},
        {.zone = "../../etc/passwd", .per = TKL_BOARD_DAY},
        {.season = "2026-02-30"},
        {.season = "tomorrow"},
        {.timeout_ms = -1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_board_open(f->client, tkl_str("b"), &bad[i], &board), TKL_EINVAL);
        assert_null(board);
    }
    board = open_board(f->client, "b", NULL);
    char *large = calloc(1, TKL_BOARD_MEMBER_MAX + 1);
    const tkl_board_score scores[][2] = {
        {{tkl_str("a"), 1}, {tkl_str(""), 1}},
        {{tkl_str("a"), 1}, {{large, TKL_BOARD_MEMBER_MAX + 1}, 1}},
        {{tkl_str("a"), 1}, {tkl_str("b"), NAN}},
        {{tkl_str("a"), 1}, {tkl_str("b"), INFINITY}},
    };
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
        assert_code(tkl_board_add(board, scores[i], 2, NULL), TKL_EINVAL);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    assert_code(tkl_board_top(board, 0, 1, &e), TKL_EINVAL);
    assert_code(tkl_board_top(board, 1, TKL_BOARD_PAGE_MAX + 1, &e), TKL_EINVAL);
    assert_code(tkl_board_around(board, tkl_str("a"), 250, 250, &e), TKL_EINVAL);
    assert_code(tkl_board_around(board, tkl_str("a"), SIZE_MAX, 1, &e), TKL_EINVAL);
    assert_code(tkl_board_rank(board, &(tkl_bytes){"", 0}, 1, &e), TKL_EINVAL);
    assert_code(tkl_board_rank(board, NULL, TKL_BOARD_RANK_MAX + 1, &e), TKL_EINVAL);
    assert_null(e);
    free(large);
    tkl_board_close(board);
    tkl_board_close(NULL);
}

static void a_full_server_still_removes(void **state)
{
    fixture *f = *state;
    tkl_board *board = open_board(f->client, "b", NULL);
    tkl_board_score score = {tkl_str("bob"), 5};
    write_one(tkl_board_set, board, "amy", 3);
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_board_set(board, &score, 1, NULL), TKL_EOOM);
    assert_top(board, "amy");
    assert_ok(tkl_board_remove(board, &(tkl_bytes){"amy", 3}, 1, NULL));
    assert_top(board, "");
    assert_ok(tkl_board_drop(board));
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_board_close(board);
}

static void keys_of_other_programs_are_left_alone(void **state)
{
    static const char *const parts[] = {"settings", "ranks", "members"};
    fixture *f = *state;
    tkl_board_score score = {tkl_str("bob"), 5};
    for (int i = 0; i < 3; i++) {
        tkl_board *board = open_board(f->client, "b", NULL);
        tkl_board_entries *e;
        server_do(f->server, "FLUSHALL");
        server_do(f->server, "SET tackle:board:{b}:%s other", parts[i]);
        assert_code(tkl_board_set(board, &score, 1, NULL), TKL_ETYPE);
        if (i < 2)
            assert_code(tkl_board_top(board, 1, 5, &e), TKL_ETYPE);
        assert_int_equal(server_ask_int(f->server, "DBSIZE"), 1);
        tkl_board_close(board);
    }
    tkl_board *board = open_board(f->client, "b", NULL);
    tkl_board_entries *e;
    server_do(f->server, "FLUSHALL");
    server_do(f->server, "HSET tackle:board:{b}:members bob junk");
    assert_code(tkl_board_set(board, &score, 1, NULL), TKL_EDAMAGED);
    server_do(f->server, "ZADD tackle:board:{b}:ranks 1 short");
    assert_code(tkl_board_set(board, &score, 1, NULL), TKL_EDAMAGED);
    assert_code(tkl_board_top(board, 1, 5, &e), TKL_EDAMAGED);
    server_do(f->server, "HSET tackle:board:{b}:settings shape junk");
    assert_code(tkl_board_set(board, &score, 1, NULL), TKL_EDAMAGED);
    tkl_board_close(board);
}

/* A board that has lost a key is not written: a member would be ranked twice, or never again. */
static void a_board_that_was_evicted_in_part_is_not_written(void **state)
{
    fixture *f = *state;
    tkl_board *board = open_board(f->client, "b", NULL);
    tkl_board_score score = {tkl_str("amy"), 5};
    for (int i = 0; i < 2; i++) {
        write_one(tkl_board_set, board, "amy", 5);
        server_do(f->server, "DEL tackle:board:{b}:%s", i == 0 ? "members" : "ranks");
        assert_code(tkl_board_set(board, &score, 1, NULL), TKL_EDAMAGED);
        assert_contains(tkl_errmsg(), "drop it");
        assert_code(tkl_board_remove(board, &score.member, 1, NULL), TKL_EDAMAGED);
        assert_ok(tkl_board_drop(board));
        assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    }
    write_one(tkl_board_set, board, "amy", 5);
    assert_top(board, "amy");
    tkl_board_close(board);
}

static void the_documented_permissions_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *user = documented_user(f->server, "board.md");
    tkl_board *board = open_board(user, "b", &(tkl_board_options){.per = TKL_BOARD_DAY});
    tkl_board_entries *e;
    tkl_names *names;
    tkl_bytes amy = tkl_str("amy");
    write_one(tkl_board_add, board, "amy", 3);
    write_one(tkl_board_add, board, "amy", 3);
    assert_ok(tkl_board_around(board, amy, 1, 1, &e));
    tkl_board_entries_free(e);
    assert_ok(tkl_board_rank(board, &amy, 1, &e));
    tkl_board_entries_free(e);
    assert_ok(tkl_board_seasons(board, &names));
    tkl_names_free(names);
    assert_ok(tkl_board_names(user, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_board_remove(board, &amy, 1, NULL));
    assert_ok(tkl_board_drop(board));
    tkl_board_close(board);
    tkl_close(user);
}

static void boards_work_on_a_cluster_and_after_its_failover(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, &(tkl_options){.timeout_ms = 60000});
    tkl_names *names;
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof name, "b%d", i);
        tkl_board *board = open_board(client, name, &(tkl_board_options){.per = TKL_BOARD_WEEK});
        write_one(tkl_board_set, board, "amy", i);
        write_one(tkl_board_set, board, "bob", i);
        assert_top(board, "amy bob");
        tkl_board_close(board);
    }
    assert_ok(tkl_board_names(client, &names));
    assert_int_equal(names->count, 10);
    tkl_names_free(names);
    cluster_fail_over(c, slot_of("{b0}"));
    tkl_board *board = open_board(client, "b0", NULL);
    assert_top(board, "amy bob");
    write_one(tkl_board_add, board, "bob", 1);
    assert_top(board, "bob amy");
    tkl_board_close(board);
    tkl_close(client);
    cluster_end(c);
}

static void boards_survive_the_death_of_a_master(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    tkl_client *client = test_open(trio->url, &(tkl_options){.timeout_ms = 60000});
    tkl_board *board = open_board(client, "b", &(tkl_board_options){.order = TKL_BOARD_LOWER});
    server *old = sentinels_master(trio);
    write_one(tkl_board_set, board, "amy", 1);
    write_one(tkl_board_set, board, "bob", 1);
    for (int i = 0; i < 3; i++) /* replication is asynchronous */
        eventually(server_ask_int(trio->data[i], "HLEN tackle:board:{b}:members") == 2, 60000);
    server_kill(old);
    sentinels_await_other(trio, old);
    assert_top(board, "amy bob");
    write_one(tkl_board_best, board, "cid", 1);
    write_one(tkl_board_best, board, "bob", 0);
    assert_top(board, "bob amy cid");
    tkl_board_close(board);
    tkl_close(client);
    sentinels_end(trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_board_is_like_its_model),
        TEST(a_large_batch_keeps_its_order),
        TEST(the_first_to_reach_a_score_is_ahead),
        TEST(members_that_do_not_change_take_no_time),
        TEST(sums_stay_numbers),
        TEST(later_handles_need_not_name_the_settings),
        cmocka_unit_test(a_day_begins_at_midnight_in_its_zone),
        cmocka_unit_test(weeks_months_and_years_begin_on_their_first_day),
        cmocka_unit_test(seasons_follow_the_clocks_of_their_zone),
        TEST(bad_input_is_refused_and_changes_nothing),
        TEST(a_full_server_still_removes),
        TEST(keys_of_other_programs_are_left_alone),
        TEST(a_board_that_was_evicted_in_part_is_not_written),
        TEST(the_documented_permissions_are_enough),
        cmocka_unit_test(boards_work_on_a_cluster_and_after_its_failover),
        cmocka_unit_test(boards_survive_the_death_of_a_master),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
