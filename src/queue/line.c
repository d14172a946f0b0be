/* SPDX-License-Identifier: MIT
 *
 * Waiting in line: see "Waiting" and "Looking" in the essay of queue.c. One thread waits in one
 * line for each source of the consumer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "queue/consumer.h"
#include "queue/scripts.h"

/* The server counts in milliseconds: a moment is surely over one millisecond later. */
#define LOOK_SLACK_US 1000
/* When another waiter has promised to look, this one looks this much later, in case that waiter
 * hangs, unless it hears of another moment before. A random part of up to the same length keeps
 * waiters from looking all at once. */
#define BACKUP_US 1000000
/* A look planned less than this before a moment is meant for that moment. */
#define CLOSE_US 100000
/* A waiter looks at least this often, however long it waits. */
#define LOOK_MAX_MS 300000
/* How long a request may run past its deadline when the server is down. */
#define OVERTIME_US 2000000

/* A waiter at one source. */
typedef struct stander {
    tkl__queue_source *source;
    tkl__waiter own;    /* messages to this waiter. While it is not listening, the stander is
                      * out and has to enter */
    tkl__waiter shared; /* messages to all waiters of the queue */
    tkl__queue_ask ask; /* the last answered request: its clock dates hand-overs */
    bool in_line;       /* certainly or possibly */
    int code;           /* of the last request; TKL_EMPTY: no jobs */
} stander;

/* All places of the consumer. */
typedef struct line {
    tkl_consumer *consumer;
    size_t max;
    int64_t deadline;
    tkl__queue_haul *haul;
    bool entered;     /* has tried to enter everywhere */
    bool interrupted; /* by tkl_interrupt() */
    size_t count;
    stander *all;
    tkl__waiter **waiters; /* two per stander: own, shared */
    /* Scratch space for one round trip: */
    stander **some;
    tkl__queue_source **sources;
    tkl__queue_ask *asks;
} line;

/* ---- When to stop -------------------------------------------------------- */

static void ring(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    if (c->bell >= 0)
        eventfd_write(c->bell, 1);
    pthread_mutex_unlock(&c->mutex);
}

void tkl_consumer_cancel(tkl_consumer *c)
{
    atomic_store(&c->ends_at, tkl__now() + TKL__QUEUE_PARTING_US);
    ring(c);
}

void tkl_consumer_wake(tkl_consumer *c)
{
    atomic_store(&c->woken, true);
    ring(c);
}

