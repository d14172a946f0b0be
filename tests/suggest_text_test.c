/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions in all languages, by later words, and with typos.
 */
#include "support/suggestions.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Languages ----------------------------------------------------------- */

static void chinese_is_hinted_by_character_and_pinyin(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.pinyin = TKL_SETTING_ON});
    feed_text(s, "北京天气", 5);
    feed_text(s, "北京", 3);
    feed_text(s, "重庆", 2);
    feed_text(s, "beijing hotel", 1);
    check_hints(s, "北", 5, "北京天气=5|北京=3");
    check_hints(s, "bei", 5, "北京天气=5|北京=3|beijing hotel=1");
    check_hints(s, "bj", 5, "北京天气=5|北京=3");
    check_hints(s, "bjtq", 5, "北京天气=5");
    check_hints(s, "chongq", 5, "重庆=2");
    check_hints(s, "zq", 5, "重庆=2");
    check_hints(s, "b", 5, "北京天气=5|北京=3|beijing hotel=1"); /* each once */
    check_hints(s, "北jing", 5, "北京天气=5|北京=3");
    check_hints(s, "北京t", 5, "北京天气=5");
    tkl_suggest_close(s);
}

/* More readings than have room: what is not kept by crowded prefixes must not stay there. */
/* Behind those that begin so; corrections count only when nothing is found either way. */
static void characters_pinyin_and_initials_may_be_mixed(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(
        f->client,
        &(tkl_suggest_options){.pinyin = TKL_SETTING_ON, .words = TKL_SETTING_ON, .typos = true});
    feed_text(s, "北京天气", 5);
    feed_text(s, "背景图", 7);
    feed_text(s, "bjingle", 1);
    feed_text(s, "明天 北京", 2);
    check_hints(s, "bjing", 9, "bjingle=1|背景图=7|北京天气=5|明天 北京=2");
    check_hints(s, "bjing", 2, "bjingle=1|背景图=7");
    check_hints(s, "beijt", 9, "背景图=7|北京天气=5");
    check_hints(s, "bei京", 9, "北京天气=5|明天 北京=2");
    check_hints(s, "bjtianq", 9, "北京天气=5");
    check_hints(s, "bjimgle", 9, "~bjingle=1");
    for (int i = 0; i < 60; i++) { /* crowded: the best of the initials are compared */
        char *text = test_format("b家%d", i);
        feed_text(s, text, 1);
        free(text);
    }
    check_hints(s, "bjing", 2, "bjingle=1|背景图=7");
    tkl_suggest_close(s);
}

static void texts_of_many_readings_leave_nothing(void **state)
{
    fixture *f = *state;
    enum { TEXTS = 14 };
    tkl_suggest *s = open_suggest(
        f->client, &(tkl_suggest_options){.words = TKL_SETTING_ON, .pinyin = TKL_SETTING_ON});
    char text[128];
    for (int i = 0; i < TEXTS; i++) {
        sprintf(text, "重长乐行曾都 了单朴解重长 乐行曾都 %c", 'a' + i);
        feed_text(s, text, 1 + i);
    }
    check_hints(s, "zcl", 1, "重长乐行曾都 了单朴解重长 乐行曾都 n=14");
    for (int i = TEXTS; i-- > 0;) {
        sprintf(text, "重长乐行曾都 了单朴解重长 乐行曾都 %c", 'a' + i);
        assert_int_equal(take_text(s, text), 1);
        tkl_suggestions *found;
        static const char *const prefixes[] = {"z", "c", "l", "y", "重", "chang", "leh", "乐x"};
        for (size_t p = 0; p < COUNT(prefixes); p++) {
            assert_ok(tkl_suggest_hint(s, tkl_str(prefixes[p]), 100, &found));
            assert_true(found->count <= (size_t)i);
            tkl_suggestions_free(found);
        }
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1); /* the settings */
    tkl_suggest_close(s);
}

static void korean_is_hinted_while_it_is_typed(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed_text(s, "김치", 5);
    feed_text(s, "기차", 3);
    feed_text(s, "가나다", 1);
    check_hints(s, "ㄱ", 5, "김치=5|기차=3|가나다=1");
    check_hints(s, "기", 5, "김치=5|기차=3");
    check_hints(s, "김", 5, "김치=5");
    check_hints(s, "깇", 5, "기차=3"); /* on the way to it */
    check_hints(s, "간", 5, "가나다=1");
    tkl_suggest_close(s);
}

