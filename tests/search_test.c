/* SPDX-License-Identifier: MIT
 *
 * Search: what is found, in which order, on which page.
 */
#include <math.h>

#include "support/cluster.h"
#include "support/pages.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Finding ------------------------------------------------------------- */

static void words_are_found(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add_some(s);
    pages_check(s, "connect", 3, "d b a");
    pages_check(s, "connected servers", 3, "d b a");
    pages_check(s, "client", 2, "d c");
    pages_check(s, "connect +link", 4, "d b a c");
    pages_check(s, "connect -client", 2, "b a");
    pages_check(s, "unknown", 0, "");
    pages_check(s, "the of", 0, "");
    pages_check(s, "", 0, "");
    pages_check(s, "-client", 0, "");
    pages_check(s, "*", 5, "d b a c e");
    pages_check(s, "* -client", 3, "b a e");
    tkl_search_close(s);
}

static void fields_are_found(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add_some(s);
    pages_check(s, "votes:>5", 2, "d b");
    pages_check(s, "votes:5..7", 2, "b a");
    pages_check(s, "votes:<=5 connect", 1, "a");
    pages_check(s, "title:LINKS", 1, "d");
    pages_check(s, "title:l*", 2, "d b");
    pages_check(s, "* -title:l*", 3, "a c e");
    pages_check(s, "cli* +serv*", 4, "d b a c");
    tkl_search_close(s);
}

static void chinese_is_found_by_any_part(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add(s, "zh", "我在北京大学学习中文搜索 with Redis", 1, NULL);
    pages_check(s, "北京", 1, "zh");
    pages_check(s, "京大", 1, "zh");
    pages_check(s, "大学 redis", 1, "zh");
    pages_check(s, "學習", 1, "zh"); /* traditional characters */
    pages_check(s, "上海", 0, "");
    tkl_search_close(s);
}

static void phrases_need_their_order(void **state)
{
    tkl_search_schema schema = {.positions = true, .no_stop_words = true};
    tkl_search *s = pages_open(*state, &schema);
    tkl_search_doc docs[] = {{.id = tkl_str("a"), .text = tkl_str("to be or not to be")},
                             {.id = tkl_str("b"), .text = tkl_str("not to or be")}};
    assert_ok(tkl_search_add(s, docs, 2, NULL));
    pages_check_page(s, "\"to be\"", NULL, 1, "a");
    pages_check_page(s, "\"not to\"", NULL, 2, "a b");
    pages_check_page(s, "be -\"to be\"", NULL, 1, "b");
    tkl_search_close(s);
}

/* ---- Orders and pages ---------------------------------------------------- */

static void documents_without_the_field_come_last(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add_some(s);
    pages_check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("votes")}, 5,
                     "c a b d e");
    pages_check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("-votes")}, 5,
                     "d b a c e");
    pages_check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("title")}, 5,
                     "c a d b e");
    pages_check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("-title")}, 5,
                     "b d a c e");
    pages_check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("votes=-2")}, 5,
                     "e c a b d");
    tkl_search_close(s);
}

static void the_rarest_word_counts_most(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add(s, "once", "apple banana cherry banana", 0, NULL);
    pages_add(s, "often", "apple apple apple cherry", 0, NULL);
    pages_add(s, "other", "banana cherry date fig", 0, NULL);
    pages_check_page(s, "apple", NULL, 2, "often once");
    pages_check_page(s, "apple +fig", NULL, 3, "other often once");
    tkl_search_close(s);
}

static void equal_values_stay_in_one_order(void **state)
{
    enum { DOCS = 60, PAGE = 7 };
    tkl_search *s = pages_open(*state, NULL);
    bool seen[DOCS] = {false};
    for (int i = 0; i < DOCS; i++) {
        char id[16];
        sprintf(id, "%d", i);
        pages_add(s, id, "equal", 1, "equal");
    }
    for (int offset = 0; offset < DOCS; offset += PAGE) {
        tkl_search_query_options options = {
            .order = tkl_str("title"), .offset = offset, .count = PAGE};
        tkl_search_result *r;
        assert_ok(tkl_search_query(s, tkl_str("equal"), &options, &r));
        for (size_t i = 0; i < r->count; i++) {
            char id[16] = {0};
            memcpy(id, r->hits[i].id.data, r->hits[i].id.len);
            int doc = atoi(id);
            assert_false(seen[doc]);
            seen[doc] = true;
        }
        tkl_search_result_free(r);
    }
    for (int i = 0; i < DOCS; i++)
        assert_true(seen[i]);
    tkl_search_close(s);
}

