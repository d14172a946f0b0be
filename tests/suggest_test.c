/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions: order, bounds, decay, languages, typos, and what can go wrong.
 *
 * ctest: label threads
 */
#include <math.h>
#include <tackle/suggest.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/locale.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static tkl_suggest *open_suggest(tkl_client *client, const tkl_suggest_options *options)
{
    tkl_suggest *s;
    assert_ok(tkl_suggest_open(client, tkl_str("q"), options, &s));
    return s;
}

static void feed(tkl_suggest *s, const char *text, double weight)
{
    assert_ok(tkl_suggest_feed(s, &(tkl_suggest_text){.text = tkl_str(text), .weight = weight}, 1));
}

static int64_t take(tkl_suggest *s, const char *text)
{
    int64_t removed;
    tkl_bytes bytes = tkl_str(text);
    assert_ok(tkl_suggest_remove(s, &bytes, 1, &removed));
    return removed;
}

/* The answers as "text=weight|text=weight", weights without fraction. */
static char *hints(tkl_suggest *s, const char *prefix, size_t count)
{
    tkl_suggestions *found;
    char *line = calloc(1, 65536);
    assert_ok(tkl_suggest_hint(s, tkl_str(prefix), count, &found));
    for (size_t i = 0; i < found->count; i++)
        sprintf(line + strlen(line), "%s%s" TKL_FMT "=%.0f", i ? "|" : "",
                found->items[i].corrected ? "~" : "", TKL_ARG(found->items[i].text),
                found->items[i].weight);
    tkl_suggestions_free(found);
    return line;
}

static void check(tkl_suggest *s, const char *prefix, size_t count, const char *expected)
{
    char *line = hints(s, prefix, count);
    assert_string_equal(line, expected);
    free(line);
}

/* ---- Weights ------------------------------------------------------------- */

static void the_heaviest_come_first(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    check(s, "a", 5, "");
    feed(s, "weather", 3);
    feed(s, "web", 0);
    feed(s, "weather berlin", 2);
    feed(s, "wedding", 10);
    feed(s, "web", 4);
    check(s, "we", 5, "wedding=10|web=5|weather=3|weather berlin=2");
    check(s, "wea", 5, "weather=3|weather berlin=2");
    check(s, "WEA", 1, "weather=3");
    check(s, "", 2, "wedding=10|web=5");
    check(s, "x", 5, "");
    check(s, "weather berlin and more", 5, "");
    check(s, "we", 0, "");
    tkl_suggest_close(s);
}

static void texts_equal_when_folded_are_one(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed(s, "Paris", 1);
    feed(s, "PARIS", 1);
    feed(s, "paris", 1);
    feed(s, "Paris", 1);
    check(s, "p", 5, "Paris=4");
    feed(s, "paris", 1);
    check(s, "P", 5, "paris=5");
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:suggest:{q}:shown", NULL), 0);
    assert_int_equal(take(s, "pArIs"), 1);
    check(s, "p", 5, "");
    tkl_suggest_close(s);
}

/* More than a prefix keeps: the best are right, and what fell out comes back. */
static void a_prefix_keeps_its_best(void **state)
{
    fixture *f = *state;
    char text[16];
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.best = 10});
    for (int i = 1; i <= 100; i++) {
        sprintf(text, "text %03d", i);
        feed(s, text, i);
    }
    check(s, "t", 3, "text 100=100|text 099=99|text 098=98");
    check(s, "text 0", 2, "text 099=99|text 098=98");
    assert_in_range(call_int(f->client, "ZCARD", "tackle:suggest:{q}:best", NULL), 10, 200);
    feed(s, "text 001", 98.5);
    check(s, "t", 3, "text 100=100|text 001=100|text 099=99");
    feed(s, "text 002", 1);
    feed(s, "text 002", 100);
    check(s, "te", 2, "text 002=103|text 100=100");
    tkl_suggest_close(s);
}

