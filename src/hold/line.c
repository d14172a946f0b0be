/* SPDX-License-Identifier: MIT
 *
 * Waiting in line: see "Handing over", "Looking" and "Lost places" in the essay of hold.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "hold/inside.h"

/* Waiters of clients other than the looker's look within this time after the looker. */
#define LOOK_SPREAD_US 400000
#define LOOK_SLACK_US  5000
/* One waiter of each client looks after this many heartbeats, however long the lease is: the server
 * may have lost the line, or the looker may hang. */
#define LOOK_BEATS 2

/* Internal, never returned to callers: the waiter has to listen and ask for its place again. */
#define ENTER_AGAIN 1000

/* The channels a thread listens to while it waits. */
typedef struct ears {
    tkl__waiter own; /* hand-overs to waiters of this client */
    tkl__waiter all; /* calls to all waiters of the name */
    bool doubted;    /* a request of this wait had no answer and may have been executed */
} ears;

/* ---- Messages ------------------------------------------------------------ */

static const char *as_text(tkl_bytes message, char text[96])
{
    if (message.len >= 96)
        return "";
    memcpy(text, message.data, message.len);
    text[message.len] = '\0';
    return text;
}

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

static bool parse_look(const char *text, int64_t *us)
{
    return sscanf(text, " look %" SCNd64, us) == 1 && *us >= 0;
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

static void stop_listening(ears *e)
{
    tkl__unlisten(&e->all);
    tkl__unlisten(&e->own);
}

/* One request of a wait. An interrupt ends it; give_up_place() then gives back what the request may
 * have left. */
static int ask(tkl__hold *h, bool wait, int64_t deadline, tkl__hold_grant *g, tkl__hold_busy *b)
{
    tkl__begin_request(h->client);
    return tkl__end_request(h->client, tkl__hold_ask(h, wait, deadline, g, b));
}

/* Listens, and asks with a place in the line. */
static int enter(tkl__hold *h, ears *e, int64_t deadline, tkl__hold_grant *g, tkl__hold_busy *b)
{
    int64_t call_deadline = tkl__hold_deadline(h);
    if (deadline < call_deadline)
        call_deadline = deadline;
    stop_listening(e);
    int rc = tkl__listen(h->client, h->channel, tkl_str(h->token), call_deadline, &e->own);
    if (rc == TKL_OK)
        rc = tkl__overhear(&e->own, h->everyone, call_deadline, &e->all);
    if (rc == TKL_OK)
        rc = ask(h, true, deadline, g, b);
    if (rc == TKL_BUSY)
        plan_look(h, &e->own, b->left_us, b->looker);
    return rc;
}

/* Asks again: the time to look has come, or the server lost the line. */
static int look(tkl__hold *h, ears *e, int64_t deadline, tkl__hold_grant *g, tkl__hold_busy *b)
{
    int rc = ask(h, true, deadline, g, b);
    e->doubted |= tkl_is_unknown(rc);
    if (rc == TKL_BUSY)
        plan_look(h, &e->own, b->left_us, b->looker);
    else if (tkl__may_pass(rc))
        tkl__look_at(&e->own, tkl__now() + REPEAT_US);
    return tkl__may_pass(rc) ? TKL_BUSY : rc;
}

/* Renews a grant that is older than half its lease before the caller relies on it. */
static int accept_grant(tkl__hold *h, tkl__hold_grant *g)
{
    if (tkl__lease_now() - g->started < g->lease_us / 2)
        return TKL_OK;
    tkl__begin_request(h->client);
    int rc = tkl__hold_ask_renewal(h, h->rules.lease_ms, false, g);
    rc = tkl__end_request(h->client, rc);
    return rc == TKL_NOTOWNER ? ENTER_AGAIN : rc; /* the lease was missed: back to the line */
}

/* ---- Waiting ------------------------------------------------------------- */

/* One step of waiting. TKL_BUSY: go on. */
static int wait_step(tkl__hold *h, ears *e, int64_t deadline, tkl__hold_grant *g, tkl__hold_busy *b)
{
    tkl_bytes message;
    char buffer[96];
    int64_t us;
    switch (tkl__await(&e->own, deadline, &message)) {
    case TKL__MESSAGE: {
        const char *text = as_text(message, buffer);
        if (parse_grant(text, b, g))
            return accept_grant(h, g);
        if (strcmp(text, " recall") == 0)
            return look(h, e, deadline, g, b);
        if (parse_look(text, &us))
            plan_look(h, &e->own, us, true);
        return TKL_BUSY;
    }
    case TKL__LOOK:
        return look(h, e, deadline, g, b);
    case TKL__CUT:
        return ENTER_AGAIN;
    case TKL__INTERRUPTED:
        return tkl__interrupted();
    case TKL__TIME_UP:
        break;
    }
    return TKL_BUSY;
}

static int enter_later(tkl__hold *h, ears *e, int64_t deadline, tkl__hold_grant *g,
                       tkl__hold_busy *b)
{
    int64_t at = tkl__now() + tkl__backoff(6, REPEAT_US);
    int rc = tkl__sleep(h->client, at < deadline ? at : deadline);
    return rc == TKL_OK ? enter(h, e, deadline, g, b) : rc;
}

/* Gives up the place in the line when the wait ends without the lock. `why` is the reason;
 * `doubted`: a request had no answer and may have been executed. */
static int give_up_place(tkl__hold *h, int why, bool doubted, tkl__hold_grant *g)
{
    int left = tkl__hold_ask_leave(h, g);
    if (left == TKL_OK)
        return TKL_OK; /* granted just before */
    if (left == TKL_BUSY)
        return why == TKL_EINTR ? tkl__interrupted() : tkl__no(TKL_BUSY);
    if (why == TKL_BUSY || why == ENTER_AGAIN || why == TKL_EINTR)
        why = left;
    return doubted ? tkl__in_doubt(why) : why;
}

/* Waits in line until the deadline. Passing failures, such as a server's restart, are retried. */
static int wait_in_line(tkl__hold *h, int64_t deadline, tkl__hold_grant *g)
{
    ears e = {.own = {.hub = NULL}, .all = {.hub = NULL}};
    tkl__hold_busy b = {0};
    int rc = enter(h, &e, deadline, g, &b);
    while (tkl__left(deadline) > 0) {
        e.doubted |= tkl_is_unknown(rc);
        if (rc == TKL_BUSY)
            rc = wait_step(h, &e, deadline, g, &b);
        else if (rc == ENTER_AGAIN || tkl__may_pass(rc))
            rc = enter_later(h, &e, deadline, g, &b);
        else
            break;
    }
    e.doubted |= tkl_is_unknown(rc);
    if (rc == TKL_BUSY || rc == ENTER_AGAIN || rc == TKL_EINTR || tkl__may_pass(rc))
        rc = give_up_place(h, rc, e.doubted, g);
    else if (e.doubted)
        rc = tkl__in_doubt(rc);
    if (rc == TKL_OK && e.own.hub) /* other waiters of this client look when this lease ends */
        tkl__look_at(&e.own, tkl__lease_end(g->started + g->lease_us) + LOOK_SLACK_US);
    stop_listening(&e);
    return rc;
}

int tkl__hold_try_or_wait(tkl__hold *h, int64_t deadline, tkl__hold_grant *g)
{
    tkl__hold_busy b;
    bool wait = deadline != TKL__HOLD_TRY;
    if (!wait || tkl__is_interrupted(h->client) || !tkl__hears(h->client, h->channel)) {
        if (!wait)
            return tkl__hold_ask(h, false, TKL__FOREVER, g, &b);
        int rc = ask(h, false, TKL__FOREVER, g, &b);
        if (rc == TKL_EINTR)
            return give_up_place(h, rc, true, g);
        if (rc != TKL_BUSY)
            return rc;
    }
    return wait_in_line(h, deadline, g);
}