static bool was_kept(tkl_search *s, const char *query, int64_t offset, int64_t total)
{
    tkl_search_result *r;
    tkl_search_query_options options = {
        .order = tkl_str("-votes"), .offset = offset, .count = 2, .keep_ms = 60000};
    assert_ok(tkl_search_query(s, tkl_str(query), &options, &r));
    assert_int_equal(r->total, total);
    bool kept = r->kept;
    tkl_search_result_free(r);
    return kept;
}

static void results_are_kept_until_the_index_changes(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL), *other;
    pages_add_some(s);
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &other));
    assert_false(was_kept(s, "servers connect", 0, 3));
    assert_true(was_kept(s, "servers connect", 2, 3));
    assert_true(was_kept(s, "Connecting, the  SERVER", 0, 3)); /* the same, written otherwise */
    assert_true(was_kept(other, "connected server", 0, 3));
    pages_add(other, "f", "another server connects", 3, NULL);
    assert_false(was_kept(s, "servers connect", 2, 4));
    assert_true(was_kept(s, "servers connect", 2, 4));
    assert_ok(tkl_search_remove(other, &(tkl_bytes)TKL_LIT("f"), 1, NULL));
    assert_false(was_kept(s, "servers connect", 2, 3));
    tkl_search_close(other);
    tkl_search_close(s);
}

/* Ten pages more than the one that was asked for are kept. */
static void further_pages_are_kept_in_place_of_the_first(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    for (int i = 0; i < 60; i++)
        pages_add_version(s, i, 0, i);
    pages_add_version(s, 0, 0, 0);
    assert_false(was_kept(s, "common", 0, 60));
    int64_t keys = pages_keys(*state);
    assert_true(was_kept(s, "common", 20, 60));
    assert_false(was_kept(s, "common", 30, 60));
    assert_true(was_kept(s, "common", 30, 60));
    assert_true(was_kept(s, "common", 0, 60));
    pages_add_version(s, 0, 0, 0);
    assert_false(was_kept(s, "common", 0, 60));
    assert_true(was_kept(s, "common", 0, 60));
    assert_int_equal(pages_keys(*state), keys);
    tkl_search_close(s);
}

