/* SPDX-License-Identifier: MIT
 *
 * Waiting in line: see "Handing over", "Looking" and "Lost places" in the essay of hold.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "hold/inside.h"

/* Waiters of clients other than the looker's look within this time after the looker. */
#define LOOK_SPREAD_US 400000
#define LOOK_SLACK_US  5000
/* One waiter of each client looks after this many heartbeats, however long the lease is: the server
 * may have lost the line, or the looker may hang. */
#define LOOK_BEATS 2

/* A thread that waits, or is about to. */
typedef struct line_waiter {
    tkl__hold *hold;
    tkl__hold_grant *grant;
    tkl__hold_busy busy; /* the last answer: its clock dates grants */
    bool in_line;        /* certainly or possibly */
    bool doubted;        /* a request of this wait had no answer and may have been executed */
} line_waiter;

/* ---- Messages ------------------------------------------------------------ */

/* Parses " grant FENCE STAMP LEASE" and works out when the lease started by our clock: not later
 * than now, and as early as the server's clock says. The last answer said that the lock was not
 * free; a grant with a stamp from before it was missed (or the server's clock was set back). Such a
 * grant counts as ended, so that the caller renews it at the server before relying on it. */
static bool parse_grant(const char *text, const tkl__hold_busy *last, tkl__hold_grant *g)
{
    uint64_t fence;
    int64_t stamp, lease;
    if (sscanf(text, " grant %" SCNu64 " %" SCNd64 " %" SCNd64, &fence, &stamp, &lease) != 3)
        return false;
    if (lease <= 0 || lease > TKL__HOLD_US_MAX)
        return false;
    int64_t now = tkl__lease_now();
    bool since = stamp >= last->server_now && stamp - last->server_now < TKL__HOLD_US_MAX;
    int64_t by_server = last->started + (since ? stamp - last->server_now : -lease);
    *g = (tkl__hold_grant){fence, lease, by_server < now ? by_server : now};
    return true;
}

/* ---- Asking -------------------------------------------------------------- */

/* Plans the next look for when a lease ends, in `us`, or sooner. */
static void plan_look(const tkl__hold *h, tkl__waiter *w, int64_t us, bool looker)
{
    int64_t most = LOOK_BEATS * h->client->heartbeat_us;
    int64_t delay = (us < most ? us : most) + LOOK_SLACK_US;
    if (!looker)
        delay += tkl__backoff(20, LOOK_SPREAD_US);
    tkl__look_at(w, tkl__now() + delay);
}

/* Asks for the lock, with a place in the line. A waiter without a place hears nothing and asks
 * again soon. */
static int ask_in_line(line_waiter *me, tkl__wait *wait, tkl__waiter *own)
{
    me->in_line = true;
    int rc = tkl__hold_ask_acquire(me->hold, true, tkl__wait_deadline(wait), me->grant, &me->busy);
    me->doubted |= tkl_is_unknown(rc);
    if (rc != TKL_BUSY)
        return rc;
    if (me->busy.placeless) {
        wait->again = tkl__now() + tkl__backoff(6, REPEAT_US);
        return TKL__NOT_YET;
    }
    plan_look(me->hold, own, me->busy.left_us, me->busy.looker);
    return TKL__NOT_YET;
}

/* Asks again: the time to look has come, or the server lost the line. A failure that may pass makes
 * this waiter look again soon; it goes on listening. */
static int ask_again(line_waiter *me, tkl__wait *wait, tkl__waiter *own)
{
    int rc = ask_in_line(me, wait, own);
    if (!tkl__may_pass(rc) || tkl__is_interrupted(me->hold->client))
        return rc;
    tkl__look_at(own, tkl__now() + REPEAT_US);
    return TKL__NOT_YET;
}

/* Renews a grant that is older than half its lease before the caller relies on it. When the lease
 * was missed, goes back to the line. */
