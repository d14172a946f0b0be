/* SPDX-License-Identifier: MIT
 *
 * Waiting in line: see "Handing over" and "Looking" in the essay of hold.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "hold/inside.h"

/* Those who look are spread over this time, after the one who promised. */
#define LOOK_SPREAD_US 400000
#define LOOK_SLACK_US  5000
/* Waiting for however long, somebody looks at least this often. */
#define LOOK_MAX_US INT64_C(300000000)

/* ---- What one who waits is told ------------------------------------------ */

/* " grant FENCE STAMP LEASE": when did the lease start by our clock? Not later than it came, and
 * not earlier than the server's clock says. */
static bool parse_grant(tkl_bytes message, const tkl__busy *last, tkl__grant *g)
{
    char text[96];
    uint64_t fence;
    int64_t stamp, lease;
    if (message.len >= sizeof text)
        return false;
    memcpy(text, message.data, message.len);
    text[message.len] = '\0';
    if (sscanf(text, " grant %" SCNu64 " %" SCNd64 " %" SCNd64, &fence, &stamp, &lease) != 3)
        return false;
    int64_t by_server = last->started + (stamp - last->server_now);
    int64_t now = tkl__lease_now();
    *g = (tkl__grant){fence, lease, by_server < now ? by_server : now};
    return true;
}

static bool parse_look(tkl_bytes message, int64_t *us)
{
    char text[48];
    if (message.len >= sizeof text)
        return false;
    memcpy(text, message.data, message.len);
    text[message.len] = '\0';
    return sscanf(text, " look %" SCNd64, us) == 1;
}

/* A grant that lay about for a good part of its time is renewed before anybody relies on it. */
static int accept_grant(tkl__hold *h, tkl__grant *g)
{
    if (tkl__lease_now() - g->started < g->lease_us / 2)
        return TKL_OK;
    int rc = tkl__hold_ask_renewal(h, h->rules.ttl_ms, false, g);
    return rc == TKL_NOTOWNER ? TKL_EUNKNOWN : rc; /* missed: back to the line */
}

/* ---- Waiting ------------------------------------------------------------- */

static void plan_look(tkl__waiter *w, const tkl__busy *b)
{
    int64_t delay = b->left_us < LOOK_MAX_US ? b->left_us : LOOK_MAX_US;
    if (!b->looker)
        delay += tkl__backoff(20, LOOK_SPREAD_US);
    tkl__look_at(w, tkl__now() + (delay > 0 ? delay : 0) + LOOK_SLACK_US);
}

/* Listens, and asks with a place in the line. */
static int enter(tkl__hold *h, tkl__waiter *w, int64_t deadline, tkl__grant *g, tkl__busy *b)
{
    int64_t call_deadline = tkl__call_deadline(h->client, NULL);
    if (deadline < call_deadline)
        call_deadline = deadline;
    tkl__unlisten(w);
    int rc = tkl__listen(h->client, h->channel, tkl_str(h->token), call_deadline, w);
    if (rc == TKL_OK)
        rc = tkl__hold_ask(h, true, deadline, g, b);
    if (rc == TKL_BUSY)
        plan_look(w, b);
    return rc;
}

static bool is_cancelled(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    bool cancelled = h->cancelled;
    pthread_mutex_unlock(&h->mutex);
    return cancelled;
}

void tkl__hold_cancel(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->cancelled = true;
    if (h->waiting)
        tkl__call_off(h->waiting);
    pthread_mutex_unlock(&h->mutex);
}

/* tkl__await() that can be cancelled. */
static tkl__event await(tkl__hold *h, tkl__waiter *w, int64_t deadline, tkl_bytes *message)
{
    pthread_mutex_lock(&h->mutex);
    bool cancelled = h->cancelled;
    h->waiting = cancelled ? NULL : w;
    pthread_mutex_unlock(&h->mutex);
    if (cancelled)
        return TKL__TIME_UP;
    tkl__event event = tkl__await(w, deadline, message);
    pthread_mutex_lock(&h->mutex);
    h->waiting = NULL;
    pthread_mutex_unlock(&h->mutex);
    return event;
}

/* One step of waiting. TKL_BUSY: go on. */
static int wait_step(tkl__hold *h, tkl__waiter *w, int64_t deadline, tkl__grant *g, tkl__busy *b)
{
    tkl_bytes message;
    int64_t us;
    int rc = TKL_BUSY;
    switch (await(h, w, deadline, &message)) {
    case TKL__MESSAGE:
        if (parse_grant(message, b, g))
            return accept_grant(h, g);
        if (parse_look(message, &us))
            tkl__look_at(w, tkl__now() + us + LOOK_SLACK_US);
        return TKL_BUSY;
    case TKL__LOOK:
        rc = tkl__hold_ask(h, true, deadline, g, b);
        if (rc == TKL_BUSY && tkl__strayed(w))
            return TKL_EUNKNOWN; /* as good as cut */
        if (rc == TKL_BUSY)
            plan_look(w, b);
        else if (tkl__hold_may_pass(rc))
            tkl__look_at(w, tkl__now() + REPEAT_US);
        return tkl__hold_may_pass(rc) ? TKL_BUSY : rc;
    case TKL__CUT:
        return TKL_EUNKNOWN;
    case TKL__INTERRUPTED:
        return tkl__interrupted();
    case TKL__TIME_UP:
        break;
    }
    return rc;
}

/* Waits in line until the deadline. What passes, such as a server's restart, is sat out. */
static int wait_in_line(tkl__hold *h, int64_t deadline, tkl__grant *g)
{
    tkl__waiter w = {.hub = NULL};
    tkl__busy b = {0};
    int rc = enter(h, &w, deadline, g, &b);
    while (tkl__left(deadline) > 0 && !is_cancelled(h)) {
        if (rc == TKL_BUSY)
            rc = wait_step(h, &w, deadline, g, &b);
        else if (tkl__hold_may_pass(rc)) {
            int64_t again = tkl__now() + tkl__backoff(6, REPEAT_US);
            tkl__sleep_until(again < deadline ? again : deadline);
            rc = enter(h, &w, deadline, g, &b);
        } else
            break;
    }
    if (rc == TKL_BUSY || tkl__hold_may_pass(rc)) {
        int left = tkl__hold_ask_leave(h, g);
        rc = rc == TKL_BUSY || left == TKL_OK || left == TKL_BUSY ? left : rc;
    }
    if (rc == TKL_OK && w.hub) /* the others of this client look when this lease ends */
        tkl__look_at(&w, tkl__lease_end(g->started + g->lease_us) + LOOK_SLACK_US);
    tkl__unlisten(&w);
    return rc;
}

int tkl__hold_try_or_wait(tkl__hold *h, int64_t wait_ms, tkl__grant *g)
{
    tkl__busy b;
    if (is_cancelled(h))
        wait_ms = 0;
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    if (wait_ms == 0 || !tkl__hears(h->client, h->channel)) {
        int rc = tkl__hold_ask(h, false, TKL__FOREVER, g, &b);
        if (rc != TKL_BUSY || wait_ms == 0)
            return rc;
    }
    return wait_in_line(h, deadline, g);
}
