/* SPDX-License-Identifier: MIT
 *
 * Search: bad input, foreign and damaged data, full servers.
 */
#include <math.h>

#include "support/pages.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Bad input ----------------------------------------------------------- */

static void long_queries_are_answered(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    char *text = calloc(1, 70000), *at = text;
    pages_add_some(s);
    for (int i = 0; i < 500; i++)
        at += sprintf(at, "%cword%d ", i ? '+' : ' ', i);
    assert_ok(tkl_search_query(s, tkl_str(text), NULL, &r));
    assert_int_equal(r->total, 0);
    tkl_search_result_free(r);
    memset(text, 'x', TKL_SEARCH_QUERY_MAX);
    text[TKL_SEARCH_QUERY_MAX] = 0;
    assert_ok(tkl_search_query(s, tkl_str(text), NULL, &r));
    assert_int_equal(r->total, 0);
    tkl_search_result_free(r);
    text[TKL_SEARCH_QUERY_MAX] = 'x';
    assert_code(tkl_search_query(s, tkl_str(text), NULL, &r), TKL_EINVAL);
    assert_code(tkl_search_query(s, tkl_str("a \"b"), NULL, &r), TKL_EINVAL);
    assert_code(tkl_search_query(s, tkl_str("votes:x"), NULL, &r), TKL_EINVAL);
    assert_null(r);
    free(text);
    tkl_search_close(s);
}

static void a_long_word_is_a_word(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    char *text = malloc(5001);
    memset(text, 'y', 5000);
    text[5000] = 0;
    pages_add(s, "long", text, 1, NULL);
    pages_check(s, text, 1, "long");
    text[4999] = 'z';
    pages_check(s, text, 0, "");
    free(text);
    tkl_search_close(s);
}

static void bad_documents_are_refused_by_name(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_value values[] = {{.field = tkl_str("votes"), .number = 1},
                                 {.field = tkl_str("votes"), .number = 2},
                                 {.field = tkl_str("nothing")}};
    tkl_search_doc docs[2] = {{.id = tkl_str("a")}, {.id = tkl_str("")}};
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "document 1");
    docs[1] = (tkl_search_doc){.id = tkl_str("b"), .values = values, .value_count = 2};
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "twice");
    docs[1].values = values + 2;
    docs[1].value_count = 1;
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "nothing");
    values[0].number = INFINITY;
    docs[1].values = values;
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    pages_check(s, "*", 0, "");
    assert_ok(tkl_search_add(s, NULL, 0, NULL));
    assert_ok(tkl_search_remove(s, NULL, 0, NULL));
    tkl_search_close(s);
}

static void another_schema_is_refused(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL), *other;
    tkl_search_schema schema = {.fields = pages_fields, .field_count = 1, .stem = "en"};
    assert_code(tkl_search_create(s, &schema), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "fields");
    schema.field_count = 2;
    schema.stem = NULL;
    assert_code(tkl_search_create(s, &schema), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "stem");
    schema.stem = "klingon";
    assert_code(tkl_search_create(s, &schema), TKL_EINVAL);
    assert_ok(tkl_search_open(f->client, tkl_str("other"), NULL, &other));
    tkl_search_result *r;
    assert_code(tkl_search_query(other, tkl_str("x"), NULL, &r), TKL_NOTFOUND);
    assert_code(tkl_search_drop(other), TKL_NOTFOUND);
    tkl_search_close(other);
    tkl_search_close(s);
}

static void a_handle_notices_another_index_of_its_name(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL), *other;
    tkl_search_result *r;
    pages_add_some(s);
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &other));
    assert_ok(tkl_search_drop(other));
    assert_int_equal(pages_keys(f), 0);
    assert_code(tkl_search_query(s, tkl_str("x"), NULL, &r), TKL_NOTFOUND);
    assert_ok(tkl_search_create(other, &(tkl_search_schema){.no_stop_words = true}));
    assert_ok(
        tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("1"), .text = tkl_str("the")}, 1, NULL));
    pages_check_page(s, "the", NULL, 1, "1");
    tkl_search_close(other);
    tkl_search_close(s);
}

