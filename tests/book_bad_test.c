/* SPDX-License-Identifier: MIT
 *
 * Address books when something is wrong: arguments, data, the server.
 */
#include "support/books.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Arguments ----------------------------------------------------------- */

static void what_is_too_large_is_refused_before_it_is_sent(void **state)
{
    fixture *f = *state;
    static char large[65536];
    memset(large, 'x', sizeof large);
    tkl_book *plain = open_book(f->client, NULL);
    tkl_book_entry bad[] = {
        {.text = {large, 65536}}, {.text = {large, 1025}},
        {.text = NONE},           {.id = {large, 1025}, .text = tkl_str("x")},
        {.id = tkl_str("x")},     {.text = tkl_str("x"), .reserved = {0, 1}},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        tkl_book_entry entries[] = {{.text = tkl_str("good")}, bad[i]};
        assert_code(tkl_book_add(plain, entries, 2, NULL), TKL_EINVAL);
        assert_contains(tkl_errmsg(), "entry 1");
    }
    tkl_book_entry longest = {.id = {large, 1024}, .text = {large, 1024}};
    assert_ok(tkl_book_add(plain, &longest, 1, NULL));
    assert_ok(tkl_book_drop(plain));

    tkl_book *parts = open_book(f->client, &(tkl_book_options){.contains = TKL_SETTING_ON});
    assert_code(tkl_book_add(parts, &(tkl_book_entry){.text = {large, 129}}, 1, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "129 characters");
    assert_ok(tkl_book_add(parts, &(tkl_book_entry){.text = {large, 128}}, 1, NULL));
    tkl_book_close(plain);
    tkl_book_close(parts);
}

static void bad_options_are_refused(void **state)
{
    fixture *f = *state;
    const tkl_book_options bad[] = {{.timeout_ms = -1}, {.ttl_ms = -1},  {.accents = 2},
                                    {.pinyin = -2},     {.contains = 7}, {.reserved = {1}}};
    tkl_book *b;
    tkl_book_answers *answers;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_code(tkl_book_open(f->client, tkl_str("x"), &bad[i], &b), TKL_EINVAL);
        assert_null(b);
    }
    assert_code(tkl_book_open(f->client, NONE, NULL, &b), TKL_EINVAL);
    b = open_book(f->client, NULL);
    assert_code(tkl_book_complete(b, tkl_str("b"), 5, tkl_str("a"), &answers), TKL_EINVAL);
    assert_string_equal(tkl_book_match_name((tkl_book_match)9), "unknown");
    tkl_book_close(b);
    tkl_book_close(NULL);
    tkl_book_answers_free(NULL);
}

static void a_longest_text_of_many_readings_is_added_whole(void **state)
{
    fixture *f = *state;
    char text[3 * 128 + 1];
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    for (int i = 0; i < 128; i++)
        memcpy(text + 3 * i, "了", 4);
    tkl_book_entry entry = {.text = tkl_str(text)};
    assert_ok(tkl_book_add(b, &entry, 1, NULL));
    char *expected = test_format("p:%s", text);
    check_find(b, "lelele", 1, true, expected);
    free(expected);
    assert_int_equal(book_take(b, "", text), 1);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_book_close(b);
}

/* ---- Data ---------------------------------------------------------------- */

static void foreign_data_is_reported_and_left_alone(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "names", "parts", "ids", "forms"};
    tkl_book_entry entry = {.id = tkl_str("1"), .text = tkl_str("张三")};
    tkl_book_answers *answers;
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:book:{staff}:%s", parts[i]);
        tkl_book *b = open_book(
            f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
        assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
        assert_ok(tkl_callz(f->client, NULL, "SET", key, "x", NULL));
        assert_code(tkl_book_add(b, &entry, 1, NULL), TKL_ETYPE);
        assert_code(tkl_book_remove(b, &entry, 1, NULL), TKL_ETYPE);
        assert_code(tkl_book_rename(b, &entry, tkl_str("x")), TKL_ETYPE);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
        tkl_book_close(b);
        free(key);
    }
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    tkl_book *b = open_book(f->client, NULL);
    assert_ok(tkl_callz(f->client, NULL, "ZADD", "tackle:book:{staff}:names", "0", "x", NULL));
    assert_code(tkl_book_complete(b, tkl_str("x"), 5, NONE, &answers), TKL_EDAMAGED);
    assert_code(tkl_book_find(b, tkl_str(""), 5, &answers), TKL_EDAMAGED);
    assert_ok(
        tkl_callz(f->client, NULL, "HSET", "tackle:book:{staff}:meta", "settings", "loud", NULL));
    assert_code(tkl_book_complete(b, tkl_str("x"), 5, NONE, &answers), TKL_EDAMAGED);
    tkl_book_close(b);
}

