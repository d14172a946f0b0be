/* SPDX-License-Identifier: MIT
 *
 * The query language of search: what a query means, which queries are equal, and what errors say
 * about wrong ones.
 */
#include "core/buf.h"
#include "search/parse.h"
#include "support/locale.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const tkl__search_query_field fields[] = {
    {TKL_LIT("votes"), true}, {TKL_LIT("author"), false}, {TKL_LIT("价格"), true}};

static tkl__text_word_set stop, user;

/* The kinds of index that the tables name. */
typedef enum index_kind { PLAIN, PLACES, STEMS, CHINESE, CHINESE_PLACES } index_kind;

static tkl__search_query_rules rules_of(index_kind kind)
{
    static const tkl__text_word_options plain = {.fold = TKL__TEXT_FOLD_ACCENTS, .stop = &stop};
    static const tkl__text_word_options stems = {
        .fold = TKL__TEXT_FOLD_ACCENTS, .stop = &stop, .stem = "en"};
    static const tkl__text_word_options chinese = {.fold = TKL__TEXT_FOLD_ACCENTS |
                                                           TKL__TEXT_FOLD_CHINESE,
                                                   .stop = &stop,
                                                   .user = &user,
                                                   .bigrams = true};
    const tkl__text_word_options *words = kind >= CHINESE ? &chinese
                                          : kind == STEMS ? &stems
                                                          : &plain;
    return (tkl__search_query_rules){.fields = fields,
                                     .field_count = COUNT(fields),
                                     .words = words,
                                     .positions = kind == PLACES || kind == CHINESE_PLACES};
}

/* ---- Trees as text ------------------------------------------------------- */

static void print_terms(const tkl__search_query_item *item, tkl__buf *out)
{
    for (size_t i = 0; i < item->count; i++) {
        const tkl__search_query_term *term = &item->terms[i];
        tkl__buf_addf(out, "%s" TKL_FMT "%s", i ? "&" : "", TKL_ARG(term->text),
                      term->prefix ? "*" : "");
        if (item->kind == TKL__QUERY_PHRASE)
            tkl__buf_addf(out, "@%u", term->at);
        else
            assert_int_equal(term->at, 0);
    }
}

static void print_item(const tkl__search_query_item *item, tkl__buf *out)
{
    if (item->kind == TKL__QUERY_VALUE)
        tkl__buf_addf(out, TKL_FMT "=" TKL_FMT "%s", TKL_ARG(fields[item->field].name),
                      TKL_ARG(item->value), item->prefix ? "*" : "");
    else if (item->kind == TKL__QUERY_RANGE)
        tkl__buf_addf(out, TKL_FMT "%s%g,%g%s", TKL_ARG(fields[item->field].name),
                      item->low_open ? "(" : "[", item->low, item->high,
                      item->high_open ? ")" : "]");
    else
        print_terms(item, out);
}

/* "[a|b] [c] -d": groups in brackets, alternatives with |, phrases with distances. */
static void print_query(const tkl__search_query *query, tkl__buf *out)
{
    tkl__buf_addz(out, query->nothing ? "nothing" : query->all ? "all" : "");
    for (size_t i = 0; i < query->wanted_count; i++) {
        tkl__buf_addz(out, i ? " [" : "[");
        for (size_t j = 0; j < query->wanted[i].count; j++) {
            tkl__buf_addz(out, j ? "|" : "");
            print_item(&query->wanted[i].items[j], out);
        }
        tkl__buf_addz(out, "]");
    }
    for (size_t i = 0; i < query->excluded_count; i++) {
        tkl__buf_addz(out, " -");
        print_item(&query->excluded[i], out);
    }
    tkl__buf_add(out, "", 1);
}

static void assert_means(index_kind kind, const char *text, const char *meaning)
{
    tkl__search_query_rules rules = rules_of(kind);
    tkl__search_query query;
    tkl__buf out;
    tkl__buf_init(&out);
    int rc = tkl__search_query_parse(tkl_str(text), &rules, &query);
    if (rc != TKL_OK)
        fail_msg("%s: %s", text, tkl_errmsg());
    print_query(&query, &out);
    if (strcmp(out.data, meaning) != 0)
        fail_msg("%s\n  means:    %s\n  expected: %s", text, out.data, meaning);
    tkl__buf_free(&out);
    tkl__search_query_free(&query);
}