static void keys_of_another_type_are_reported(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    tkl_search_result *r;
    pages_add_some(s);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages}:live", NULL));
    assert_ok(tkl_callz(f->client, NULL, "LPUSH", "tackle:search:{pages}:live", "x", NULL));
    assert_code(tkl_search_query(s, tkl_str("*"), NULL, &r), TKL_ETYPE);
    assert_code(tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("n")}, 1, NULL), TKL_ETYPE);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages}:live",
                        "tackle:search:{pages}:docs", NULL));
    assert_code(tkl_search_query(s, tkl_str("connect"), NULL, &r), TKL_EDAMAGED);
    tkl_search_close(s);
}

/* A bit far behind the others: an operation with such a bitmap would take the server a second. */
static void bitmaps_of_another_length_are_reported(void **state)
{
    static const char *const keys[] = {"tackle:search:{pages}:t:wcommon",
                                       "tackle:search:{pages}:live"};
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    tkl_search_result *r;
    for (int i = 0; i < 200; i++)
        pages_add_version(s, i, 0, i);
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_ok(tkl_callz(f->client, NULL, "SETBIT", keys[i], "4294967295", "1", NULL));
        assert_code(tkl_search_query(s, tkl_str("common -w3"), NULL, &r), TKL_EDAMAGED);
        assert_ok(tkl_callz(f->client, NULL, "DEL", keys[i], NULL));
    }
    assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:search:{pages}:common", "wcommon",
                        "99999999999999999999", NULL));
    assert_code(tkl_search_query(s, tkl_str("common"), NULL, &r), TKL_EDAMAGED);
    tkl_search_close(s);
}

static void numbers_of_documents_are_checked_before_anything_is_written(void **state)
{
    static const char *const numbers[] = {"junk", "-1", "4294967295", "99999999999999999999"};
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    tkl_search_doc doc = {.id = tkl_str("a"), .text = tkl_str("replaced")};
    tkl_search_info *info;
    pages_add_some(s);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        assert_ok(
            tkl_callz(f->client, NULL, "HSET", "tackle:search:{pages}:ids", "a", numbers[i], NULL));
        assert_code(tkl_search_add(s, &doc, 1, NULL), TKL_EDAMAGED);
        assert_code(tkl_search_remove(s, &doc.id, 1, NULL), TKL_EDAMAGED);
    }
    pages_check(s, "replaced", 0, "");
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->leftover, 0);
    tkl_search_info_free(info);
    tkl_search_close(s);
}

/* Members that are no numbers, or none that were given away. */
static void foreign_members_are_reported(void **state)
{
    static const char *const junk[] = {"junk", "-1", "1.5", "4294967000", ""};
    static const struct {
        const char *key, *query, *order;
    } cases[] = {
        {"tackle:search:{pages}:f:votes", "common", "votes"},
        {"tackle:search:{pages}:f:votes", "common", "-votes"},
        {"tackle:search:{pages}:f:votes", "common votes:>=-5", "votes"},
        {"tackle:search:{pages}:f:votes", "common -votes:>=3", "votes"},
        {"tackle:search:{pages}:f:votes", "v7 +votes:0", "votes"},
        {"tackle:search:{pages}:f:title", "common", "title"},
    };
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    for (int i = 0; i < 300; i++)
        pages_add_version(s, i, 0, i);
    int64_t keys = pages_keys(f);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t k = 0; k < COUNT(junk); k++) {
            tkl_search_result *r;
            assert_ok(tkl_callz(f->client, NULL, "ZADD", cases[i].key, "0", junk[k], NULL));
            int rc = tkl_search_query(
                s, tkl_str(cases[i].query),
                &(tkl_search_query_options){.order = tkl_str(cases[i].order), .offset = 200}, &r);
            if (rc != TKL_EDAMAGED && rc != TKL_OK)
                fail_msg("%s by %s with '%s': %s: %s", cases[i].query, cases[i].order, junk[k],
                         tkl_strerror(rc), tkl_errmsg());
            tkl_search_result_free(r);
            assert_ok(tkl_callz(f->client, NULL, "ZREM", cases[i].key, junk[k], NULL));
            assert_int_equal(pages_keys(f), keys);
        }
    tkl_search_close(s);
}

