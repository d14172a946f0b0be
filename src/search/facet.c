/* SPDX-License-Identifier: MIT
 *
 * Facets. The values of a field are terms, so the server counts them as intersections with the
 * result. A document has at most one value of a field: the documents that the counts do not cover
 * have no value.
 *
 * The most frequent values of a field are counted first. A value cannot be in more documents of the
 * result than in documents of the index: so counting ends when enough values have been found that
 * are more frequent than all others can be.
 *
 * For a query with phrases the server only knows candidates. Then this file counts the values of
 * the documents that the server returned.
 */
#include "search/facet.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/names.h"
#include "core/number.h"
#include "search/call.h"
#include "search/scripts.h"
#include "text/library.h"

/* Number of values that one step counts. */
#define COUNT_STEP     20
#define VALUES_DEFAULT 10
/* Up to this many values are all counted, however frequent they are in the index. */
#define FEW_VALUES TKL_SEARCH_FACET_MAX
/* Most values that are read on each shard, and most that are counted. */
#define READ_MOST  100000
#define COUNT_MOST 2000
/* Values whose names one round trip reads. */
#define NAMES_STEP "1000"

int tkl__search_facets_check(const tkl__search_schema *schema,
                             const tkl_search_query_options *options)
{
    for (size_t i = 0; i < options->facet_count; i++) {
        int field = tkl__search_field_of(schema, options->facets[i]);
        if (field < 0 || schema->fields[field].numeric)
            return tkl__fail(TKL_EINVAL, "facet '" TKL_FMT "': the index has no such text field",
                             TKL_ARG(options->facets[i]));
    }
    return TKL_OK;
}

/* One facet while it is computed. */
typedef struct facet {
    tkl__search_run *run;
    size_t field;
    tkl_bytes *terms; /* terms of its values, in the order of bytes */
    tkl_search_count *counts;
    size_t count;
    size_t wanted;  /* values that are shown at most */
    size_t counted; /* how many of the first values were counted */
    bool cut;       /* the field has values that were not read */
} facet;

/* ---- Asking -------------------------------------------------------------- */

/* Reads the terms of one shard between the bounds, in steps. */
static int read_shard_values(facet *x, const tkl__search_shard *shard, tkl_bytes low,
                             tkl_bytes high, tkl__names *names)
{
    tkl__buf from;
    size_t came = 1, first = names->count;
    int rc = TKL_OK;
    tkl__buf_init(&from);
    tkl__buf_add(&from, low.data, low.len);
    while (rc == TKL_OK && came > 0 && !x->cut) {
        tkl_reply *replies = NULL;
        tkl__batch batch;
        tkl__batch_init(&batch, x->run->search->client);
        tkl__batch_fail(&batch, from.failed ? tkl__nomem() : TKL_OK);
        TKL__BATCH_WORDS(&batch, tkl_str("ZRANGE"), shard->keys[TKL__SEARCH_TERMS],
                         {from.data, from.len}, high, tkl_str("BYLEX"), tkl_str("LIMIT"),
                         tkl_str("0"), tkl_str(NAMES_STEP));
        rc = tkl__batch_end(&batch, tkl__search_deadline(x->run->search), &replies);
        const tkl_reply *page = tkl_reply_at(replies, 0);
        came = tkl_reply_count(page);
        if (rc == TKL_OK)
            rc = tkl__search_take_names(page, names);
        if (rc == TKL_OK && came) {
            tkl_bytes last = tkl_reply_bytes(tkl_reply_at(page, came - 1));
            tkl__buf_clear(&from);
            tkl__buf_add(&from, "(", 1);
            tkl__buf_add(&from, last.data, last.len);
        }
        x->cut = names->count - first >= READ_MOST;
        tkl_reply_free(replies);
    }
    tkl__buf_free(&from);
    return rc;
}

static int find_values(facet *x)
{
    tkl__search_run *run = x->run;
    tkl_bytes low = {0}, high = {0};
    tkl__buf prefix;
    tkl__names names = {0};
    tkl__buf_init(&prefix);
    tkl__search_term_value(&prefix, run->schema, x->field, tkl_str(""));
    int rc = prefix.failed ? tkl__nomem()
                           : tkl__search_bounds((tkl_bytes){prefix.data, prefix.len}, &low, &high);
    for (size_t i = 0; rc == TKL_OK && i < run->schema->shard_count; i++)
        rc = read_shard_values(x, &run->schema->shards[i], low, high, &names);
    if (rc == TKL_OK) {
        tkl__names_tidy(&names, NULL, NULL);
        x->count = names.count;
        x->terms = tkl__search_box_alloc(run->box, x->count * sizeof *x->terms);
        x->counts = tkl__search_box_alloc(run->box, x->count * sizeof *x->counts);
        rc = x->terms && x->counts ? TKL_OK : tkl__nomem();
    }
    for (size_t i = 0; rc == TKL_OK && i < x->count; i++) {
        char *copy = tkl__search_box_alloc(run->box, names.items[i].len);
        if (!copy)
            rc = tkl__nomem();
        else
            x->terms[i] = (tkl_bytes){memcpy(copy, names.items[i].data, names.items[i].len),
                                      names.items[i].len};
    }
    tkl__names_free(&names);
    tkl__buf_free(&prefix);
    free((char *)low.data);
    free((char *)high.data);
    return rc;
}