static void a_removed_text_is_gone_under_every_prefix(void **state)
{
    fixture *f = *state;
    char text[24];
    tkl_suggest *s = open_suggest(
        f->client,
        &(tkl_suggest_options){.best = 10, .words = TKL_SUGGEST_ON, .pinyin = TKL_SUGGEST_ON});
    for (int i = 1; i <= 40; i++) {
        sprintf(text, "abc ab张三 %02d", i);
        feed(s, text, i);
    }
    for (int i = 40; i >= 1; i--) {
        sprintf(text, "ABC AB张三 %02d", i);
        assert_int_equal(take(s, text), 1);
        static const char *const prefixes[] = {"a", "ab", "abc ab", "ab张", "abc abz", "abc abzs"};
        for (size_t p = 0; p < COUNT(prefixes); p++) {
            char *line = hints(s, prefixes[p], 100);
            sprintf(text, " %02d=", i);
            assert_lacks(line, text);
            assert_int_equal(*line != 0, i > 1);
            free(line);
        }
    }
    assert_int_equal(take(s, "abc ab张三 01"), 0);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL),
                     1); /* the settings; nothing else is left */
    tkl_suggest_close(s);
}

/* The best of a short prefix are all of one branch, and go first: those of another branch must not
 * outlive their texts. */
static void a_removed_text_is_gone_when_a_shorter_prefix_keeps_nothing(void **state)
{
    fixture *f = *state;
    char text[24];
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.best = 10});
    for (int i = 1; i <= 10; i++) {
        sprintf(text, "ac%02d", i);
        feed(s, text, 100);
    }
    for (int i = 1; i <= 20; i++) {
        sprintf(text, "ab%02d", i);
        feed(s, text, i);
    }
    for (int i = 1; i <= 10; i++) {
        sprintf(text, "ac%02d", i);
        assert_int_equal(take(s, text), 1);
    }
    for (int i = 20; i >= 1; i--) {
        sprintf(text, "ab%02d", i);
        assert_int_equal(take(s, text), 1);
        char *line = hints(s, "ab", 100);
        assert_lacks(line, text);
        free(line);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1); /* the settings */
    tkl_suggest_close(s);
}

static void only_so_many_texts_are_kept(void **state)
{
    fixture *f = *state;
    char text[16];
    tkl_suggest_info info;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.texts = 20, .best = 10});
    for (int i = 1; i <= 100; i++) {
        sprintf(text, "text %03d", i);
        feed(s, text, 100 - i + 1);
    }
    assert_ok(tkl_suggest_show(s, &info));
    assert_int_equal(info.texts, 20);
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:suggest:{q}:texts", NULL), 20);
    char *line = hints(s, "t", 100);
    assert_contains(line, "text 001=100|text 002=99");
    free(line);
    line = hints(s, "", 100);
    assert_contains(line, "text 100=1"); /* the last one has its chance */
    free(line);
    tkl_suggest_close(s);
}

static void bad_weights_are_refused(void **state)
{
    fixture *f = *state;
    const double bad[] = {-1, -1e-300, 1e-10, 1.1e15, 1e300, INFINITY, -INFINITY, NAN};
    tkl_suggest *s = open_suggest(f->client, NULL);
    for (size_t i = 0; i < COUNT(bad); i++) {
        tkl_suggest_text texts[] = {{.text = tkl_str("good")},
                                    {.text = tkl_str("x"), .weight = bad[i]}};
        assert_code(tkl_suggest_feed(s, texts, 2), TKL_EINVAL);
        assert_contains(tkl_errmsg(), "text 1");
    }
    check(s, "", 5, "");
    for (int i = 0; i < 100; i++)
        feed(s, "heavy", 1e15);
    feed(s, "light", 1e-9);
    check(s, "", 5, "heavy=100000000000000000|light=0");
    tkl_suggest_close(s);
}

/* ---- Decay --------------------------------------------------------------- */

static double weight_of(tkl_suggest *s, const char *text)
{
    tkl_suggestions *found;
    double weight = -1;
    assert_ok(tkl_suggest_hint(s, tkl_str(text), 1, &found));
    if (found->count)
        weight = found->items[0].weight;
    tkl_suggestions_free(found);
    return weight;
}

/* Time passes by setting back when the suggestions began. */
static void pass_ms(fixture *f, int64_t ms)
{
    int64_t since = call_int(f->client, "HGET", "tackle:suggest:{q}:meta", "since", NULL);
    char *text = test_format("%lld", (long long)(since - ms));
    assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:suggest:{q}:meta", "since", text, NULL));
    free(text);
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-3 * expected))
        fail_msg("%g instead of %g", got, expected);
}