static void foreign_numbers_of_a_term_are_reported(void **state)
{
    static const char *const queries[] = {"rare common", "common -rare", "rare +common",
                                          "rare +v7",    "rare",         "* -rare"};
    static const char *const junk[] = {"junk", "-1", "4294967000"};
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    for (int i = 0; i < 300; i++)
        pages_add_version(s, i, 0, i);
    pages_add(s, "one", "rare", 1, NULL);
    for (size_t i = 0; i < COUNT(queries); i++)
        for (size_t k = 0; k < COUNT(junk); k++) {
            tkl_search_result *r;
            const char *key = "tackle:search:{pages}:t:wrare";
            assert_ok(tkl_callz(f->client, NULL, "SADD", key, junk[k], NULL));
            int rc = tkl_search_query(s, tkl_str(queries[i]), NULL, &r);
            if (rc != TKL_EDAMAGED && rc != TKL_OK)
                fail_msg("%s with '%s': %s: %s", queries[i], junk[k], tkl_strerror(rc),
                         tkl_errmsg());
            tkl_search_result_free(r);
            assert_ok(tkl_callz(f->client, NULL, "SREM", key, junk[k], NULL));
        }
    tkl_search_close(s);
}

static void counts_of_terms_are_checked_before_anything_is_written(void **state)
{
    static const char *const junk[] = {"junk", "", "1.5", "-3"};
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    tkl_search_result *r;
    tkl_search_doc doc = {.id = tkl_str("new"), .text = tkl_str("common fresh")};
    for (int i = 0; i < 200; i++)
        pages_add_version(s, i, 0, i);
    int64_t keys = pages_keys(f);
    for (size_t i = 0; i < COUNT(junk); i++) {
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:search:{pages}:common", "wcommon",
                            junk[i], NULL));
        assert_code(tkl_search_add(s, &doc, 1, NULL), TKL_EDAMAGED);
        assert_code(tkl_search_query(s, tkl_str("common"), NULL, &r), TKL_EDAMAGED);
        assert_int_equal(pages_leftover(s), 0);
        assert_int_equal(pages_keys(f), keys);
    }
    tkl_search_close(s);
}

static void a_lost_order_is_reported(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    tkl_search_result *r;
    for (int i = 0; i < 60; i++)
        pages_add_version(s, i, 0, i);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages}:f:votes", NULL));
    assert_code(tkl_search_query(s, tkl_str("common"),
                                 &(tkl_search_query_options){.order = tkl_str("-votes")}, &r),
                TKL_EDAMAGED);
    tkl_search_close(s);
}

static void a_full_server_still_answers(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    pages_add_some(s);
    assert_ok(tkl_callz(f->client, NULL, "CONFIG", "SET", "maxmemory", "1", NULL));
    assert_code(tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("n")}, 1, NULL), TKL_EOOM);
    pages_check(s, "connect -client", 2, "b a");
    assert_ok(tkl_callz(f->client, NULL, "CONFIG", "SET", "maxmemory", "0", NULL));
    assert_ok(tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("n")}, 1, NULL));
    pages_check(s, "*", 6, "d b a c n e");
    tkl_search_close(s);
}

/* Also where the first word is in most documents, and has a bitmap. */
static void removing_makes_room_on_a_full_server(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    int64_t removed;
    for (int i = 0; i < 200; i++)
        pages_add_version(s, i, 0, i);
    tkl_bytes ids[] = {tkl_str("doc1"), tkl_str("doc2")};
    assert_ok(tkl_callz(f->client, NULL, "CONFIG", "SET", "maxmemory", "1", NULL));
    assert_ok(tkl_search_remove(s, ids, 2, &removed));
    assert_int_equal(removed, 2);
    assert_int_equal(pages_leftover(s), 0);
    assert_ok(tkl_search_drop(s));
    assert_int_equal(pages_keys(f), 0);
    assert_ok(tkl_callz(f->client, NULL, "CONFIG", "SET", "maxmemory", "0", NULL));
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(long_queries_are_answered),
        TEST(a_long_word_is_a_word),
        TEST(bad_documents_are_refused_by_name),
        TEST(another_schema_is_refused),
        TEST(a_handle_notices_another_index_of_its_name),
        TEST(keys_of_another_type_are_reported),
        TEST(bitmaps_of_another_length_are_reported),
        TEST(numbers_of_documents_are_checked_before_anything_is_written),
        TEST(foreign_members_are_reported),
        TEST(foreign_numbers_of_a_term_are_reported),
        TEST(counts_of_terms_are_checked_before_anything_is_written),
        TEST(a_lost_order_is_reported),
        TEST(a_full_server_still_answers),
        TEST(removing_makes_room_on_a_full_server),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
