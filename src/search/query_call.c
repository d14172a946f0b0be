/* SPDX-License-Identifier: MIT
 *
 * The requests of a query: the call of search/query for one shard and one step.
 */
#include "search/query_steps.h"

#include "search/scripts.h"

/* Candidates of one step of a scan. A step takes longer for a plan with many terms. */
#define SCAN_BLOCK 500
#define SCAN_TERMS 200

/* The orders as search/query knows them. */
static const char *const ORDER_WORDS[] = {
    [TKL__SEARCH_ASK_COUNT] = "count", [TKL__SEARCH_ASK_SCAN] = "scan",
    [TKL__SEARCH_ASK_BEST] = "best",   [TKL__SEARCH_ASK_HEAVIEST] = "heavy",
    [TKL__SEARCH_ASK_UP] = "up",       [TKL__SEARCH_ASK_DOWN] = "down",
};

static tkl__search_asked choose_order(const tkl__search_run *run, const tkl__search_progress *p)
{
    if (run->state == TKL__SEARCH_WEIGH || (run->count == 0 && !run->plan->verify))
        return TKL__SEARCH_ASK_COUNT;
    if (run->way == TKL__SEARCH_WAY_BEST && !p->compare_all)
        return TKL__SEARCH_ASK_BEST;
    if (run->way == TKL__SEARCH_WAY_HEAVIEST && !p->compare_all)
        return TKL__SEARCH_ASK_HEAVIEST;
    if (run->way != TKL__SEARCH_WAY_FIELD || p->compare_all)
        return TKL__SEARCH_ASK_SCAN;
    return run->order->down ? TKL__SEARCH_ASK_DOWN : TKL__SEARCH_ASK_UP;
}

int64_t tkl__search_wanted_of_each(const tkl__search_run *run)
{
    bool skips = run->schema->shard_count == 1 && run->way == TKL__SEARCH_WAY_FIELD;
    return skips ? run->count : run->offset + run->count; /* a single shard skips the offset */
}

bool tkl__search_needs_terms(const tkl__search_run *run)
{
    return run->state != TKL__SEARCH_WEIGH &&
           (tkl__search_verifies(run) || tkl__search_ranks_by_terms(run));
}

/* Computes the part of the result that the request asks for: `most` hits behind the first `first`
 * ones of the order, or `most` candidates from the byte `first` on. */
static void find_part(const tkl__search_run *run, const tkl__search_progress *p, int64_t *first,
                      int64_t *most)
{
    bool by_field = run->way == TKL__SEARCH_WAY_FIELD;
    if (by_field && !p->compare_all) {
        *first = run->schema->shard_count == 1 ? run->offset - p->skipped : 0;
        *most = tkl__search_wanted_of_each(run) - p->taken;
        return;
    }
    int64_t left = by_field                            ? SCAN_BLOCK
                   : run->way == TKL__SEARCH_WAY_FIRST ? tkl__search_wanted_of_each(run) - p->taken
                                                       : run->compare_max - run->examined;
    int64_t block = SCAN_BLOCK * SCAN_TERMS / (SCAN_TERMS + (int64_t)run->plan->term_count);
    *first = p->cursor;
    *most = left < 1 ? 1 : left < block ? left : block;
}

/* ---- Ladders ------------------------------------------------------------- */

/* A ladder that a request needs: the top of a field, or its low end when the weight is negative. */
typedef struct ladder {
    size_t field;
    double weight;
} ladder;

/* Finds the ladders of a request; returns how many. A ladder of the field of the order gives the
 * first documents of a result and no others, so it helps only when all of them match. */
static size_t find_ladders(const tkl__search_run *run, tkl__search_asked asked, ladder *ladders)
{
    const tkl__search_order *order = run->order;
    size_t count = 0;
    if (run->way == TKL__SEARCH_WAY_FIELD && run->count > 0 && !run->loose)
        ladders[count++] = (ladder){order->field, order->down ? 1 : -1};
    for (size_t i = 0; asked == TKL__SEARCH_ASK_HEAVIEST && i < order->weight_count; i++)
        if (order->weights[i] != 0)
            ladders[count++] = (ladder){order->weight_fields[i], order->weights[i]};
    return count;
}

/* Adds the keys of a ladder: the field, and the steps of its top or of its low end. */
static void add_ladder_keys(const tkl__search_shard *shard, const ladder *one,
                            tkl__search_call *call)
{
    size_t first = one->field * TKL__SEARCH_FIELD_STEPS + (one->weight > 0 ? 0 : TKL__SEARCH_STEPS);
    tkl__search_call_key(call, shard->fields[one->field]);
    for (size_t i = 0; i < TKL__SEARCH_STEPS; i++)
        tkl__search_call_key(call, shard->steps[first + i]);
}

/* ---- Words that count for the relevance ---------------------------------- */

