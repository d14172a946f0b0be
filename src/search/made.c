/* SPDX-License-Identifier: MIT
 *
 * Bitmaps that are made before a query is answered. A range has one when both the range and the
 * rest of the query have many documents, a union of terms when it has more documents than one
 * script should read. A prefix has several, which say how often documents have its words. They are
 * made in steps of a few milliseconds, and kept for a while for one version of the shard.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/token.h"
#include "search/call.h"
#include "search/query_steps.h"
#include "search/scripts.h"

/* Documents in a step of a range, and terms in a step of a union, which may end earlier. */
#define RANGE_STEP 1500
#define UNION_STEP 250
#define TIMES_STEP 60 /* words of a prefix */
#define TTL_MS     30000

/* The source of a bitmap. */
typedef enum making_kind {
    OF_RANGE,
    OF_UNION,
    OF_TIMES,
} making_kind;

/* A bitmap while it is made, or all bitmaps of a prefix. */
typedef struct making {
    tkl__search_run *run;
    const tkl__search_shard *shard;
    making_kind kind;
    const tkl__search_range *range;   /* OF_RANGE */
    const tkl__search_union *of;      /* OF_UNION */
    const tkl__search_scorer *scorer; /* OF_TIMES */
    const char *token, *wanted; /* versions in the names of the keys: while it is made; complete */
    tkl_bytes bits, made;       /* these keys; empty for a prefix, which has several of each */
    tkl_bytes place;            /* range: where the last step ended, in `reply`; empty at first */
    int64_t from;               /* union: the next term; prefix: the next set of a word */
    bool complete;
    tkl_reply *reply; /* reply to the last step; owned */
    char version[24]; /* version of the shard in the last step */
    char low[TKL__DOUBLE_SIZE + 1], high[TKL__DOUBLE_SIZE + 1]; /* bounds; the call points to them
                                                                   */
} making;

static void write_bound(char *text, double value, bool open)
{
    char number[TKL__DOUBLE_SIZE];
    sprintf(text, "%s%s", open ? "(" : "", tkl__double_text(value, number));
}

/* Adds the keys and arguments of search/range. */
static void add_range(making *m, tkl__search_call *call)
{
    const tkl__search_range *range = m->range;
    write_bound(m->low, range->low, range->low_open);
    write_bound(m->high, range->high, range->high_open || isinf(range->high));
    tkl__search_call_key(call, m->shard->fields[range->field]);
    tkl__search_call_key(call, m->bits);
    tkl__search_call_key(call, m->made);
    for (size_t i = 2 * TKL__SEARCH_STEPS; i < TKL__SEARCH_FIELD_STEPS; i++)
        tkl__search_call_key(call, m->shard->steps[range->field * TKL__SEARCH_FIELD_STEPS + i]);
    tkl__args_str(&call->args, m->run->schema->token);
    tkl__args_int(&call->args, (int64_t)range->field);
    tkl__args_str(&call->args, m->low);
    tkl__args_str(&call->args, m->high);
    tkl__args_bytes(&call->args, m->place);
    tkl__args_int(&call->args, RANGE_STEP);
    tkl__args_int(&call->args, TTL_MS);
}

/* Adds the arguments that search/union and search/times share. */
static void add_step_args(const making *m, bool is_last, tkl__search_call *call)
{
    tkl__args_str(&call->args, m->run->schema->token);
    tkl__args_int(&call->args, (int64_t)tkl__search_term_at(m->shard));
    tkl__args_int(&call->args, m->from);
    tkl__args_str(&call->args, is_last ? "1" : "0");
    tkl__args_int(&call->args, TTL_MS);
}

/* Adds the keys and arguments of search/union. */
static void add_union(const making *m, tkl__search_call *call)
{
    const tkl__search_plan *plan = m->run->plan;
    size_t from = (size_t)m->from, left = m->of->count - from;
    size_t count = left < UNION_STEP ? left : UNION_STEP;
    tkl__search_call_key(call, m->bits);
    tkl__search_call_key(call, m->made);
    for (size_t i = from; i < from + count; i++)
        tkl__search_call_term(call, m->shard, plan->terms[m->of->terms[i]]);
    add_step_args(m, count == left, call);
}

