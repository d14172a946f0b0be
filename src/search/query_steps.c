/* SPDX-License-Identifier: MIT
 *
 * The round trips of one query. Every shard runs search/query; most of them reply in full. A shard
 * whose work is too much for one script is asked again until it is done. When a shard changes
 * between two replies, the query starts over, up to BEGIN_MAX times; after that its result is
 * marked as not exact.
 */
#include "search/query_steps.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"
#include "core/number.h"
#include "core/rounds.h"
#include "core/token.h"
#include "search/scripts.h"

/* How many times a query starts because the index keeps changing. */
#define BEGIN_MAX 3

/* Most words for which shards find the best hits; with more of them all hits are compared. A prefix
 * counts as two: it has twice as many classes. */
#define BEST_WORDS 4

static bool is_for_best(const tkl__search_run *run)
{
    size_t words = 0;
    for (size_t i = 0; i < run->plan->scorer_count; i++)
        words += run->plan->scorers[i].prefix.data ? 2 : 1;
    return run->count > 0 && words <= BEST_WORDS;
}

static tkl__search_way choose_way(const tkl__search_run *run)
{
    if (run->plan->verify)
        return TKL__SEARCH_WAY_SCAN;
    switch (run->order->kind) {
    case TKL__SEARCH_BY_FIELD:
        return TKL__SEARCH_WAY_FIELD;
    case TKL__SEARCH_BY_WEIGHTS:
        return run->count > 0 ? TKL__SEARCH_WAY_HEAVIEST : TKL__SEARCH_WAY_SCAN;
    case TKL__SEARCH_BY_RELEVANCE:
        break;
    }
    if (run->plan->scorer_count == 0)
        return TKL__SEARCH_WAY_FIRST;
    return is_for_best(run) ? TKL__SEARCH_WAY_BEST : TKL__SEARCH_WAY_SCAN;
}

/* ---- One step ------------------------------------------------------------ */

/* Asks all shards that are not done, in one round trip, and reads their replies. */
static int step_shards(tkl__search_run *run)
{
    size_t shards = run->schema->shard_count, at = 0;
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, run->search->client);
    for (size_t i = 0; i < shards; i++) {
        tkl__search_call call = {0};
        if (run->shards[i].done)
            continue;
        tkl__search_query_call(run, i, &call);
        tkl__search_call_add(&batch, &call, &tkl__lua_search_query);
        tkl__search_call_free(&call);
    }
    int rc = tkl__batch_end(&batch, tkl__search_deadline(run->search), &replies);
    if (rc == TKL_OK)
        rc = tkl__search_box_keep(run->box, replies);
    for (size_t i = 0; rc == TKL_OK && i < shards; i++)
        if (!run->shards[i].done)
            rc = tkl__search_query_reply(run, i, tkl_reply_at(replies, at++));
    return rc;
}

static bool all_done(const tkl__search_run *run)
{
    for (size_t i = 0; i < run->schema->shard_count; i++)
        if (!run->shards[i].done)
            return false;
    return true;
}

/* Whether candidates are compared here, up to compare_max of them. */
static bool compares_candidates(const tkl__search_run *run)
{
    return run->way != TKL__SEARCH_WAY_FIELD && run->way != TKL__SEARCH_WAY_FIRST;
}

/* ---- The states ---------------------------------------------------------- */

/* Forgets all replies; keeps what is known about bitmaps that were made. */
static void start_over(tkl__search_run *run)
{
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        tkl__search_progress *p = &run->shards[i];
        tkl__search_progress fresh = {.made_before = p->made_before};
        memcpy(fresh.made, p->made, sizeof fresh.made);
        *p = fresh;
    }
    tkl__token_new(run->token); /* results that shards kept before are of other versions */
    memset(run->sizes, 0, run->plan->term_count * sizeof *run->sizes);
    tkl__search_rarity_free(&run->rarity);
    run->item_count = 0;
    run->examined = 0;
    run->changed = false;
}

