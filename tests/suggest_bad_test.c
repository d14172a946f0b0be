/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions when something is wrong: settings, arguments, data, the server.
 */
#include "support/suggestions.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Arguments ----------------------------------------------------------- */

static void settings_stay_and_are_checked(void **state)
{
    fixture *f = *state;
    tkl_suggest_options made = {
        .half_life_ms = 60000, .best = 20, .longest = 5, .texts = 100, .accents = TKL_SETTING_ON};
    tkl_suggest_info *info;
    tkl_suggest *s = open_suggest(f->client, &made), *guest = open_suggest(f->client, NULL);
    assert_code(tkl_suggest_show(guest, &info), TKL_NOTFOUND);
    feed_text(s, "Müller", 2);
    check_hints(guest, "mul", 5, "Müller=2");
    feed_text(guest, "Łódź", 1);
    check_hints(s, "lodz", 5, "Łódź=1");
    assert_ok(tkl_suggest_show(guest, &info));
    assert_true(info->accents && !info->pinyin && !info->words);
    assert_int_equal(info->texts, 2);
    assert_int_equal(info->half_life_ms, 60000);
    assert_int_equal(info->best, 20);
    assert_int_equal(info->longest, 5);
    assert_int_equal(info->texts_max, 100);
    tkl_suggest_info_free(info);
    const tkl_suggest_options others[] = {
        {.half_life_ms = TKL_NONE},
        {.half_life_ms = 61000},
        {.best = 50},
        {.longest = 6},
        {.texts = TKL_NONE},
        {.accents = TKL_SETTING_OFF},
        {.pinyin = TKL_SETTING_ON},
        {.words = TKL_SETTING_ON},
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        tkl_suggest *other = open_suggest(f->client, &others[i]);
        tkl_suggestions *found;
        tkl_bytes text = tkl_str("x");
        assert_code(tkl_suggest_hint(other, text, 5, &found), TKL_EINVAL);
        assert_contains(tkl_errmsg(), "were made with");
        assert_code(tkl_suggest_feed(other, &(tkl_suggest_text){.text = text}, 1), TKL_EINVAL);
        assert_code(tkl_suggest_remove(other, &text, 1, NULL), TKL_EINVAL);
        assert_code(tkl_suggest_show(other, &info), TKL_EINVAL);
        tkl_suggest_close(other);
    }
    assert_ok(tkl_suggest_drop(guest));
    assert_code(tkl_suggest_drop(guest), TKL_NOTFOUND);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_suggest_close(s);
    tkl_suggest_close(guest);
}

static void bad_arguments_are_refused(void **state)
{
    fixture *f = *state;
    const tkl_suggest_options bad[] = {
        {.timeout_ms = -1}, {.ttl_ms = -1},    {.half_life_ms = 999}, {.half_life_ms = -2},
        {.best = 9},        {.best = 1001},    {.best = -1},          {.longest = 33},
        {.longest = -1},    {.texts = -2},     {.accents = 2},        {.pinyin = -2},
        {.words = 5},       {.reserved = {1}},
    };
    tkl_suggest *s;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_code(tkl_suggest_open(f->client, tkl_str("q"), &bad[i], &s), TKL_EINVAL);
        assert_null(s);
    }
    assert_code(tkl_suggest_open(f->client, tkl_str(""), NULL, &s), TKL_EINVAL);
    s = open_suggest(f->client, NULL);
    static char large[65536];
    memset(large, 'x', sizeof large);
    assert_code(tkl_suggest_feed(s, &(tkl_suggest_text){.text = {large, 65536}}, 1), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "65536");
    assert_code(tkl_suggest_feed(s, &(tkl_suggest_text){.text = {NULL, 0}}, 1), TKL_EINVAL);
    assert_code(tkl_suggest_feed(s, &(tkl_suggest_text){.text = {large, 5}, .reserved = {1}}, 1),
                TKL_EINVAL);
    assert_code(tkl_suggest_remove(s, &(tkl_bytes){NULL, 0}, 1, NULL), TKL_EINVAL);
    assert_ok(tkl_suggest_feed(s, &(tkl_suggest_text){.text = {large, 512}}, 1));
    assert_ok(tkl_suggest_feed(s, NULL, 0));
    assert_ok(tkl_suggest_remove(s, NULL, 0, NULL));
    tkl_suggestions *found;
    assert_ok(tkl_suggest_hint(s, (tkl_bytes){large, 65536}, 5, &found));
    assert_int_equal(found->count, 0);
    tkl_suggestions_free(found);
    tkl_suggestions_free(NULL);
    tkl_suggest_close(s);
    tkl_suggest_close(NULL);
}

/* ---- Data ---------------------------------------------------------------- */

static void foreign_data_is_reported_and_left_alone(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "weights", "texts", "best", "shown", "starts"};
    tkl_suggest_text text = {.text = tkl_str("x")};
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:suggest:{q}:%s", parts[i]);
        tkl_suggest *s = open_suggest(f->client, NULL);
        assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
        assert_ok(tkl_callz(f->client, NULL, "SET", key, "x", NULL));
        assert_code(tkl_suggest_feed(s, &text, 1), TKL_ETYPE);
        assert_code(tkl_suggest_remove(s, &text.text, 1, NULL), TKL_ETYPE);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
        tkl_suggest_close(s);
        free(key);
    }
    static const char *const scores[] = {"inf", "-inf", "-1"};
    for (size_t i = 0; i < COUNT(scores); i++) {
        tkl_suggest *s = open_suggest(f->client, NULL);
        assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
        assert_ok(
            tkl_callz(f->client, NULL, "ZADD", "tackle:suggest:{q}:weights", scores[i], "x", NULL));
        assert_code(tkl_suggest_feed(s, &text, 1), TKL_EDAMAGED);
        assert_code(tkl_suggest_remove(s, &text.text, 1, NULL), TKL_EDAMAGED);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
        tkl_suggest_close(s);
    }
    tkl_suggest *s = open_suggest(f->client, NULL);
    tkl_suggestions *found;
    assert_ok(
        tkl_callz(f->client, NULL, "HSET", "tackle:suggest:{q}:meta", "settings", "best=3", NULL));
    assert_code(tkl_suggest_hint(s, tkl_str("x"), 5, &found), TKL_EDAMAGED);
    assert_null(found);
    tkl_suggest_close(s);
}