/* Makes the call that counts the values [from, to) on one shard. */
static void make_call(const facet *x, size_t index, size_t from, size_t to, tkl__search_call *call)
{
    const tkl__search_run *run = x->run;
    const tkl__search_shard *shard = &run->schema->shards[index];
    const tkl__search_progress *p = &run->shards[index];
    tkl__search_call_begin(call, shard);
    tkl__search_call_plan_keys(call, run->plan, shard, p->made);
    for (size_t i = from; i < to; i++)
        tkl__search_call_term(call, shard, x->terms[i]);
    tkl__args_str(&call->args, run->schema->token);
    tkl__args_int(&call->args, (int64_t)tkl__search_term_at(shard));
    tkl__args_bytes(&call->args, (tkl_bytes){run->plan->steps.data, run->plan->steps.len});
    tkl__args_int(&call->args, (int64_t)(to - from));
    tkl__search_call_plan_args(call, run->plan, index, p->made_before ? "*" : p->made, false);
}

/* Adds the counts of one step. A value is shown as one of the counted documents has it. */
static int read_counts(facet *x, size_t index, size_t from, const tkl_reply *reply)
{
    tkl__search_run *run = x->run;
    if (tkl_reply_type_of(reply) != TKL_REPLY_ARRAY) {
        bool stale = strcmp(tkl_reply_str(reply), "stale") == 0; /* else "make": it starts over */
        run->outcome = stale ? TKL__SEARCH_STALE : TKL__SEARCH_CHANGED;
        return TKL_OK;
    }
    if (strcmp(tkl_reply_str(tkl_reply_at(reply, 0)), run->shards[index].version) != 0)
        run->exact = false;
    const tkl_reply *counts = tkl_reply_at(reply, 1), *records = tkl_reply_at(reply, 2);
    for (size_t i = 0; i < tkl_reply_count(counts); i++) {
        tkl_search_count *count = &x->counts[from + i];
        tkl__add(&count->count, tkl_reply_int(tkl_reply_at(counts, i)));
        tkl__search_record record;
        if (tkl__search_record_read(tkl_reply_bytes(tkl_reply_at(records, i)), run->schema,
                                    &record))
            count->value = record.cells[x->field].text;
    }
    return TKL_OK;
}

/* Counts the values [from, from + COUNT_STEP) on all shards, in one round trip. */
static int count_some(facet *x, size_t from)
{
    tkl__search_run *run = x->run;
    size_t to = from + COUNT_STEP < x->count ? from + COUNT_STEP : x->count,
           shards = run->schema->shard_count;
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, run->search->client);
    for (size_t i = 0; i < shards; i++) {
        tkl__search_call call = {0};
        make_call(x, i, from, to, &call);
        tkl__search_call_add(&batch, &call, &tkl__lua_search_facet);
        tkl__search_call_free(&call);
    }
    int rc = tkl__batch_end(&batch, tkl__search_deadline(run->search), &replies);
    if (rc == TKL_OK)
        rc = tkl__search_box_keep(run->box, replies);
    for (size_t i = 0; rc == TKL_OK && i < shards; i++)
        rc = read_counts(x, i, from, tkl_reply_at(replies, i));
    return rc;
}

/* ---- The most frequent first --------------------------------------------- */

/* Sorts the values, the most frequent in the index first; *sizes: malloc'ed. */
static int sort_values(facet *x, tkl__search_sized **sizes)
{
    tkl__search_sized *values = calloc(x->count + 1, sizeof *values);
    int rc = values ? TKL_OK : tkl__nomem();
    *sizes = values;
    for (size_t i = 0; rc == TKL_OK && i < x->count; i++)
        values[i].term = x->terms[i];
    if (rc == TKL_OK)
        rc = tkl__search_read_sizes(x->run->search, x->run->schema, values, x->count,
                                    &x->run->outcome);
    if (rc == TKL_OK)
        qsort(values, x->count, sizeof *values, tkl__search_by_size);
    for (size_t i = 0; rc == TKL_OK && i < x->count; i++)
        x->terms[i] = values[i].term;
    return rc;
}

/* Whether as many values as are wanted have at least this count. */
static bool has_enough(const facet *x, int64_t count)
{
    size_t enough = 0;
    for (size_t i = 0; i < x->counted; i++)
        enough += x->counts[i].count >= count;
    return enough >= x->wanted;
}

