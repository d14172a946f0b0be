/* SPDX-License-Identifier: MIT
 *
 * Highlighting: what a query finds is marked in the text as it was written.
 */
#include "search/highlight.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const tkl__search_query_field fields[] = {{TKL_LIT("votes"), true},
                                                 {TKL_LIT("author"), false}};

static const tkl__text_word_options english = {.fold = TKL__TEXT_FOLD_ACCENTS, .stem = "en"};
static const tkl__text_word_options chinese = {
    .fold = TKL__TEXT_FOLD_ACCENTS | TKL__TEXT_FOLD_CHINESE, .bigrams = true};

/* free() it. */
static char *highlight(const tkl__text_word_options *words, tkl_bytes query_text, tkl_bytes text,
                       tkl__search_highlight_options options, size_t *count)
{
    tkl__search_query_rules rules = {
        .fields = fields, .field_count = COUNT(fields), .words = words};
    tkl__search_query query;
    tkl__buf out;
    tkl__buf_init(&out);
    if (!options.before.len) {
        options.before = tkl_str("[");
        options.after = tkl_str("]");
    }
    assert_ok(tkl__search_highlight_query(query_text, &rules, &query));
    assert_ok(tkl__search_highlight(text, &query, &rules, &options, &out, count));
    char *marked = strndup(out.data, out.len);
    tkl__buf_free(&out);
    tkl__search_query_free(&query);
    return marked;
}

static void matches_are_marked(void **state)
{
    (void)state;
    const struct {
        const tkl__text_word_options *words;
        const char *query, *text, *marked;
        size_t count;
    } cases[] = {
        {&english, "connect", "Connecting the connections!", "[Connecting] the [connections]!", 2},
        {&english, "cafe", "The CAFÉ, a café", "The [CAFÉ], a [café]", 2},
        {&english, "conn*", "connect conns con", "[connect] [conns] con", 2},
        {&english, "dog +cat -bird", "a cat, a bird", "a [cat], a bird", 1},
        {&english, "\"lock free\"", "free lock, lock-free", "free lock, [lock-free]", 1},
        {&english, "lock-free", "a lock, and free", "a [lock], and [free]", 2},
        {&english, "the author:ann votes:>1", "the ann 1", "[the] ann 1", 1},
        {&english, "* -cat", "cat dog", "cat dog", 0},
        {&english, "cat", "", "", 0},
        {&english, "", "cat", "cat", 0},
        {&english, "straße", "STRASSE Straße", "[STRASSE] [Straße]", 2},
        {&english, "fi",
         "ﬁ\xff"
         "fi \xc3",
         "[ﬁ]\xff[fi] \xc3", 2},
        {&english, "don't", "I don’t.", "I [don’t].", 1},
        {&chinese, "北京", "我爱北京天安门", "我爱[北京]天安门", 1},
        {&chinese, "京天", "我爱北京天安门", "我爱北[京天]安门", 1},
        {&chinese, "北京天安门", "我爱北京天安门", "我爱[北京天安门]", 1},
        {&chinese, "安", "天安门", "天[安]门", 1},
        {&chinese, "張三豐", "张三丰和張三豐", "[张三丰]和[張三豐]", 2},
        {&chinese, "研究生命", "研究生，生命", "[研究生]，[生命]", 2}, /* nowhere as a whole */
        {&chinese, "研究生命", "研究生命，生命", "[研究生命]，生命", 1},
        {&chinese, "T恤", "T恤衫 T", "[T恤]衫 T", 1},
        {&chinese, "iphone手机", "新iPhone手机壳", "新[iPhone手机]壳", 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t count;
        char *marked = highlight(cases[i].words, tkl_str(cases[i].query), tkl_str(cases[i].text),
                                 (tkl__search_highlight_options){.length = 0}, &count);
        assert_string_equal(marked, cases[i].marked);
        assert_int_equal(count, cases[i].count);
        free(marked);
    }
}

static void html_is_escaped(void **state)
{
    (void)state;
    size_t count;
    tkl__search_highlight_options options = {
        .before = TKL_LIT("<b>"), .after = TKL_LIT("</b>"), .html = true};
    char *marked =
        highlight(&english, tkl_str("tag"), tkl_str("a <tag> & \"tag's\""), options, &count);
    assert_string_equal(marked, "a &lt;<b>tag</b>&gt; &amp; &quot;<b>tag&#39;s</b>&quot;");
    free(marked);
}

static void a_long_text_gives_the_part_with_the_most_matches(void **state)
{
    (void)state;
    const struct {
        const tkl__text_word_options *words;
        const char *query, *text;
        size_t length;
        const char *marked;
    } cases[] = {
        {&english, "cat", "one two three four cat five six seven", 15, "…four [cat] five…"},
        {&english, "cat", "cat two three four five", 10, "[cat] two…"},
        {&english, "cat", "one two three four cat", 12, "…four [cat]"},
        {&english, "cat", "a cat. one two three cat cat four x", 19, "…three [cat] [cat] four…"},
        {&english, "x", "one two three four", 9, "one two…"},
        {&english, "incomprehensibilities", "an incomprehensibilities is", 3,
         "…[incomprehensibilities]…"},
        {&english, "cat", "one cat", 7, "one [cat]"},
        {&chinese, "北京", "中华人民共和国首都北京欢迎你们来", 6, "…首都[北京]欢迎…"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t count;
        char *marked =
            highlight(cases[i].words, tkl_str(cases[i].query), tkl_str(cases[i].text),
                      (tkl__search_highlight_options){.length = cases[i].length}, &count);
        assert_string_equal(marked, cases[i].marked);
        free(marked);
    }
}

/* A large text in which everything matches takes no longer than its length says. */
static void a_large_text_is_marked(void **state)
{
    (void)state;
    enum { WORDS = 200000 };
    size_t count;
    char *text = malloc(WORDS * 4 + 1);
    for (int i = 0; i < WORDS; i++)
        memcpy(text + 4 * i, "cat ", 5);
    char *marked = highlight(&english, tkl_str("cat"), tkl_str(text),
                             (tkl__search_highlight_options){.length = 0}, &count);
    assert_int_equal(count, WORDS);
    assert_int_equal(strlen(marked), WORDS * 6);
    free(marked);
    marked = highlight(&english, tkl_str("cat"), tkl_str(text),
                       (tkl__search_highlight_options){.length = 100}, &count);
    assert_int_equal(count, 25);
    free(marked);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_are_marked),
        cmocka_unit_test(html_is_escaped),
        cmocka_unit_test(a_long_text_gives_the_part_with_the_most_matches),
        cmocka_unit_test(a_large_text_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