/* Adds the keys of the words that documents have several times, and of the bands of lengths. */
static void add_best_keys(const tkl__search_run *run, const tkl__search_shard *shard,
                          tkl__search_call *call)
{
    const tkl__search_plan *plan = run->plan;
    for (size_t i = 0; i < plan->scorer_count; i++) {
        const tkl__search_scorer *scorer = &plan->scorers[i];
        for (size_t k = 0; !scorer->prefix.data && k < TKL__SEARCH_SEVERAL; k++)
            tkl__search_call_several(call, shard, plan->terms[scorer->terms[0]], k);
    }
    for (size_t i = 0; i < TKL__SEARCH_BANDS; i++)
        tkl__search_call_key(call, shard->bands[i]);
}

/* Adds the scorers, behind the number of hits. A single shard knows their weights by itself. */
static void add_best_args(const tkl__search_run *run, tkl__search_call *call)
{
    const tkl__search_plan *plan = run->plan;
    if (run->rarity.weight)
        tkl__args_double(&call->args, run->rarity.length);
    else
        tkl__args_str(&call->args, "");
    tkl__args_int(&call->args, (int64_t)plan->scorer_count);
    for (size_t i = 0; i < plan->scorer_count; i++) {
        const tkl__search_scorer *scorer = &plan->scorers[i];
        if (run->rarity.weight)
            tkl__args_double(&call->args, run->rarity.weight[i]);
        else
            tkl__args_str(&call->args, "");
        tkl__args_str(&call->args, scorer->required ? "1" : "0");
        tkl__args_str(&call->args, scorer->prefix.data ? "1" : "0");
        tkl__args_int(&call->args, (int64_t)scorer->count);
        for (size_t k = 0; k < scorer->count; k++)
            tkl__args_int(&call->args, (int64_t)scorer->terms[k] + 1);
    }
}

/* ---- The call ------------------------------------------------------------ */

/* Adds the key under which the shard may keep the result between two steps of this query. */
static void add_result_key(const tkl__search_run *run, const tkl__search_shard *shard,
                           tkl__search_call *call)
{
    tkl__buf key;
    tkl__buf_init(&key);
    tkl__buf_add(&key, shard->base.data, shard->base.len);
    tkl__buf_addf(&key, ":result:%s", run->token);
    tkl__search_call_key(call, (tkl_bytes){key.data, key.len});
    call->failed = call->failed || key.failed;
    tkl__buf_free(&key);
}

void tkl__search_query_call(tkl__search_run *run, size_t index, tkl__search_call *call)
{
    const tkl__search_plan *plan = run->plan;
    const tkl__search_order *order = run->order;
    const tkl__search_shard *shard = &run->schema->shards[index];
    tkl__search_progress *p = &run->shards[index];
    tkl__search_asked asked = p->asked = choose_order(run, p);
    bool best = asked == TKL__SEARCH_ASK_BEST, sorted = order->kind == TKL__SEARCH_BY_FIELD;
    ladder ladders[TKL_SEARCH_FIELDS_MAX];
    size_t ladder_count = find_ladders(run, asked, ladders);
    int64_t first, most, prefixes = 0;
    find_part(run, p, &first, &most);

    tkl__search_call_begin(call, shard);
    tkl__search_call_key(call,
                         sorted ? shard->fields[order->field] : shard->keys[TKL__SEARCH_META]);
    add_result_key(run, shard, call);
    for (size_t i = 0; i < ladder_count; i++)
        add_ladder_keys(shard, &ladders[i], call);
    for (size_t i = 0; best && i < plan->scorer_count; i++) {
        if (!plan->scorers[i].prefix.data)
            continue;
        tkl__search_call_times_keys(call, shard, &plan->scorers[i], p->made);
        prefixes++;
    }
    tkl__search_call_plan_keys(call, plan, shard, p->made);
    if (best)
        add_best_keys(run, shard, call);

    tkl__args_str(&call->args, run->schema->token);
    tkl__args_int(&call->args, (int64_t)tkl__search_term_at(shard));
    tkl__args_bytes(&call->args, (tkl_bytes){plan->steps.data, plan->steps.len});
    tkl__args_str(&call->args, ORDER_WORDS[asked]);
    tkl__args_str(&call->args, sorted && !run->schema->fields[order->field].numeric ? "1" : "0");
    tkl__args_int(&call->args, first);
    tkl__args_int(&call->args, most);
    tkl__args_bytes(&call->args, p->resume);
    tkl__args_str(&call->args, tkl__search_needs_terms(run) ? "1" : "0");
    tkl__args_str(&call->args, p->version);
    tkl__args_int(&call->args, (int64_t)ladder_count);
    tkl__args_int(&call->args, prefixes);
    tkl__search_call_plan_args(call, plan, index, p->made_before ? "*" : p->made, true);
    for (size_t i = 0; i < ladder_count; i++) {
        tkl__args_int(&call->args, (int64_t)ladders[i].field);
        tkl__args_double(&call->args, ladders[i].weight);
    }
    if (best || asked == TKL__SEARCH_ASK_HEAVIEST)
        tkl__args_int(&call->args, run->offset + run->count + p->more);
    if (best)
        add_best_args(run, call);
}
