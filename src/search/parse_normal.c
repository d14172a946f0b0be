/* SPDX-License-Identifier: MIT
 *
 * The normal form of a query: the same bytes for queries that mean the same, whatever the order,
 * case and repetition of their words. Items and groups get keys, are sorted by these, and kept
 * once; all keys together are the form. Lengths stand before bytes, so that no two trees share one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "search/parse.h"
#include "text/library.h"

static void write_bytes(tkl__buf *out, tkl_bytes bytes)
{
    tkl__buf_addf(out, "%zu:", bytes.len);
    tkl__buf_add(out, bytes.data, bytes.len);
}

/* Copies the written bytes into the memory of the query. */
static int keep_key(tkl__search_query *query, tkl__buf *out, tkl_bytes *key)
{
    *key = tkl__search_query_copy(query, (tkl_bytes){out->data, out->len});
    return out->failed || !key->data ? tkl__nomem() : TKL_OK;
}

/* ---- Items --------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const tkl__search_query_term *x = a, *y = b;
    int order = tkl__text_word_compare(&x->text, &y->text);
    return order ? order : x->prefix - y->prefix;
}

static void tidy_terms(tkl__search_query_item *item)
{
    size_t kept = 0;
    if (item->kind != TKL__QUERY_WORDS)
        return;
    qsort(item->terms, item->count, sizeof *item->terms, by_text);
    for (size_t i = 0; i < item->count; i++)
        if (!kept || by_text(&item->terms[kept - 1], &item->terms[i]) != 0)
            item->terms[kept++] = item->terms[i];
    item->count = kept;
}

static void write_terms(const tkl__search_query_item *item, tkl__buf *out)
{
    tkl__buf_addf(out, "%c%zu ", item->kind == TKL__QUERY_PHRASE ? 'p' : 'w', item->count);
    for (size_t i = 0; i < item->count; i++) {
        const tkl__search_query_term *term = &item->terms[i];
        tkl__buf_addf(out, "%s%" PRIu32 " ", term->prefix ? "*" : "", term->at);
        write_bytes(out, term->text);
    }
}

static void write_range(const tkl__search_query_item *item, tkl__buf *out)
{
    char low[TKL__DOUBLE_SIZE], high[TKL__DOUBLE_SIZE];
    tkl__buf_addf(out, "%c%s %s%c", item->low_open ? '(' : '[', tkl__double_text(item->low, low),
                  tkl__double_text(item->high, high), item->high_open ? ')' : ']');
}

static void write_item(const tkl__search_query_item *item, const tkl__search_query_rules *rules,
                       tkl__buf *out)
{
    if (item->kind == TKL__QUERY_WORDS || item->kind == TKL__QUERY_PHRASE) {
        write_terms(item, out);
        return;
    }
    tkl__buf_addz(out, "f");
    write_bytes(out, rules->fields[item->field].name);
    if (item->kind == TKL__QUERY_RANGE) {
        write_range(item, out);
    } else {
        tkl__buf_addz(out, item->prefix ? "*" : "=");
        write_bytes(out, item->value);
    }
}

static int key_item(tkl__search_query *query, const tkl__search_query_rules *rules,
                    tkl__search_query_item *item)
{
    tkl__buf out;
    tkl__buf_init(&out);
    tidy_terms(item);
    write_item(item, rules, &out);
    int rc = keep_key(query, &out, &item->key);
    tkl__buf_free(&out);
    return rc;
}

static int by_item(const void *a, const void *b)
{
    const tkl__search_query_item *x = a, *y = b;
    return tkl__text_word_compare(&x->key, &y->key);
}

static int tidy_items(tkl__search_query *query, const tkl__search_query_rules *rules,
                      tkl__search_query_item *items, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        int rc = key_item(query, rules, &items[i]);
        if (rc != TKL_OK)
            return rc;
    }
    if (*count)
        qsort(items, *count, sizeof *items, by_item);
    for (size_t i = 0; i < *count; i++)
        if (!kept || by_item(&items[kept - 1], &items[i]) != 0)
            items[kept++] = items[i];
    *count = kept;
    return TKL_OK;
}

/* ---- Groups -------------------------------------------------------------- */

static bool is_several_words(const tkl__search_query_group *group)
{
    return group->count == 1 && group->items->kind == TKL__QUERY_WORDS && group->items->count > 1;
}

/* Splits a group of one item with several words into a group for each word. */
static int split_group(tkl__search_query *query, const tkl__search_query_group *group,
                       tkl__search_query_group *parts)
{
    const tkl__search_query_item *whole = group->items;
    for (size_t i = 0; i < whole->count; i++) {
        tkl__search_query_item *item = tkl__search_query_alloc(query, sizeof *item);
        if (!item)
            return tkl__nomem();
        *item = (tkl__search_query_item){
            .kind = TKL__QUERY_WORDS, .terms = &whole->terms[i], .count = 1};
        parts[i] = (tkl__search_query_group){.items = item, .count = 1};
    }
    return TKL_OK;
}