static void weights_halve_in_their_half_life(void **state)
{
    fixture *f = *state;
    enum { HOUR = 3600000 };
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.half_life_ms = HOUR});
    feed(s, "old", 8);
    assert_near(weight_of(s, "old"), 8);
    pass_ms(f, HOUR);
    assert_near(weight_of(s, "old"), 4);
    feed(s, "new", 3);
    feed(s, "old", 1);
    assert_near(weight_of(s, "old"), 5);
    pass_ms(f, 2 * HOUR);
    assert_near(weight_of(s, "old"), 1.25);
    assert_near(weight_of(s, "new"), 0.75);
    feed(s, "new", 1);
    check(s, "", 5, "new=2|old=1");
    tkl_suggest_close(s);
}

/* Ten thousand half-lives are more than any power of two can hold. */
static void nothing_overflows_however_long_it_lasts(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.half_life_ms = 1000});
    for (int i = 0; i < 50; i++) {
        feed(s, "always", 1e15);
        feed(s, i % 2 ? "odd" : "even", 1);
        pass_ms(f, 200 * 1000);
    }
    feed(s, "always", 7);
    double weight = weight_of(s, "always");
    if (!(weight > 6.5 && weight <= 7))
        fail_msg("%g", weight);
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:suggest:{q}:weights", NULL),
                     1); /* faded */
    tkl_suggest_close(s);
}

static void a_clock_that_goes_back_breaks_nothing(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.half_life_ms = 60000});
    feed(s, "a", 4);
    pass_ms(f, -3600000); /* an hour before it began */
    feed(s, "b", 8);
    assert_near(weight_of(s, "a"), 4);
    assert_near(weight_of(s, "b"), 8);
    check(s, "", 5, "b=8|a=4");
    tkl_suggest_close(s);
}

/* ---- Languages ----------------------------------------------------------- */

static void chinese_is_hinted_by_character_and_pinyin(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.pinyin = TKL_SUGGEST_ON});
    feed(s, "北京天气", 5);
    feed(s, "北京", 3);
    feed(s, "重庆", 2);
    feed(s, "beijing hotel", 1);
    check(s, "北", 5, "北京天气=5|北京=3");
    check(s, "bei", 5, "北京天气=5|北京=3|beijing hotel=1");
    check(s, "bj", 5, "北京天气=5|北京=3");
    check(s, "bjtq", 5, "北京天气=5");
    check(s, "chongq", 5, "重庆=2");
    check(s, "zq", 5, "重庆=2");
    check(s, "b", 5, "北京天气=5|北京=3|beijing hotel=1"); /* each once */
    check(s, "北jing", 5, "北京天气=5|北京=3");
    check(s, "北京t", 5, "北京天气=5");
    tkl_suggest_close(s);
}

static void later_words_are_found_in_pinyin_too(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(
        f->client,
        &(tkl_suggest_options){.pinyin = TKL_SUGGEST_ON, .words = TKL_SUGGEST_ON, .best = 10});
    feed(s, "北京 明天 天气", 5);
    feed(s, "best 天气", 3);
    check(s, "天气", 5, "北京 明天 天气=5|best 天气=3");
    check(s, "tianqi", 5, "北京 明天 天气=5|best 天气=3");
    check(s, "tq", 5, "北京 明天 天气=5|best 天气=3");
    check(s, "天q", 5, "北京 明天 天气=5|best 天气=3");
    check(s, "mt tq", 5, "北京 明天 天气=5");
    for (int i = 0; i < 30; i++) { /* crowded */
        char *text = test_format("x%d 天气", i);
        feed(s, text, 1);
        free(text);
    }
    check(s, "tian", 2, "北京 明天 天气=5|best 天气=3");
    assert_int_equal(take(s, "北京 明天 天气"), 1);
    check(s, "tq", 1, "best 天气=3");
    check(s, "天", 1, "best 天气=3");
    tkl_suggest_close(s);
}

static void korean_is_hinted_while_it_is_typed(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed(s, "김치", 5);
    feed(s, "기차", 3);
    feed(s, "가나다", 1);
    check(s, "ㄱ", 5, "김치=5|기차=3|가나다=1");
    check(s, "기", 5, "김치=5|기차=3");
    check(s, "김", 5, "김치=5");
    check(s, "깇", 5, "기차=3"); /* on the way to it */
    check(s, "간", 5, "가나다=1");
    tkl_suggest_close(s);
}

