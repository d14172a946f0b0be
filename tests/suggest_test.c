/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions: order, bounds, decay, and many writers at once.
 *
 * ctest: label threads
 */
#include <math.h>

#include "support/cluster.h"
#include "support/locale.h"
#include "support/suggestions.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Weights ------------------------------------------------------------- */

static void the_heaviest_come_first(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    check_hints(s, "a", 5, "");
    feed_text(s, "weather", 3);
    feed_text(s, "web", 0);
    feed_text(s, "weather berlin", 2);
    feed_text(s, "wedding", 10);
    feed_text(s, "web", 4);
    check_hints(s, "we", 5, "wedding=10|web=5|weather=3|weather berlin=2");
    check_hints(s, "wea", 5, "weather=3|weather berlin=2");
    check_hints(s, "WEA", 1, "weather=3");
    check_hints(s, "", 2, "wedding=10|web=5");
    check_hints(s, "x", 5, "");
    check_hints(s, "weather berlin and more", 5, "");
    check_hints(s, "we", 0, "");
    tkl_suggest_close(s);
}

/* Feeds 100 texts with the weights 1 to 100, and removes the 60 heaviest. */
static void feed_and_remove(tkl_suggest *s, const char *format)
{
    char text[64];
    for (int i = 1; i <= 100; i++) {
        sprintf(text, format, i);
        feed_text(s, text, i);
    }
    for (int i = 100; i > 40; i--) {
        sprintf(text, format, i);
        assert_ok(tkl_suggest_remove(s, (tkl_bytes[]){tkl_str(text)}, 1, NULL));
    }
}

/* A prefix that keeps 50 texts finds its next ones, however long the beginning that they share. */
static void the_next_heaviest_take_the_places_of_removed_texts(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed_and_remove(s, "https://www.example.com/%03d");
    static const char *const prefixes[] = {"h", "https://", "https://www.exam", ""};
    for (size_t i = 0; i < COUNT(prefixes); i++)
        check_hints(s, prefixes[i], 3,
                    "https://www.example.com/040=40|https://www.example.com/039=39|"
                    "https://www.example.com/038=38");
    assert_ok(tkl_suggest_drop(s));
    tkl_suggest_close(s);
    s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SETTING_ON});
    feed_and_remove(s, "n%03d berlin");
    check_hints(s, "b", 3, "n040 berlin=40|n039 berlin=39|n038 berlin=38");
    check_hints(s, "berlin", 3, "n040 berlin=40|n039 berlin=39|n038 berlin=38");
    tkl_suggest_close(s);
}

/* A crowded prefix keeps its best. Who asks for more than these gets them, and learns that there
 * are others. */
static void a_hint_says_when_a_prefix_has_more(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.best = 10});
    tkl_suggestions *found;
    char text[16];
    for (int i = 1; i <= 30; i++) {
        sprintf(text, "a%02d", i);
        feed_text(s, text, i);
    }
    assert_ok(tkl_suggest_hint(s, tkl_str("a"), 20, &found));
    assert_int_equal(found->count, 10);
    for (size_t i = 0; i < found->count; i++)
        assert_true(found->items[i].weight == 30 - (double)i);
    assert_true(found->more);
    tkl_suggestions_free(found);
    assert_ok(tkl_suggest_hint(s, tkl_str("a"), 10, &found));
    assert_int_equal(found->count, 10);
    assert_false(found->more);
    tkl_suggestions_free(found);
    assert_ok(tkl_suggest_hint(s, tkl_str("a1"), 20, &found));
    assert_int_equal(found->count, 10);
    assert_false(found->more);
    tkl_suggestions_free(found);
    tkl_suggest_close(s);
}

static void texts_equal_when_folded_are_one(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed_text(s, "Paris", 1);
    feed_text(s, "PARIS", 1);
    feed_text(s, "paris", 1);
    feed_text(s, "Paris", 1);
    check_hints(s, "p", 5, "Paris=4");
    feed_text(s, "paris", 1);
    check_hints(s, "P", 5, "paris=5");
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:suggest:{q}:shown", NULL), 0);
    assert_int_equal(take_text(s, "pArIs"), 1);
    check_hints(s, "p", 5, "");
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
        feed_text(s, text, i);
    }
    check_hints(s, "t", 3, "text 100=100|text 099=99|text 098=98");
    check_hints(s, "text 0", 2, "text 099=99|text 098=98");
    assert_in_range(call_int(f->client, "ZCARD", "tackle:suggest:{q}:best", NULL), 10, 200);
    feed_text(s, "text 001", 98.5);
    check_hints(s, "t", 3, "text 100=100|text 001=100|text 099=99");
    feed_text(s, "text 002", 1);
    feed_text(s, "text 002", 100);
    check_hints(s, "te", 2, "text 002=103|text 100=100");
    tkl_suggest_close(s);
}

