/* SPDX-License-Identifier: MIT
 *
 * What the handle believes about its lease, and what the keeper does for it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "hold/inside.h"
#include "hold/scripts.h"

/* A grant is confirmed this long after it came; see FIRST_LEASE in hold.inc.lua. */
#define CONFIRM_US 500000
/* A renewal is given this long at least. */
#define PATIENCE_MIN_US 100000

/* ---- What the handle believes -------------------------------------------- */

static int64_t saturating_add(int64_t a, int64_t b)
{
    return a > TKL__FOREVER - b ? TKL__FOREVER : a + b;
}

void tkl__hold_note_lease(tkl__hold *h, int64_t started, int64_t lease_us)
{
    h->started = started;
    h->lease_us = lease_us;
    h->expires = saturating_add(started, lease_us);
    h->suspect = h->freeing = h->freed = false;
}

/* When the keeper should look after it: to renew, to confirm, or to tell that it is lost. */
int64_t tkl__hold_next_due(const tkl__hold *h)
{
    if (!h->held || h->told || h->freed)
        return TKL__FOREVER;
    if (h->freeing) {
        int64_t again = tkl__lease_now() + REPEAT_US;
        return again < h->expires ? again : TKL__FOREVER;
    }
    if (h->lost)
        return h->rules.on_lost ? tkl__lease_now() : TKL__FOREVER;
    if (h->suspect) {
        int64_t again = tkl__lease_now() + REPEAT_US;
        return again < h->expires ? again : h->expires;
    }
    if (h->short_lease)
        return h->started + CONFIRM_US;
    if (h->rules.auto_renew)
        return h->started + h->lease_us / 3;
    return h->rules.on_lost ? h->expires : TKL__FOREVER;
}

void tkl__hold_become_held(tkl__hold *h, const tkl__hold_grant *g)
{
    pthread_mutex_lock(&h->mutex);
    h->held = true;
    h->unsure = h->lost = h->told = h->out_of_reach = false;
    h->depth = 1;
    h->fence = g->fence;
    h->serial++;
    h->short_lease = g->lease_us < tkl__hold_us(h->rules.lease_ms);
    tkl__hold_note_lease(h, g->started, g->lease_us);
    int64_t due = tkl__hold_next_due(h);
    pthread_mutex_unlock(&h->mutex);
    if (due != TKL__FOREVER)
        tkl__keep(h->client, &h->kept, tkl__lease_end(due));
    tkl__hold_watch(h);
}

void tkl__hold_become_free(tkl__hold *h)
{
    tkl__hold_unwatch(h);
    pthread_mutex_lock(&h->mutex);
    h->held = h->unsure = h->suspect = h->short_lease = h->freeing = h->freed = false;
    h->depth = 0;
    h->fence = 0;
    h->token[0] = '\0';
    h->serial++;
    pthread_mutex_unlock(&h->mutex);
    tkl__unkeep(h->client, &h->kept);
}

void tkl__hold_become_unsure(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->unsure = true;
    pthread_mutex_unlock(&h->mutex);
}

void tkl__hold_become_freeing(tkl__hold *h, bool may_hold)
{
    pthread_mutex_lock(&h->mutex);
    h->freeing = may_hold;
    int64_t due = tkl__hold_next_due(h);
    pthread_mutex_unlock(&h->mutex);
    if (may_hold && due != TKL__FOREVER)
        tkl__keep(h->client, &h->kept, tkl__lease_end(due));
}

bool tkl__hold_is_freed(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    bool freed = h->freed;
    pthread_mutex_unlock(&h->mutex);
    return freed;
}