static void later_words_are_found_if_asked(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SUGGEST_ON});
    feed(s, "New York City", 5);
    feed(s, "new newark", 3);
    feed(s, "yorkshire", 2);
    check(s, "york", 5, "New York City=5|yorkshire=2");
    check(s, "york c", 5, "New York City=5");
    check(s, "new", 5, "New York City=5|new newark=3");
    check(s, "ork", 5, "");
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
        tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.accents = TKL_SUGGEST_ON});
        char *expected = test_format("%s=1", cases[i].text);
        feed(s, cases[i].text, 1);
        if (i + 1 < COUNT(cases))
            check(s, cases[i].prefix, 5, expected);
        assert_int_equal(take(s, cases[i].text), 1);
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
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SUGGEST_ON});
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
        feed(s, text, i + 1);
    }
    check(s, "👍🏽👍🏽", 2,
          "👍🏽👍🏽👍🏽 29=30|👍🏽👍🏽👍🏽 28=29");
    /* Beyond it: the best of the longest that is kept. */
    check(s, "👍🏽👍🏽👍🏽 2", 2,
          "👍🏽👍🏽👍🏽 29=30|👍🏽👍🏽👍🏽 28=29");
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:suggest:{q}:best", NULL), 40);
    tkl_suggest_close(s);
}

/* ---- Typos --------------------------------------------------------------- */

static void one_mistyped_character_is_corrected_if_asked(void **state)
{
    fixture *f = *state;
    tkl_suggest *plain = open_suggest(f->client, NULL);
    tkl_suggest *kind = open_suggest(f->client, &(tkl_suggest_options){.typos = true});
    feed(plain, "weather", 5);
    feed(plain, "berlin", 3);
    feed(plain, "北京天气", 2);
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
        check(kind, cases[i].typed, 5, cases[i].expected);
        if (*cases[i].expected != 'w')
            check(plain, cases[i].typed, 5, "");
    }
    check(kind, "bx", 5, "");
    tkl_suggest_close(plain);
    tkl_suggest_close(kind);
}

/* ---- Settings and bad data ----------------------------------------------- */

static void settings_stay_and_are_checked(void **state)
{
    fixture *f = *state;
    tkl_suggest_options made = {
        .half_life_ms = 60000, .best = 20, .longest = 5, .texts = 100, .accents = TKL_SUGGEST_ON};
    tkl_suggest_info info;
    tkl_suggest *s = open_suggest(f->client, &made), *guest = open_suggest(f->client, NULL);
    assert_code(tkl_suggest_show(guest, &info), TKL_NOTFOUND);
    feed(s, "Müller", 2);
    check(guest, "mul", 5, "Müller=2");
    feed(guest, "Łódź", 1);
    check(s, "lodz", 5, "Łódź=1");
    assert_ok(tkl_suggest_show(guest, &info));
    assert_true(info.accents && !info.pinyin && !info.words);
    assert_int_equal(info.texts, 2);
    assert_int_equal(info.half_life_ms, 60000);
    assert_int_equal(info.best, 20);
    assert_int_equal(info.longest, 5);
    assert_int_equal(info.texts_max, 100);
    const tkl_suggest_options others[] = {
        {.half_life_ms = TKL_NONE},
        {.half_life_ms = 61000},
        {.best = 50},
        {.longest = 6},
        {.texts = TKL_NONE},
        {.accents = TKL_SUGGEST_OFF},
        {.pinyin = TKL_SUGGEST_ON},
        {.words = TKL_SUGGEST_ON},
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

static void a_full_server_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed(s, "old", 2);
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_suggest_feed(s, &(tkl_suggest_text){.text = tkl_str("old")}, 1), TKL_EOOM);
    check(s, "", 5, "old=2");
    assert_int_equal(take(s, "old"), 1);
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_suggest_close(s);
}

static void all_keys_expire(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "weights", "texts", "best", "shown", "starts"};
    tkl_suggest *s =
        open_suggest(f->client, &(tkl_suggest_options){.ttl_ms = 60000, .words = TKL_SUGGEST_ON});
    char text[16];
    for (int i = 0; i < 20; i++) {
        sprintf(text, "A b%d", i);
        feed(s, text, 1);
    }
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:suggest:{q}:%s", parts[i]);
        assert_in_range(call_int(f->client, "PTTL", key, NULL), 1, 60000);
        free(key);
    }
    tkl_suggest *stays = open_suggest(f->client, NULL);
    feed(stays, "A c", 1); /* a handle without: all of them stay */
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:suggest:{q}:%s", parts[i]);
        assert_int_equal(call_int(f->client, "PTTL", key, NULL), -1);
        free(key);
    }
    tkl_suggest_close(stays);
    tkl_suggest_close(s);
}

