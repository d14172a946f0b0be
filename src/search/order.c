/* SPDX-License-Identifier: MIT */
#include "search/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "text/library.h"

/* ---- Parsing ------------------------------------------------------------- */

static int no_field(tkl_bytes text, size_t at, tkl_bytes name)
{
    return tkl__fail(TKL_EINVAL,
                     "order '" TKL_FMT "', byte %zu: the index has no field '" TKL_FMT "'",
                     TKL_ARG(text), at, TKL_ARG(name));
}

static int parse_field(tkl_bytes text, const tkl__search_schema *schema, tkl__search_order *order)
{
    order->kind = TKL__SEARCH_BY_FIELD;
    order->down = text.data[0] == '-';
    tkl_bytes name = {text.data + order->down, text.len - order->down};
    int field = tkl__search_field_of(schema, name);
    if (field < 0)
        return no_field(text, order->down, name);
    order->field = (size_t)field;
    return TKL_OK;
}

/* Parses one "field=weight" that begins at byte `at`. */
static int parse_weight(tkl_bytes text, size_t at, tkl_bytes part, const tkl__search_schema *schema,
                        tkl__search_order *order)
{
    const char *equals = memchr(part.data, '=', part.len);
    if (!equals)
        return tkl__fail(TKL_EINVAL, "order '" TKL_FMT "', byte %zu: field=weight expected",
                         TKL_ARG(text), at);
    tkl_bytes name = {part.data, (size_t)(equals - part.data)};
    tkl_bytes number = {equals + 1, part.len - name.len - 1};
    int field = tkl__search_field_of(schema, name);
    double weight;
    if (field < 0)
        return no_field(text, at, name);
    if (!schema->fields[field].numeric)
        return tkl__fail(TKL_EINVAL,
                         "order '" TKL_FMT "', byte %zu: field '" TKL_FMT "' is not numeric",
                         TKL_ARG(text), at, TKL_ARG(name));
    if (!tkl__double_parse(number, &weight) || !isfinite(weight))
        return tkl__fail(TKL_EINVAL, "order '" TKL_FMT "', byte %zu: not a number: '" TKL_FMT "'",
                         TKL_ARG(text), at + name.len + 1, TKL_ARG(number));
    for (size_t i = 0; i < order->weight_count; i++)
        if (order->weight_fields[i] == (size_t)field)
            return tkl__fail(TKL_EINVAL,
                             "order '" TKL_FMT "', byte %zu: field '" TKL_FMT "' is there twice",
                             TKL_ARG(text), at, TKL_ARG(name));
    order->weight_fields[order->weight_count] = (size_t)field;
    order->weights[order->weight_count++] = weight;
    return TKL_OK;
}

static int parse_weights(tkl_bytes text, const tkl__search_schema *schema, tkl__search_order *order)
{
    int rc = TKL_OK;
    order->kind = TKL__SEARCH_BY_WEIGHTS;
    for (size_t at = 0; rc == TKL_OK && at <= text.len;) {
        const char *comma = at < text.len ? memchr(text.data + at, ',', text.len - at) : NULL;
        size_t end = comma ? (size_t)(comma - text.data) : text.len;
        rc = parse_weight(text, at, (tkl_bytes){text.data + at, end - at}, schema, order);
        at = end + 1;
    }
    return rc;
}

int tkl__search_order_parse(tkl_bytes text, const tkl__search_schema *schema,
                            tkl__search_order *order)
{
    *order = (tkl__search_order){.kind = TKL__SEARCH_BY_RELEVANCE};
    if (text.len == 0)
        return TKL_OK;
    if (memchr(text.data, '=', text.len) || memchr(text.data, ',', text.len))
        return parse_weights(text, schema, order);
    return parse_field(text, schema, order);
}

void tkl__search_order_normal(const tkl__search_order *order, tkl__buf *out)
{
    char number[TKL__DOUBLE_SIZE];
    tkl__buf_addf(out, "%d %zu %d", (int)order->kind, order->field, order->down);
    for (size_t i = 0; i < order->weight_count; i++)
        tkl__buf_addf(out, " %zu=%s", order->weight_fields[i],
                      tkl__double_text(order->weights[i], number));
}

double tkl__search_weigh(const tkl__search_order *order, const tkl__search_record *record)
{
    double sum = 0;
    for (size_t i = 0; i < order->weight_count; i++) {
        const tkl__search_cell *cell = &record->cells[order->weight_fields[i]];
        if (cell->present)
            sum += order->weights[i] * cell->number;
    }
    return isnan(sum) ? 0 : sum; /* NaN: the sum of infinite products */
}

/* ---- Sorting ------------------------------------------------------------- */

/* Compares as the server does for equal scores: by the bytes of the numbers as text. */
static int by_number_text(uint64_t a, uint64_t b)
{
    char x[24], y[24];
    snprintf(x, sizeof x, "%" PRIu64, a);
    snprintf(y, sizeof y, "%" PRIu64, b);
    return strcmp(x, y);
}

static int by_number(const tkl__search_found *x, const tkl__search_found *y)
{
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->shard > y->shard) - (x->shard < y->shard);
}

static int by_key(const tkl__search_found *x, const tkl__search_found *y, bool numeric)
{
    int order = 0;
    if (numeric && x->key.present)
        order = (x->key.number > y->key.number) - (x->key.number < y->key.number);
    else if (x->key.present)
        order = tkl__text_word_compare(&x->key.sort, &y->key.sort);
    if (order == 0)
        order = by_number_text(x->number, y->number);
    return order ? order : (x->shard > y->shard) - (x->shard < y->shard);
}

typedef struct comparison {
    const tkl__search_order *order;
    bool numeric;
} comparison;

static int compare_found(const void *a, const void *b, void *arg)
{
    const tkl__search_found *x = a, *y = b;
    const comparison *by = arg;
    if (by->order->kind != TKL__SEARCH_BY_FIELD) {
        if (x->score != y->score)
            return x->score > y->score ? -1 : 1;
        return by_number(x, y);
    }
    if (x->key.present != y->key.present)
        return x->key.present ? -1 : 1;
    int order = by_key(x, y, by->numeric);
    return by->order->down ? -order : order;
}

void tkl__search_sort(const tkl__search_order *order, const tkl__search_schema *schema,
                      tkl__search_found *items, size_t count)
{
    comparison by = {order,
                     order->kind == TKL__SEARCH_BY_FIELD && schema->fields[order->field].numeric};
    if (count)
        qsort_r(items, count, sizeof *items, compare_found, &by);
}