static void any_text_is_hinted(void **state)
{
    fixture *f = *state;
    const struct {
        const char *text, *prefix;
    } cases[] = {
        {"Müller", "mu"},
        {"שלום", "ש"},
        {"👍🏽👍🏽", "👍🏽"},
        {"\xff\xfe", "\xff"},
        {"\xff\xff\xff", "\xff\xff"},
        {"Žižek", "z"},
        {"tab\tx", "tab\t"},
        {"e\xcc\x81t", "ét"},
        {"\x01\x02", "\x01"},
        {"Ŝipo", "\xc5"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.accents = TKL_SETTING_ON});
        char *expected = test_format("%s=1", cases[i].text);
        feed_text(s, cases[i].text, 1);
        if (i + 1 < COUNT(cases))
            check_hints(s, cases[i].prefix, 5, expected);
        assert_int_equal(take_text(s, cases[i].text), 1);
        assert_ok(tkl_suggest_drop(s));
        free(expected);
        tkl_suggest_close(s);
    }
}

/* Texts with NUL and 01, and texts that look like members. */
static void any_bytes_are_kept(void **state)
{
    fixture *f = *state;
    const tkl_bytes texts[] = {{"a\0b", 3},
                               {"a", 1},
                               {"a\0", 2},
                               {"a\1", 2},
                               {"a\0a", 3},
                               {"\0", 1},
                               {"5 a", 3},
                               {"\xc2\xad", 2}, /* a soft hyphen: its key is empty */
                               {"a\0"
                                "5 b",
                                5}};
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SETTING_ON});
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < COUNT(texts); i++)
            assert_ok(tkl_suggest_feed(
                s, &(tkl_suggest_text){.text = texts[i], .weight = (double)i + 1}, 1));
    for (size_t i = 0; i < COUNT(texts); i++) {
        tkl_suggestions *found;
        int seen = 0;
        assert_ok(tkl_suggest_hint(s, texts[i], 50, &found));
        for (size_t j = 0; j < found->count; j++)
            if (found->items[j].text.len == texts[i].len &&
                memcmp(found->items[j].text.data, texts[i].data, texts[i].len) == 0) {
                assert_int_equal((int)found->items[j].weight, 2 * (int)i + 2);
                seen++;
            }
        assert_int_equal(seen, 1);
        tkl_suggestions_free(found);
    }
    int64_t removed;
    assert_ok(tkl_suggest_remove(s, texts, COUNT(texts), &removed));
    assert_int_equal(removed, COUNT(texts));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_suggest_close(s);
}

/* Prefixes are counted as people see characters: of these two, each is two code points. */
static void the_longest_prefix_is_counted_in_characters(void **state)
{
    fixture *f = *state;
    char text[64];
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.longest = 2, .best = 10});
    for (int i = 0; i < 30; i++) {
        sprintf(text, "👍🏽👍🏽👍🏽 %02d", i);
        feed_text(s, text, i + 1);
    }
    check_hints(s, "👍🏽👍🏽", 2,
                "👍🏽👍🏽👍🏽 29=30|👍🏽👍🏽👍🏽 28=29");
    /* Beyond it: the best of the longest that is kept. */
    check_hints(s, "👍🏽👍🏽👍🏽 2", 2,
                "👍🏽👍🏽👍🏽 29=30|👍🏽👍🏽👍🏽 28=29");
    /* Four prefixes that keep their ten best; those of two and more code points keep the 30 texts
     * that take the places of others, too. */
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:suggest:{q}:best", NULL), 40 + 3 * 30);
    tkl_suggest_close(s);
}

/* ---- Words --------------------------------------------------------------- */

static void later_words_are_found_if_asked(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SETTING_ON});
    feed_text(s, "New York City", 5);
    feed_text(s, "new newark", 3);
    feed_text(s, "yorkshire", 2);
    check_hints(s, "york", 5, "New York City=5|yorkshire=2");
    check_hints(s, "york c", 5, "New York City=5");
    check_hints(s, "new", 5, "New York City=5|new newark=3");
    check_hints(s, "ork", 5, "");
    tkl_suggest_close(s);
}

