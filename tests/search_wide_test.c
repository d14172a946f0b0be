/* SPDX-License-Identifier: MIT
 *
 * Search: queries with many words, which are answered in steps.
 */
#include "support/pages.h"

/* Each word of a hundred is in 80 documents: 50 of them are more work than one script may do. */
enum { WORDS = 100, OF_EACH = 80, DOCUMENTS = WORDS * OF_EACH };

static tkl_search *open_many(fixture *f)
{
    static tkl_search_doc docs[DOCUMENTS];
    static tkl_search_value values[DOCUMENTS];
    static char ids[DOCUMENTS][16], texts[DOCUMENTS][32];
    tkl_search *s = pages_open(f, NULL);
    for (int i = 0; i < DOCUMENTS; i++) {
        sprintf(ids[i], "%d", i);
        sprintf(texts[i], "page word%d %s", i % WORDS, i % 2 ? "odd" : "even");
        values[i] = (tkl_search_value){.field = tkl_str("votes"), .number = i};
        docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]),
                                   .text = tkl_str(texts[i]),
                                   .values = &values[i],
                                   .value_count = 1};
    }
    assert_ok(tkl_search_add(s, docs, DOCUMENTS, NULL));
    return s;
}

/* `before`, and `count` words with this sign from word number `from` on. */
static char *many(const char *before, char sign, int from, int count)
{
    char *text = malloc(64 + 16 * (size_t)count), *at = text + sprintf(text, "%s", before);
    for (int i = from; i < from + count; i++)
        at += sprintf(at, " %cword%d", sign, i);
    return text;
}

/* Compares all orders; frees the query. */
static void check_count(tkl_search *s, char *query, int64_t count)
{
    tkl_search_result *r;
    assert_int_equal(pages_count(s, query), count);
    assert_ok(tkl_search_query(s, tkl_str(query),
                               &(tkl_search_query_options){.order = tkl_str("-votes")}, &r));
    assert_true(r->exact);
    assert_int_equal(r->total, count);
    assert_int_equal(r->count, count < 10 ? count : 10);
    for (size_t i = 1; i < r->count; i++)
        assert_true(r->hits[i - 1].values[0].number > r->hits[i].values[0].number);
    tkl_search_result_free(r);
    free(query);
}

static bool has_key(fixture *f, const char *pattern)
{
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, "KEYS", pattern, NULL));
    bool has = tkl_reply_count(reply) > 0;
    tkl_reply_free(reply);
    return has;
}

static void many_words_are_excluded(void **state)
{
    tkl_search *s = open_many(*state);
    check_count(s, many("page", '-', 0, 90), 10 * OF_EACH);
    assert_true(has_key(*state, "tackle:search:{pages}:union:*"));
    check_count(s, many("* -even", '-', 0, 90), 5 * OF_EACH);
    check_count(s, many("word95", '-', 0, 90), OF_EACH);
    check_count(s, many("word5", '-', 0, 90), 0);
    check_count(s, many("page votes:>=4000 -page-odd", '-', 0, 90), 5 * OF_EACH / 2);
    assert_false(has_key(*state, "tackle:search:{pages}:scratch*"));
    tkl_search_close(s);
}

static void many_synonyms_are_found(void **state)
{
    tkl_search *s = open_many(*state);
    check_count(s, many("word0", '+', 1, 89), 90 * OF_EACH);
    assert_true(has_key(*state, "tackle:search:{pages}:union:*"));
    check_count(s, many("even word0", '+', 1, 89), 45 * OF_EACH);
    check_count(s, strdup("word*"), DOCUMENTS);
    check_count(s, strdup("odd word1*"), 6 * OF_EACH); /* 1, 11, 13 ... 19 */
    check_count(s, strdup("page -word*"), 0);
    check_count(s, many("votes:<80 +word*", '-', 0, 90), 10 * OF_EACH);
    tkl_search_close(s);
}

/* A result that was kept for one state of the index is not used for the next. */
static void a_union_is_of_one_version(void **state)
{
    tkl_search *s = open_many(*state);
    check_count(s, many("page", '-', 0, 90), 10 * OF_EACH);
    pages_add(s, "3", "page word95", 1, NULL);
    check_count(s, many("page", '-', 0, 90), 10 * OF_EACH + 1);
    assert_ok(tkl_search_remove(s, &(tkl_bytes)TKL_LIT("95"), 1, NULL));
    check_count(s, many("page", '-', 0, 90), 10 * OF_EACH);
    tkl_search_close(s);
}

static void facets_of_many_words(void **state)
{
    tkl_search *s = open_many(*state);
    tkl_bytes title = TKL_LIT("title");
    tkl_search_result *r;
    char *query = many("page", '-', 0, 90);
    pages_add(s, "3", "page word95", 1, "Three");
    assert_ok(tkl_search_query(
        s, tkl_str(query), &(tkl_search_query_options){.facets = &title, .facet_count = 1}, &r));
    assert_int_equal(r->total, 10 * OF_EACH + 1);
    assert_int_equal(r->facets[0].counts[0].count, 1);
    assert_int_equal(r->facets[0].missing, 10 * OF_EACH);
    tkl_search_result_free(r);
    free(query);
    tkl_search_close(s);
}