static int accept_grant(line_waiter *me, tkl__wait *wait, tkl__ear *ear)
{
    tkl__hold_grant *g = me->grant;
    if (tkl__lease_now() - g->started < g->lease_us / 2)
        return TKL_OK;
    int rc = tkl__hold_ask_renew(me->hold, me->hold->rules.lease_ms, false, g);
    me->doubted |= tkl_is_unknown(rc);
    if (rc != TKL_NOTOWNER)
        return rc;
    tkl__ear_cut(wait, ear);
    return TKL__NOT_YET;
}

/* ---- Waiting ------------------------------------------------------------- */

static int heed_message(line_waiter *me, tkl__wait *wait, tkl__ear *ear, tkl_bytes message)
{
    char text[96] = "";
    int64_t us;
    if (message.len < sizeof text) { /* no message of tackle is longer */
        memcpy(text, message.data, message.len);
        text[message.len] = '\0';
    }
    if (parse_grant(text, &me->busy, me->grant))
        return accept_grant(me, wait, ear);
    if (strcmp(text, " recall") == 0 || strcmp(text, "recall ") == 0) /* to it, or to all */
        return ask_again(me, wait, &ear->waiter);
    if (sscanf(text, " look %" SCNd64, &us) == 1 && us >= 0)
        plan_look(me->hold, &ear->waiter, us, true);
    return TKL__NOT_YET;
}

static int look_in_line(void *arg, tkl__wait *wait, const tkl__news *news)
{
    line_waiter *me = arg;
    tkl__ear *ear = wait->ears[0];
    wait->again = TKL__FOREVER; /* one waiter of this client looks for all: see plan_look() */
    switch (news->kind) {
    case TKL__NEWS_FIRST: {
        int rc = tkl__hold_ask_acquire(me->hold, false, tkl__hold_deadline(me->hold), me->grant,
                                       &me->busy);
        me->doubted |= tkl_is_unknown(rc);
        return rc == TKL_BUSY ? TKL__NOT_YET : rc;
    }
    case TKL__NEWS_BEGUN:
        return ask_in_line(me, wait, &ear->waiter);
    case TKL__NEWS_MESSAGE:
        return heed_message(me, wait, ear, news->message);
    case TKL__NEWS_LOOK:
        break;
    }
    return ask_again(me, wait, &ear->waiter);
}

/* Gives up the place in the line when the wait ends without the lock. `why` is the reason. */
static int give_up_place(const line_waiter *me, int why)
{
    bool may_stand = me->hold->in_line || me->doubted || why == TKL_EINTR;
    int left = may_stand ? tkl__hold_ask_leave(me->hold, me->grant) : TKL_BUSY;
    if (left == TKL_OK)
        return TKL_OK; /* granted just before */
    if (left == TKL_BUSY)
        return why == TKL_EINTR ? tkl__interrupted() : tkl__no(TKL_BUSY);
    if (why == TKL__NOT_YET || why == TKL_EINTR)
        why = left;
    return me->doubted ? tkl__in_doubt(why) : why;
}

int tkl__hold_try_or_wait(tkl__hold *h, int64_t deadline, tkl__hold_grant *g)
{
    line_waiter me = {.hold = h, .grant = g};
    if (deadline == TKL__HOLD_TRY)
        return tkl__hold_ask_acquire(h, false, tkl__hold_deadline(h), g, &me.busy);
    tkl__ear ear = {.channel = h->channel, .id = tkl_str(h->token), .also = h->everyone};
    tkl__wait wait = {.client = h->client,
                      .timeout_ms = h->rules.timeout_ms,
                      .deadline = deadline,
                      .ears = TKL__EARS(&ear),
                      .count = 1,
                      .looks_first = true};
    int rc = tkl__wait_until(&wait, look_in_line, &me);
    if (rc == TKL__NOT_YET || rc == TKL_EINTR || (me.in_line && tkl__may_pass(rc)))
        rc = give_up_place(&me, rc);
    else if (me.in_line && me.doubted)
        rc = tkl__in_doubt(rc);
    if (rc == TKL_OK) /* other waiters of this client look when this lease ends */
        tkl__look_at(&ear.waiter, tkl__lease_end(g->started + g->lease_us) + LOOK_SLACK_US);
    tkl__wait_end(&wait);
    return rc;
}