/* Weights travel as text: a decimal comma would ruin them. */
static void the_locale_does_not_matter(void **state)
{
    fixture *f = *state;
    locale_with_a_comma();
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed(s, "half", 0.5);
    feed(s, "half", 1.25);
    assert_true(weight_of(s, "half") == 1.75);
    locale_plain();
    tkl_suggest_close(s);
}

/* Lost: the server evicted it. Hints go on, and the best come back as texts are fed. */
static void suggestions_in_part_are_damaged(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    tkl_suggest_text text = {.text = tkl_str("a")};
    tkl_suggestions *found;
    tkl_suggest_info info;
    feed(s, "a", 1);
    assert_int_equal(call_int(f->client, "DEL", "tackle:suggest:{q}:meta", NULL), 1);
    assert_code(tkl_suggest_feed(s, &text, 1), TKL_EDAMAGED);
    assert_code(tkl_suggest_remove(s, &text.text, 1, NULL), TKL_EDAMAGED);
    assert_code(tkl_suggest_hint(s, tkl_str("a"), 5, &found), TKL_EDAMAGED);
    assert_code(tkl_suggest_show(s, &info), TKL_EDAMAGED);
    assert_ok(tkl_suggest_drop(s));
    feed(s, "a", 1);
    check(s, "a", 5, "a=1");
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
        feed(s, text, i);
    }
    const char *argv[] = {"ZADD", "tackle:suggest:{q}:best", "0", "t\0\1", "0", "te\0"};
    const size_t lens[] = {4, strlen(argv[1]), 1, 3, 1, 3};
    assert_ok(tkl_call(f->client, 6, argv, lens, NULL, NULL));
    feed(s, "text 040", 40);
    assert_int_equal(take(s, "text 040"), 1);
    feed(s, "text 041", 41);
    feed(s, "text 042", 42);
    check(s, "t", 2, "text 042=42|text 041=41");
    check(s, "te", 2, "text 042=42|text 041=41");
    tkl_suggest_close(s);
}

/* Many texts with many prefixes: many short scripts. */
static void a_large_removal_is_many_steps(void **state)
{
    fixture *f = *state;
    enum { TEXTS = 200 };
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SUGGEST_ON});
    char texts[TEXTS][64];
    tkl_bytes gone[TEXTS];
    int64_t number;
    for (int i = 0; i < TEXTS; i++) {
        sprintf(texts[i], "one two three four five six %d", i);
        gone[i] = tkl_str(texts[i]);
        feed(s, texts[i], 1);
    }
    assert_ok(tkl_suggest_remove(s, gone, 1, NULL)); /* the script is known from here on */
    int64_t before = server_calls(f->server, "evalsha");
    assert_ok(tkl_suggest_remove(s, gone, TEXTS, &number));
    assert_int_equal(number, TEXTS - 1);
    assert_in_range(server_calls(f->server, "evalsha") - before, TEXTS / 2, TEXTS);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1); /* the settings */
    tkl_suggest_close(s);
}

/* More readings than have room: what is not kept by crowded prefixes must not stay there. */
static void texts_of_many_readings_leave_nothing(void **state)
{
    fixture *f = *state;
    enum { TEXTS = 14 };
    tkl_suggest *s = open_suggest(
        f->client, &(tkl_suggest_options){.words = TKL_SUGGEST_ON, .pinyin = TKL_SUGGEST_ON});
    char text[128];
    for (int i = 0; i < TEXTS; i++) {
        sprintf(text, "重长乐行曾都 了单朴解重长 乐行曾都 %c", 'a' + i);
        feed(s, text, 1 + i);
    }
    check(s, "zcl", 1, "重长乐行曾都 了单朴解重长 乐行曾都 n=14");
    for (int i = TEXTS; i-- > 0;) {
        sprintf(text, "重长乐行曾都 了单朴解重长 乐行曾都 %c", 'a' + i);
        assert_int_equal(take(s, text), 1);
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

static void the_best_of_prefixes_may_get_lost(void **state)
{
    fixture *f = *state;
    char text[16];
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.best = 10});
    for (int i = 1; i <= 30; i++) {
        sprintf(text, "text %03d", i);
        feed(s, text, i);
    }
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:suggest:{q}:best", NULL));
    check(s, "text 0", 2, "text 030=30|text 029=29"); /* of the first fifty */
    for (int i = 1; i <= 30; i++) {
        sprintf(text, "text %03d", i);
        feed(s, text, i);
    }
    check(s, "text 0", 2, "text 030=60|text 029=58");
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    check(s, "text 0", 2, "");
    feed(s, "text 000", 5);
    check(s, "", 5, "text 000=5");
    tkl_suggest_close(s);
}