/* Documents with many words: those that match do not fit into one reply. */
/* The best by relevance are found without a look at all hits: more than may be compared. */
static void the_best_of_many_are_found(void **state)
{
    enum { MANY = 2000 };
    static tkl_search_doc docs[MANY];
    static char ids[MANY][16], texts[MANY][512];
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    for (int i = 0; i < MANY; i++) {
        char *at = texts[i] + sprintf(texts[i], "common ");
        sprintf(ids[i], "%d", i);
        for (int k = 0; k < 4 + i % 50; k++)
            at += sprintf(at, "w%d ", k);
        if (i >= MANY - 10) /* the later, the better */
            for (int k = MANY - i; k <= 10; k++)
                at += sprintf(at, "common ");
        docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]), .text = tkl_str(texts[i])};
    }
    assert_ok(tkl_search_add(s, docs, MANY, NULL));
    tkl_search_query_options options = {.count = 1, .compare_max = 300};
    assert_ok(tkl_search_query(s, tkl_str("common"), &options, &r));
    assert_int_equal(r->total, MANY);
    assert_int_equal(r->compared, MANY);
    assert_true(r->exact);
    assert_memory_equal(r->hits[0].id.data, "1999", 4);
    tkl_search_result_free(r);
    assert_ok(tkl_search_query(s, tkl_str("common -w6"), &options, &r));
    assert_int_equal(r->compared, r->total);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

static void long_documents_are_compared_in_steps(void **state)
{
    enum { LONG = 120 };
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    char *text = malloc(20000), id[16];
    for (int i = 0; i < LONG; i++) {
        char *at = text + sprintf(text, "long %s ", i % 3 ? "other" : "third third");
        for (int k = 0; k < 1500; k++)
            at += sprintf(at, "some%d ", k);
        sprintf(id, "%d", i);
        pages_add(s, id, text, i, NULL);
    }
    assert_ok(
        tkl_search_query(s, tkl_str("long third"), &(tkl_search_query_options){.count = LONG}, &r));
    assert_true(r->exact);
    assert_int_equal(r->total, LONG / 3);
    assert_int_equal(r->count, LONG / 3);
    tkl_search_result_free(r);
    assert_ok(tkl_search_query(s, tkl_str("long"), &(tkl_search_query_options){.count = LONG}, &r));
    assert_int_equal(r->total, LONG);
    assert_int_equal(r->count, LONG);
    assert_int_equal(r->compared, LONG);
    tkl_search_result_free(r);
    free(text);
    tkl_search_close(s);
}

/* One letter may stand for more words than a query can have: the most frequent ones are taken. */
static void a_prefix_of_any_size_works(void **state)
{
    enum { RARE = 1200, OFTEN = 200 };
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    char *text = malloc(16 * RARE), *at = text, id[16];
    for (int i = 0; i < RARE; i++)
        at += sprintf(at, "xrare%d ", i);
    pages_add(s, "rare", text, 1, NULL);
    for (int i = 0; i < OFTEN; i++) {
        sprintf(id, "%d", i);
        pages_add(s, id, i % 2 ? "xzoften" : "xzoften yes", i, "some");
    }
    assert_ok(tkl_search_query(s, tkl_str("x*"), NULL, &r));
    assert_false(r->exact);
    assert_int_equal(r->total, OFTEN + 1);
    tkl_search_result_free(r);
    assert_ok(tkl_search_query(s, tkl_str("xr* yes +xz*"), NULL, &r));
    assert_int_equal(r->total, 0);
    tkl_search_result_free(r);
    assert_ok(tkl_search_query(s, tkl_str("x* yes title:*"), NULL, &r));
    assert_int_equal(r->total, OFTEN / 2);
    tkl_search_result_free(r);
    assert_ok(tkl_search_query(s, tkl_str("xrare1* xz*"), NULL, &r));
    assert_true(r->exact);
    assert_int_equal(r->total, 0);
    tkl_search_result_free(r);
    assert_ok(tkl_search_query(s, tkl_str("* -x*"), NULL, &r));
    assert_int_equal(r->total, 0);
    tkl_search_result_free(r);
    free(text);
    tkl_search_close(s);
}

/* A field with more values than a prefix can stand for. */
static void any_value_of_a_field_is_found(void **state)
{
    enum { VALUES = 700 };
    tkl_search *s = pages_open(*state, NULL);
    char id[16], title[16];
    for (int i = 0; i < VALUES; i++) {
        sprintf(id, "%d", i);
        sprintf(title, "t%d", i);
        pages_add(s, id, "page", i, i % 7 ? title : NULL);
    }
    assert_int_equal(pages_count(s, "title:*"), VALUES - VALUES / 7);
    assert_int_equal(pages_count(s, "page -title:*"), VALUES / 7);
    assert_int_equal(pages_count(s, "NOT title:*"), VALUES / 7);
    pages_add(s, "1", "page", 1, NULL); /* replaced by one without a title */
    assert_int_equal(pages_count(s, "title:*"), VALUES - VALUES / 7 - 1);
    tkl_search_close(s);
}

static void too_much_is_refused_by_name(void **state)
{
    tkl_search *s = open_many(*state);
    tkl_search_result *r;
    char *text = calloc(1, 20000), *at = text;
    for (int i = 0; i < 65; i++)
        at += sprintf(at, "votes:%d..%d ", i, 8000 - i);
    assert_code(tkl_search_query(s, tkl_str(text), NULL, &r), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "more than 64 ranges");
    *strrchr(text, 'v') = 0;
    assert_int_equal(pages_count(s, text), 8000 - 2 * 63 + 1);
    free(text);
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_words_are_excluded),       TEST(many_synonyms_are_found),
        TEST(a_union_is_of_one_version),     TEST(facets_of_many_words),
        TEST(the_best_of_many_are_found),    TEST(long_documents_are_compared_in_steps),
        TEST(too_much_is_refused_by_name),   TEST(a_prefix_of_any_size_works),
        TEST(any_value_of_a_field_is_found),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
