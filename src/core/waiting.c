/* SPDX-License-Identifier: MIT */
#include "core/waiting.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/options.h"

/* Pauses before a server that failed is asked again: about 50 ms at first (see tkl__backoff), then
 * longer. The longest one is what a waiter may lose after a server's restart. */
#define FIRST_PAUSE  5
#define PAUSE_MAX_US 250000
/* A wait spends at most one part in this many of its time on servers that do not answer. */
#define PARTS 5
/* With several servers, this is the time of a request at first. Each look that misses answers
 * doubles it, up to the time of a call, since replies may be large. */
#define PATIENCE_US 1000000
/* How many subscriptions are sent together, and the bytes of their channels. The client does not
 * read meanwhile, so all the answers must fit into the buffers on their way. */
#define AHEAD       256
#define AHEAD_BYTES 65536

/* ---- Deadlines ----------------------------------------------------------- */

int64_t tkl__wait_overtime(int64_t call, int64_t until)
{
    int64_t now = tkl__now(), end = until > now ? until : now;
    return end < call - TKL__PROMPT_US ? end + TKL__PROMPT_US : call;
}

int64_t tkl__wait_deadline(tkl__wait *w)
{
    int64_t call = tkl__deadline(w->client, w->timeout_ms);
    int64_t end = tkl__wait_overtime(call, w->deadline);
    if (!w->is_spread || !w->client->route->cluster)
        return end;
    if (w->patience_us == 0)
        w->patience_us = PATIENCE_US;
    return w->patience_us < tkl__left(end) ? tkl__now() + w->patience_us : end;
}

/* ---- Servers that do not answer ------------------------------------------ */

bool tkl__ear_rests(const tkl__ear *ear)
{
    return tkl__now() < ear->rests_until;
}

void tkl__ear_answered(tkl__ear *ear)
{
    ear->code = TKL_OK;
    ear->failures = 0;
    ear->rests_until = 0;
}

/* Whether the wait reaches a server at all. */
static bool any_is_reached(const tkl__wait *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->ears[i]->failures == 0)
            return true;
    return false;
}

void tkl__ear_silent(tkl__wait *w, tkl__ear *ear, int code, int64_t began)
{
    int64_t now = tkl__now(), took = now - began;
    int64_t rest = tkl__backoff(FIRST_PAUSE + ear->failures++, PAUSE_MAX_US);
    ear->code = code;
    w->silent = true;
    if (any_is_reached(w)) {
        ear->rests_until = now + (rest < (PARTS - 1) * took ? (PARTS - 1) * took : rest);
        return;
    }
    ear->rests_until = now + rest; /* no server that answers would have to wait for this one */
    for (size_t i = 0; i < w->count; i++)
        if (w->ears[i]->rests_until > now + PAUSE_MAX_US)
            w->ears[i]->rests_until = now + PAUSE_MAX_US;
}

void tkl__ear_close(tkl__ear *ear)
{
    tkl__unlisten(&ear->second);
    tkl__unlisten(&ear->waiter);
    ear->fresh = false;
}

/* The wait listens again before it ends, because something may have happened meanwhile. */
void tkl__ear_cut(tkl__wait *w, tkl__ear *ear)
{
    tkl__ear_close(ear);
    tkl__ear_silent(w, ear, TKL_EUNKNOWN, tkl__now());
    if (ear->rests_until > w->deadline)
        ear->rests_until = w->deadline;
}

/* At the start of a wait, when all servers are to be left alone: there is nothing else to do. */
static void wake_if_all_rest(tkl__wait *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (!tkl__ear_rests(w->ears[i]))
            return;
    for (size_t i = 0; i < w->count; i++)
        w->ears[i]->rests_until = 0;
}

/* ---- Listening ----------------------------------------------------------- */

static bool hears(const tkl__ear *ear)
{
    return ear->waiter.hub != NULL;
}

static bool is_to_listen(const tkl__ear *ear)
{
    return !hears(ear) && !tkl__ear_rests(ear);
}

/* Sends the subscriptions of the other ears on this server, so that their answers are on the way
 * when it is their turn. */
static void ask_ahead(const tkl__wait *w, const tkl__node *node, tkl__ear *first, int64_t deadline)
{
    tkl_bytes channels[AHEAD];
    size_t count = 0, bytes = 0;
    for (size_t i = 0; i < w->count && count < AHEAD && bytes < AHEAD_BYTES; i++) {
        tkl__ear *ear = w->ears[i];
        if (!is_to_listen(ear) || ear->asked_ahead || !tkl__serves(w->client, node, ear->channel))
            continue;
        ear->asked_ahead = true;
        channels[count++] = ear->channel;
        bytes += ear->channel.len;
    }
    if (count > 0)
        tkl__listen_ahead(&first->waiter, channels, count, deadline);
}

