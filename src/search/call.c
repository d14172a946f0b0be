/* SPDX-License-Identifier: MIT */
#include "search/call.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/number.h"

void tkl__search_call_free(tkl__search_call *call)
{
    for (size_t i = 0; i < call->nkeys; i++)
        free((char *)call->keys[i].data);
    free(call->keys);
    tkl__args_free(&call->args);
}

void tkl__search_call_key(tkl__search_call *call, tkl_bytes key)
{
    bool room = tkl__grow(&call->keys, call->nkeys, sizeof *call->keys);
    char *copy = room ? tkl__copy_bytes(key) : NULL;
    if (copy)
        call->keys[call->nkeys++] = (tkl_bytes){copy, key.len};
    else
        call->failed = true;
}

/* Adds the key in a buffer, and frees the buffer. */
static void take_key(tkl__search_call *call, tkl__buf *key)
{
    tkl__search_call_key(call, (tkl_bytes){key->data, key->len});
    call->failed = call->failed || key->failed;
    tkl__buf_free(key);
}

void tkl__search_call_term(tkl__search_call *call, const tkl__search_shard *shard, tkl_bytes term)
{
    tkl__buf key;
    tkl__buf_init(&key);
    tkl__search_term_key(&key, shard, term);
    take_key(call, &key);
}

void tkl__search_call_several(tkl__search_call *call, const tkl__search_shard *shard,
                              tkl_bytes word_term, size_t index)
{
    tkl__buf key;
    tkl__buf_init(&key);
    tkl__search_term_key(&key, shard, tkl_str(""));
    tkl__search_term_several(&key, word_term, index);
    take_key(call, &key);
}

void tkl__search_call_scratch(tkl__search_call *call, const tkl__search_shard *shard, size_t number)
{
    tkl__buf key;
    tkl__buf_init(&key);
    tkl__buf_add(&key, shard->keys[TKL__SEARCH_SCRATCH].data, shard->keys[TKL__SEARCH_SCRATCH].len);
    tkl__buf_addf(&key, ":%zu", number);
    take_key(call, &key);
}

void tkl__search_call_begin(tkl__search_call *call, const tkl__search_shard *shard)
{
    *call = (tkl__search_call){.keys = NULL};
    tkl__args_init(&call->args);
    for (size_t i = 0; i < TKL__SEARCH_SCRIPT_KEYS; i++)
        tkl__search_call_key(call, shard->keys[i]);
}

void tkl__search_range_key(tkl__buf *out, const tkl__search_shard *shard,
                           const tkl__search_range *range, const char *version)
{
    char low[TKL__DOUBLE_SIZE], high[TKL__DOUBLE_SIZE];
    tkl__buf_add(out, shard->base.data, shard->base.len);
    tkl__buf_addf(out, ":range:%s:%zu:%s%s:%s%s", *version ? version : "-", range->field,
                  range->low_open ? "(" : "", tkl__double_text(range->low, low),
                  range->high_open ? "(" : "", tkl__double_text(range->high, high));
}

/* Appends to the base of a key the name of a prefix's bitmap. Bitmap 1 has all documents of the
 * prefix. */
static void add_times_key(tkl__buf *out, const char *name, const char *version, int number)
{
    tkl__buf_addf(out, ":times:%s:%s:%d", *version ? version : "-", name, number);
}

void tkl__search_union_key(tkl__buf *out, const tkl__search_shard *shard,
                           const tkl__search_union *u, const char *version)
{
    tkl__buf_add(out, shard->base.data, shard->base.len);
    if (u->is_of_prefix)
        add_times_key(out, u->name, version, 1);
    else
        tkl__buf_addf(out, ":union:%s:%s", *version ? version : "-", u->name);
}

void tkl__search_call_times_keys(tkl__search_call *call, const tkl__search_shard *shard,
                                 const tkl__search_scorer *scorer, const char *version)
{
    for (int i = 0; i < TKL__SEARCH_TIMES; i++) {
        tkl__buf key;
        tkl__buf_init(&key);
        tkl__buf_add(&key, shard->base.data, shard->base.len);
        add_times_key(&key, scorer->name, version, i + 1);
        take_key(call, &key);
    }
}

/* The number of scratch keys: one for each operator, and one for the whole plan. */
static size_t temps_of(const tkl__search_plan *plan)
{
    return plan->operators + 1;
}

void tkl__search_call_plan_keys(tkl__search_call *call, const tkl__search_plan *plan,
                                const tkl__search_shard *shard, const char *version)
{
    tkl__buf key;
    for (size_t i = 0; i < plan->range_count; i++) {
        tkl__search_call_key(call, shard->fields[plan->ranges[i].field]);
        tkl__buf_init(&key);
        tkl__search_range_key(&key, shard, &plan->ranges[i], version);
        take_key(call, &key);
    }
    for (size_t i = 0; i < plan->union_count; i++) {
        tkl__buf_init(&key);
        tkl__search_union_key(&key, shard, &plan->unions[i], version);
        take_key(call, &key);
    }
    for (size_t i = 0; i < temps_of(plan); i++)
        tkl__search_call_scratch(call, shard, i + 1);
    for (size_t i = 0; i < plan->term_count; i++)
        tkl__search_call_term(call, shard, plan->terms[i]);
}

/* Whether the script has to check that a prefix still has the words of the plan. */
static bool is_checked(const tkl__search_plan *plan, const tkl__search_prefix *prefix)
{
    return !plan->fixed && !prefix->cut;
}

static int64_t checked_prefixes(const tkl__search_plan *plan)
{
    int64_t count = 0;
    for (const tkl__search_prefix *p = plan->prefixes; p; p = p->next)
        count += is_checked(plan, p);
    return count;
}

void tkl__search_call_plan_args(tkl__search_call *call, const tkl__search_plan *plan, size_t shard,
                                const char *version, bool prefixes)
{
    tkl__args_str(&call->args, version);
    tkl__args_int(&call->args, (int64_t)temps_of(plan));
    tkl__args_int(&call->args, (int64_t)plan->range_count);
    tkl__args_int(&call->args, (int64_t)plan->union_count);
    if (prefixes)
        tkl__args_int(&call->args, checked_prefixes(plan));
    for (size_t i = 0; i < plan->range_count; i++) {
        const tkl__search_range *range = &plan->ranges[i];
        tkl__args_double(&call->args, range->low);
        tkl__args_str(&call->args, range->low_open ? "1" : "0");
        tkl__args_double(&call->args, range->high);
        /* Documents without a value have the score infinity: an open bound leaves them out. */
        tkl__args_str(&call->args, range->high_open || isinf(range->high) ? "1" : "0");
    }
    for (const tkl__search_prefix *p = plan->prefixes; prefixes && p; p = p->next) {
        if (!is_checked(plan, p))
            continue;
        tkl__args_bytes(&call->args, p->low);
        tkl__args_bytes(&call->args, p->high);
        tkl__args_int(&call->args, p->counts[shard]);
    }
}

void tkl__search_call_add(tkl__batch *batch, const tkl__search_call *call,
                          const tkl__script *script)
{
    tkl__batch_fail(batch, call->failed ? tkl__nomem() : TKL_OK);
    tkl__batch_eval(batch, script, &(tkl__keys){call->keys, call->nkeys}, &call->args, true);
}

int tkl__search_call_run(const tkl__search_call *call, const tkl_search *search,
                         const tkl__script *script, tkl_reply **reply)
{
    if (call->failed)
        return tkl__nomem();
    return tkl__eval(search->client, script, &(tkl__keys){call->keys, call->nkeys}, &call->args,
                     tkl__search_deadline(search), true, reply);
}