/* A word has this many sets of documents, which have it at least once, 2, 4 and 8 times. */
#define SETS_OF_WORD (1 + TKL__SEARCH_SEVERAL)

/* Adds the keys and arguments of search/times. */
static void add_times(const making *m, tkl__search_call *call)
{
    const tkl__search_scorer *scorer = m->scorer;
    size_t from = (size_t)m->from, all = scorer->count * SETS_OF_WORD, left = all - from;
    size_t count = left < TIMES_STEP * SETS_OF_WORD ? left : TIMES_STEP * SETS_OF_WORD;
    tkl__search_call_times_keys(call, m->shard, scorer, m->token);
    tkl__search_call_times_keys(call, m->shard, scorer, m->wanted);
    tkl__search_call_scratch(call, m->shard, 1);
    tkl__search_call_scratch(call, m->shard, 2);
    for (size_t i = from; i < from + count; i++) {
        tkl_bytes word = m->run->plan->terms[scorer->terms[i / SETS_OF_WORD]];
        if (i % SETS_OF_WORD == 0)
            tkl__search_call_term(call, m->shard, word);
        else
            tkl__search_call_several(call, m->shard, word, i % SETS_OF_WORD - 1);
    }
    add_step_args(m, count == left, call);
}

/* Reads the number of the term or set with which a union or a prefix goes on. */
static int read_next(making *m, const tkl_reply *next)
{
    int64_t from = tkl_reply_int(next);
    size_t all = m->kind == OF_UNION ? m->of->count : m->scorer->count * SETS_OF_WORD;
    m->complete = from < 0;
    if (from >= 0 && (from <= m->from || from >= (int64_t)all))
        return tkl__fail(TKL_EPROTO, "not an answer of search/union or search/times");
    m->from = from;
    return TKL_OK;
}

/* Reads the place from which a range goes on. */
static int read_place(making *m, const tkl_reply *next)
{
    tkl_bytes place = tkl_reply_bytes(next);
    m->complete = place.len == 0;
    if (place.len && tkl__same_bytes(place, m->place))
        return tkl__fail(TKL_EPROTO, "not an answer of search/range");
    m->place = place;
    return TKL_OK;
}

static int read_step(making *m, const tkl_reply *reply)
{
    const tkl_reply *next = tkl_reply_at(reply, 1);
    if (tkl_reply_code(reply) != TKL_OK)
        return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    if (tkl_reply_type_of(reply) == TKL_REPLY_STRING) {
        m->run->outcome = TKL__SEARCH_STALE;
        m->complete = true;
        return TKL_OK;
    }
    snprintf(m->version, sizeof m->version, "%s", tkl_reply_str(tkl_reply_at(reply, 0)));
    return m->kind == OF_RANGE ? read_place(m, next) : read_next(m, next);
}

static int make_step(making *m)
{
    const tkl__script *script = m->kind == OF_RANGE   ? &tkl__lua_search_range
                                : m->kind == OF_UNION ? &tkl__lua_search_union
                                                      : &tkl__lua_search_times;
    tkl__search_call call;
    tkl_reply *reply = NULL;
    tkl__search_call_begin(&call, m->shard);
    if (m->kind == OF_RANGE)
        add_range(m, &call);
    else if (m->kind == OF_UNION)
        add_union(m, &call);
    else
        add_times(m, &call);
    int rc = tkl__search_call_run(&call, m->run->search, script, &reply);
    if (rc == TKL_OK)
        rc = read_step(m, reply);
    tkl__search_call_free(&call);
    tkl_reply_free(m->reply);
    m->reply = reply;
    return rc;
}