static int open_bell(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    if (c->bell < 0)
        c->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = c->bell < 0 ? tkl__fail_errno(TKL_EIO, "eventfd") : TKL_OK;
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static bool is_cancelled(const line *l)
{
    return atomic_load(&l->consumer->ends_at) != 0;
}

static bool is_over(const line *l)
{
    return is_cancelled(l) || l->interrupted || atomic_load(&l->consumer->woken);
}

/* When the first stander that is out tries to enter again. */
static int64_t next_entry(const line *l)
{
    int64_t at = l->deadline;
    for (size_t i = 0; i < l->count; i++)
        if (!l->all[i].own.hub && l->all[i].source->away_until < at)
            at = l->all[i].source->away_until;
    return at;
}

/* Waits for an event, and returns its stander; *shared: a message to all waiters there. NULL: no
 * event, but it may be time to enter or to stop. */
static stander *await(const line *l, tkl__event *event, bool *shared, tkl_bytes *message)
{
    size_t which = 0;
    *event =
        tkl__await_any(l->waiters, 2 * l->count, l->consumer->bell, next_entry(l), &which, message);
    *shared = which % 2 == 1;
    return which < 2 * l->count ? &l->all[which / 2] : NULL;
}

/* ---- Asking -------------------------------------------------------------- */

/* The deadline of a request that is part of waiting. */
static int64_t until(const line *l)
{
    int64_t end = tkl__queue_ask_deadline(l->consumer), now = tkl__now();
    int64_t wait = l->deadline > now ? l->deadline : now;
    return wait < end - OVERTIME_US ? wait + OVERTIME_US : end;
}

static int64_t look_time(int64_t ms)
{
    return tkl__now() + (ms < 0 || ms > LOOK_MAX_MS ? LOOK_MAX_MS : ms) * 1000 + LOOK_SLACK_US;
}

/* How much later this waiter looks than the one that has promised to. */
static int64_t backup_us(const stander *s)
{
    return BACKUP_US + s->source->jitter * (BACKUP_US / 256);
}

static void plan_look(stander *s, int64_t ms, bool other_looks)
{
    tkl__look_at(&s->own, look_time(ms) + (other_looks ? backup_us(s) : 0));
}

static void note_answer(stander *s, const tkl__queue_ask *ask, int64_t began)
{
    s->code = ask->code == TKL_OK ? TKL_EMPTY : ask->code;
    tkl__queue_note_reached(s->source, ask->code, began);
    if (ask->code != TKL_OK)
        return;
    s->ask = *ask;
    s->in_line = ask->got == 0;
    plan_look(s, ask->look_ms, ask->other_looks);
}

/* Asks with places in the lines, all in one round trip. */
static void ask(line *l, stander *const *some, size_t count)
{
    tkl__queue_trip trip = {.asks = l->asks, .nasks = count};
    int64_t began = tkl__now();
    for (size_t i = 0; i < count; i++) {
        l->asks[i] = (tkl__queue_ask){
            .source = some[i]->source, .max = l->max, .wait = true, .again = some[i]->in_line};
        some[i]->in_line = true;
    }
    tkl__queue_heed(l->consumer);
    tkl__queue_trip_run(l->consumer->client, &trip, until(l), l->haul);
    tkl__queue_unheed();
    for (size_t i = 0; i < count; i++)
        note_answer(some[i], &l->asks[i], began);
    tkl__queue_bury_damaged(l->consumer, l->haul);
}

/* Reports retried failures to on_error. */
static void tell(const line *l, const stander *s)
{
    const tkl_consumer *c = l->consumer;
    if (tkl_is_transient(s->code) && c->on_error && !is_cancelled(l))
        c->on_error(s->code, tkl_errmsg(), c->arg);
}

/* ---- Entering ------------------------------------------------------------ */

/* A single source is tried at once, even if its server is away. */
static bool should_enter(const line *l, const stander *s)
{
    return !s->own.hub && ((l->count == 1 && !l->entered) || tkl__now() >= s->source->away_until);
}

static void unlisten(stander *s)
{
    tkl__unlisten(&s->own);
    tkl__unlisten(&s->shared);
}

static int listen_at(const line *l, stander *s)
{
    int64_t began = tkl__now();
    const tkl__queue_shard *shard = s->source->shard;
    tkl_client *client = l->consumer->client;
    if (!s->in_line)
        tkl__queue_source_begin(s->source);
    tkl__queue_heed(l->consumer);
    int rc = tkl__listen(client, shard->keys[TKL__QUEUE_LINE], tkl_str(""), until(l), &s->shared);
    if (rc == TKL_OK)
        rc = tkl__listen(client, shard->channel, tkl_str(s->source->token), until(l), &s->own);
    tkl__queue_unheed();
    if (rc != TKL_OK) {
        unlisten(s);
        tkl__queue_note_reached(s->source, rc, began);
    }
    return rc;
}

/* Listens and asks at every source whose time to enter has come. */
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
            unlisten(l->some[i]);
        }
    l->entered = true;
}

/* Makes the stander enter again in a moment, because messages may be lost. */
static void cut(stander *s)
{
    unlisten(s);
    s->code = TKL_EUNKNOWN;
    tkl__queue_note_reached(s->source, s->code, tkl__now());
}

/* ---- Messages ------------------------------------------------------------ */

/* Cuts the first word off a message, and the space behind it. */
static tkl_bytes next_word(tkl_bytes *message)
{
    const char *space = message->len > 0 ? memchr(message->data, ' ', message->len) : NULL;
    size_t len = space ? (size_t)(space - message->data) : message->len;
    tkl_bytes word = {message->data, len};
    message->data += len + (space != NULL);
    message->len -= len + (space != NULL);
    return word;
}

