/* SPDX-License-Identifier: MIT
 *
 * Bitmaps that are made before a query is answered: of a range, when both the range and the rest of
 * the query have many documents; of a union of terms, when it has more documents than one script
 * should read. They are made in steps of a few milliseconds, and kept for a while for one version
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
#define TTL_MS     30000

/* A bitmap while it is made: of a range or of a union. */
typedef struct making {
    tkl__search_run *run;
    const tkl__search_shard *shard;
    const tkl__search_range *range;
    const tkl__search_union *of;
    tkl_bytes bits, made; /* keys: while it is made, and when it is complete */
    tkl_bytes place;      /* range: where the last step ended, in `reply`; empty at first */
    int64_t from;         /* union: the next term */
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
    tkl__args_str(&call->args, m->run->schema->token);
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

/* Reads where a union goes on. */
static int read_term(making *m, const tkl_reply *next)
{
    int64_t from = tkl_reply_int(next);
    m->complete = from < 0;
    if (from >= 0 && (from <= m->from || from >= (int64_t)m->of->count))
        return tkl__fail(TKL_EPROTO, "not an answer of search/union");
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
    return m->of ? read_term(m, next) : read_place(m, next);
}

static int make_step(making *m)
{
    const tkl__script *script = m->of ? &tkl__lua_search_union : &tkl__lua_search_range;
    tkl__search_call call;
    tkl_reply *reply = NULL;
    tkl__search_call_begin(&call, m->shard);
    if (m->of)
        union_call(m, &call);
    else
        range_call(m, &call);
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
    if (m->of)
        tkl__search_union_key(key, m->shard, m->of, version);
    else
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
    m->bits = (tkl_bytes){bits.data, bits.len};
    m->made = (tkl_bytes){made.data, made.len};
    int rc = bits.failed || made.failed ? tkl__nomem() : TKL_OK;
    while (rc == TKL_OK && !m->complete) {
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
    for (size_t i = 0; rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && i < plan->range_count;
         i++) {
        making m = {.run = run, .shard = &run->schema->shards[shard], .range = &plan->ranges[i]};
        if (run->make_ranges[i])
            rc = make_bitmap(&m, progress->made, last);
    }
    for (size_t i = 0; rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && i < plan->union_count;
         i++) {
        making m = {.run = run, .shard = &run->schema->shards[shard], .of = &plan->unions[i]};
        if (run->make_unions[i])
            rc = make_bitmap(&m, progress->made, last);
    }
    return rc;
}
