/* SPDX-License-Identifier: MIT
 *
 * Waiting in line: see "Waiting" and "Looking" in the essay of queue.c. One thread stands in as
 * many lines as the consumer has sources.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "queue/consumer.h"
#include "queue/scripts.h"

/* The server counts in milliseconds: a moment is over one later. */
#define LOOK_SLACK_US 1000
/* Those who look behind the first keep this distance, lest the first be gone. */
#define RANK_FIRST_US 20000
#define RANK_US       2000
#define RANK_MAX_US   1000000
/* Waiting for however long, one looks at least this often. */
#define LOOK_MAX_MS 300000
/* What a request may need beyond the deadline, when the server is gone. */
#define OVERTIME_US 2000000

/* One who waits at one source. */
typedef struct stander {
    tkl__source *source;
    tkl__waiter waiter; /* while it is not listening, it is out and has to enter */
    tkl__ask ask;       /* the last */
    bool in_line;       /* surely, or perhaps */
    int code;           /* of the last request; TKL_EMPTY: nothing was there */
} stander;

/* All who wait for the consumer. */
typedef struct line {
    tkl_consumer *consumer;
    size_t max;
    int64_t deadline;
    tkl__haul *haul;
    bool entered; /* everywhere, or tried to */
    size_t count;
    stander *all;
    tkl__waiter **waiters; /* of each */
    /* For one trip: */
    stander **some;
    tkl__source **sources;
    tkl__ask *asks;
} line;

/* ---- When to stop -------------------------------------------------------- */

void tkl_consumer_cancel(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    atomic_store(&c->ends_at, tkl__now() + TKL__PARTING_US);
    if (c->waiting)
        tkl__call_off(c->waiting);
    if (c->bell >= 0)
        eventfd_write(c->bell, 1);
    pthread_mutex_unlock(&c->mutex);
}