/* Drops groups that had only stop words, and splits groups whose words may be apart. */
static int split_groups(tkl__search_query *query)
{
    size_t total = 0, count = 0;
    for (size_t i = 0; i < query->wanted_count; i++)
        total += is_several_words(&query->wanted[i]) ? query->wanted[i].items->count : 1;
    tkl__search_query_group *groups = tkl__search_query_alloc(query, (total + 1) * sizeof *groups);
    if (!groups)
        return tkl__nomem();
    for (size_t i = 0; i < query->wanted_count; i++) {
        const tkl__search_query_group *group = &query->wanted[i];
        if (is_several_words(group)) {
            int rc = split_group(query, group, &groups[count]);
            if (rc != TKL_OK)
                return rc;
            count += group->items->count;
        } else if (group->count) {
            groups[count++] = *group;
        }
    }
    query->wanted = groups;
    query->wanted_count = count;
    return TKL_OK;
}

static bool is_lone_range(const tkl__search_query_group *group)
{
    return group->count == 1 && group->items->kind == TKL__QUERY_RANGE;
}

/* Narrows `range` to the intersection of both ranges. */
static void narrow(tkl__search_query_item *range, const tkl__search_query_item *other)
{
    if (other->low > range->low || (other->low == range->low && other->low_open)) {
        range->low = other->low;
        range->low_open = other->low_open;
    }
    if (other->high < range->high || (other->high == range->high && other->high_open)) {
        range->high = other->high;
        range->high_open = other->high_open;
    }
}

static bool is_empty_range(const tkl__search_query_item *range)
{
    return range->low > range->high ||
           (range->low == range->high && (range->low_open || range->high_open));
}

/* The range of this field among the first `count` groups; NULL: none. */
static tkl__search_query_item *range_of_field(const tkl__search_query *query, size_t count,
                                              size_t field)
{
    for (size_t i = 0; i < count; i++)
        if (is_lone_range(&query->wanted[i]) && query->wanted[i].items->field == field)
            return query->wanted[i].items;
    return NULL;
}

/* Joins the wanted ranges of one field into one: "votes:>1 votes:<5". False: the joined range is
 * empty. */
static bool join_ranges(tkl__search_query *query)
{
    size_t kept = 0;
    bool possible = true;
    for (size_t i = 0; i < query->wanted_count; i++) {
        tkl__search_query_group *group = &query->wanted[i];
        tkl__search_query_item *range = NULL;
        if (is_lone_range(group))
            range = range_of_field(query, kept, group->items->field);
        if (range)
            narrow(range, group->items);
        else
            query->wanted[kept++] = *group;
        possible = possible && !(range && is_empty_range(range));
    }
    query->wanted_count = kept;
    return possible;
}

static int key_group(tkl__search_query *query, const tkl__search_query_rules *rules,
                     tkl__search_query_group *group)
{
    tkl__buf out;
    int rc = tidy_items(query, rules, group->items, &group->count);
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&out);
    tkl__buf_addf(&out, "g%zu ", group->count);
    for (size_t i = 0; i < group->count; i++)
        tkl__buf_add(&out, group->items[i].key.data, group->items[i].key.len);
    rc = keep_key(query, &out, &group->key);
    tkl__buf_free(&out);
    return rc;
}

static int by_group(const void *a, const void *b)
{
    const tkl__search_query_group *x = a, *y = b;
    return tkl__text_word_compare(&x->key, &y->key);
}

static int tidy_groups(tkl__search_query *query, const tkl__search_query_rules *rules)
{
    size_t kept = 0;
    for (size_t i = 0; i < query->wanted_count; i++) {
        int rc = key_group(query, rules, &query->wanted[i]);
        if (rc != TKL_OK)
            return rc;
    }
    qsort(query->wanted, query->wanted_count, sizeof *query->wanted, by_group);
    for (size_t i = 0; i < query->wanted_count; i++)
        if (!kept || by_group(&query->wanted[kept - 1], &query->wanted[i]) != 0)
            query->wanted[kept++] = query->wanted[i];
    query->wanted_count = kept;
    return TKL_OK;
}

/* ---- The query ----------------------------------------------------------- */

static int write_query(tkl__search_query *query)
{
    tkl__buf out;
    tkl__buf_init(&out);
    tkl__buf_addz(&out, query->all ? "*" : query->nothing ? "0" : "");
    for (size_t i = 0; i < query->wanted_count; i++)
        tkl__buf_add(&out, query->wanted[i].key.data, query->wanted[i].key.len);
    for (size_t i = 0; i < query->excluded_count; i++) {
        tkl__buf_addz(&out, "-");
        tkl__buf_add(&out, query->excluded[i].key.data, query->excluded[i].key.len);
    }
    int rc = keep_key(query, &out, &query->normal);
    tkl__buf_free(&out);
    return rc;
}

int tkl__search_query_normalize(tkl__search_query *query, const tkl__search_query_rules *rules)
{
    int rc = split_groups(query);
    if (rc == TKL_OK && !join_ranges(query)) {
        query->wanted_count = 0;
        query->all = false;
    }
    if (rc == TKL_OK)
        rc = tidy_groups(query, rules);
    if (rc == TKL_OK)
        rc = tidy_items(query, rules, query->excluded, &query->excluded_count);
    if (rc != TKL_OK)
        return rc;
    if (query->wanted_count)
        query->all = false;
    query->nothing = !query->wanted_count && !query->all;
    if (query->nothing)
        query->excluded_count = 0;
    return write_query(query);
}
