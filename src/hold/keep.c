/* SPDX-License-Identifier: MIT
 *
 * The handle's view of its lease, the keeper's callbacks, and listening for a loss.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "hold/inside.h"
#include "hold/scripts.h"
#include "line/line.h"

/* Shortest time allowed for a renewal. */
#define PATIENCE_MIN_US 100000

/* ---- State of the handle: with the mutex --------------------------------- */

static int64_t saturating_add(int64_t a, int64_t b)
{
    return a > TKL__FOREVER - b ? TKL__FOREVER : a + b;
}

/* A lease begins, or begins again. */
static void note_lease(tkl__hold *h, int64_t started, int64_t lease_us)
{
    h->phase = TKL__HOLD_HELD;
    h->started = started;
    h->lease_us = lease_us;
    h->expires = saturating_add(started, lease_us);
}

static bool is_over(const tkl__hold *h)
{
    return tkl__lease_now() >= h->expires;
}

/* Whether the keeper renews: it is held, not lost, and no operation of the owner is under way. */
static bool is_kept(const tkl__hold *h)
{
    return h->phase == TKL__HOLD_HELD || h->phase == TKL__HOLD_DOUBTED;
}

/* Begins an operation of the owner. From now on, answers to earlier requests of the keeper are
 * ignored. */
static void begin_operation(tkl__hold *h, tkl__hold_phase phase)
{
    h->before = h->phase;
    h->phase = phase;
    h->was_due = false;
    h->serial++;
}

/* When the keeper is due: to renew, to confirm, or to report the loss; TKL__FOREVER: never. */
static int64_t next_due(const tkl__hold *h)
{
    int64_t again = tkl__lease_now() + REPEAT_US;
    int64_t at_end = h->rules.on_lost ? h->expires : TKL__FOREVER;
    switch (h->phase) {
    case TKL__HOLD_HELD:
        if (!h->confirmed)
            return h->started + TKL__LINE_CONFIRM_US;
        return h->rules.auto_renew ? h->started + h->lease_us / 3 : at_end;
    case TKL__HOLD_DOUBTED:
        return again < h->expires ? again : h->expires;
    case TKL__HOLD_RENEWING:
        return at_end;
    case TKL__HOLD_FREEING:
        return again < h->expires ? again : TKL__FOREVER;
    case TKL__HOLD_LOST:
        return h->rules.on_lost ? tkl__lease_now() : TKL__FOREVER;
    case TKL__HOLD_NOTHING:
    case TKL__HOLD_UNSURE:
    case TKL__HOLD_RELEASING:
    case TKL__HOLD_FREED:
    case TKL__HOLD_TOLD:
        break;
    }
    return TKL__FOREVER;
}

/* ---- Listening while the name is held ------------------------------------ */

/* A break by an operator, and a script that finds that the server lost the state, publish a message
 * on the channel of all waiters of the name. The keeper then renews at once, and the server's
 * answer shows whether the hold is lost. The follower's thread calls this at every message and
 * whenever it starts to listen. */
static int renew_now(void *arg, int64_t deadline, int64_t *again)
{
    tkl__hold *h = arg;
    (void)deadline;
    (void)again;
    return tkl__keep(h->client, &h->kept, tkl__now());
}

static void watch_hold(tkl__hold *h)
{
    if (!h->rules.watch || h->watched)
        return;
    h->watch =
        (tkl__follower){.client = h->client, .channel = h->everyone, .load = renew_now, .arg = h};
    tkl__follow_init(&h->watch);
    h->watched = tkl__follow_start(&h->watch) == TKL_OK; /* else the next renewal shows it */
}

void tkl__hold_unwatch(tkl__hold *h)
{
    if (h->watched)
        tkl__follow_close(&h->watch);
    h->watched = false;
}

/* ---- Changes by the owner: with the turn --------------------------------- */

/* Ends a change: unlocks the mutex, and tells the keeper when it is due. */
static void unlock_and_keep(tkl__hold *h)
{
    int64_t due = h->was_due && is_kept(h) ? tkl__lease_now() : next_due(h);
    h->was_due = false;
    tkl__hold_wake_onlookers(h);
    pthread_mutex_unlock(&h->mutex);
    if (due != TKL__FOREVER)
        tkl__keep(h->client, &h->kept, tkl__lease_end(due));
}

