/* SPDX-License-Identifier: MIT
 *
 * tkl_search_query(): from the text of a query to its result.
 */

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "search/facet.h"
#include "search/kept.h"
#include "search/query_steps.h"
#include "search/why.h"

#define COUNT_DEFAULT 10
/* Hits that are compared when a prefix stands for too many words: the result leaves some out
 * anyway. */
#define COMPARE_CUT   5000
#define FACET_DEFAULT 10

/* ---- Checking ------------------------------------------------------------ */

static int check_options(const tkl_search_query_options *o)
{
    return TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                              {"offset", o->offset, 0, TKL_SEARCH_REACH_MAX},
                              {"count", o->count, TKL_NONE, TKL_SEARCH_PAGE_MAX},
                              {"keep_ms", o->keep_ms, 0, TKL__MS_MAX},
                              {"compare_max", o->compare_max, 0, TKL__SEARCH_COMPARE_MAX},
                              {"facet_values", o->facet_values, 0, TKL_SEARCH_FACET_MAX},
                              {"facet_count", (int64_t)o->facet_count, 0, TKL_SEARCH_FIELDS_MAX});
}

/* ---- Texts of the hits --------------------------------------------------- */

/* The arguments and the state of one call. */
typedef struct querying {
    tkl_bytes text;
    const tkl_search_query_options *options;
    tkl__search_order order;
    int attempts;
    tkl_search_result *result;
} querying;

static bool same_version(const tkl__search_found *item, const tkl__search_fetched *doc)
{
    return item->number == doc->number && tkl__same_bytes(item->bytes, doc->record);
}

/* Fetches the texts of the hits by id: the documents may have new numbers by now. A text must
 * belong to the version that was found: if a newer version exists, the query needs another attempt.
 * In the last attempt such a hit gets no text. */
static int fetch_texts(const querying *q, tkl__search_run *run, tkl_bytes **texts)
{
    size_t count = run->page_count;
    tkl_bytes *ids = tkl__search_box_alloc(run->box, count * sizeof *ids);
    tkl__search_fetched *docs = tkl__search_box_alloc(run->box, count * sizeof *docs);
    *texts = tkl__search_box_alloc(run->box, count * sizeof **texts);
    if (!ids || !docs || !*texts)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        tkl__search_record record;
        if (!tkl__search_record_read(run->items[run->page + i].bytes, run->schema, &record))
            return tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
        ids[i] = record.id;
    }
    int rc = tkl__search_fetch(run->search, run->box, ids, count, docs, &run->outcome);
    for (size_t i = 0; rc == TKL_OK && run->outcome != TKL__SEARCH_STALE && i < count; i++) {
        if (same_version(&run->items[run->page + i], &docs[i]))
            (*texts)[i] = docs[i].text;
        else if (q->attempts < TKL__SEARCH_TRIES)
            run->outcome = TKL__SEARCH_CHANGED;
    }
    return rc;
}

/* ---- One attempt --------------------------------------------------------- */

static int make_result(const querying *q, tkl__search_run *run)
{
    tkl_bytes *texts = NULL;
    int rc = TKL_OK;
    if (q->options->texts && run->page_count && !run->schema->is.no_text)
        rc = fetch_texts(q, run, &texts);
    if (rc == TKL_OK)
        rc = tkl__search_box_hits(run->box, run->items + run->page, run->page_count, texts);
    run->box->is.total = run->total;
    run->box->is.exact = run->exact;
    run->box->is.compared = run->compared;
    return rc == TKL_OK ? tkl__search_say(run) : rc;
}

/* Cuts the requested page out of a result that was found for keeping. */
static void cut_page(tkl__search_run *run, int64_t offset, int64_t count)
{
    size_t skip = (size_t)offset < run->page_count ? (size_t)offset : run->page_count;
    run->page += skip;
    run->page_count -= skip;
    if (run->page_count > (size_t)count)
        run->page_count = (size_t)count;
}

