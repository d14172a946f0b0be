/* SPDX-License-Identifier: MIT
 *
 * Sums kept in memory and sent once an interval.
 *
 * Adding is one atomic addition. The first addition after a quiet time puts the buffer on the
 * keeper's list; the keeper sends the sums of all buffers of a client in one round trip, and takes
 * a buffer off its list when nothing was added meanwhile.
 *
 * An amount that the server did not get is added to the sum again. An amount that may have arrived
 * is not, because it might be counted twice; it is reported as unsure.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/keeper.h"
#include "core/options.h"
#include "counter/counter.h"

#define INTERVAL_MS 1000

struct tkl_counter_buffer {
    const tkl_counter *counter;
    int64_t interval_us, timeout_ms;
    unsigned generation; /* fork generation: a child must not send its parent's sum */

    atomic_int_fast64_t pending, sent; /* `sent`: being sent, result unknown */
    atomic_bool listed;                /* the keeper has the buffer on its list, or will soon */
    atomic_int_fast64_t counted, unsure, lost;
    atomic_int code;

    tkl__kept kept;
    int64_t sending; /* amount that the keeper is sending */
    tkl__counter_count count;
};

/* ---- Sending ------------------------------------------------------------- */

/* Takes the pending amount, at most as much as one add allows. */
static int64_t take_pending(tkl_counter_buffer *b)
{
    int64_t amount = atomic_exchange(&b->pending, 0), rest = 0;
    if (amount > TKL_COUNTER_MAX)
        rest = amount - TKL_COUNTER_MAX;
    else if (amount < -TKL_COUNTER_MAX)
        rest = amount + TKL_COUNTER_MAX;
    if (rest)
        atomic_fetch_add(&b->pending, rest);
    atomic_fetch_add(&b->sent, amount - rest);
    return amount - rest;
}

static void settle_amount(tkl_counter_buffer *b, int64_t amount, int rc)
{
    if (rc == TKL_OK)
        atomic_fetch_add(&b->counted, amount);
    else if (tkl_is_unknown(rc))
        atomic_fetch_add(&b->unsure, amount);
    else if (rc == TKL_EINVAL || rc == TKL_EREFUSED || rc == TKL_ETYPE || rc == TKL_EDAMAGED)
        atomic_fetch_add(&b->lost, amount);
    else
        atomic_fetch_add(&b->pending, amount);
    atomic_fetch_sub(&b->sent, amount);
    atomic_store(&b->code, rc);
}

static int send_pending(tkl_counter_buffer *b)
{
    tkl_client *client = b->counter->client;
    int rc = TKL_OK;
    for (int64_t amount; rc == TKL_OK && (amount = take_pending(b)) != 0;) {
        tkl__counter_count count;
        tkl_reply *reply = NULL;
        tkl__invocation call = tkl__counter_call(b->counter, amount, &count);
        rc = tkl__run(client, &call, tkl__deadline(client, b->timeout_ms), &reply);
        if (rc == TKL_OK)
            rc = tkl__counter_result(reply);
        tkl_reply_free(reply);
        settle_amount(b, amount, rc);
    }
    return rc;
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl_counter_buffer *buffer_of(tkl__kept *kept)
{
    return (tkl_counter_buffer *)(void *)((char *)kept - offsetof(tkl_counter_buffer, kept));
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl_counter_buffer *b = buffer_of(kept);
    b->sending = take_pending(b);
    if (b->sending == 0)
        return false;
    *call = tkl__counter_call(b->counter, b->sending, &b->count);
    return true;
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    tkl_counter_buffer *b = buffer_of(kept);
    settle_amount(b, b->sending, rc == TKL_OK ? tkl__counter_result(reply) : rc);
}

/* The thread that sets `listed` adds the buffer to the keeper's list. */
static int64_t keeper_due(tkl__kept *kept)
{
    tkl_counter_buffer *b = buffer_of(kept);
    atomic_store(&b->listed, false);
    if (atomic_load(&b->pending) == 0 || atomic_exchange(&b->listed, true))
        return TKL__FOREVER;
    return tkl__now() + b->interval_us;
}

/* ---- Handles ------------------------------------------------------------- */

int tkl_counter_buffer_open(tkl_counter *counter, const tkl_counter_buffer_options *options,
                            tkl_counter_buffer **out)
{
    int64_t interval_ms = options ? options->interval_ms : 0;
    int64_t timeout_ms = options ? options->timeout_ms : 0;
    *out = NULL;
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", timeout_ms, 0, TKL__MS_MAX},
                                {"interval_ms", interval_ms, 0, TKL__MS_MAX});
    if (rc != TKL_OK)
        return rc;
    tkl_counter_buffer *b = calloc(1, sizeof *b);
    if (!b)
        return tkl__nomem();
    b->counter = counter;
    b->interval_us = (interval_ms ? interval_ms : INTERVAL_MS) * 1000;
    b->timeout_ms = timeout_ms ? timeout_ms : counter->timeout_ms;
    b->generation = tkl__fork_generation();
    b->kept = (tkl__kept){.prepare = keeper_prepare, .done = keeper_done, .due = keeper_due};
    *out = b;
    return TKL_OK;
}

static int check_process(const tkl_counter_buffer *b)
{
    return b->generation == tkl__fork_generation()
               ? TKL_OK
               : tkl__fail(TKL_EINVAL, "this buffer is the parent's: a child opens its own");
}

int tkl_counter_buffer_add(tkl_counter_buffer *b, int64_t amount)
{
    int rc = check_process(b);
    if (rc == TKL_OK && (amount > TKL_COUNTER_MAX || amount < -TKL_COUNTER_MAX))
        rc = tkl__check_number("amount", amount, -TKL_COUNTER_MAX, TKL_COUNTER_MAX);
    if (rc != TKL_OK)
        return rc;
    atomic_fetch_add_explicit(&b->pending, amount, memory_order_seq_cst);
    if (!atomic_load(&b->listed) && !atomic_exchange(&b->listed, true) &&
        tkl__keep(b->counter->client, &b->kept, tkl__now() + b->interval_us) != TKL_OK)
        atomic_store(&b->listed, false); /* the amount stays pending; the next add tries again */
    return TKL_OK;
}

int tkl_counter_buffer_flush(tkl_counter_buffer *b)
{
    int rc = check_process(b);
    return rc == TKL_OK ? send_pending(b) : rc;
}

void tkl_counter_buffer_stats_get(tkl_counter_buffer *b, tkl_counter_buffer_stats *stats)
{
    *stats = (tkl_counter_buffer_stats){.pending = atomic_load(&b->sent) + atomic_load(&b->pending),
                                        .counted = atomic_load(&b->counted),
                                        .unsure = atomic_load(&b->unsure),
                                        .lost = atomic_load(&b->lost),
                                        .code = atomic_load(&b->code)};
}

int tkl_counter_buffer_close(tkl_counter_buffer *b, tkl_counter_buffer_stats *stats)
{
    int rc = TKL_OK;
    if (stats)
        memset(stats, 0, sizeof *stats);
    if (!b)
        return rc;
    if (b->generation == tkl__fork_generation()) {
        tkl__unkeep_wait(b->counter->client, &b->kept);
        rc = send_pending(b);
        if (stats)
            tkl_counter_buffer_stats_get(b, stats);
    }
    free(b);
    return rc;
}
