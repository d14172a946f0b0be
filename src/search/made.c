/* SPDX-License-Identifier: MIT
 *
 * Bitmaps that are made before a query is answered: of a range, when both the range and the rest of
 * the query have many documents; of a union of terms, when it has more documents than one script
 * should read; of a prefix, how often the documents have its words. They are made in steps of a few milliseconds, and kept for a while for one version
 * of the shard.
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

/* A bitmap while it is made, or those of a prefix. */
typedef struct making {
    tkl__search_run *run;
    const tkl__search_shard *shard;
    making_kind kind;
    const tkl__search_range *range;
    const tkl__search_union *of;
    const tkl__search_scorer *scorer;
    const char *token, *wanted; /* name the keys while it is made, and when it is complete */
    tkl_bytes bits, made;       /* these keys; not of a prefix */
    tkl_bytes place;            /* range: where the last step ended, in `reply`; empty at first */
    int64_t from; /* union, prefix: the next term, of a prefix the next set of a term */
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

static void range_call(making *m, tkl__search_call *call)
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

static void union_call(const making *m, tkl__search_call *call)
{
    const tkl__search_plan *plan = m->run->plan;
    size_t from = (size_t)m->from, left = m->of->count - from;
    size_t count = left < UNION_STEP ? left : UNION_STEP;
    tkl__buf key;
    tkl__search_call_key(call, m->bits);
    tkl__search_call_key(call, m->made);
    tkl__buf_init(&key);
    for (size_t i = from; i < from + count; i++) {
        tkl__buf_clear(&key);
        tkl__search_term_key(&key, m->shard, plan->terms[m->of->terms[i]]);
        tkl__search_call_key(call, (tkl_bytes){key.data, key.len});
    }
    call->failed = call->failed || key.failed;
    tkl__buf_free(&key);
    tkl__args_str(&call->args, m->run->schema->token);
    tkl__args_int(&call->args, (int64_t)tkl__search_term_at(m->shard));
    tkl__args_int(&call->args, m->from);
    tkl__args_str(&call->args, count == left ? "1" : "0");
    tkl__args_int(&call->args, TTL_MS);
}

/* A word has a set of documents for each of these: those that have it once, 2, 4 and 8 times. */
#define SETS_OF_WORD (1 + TKL__SEARCH_SEVERAL)

static void times_call(const making *m, tkl__search_call *call)
{
    const tkl__search_scorer *scorer = m->scorer;
    size_t from = (size_t)m->from, all = scorer->count * SETS_OF_WORD, left = all - from;
    size_t count = left < TIMES_STEP * SETS_OF_WORD ? left : TIMES_STEP * SETS_OF_WORD;
    tkl__buf term, key;
    tkl__search_call_times_keys(call, m->shard, scorer, m->token);
    tkl__search_call_times_keys(call, m->shard, scorer, m->wanted);
    tkl__buf_init(&term);
    tkl__buf_init(&key);
    for (int i = 0; i < 2; i++) {
        tkl__buf_clear(&key);
        tkl__buf_add(&key, m->shard->keys[TKL__SEARCH_SCRATCH].data,
                     m->shard->keys[TKL__SEARCH_SCRATCH].len);
        tkl__buf_addf(&key, ":%d", i + 1);
        tkl__search_call_key(call, (tkl_bytes){key.data, key.len});
    }
    for (size_t i = from; i < from + count; i++) {
        tkl_bytes word = m->run->plan->terms[scorer->terms[i / SETS_OF_WORD]];
        tkl__buf_clear(&term);
        tkl__buf_clear(&key);
        if (i % SETS_OF_WORD == 0)
            tkl__buf_add(&term, word.data, word.len);
        else
            tkl__search_term_several(&term, word, i % SETS_OF_WORD - 1);
        tkl__search_term_key(&key, m->shard, (tkl_bytes){term.data, term.len});
        tkl__search_call_key(call, (tkl_bytes){key.data, key.len});
    }
    call->failed = call->failed || key.failed || term.failed;
    tkl__buf_free(&term);
    tkl__buf_free(&key);
    tkl__args_str(&call->args, m->run->schema->token);
    tkl__args_int(&call->args, (int64_t)tkl__search_term_at(m->shard));
    tkl__args_int(&call->args, m->from);
    tkl__args_str(&call->args, count == left ? "1" : "0");
    tkl__args_int(&call->args, TTL_MS);
}

/* Reads where a union or a prefix goes on. */
static int read_term(making *m, const tkl_reply *next)
{
    int64_t from = tkl_reply_int(next);
    size_t all = m->kind == OF_UNION ? m->of->count : m->scorer->count * SETS_OF_WORD;
    m->complete = from < 0;
    if (from >= 0 && (from <= m->from || from >= (int64_t)all))
        return tkl__fail(TKL_EPROTO, "not an answer of search/union or search/times");
    m->from = from;
    return TKL_OK;
}

/* Reads where a range goes on. */
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
    return m->kind == OF_RANGE ? read_place(m, next) : read_term(m, next);
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
        range_call(m, &call);
    else if (m->kind == OF_UNION)
        union_call(m, &call);
    else
        times_call(m, &call);
    int rc = tkl__search_call_run(&call, m->run->search, script, &reply);
    if (rc == TKL_OK)
        rc = read_step(m, reply);
    tkl__search_call_free(&call);
    tkl_reply_free(m->reply);
    m->reply = reply;
    return rc;
}

static void write_key(const making *m, tkl__buf *key, const char *version)
{
    if (m->kind == OF_UNION)
        tkl__search_union_key(key, m->shard, m->of, version);
    else if (m->kind == OF_RANGE)
        tkl__search_range_key(key, m->shard, m->range, version);
}

/* Stops early when the shard no longer has the wanted version, unless `any` version will do. */
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

int tkl__search_make(tkl__search_run *run, size_t shard, bool last)
{
    tkl__search_progress *progress = &run->shards[shard];
    const tkl__search_plan *plan = run->plan;
    int rc = TKL_OK;
    if (last)
        tkl__token_new(progress->made);
    else
        snprintf(progress->made, sizeof progress->made, "%s", progress->version);
    progress->made_before = last;
    run->loose = run->loose || last;
    for (size_t i = 0; i < plan->union_count; i++)
        if (plan->unions[i].is_of_prefix && run->make_unions[i])
            run->make_times[tkl__search_scorer_of_union(plan, &plan->unions[i]) - plan->scorers] =
                true;
    making common = {.run = run, .shard = &run->schema->shards[shard]};
    for (size_t i = 0; rc == TKL_OK && i < plan->range_count; i++) {
        making m = common;
        m.kind = OF_RANGE;
        m.range = &plan->ranges[i];
        if (run->make_ranges[i])
            rc = make_bitmap(&m, progress->made, last);
    }
    for (size_t i = 0; rc == TKL_OK && i < plan->union_count; i++) {
        making m = common;
        m.kind = OF_UNION;
        m.of = &plan->unions[i];
        if (run->make_unions[i] && !plan->unions[i].is_of_prefix)
            rc = make_bitmap(&m, progress->made, last);
    }
    for (size_t i = 0; rc == TKL_OK && i < plan->scorer_count; i++) {
        making m = common;
        m.kind = OF_TIMES;
        m.scorer = &plan->scorers[i];
        if (run->make_times[i] && plan->scorers[i].prefix.data)
            rc = make_bitmap(&m, progress->made, last);
    }
    return rc;
}