/* A number that changes whenever a shard makes progress. */
static int64_t measure_progress(const tkl__search_run *run)
{
    int64_t sum = (int64_t)run->item_count;
    for (size_t i = 0; i < run->schema->shard_count; i++)
        sum ^= (int64_t)XXH3_64bits(run->shards[i].resume.data, run->shards[i].resume.len) ^
               run->shards[i].cursor ^ (int64_t)run->shards[i].done ^ run->shards[i].more << 40 ^
               ((int64_t)run->shards[i].compare_all << 32);
    return sum;
}

/* Computes the weights of the words from their sizes on all shards, since a document has the same
 * relevance whatever its shard, and begins the search on all shards. */
static int weigh_words(tkl__search_run *run)
{
    int64_t docs = 0, words = 0;
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        tkl__add(&docs, run->shards[i].docs);
        tkl__add(&words, run->shards[i].words);
        run->shards[i].done = false;
        run->shards[i].cursor = 0;
    }
    return tkl__search_rarity_make(&run->rarity, run->plan, run->sizes, docs, words);
}

/* Does what the state says, and chooses the next one. After BEGIN_MAX starts the query goes on even
 * when the index changes. */
static int advance_query(tkl__search_run *run, tkl__rounds *rounds)
{
    bool last = run->begins > BEGIN_MAX;
    bool weighs = run->way == TKL__SEARCH_WAY_BEST && run->schema->shard_count > 1;
    int64_t before = measure_progress(run);
    int rc = TKL_OK;
    switch (run->state) {
    case TKL__SEARCH_BEGIN:
        if (run->begins++ > 2 * BEGIN_MAX)
            return tkl__fail(TKL_CONFLICT, "the index changes all the time");
        start_over(run);
        *rounds = (tkl__rounds){.idle = 0};
        run->state = weighs ? TKL__SEARCH_WEIGH : TKL__SEARCH_STEP;
        break;
    case TKL__SEARCH_WEIGH:
        rc = step_shards(run);
        if (rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && run->state == TKL__SEARCH_WEIGH) {
            run->state = TKL__SEARCH_STEP;
            rc = weigh_words(run);
        }
        break;
    case TKL__SEARCH_STEP:
        rc = step_shards(run);
        if (rc == TKL_OK)
            rc = tkl__next_round(rounds, run->search->client, 0, measure_progress(run) != before);
        if (run->state != TKL__SEARCH_STEP)
            break;
        if (run->changed && !last)
            run->state = TKL__SEARCH_BEGIN;
        else if (all_done(run) || (compares_candidates(run) && run->examined >= run->compare_max))
            run->state = TKL__SEARCH_END;
        break;
    case TKL__SEARCH_MAKE:
        run->state = TKL__SEARCH_BEGIN;
        rc = tkl__search_make(run, last);
        break;
    case TKL__SEARCH_END:
        break;
    }
    return rc;
}

/* ---- The result ---------------------------------------------------------- */

/* Computes the relevance of all items. */
static int rank_items(tkl__search_run *run, int64_t docs, int64_t words)
{
    tkl__search_rarity rarity;
    tkl__search_entries entries = {0};
    int rc = tkl__search_rarity_make(&rarity, run->plan, run->sizes, docs, words);
    for (size_t i = 0; rc == TKL_OK && i < run->item_count; i++) {
        tkl__search_found *item = &run->items[i];
        tkl__search_record record;
        rc = tkl__search_entries_read(&entries, item->terms, run->schema->is.positions);
        if (rc == TKL_OK && tkl__search_record_read(item->bytes, run->schema, &record))
            item->score = tkl__search_relevance(&rarity, &record, &entries);
    }
    tkl__search_entries_free(&entries);
    tkl__search_rarity_free(&rarity);
    return rc;
}