/* One of the keys was evicted. */
static void a_book_in_part_is_damaged(void **state)
{
    fixture *f = *state;
    static const char *const keys[] = {"tackle:book:{staff}:meta", "tackle:book:{staff}:names"};
    tkl_book_entry ann = {.text = tkl_str("Ann")};
    tkl_book_answers *answers;
    tkl_book_info *info;
    int64_t number;
    for (int i = 0; i < 2; i++) {
        tkl_book *b = open_book(f->client, NULL);
        book_add(b, "Ann|Bob");
        assert_int_equal(call_int(f->client, "DEL", keys[i], NULL), 1);
        assert_code(tkl_book_remove(b, &ann, 1, &number), TKL_EDAMAGED);
        assert_code(tkl_book_add(b, &ann, 1, &number), TKL_EDAMAGED);
        assert_code(tkl_book_rename(b, &ann, tkl_str("Bea")), TKL_EDAMAGED);
        assert_code(tkl_book_show(b, &info), TKL_EDAMAGED);
        assert_contains(tkl_errmsg(), "part of this book is gone");
        if (i == 0) {
            assert_code(tkl_book_complete(b, tkl_str("a"), 5, NONE, &answers), TKL_EDAMAGED);
            assert_null(answers);
        }
        assert_code(tkl_book_find(b, tkl_str("a"), 5, &answers), TKL_EDAMAGED);
        assert_ok(tkl_book_drop(b));
        book_add(b, "Ann");
        check_complete(b, "a", "Ann");
        assert_ok(tkl_book_drop(b));
        tkl_book_close(b);
    }
}

/* The handle knows the settings of a book that no longer exists. */
static void a_book_that_got_lost_is_begun_anew(void **state)
{
    fixture *f = *state;
    tkl_book *maker = open_book(f->client, &(tkl_book_options){.accents = TKL_SETTING_ON});
    tkl_book *guest = open_book(f->client, NULL), *plain;
    plain = open_book(f->client, &(tkl_book_options){.accents = TKL_SETTING_OFF});
    book_add(maker, "Müller");
    check_complete(guest, "mul", "Müller");
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    check_complete(guest, "mul", "");
    book_add(plain, "Müller");
    check_complete(guest, "mül", "Müller");
    check_complete(guest, "mul", "");
    tkl_book_entry entry = {.text = tkl_str("x")};
    assert_code(tkl_book_add(maker, &entry, 1, NULL), TKL_EINVAL);
    tkl_book_close(maker);
    tkl_book_close(guest);
    tkl_book_close(plain);
}

/* ---- The server ---------------------------------------------------------- */

static void a_full_server_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, NULL);
    tkl_book_entry entry = {.text = tkl_str("new")};
    book_add(b, "old");
    book_add_id(b, "1", "before");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_book_add(b, &entry, 1, NULL), TKL_EOOM);
    assert_code(
        tkl_book_add(b, &(tkl_book_entry){.id = tkl_str("1"), .text = tkl_str("z")}, 1, NULL),
        TKL_EOOM);
    assert_code(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("old")}, tkl_str("z")),
                TKL_EOOM);
    check_complete(b, "", "1=before|old");
    assert_int_equal(book_take(b, "", "old"), 1); /* removing makes room */
    server_do(f->server, "CONFIG SET maxmemory 0");
    check_complete(b, "", "1=before");
    tkl_book_close(b);
}

static void all_keys_of_a_book_expire(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "names", "parts", "ids", "forms"};
    tkl_book *b = open_book(
        f->client,
        &(tkl_book_options){.ttl_ms = 60000, .pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    book_add_id(b, "1", "张三");
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:book:{staff}:%s", parts[i]);
        assert_in_range(call_int(f->client, "PTTL", key, NULL), 1, 60000);
        free(key);
    }
    tkl_book *stays = open_book(f->client, NULL);
    book_add_id(stays, "2", "李四"); /* a handle without: all of them stay */
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:book:{staff}:%s", parts[i]);
        assert_int_equal(call_int(f->client, "PTTL", key, NULL), -1);
        free(key);
    }
    tkl_book_close(stays);
    tkl_book_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_too_large_is_refused_before_it_is_sent),
        TEST(bad_options_are_refused),
        TEST(a_longest_text_of_many_readings_is_added_whole),
        TEST(foreign_data_is_reported_and_left_alone),
        TEST(a_book_in_part_is_damaged),
        TEST(a_book_that_got_lost_is_begun_anew),
        TEST(a_full_server_changes_nothing),
        TEST(all_keys_of_a_book_expire),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
