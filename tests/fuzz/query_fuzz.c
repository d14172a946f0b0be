/* SPDX-License-Identifier: MIT
 *
 * Any text as a query: refused with a reason, or a tree within its bounds whose normal form does
 * not change when the query is written twice. The first byte chooses the index. The query is also
 * the text in which its own matches are marked: with no marks at all, that text is unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "search/highlight.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_item(const tkl__search_query_item *item)
{
    bool words = item->kind == TKL__QUERY_WORDS || item->kind == TKL__QUERY_PHRASE;
    require(words == (item->count > 0));
    require(item->kind != TKL__QUERY_PHRASE || item->count > 1);
    require(item->kind != TKL__QUERY_RANGE || item->low <= item->high);
    for (size_t i = 0; i < item->count; i++)
        require(item->terms[i].text.len > 0);
}

static void check(const tkl__search_query *query)
{
    require(query->nothing == (!query->wanted_count && !query->all));
    require(!query->nothing || !query->excluded_count);
    require(query->wanted_count + query->excluded_count <= TKL__QUERY_TERMS_MAX);
    for (size_t i = 0; i < query->wanted_count; i++) {
        const tkl__search_query_group *group = &query->wanted[i];
        require(group->count > 0);
        for (size_t j = 0; j < group->count; j++)
            check_item(&group->items[j]);
    }
    for (size_t i = 0; i < query->excluded_count; i++)
        check_item(&query->excluded[i]);
}

/* Checks that "q q" means the same as "q", unless it is too long. Queries with OR, AND and NOT are
 * left out, since these words belong to their neighbours. */
static void check_twice(tkl_bytes text, const tkl__search_query_rules *rules,
                        const tkl__search_query *query)
{
    tkl__search_query twice;
    char *copy = malloc(2 * text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = ' ';
    memcpy(copy + text.len + 1, text.data, text.len);
    if (tkl__search_query_parse((tkl_bytes){copy, 2 * text.len + 1}, rules, &twice) == TKL_OK) {
        bool has_operators = twice.understood.len > 0 || memchr(copy, '+', text.len);
        if (!has_operators && !memchr(copy, ':', text.len)) {
            require(twice.normal.len == query->normal.len);
            require(memcmp(twice.normal.data, query->normal.data, twice.normal.len) == 0);
        }
        tkl__search_query_free(&twice);
    }
    free(copy);
}

static void check_marks(tkl_bytes text, const tkl__search_query_rules *rules, size_t length)
{
    tkl__search_query query;
    tkl__buf out;
    size_t count;
    tkl__search_highlight_options options = {.length = length, .html = length % 2};
    if (tkl__search_highlight_query(text, rules, &query) != TKL_OK)
        return;
    tkl__buf_init(&out);
    require(tkl__search_highlight(text, &query, rules, &options, &out, &count) == TKL_OK);
    if (!length)
        require(out.len == text.len && memcmp(out.data, text.data, out.len) == 0);
    tkl__buf_free(&out);
    tkl__search_query_free(&query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tkl__search_query_field fields[] = {{TKL_LIT("n"), true}, {TKL_LIT("t"), false}};
    unsigned how = size ? data[0] : 0;
    tkl__text_word_options words = {
        .fold = how & 3, .bigrams = how & 4, .stem = how & 8 ? "en" : NULL};
    tkl__search_query_rules rules = {.fields = fields,
                                     .field_count = 2,
                                     .words = how & 16 ? NULL : &words,
                                     .positions = how & 32,
                                     .cut = how & 64};
    tkl_bytes text = {(const char *)data + (size > 0), size - (size > 0)};
    tkl__search_query query;
    if (tkl__search_query_parse(text, &rules, &query) == TKL_OK) {
        check(&query);
        if (text.len)
            check_twice(text, &rules, &query);
        check_marks(text, &rules, how >> 3);
        tkl__search_query_free(&query);
    } else {
        require(tkl_errmsg()[0]);
    }
    return 0;
}
