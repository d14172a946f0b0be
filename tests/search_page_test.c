/* SPDX-License-Identifier: MIT
 *
 * Search: relevance worked out by hand, pages of an index that changes, ids and texts of any bytes.
 */
#include <math.h>
#include <tackle/search.h>

#include "support/fixture.h"

static tkl_search *open_search(fixture *f)
{
    static const tkl_search_field votes = {.name = TKL_LIT("votes"),
                                           .kind = TKL_SEARCH_FIELD_NUMERIC};
    tkl_search *s;
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &s));
    assert_ok(tkl_search_create(s, &(tkl_search_schema){.fields = &votes, .field_count = 1}));
    return s;
}

static void add(tkl_search *s, tkl_bytes id, tkl_bytes text, double votes)
{
    tkl_search_value value = {.field = tkl_str("votes"), .number = votes};
    tkl_search_doc doc = {.id = id, .text = text, .values = &value, .value_count = 1};
    assert_ok(tkl_search_add(s, &doc, 1, NULL));
}

static tkl_search_result *query(tkl_search *s, const char *text, const char *order, int64_t offset,
                                int64_t count)
{
    tkl_search_result *r;
    tkl_search_query_options options = {
        .order = tkl_str(order), .offset = offset, .count = count, .texts = true};
    assert_ok(tkl_search_query(s, tkl_str(text), &options, &r));
    return r;
}

/* ---- Relevance ----------------------------------------------------------- */

/* BM25 with k1 = 1.2 and b = 0.75. */
static double bm25(double documents, double with, double times, double length, double mean)
{
    double rarity = log(1 + (documents - with + 0.5) / (with + 0.5));
    return rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean));
}

static void relevance_is_bm25(void **state)
{
    tkl_search *s = open_search(*state);
    add(s, tkl_str("a"), tkl_str("lock lock server"), 0);
    add(s, tkl_str("b"), tkl_str("server client"), 0);
    add(s, tkl_str("c"), tkl_str("server lock client queue"), 0);
    tkl_search_result *r = query(s, "lock", "", 0, 10);
    assert_int_equal(r->count, 2);
    assert_true(fabs(r->hits[0].score - bm25(3, 2, 2, 3, 3)) < 1e-12);
    assert_true(fabs(r->hits[1].score - bm25(3, 2, 1, 4, 3)) < 1e-12);
    tkl_search_result_free(r);
    r = query(s, "client lock", "", 0, 10);
    assert_int_equal(r->count, 1);
    assert_true(fabs(r->hits[0].score - 2 * bm25(3, 2, 1, 4, 3)) < 1e-12);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

/* ---- Pages --------------------------------------------------------------- */

/* A page is of the index as it is when it is asked for. */
static void a_page_is_of_the_index_as_it_is(void **state)
{
    static const char *const ids[] = {"a", "b", "c", "d"};
    tkl_search *s = open_search(*state);
    for (int i = 0; i < 4; i++)
        add(s, tkl_str(ids[i]), tkl_str("page"), i);
    tkl_search_result *first = query(s, "page", "votes", 0, 2);
    assert_int_equal(first->total, 4);
    assert_ok(tkl_search_remove(s, &(tkl_bytes)TKL_LIT("a"), 1, NULL));
    tkl_search_result *second = query(s, "page", "votes", 2, 2);
    assert_int_equal(second->total, 3);
    assert_int_equal(second->count, 1);
    assert_memory_equal(second->hits[0].id.data, "d", 1);
    assert_memory_equal(first->hits[1].id.data, "b", 1); /* results are copies */
    tkl_search_result_free(first);
    tkl_search_result_free(second);
    tkl_search_close(s);
}

/* ---- Bytes --------------------------------------------------------------- */

/* Documents that are all equally good. */
static void pages_of_several_shards_do_not_overlap(void **state)
{
    enum { ALL = 6000, PAGE = 750 };
    static char ids[ALL][16];
    static bool seen[ALL];
    static tkl_search_doc docs[ALL];
    fixture *f = *state;
    tkl_search *s;
    assert_ok(tkl_search_open(f->client, tkl_str("spread"), NULL, &s));
    assert_ok(tkl_search_create(s, &(tkl_search_schema){.shards = 3}));
    for (int i = 0; i < ALL; i++) {
        sprintf(ids[i], "%d", i);
        docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]),
                                   .text = tkl_str(i * 7919 % 13 < 6 ? "page" : "absent")};
    }
    assert_ok(tkl_search_add(s, docs, ALL, NULL));
    int count = 0, total = 0;
    for (int offset = 0; offset < ALL; offset += PAGE) {
        tkl_search_result *r = query(s, "* -absent", "", offset, PAGE);
        assert_true(r->exact);
        total = (int)r->total;
        for (size_t i = 0; i < r->count; i++, count++) {
            long doc = strtol(r->hits[i].id.data, NULL, 10);
            assert_false(seen[doc]);
            seen[doc] = true;
        }
        tkl_search_result_free(r);
    }
    assert_int_equal(count, total);
    tkl_search_close(s);
}

static void ids_and_texts_are_any_bytes(void **state)
{
    static const tkl_bytes ids[] = {TKL_LIT("\0"), TKL_LIT("{x}\xff\r\n"), TKL_LIT("{x}\xff\r\n ")};
    static const tkl_bytes text = TKL_LIT("some\0words\xff\xfe"
                                          "here");
    tkl_search *s = open_search(*state);
    for (int i = 0; i < 3; i++)
        add(s, ids[i], text, i);
    tkl_search_result *r = query(s, "words here", "votes", 0, 10);
    assert_int_equal(r->total, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r->hits[i].id.len, ids[i].len);
        assert_memory_equal(r->hits[i].id.data, ids[i].data, ids[i].len);
        assert_int_equal(r->hits[i].text.len, text.len);
        assert_memory_equal(r->hits[i].text.data, text.data, text.len);
    }
    tkl_search_result_free(r);
    int64_t removed;
    assert_ok(tkl_search_remove(s, ids, 2, &removed));
    assert_int_equal(removed, 2);
    r = query(s, "words", "votes", 0, 10);
    assert_int_equal(r->total, 1);
    assert_int_equal(r->hits[0].id.len, ids[2].len);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(relevance_is_bm25),
        TEST(a_page_is_of_the_index_as_it_is),
        TEST(pages_of_several_shards_do_not_overlap),
        TEST(ids_and_texts_are_any_bytes),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