/* Marks it lost; says whether on_lost() is to be called. */
static bool become_lost(tkl__hold *h, uint64_t serial)
{
    pthread_mutex_lock(&h->mutex);
    bool first = h->held && !h->told && !h->freeing && !h->releasing && h->serial == serial;
    if (first)
        h->lost = h->told = true;
    pthread_mutex_unlock(&h->mutex);
    return first && h->rules.on_lost;
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl__hold *hold_of(tkl__kept *kept)
{
    return (tkl__hold *)(void *)((char *)kept - offsetof(tkl__hold, kept));
}

/* With the mutex. */
static void prepare_renewal(tkl__hold *h, tkl__invocation *call)
{
    snprintf(h->renewal.lease, sizeof h->renewal.lease, "%" PRId64,
             tkl__hold_us(h->rules.lease_ms));
    h->renewal.args[2] = tkl_str(h->renewal.lease);
    h->renewal.args[3] = tkl_str("");
    *call = tkl__hold_invoke(h, &tkl__lua_hold_renew, h->renewal.args, 4);
    if (!h->shared)
        call->nkeys = 1; /* the state is enough, also while a cluster moves the slot */
}

/* With the mutex. */
static void prepare_call(tkl__hold *h, tkl__invocation *call)
{
    memcpy(h->renewal.token, h->token, sizeof h->token);
    h->renewal.serial = h->serial;
    h->renewal.started = tkl__lease_now();
    h->renewal.releases = h->freeing;
    h->renewal.args[0] = h->everyone;
    h->renewal.args[1] = tkl_str(h->renewal.token);
    if (h->freeing)
        *call = tkl__hold_invoke(h, &tkl__lua_hold_release, h->renewal.args, 2);
    else
        prepare_renewal(h, call);
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    bool over = h->lost || tkl__lease_now() >= h->expires;
    bool wanted = h->freeing ? !h->freed : h->rules.auto_renew || h->short_lease;
    bool ask = h->held && !over && wanted;
    uint64_t serial = h->serial;
    if (ask)
        prepare_call(h, call);
    pthread_mutex_unlock(&h->mutex);
    if (over && become_lost(h, serial))
        h->rules.on_lost(h->rules.owner);
    return ask;
}

/* With the mutex: the lease as asked for, or what is left of a longer one. A server whose clock was
 * set back grants more; it ends early if that clock is set right again. */
static int64_t believable(const tkl__hold *h, const tkl__hold_grant *g)
{
    int64_t asked = tkl__hold_us(h->rules.lease_ms), left = h->expires - g->started;
    int64_t most = left > asked ? left : asked;
    return g->lease_us < most ? g->lease_us : most;
}

static void renewal_answered(tkl__hold *h, const tkl__hold_grant *g)
{
    pthread_mutex_lock(&h->mutex);
    if (h->held && h->serial == h->renewal.serial && !h->freeing) {
        h->short_lease = false;
        tkl__hold_note_lease(h, g->started, believable(h, g));
    }
    pthread_mutex_unlock(&h->mutex);
}

/* Nothing was there to renew. A release that is under way may have been quicker. */
static void renewal_refused(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->suspect = h->releasing && h->held && h->serial == h->renewal.serial;
    pthread_mutex_unlock(&h->mutex);
    if (become_lost(h, h->renewal.serial))
        h->rules.on_lost(h->rules.owner);
}

static void renewal_failed(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->suspect = h->held && h->serial == h->renewal.serial && !h->freeing;
    pthread_mutex_unlock(&h->mutex);
}

static void release_answered(tkl__hold *h, int rc)
{
    pthread_mutex_lock(&h->mutex);
    if (h->serial == h->renewal.serial)
        h->freed = rc == TKL_OK || rc == TKL_NOTOWNER;
    pthread_mutex_unlock(&h->mutex);
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    tkl__hold *h = hold_of(kept);
    tkl__hold_grant g;
    if (rc == TKL_OK)
        rc = tkl__hold_read_grant(reply, h->renewal.started, &g);
    if (h->renewal.releases)
        release_answered(h, rc);
    else if (rc == TKL_OK)
        renewal_answered(h, &g);
    else if (rc == TKL_NOTOWNER)
        renewal_refused(h);
    else
        renewal_failed(h);
}

static int64_t keeper_due(tkl__kept *kept)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    int64_t due = tkl__hold_next_due(h);
    pthread_mutex_unlock(&h->mutex);
    return tkl__lease_end(due);
}

/* Several attempts in the time of a lease; and its end is not reported late. */
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