/* Writes the key of the bitmap of a range or a union. */
static void write_key(const making *m, tkl__buf *key, const char *version)
{
    if (m->kind == OF_UNION)
        tkl__search_union_key(key, m->shard, m->of, version);
    else if (m->kind == OF_RANGE)
        tkl__search_range_key(key, m->shard, m->range, version);
}

/* Makes a bitmap, or all of a prefix, for the version `wanted` of the shard. Stops early when the
 * shard has another version by now, unless `any` version will do. */
static int make_bitmap(making *m, const char *wanted, bool any)
{
    char token[TKL_TOKEN_SIZE];
    tkl__buf bits, made;
    tkl__token_new(token);
    tkl__buf_init(&bits);
    tkl__buf_init(&made);
    write_key(m, &bits, token);
    write_key(m, &made, wanted);
    m->token = token;
    m->wanted = wanted;
    m->bits = (tkl_bytes){bits.data, bits.len};
    m->made = (tkl_bytes){made.data, made.len};
    int rc = bits.failed || made.failed ? tkl__nomem() : TKL_OK;
    while (rc == TKL_OK && m->run->outcome == TKL__SEARCH_DONE && !m->complete) {
        rc = make_step(m);
        if (!any && m->run->outcome == TKL__SEARCH_DONE && strcmp(m->version, wanted) != 0)
            break;
    }
    tkl_reply_free(m->reply);
    tkl__buf_free(&bits);
    tkl__buf_free(&made);
    return rc;
}

/* Makes all bitmaps that were asked for on one shard. */
static int make_on_shard(tkl__search_run *run, size_t shard, bool last)
{
    const tkl__search_plan *plan = run->plan;
    const struct {
        const bool *asked; /* for each of them, whether a shard has asked for its bitmap */
        size_t count;
    } kinds[] = {
        [OF_RANGE] = {run->make_ranges, plan->range_count},
        [OF_UNION] = {run->make_unions, plan->union_count},
        [OF_TIMES] = {run->make_times, plan->scorer_count},
    };
    tkl__search_progress *progress = &run->shards[shard];
    int rc = TKL_OK;
    if (last)
        tkl__token_new(progress->made);
    else
        snprintf(progress->made, sizeof progress->made, "%s", progress->version);
    progress->made_before = last;
    run->loose = run->loose || last;
    for (making_kind kind = OF_RANGE; kind <= OF_TIMES; kind++)
        for (size_t i = 0; rc == TKL_OK && i < kinds[kind].count; i++) {
            making m = {.run = run, .shard = &run->schema->shards[shard], .kind = kind};
            m.range = kind == OF_RANGE ? &plan->ranges[i] : NULL;
            m.of = kind == OF_UNION ? &plan->unions[i] : NULL;
            m.scorer = kind == OF_TIMES ? &plan->scorers[i] : NULL;
            if (kinds[kind].asked[i])
                rc = make_bitmap(&m, progress->made, last);
        }
    return rc;
}

/* Asks for the bitmaps of a prefix in place of the bitmap of a union with the same terms, which is
 * the first of them. A scorer of one term has no bitmaps. */
static void ask_for_prefixes(tkl__search_run *run)
{
    const tkl__search_plan *plan = run->plan;
    for (size_t i = 0; i < plan->union_count; i++)
        if (plan->unions[i].is_of_prefix && run->make_unions[i]) {
            run->make_times[tkl__search_scorer_of_union(plan, &plan->unions[i]) - plan->scorers] =
                true;
            run->make_unions[i] = false;
        }
    for (size_t i = 0; i < plan->scorer_count; i++)
        run->make_times[i] = run->make_times[i] && plan->scorers[i].prefix.data;
}

int tkl__search_make(tkl__search_run *run, bool last)
{
    int rc = TKL_OK;
    ask_for_prefixes(run);
    for (size_t i = 0; i < run->schema->shard_count; i++)
        if (rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && *run->shards[i].version)
            rc = make_on_shard(run, i, last);
    return rc;
}
