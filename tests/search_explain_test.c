/* SPDX-License-Identifier: MIT
 *
 * Explanations: the parts of a query, the parts that a document has, and what they add to its
 * relevance. Explanations agree with the results of the query.
 */
#include <math.h>

#include "support/pages.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static tkl_search_explanation *explain(tkl_search *s, const char *query, const char *id)
{
    tkl_search_explanation *is;
    assert_ok(tkl_search_explain(s, tkl_str(query), tkl_str(id), &is));
    return is;
}

/* Fails unless query and explanation agree about all documents a to e: which are found, and with
 * which relevance. */
static void check_agreement(tkl_search *s, const char *query)
{
    tkl_search_result *r;
    assert_ok(tkl_search_query(s, tkl_str(query), NULL, &r));
    for (char id[] = "a"; id[0] <= 'e'; id[0]++) {
        tkl_search_explanation *is = explain(s, query, id);
        const tkl_search_hit *hit = NULL;
        double parts = 0;
        for (size_t i = 0; i < r->count; i++)
            if (r->hits[i].id.data[0] == id[0])
                hit = &r->hits[i];
        for (size_t i = 0; i < is->part_count; i++)
            for (size_t k = 0; k < is->parts[i].term_count; k++)
                parts += is->parts[i].terms[k].score;
        if (is->matches != (hit != NULL) || is->total != r->total ||
            (hit && fabs(is->score - hit->score) > 1e-9) || fabs(parts - is->score) > 1e-9)
            fail_msg("%s, %s: found %d, score %g of parts %g, not %g", query, id, is->matches,
                     is->score, parts, hit ? hit->score : NAN);
        assert_int_equal(is->reason.len == 0, is->matches);
        tkl_search_explanation_free(is);
    }
    tkl_search_result_free(r);
}

static void explanations_agree_with_queries(void **state)
{
    static const char *const queries[] = {"connect",
                                          "server connect",
                                          "connect +link -client",
                                          "conn* connect",
                                          "serv* +link* votes:>1",
                                          "votes:1..7 -title:lost",
                                          "title:l*",
                                          "title:* link",
                                          "title:connecting",
                                          "* -client",
                                          "*",
                                          "\"connecting to\"",
                                          "server -\"connecting server\"",
                                          "votes:>7 votes:<3",
                                          "the",
                                          "-client",
                                          "unknown",
                                          ""};
    for (int shards = 1; shards <= 3; shards += 2) {
        tkl_search_schema schema = {.fields = pages_fields,
                                    .field_count = COUNT(pages_fields),
                                    .stem = "en",
                                    .positions = true,
                                    .shards = shards};
        tkl_search *s = pages_open(*state, &schema);
        pages_add_some(s);
        for (size_t i = 0; i < COUNT(queries); i++)
            check_agreement(s, queries[i]);
        assert_ok(tkl_search_drop(s));
        tkl_search_close(s);
    }
}

static void parts_say_what_the_document_has(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add_some(s);
    tkl_search_explanation *is = explain(s, "Connections +link -client votes:>5", "a");
    assert_false(is->matches);
    pages_check_bytes(is->reason, "the document lacks votes:>5");
    assert_int_equal(is->part_count, 4);
    assert_int_equal(is->documents, 5);
    pages_check_bytes(is->parts[0].text, "votes:>5");
    pages_check_bytes(is->parts[0].value, "5");
    assert_int_equal(is->parts[1].choice, is->parts[2].choice);
    const tkl_search_part *word = &is->parts[is->parts[1].matches ? 1 : 2];
    pages_check_bytes(word->terms[0].text, "connect");
    assert_int_equal(word->terms[0].documents, 3);
    assert_int_equal(word->terms[0].times, 1);
    assert_true(word->score > 0);
    assert_true(is->parts[3].excluded && !is->parts[3].matches);
    tkl_search_explanation_free(is);

    is = explain(s, "server -link", "d");
    pages_check_bytes(is->reason, "the document has link, which the query excludes");
    tkl_search_explanation_free(is);
    is = explain(s, "nothing +lost", "a");
    pages_check_bytes(is->reason, "the document has none of lost, noth");
    tkl_search_explanation_free(is);
    tkl_search_close(s);
}

static void a_query_is_explained_without_a_document(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add_some(s);
    tkl_search_explanation *is = explain(s, "the servers OR nosuch title:*", NULL);
    assert_int_equal(is->total, 3);
    assert_false(is->matches);
    pages_check_bytes(is->dropped, "the");
    assert_true(is->understood.len > 0);
    pages_check_bytes(is->parts[0].text, "title:*");
    pages_check_bytes(is->parts[0].terms[0].text, "*");
    assert_int_equal(is->parts[0].terms[0].documents, 4);
    assert_int_equal(is->reason.len, 0);
    tkl_search_explanation_free(is);
    is = explain(s, "conection", NULL);
    pages_check_bytes(is->nearest, "connect");
    tkl_search_explanation_free(is);
    tkl_search_close(s);
}

static void chinese_is_explained_as_it_is_answered(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    pages_add(s, "zh", "北京今天天气", 1, NULL);
    tkl_search_explanation *is = explain(s, "北京天气", "zh");
    assert_true(is->matches);
    pages_check_bytes(is->understood, "北京 天气");
    assert_int_equal(is->part_count, 2);
    tkl_search_explanation_free(is);
    tkl_search_close(s);
}

