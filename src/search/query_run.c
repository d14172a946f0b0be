/* SPDX-License-Identifier: MIT
 *
 * tkl_search_query().
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "search/facet.h"
#include "search/find.h"
#include "search/kept.h"
#include "search/why.h"

#define COUNT_DEFAULT   10
#define COMPARE_DEFAULT COMPARE_MAX
#define COMPARE_MAX     1000000
/* Hits that are compared when a prefix stands for so many words that some are left out anyway. */
#define COMPARE_CUT   5000
#define FACET_DEFAULT 10

/* ---- Checking ------------------------------------------------------------ */

static int check_options(const tkl_search_query_options *o)
{
    int rc = TKL__CHECK_RESERVED(o);
    if (rc == TKL_OK)
        rc = tkl__check_number("timeout_ms", o->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("offset", o->offset, 0, TKL_SEARCH_REACH_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("count", o->count, TKL_NONE, TKL_SEARCH_PAGE_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("keep_ms", o->keep_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("compare_max", o->compare_max, 0, COMPARE_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("facet_values", o->facet_values, 0, TKL_SEARCH_FACET_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("facet_count", (int64_t)o->facet_count, 0, TKL_SEARCH_FIELDS_MAX);
    return rc;
}

static int64_t or_default(int64_t asked, int64_t otherwise)
{
    return asked == 0 ? otherwise : asked == TKL_NONE ? 0 : asked;
}

/* ---- One attempt --------------------------------------------------------- */

/* The arguments and state of one call. */
typedef struct asking {
    tkl_search *search;
    tkl_bytes query;
    const tkl_search_query_options *options;
    tkl__search_schema *schema;
    tkl__search_order order;
    tkl__search_plan plan;
    bool stale, words, overtaken; /* the query must be tried again */
    bool last;                    /* last attempt: `overtaken` does not cause another one */
    bool can_be_cut, cut;         /* the query has texts without spaces; they are cut into words */
} asking;

static bool same_version(const tkl__search_found *item, const tkl__search_fetched *doc)
{
    return item->number == doc->number && item->bytes.len == doc->record.len &&
           memcmp(item->bytes.data, doc->record.data, doc->record.len) == 0;
}

/* Takes the texts of the hits. A text must belong to the version that was found: if a newer version
 * exists, the query starts over. In the last attempt such a hit gets no text. */
static void take_texts(asking *a, const tkl__search_finding *f, const tkl__search_fetched *docs,
                       tkl_bytes *texts)
{
    for (size_t i = 0; i < f->page_count; i++) {
        if (same_version(&f->items[f->page + i], &docs[i]))
            texts[i] = docs[i].text;
        else
            a->overtaken = !a->last;
    }
}

/* Fetches the texts of the hits by id: the documents may have new numbers by now. */
static int fetch_texts(asking *a, tkl__search_finding *f, tkl_bytes **texts)
{
    size_t count = f->page_count;
    tkl_bytes *ids = tkl__search_box_alloc(f->box, count * sizeof *ids);
    tkl__search_fetched *docs = tkl__search_box_alloc(f->box, count * sizeof *docs);
    *texts = tkl__search_box_alloc(f->box, count * sizeof **texts);
    if (!ids || !docs || !*texts)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        tkl__search_record record;
        if (!tkl__search_record_read(f->items[f->page + i].bytes, f->schema, &record))
            return tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
        ids[i] = record.id;
    }
    int rc = tkl__search_fetch(f->search, f->box, ids, count, docs, &f->stale);
    if (rc == TKL_OK && !f->stale)
        take_texts(a, f, docs, *texts);
    return rc;
}

static int make_result(asking *a, tkl__search_finding *f)
{
    tkl_bytes *texts = NULL;
    int rc = TKL_OK;
    if (a->options->texts && f->page_count && !a->schema->is.no_text)
        rc = fetch_texts(a, f, &texts);
    if (rc == TKL_OK)
        rc = tkl__search_box_hits(f->box, f->items + f->page, f->page_count, texts);
    f->box->is.total = f->total;
    f->box->is.exact = f->exact;
    f->box->is.compared = f->compared;
    return rc == TKL_OK ? tkl__search_say(f) : rc;
}

/* Cuts the requested page out of a result that was found for keeping. */
static void cut_page(tkl__search_finding *f, int64_t offset, int64_t count)
{
    size_t skip = (size_t)offset < f->page_count ? (size_t)offset : f->page_count;
    f->page += skip;
    f->page_count -= skip;
    if (f->page_count > (size_t)count)
        f->page_count = (size_t)count;
}

static int find_and_keep(asking *a, tkl__search_finding *f)
{
    int64_t offset = f->offset, count = f->count;
    f->offset = 0;
    f->count = tkl__search_keep_reach(offset, count);
    int rc = tkl__search_find(f);
    if (rc != TKL_OK || f->stale || f->words)
        return rc;
    tkl__search_kept_write(f, a->options->keep_ms);
    cut_page(f, offset, count);
    return TKL_OK;
}

static int find_hits(asking *a, tkl__search_finding *f)
{
    bool kept = false;
    int rc = TKL_OK;
    if (a->plan.query.nothing) {
        f->exact = true;
        return tkl__search_facets_none(f, a->options);
    }
    if (a->options->keep_ms && a->options->facet_count == 0)
        rc = tkl__search_kept_read(f, &kept);
    f->box->is.kept = kept;
    if (rc == TKL_OK && !kept && !f->stale)
        rc = a->options->keep_ms ? find_and_keep(a, f) : tkl__search_find(f);
    if (rc == TKL_OK && a->options->facet_count && !f->stale && !f->words)
        rc = tkl__search_facets(f, a->options);
    return rc;
}

static int run_plan(asking *a, tkl_search_result **result)
{
    const tkl_search_query_options *o = a->options;
    tkl__search_finding f = {
        .search = a->search,
        .schema = a->schema,
        .plan = &a->plan,
        .order = &a->order,
        .offset = o->offset,
        .count = or_default(o->count, COUNT_DEFAULT),
        .compare_max = or_default(o->compare_max, a->plan.cut ? COMPARE_CUT : COMPARE_DEFAULT),
        .box = tkl__search_box_new(a->schema)};
    int rc = f.box ? find_hits(a, &f) : tkl__nomem();
    if (rc == TKL_OK && !f.stale && !f.words)
        rc = make_result(a, &f);
    a->stale = f.stale;
    a->words = f.words;
    if (rc == TKL_OK && !f.stale && !f.words && !a->overtaken)
        *result = &f.box->is;
    else
        tkl__search_box_free(f.box);
    tkl__search_finding_free(&f);
    return rc;
}

static int attempt_query(asking *a, tkl_search_result **result)
{
    a->stale = a->words = a->overtaken = false;
    int rc = tkl__search_order_parse(a->options->order, a->schema, &a->order);
    if (rc == TKL_OK)
        rc = tkl__search_facets_check(a->schema, a->options);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__search_plan_make(a->search, a->schema, a->query, a->cut, &a->plan);
    a->can_be_cut = a->plan.query.can_be_cut;
    if (rc == TKL_OK)
        rc = run_plan(a, result);
    tkl__search_plan_free(&a->plan);
    return rc;
}

/* ---- The call ------------------------------------------------------------ */

/* Attempts the query until it is not disturbed by changes of the index. */
static int answer_query(asking *a, tkl_search_result **result)
{
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && !*result && i < TKL__SEARCH_TRIES; i++) {
        rc = tkl__search_schema_get(a->search, &a->schema);
        if (rc != TKL_OK)
            break;
        a->last = i == TKL__SEARCH_TRIES - 1;
        rc = attempt_query(a, result);
        if (a->stale)
            tkl__search_schema_forget(a->search, a->schema);
        tkl__search_schema_free(a->schema);
    }
    if (rc == TKL_OK && !*result)
        rc = a->stale ? tkl__search_missing()
                      : tkl__fail(TKL_CONFLICT, "the words of the index change all the time");
    return rc;
}

/* Answers the query with its texts cut into words. Leaves *result as it is when that finds nothing,
 * either. */
static int answer_cut_query(asking *a, tkl_search_result **result)
{
    tkl_search_result *found = NULL;
    a->cut = true;
    int rc = answer_query(a, &found);
    if (rc == TKL_OK && found->total > 0) {
        tkl_search_result *whole = *result;
        *result = found;
        found = whole;
    }
    tkl_search_result_free(found);
    return rc;
}

int tkl_search_query(tkl_search *search, tkl_bytes query, const tkl_search_query_options *options,
                     tkl_search_result **result)
{
    static const tkl_search_query_options defaults;
    asking a = {.query = query, .options = options ? options : &defaults};
    tkl_search own = tkl__search_with_timeout(search, a.options->timeout_ms);
    int64_t began = tkl__now();
    *result = NULL;
    a.search = &own;
    int rc = check_options(a.options);
    if (rc == TKL_OK)
        rc = answer_query(&a, result);
    if (rc == TKL_OK && (*result)->total == 0 && a.can_be_cut)
        rc = answer_cut_query(&a, result);
    if (rc != TKL_OK) {
        tkl_search_result_free(*result);
        *result = NULL;
    }
    if (*result)
        (*result)->took_us = tkl__now() - began;
    return rc;
}