tkl__hold_phase tkl__hold_phase_now(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    tkl__hold_phase phase = h->phase;
    pthread_mutex_unlock(&h->mutex);
    return phase;
}

void tkl__hold_become_held(tkl__hold *h, const tkl__hold_grant *g)
{
    h->out_of_reach = false;
    h->depth = 1;
    pthread_mutex_lock(&h->mutex);
    h->fence = g->fence;
    h->serial++;
    h->confirmed = g->lease_us >= tkl__hold_us(h->rules.lease_ms);
    note_lease(h, g->started, g->lease_us);
    unlock_and_keep(h);
    watch_hold(h);
}

void tkl__hold_become_free(tkl__hold *h)
{
    tkl__hold_unwatch(h);
    h->depth = 0;
    pthread_mutex_lock(&h->mutex);
    h->phase = TKL__HOLD_NOTHING;
    h->fence = 0;
    h->token[0] = '\0';
    h->serial++;
    tkl__hold_wake_onlookers(h);
    pthread_mutex_unlock(&h->mutex);
    tkl__unkeep(h->client, &h->kept);
}

void tkl__hold_become_unsure(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->phase = TKL__HOLD_UNSURE;
    pthread_mutex_unlock(&h->mutex);
}

int tkl__hold_begin_renewal(tkl__hold *h, bool downgrade)
{
    int rc = TKL_OK;
    pthread_mutex_lock(&h->mutex);
    switch (h->phase) {
    case TKL__HOLD_HELD:
    case TKL__HOLD_DOUBTED:
    case TKL__HOLD_FREEING:
        begin_operation(h, TKL__HOLD_RENEWING);
        h->may_share |= downgrade;
        break;
    case TKL__HOLD_LOST:
    case TKL__HOLD_TOLD:
    case TKL__HOLD_FREED:
        rc = tkl__no(TKL_NOTOWNER);
        break;
    default:
        rc = tkl__fail(TKL_EINVAL, "this handle holds nothing");
    }
    pthread_mutex_unlock(&h->mutex);
    return rc;
}

int tkl__hold_end_renewal(tkl__hold *h, int rc, const tkl__hold_grant *g)
{
    pthread_mutex_lock(&h->mutex);
    if (h->phase != TKL__HOLD_RENEWING) { /* the lease ended before the answer came */
        rc = rc == TKL_OK ? tkl__no(TKL_NOTOWNER) : rc;
    } else if (rc == TKL_OK) {
        h->confirmed = true;
        note_lease(h, g->started, g->lease_us);
    } else {
        h->phase = rc == TKL_NOTOWNER ? TKL__HOLD_LOST : h->before;
    }
    unlock_and_keep(h);
    return rc;
}

tkl__hold_phase tkl__hold_begin_release(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    tkl__hold_phase phase = h->phase;
    if (is_kept(h)) {
        phase = is_over(h) ? TKL__HOLD_LOST : TKL__HOLD_HELD;
        begin_operation(h, TKL__HOLD_RELEASING);
    } else if (phase == TKL__HOLD_TOLD) {
        phase = TKL__HOLD_LOST;
    }
    pthread_mutex_unlock(&h->mutex);
    return phase;
}

