/* SPDX-License-Identifier: MIT */
#include "support/pages.h"

#include <math.h>

const tkl_search_field pages_fields[2] = {
    {.name = TKL_LIT("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC},
    {.name = TKL_LIT("title"), .kind = TKL_SEARCH_FIELD_TEXT},
};

tkl_search *pages_open(fixture *f, const tkl_search_schema *schema)
{
    tkl_search *s;
    tkl_search_schema plain = {.fields = pages_fields, .field_count = 2, .stem = "en"};
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &s));
    assert_ok(tkl_search_create(s, schema ? schema : &plain));
    return s;
}

void pages_add(tkl_search *s, const char *id, const char *text, double votes, const char *title)
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

void pages_check_page(tkl_search *s, const char *query, const tkl_search_query_options *options,
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

void pages_check(tkl_search *s, const char *query, int64_t total, const char *ids)
{
    pages_check_page(s, query, &(tkl_search_query_options){.order = tkl_str("-votes")}, total, ids);
}

void pages_add_some(tkl_search *s)
{
    pages_add(s, "a", "Connecting to the server", 5, "Connecting");
    pages_add(s, "b", "The server's connection was lost", 7, "Lost");
    pages_add(s, "c", "A client looks for a link", 1, "Clients");
    pages_add(s, "d", "Servers and clients, connected by links", 9, "links");
    pages_add(s, "e", "Nothing of that", NAN, NULL);
}

void pages_add_version(tkl_search *s, int doc, int writer, int round)
{
    char id[16], text[64];
    sprintf(id, "doc%d", doc);
    sprintf(text, "common w%d v%d w%dv%d", writer, round, writer, round);
    pages_add(s, id, text, writer * 1000 + round, NULL);
}

void pages_check_bytes(tkl_bytes bytes, const char *expected)
{
    if (bytes.len != strlen(expected) ||
        (bytes.len > 0 && memcmp(bytes.data, expected, bytes.len) != 0))
        fail_msg("'" TKL_FMT "', not '%s'", TKL_ARG(bytes), expected);
}

int64_t pages_count(tkl_search *s, const char *query)
{
    tkl_search_result *r;
    assert_ok(tkl_search_query(s, tkl_str(query), NULL, &r));
    assert_true(r->exact);
    int64_t total = r->total;
    tkl_search_result_free(r);
    return total;
}

int64_t pages_leftover(tkl_search *s)
{
    tkl_search_info *info;
    assert_ok(tkl_search_show(s, &info));
    int64_t leftover = info->leftover;
    tkl_search_info_free(info);
    return leftover;
}

int64_t pages_keys(fixture *f)
{
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, "DBSIZE", NULL));
    int64_t count = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return count;
}