static bool is_word(tkl_bytes word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.data, text, word.len) == 0;
}

/* A number of up to 15 digits; -1: not a number. */
static int64_t read_number(tkl_bytes word)
{
    int64_t number = 0;
    if (word.len == 0 || word.len > 15)
        return -1;
    for (size_t i = 0; i < word.len; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return -1;
        number = number * 10 + (word.data[i] - '0');
    }
    return number;
}

/* Converts the start of a lease, `stamp` on the server's clock, to our clock: not later than now,
 * and not later than the server's clock says. */
static int64_t lease_start(const stander *s, int64_t stamp)
{
    int64_t now = tkl__lease_now();
    int64_t by_server = s->ask.started + (stamp - s->ask.server_now - 1) * 1000;
    return by_server < now ? by_server : now;
}

/* Reads "ID STAMP LEASE LENGTH HISTORY RECORD"; LENGTH is the length of the history. The lease is
 * short until it is renewed. */
static int accept_job(const line *l, stander *s, tkl_bytes message)
{
    tkl_bytes id = next_word(&message);
    int64_t stamp = read_number(next_word(&message));
    int64_t lease_us = read_number(next_word(&message)) * 1000;
    int64_t len = read_number(next_word(&message));
    if (!tkl__queue_is_id(id) || stamp < 0 || lease_us < 0 || lease_us > l->consumer->lease_us ||
        len < 0 || (uint64_t)len > message.len)
        return TKL_EUNKNOWN; /* malformed: ask the server */
    int64_t started = lease_start(s, stamp);
    if (tkl__lease_now() - started >= lease_us / 2)
        return TKL_EUNKNOWN; /* too late: ask the server */
    tkl_bytes history = {message.data, (size_t)len};
    tkl_bytes record = {message.data + len, message.len - (size_t)len};
    int rc =
        tkl__queue_haul_add_one(l->haul, s->source, id.data, record, history, started, lease_us);
    s->in_line = rc != TKL_OK;
    return rc;
}

/* Asks again; after a transient failure, once more in a moment. */
static void look(line *l, stander *s)
{
    ask(l, &s, 1);
    tell(l, s);
    if (tkl_is_transient(s->code))
        tkl__look_at(&s->own, s->source->away_until);
}

/* " job ...", " look MS", or " come". */
static void on_message(line *l, stander *s, tkl_bytes message)
{
    next_word(&message); /* empty: the token was before the space */
    tkl_bytes word = next_word(&message);
    if (is_word(word, "job")) {
        s->code = accept_job(l, s, message);
        if (s->code == TKL_EUNKNOWN)
            cut(s);
        else if (s->code == TKL_OK && tkl__queue_haul_count(l->haul) == 0)
            look(l, s); /* unreadable record: the waiter has lost its place */
    } else if (is_word(word, "look")) {
        plan_look(s, read_number(next_word(&message)), false);
    } else {
        look(l, s);
    }
}

/* "look MS": another waiter looks then. "looked MS TOKEN": a waiter has just looked, and the one
 * with that token looks next, in MS. "rest": nothing is due. "stand TOKEN": the line had no waiter
 * but the one with that token. */
static void on_shared_message(line *l, stander *s, tkl_bytes message)
{
    tkl_bytes word = next_word(&message);
    if (is_word(word, "look") || is_word(word, "looked")) {
        int64_t at = look_time(read_number(next_word(&message))), backup = at + backup_us(s);
        bool other = is_word(word, "looked") && !is_word(message, s->source->token);
        tkl__look_between(&s->own, other ? backup : at - CLOSE_US, backup);
    } else if (is_word(word, "rest")) {
        tkl__look_between(&s->own, look_time(-1), look_time(-1));
    } else if (is_word(word, "stand") && !is_word(message, s->source->token)) {
        look(l, s);
    }
}