void tkl__hold_end_release(tkl__hold *h, int rc, bool may_hold)
{
    if (rc == TKL_OK || rc == TKL_NOTOWNER) {
        tkl__hold_become_free(h);
        return;
    }
    bool unanswered = rc == TKL_EUNKNOWN || rc == TKL_ETIMEOUT;
    pthread_mutex_lock(&h->mutex);
    if (h->phase == TKL__HOLD_RELEASING)
        h->phase = unanswered && may_hold ? TKL__HOLD_FREEING : h->before;
    unlock_and_keep(h);
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl__hold *hold_of(tkl__kept *kept)
{
    return (tkl__hold *)(void *)((char *)kept - offsetof(tkl__hold, kept));
}

/* Unlocks the mutex; calls on_lost() if the hold is lost and the owner does not know yet. */
static void unlock_and_tell(tkl__hold *h)
{
    bool tell = h->phase == TKL__HOLD_LOST && h->rules.on_lost;
    if (tell)
        h->phase = TKL__HOLD_TOLD;
    tkl__hold_wake_onlookers(h);
    pthread_mutex_unlock(&h->mutex);
    if (tell)
        h->rules.on_lost(h->rules.owner);
}

/* With the mutex: makes the release that had no answer, or a renewal. A renewal names only the keys
 * that it needs, for a cluster that moves the slot: the state, and the sharers unless this is a
 * writer. */
static void prepare_call(tkl__hold *h, tkl__invocation *call)
{
    memcpy(h->renewal.token, h->token, sizeof h->token);
    h->renewal.serial = h->serial;
    h->renewal.started = tkl__lease_now();
    h->renewal.releases = h->phase == TKL__HOLD_FREEING;
    h->renewal.args[0] = h->everyone;
    h->renewal.args[1] = tkl_str(h->renewal.token);
    if (h->renewal.releases) {
        *call = tkl__hold_invoke(h, &tkl__lua_hold_release, h->renewal.args, 2);
        return;
    }
    snprintf(h->renewal.lease, sizeof h->renewal.lease, "%" PRId64,
             tkl__hold_us(h->rules.lease_ms));
    h->renewal.args[2] = tkl_str(h->renewal.lease);
    h->renewal.args[3] = tkl_str("grow");
    *call = tkl__hold_invoke(h, &tkl__lua_hold_renew, h->renewal.args, 4);
    call->nkeys = h->may_share ? 2 : 1;
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    bool over = is_over(h);
    if (over && (is_kept(h) || h->phase == TKL__HOLD_RENEWING))
        h->phase = TKL__HOLD_LOST;
    h->was_due = h->phase == TKL__HOLD_RENEWING;
    bool renews = is_kept(h) && (h->rules.auto_renew || !h->confirmed);
    bool asks = renews || (h->phase == TKL__HOLD_FREEING && !over);
    if (asks)
        prepare_call(h, call);
    unlock_and_tell(h);
    return asks;
}

/* With the mutex: the lease as requested, or the rest of a longer one. A server whose clock was set
 * back grants more; that lease ends early if the clock is corrected. */
static int64_t believable_lease(const tkl__hold *h, const tkl__hold_grant *g)
{
    int64_t asked = tkl__hold_us(h->rules.lease_ms), left = h->expires - g->started;
    int64_t most = left > asked ? left : asked;
    return g->lease_us < most ? g->lease_us : most;
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    tkl__hold *h = hold_of(kept);
    tkl__hold_grant g = {0};
    if (rc == TKL_OK)
        rc = tkl__hold_read_grant(reply, h->renewal.started, &g);
    pthread_mutex_lock(&h->mutex);
    bool is_current = h->serial == h->renewal.serial; /* the owner has done nothing since */
    if (is_current && h->renewal.releases) {
        if (rc == TKL_OK || rc == TKL_NOTOWNER)
            h->phase = TKL__HOLD_FREED;
    } else if (is_current && rc == TKL_OK) {
        h->confirmed = true;
        note_lease(h, g.started, believable_lease(h, &g));
    } else if (is_current) {
        h->phase = rc == TKL_NOTOWNER ? TKL__HOLD_LOST : TKL__HOLD_DOUBTED;
    }
    unlock_and_tell(h);
}

static int64_t keeper_due(tkl__kept *kept)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    int64_t due = next_due(h);
    pthread_mutex_unlock(&h->mutex);
    return tkl__lease_end(due);
}

/* A quarter of the lease, to leave time for several attempts; and not past its end, to report the
 * loss in time. */
static int64_t keeper_patience(tkl__kept *kept)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    int64_t patience = h->lease_us / 4, left = h->expires - tkl__lease_now();
    pthread_mutex_unlock(&h->mutex);
    if (left < patience)
        patience = left;
    return patience > PATIENCE_MIN_US ? patience : PATIENCE_MIN_US;
}

const tkl__kept tkl__hold_kept = {
    .prepare = keeper_prepare,
    .done = keeper_done,
    .due = keeper_due,
    .patience = keeper_patience,
};