/* Sorts the items, unless a single shard sent them in order, and cuts out the page. */
static void arrange_items(tkl__search_run *run)
{
    bool sorted = run->schema->shard_count == 1 && run->shards[0].walked;
    size_t skip = sorted ? 0 : (size_t)run->offset;
    if (!sorted)
        tkl__search_sort(run->order, run->schema, run->items, run->item_count);
    run->page = skip < run->item_count ? skip : run->item_count;
    run->page_count = run->item_count - run->page;
    if (run->page_count > (size_t)run->count)
        run->page_count = (size_t)run->count;
}

/* Computes the number of hits, of which phrases are an estimate as long as candidates are left. */
static void count_hits(tkl__search_run *run, int64_t candidates)
{
    bool whole = all_done(run);
    run->total = candidates;
    run->compared = candidates;
    run->exact = !run->changed && !run->loose && !run->plan->cut;
    if (run->plan->verify) {
        double share = run->examined ? (double)run->item_count / (double)run->examined : 0;
        run->total = whole ? (int64_t)run->item_count : (int64_t)(share * (double)candidates);
        run->exact = run->exact && whole;
        run->compared = whole ? run->total : (int64_t)run->item_count;
    } else if (compares_candidates(run) && !whole && run->count > 0) {
        run->compared = run->examined;
    }
}

/* Checks that no hits are missing: the sorted set of a field has every document, with or without a
 * value. */
static int check_page(const tkl__search_run *run)
{
    int64_t rest = run->total - run->offset, want = rest < run->count ? rest : run->count;
    if (run->order->kind == TKL__SEARCH_BY_FIELD && run->exact && !run->plan->verify &&
        (int64_t)run->page_count < want)
        return tkl__fail(TKL_EDAMAGED, "the order by a field lacks documents of the index");
    return TKL_OK;
}

static int finish_result(tkl__search_run *run)
{
    int64_t candidates = 0, docs = 0, words = 0;
    int rc = run->changed && run->item_count ? tkl__search_drop_repeated(run) : TKL_OK;
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        tkl__add(&candidates, run->shards[i].total);
        tkl__add(&docs, run->shards[i].docs);
        tkl__add(&words, run->shards[i].words);
    }
    if (rc == TKL_OK && tkl__search_ranks_by_terms(run))
        rc = rank_items(run, docs, words);
    count_hits(run, candidates);
    if (rc == TKL_OK)
        arrange_items(run);
    return rc == TKL_OK ? check_page(run) : rc;
}

int tkl__search_query_steps(tkl__search_run *run)
{
    tkl__rounds rounds = {.idle = 0};
    run->shards = calloc(run->schema->shard_count, sizeof *run->shards);
    run->sizes = calloc(run->plan->term_count + 1, sizeof *run->sizes);
    run->make_ranges = calloc(run->plan->range_count + 1, sizeof *run->make_ranges);
    run->make_unions = calloc(run->plan->union_count + 1, sizeof *run->make_unions);
    run->make_times = calloc(run->plan->scorer_count + 1, sizeof *run->make_times);
    bool room =
        run->shards && run->sizes && run->make_ranges && run->make_unions && run->make_times;
    int rc = room ? TKL_OK : tkl__nomem();
    run->loose = run->plan->fixed;
    run->way = choose_way(run);
    for (size_t i = 0; run->way == TKL__SEARCH_WAY_BEST && i < run->plan->union_count; i++) {
        tkl__search_union *u = &run->plan->unions[i];
        u->is_of_prefix = tkl__search_scorer_of_union(run->plan, u) != NULL;
    }
    while (rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && run->state != TKL__SEARCH_END)
        rc = advance_query(run, &rounds);
    return rc == TKL_OK && run->outcome == TKL__SEARCH_DONE ? finish_result(run) : rc;
}

void tkl__search_run_free(tkl__search_run *run)
{
    free(run->shards);
    free(run->sizes);
    free(run->make_ranges);
    free(run->make_unions);
    free(run->make_times);
    tkl__search_rarity_free(&run->rarity);
    free(run->items);
}