static int query_and_keep(const querying *q, tkl__search_run *run)
{
    int64_t offset = run->offset, count = run->count;
    run->offset = 0;
    run->count = tkl__search_keep_reach(offset, count);
    int rc = tkl__search_query_steps(run);
    if (rc != TKL_OK || run->outcome != TKL__SEARCH_DONE)
        return rc;
    tkl__search_kept_write(run, q->options->keep_ms);
    cut_page(run, offset, count);
    return TKL_OK;
}

static int query_hits(const querying *q, tkl__search_run *run)
{
    bool kept = false;
    int rc = TKL_OK;
    if (run->plan->query.nothing) {
        run->exact = true;
        return tkl__search_facets_none(run, q->options);
    }
    if (q->options->keep_ms && q->options->facet_count == 0)
        rc = tkl__search_kept_read(run, &kept);
    run->box->is.kept = kept;
    if (rc == TKL_OK && !kept && run->outcome == TKL__SEARCH_DONE)
        rc = q->options->keep_ms ? query_and_keep(q, run) : tkl__search_query_steps(run);
    if (rc == TKL_OK && q->options->facet_count && run->outcome == TKL__SEARCH_DONE)
        rc = tkl__search_facets(run, q->options);
    return rc;
}

/* Carries out a plan. Its result replaces the result of an earlier plan, which has found
 * nothing. */
static int run_plan(tkl_search *search, tkl__search_plan *plan, void *arg,
                    tkl__search_outcome *outcome, int64_t *total)
{
    querying *q = arg;
    const tkl_search_query_options *o = q->options;
    tkl__search_run run = {.search = search,
                           .schema = plan->schema,
                           .plan = plan,
                           .order = &q->order,
                           .offset = o->offset,
                           .count = tkl__or_default(o->count, COUNT_DEFAULT),
                           .compare_max = tkl__or_default(
                               o->compare_max, plan->cut ? COMPARE_CUT : TKL__SEARCH_COMPARE_MAX),
                           .box = tkl__search_box_new(plan->schema)};
    int rc = run.box ? query_hits(q, &run) : tkl__nomem();
    if (rc == TKL_OK && run.outcome == TKL__SEARCH_DONE)
        rc = make_result(q, &run);
    *outcome = run.outcome;
    *total = run.total;
    if (rc == TKL_OK && run.outcome == TKL__SEARCH_DONE && (!plan->apart || run.total > 0)) {
        tkl_search_result_free(q->result);
        q->result = &run.box->is;
    } else {
        tkl__search_box_free(run.box);
    }
    tkl__search_run_free(&run);
    return rc;
}

static int query_once(tkl_search *search, tkl__search_schema *schema, void *arg,
                      tkl__search_outcome *outcome)
{
    querying *q = arg;
    q->attempts++;
    int rc = tkl__search_order_parse(q->options->order, schema, &q->order);
    if (rc == TKL_OK)
        rc = tkl__search_facets_check(schema, q->options);
    bool last = q->attempts == TKL__SEARCH_TRIES;
    return rc == TKL_OK ? tkl__search_with_plan(search, schema, q->text, last, run_plan, q, outcome)
                        : rc;
}

/* ---- The call ------------------------------------------------------------ */

int tkl_search_query(tkl_search *search, tkl_bytes query, const tkl_search_query_options *options,
                     tkl_search_result **result)
{
    static const tkl_search_query_options defaults;
    querying q = {.text = query, .options = options ? options : &defaults};
    tkl_search own = tkl__search_with_timeout(search, q.options->timeout_ms);
    int64_t began = tkl__now();
    *result = NULL;
    int rc = check_options(q.options);
    if (rc == TKL_OK)
        rc = tkl__search_try(&own, query_once, &q);
    if (rc != TKL_OK) {
        tkl_search_result_free(q.result);
        return rc;
    }
    q.result->took_us = tkl__now() - began;
    *result = q.result;
    return TKL_OK;
}
