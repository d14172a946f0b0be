/* SPDX-License-Identifier: MIT
 *
 * Search: what is found, in which order, on which page; and what can go wrong.
 *
 * ctest: label threads
 */
#include <math.h>
#include <tackle/search.h>

#include "support/fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const tkl_search_field fields[] = {
    {.name = TKL_LIT("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC},
    {.name = TKL_LIT("title"), .kind = TKL_SEARCH_FIELD_TEXT},
};

static tkl_search *open_search(fixture *f, const tkl_search_schema *schema)
{
    tkl_search *s;
    tkl_search_schema plain = {.fields = fields, .field_count = COUNT(fields), .stem = "en"};
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &s));
    assert_ok(tkl_search_create(s, schema ? schema : &plain));
    return s;
}

/* Without votes if they are NaN, without a title if it is NULL. */
static void add(tkl_search *s, const char *id, const char *text, double votes, const char *title)
{
    tkl_search_value values[2];
    size_t count = 0;
    if (!isnan(votes))
        values[count++] = (tkl_search_value){.field = tkl_str("votes"), .number = votes};
    if (title)
        values[count++] = (tkl_search_value){.field = tkl_str("title"), .text = tkl_str(title)};
    assert_ok(tkl_search_add(
        s,
        &(tkl_search_doc){
            .id = tkl_str(id), .text = tkl_str(text), .values = values, .value_count = count},
        1, NULL));
}

/* The ids of a page, separated by spaces. */
static char *ids_of(const tkl_search_result *r)
{
    char *line = calloc(1, 65536);
    for (size_t i = 0; i < r->count; i++)
        sprintf(line + strlen(line), "%s" TKL_FMT, i ? " " : "", TKL_ARG(r->hits[i].id));
    return line;
}

static void check_page(tkl_search *s, const char *query, const tkl_search_query_options *options,
                       int64_t total, const char *ids)
{
    tkl_search_result *r;
    assert_ok(tkl_search_query(s, tkl_str(query), options, &r));
    char *line = ids_of(r);
    if (strcmp(line, ids) != 0 || r->total != total || !r->exact)
        fail_msg("%s: %s, total %d, exact %d; expected %s, total %d", query, line, (int)r->total,
                 r->exact, ids, (int)total);
    free(line);
    tkl_search_result_free(r);
}

/* By votes, most first. */
static void check(tkl_search *s, const char *query, int64_t total, const char *ids)
{
    check_page(s, query, &(tkl_search_query_options){.order = tkl_str("-votes")}, total, ids);
}

static void add_some(tkl_search *s)
{
    add(s, "a", "Connecting to the server", 5, "Connecting");
    add(s, "b", "The server's connection was lost", 7, "Lost");
    add(s, "c", "A client looks for a link", 1, "Clients");
    add(s, "d", "Servers and clients, connected by links", 9, "links");
    add(s, "e", "Nothing of that", NAN, NULL);
}

/* ---- Finding ------------------------------------------------------------- */

static void words_are_found(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    add_some(s);
    check(s, "connect", 3, "d b a");
    check(s, "connected servers", 3, "d b a");
    check(s, "client", 2, "d c");
    check(s, "connect +link", 4, "d b a c");
    check(s, "connect -client", 2, "b a");
    check(s, "unknown", 0, "");
    check(s, "the of", 0, "");
    check(s, "", 0, "");
    check(s, "-client", 0, "");
    check(s, "*", 5, "d b a c e");
    check(s, "* -client", 3, "b a e");
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_are_found),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