/* ---- Together ------------------------------------------------------------ */

static void churn(void *arg, int index)
{
    fixture *f = arg;
    tkl_suggest *s = open_suggest(f->client, NULL);
    char text[32];
    for (int i = 0; i < 100; i++) {
        sprintf(text, "abc abd %d", (i * 7 + index) % 25);
        tkl_bytes bytes = tkl_str(text);
        if ((i + index) % 3)
            assert_ok(tkl_suggest_feed(s, &(tkl_suggest_text){.text = bytes}, 1));
        else
            assert_ok(tkl_suggest_remove(s, &bytes, 1, NULL));
    }
    tkl_suggest_close(s);
}

/* No text is left under some prefixes and gone from others. */
static void those_who_feed_and_remove_at_once_leave_whole_texts(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SUGGEST_ON});
    feed(s, "first", 1);
    crew_run(8, churn, f);
    assert_int_equal(take(s, "first"), 1);
    char *all = hints(s, "", 100);
    static const char *const prefixes[] = {"a", "ab", "abc", "abd", "abc abd"};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        char *line = hints(s, prefixes[i], 100);
        assert_string_equal(line, all);
        free(line);
    }
    free(all);
    tkl_suggest_close(s);
}

static void thousands_are_fed_in_one_trip(void **state)
{
    fixture *f = *state;
    enum { MANY = 3000 };
    tkl_suggest_text *texts = calloc(MANY, sizeof *texts);
    char(*store)[24] = calloc(MANY, sizeof *store);
    tkl_suggest *s = open_suggest(f->client, NULL);
    for (int i = 0; i < MANY; i++) {
        sprintf(store[i], "text %d", i % 1000);
        texts[i] = (tkl_suggest_text){.text = tkl_str(store[i]), .weight = i % 1000 + 1};
    }
    assert_ok(tkl_suggest_feed(s, texts, MANY));
    check(s, "text 9", 2, "text 999=3000|text 998=2997");
    free(texts);
    free(store);
    tkl_suggest_close(s);
}

static void suggestions_live_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_names *names;
    tkl_suggest *s = open_suggest(client, &(tkl_suggest_options){.typos = true});
    for (int i = 0; i < 20; i++)
        feed(s, "weather", 1);
    check(s, "wae", 5, "~weather=20");
    assert_ok(tkl_suggest_names(client, &names));
    assert_int_equal(names->count, 1);
    assert_ok(tkl_suggest_drop(s));
    tkl_names_free(names);
    tkl_suggest_close(s);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_heaviest_come_first),
        TEST(texts_equal_when_folded_are_one),
        TEST(a_prefix_keeps_its_best),
        TEST(a_removed_text_is_gone_under_every_prefix),
        TEST(a_removed_text_is_gone_when_a_shorter_prefix_keeps_nothing),
        TEST(only_so_many_texts_are_kept),
        TEST(bad_weights_are_refused),
        TEST(weights_halve_in_their_half_life),
        TEST(nothing_overflows_however_long_it_lasts),
        TEST(a_clock_that_goes_back_breaks_nothing),
        TEST(chinese_is_hinted_by_character_and_pinyin),
        TEST(later_words_are_found_in_pinyin_too),
        TEST(korean_is_hinted_while_it_is_typed),
        TEST(later_words_are_found_if_asked),
        TEST(any_text_is_hinted),
        TEST(any_bytes_are_kept),
        TEST(the_longest_prefix_is_counted_in_characters),
        TEST(one_mistyped_character_is_corrected_if_asked),
        TEST(settings_stay_and_are_checked),
        TEST(bad_arguments_are_refused),
        TEST(foreign_data_is_reported_and_left_alone),
        TEST(a_full_server_changes_nothing),
        TEST(all_keys_expire),
        TEST(the_locale_does_not_matter),
        TEST(suggestions_in_part_are_damaged),
        TEST(foreign_members_of_the_best_are_replaced),
        TEST(a_large_removal_is_many_steps),
        TEST(texts_of_many_readings_leave_nothing),
        TEST(the_best_of_prefixes_may_get_lost),
        TEST(those_who_feed_and_remove_at_once_leave_whole_texts),
        TEST(thousands_are_fed_in_one_trip),
        cmocka_unit_test(suggestions_live_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