/* Fails unless both have the same parts, and read the query alike. */
static void check_same_reading(const char *query, const tkl_search_explanation *parsed,
                               const tkl_search_explanation *is)
{
    bool same = parsed->part_count == is->part_count;
    for (size_t i = 0; same && i < is->part_count; i++) {
        const tkl_search_part *a = &parsed->parts[i], *b = &is->parts[i];
        same = a->text.len == b->text.len && memcmp(a->text.data, b->text.data, a->text.len) == 0 &&
               a->choice == b->choice && a->excluded == b->excluded && !a->matches && a->score == 0;
        for (size_t k = 0; same && k < a->term_count; k++)
            same = a->terms[k].documents == TKL_NONE && a->terms[k].times == 0;
    }
    if (!same)
        fail_msg("%s: %zu parts, %zu in the index", query, parsed->part_count, is->part_count);
    assert_int_equal(parsed->understood.len, is->understood.len);
    assert_int_equal(parsed->dropped.len, is->dropped.len);
}

static void queries_are_parsed_as_an_index_understands_them(void **state)
{
    static const char *const queries[] = {"the connections +links -clients",
                                          "conn* OR serv* AND title:l*",
                                          "votes:>1 votes:<=7 -title:lost title:*",
                                          "\"lock free\" -\"connecting to\"",
                                          "服务器 锁",
                                          "* -client",
                                          "*",
                                          "the",
                                          ""};
    tkl_search_schema schema = {.fields = pages_fields,
                                .field_count = COUNT(pages_fields),
                                .stem = "en",
                                .positions = true};
    tkl_search *s = pages_open(*state, &schema);
    pages_add_some(s);
    for (size_t i = 0; i < COUNT(queries); i++) {
        tkl_search_explanation *parsed, *is = explain(s, queries[i], NULL);
        assert_ok(tkl_search_parse(tkl_str(queries[i]), &schema, &parsed));
        check_same_reading(queries[i], parsed, is);
        tkl_search_explanation_free(parsed);
        tkl_search_explanation_free(is);
    }
    tkl_search_close(s);
}

/* Without a client: no call connects. */
static void a_query_is_parsed_without_a_server(void **state)
{
    (void)state;
    tkl_search_explanation *is;
    assert_ok(tkl_search_parse(tkl_str("+Locks +queues"), NULL, &is));
    assert_int_equal(is->part_count, 2);
    assert_int_equal(is->parts[0].choice, 1);
    assert_int_equal(is->parts[1].choice, 2);
    pages_check_bytes(is->parts[0].terms[0].text, "locks");
    assert_true(is->understood.len > 0 && is->reason.len == 0);
    tkl_search_explanation_free(is);
    assert_ok(tkl_search_parse(tkl_str("-client"), NULL, &is));
    assert_int_equal(is->part_count, 0);
    assert_non_null(strstr(is->reason.data, "excluded words only"));
    tkl_search_explanation_free(is);

    tkl_search_schema wrong = {.stem = "klingon"};
    assert_code(tkl_search_parse(tkl_str("x"), &wrong, &is), TKL_EINVAL);
    assert_null(is);
    assert_code(tkl_search_parse(tkl_str("votes:>1"), NULL, &is), TKL_EINVAL);
    assert_non_null(strstr(tkl_errmsg(), "no such field"));
    assert_null(is);
    memset(&wrong, 0xff, sizeof wrong);
    assert_code(tkl_search_parse(tkl_str("x"), &wrong, &is), TKL_EINVAL);
}

/* A document whose terms are in pieces, of which only those with the words of the query are
 * read. */
static void large_documents_are_explained(void **state)
{
    enum { WORDS = 30000 };
    tkl_search_schema schema = {
        .fields = pages_fields, .field_count = COUNT(pages_fields), .positions = true};
    tkl_search *s = pages_open(*state, &schema);
    char *text = malloc(WORDS * 8), *to = text;
    assert_non_null(text);
    for (int i = 0; i < WORDS; i++)
        to += sprintf(to, "w%d ", i);
    pages_add(s, "long", text, 3, "Title");
    free(text);
    for (int i = 0; i < 20; i++) {
        char query[64];
        sprintf(query, "\"w%d w%d\" title:*", i * 1000, i * 1000 + 1);
        assert_int_equal(pages_count(s, query), 1);
        tkl_search_explanation *is = explain(s, query, "long");
        assert_true(is->matches);
        assert_int_equal(is->length, WORDS);
        tkl_search_explanation_free(is);
    }
    tkl_search_close(s);
}

static void what_is_wrong_is_told_apart(void **state)
{
    tkl_search_explanation *is;
    tkl_search *s = pages_open(*state, NULL);
    pages_add_some(s);
    assert_int_equal(tkl_search_explain(s, tkl_str("x"), tkl_str("nosuch"), &is), TKL_NOTFOUND);
    assert_null(is);
    assert_non_null(strstr(tkl_errmsg(), "nosuch"));
    assert_int_equal(tkl_search_explain(s, tkl_str("\"open"), tkl_str("a"), &is), TKL_EINVAL);
    assert_null(is);
    assert_ok(tkl_search_drop(s));
    assert_int_equal(tkl_search_explain(s, tkl_str("x"), tkl_str("a"), &is), TKL_NOTFOUND);
    tkl_search_explanation_free(NULL);
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(explanations_agree_with_queries),
        TEST(parts_say_what_the_document_has),
        TEST(a_query_is_explained_without_a_document),
        TEST(chinese_is_explained_as_it_is_answered),
        TEST(queries_are_parsed_as_an_index_understands_them),
        TEST(a_query_is_parsed_without_a_server),
        TEST(large_documents_are_explained),
        TEST(what_is_wrong_is_told_apart),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