static void note_silence(tkl__wait *w, tkl__ear *ear, int code, int64_t began)
{
    tkl__ear_silent(w, ear, code, began);
    if (w->on_silence)
        w->on_silence(w->arg, ear);
}

/* Leaves the server of `ear` alone, with all ears there that do not listen yet. `node`: the server;
 * NULL: not known. */
static void leave_alone(tkl__wait *w, const tkl__node *node, tkl__ear *ear, int code, int64_t began)
{
    note_silence(w, ear, code, began);
    for (size_t i = 0; node && i < w->count; i++)
        if (is_to_listen(w->ears[i]) && tkl__serves(w->client, node, w->ears[i]->channel))
            note_silence(w, w->ears[i], code, began);
}

/* Begins to listen. Fails only when the wait cannot go on. */
static int listen_with(tkl__wait *w, tkl__ear *ear)
{
    tkl__node *node = NULL;
    int rc = TKL_OK;
    int64_t began = tkl__now(), deadline = tkl__wait_deadline(w);
    tkl__heed(w->end);
    if (w->count > 1)
        rc = tkl__server_of(w->client, ear->channel, deadline, &node);
    if (rc == TKL_OK)
        rc = tkl__listen(w->client, ear->channel, ear->id, deadline, &ear->waiter);
    if (rc == TKL_OK && ear->also.len > 0)
        rc = tkl__overhear(&ear->waiter, ear->also, deadline, &ear->second);
    ear->fresh = rc == TKL_OK;
    if (rc == TKL_OK && w->count > 1 && !ear->asked_ahead)
        ask_ahead(w, node, ear, deadline);
    tkl__heed(NULL);
    if (rc != TKL_OK)
        tkl__ear_close(ear);
    if (tkl__may_pass(rc) && !w->fails_at_once) {
        leave_alone(w, node, ear, rc, began);
        rc = TKL_OK;
    }
    tkl__node_unref(node);
    return rc;
}

/* Listens where it does not yet, and should. When the time is up, one attempt must do. */
static int listen_everywhere(tkl__wait *w)
{
    int rc = TKL_OK;
    for (size_t i = 0; i < w->count; i++)
        w->ears[i]->asked_ahead = false;
    for (size_t i = 0; rc == TKL_OK && i < w->count; i++) {
        if (i > 0 && tkl__left(w->deadline) == 0)
            break;
        if (is_to_listen(w->ears[i]))
            rc = listen_with(w, w->ears[i]);
    }
    return rc;
}

/* ---- Sleeping ------------------------------------------------------------ */

static int open_bell(tkl__wait *w)
{
    if (w->bell || w->has_own_bell)
        return TKL_OK;
    w->own_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->has_own_bell = w->own_bell >= 0;
    return w->has_own_bell ? TKL_OK : tkl__fail_errno(TKL_EIO, "eventfd");
}

/* Sleeps at several ears, or with a bell. *ear: the one that the event is about; or NULL. */
static int sleep_at_all(tkl__wait *w, int64_t until, tkl__event *event, tkl__ear **ear,
                        tkl_bytes *message)
{
    size_t which = w->count;
    tkl__waiter **waiters = calloc(w->count + 1, sizeof *waiters);
    int rc = waiters ? open_bell(w) : tkl__nomem();
    if (rc == TKL_OK) {
        for (size_t i = 0; i < w->count; i++)
            waiters[i] = &w->ears[i]->waiter;
        *event = tkl__await_any(w->client, waiters, w->count, w->bell ? *w->bell : w->own_bell,
                                until, &which, message);
        *ear = which < w->count ? w->ears[which] : NULL;
    }
    free(waiters);
    return rc;
}

static int64_t wake_up_time(const tkl__wait *w)
{
    int64_t until = w->again < w->deadline ? w->again : w->deadline;
    for (size_t i = 0; i < w->count; i++)
        if (!hears(w->ears[i]) && w->ears[i]->rests_until < until)
            until = w->ears[i]->rests_until;
    return until;
}

/* Sleeps once. TKL_OK: there are news, to look at; TKL__NOT_YET: there are none. */
static int sleep_once(tkl__wait *w, tkl__news *news)
{
    tkl__event event = TKL__TIME_UP;
    int64_t until = wake_up_time(w);
    int rc = TKL_OK;
    *news = (tkl__news){.kind = TKL__NEWS_LOOK};
    tkl__rest_begin();
    if (w->count > 1 || w->bell) {
        rc = sleep_at_all(w, until, &event, &news->ear, &news->message);
    } else if (w->count == 0 || !hears(w->ears[0])) {
        rc = tkl__sleep(w->client, until);
    } else {
        news->ear = w->ears[0];
        event = tkl__await(&news->ear->waiter, until, &news->message);
    }
    tkl__rest_end();
    if (rc != TKL_OK)
        return rc;
    switch (event) {
    case TKL__MESSAGE:
        news->kind = TKL__NEWS_MESSAGE;
        return TKL_OK;
    case TKL__LOOK:
        return TKL_OK;
    case TKL__CUT:
        tkl__ear_cut(w, news->ear);
        return TKL__NOT_YET;
    case TKL__INTERRUPTED:
        return tkl__interrupted();
    case TKL__TIME_UP:
        break;
    }
    news->ear = NULL;
    return tkl__now() >= w->again && tkl__left(w->deadline) > 0 ? TKL_OK : TKL__NOT_YET;
}