/* ---- Waiting ------------------------------------------------------------- */

static void step(line *l)
{
    tkl_bytes message;
    tkl__event event;
    bool shared;
    stander *s = await(l, &event, &shared, &message);
    if (event == TKL__INTERRUPTED)
        l->interrupted = true;
    else if (s && event == TKL__MESSAGE && shared)
        on_shared_message(l, s, message);
    else if (s && event == TKL__MESSAGE)
        on_message(l, s, message);
    else if (s && event == TKL__LOOK)
        look(l, s);
    else if (s && event == TKL__CUT)
        cut(s);
}

/* TKL_EMPTY: go on. Transient failures, such as a server's restart, are retried. */
static int outcome(const line *l)
{
    if (tkl__queue_haul_count(l->haul) > 0)
        return TKL_OK;
    for (size_t i = 0; i < l->count; i++)
        if (l->all[i].code < 0 && !tkl_is_transient(l->all[i].code))
            return l->all[i].code;
    return TKL_EMPTY;
}

/* Gives up the remaining places. Skips servers that failed the last time when there are several
 * sources, or after a cancel or interrupt. A place that cannot be given up may still get a job. */
static void leave(line *l)
{
    size_t count = 0;
    bool hurries = is_cancelled(l) || tkl__is_interrupted(l->consumer->client);
    int64_t end = until(l), soon = tkl__now() + TKL__QUEUE_PARTING_US;
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
    int rc = tkl__queue_ask_leave(l->sources, count, hurries && soon < end ? soon : end, l->haul);
    for (size_t i = 0; i < l->count; i++) {
        if (l->all[i].in_line && l->all[i].source->unsure && l->all[i].code == TKL_EMPTY)
            l->all[i].code = tkl__in_doubt(rc);
        unlisten(&l->all[i]);
    }
}

/* Jobs take precedence over errors. */
static int conclude(const line *l)
{
    int first = TKL_EMPTY;
    for (size_t i = 0; i < l->count && first == TKL_EMPTY; i++)
        if (l->all[i].code < 0)
            first = l->all[i].code;
    if (tkl__queue_haul_count(l->haul) > 0)
        return TKL_OK;
    return first < 0 && l->count > 1 ? tkl__fail(first, "while waiting: %s", tkl_strerror(first))
                                     : first;
}

static int line_open(line *l)
{
    l->all = calloc(l->count, sizeof *l->all);
    l->waiters = calloc(2 * l->count, sizeof *l->waiters);
    l->some = calloc(l->count, sizeof *l->some);
    l->sources = calloc(l->count, sizeof *l->sources);
    l->asks = calloc(l->count, sizeof *l->asks);
    if (!l->all || !l->waiters || !l->some || !l->sources || !l->asks)
        return tkl__nomem();
    for (size_t i = 0; i < l->count; i++) {
        tkl__queue_source *source = &l->consumer->sources[i];
        /* An unsure token is asked for again: it may have got jobs. */
        l->all[i] = (stander){.source = source, .in_line = source->unsure, .code = TKL_ENOTSENT};
        l->waiters[2 * i] = &l->all[i].own;
        l->waiters[2 * i + 1] = &l->all[i].shared;
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

int tkl__queue_line_wait(tkl_consumer *c, size_t max, int64_t deadline, tkl__queue_haul *haul)
{
    line l = {.consumer = c, .max = max, .deadline = deadline, .haul = haul, .count = c->nsources};
    int rc = is_cancelled(&l) ? TKL_EMPTY : line_open(&l);
    if (rc == TKL_OK) {
        enter(&l);
        while (outcome(&l) == TKL_EMPTY && !is_over(&l) && tkl__left(deadline) > 0) {
            step(&l);
            enter(&l);
        }
        leave(&l);
        rc = conclude(&l);
        if (l.interrupted && rc == TKL_EMPTY)
            rc = tkl__interrupted();
    }
    line_close(&l);
    atomic_store(&c->woken, false);
    return rc;
}