static void a_removed_text_is_gone_under_every_prefix(void **state)
{
    fixture *f = *state;
    char text[24];
    tkl_suggest *s = open_suggest(
        f->client,
        &(tkl_suggest_options){.best = 10, .words = TKL_SETTING_ON, .pinyin = TKL_SETTING_ON});
    for (int i = 1; i <= 40; i++) {
        sprintf(text, "abc ab张三 %02d", i);
        feed_text(s, text, i);
    }
    for (int i = 40; i >= 1; i--) {
        sprintf(text, "ABC AB张三 %02d", i);
        assert_int_equal(take_text(s, text), 1);
        static const char *const prefixes[] = {"a", "ab", "abc ab", "ab张", "abc abz", "abc abzs"};
        for (size_t p = 0; p < COUNT(prefixes); p++) {
            char *line = hints(s, prefixes[p], 100);
            sprintf(text, " %02d=", i);
            assert_lacks(line, text);
            assert_int_equal(*line != 0, i > 1);
            free(line);
        }
    }
    assert_int_equal(take_text(s, "abc ab张三 01"), 0);
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
        feed_text(s, text, 100);
    }
    for (int i = 1; i <= 20; i++) {
        sprintf(text, "ab%02d", i);
        feed_text(s, text, i);
    }
    for (int i = 1; i <= 10; i++) {
        sprintf(text, "ac%02d", i);
        assert_int_equal(take_text(s, text), 1);
    }
    for (int i = 20; i >= 1; i--) {
        sprintf(text, "ab%02d", i);
        assert_int_equal(take_text(s, text), 1);
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
    tkl_suggest_info *info;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.texts = 20, .best = 10});
    for (int i = 1; i <= 100; i++) {
        sprintf(text, "text %03d", i);
        feed_text(s, text, 100 - i + 1);
    }
    assert_ok(tkl_suggest_show(s, &info));
    assert_int_equal(info->texts, 20);
    tkl_suggest_info_free(info);
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
    check_hints(s, "", 5, "");
    for (int i = 0; i < 100; i++)
        feed_text(s, "heavy", 1e15);
    feed_text(s, "light", 1e-9);
    check_hints(s, "", 5, "heavy=100000000000000000|light=0");
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
    feed_text(s, "old", 8);
    assert_near(weight_of(s, "old"), 8);
    pass_ms(f, HOUR);
    assert_near(weight_of(s, "old"), 4);
    feed_text(s, "new", 3);
    feed_text(s, "old", 1);
    assert_near(weight_of(s, "old"), 5);
    pass_ms(f, 2 * HOUR);
    assert_near(weight_of(s, "old"), 1.25);
    assert_near(weight_of(s, "new"), 0.75);
    feed_text(s, "new", 1);
    check_hints(s, "", 5, "new=2|old=1");
    tkl_suggest_close(s);
}

/* Ten thousand half-lives are more than any power of two can hold. */
static void nothing_overflows_however_long_it_lasts(void **state)
{
    fixture *f = *state;
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.half_life_ms = 1000});
    for (int i = 0; i < 50; i++) {
        feed_text(s, "always", 1e15);
        feed_text(s, i % 2 ? "odd" : "even", 1);
        pass_ms(f, 200 * 1000);
    }
    feed_text(s, "always", 7);
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
    feed_text(s, "a", 4);
    pass_ms(f, -3600000); /* an hour before it began */
    feed_text(s, "b", 8);
    assert_near(weight_of(s, "a"), 4);
    assert_near(weight_of(s, "b"), 8);
    check_hints(s, "", 5, "b=8|a=4");
    tkl_suggest_close(s);
}

/* Weights travel as text: a decimal comma would ruin them. */
static void the_locale_does_not_matter(void **state)
{
    fixture *f = *state;
    locale_with_a_comma();
    tkl_suggest *s = open_suggest(f->client, NULL);
    feed_text(s, "half", 0.5);
    feed_text(s, "half", 1.25);
    assert_true(weight_of(s, "half") == 1.75);
    locale_plain();
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
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SETTING_ON});
    feed_text(s, "first", 1);
    crew_run(8, churn, f);
    assert_int_equal(take_text(s, "first"), 1);
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
    check_hints(s, "text 9", 2, "text 999=3000|text 998=2997");
    free(texts);
    free(store);
    tkl_suggest_close(s);
}

/* Many texts with many prefixes: many short scripts. */
static void a_large_removal_is_many_steps(void **state)
{
    fixture *f = *state;
    enum { TEXTS = 200 };
    tkl_suggest *s = open_suggest(f->client, &(tkl_suggest_options){.words = TKL_SETTING_ON});
    char texts[TEXTS][64];
    tkl_bytes gone[TEXTS];
    int64_t number;
    for (int i = 0; i < TEXTS; i++) {
        sprintf(texts[i], "one two three four five six %d", i);
        gone[i] = tkl_str(texts[i]);
        feed_text(s, texts[i], 1);
    }
    assert_ok(tkl_suggest_remove(s, gone, 1, NULL)); /* the script is known from here on */
    int64_t before = server_functions(f->server);
    assert_ok(tkl_suggest_remove(s, gone, TEXTS, &number));
    assert_int_equal(number, TEXTS - 1);
    assert_in_range(server_functions(f->server) - before, TEXTS / 2, TEXTS);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1); /* the settings */
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
        feed_text(s, "weather", 1);
    check_hints(s, "wae", 5, "~weather=20");
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
        TEST(the_next_heaviest_take_the_places_of_removed_texts),
        TEST(a_hint_says_when_a_prefix_has_more),
        TEST(texts_equal_when_folded_are_one),
        TEST(a_prefix_keeps_its_best),
        TEST(a_removed_text_is_gone_under_every_prefix),
        TEST(a_removed_text_is_gone_when_a_shorter_prefix_keeps_nothing),
        TEST(only_so_many_texts_are_kept),
        TEST(bad_weights_are_refused),
        TEST(weights_halve_in_their_half_life),
        TEST(nothing_overflows_however_long_it_lasts),
        TEST(a_clock_that_goes_back_breaks_nothing),
        TEST(the_locale_does_not_matter),
        TEST(those_who_feed_and_remove_at_once_leave_whole_texts),
        TEST(thousands_are_fed_in_one_trip),
        TEST(a_large_removal_is_many_steps),
        cmocka_unit_test(suggestions_live_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