/* ---- Meaning ------------------------------------------------------------- */

static void a_query_means(void **state)
{
    (void)state;
    const struct {
        index_kind kind;
        const char *text, *meaning;
    } cases[] = {
        {PLAIN, "redis lock", "[lock] [redis]"},
        {PLAIN, "lock +mutex +Latch queue", "[queue] [lock|latch|mutex]"},
        {PLAIN, "lock -spin +mutex", "[lock|mutex] -spin"},
        {PLAIN, "+mutex lock", "[lock] [mutex]"}, /* nothing before it: a wanted word */
        {PLAIN, "conn*", "[conn*]"},
        {PLAIN, "Müller MÜLLER muller", "[muller]"},
        {PLAIN, "foo-bar", "[bar] [foo]"},
        {PLAIN, "x +foo-bar", "[x|bar&foo]"},
        {PLAIN, "x -foo-bar", "[x] -bar&foo"},
        {PLAIN, "foo-conn*", "[conn*] [foo]"},
        {PLAIN, "the cat", "[cat]"}, /* stop words do not count */
        {PLAIN, "cat the +dog", "[cat] [dog]"},
        {PLAIN, "the*", "[the*]"},
        {PLAIN, "cat -the", "[cat]"},
        {PLAIN, "don’t", "nothing"},
        {PLAIN, "a - b & c ...", "[b] [c]"}, /* a lone sign is punctuation */
        {PLAIN, "5\" disk", "[5] [disk]"},
        {PLAIN, "\"disk\"", "[disk]"}, /* a phrase of one word needs no positions */
        {PLAIN, "tea\xe3\x80\x80time\xc2\xa0now\xe2\x80\x83x", "[x] [now] [tea] [time]"},
        {PLAIN, "* -cat", "all -cat"},
        {PLAIN, "* cat", "[cat]"},
        {PLAIN, "* +cat", "all"}, /* anything, or a cat */
        {PLAIN, "dog * +cat", "[dog]"},
        {PLAIN, "* dog +cat", "[cat|dog]"},
        {PLAIN, "see: 12:30 https://example.com", "[example.com] [12] [30] [see] [https]"},
        {STEMS, "Running cats' connections", "[cat] [run] [connect]"},
        {STEMS, "connections*", "[connections*]"},
        {PLACES, "\"Lock-free queues\"", "[lock@0&free@1&queues@2]"},
        {PLACES, "“state of the art”", "[state@0&art@3]"},
        {PLACES, "\"the end\" -\"of cats\"", "[end] -cats"},
        {PLACES, "\"a \\\"b\\\" \\\\ c\"", "[b@0&c@1]"},
        {PLACES, "\"b c\"d", "[b@0&c@1] [d]"},
        {PLACES, "foo-bar -read/write", "[foo@0&bar@1] -read@0&write@1"},
        {PLACES, "x +\"b c\"", "[b@0&c@1|x]"},
        {PLACES, "\"\"", "nothing"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_means(cases[i].kind, cases[i].text, cases[i].meaning);
}

/* A query gives only terms that any text that contains it has, too. */
static void chinese_is_found_as_a_substring(void **state)
{
    (void)state;
    const struct {
        index_kind kind;
        const char *text, *meaning;
    } cases[] = {
        {CHINESE, "北京", "[北京]"},
        {CHINESE, "研究生命", "[生命] [研究] [究生]"},
        {CHINESE_PLACES, "研究生命", "[研究@0&究生@1&生命@2]"},
        {CHINESE, "張三豐", "[三丰] [张三]"}, /* traditional */
        {CHINESE, "水", "[水]"},
        {CHINESE, "水*", "[水]"}, /* each character is a term: it is found wherever it stands */
        {CHINESE, "北京*", "[北京]"},
        {CHINESE_PLACES, "T恤", "[t@0&恤@1]"},
        {CHINESE_PLACES, "iPhone手机壳", "[iphone@0&手机@1&机壳@2]"},
        {CHINESE, "区块链", "[区块链]"}, /* a user's word */
        {CHINESE, "区块", "[区块]"},
        {CHINESE, "的", "nothing"},
        {CHINESE, "对于 的", "nothing"},
        {CHINESE, "书 +報紙 -雜誌", "[书|报纸] -杂志"},
        {CHINESE, "价格:>10 手机", "[价格(10,inf]] [手机]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_means(cases[i].kind, cases[i].text, cases[i].meaning);
}

static void fields_have_values_and_ranges(void **state)
{
    (void)state;
    const struct {
        const char *text, *meaning;
    } cases[] = {
        {"votes:10", "[votes[10,10]]"},
        {"votes:=10", "[votes[10,10]]"},
        {"votes:>10", "[votes(10,inf]]"},
        {"votes:>=1.5", "[votes[1.5,inf]]"},
        {"votes:<5", "[votes[-inf,5)]"},
        {"votes:<=-5", "[votes[-inf,-5]]"},
        {"votes:1..10", "[votes[1,10]]"},
        {"votes:-3..-1", "[votes[-3,-1]]"},
        {"votes:1..", "[votes[1,inf]]"},
        {"votes:..1e3", "[votes[-inf,1000]]"},
        {"votes:\"1..10\"", "[votes[1,10]]"},
        {"votes:>1 votes:<5 votes:..9", "[votes(1,5)]"},
        {"votes:>1 价格:<5 votes:>=1", "[votes(1,inf]] [价格[-inf,5)]"},
        {"votes:>5 votes:<=5 x", "nothing"},
        {"votes:7 -votes:<5", "[votes[7,7]] -votes[-inf,5)"},
        {"votes:>1 +votes:0 votes:<5", "[votes[-inf,5)] [votes(1,inf]|votes[0,0]]"},
        {"author:Ann", "[author=ann]"},
        {"author:\"Ann Müller\"", "[author=ann muller]"},
        {"author:“Ann Lee”", "[author=ann lee]"},
        {"author:jo*", "[author=jo*]"},
        {"author:\"\"", "[author=]"},
        {"author:a:b", "[author=a:b]"},
        {"cat -author:ann", "[cat] -author=ann"},
        {"author:ann +author:bob votes:0", "[votes[0,0]] [author=ann|author=bob]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_means(PLAIN, cases[i].text, cases[i].meaning);
}

static void what_wants_nothing_matches_nothing(void **state)
{
    (void)state;
    const char *texts[] = {"",     "   ",       "the",       "the of and",
                           "-cat", "-cat -dog", "- + & ...", "\xff"};
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_means(PLAIN, texts[i], "nothing");
}

static void bytes_that_are_not_utf8_separate_words(void **state)
{
    (void)state;
    assert_means(PLAIN,
                 "cat\xff\xfe"
                 "dog \xc3",
                 "[cat] [dog]");
    tkl__search_query_rules rules = rules_of(PLAIN);
    tkl__search_query query;
    assert_ok(tkl__search_query_parse((tkl_bytes){"cat\0dog -x\0y", 12}, &rules, &query));
    assert_int_equal(query.wanted_count, 2);
    assert_int_equal(query.excluded[0].count, 2);
    tkl__search_query_free(&query);
    assert_ok(tkl__search_query_parse((tkl_bytes){NULL, 0}, &rules, &query));
    assert_true(query.nothing);
    tkl__search_query_free(&query);
}

/* A decimal comma in the locale changes nothing. */
static void numbers_have_points(void **state)
{
    (void)state;
    locale_with_a_comma();
    tkl__search_query_rules rules = rules_of(PLAIN);
    tkl__search_query query;
    int rc = tkl__search_query_parse(tkl_str("votes:>0.5"), &rules, &query);
    locale_plain();
    assert_ok(rc);
    assert_non_null(memmem(query.normal.data, query.normal.len, "0.5", 3));
    tkl__search_query_free(&query);
}

/* ---- Errors -------------------------------------------------------------- */

static void errors_point_at_the_character(void **state)
{
    (void)state;
    const struct {
        const char *text, *where, *why;
    } cases[] = {
        {"cat \"dog", "byte 4, at [\"dog]", "not closed"},
        {"cat author:\"dog", "byte 11, at [\"dog]", "not closed"},
        {"“cat", "byte 0, at [“cat]", "not closed"},
        {"cat co*nn dog", "byte 6, at [*nn dog]", "end of a word"},
        {"cat -* dog", "byte 4, at [-* dog]", "takes no sign"},
        {"x ...*", "byte 2, at [...*]", "no word before '*'"},
        {"x \"cat\"*", "byte 7, at [*]", "not a quote"},
        {"猫 vote:>1", "byte 4, at [vote:>1]", "no such field"},
        {"votes:", "byte 0, at [votes:]", "value is missing"},
        {"x votes:many", "byte 8, at [many]", "not a number"},
        {"x votes:..", "byte 8, at [..]", "not a number"},
        {"x votes:>", "byte 8, at [>]", "not a number"},
        {"x votes:nan", "byte 8, at [nan]", "not a number"},
        {"x votes:1*", "byte 8, at [1*]", "takes no '*'"},
        {"x -votes:9..1 y", "byte 9, at [9..1 y]", "ends before it begins"},
        {"x \"lock free\"", "byte 2, at [\"lock free\"]", "keeps positions"},
        {"x \"中文中文中文中文中文中文", "at [\"中文中文中文中...]", "not closed"},
    };
    tkl__search_query_rules rules = rules_of(PLAIN);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tkl__search_query query;
        assert_code(tkl__search_query_parse(tkl_str(cases[i].text), &rules, &query), TKL_EINVAL);
        assert_contains(tkl_errmsg(), cases[i].where);
        assert_contains(tkl_errmsg(), cases[i].why);
        assert_null(query.blocks);
    }
}

/* `count` words that differ, with a space behind each; free() it. */
static char *many_words(size_t count)
{
    char *text = malloc(count * 8 + 1);
    for (size_t i = 0; i < count; i++)
        sprintf(text + 8 * i, "word%03zx ", i);
    return text;
}

static void long_queries_work_up_to_a_bound(void **state)
{
    (void)state;
    tkl__search_query_rules rules = rules_of(PLAIN);
    tkl__search_query query;
    char *text = many_words(TKL__QUERY_TERMS_MAX + 1);
    assert_code(tkl__search_query_parse(tkl_str(text), &rules, &query), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "byte 4000");
    assert_contains(tkl_errmsg(), "more than 500 words");
    text[8 * TKL__QUERY_TERMS_MAX] = '\0';
    assert_ok(tkl__search_query_parse(tkl_str(text), &rules, &query));
    assert_int_equal(query.wanted_count, TKL__QUERY_TERMS_MAX);
    tkl__search_query_free(&query);
    free(text);

    char *huge = malloc(TKL__QUERY_MAX + 1);
    memset(huge, 'x', TKL__QUERY_MAX + 1);
    assert_ok(tkl__search_query_parse((tkl_bytes){huge, TKL__QUERY_MAX}, &rules, &query));
    tkl__search_query_free(&query);
    assert_code(tkl__search_query_parse((tkl_bytes){huge, TKL__QUERY_MAX + 1}, &rules, &query),
                TKL_EINVAL);
    assert_contains(tkl_errmsg(), "65537 bytes");
    for (size_t i = 0; i + 3 <= TKL__QUERY_MAX; i += 3)
        memcpy(huge + i, "\xe6\xb0\xb4", 3); /* one run of Chinese: too many pairs */
    rules = rules_of(CHINESE);
    assert_code(tkl__search_query_parse((tkl_bytes){huge, 65535}, &rules, &query), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "more than 500 words");
    free(huge);
}

/* ---- The normal form ----------------------------------------------------- */

static bool are_same(index_kind kind, const char *one, const char *other)
{
    tkl__search_query_rules rules = rules_of(kind);
    tkl__search_query a, b;
    assert_ok(tkl__search_query_parse(tkl_str(one), &rules, &a));
    assert_ok(tkl__search_query_parse(tkl_str(other), &rules, &b));
    bool same =
        a.normal.len == b.normal.len && memcmp(a.normal.data, b.normal.data, a.normal.len) == 0;
    tkl__search_query_free(&a);
    tkl__search_query_free(&b);
    return same;
}

static void equal_queries_have_one_form(void **state)
{
    (void)state;
    const struct {
        index_kind kind;
        const char *one, *other;
        bool same;
    } cases[] = {
        {PLAIN, "cat dog", "  DOG   cat cat the", true},
        {PLAIN, "cat +dog bird", "bird dog +cat +dog", true},
        {PLAIN, "cat +dog", "cat dog", false},
        {PLAIN, "cat -dog", "cat dog", false},
        {PLAIN, "cat -dog -bird", "-bird cat -dog -dog", true},
        {PLAIN, "cat -foo-bar", "cat -foo -bar", false},
        {PLAIN, "foo-bar", "bar foo", true},
        {PLAIN, "cat*", "cat", false},
        {PLAIN, "votes:>=10", "votes:10..", true},
        {PLAIN, "votes:>10", "votes:>=10", false},
        {PLAIN, "votes:1..5", "votes:<=5 votes:>=1", true},
        {PLAIN, "* votes:>5 votes:<1", "the", true},
        {PLAIN, "votes:0", "votes:-0.0", true},
        {PLAIN, "votes:1e1", "votes:10.0", true},
        {PLAIN, "author:Ann", "author:\"ann\"", true},
        {PLAIN, "author:ann", "ann", false},
        {PLAIN, "author:ann", "author:ann*", false},
        {PLAIN, "* cat", "cat", true},
        {PLAIN, "*", "", false},
        {PLAIN, "-cat", "the", true}, /* both match nothing */
        {PLAIN, "a1b 2", "a1 b2", false},
        {STEMS, "connections", "connected", true},
        {PLACES, "\"foo bar\"", "\"bar foo\"", false},
        {PLACES, "\"foo bar\"", "foo bar", false},
        {PLACES, "\"foo bar\"", "foo-bar", true},
        {PLACES, "\"foo of bar\"", "\"foo bar\"", false},
        {CHINESE, "張三豐", "张三丰", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (are_same(cases[i].kind, cases[i].one, cases[i].other) != cases[i].same)
            fail_msg("%s and %s", cases[i].one, cases[i].other);
    }
}

/* ---- Running ------------------------------------------------------------- */

static int make_sets(void **state)
{
    (void)state;
    static const tkl_bytes stops[] = {TKL_LIT("the"),   TKL_LIT("of"), TKL_LIT("and"), TKL_LIT("a"),
                                      TKL_LIT("don't"), TKL_LIT("的"), TKL_LIT("对于")};
    static const tkl_bytes users[] = {TKL_LIT("区块链")};
    assert_ok(tkl__text_word_set_make(stops, COUNT(stops), 0, &stop));
    assert_ok(tkl__text_word_set_make(users, COUNT(users), 0, &user));
    return 0;
}

static int free_sets(void **state)
{
    (void)state;
    tkl__text_word_set_free(&stop);
    tkl__text_word_set_free(&user);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_means),
        cmocka_unit_test(chinese_is_found_as_a_substring),
        cmocka_unit_test(fields_have_values_and_ranges),
        cmocka_unit_test(what_wants_nothing_matches_nothing),
        cmocka_unit_test(bytes_that_are_not_utf8_separate_words),
        cmocka_unit_test(numbers_have_points),
        cmocka_unit_test(errors_point_at_the_character),
        cmocka_unit_test(long_queries_work_up_to_a_bound),
        cmocka_unit_test(equal_queries_have_one_form),
    };
    return cmocka_run_group_tests(tests, make_sets, free_sets);
}