/* That of a parent would be rung for both. */
static int open_bell(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    if (c->bell >= 0 && c->generation != tkl__fork_generation()) {
        close(c->bell);
        c->bell = -1;
    }
    if (c->bell < 0) {
        c->generation = tkl__fork_generation();
        c->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    int rc = c->bell < 0 ? tkl__fail_errno(TKL_EIO, "eventfd") : TKL_OK;
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static bool is_cancelled(const line *l)
{
    return atomic_load(&l->consumer->ends_at) != 0;
}

/* tkl__await() that can be called off. */
static tkl__event await_one(const line *l, tkl_bytes *message)
{
    tkl_consumer *c = l->consumer;
    tkl__waiter *w = &l->all[0].waiter;
    pthread_mutex_lock(&c->mutex);
    bool over = is_cancelled(l);
    c->waiting = over ? NULL : w;
    pthread_mutex_unlock(&c->mutex);
    if (over)
        return TKL__TIME_UP;
    tkl__event event = tkl__await(w, l->deadline, message);
    pthread_mutex_lock(&c->mutex);
    c->waiting = NULL;
    pthread_mutex_unlock(&c->mutex);
    return event;
}

/* When the first of those who are out tries to enter. */
static int64_t next_entry(const line *l)
{
    int64_t at = l->deadline;
    for (size_t i = 0; i < l->count; i++)
        if (!l->all[i].waiter.hub && l->all[i].source->away_until < at)
            at = l->all[i].source->away_until;
    return at;
}

/* The one for whom there is something. NULL: none, but it may be time to enter or to stop. */
static stander *await(const line *l, tkl__event *event, tkl_bytes *message)
{
    size_t which = 0;
    if (l->count == 1 && l->all[0].waiter.hub)
        *event = await_one(l, message);
    else
        *event =
            tkl__await_any(l->waiters, l->count, l->consumer->bell, next_entry(l), &which, message);
    return which < l->count ? &l->all[which] : NULL;
}

/* ---- Asking -------------------------------------------------------------- */

/* The end of a request that is part of waiting. */
static int64_t until(const line *l)
{
    int64_t end = tkl__ask_deadline(l->consumer), now = tkl__now();
    int64_t wait = l->deadline > now ? l->deadline : now;
    return wait < end - OVERTIME_US ? wait + OVERTIME_US : end;
}

/* Once it has been in line, one who is cancelled does not wait long for a server that may be gone.
 */
static void heed(const line *l)
{
    tkl__heed(l->entered ? &l->consumer->ends_at : NULL);
}

static void plan_look(stander *s, int64_t ms, int64_t rank)
{
    int64_t apart = rank > 0 ? RANK_FIRST_US + rank * RANK_US : 0;
    if (apart > RANK_MAX_US)
        apart = RANK_MAX_US;
    if (ms < 0 || ms > LOOK_MAX_MS)
        ms = LOOK_MAX_MS;
    tkl__look_at(&s->waiter, tkl__now() + ms * 1000 + LOOK_SLACK_US + apart);
}

static void note_answer(stander *s, const tkl__ask *ask, int64_t began)
{
    s->ask = *ask;
    s->code = ask->code == TKL_OK ? TKL_EMPTY : ask->code;
    tkl__note_reached(s->source, ask->code, began);
    if (ask->code != TKL_OK)
        return;
    s->in_line = ask->got == 0;
    plan_look(s, ask->look_ms, ask->rank);
}

/* Asks with places in the lines, all in one trip. */
static void ask(line *l, stander *const *some, size_t count)
{
    tkl__trip trip = {.asks = l->asks, .nasks = count};
    int64_t began = tkl__now();
    for (size_t i = 0; i < count; i++) {
        l->asks[i] = (tkl__ask){
            .source = some[i]->source, .max = l->max, .wait = true, .again = some[i]->in_line};
        some[i]->in_line = true;
    }
    heed(l);
    tkl__trip_run(l->consumer->client, &trip, until(l), l->haul);
    tkl__heed(NULL);
    for (size_t i = 0; i < count; i++)
        note_answer(some[i], &l->asks[i], began);
}

/* The owner hears of what is sat out. */
static void tell(const line *l, const stander *s)
{
    const tkl_consumer *c = l->consumer;
    if (tkl__may_pass(s->code) && c->on_error && !is_cancelled(l))
        c->on_error(s->code, tkl_errmsg(), c->arg);
}

/* ---- Entering ------------------------------------------------------------ */

/* A lone source is tried at once, whatever happened before. */
static bool should_enter(const line *l, const stander *s)
{
    return !s->waiter.hub &&
           ((l->count == 1 && !l->entered) || tkl__now() >= s->source->away_until);
}

static int listen_at(const line *l, stander *s)
{
    int64_t began = tkl__now();
    if (!s->in_line)
        tkl__source_begin(s->source);
    heed(l);
    int rc = tkl__listen(l->consumer->client, s->source->shard->channel, tkl_str(s->source->token),
                         until(l), &s->waiter);
    tkl__heed(NULL);
    if (rc != TKL_OK)
        tkl__note_reached(s->source, rc, began);
    return rc;
}

/* Listens and asks wherever it is time to. */
static void enter(line *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++) {
        stander *s = &l->all[i];
        if (!should_enter(l, s))
            continue;
        s->code = listen_at(l, s);
        if (s->code == TKL_OK)
            l->some[count++] = s;
        else
            tell(l, s);
    }
    if (count > 0)
        ask(l, l->some, count);
    for (size_t i = 0; i < count; i++)
        if (l->some[i]->code != TKL_EMPTY) {
            tell(l, l->some[i]);
            tkl__unlisten(&l->some[i]->waiter);
        }
    l->entered = true;
}

/* Messages may be lost: it has to enter again, in a moment. */
static void cut(stander *s)
{
    tkl__unlisten(&s->waiter);
    s->code = TKL_EUNKNOWN;
    tkl__note_reached(s->source, s->code, tkl__now());
}

/* ---- What one who waits is told ------------------------------------------ */

/* "ID TILL LENGTH EXTRA RECORD", the first two of 13 characters each: when did the lease start by
 * our clock? Not later than it came, and not earlier than the server's clock says. */
static int accept_job(const line *l, stander *s, tkl_bytes message)
{
    const size_t fixed = TKL__ID_LEN + 13;
    char *at;
    if (message.len <= fixed)
        return TKL_EUNKNOWN;
    char *copy = malloc(message.len + 1);
    if (!copy)
        return tkl__nomem();
    memcpy(copy, message.data, message.len);
    copy[message.len] = '\0';
    int64_t stamp = strtoll(copy + TKL__ID_LEN, &at, 10) - s->source->consumer->lease_us / 1000;
    size_t extra = strtoull(at, &at, 10);
    size_t left = (size_t)(copy + message.len - at);
    int64_t now = tkl__lease_now();
    int64_t by_server = s->ask.started + (stamp - s->ask.server_now - 1) * 1000;
    int64_t started = by_server < now ? by_server : now;
    int rc = TKL_EUNKNOWN; /* too late, or not to be understood: ask */
    if (left > extra && now - started < l->consumer->lease_us / 2)
        rc = tkl__haul_add_one(l->haul, s->source, copy,
                               (tkl_bytes){at + 1 + extra, left - 1 - extra},
                               (tkl_bytes){at + 1, extra}, started);
    free(copy);
    s->in_line = rc != TKL_OK;
    return rc;
}

/* "LMS RANK" */
static void be_appointed(stander *s, tkl_bytes message)
{
    char text[48];
    int64_t ms, rank;
    if (message.len >= sizeof text)
        return;
    memcpy(text, message.data, message.len);
    text[message.len] = '\0';
    if (sscanf(text, "%" SCNd64 " %" SCNd64, &ms, &rank) == 2)
        plan_look(s, ms, rank);
}

/* Those who could not be asked are asked again in a moment. */
static void look(line *l, stander *s)
{
    ask(l, &s, 1);
    tell(l, s);
    if (s->code == TKL_EMPTY && tkl__strayed(&s->waiter))
        cut(s); /* as good as that */
    else if (tkl__may_pass(s->code))
        tkl__look_at(&s->waiter, s->source->away_until);
}

static void on_message(line *l, stander *s, tkl_bytes message)
{
    tkl_bytes rest = {message.data + 1, message.len > 0 ? message.len - 1 : 0};
    switch (message.len > 0 ? message.data[0] : '\0') {
    case 'J':
        s->code = accept_job(l, s, rest);
        if (s->code == TKL_EUNKNOWN)
            cut(s);
        break;
    case 'L':
        be_appointed(s, rest);
        break;
    default: /* C: come */
        look(l, s);
    }
}

/* ---- Waiting ------------------------------------------------------------- */

static void step(line *l)
{
    tkl_bytes message;
    tkl__event event;
    stander *s = await(l, &event, &message);
    if (s && event == TKL__MESSAGE)
        on_message(l, s, message);
    else if (s && event == TKL__LOOK)
        look(l, s);
    else if (s && event == TKL__CUT)
        cut(s);
}

/* TKL_EMPTY: go on. What passes, such as a server's restart, is sat out. */
static int outcome(const line *l)
{
    if (tkl__haul_count(l->haul) > 0)
        return TKL_OK;
    for (size_t i = 0; i < l->count; i++)
        if (l->all[i].code < 0 && !tkl__may_pass(l->all[i].code))
            return l->all[i].code;
    return TKL_EMPTY;
}

/* Gives up the places that are left. One who has something in hand, or is in a hurry, does not ask
 * servers that did not answer the last time. */
static void leave(line *l)
{
    size_t count = 0;
    bool hurries = is_cancelled(l);
    int64_t end = until(l), soon = tkl__now() + TKL__PARTING_US;
    for (size_t i = 0; i < l->count; i++) {
        stander *s = &l->all[i];
        bool skips = s->source->failures > 0 && (hurries || l->count > 1);
        if (s->in_line && skips)
            s->source->unsure = true;
        else if (s->in_line)
            l->sources[count++] = s->source;
        if (s->in_line && !skips)
            s->code = TKL_EMPTY;
    }
    int rc = tkl__ask_leave(l->sources, count, hurries && soon < end ? soon : end, l->haul);
    for (size_t i = 0; i < l->count; i++) {
        if (l->all[i].in_line && l->all[i].source->unsure && l->all[i].code == TKL_EMPTY)
            l->all[i].code = rc;
        tkl__unlisten(&l->all[i].waiter);
    }
}

/* Jobs count more than errors. */
static int conclude(const line *l)
{
    int first = TKL_EMPTY;
    for (size_t i = 0; i < l->count && first == TKL_EMPTY; i++)
        if (l->all[i].code < 0)
            first = l->all[i].code;
    if (tkl__haul_count(l->haul) > 0)
        return TKL_OK;
    return first < 0 && l->count > 1 ? tkl__fail(first, "while waiting: %s", tkl_strerror(first))
                                     : first;
}

static int line_open(line *l)
{
    l->all = calloc(l->count, sizeof *l->all);
    l->waiters = calloc(l->count, sizeof *l->waiters);
    l->some = calloc(l->count, sizeof *l->some);
    l->sources = calloc(l->count, sizeof *l->sources);
    l->asks = calloc(l->count, sizeof *l->asks);
    if (!l->all || !l->waiters || !l->some || !l->sources || !l->asks)
        return tkl__nomem();
    for (size_t i = 0; i < l->count; i++) {
        tkl__source *source = &l->consumer->sources[i];
        /* What a token may have been given is asked for again. */
        l->all[i] = (stander){.source = source, .in_line = source->unsure, .code = TKL_ENOTSENT};
        l->waiters[i] = &l->all[i].waiter;
    }
    return open_bell(l->consumer);
}

static void line_close(line *l)
{
    free(l->all);
    free(l->waiters);
    free(l->some);
    free(l->sources);
    free(l->asks);
}

int tkl__line_wait(tkl_consumer *c, size_t max, int64_t deadline, tkl__haul *haul)
{
    line l = {.consumer = c, .max = max, .deadline = deadline, .haul = haul, .count = c->nsources};
    int rc = is_cancelled(&l) ? TKL_EMPTY : line_open(&l);
    if (rc == TKL_OK) {
        enter(&l);
        while (outcome(&l) == TKL_EMPTY && !is_cancelled(&l) && tkl__left(deadline) > 0) {
            step(&l);
            enter(&l);
        }
        leave(&l);
        rc = conclude(&l);
    }
    line_close(&l);
    return rc;
}