/* ---- The loop ------------------------------------------------------------ */

static bool any_is_fresh(const tkl__wait *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->ears[i]->fresh)
            return true;
    return false;
}

/* Notes the result of a look. Returns whether the wait may go on. */
static bool note_look(tkl__wait *w, int rc)
{
    bool failed = tkl__may_pass(rc) && !w->fails_at_once;
    if (rc != TKL__NOT_YET && !failed)
        return false;
    if (w->silent && w->patience_us < TKL__FOREVER / 2)
        w->patience_us *= 2;
    for (size_t i = 0; i < w->count; i++) {
        tkl__ear *ear = w->ears[i];
        if (failed && hears(ear)) {
            tkl__ear_close(ear);
            tkl__ear_silent(w, ear, rc, w->began);
        } else if (!failed && w->count == 1 && hears(ear)) {
            tkl__ear_answered(ear);
        }
        ear->fresh = false;
    }
    return true;
}

/* The result of a wait whose time is up. */
static int result_at_end(const tkl__wait *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (hears(w->ears[i]))
            return TKL__NOT_YET;
    return w->count > 0 && w->ears[0]->code != TKL_OK ? w->ears[0]->code : TKL__NOT_YET;
}

static bool is_over(const tkl__wait *w)
{
    return w->is_over && w->is_over(w->arg);
}

bool tkl__wait_goes_on(tkl__wait *w, int *rc, tkl__news *news)
{
    bool over = w->begun && is_over(w);
    if (!w->begun) {
        w->begun = true;
        w->again = w->again == 0 ? TKL__FOREVER : w->again;
        wake_if_all_rest(w);
    } else if (!note_look(w, *rc)) {
        return false;
    }
    /* Each round listens where the wait does not yet, and sleeps if there is nothing to look at. */
    for (*rc = TKL__NOT_YET; *rc == TKL__NOT_YET && !over;) {
        bool is_last = tkl__left(w->deadline) == 0;
        *news = (tkl__news){.kind = TKL__NEWS_BEGUN};
        *rc = listen_everywhere(w);
        if (*rc == TKL_OK && !any_is_fresh(w))
            *rc = is_last || is_over(w) ? TKL__NOT_YET : sleep_once(w, news);
        over = is_last || is_over(w);
    }
    if (*rc != TKL_OK) {
        *rc = *rc == TKL__NOT_YET ? result_at_end(w) : *rc;
        return false;
    }
    w->silent = false;
    w->began = tkl__now();
    w->again = w->began + TKL__WAIT_LOOK_US;
    return true;
}

/* An interruption, or `end`, ends the requests of a look; a server that answers may finish. */
static int look_once(tkl__wait *w, tkl__look *look, void *arg, const tkl__news *news)
{
    tkl__begin_request(w->client);
    tkl__heed(w->end);
    tkl__let_finish(tkl__deadline(w->client, w->timeout_ms));
    int rc = look(arg, w, news);
    tkl__let_finish(0);
    tkl__heed(NULL);
    return tkl__end_request(w->client, rc);
}

/* Listening costs no round trip when the client is subscribed. An interrupted client cannot listen,
 * but still gets what is there. */
static bool is_to_look_first(const tkl__wait *w)
{
    return w->looks_first && (tkl__is_interrupted(w->client) || w->count == 0 ||
                              !tkl__hears(w->client, w->ears[0]->channel));
}

int tkl__wait_until(tkl__wait *w, tkl__look *look, void *arg)
{
    tkl__news news = {.kind = TKL__NEWS_FIRST};
    int rc = is_to_look_first(w) ? look_once(w, look, arg, &news) : TKL__NOT_YET;
    if (rc != TKL__NOT_YET)
        return rc;
    while (tkl__wait_goes_on(w, &rc, &news))
        rc = look_once(w, look, arg, &news);
    return rc;
}

void tkl__wait_end(tkl__wait *w)
{
    for (size_t i = 0; i < w->count; i++)
        tkl__ear_close(w->ears[i]);
    if (w->has_own_bell)
        close(w->own_bell);
    w->has_own_bell = w->begun = false;
}