/* Lost: the server evicted it. Hints go on, and the best come back as texts are fed. */
static void suggestions_in_part_are_damaged(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    tkl_suggest_text text = {.text = tkl_str("a")};
    tkl_suggestions *found;
    tkl_suggest_info *info;
    feed_text(s, "a", 1);
    assert_int_equal(call_int(f->client, "DEL", "tackle:suggest:{q}:meta", NULL), 1);
    assert_code(tkl_suggest_feed(s, &text, 1), TKL_EDAMAGED);
    assert_code(tkl_suggest_remove(s, &text.text, 1, NULL), TKL_EDAMAGED);
    assert_code(tkl_suggest_hint(s, tkl_str("a"), 5, &found), TKL_EDAMAGED);
    assert_code(tkl_suggest_show(s, &info), TKL_EDAMAGED);
    assert_ok(tkl_suggest_drop(s));
    feed_text(s, "a", 1);
    check_hints(s, "a", 5, "a=1");
    assert_int_equal(call_int(f->client, "DEL", "tackle:suggest:{q}:weights", NULL), 1);
    assert_code(tkl_suggest_feed(s, &text, 1), TKL_EDAMAGED);
    assert_code(tkl_suggest_remove(s, &text.text, 1, NULL), TKL_EDAMAGED);
    assert_code(tkl_suggest_hint(s, tkl_str("a"), 5, &found), TKL_EDAMAGED);
    tkl_suggest_close(s);
}

/* Members that tackle did not write go when others need their places. */
static void foreign_members_of_the_best_are_replaced(void **state)
{
    fixture *f = *state;
    char text[16];
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.best = 10});
    for (int i = 1; i <= 30; i++) {
        sprintf(text, "text %03d", i);
        feed_text(s, text, i);
    }
    const char *argv[] = {"ZADD", "tackle:suggest:{q}:best", "0", "t\0\1", "0", "te\0"};
    const size_t lens[] = {4, strlen(argv[1]), 1, 3, 1, 3};
    assert_ok(tkl_call(f->client, 6, argv, lens, NULL, NULL));
    feed_text(s, "text 040", 40);
    assert_int_equal(take_text(s, "text 040"), 1);
    feed_text(s, "text 041", 41);
    feed_text(s, "text 042", 42);
    check_hints(s, "t", 2, "text 042=42|text 041=41");
    check_hints(s, "te", 2, "text 042=42|text 041=41");
    tkl_suggest_close(s);
}

static void the_best_of_prefixes_may_get_lost(void **state)
{
    fixture *f = *state;
    char text[16];
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.best = 10});
    for (int i = 1; i <= 30; i++) {
        sprintf(text, "text %03d", i);
        feed_text(s, text, i);
    }
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:suggest:{q}:best", NULL));
    check_hints(s, "text 0", 2, "text 030=30|text 029=29"); /* the heaviest of the first fifty */
    for (int i = 1; i <= 30; i++) {
        sprintf(text, "text %03d", i);
        feed_text(s, text, i);
    }
    check_hints(s, "text 0", 2, "text 030=60|text 029=58");
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    check_hints(s, "text 0", 2, "");
    feed_text(s, "text 000", 5);
    check_hints(s, "", 5, "text 000=5");
    tkl_suggest_close(s);
}

/* ---- The server ---------------------------------------------------------- */

static void a_full_server_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed_text(s, "old", 2);
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_suggest_feed(s, &(tkl_suggest_text){.text = tkl_str("old")}, 1), TKL_EOOM);
    check_hints(s, "", 5, "old=2");
    assert_int_equal(take_text(s, "old"), 1);
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_suggest_close(s);
}

static void all_keys_expire(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "weights", "texts", "best", "shown", "starts"};
    tkl_suggest *s =
        open_suggest(f->client, &(tkl_suggest_options){.ttl_ms = 60000, .words = TKL_SETTING_ON});
    char text[16];
    for (int i = 0; i < 20; i++) {
        sprintf(text, "A b%d", i);
        feed_text(s, text, 1);
    }
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:suggest:{q}:%s", parts[i]);
        assert_in_range(call_int(f->client, "PTTL", key, NULL), 1, 60000);
        free(key);
    }
    tkl_suggest *stays = open_suggest(f->client, NULL);
    feed_text(stays, "A c", 1); /* a handle without: all of them stay */
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:suggest:{q}:%s", parts[i]);
        assert_int_equal(call_int(f->client, "PTTL", key, NULL), -1);
        free(key);
    }
    tkl_suggest_close(stays);
    tkl_suggest_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings_stay_and_are_checked),
        TEST(bad_arguments_are_refused),
        TEST(foreign_data_is_reported_and_left_alone),
        TEST(suggestions_in_part_are_damaged),
        TEST(foreign_members_of_the_best_are_replaced),
        TEST(the_best_of_prefixes_may_get_lost),
        TEST(a_full_server_changes_nothing),
        TEST(all_keys_expire),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