static int count_values(facet *x)
{
    tkl__search_sized *sizes = NULL;
    int rc = find_values(x);
    bool many = x->count > FEW_VALUES;
    if (rc == TKL_OK && many)
        rc = sort_values(x, &sizes);
    size_t name = 2 + x->run->schema->fields[x->field].name.len; /* "v", the field and "=" */
    for (size_t i = 0; rc == TKL_OK && i < x->count; i++)
        x->counts[i].value = (tkl_bytes){x->terms[i].data + name, x->terms[i].len - name};
    while (rc == TKL_OK && x->run->outcome == TKL__SEARCH_DONE && x->counted < x->count) {
        if (many && (x->counted >= COUNT_MOST || has_enough(x, sizes[x->counted].size)))
            break;
        rc = count_some(x, x->counted);
        x->counted = x->counted + COUNT_STEP < x->count ? x->counted + COUNT_STEP : x->count;
    }
    x->cut = x->cut || x->counted < x->count;
    x->count = x->counted;
    free(sizes);
    return rc;
}

/* ---- Counting here ------------------------------------------------------- */

static int by_sort(const void *a, const void *b)
{
    const tkl__search_cell *x = a, *y = b;
    return tkl__text_word_compare(&x->sort, &y->sort);
}

/* Collects the values of all documents that were returned, sorted. */
static int read_cells(facet *x, tkl__search_cell *cells, size_t *count)
{
    const tkl__search_run *run = x->run;
    for (size_t i = 0; i < run->item_count; i++) {
        tkl__search_record record;
        if (!tkl__search_record_read(run->items[i].bytes, run->schema, &record))
            return tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
        if (record.cells[x->field].present)
            cells[(*count)++] = record.cells[x->field];
    }
    qsort(cells, *count, sizeof *cells, by_sort);
    return TKL_OK;
}

static int count_here(facet *x)
{
    const tkl__search_run *run = x->run;
    size_t count = 0;
    tkl__search_cell *cells = calloc(run->item_count + 1, sizeof *cells);
    x->counts = tkl__search_box_alloc(run->box, (run->item_count + 1) * sizeof *x->counts);
    int rc = cells && x->counts ? read_cells(x, cells, &count) : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        if (i == 0 || tkl__text_word_compare(&cells[i - 1].sort, &cells[i].sort) != 0)
            x->counts[x->count++].value = cells[i].text;
        x->counts[x->count - 1].count++;
    }
    free(cells);
    return rc;
}

/* ---- The result ---------------------------------------------------------- */

static int by_count(const void *a, const void *b)
{
    const tkl_search_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return tkl__text_word_compare(&x->value, &y->value);
}

/* Makes the facet of the most frequent values. Values that no document of the result has are left
 * out. */
static void make_facet(facet *x, tkl_search_facet *result)
{
    int64_t sum = 0;
    size_t some = 0;
    if (x->count)
        qsort(x->counts, x->count, sizeof *x->counts, by_count);
    for (size_t i = 0; i < x->count; i++) {
        sum += x->counts[i].count;
        some += x->counts[i].count > 0;
    }
    int64_t of = x->run->plan->verify ? (int64_t)x->run->item_count : x->run->total;
    *result = (tkl_search_facet){.field = x->run->schema->fields[x->field].name,
                                 .counts = x->counts,
                                 .count = some < x->wanted ? some : x->wanted,
                                 .more = some > x->wanted || (x->cut && sum < of),
                                 .missing = of > sum ? of - sum : 0};
    if (x->cut && sum < of)
        result->missing = TKL_NONE;
}

static tkl_search_facet *begin_facets(tkl__search_run *run, const tkl_search_query_options *options)
{
    tkl_search_facet *facets =
        tkl__search_box_alloc(run->box, options->facet_count * sizeof *facets);
    run->box->is.facets = facets;
    run->box->is.facet_count = facets ? options->facet_count : 0;
    return facets;
}

int tkl__search_facets(tkl__search_run *run, const tkl_search_query_options *options)
{
    int64_t most = options->facet_values ? options->facet_values : VALUES_DEFAULT;
    tkl_search_facet *facets = begin_facets(run, options);
    int rc = facets ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < options->facet_count; i++) {
        facet x = {.run = run,
                   .field = (size_t)tkl__search_field_of(run->schema, options->facets[i]),
                   .wanted = (size_t)most};
        rc = run->plan->verify ? count_here(&x) : count_values(&x);
        make_facet(&x, &facets[i]);
    }
    return rc;
}

int tkl__search_facets_none(tkl__search_run *run, const tkl_search_query_options *options)
{
    tkl_search_facet *facets = begin_facets(run, options);
    for (size_t i = 0; facets && i < options->facet_count; i++) {
        int field = tkl__search_field_of(run->schema, options->facets[i]);
        facets[i].field = run->schema->fields[field].name;
    }
    return facets ? TKL_OK : tkl__nomem();
}