static void later_words_are_found_in_pinyin_too(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(
        f->client,
        &(tkl_suggest_options){.pinyin = TKL_SETTING_ON, .words = TKL_SETTING_ON, .best = 10});
    feed_text(s, "北京 明天 天气", 5);
    feed_text(s, "best 天气", 3);
    check_hints(s, "天气", 5, "北京 明天 天气=5|best 天气=3");
    check_hints(s, "tianqi", 5, "北京 明天 天气=5|best 天气=3");
    check_hints(s, "tq", 5, "北京 明天 天气=5|best 天气=3");
    check_hints(s, "天q", 5, "北京 明天 天气=5|best 天气=3");
    check_hints(s, "mt tq", 5, "北京 明天 天气=5");
    for (int i = 0; i < 30; i++) { /* crowded */
        char *text = test_format("x%d 天气", i);
        feed_text(s, text, 1);
        free(text);
    }
    check_hints(s, "tian", 2, "北京 明天 天气=5|best 天气=3");
    assert_int_equal(take_text(s, "北京 明天 天气"), 1);
    check_hints(s, "tq", 1, "best 天气=3");
    check_hints(s, "天", 1, "best 天气=3");
    tkl_suggest_close(s);
}

/* ---- Typos --------------------------------------------------------------- */

static void one_mistyped_character_is_corrected_if_asked(void **state)
{
    fixture *f = *state;
    tkl_suggest *plain = open_suggest(f->client, NULL);
    tkl_suggest *kind = open_suggest(f->client, &(tkl_suggest_options){.typos = true});
    feed_text(plain, "weather", 5);
    feed_text(plain, "berlin", 3);
    feed_text(plain, "北京天气", 2);
    const struct {
        const char *typed, *expected;
    } cases[] = {
        {"wheather", "~weather=5"}, /* one too many */
        {"wether", "~weather=5"},   /* one missing */
        {"waether", "~weather=5"},  /* swapped */
        {"weqther", "~weather=5"},  /* another one */
        {"qeather", "~weather=5"},  /* the first */
        {"erlin", "~berlin=3"},     /* the first is missing */
        {"ebrlin", "~berlin=3"},
        {"北京夫", "~北京天气=2"},
        {"weath", "weather=5"},
        {"xyz", ""},
        {"wx", ""},
        {"waetehr", ""}, /* two of them */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_hints(kind, cases[i].typed, 5, cases[i].expected);
        if (*cases[i].expected != 'w')
            check_hints(plain, cases[i].typed, 5, "");
    }
    check_hints(kind, "bx", 5, "");
    tkl_suggest_close(plain);
    tkl_suggest_close(kind);
}

/* The heaviest of all texts within one mistyped character come first, wherever it is. */
static void the_heaviest_correction_comes_first(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.typos = true});
    char text[16];
    for (char c = 'a'; c <= 'z'; c++) { /* the mistake is at the first, second and last place */
        sprintf(text, "%cxyq", c);
        feed_text(s, text, c - 'a' + 1);
        sprintf(text, "q%cyq", c);
        feed_text(s, text, c - 'a' + 30);
        sprintf(text, "qxy%c", c);
        if (c != 'w')
            feed_text(s, text, c - 'a' + 60);
    }
    check_hints(s, "qxyw", 3, "~qxyq=146|~qxyz=85|~qxyy=84");
    check_hints(s, "qwyw", 2, "~qwyq=52");
    check_hints(s, "7xyq", 4, "~qxyq=146|~zxyq=26|~yxyq=25|~xxyq=24");
    check_hints(s, "q7yq", 3, "~qxyq=146|~qzyq=55|~qyyq=54");
    tkl_suggest_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chinese_is_hinted_by_character_and_pinyin),
        TEST(characters_pinyin_and_initials_may_be_mixed),
        TEST(texts_of_many_readings_leave_nothing),
        TEST(korean_is_hinted_while_it_is_typed),
        TEST(any_text_is_hinted),
        TEST(any_bytes_are_kept),
        TEST(the_longest_prefix_is_counted_in_characters),
        TEST(later_words_are_found_if_asked),
        TEST(later_words_are_found_in_pinyin_too),
        TEST(one_mistyped_character_is_corrected_if_asked),
        TEST(the_heaviest_correction_comes_first),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