static void facets_count_values(void **state)
{
    static const tkl_bytes title = TKL_LIT("title");
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    pages_add(s, "1", "word", 1, "Go");
    pages_add(s, "2", "word", 1, "C");
    pages_add(s, "3", "word", 1, "go");
    pages_add(s, "4", "other", 1, "C");
    pages_add(s, "5", "word", 1, NULL);
    assert_ok(tkl_search_query(
        s, tkl_str("word"), &(tkl_search_query_options){.facets = &title, .facet_count = 1}, &r));
    assert_int_equal(r->facet_count, 1);
    assert_int_equal(r->facets[0].count, 2);
    assert_int_equal(r->facets[0].counts[0].count, 2);
    assert_memory_equal(r->facets[0].counts[0].value.data, "Go", 2);
    assert_int_equal(r->facets[0].counts[1].count, 1);
    assert_int_equal(r->facets[0].missing, 1);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

/* A value is shown as a document of the result has it, never as a document had it before, and
 * whole, however long it is. */
static void facets_show_values_that_documents_have(void **state)
{
    static const tkl_bytes title = TKL_LIT("title");
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    char value[601];
    memset(value, 'v', 600);
    value[600] = 0;
    pages_add(s, "1", "word", 1, "Go");
    pages_add(s, "2", "word", 1, "GO");
    pages_add(s, "2", "word", 1, value);
    pages_add(s, "3", "word", 1, "Go");
    assert_ok(tkl_search_query(
        s, tkl_str("word"), &(tkl_search_query_options){.facets = &title, .facet_count = 1}, &r));
    assert_int_equal(r->facets[0].count, 2);
    assert_int_equal(r->facets[0].counts[0].count, 2);
    assert_memory_equal(r->facets[0].counts[0].value.data, "Go", 2);
    assert_int_equal(r->facets[0].counts[1].value.len, 600);
    assert_memory_equal(r->facets[0].counts[1].value.data, value, 600);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

/* ---- A cluster ----------------------------------------------------------- */

static void shards_of_a_cluster_make_one_result(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client;
    tkl_search *s;
    tkl_search_schema schema = {.fields = pages_fields, .field_count = 2, .shards = 5};
    assert_ok(tkl_open(c->url, NULL, &client));
    assert_ok(tkl_search_open(client, tkl_str("pages"), NULL, &s));
    assert_ok(tkl_search_create(s, &schema));
    for (int i = 0; i < 40; i++) {
        char id[16], text[32];
        sprintf(id, "%d", i);
        sprintf(text, "word%d %s", i % 3, i % 2 ? "odd" : "even");
        pages_add(s, id, text, i, i % 2 ? "Odd" : "Even");
    }
    pages_check(s, "word0 odd", 7, "39 33 27 21 15 9 3");
    pages_check_page(
        s, "even", &(tkl_search_query_options){.order = tkl_str("votes"), .offset = 5, .count = 3},
        20, "10 12 14");
    pages_check(s, "wor* -odd votes:>=34", 3, "38 36 34");
    assert_ok(tkl_search_drop(s));
    assert_code(tkl_search_drop(s), TKL_NOTFOUND);
    tkl_search_close(s);
    tkl_close(client);
    cluster_end(c);
}

static void facets_of_many_values_show_the_most_frequent(void **state)
{
    enum { VALUES = 700, FREQUENT = 5 };
    static tkl_search_doc docs[VALUES + FREQUENT * 20];
    static tkl_search_value values[VALUES + FREQUENT * 20];
    static char ids[VALUES + FREQUENT * 20][16], titles[VALUES][16];
    tkl_search *s = pages_open(*state, NULL);
    tkl_bytes title = TKL_LIT("title");
    tkl_search_query_options options = {.facets = &title, .facet_count = 1, .facet_values = 3};
    tkl_search_result *r;
    size_t count = 0;
    for (int i = 0; i < VALUES; i++) { /* value number 0 is in 21 documents, number 1 in 17 ... */
        sprintf(titles[i], "T%d", i);
        for (int k = 0; k < (i < FREQUENT ? 21 - 4 * i : 1); k++, count++) {
            sprintf(ids[count], "%zu", count);
            values[count] = (tkl_search_value){.field = title, .text = tkl_str(titles[i])};
            docs[count] = (tkl_search_doc){.id = tkl_str(ids[count]),
                                           .text = tkl_str(k % 2 ? "page odd" : "page"),
                                           .values = &values[count],
                                           .value_count = 1};
        }
    }
    assert_ok(tkl_search_add(s, docs, count, NULL));
    for (int odd = 0; odd < 2; odd++) {
        assert_ok(tkl_search_query(s, tkl_str(odd ? "odd" : "page"), &options, &r));
        assert_int_equal(r->facets[0].count, 3);
        assert_true(r->facets[0].more);
        assert_int_equal(r->facets[0].missing, odd ? 0 : TKL_NONE); /* odd: all are counted */
        for (int i = 0; i < 3; i++) {
            assert_memory_equal(r->facets[0].counts[i].value.data, titles[i], strlen(titles[i]));
            assert_int_equal(r->facets[0].counts[i].count, odd ? 10 - 2 * i : 21 - 4 * i);
        }
        tkl_search_result_free(r);
    }
    options.facet_values = 10; /* more than there are in the result */
    assert_ok(tkl_search_query(s, tkl_str("odd"), &options, &r));
    assert_int_equal(r->facets[0].count, FREQUENT);
    assert_false(r->facets[0].more);
    assert_int_equal(r->facets[0].missing, 0);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

/* ---- Queries as people type them ------------------------------------------ */

static void check_understood(tkl_search *s, const char *query, int64_t total,
                             const char *understood)
{
    tkl_search_result *r;
    assert_ok(tkl_search_query(s, tkl_str(query), NULL, &r));
    if (r->total != total || r->understood.len != strlen(understood) ||
        (*understood && memcmp(r->understood.data, understood, strlen(understood)) != 0))
        fail_msg("%s: %lld, \"" TKL_FMT "\"; expected %lld, \"%s\"", query, (long long)r->total,
                 TKL_ARG(r->understood), (long long)total, understood);
    tkl_search_result_free(r);
}

static tkl_search *open_typed(fixture *f)
{
    tkl_search *s = pages_open(f, NULL);
    pages_add(s, "a", "lock the server", 1, "One");
    pages_add(s, "b", "a mutex of the server", NAN, "Two");
    pages_add(s, "c", "spin lock std::vector C:\\Windows", 3, NULL);
    return s;
}

static void operators_of_other_engines_are_understood(void **state)
{
    static const struct {
        const char *query;
        int64_t total;
        const char *understood;
    } cases[] = {
        {"lock OR mutex", 3, "lock +mutex"},
        {"lock || mutex", 3, "lock +mutex"},
        {"lock OR mutex AND server", 2, "lock +mutex server"},
        {"lock AND server", 1, "lock server"},
        {"server NOT mutex", 1, "server -mutex"},
        {"server AND NOT mutex", 1, "server -mutex"},
        {"server NOT -mutex", 1, "server -mutex"},
        {"NOT lock", 1, "* -lock"},
        {"NOT lock NOT mutex", 0, "* -lock -mutex"},
        {"+lock +server", 1, "lock server"},
        {"+lock server", 1, "lock server"},
        {"+lock OR mutex", 3, "lock +mutex"},
        {"(lock OR mutex) server", 2, "(lock +mutex) server"},
        {"title:One OR title:Two", 2, "title:One +title:Two"},
        {"lock +mutex", 3, ""},
        {"lock or mutex", 0, ""},
        {"lock OR", 2, ""},
        {"OR lock", 2, ""},
        {"std::vector", 1, ""},
        {"C:\\Windows", 1, ""},
        {"title:*", 2, ""},
        {"votes:*", 2, ""},
        {"* -votes:*", 1, ""},
        {"server title:*", 2, ""},
    };
    tkl_search *s = open_typed(*state);
    tkl_search_result *r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_understood(s, cases[i].query, cases[i].total, cases[i].understood);
    static const char *const wrong[] = {"lock OR NOT mutex", "lock OR -mutex", "-lock OR mutex",
                                        "lock OR OR mutex", "nofield:x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_code(tkl_search_query(s, tkl_str(wrong[i]), NULL, &r), TKL_EINVAL);
    tkl_search_close(s);
}

static void nothing_says_why(void **state)
{
    static const struct {
        const char *query, *dropped, *why, *nearest;
    } cases[] = {
        {"the of", "the of", "the query has stop words only", ""},
        {"", "", "the query has no words", ""},
        {"votes:>3 votes:<2", "", "the ranges of the query have no number in common", ""},
        {"the sever", "the", "no document has the word \"sever\"; the nearest is \"server\"",
         "server"},
        {"mutxe", "", "no document has the word \"mutx\"; the nearest is \"mutex\"", "mutex"},
        {"unlike", "", "no document has the word \"unlik\"", ""},
        {"lock mutex", "", "no document has all that the query asks for", ""},
        {"lock mutez*", "", "no document has a word that begins with \"mutez\"", ""},
        {"Don't*", "",
         "no document has a word that begins with \"don't\"; that word itself is a stop word", ""},
        {"spin* mutex", "", "no document has all that the query asks for", ""},
        {"the server", "the", "", ""},
    };
    tkl_search *s = open_typed(*state);
    tkl_search_result *r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(tkl_search_query(s, tkl_str(cases[i].query), NULL, &r));
        pages_check_bytes(r->dropped, cases[i].dropped);
        pages_check_bytes(r->why, cases[i].why);
        pages_check_bytes(r->nearest, cases[i].nearest);
        tkl_search_result_free(r);
    }
    assert_ok(tkl_search_query(s, tkl_str("-lock"), NULL, &r));
    assert_memory_equal(r->why.data, "the query has excluded words only", 33);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

/* Without spaces between words, in an index with or without positions. */
static void chinese_is_cut_into_words_if_need_be(void **state)
{
    static const struct {
        const char *query;
        int64_t total;
        const char *understood;
    } cases[] = {
        {"机器学习算法", 1, "机器 学习 算法"},
        {"北京天气", 1, "北京 天气"},
        {"北京天气 -上海", 1, "北京 天气 -上海"},
        {"北京天气 +上海", 0, ""}, /* synonyms: not cut */
        {"今天天气", 1, ""},       /* found as it is */
        {"北京火车", 0, ""},       /* not found by its words, either */
        {"lock-mutex", 0, ""},
    };
    for (int i = 0; i < 2; i++) {
        tkl_search_schema schema = {.positions = i == 1};
        tkl_search *s;
        tkl_search_marks *marks;
        fixture *f = *state;
        assert_ok(tkl_search_open(f->client, i ? tkl_str("places") : tkl_str("plain"), NULL, &s));
        assert_ok(tkl_search_create(s, &schema));
        pages_add(s, "a", "机器学习的算法", NAN, NULL);
        pages_add(s, "b", "北京今天天气很好", NAN, NULL);
        pages_add(s, "d", "lock x mutex", NAN, NULL);
        for (size_t k = 0; k < sizeof cases / sizeof *cases - (size_t)!i; k++)
            check_understood(s, cases[k].query, cases[k].total, cases[k].understood);
        assert_ok(tkl_search_highlight(s, tkl_str("北京天气"), tkl_str("北京今天天气很好"), NULL,
                                       &marks));
        pages_check_bytes(marks->text, "<b>北京</b>今天<b>天气</b>很好");
        tkl_search_marks_free(marks);
        tkl_search_close(s);
    }
}

static void words_with_dots_are_found_by_their_parts(void **state)
{
    static const struct {
        const char *query;
        int64_t total;
    } cases[] = {
        {"main.c", 1},   {"main", 1},   {"c", 2},        {"example.com", 1}, {"com", 1},
        {"example*", 1}, {"snake", 1},  {"case", 1},     {"snake_case", 1},  {"main.h", 0},
        {"3.14", 1},     {"14", 0},     {"v1.2", 1},     {"v1", 1},          {"main.*", 1},
        {"std::*", 1},   {"vector", 1}, {"C:\\Win*", 1}, {"don't*", 1},      {"don’t*", 1},
        {"佐々木", 1},   {"々木", 1},
    };
    tkl_search_schema schema = {.positions = true, .no_stop_words = true};
    tkl_search *s;
    tkl_search_marks *marks;
    fixture *f = *state;
    assert_ok(tkl_search_open(f->client, tkl_str("code"), NULL, &s));
    assert_ok(tkl_search_create(s, &schema));
    pages_add(s, "a", "See main.c at Example.com, snake_case 3.14 v1.2", NAN, NULL);
    pages_add(s, "b", "std::vector C:\\Windows don't 佐々木さん", NAN, NULL);
    pages_add(s, "c", "a.a.A", NAN, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (pages_count(s, cases[i].query) != cases[i].total)
            fail_msg("%s: not %lld", cases[i].query, (long long)cases[i].total);
    assert_int_equal(pages_count(s, "\"see main.c at\""), 1);
    assert_ok(tkl_search_highlight(s, tkl_str("main"), tkl_str("see main.c"), NULL, &marks));
    pages_check_bytes(marks->text, "see <b>main</b>.c");
    tkl_search_marks_free(marks);
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_are_found),
        TEST(fields_are_found),
        TEST(chinese_is_found_by_any_part),
        TEST(phrases_need_their_order),
        TEST(documents_without_the_field_come_last),
        TEST(the_rarest_word_counts_most),
        TEST(equal_values_stay_in_one_order),
        TEST(results_are_kept_until_the_index_changes),
        TEST(further_pages_are_kept_in_place_of_the_first),
        TEST(facets_count_values),
        TEST(facets_show_values_that_documents_have),
        TEST(facets_of_many_values_show_the_most_frequent),
        cmocka_unit_test(shards_of_a_cluster_make_one_result),
        TEST(operators_of_other_engines_are_understood),
        TEST(nothing_says_why),
        TEST(chinese_is_cut_into_words_if_need_be),
        TEST(words_with_dots_are_found_by_their_parts),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
