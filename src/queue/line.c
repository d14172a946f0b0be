/* SPDX-License-Identifier: MIT
 *
 * Waiting in line: see "Waiting" and "Looking" in the essay of queue.c. One thread waits in one
 * line for each source of the consumer.
 */
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "queue/consumer.h"
#include "queue/scripts.h"
#include "queue/words.h"

/* The server counts in milliseconds: a moment has passed for sure one millisecond later. */
#define LOOK_SLACK_US 1000
/* When another waiter has promised to look, this one looks this much later, in case that waiter
 * hangs, unless it hears of another moment before. A random part of up to the same length keeps
 * waiters from looking all at once. */
#define BACKUP_US 1000000
/* A look that is planned up to this long before a moment counts as the look for that moment. */
#define CLOSE_US 100000
/* A waiter with counts that were not sent asks again after this long. */
#define COUNTS_MS 1000

/* A waiter at one source. */
typedef struct waiter {
    tkl__queue_source *source;
    tkl__queue_ask ask; /* the last answered request: its clock dates hand-overs */
    bool in_line;       /* it is in line, or may be */
    int code;           /* result of the last request; TKL_EMPTY: no jobs */
} waiter;

/* All waiters of the consumer. */
typedef struct line {
    tkl_consumer *consumer;
    size_t max;
    tkl__queue_haul *haul;
    size_t count;
    waiter *all;
    /* Scratch space for one round trip: */
    waiter **some;
    tkl__queue_source **sources;
    tkl__queue_ask *asks;
} line;

/* ---- When to stop -------------------------------------------------------- */

static void ring_bell(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    if (c->bell >= 0)
        eventfd_write(c->bell, 1);
    pthread_mutex_unlock(&c->mutex);
}

void tkl_consumer_cancel(tkl_consumer *c)
{
    atomic_store(&c->ends_at, tkl__now() + TKL__QUEUE_PARTING_US);
    ring_bell(c);
}

void tkl_consumer_wake(tkl_consumer *c)
{
    atomic_store(&c->woken, true);
    ring_bell(c);
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

static bool is_over(void *arg)
{
    const line *l = arg;
    return is_cancelled(l) || atomic_load(&l->consumer->woken);
}

/* ---- Asking -------------------------------------------------------------- */

static int64_t look_time(int64_t ms)
{
    bool soon = ms >= 0 && ms < TKL__WAIT_LOOK_US / 1000;
    return tkl__now() + (soon ? ms * 1000 : TKL__WAIT_LOOK_US) + LOOK_SLACK_US;
}

/* How much later this waiter looks than the waiter that has promised to. */
static int64_t backup_us(const waiter *w)
{
    return BACKUP_US + w->source->jitter * (BACKUP_US / 256);
}

static void plan_look(waiter *w, int64_t ms, bool other_looks)
{
    tkl__look_at(&w->source->ear.waiter, look_time(ms) + (other_looks ? backup_us(w) : 0));
}

static void note_answer(waiter *w, const tkl__queue_ask *ask, int64_t began)
{
    w->code = ask->code == TKL_OK ? TKL_EMPTY : ask->code;
    tkl__queue_note_reached(w->source, ask->code, began);
    if (ask->code != TKL_OK)
        return;
    w->ask = *ask;
    w->in_line = ask->got == 0;
    if (tkl__queue_has_counts(w->source) && (ask->look_ms < 0 || ask->look_ms > COUNTS_MS))
        plan_look(w, COUNTS_MS, false);
    else
        plan_look(w, ask->look_ms, ask->other_looks);
}

/* Asks for jobs with places in the lines, all in one round trip. */
static void ask_in_lines(line *l, waiter *const *some, size_t count)
{
    tkl__queue_batch batch = {.asks = l->asks, .nasks = count};
    int64_t began = tkl__now();
    for (size_t i = 0; i < count; i++) {
        l->asks[i] = (tkl__queue_ask){
            .source = some[i]->source, .max = l->max, .wait = true, .again = some[i]->in_line};
        some[i]->in_line = true;
    }
    tkl__queue_batch_run(l->consumer->client, &batch, tkl__wait_deadline(&l->consumer->wait),
                         l->haul);
    for (size_t i = 0; i < count; i++)
        note_answer(some[i], &l->asks[i], began);
    tkl__queue_bury_damaged(l->consumer, l->haul);
}

/* Reports retried failures to on_error. */
static void report_failure(const line *l, const waiter *w)
{
    const tkl_consumer *c = l->consumer;
    if (tkl_is_transient(w->code) && c->on_error && !is_cancelled(l))
        c->on_error(w->code, tkl_errmsg(), c->arg);
}

/* ---- Entering ------------------------------------------------------------ */

static waiter *waiter_of(const line *l, const tkl__ear *ear)
{
    const tkl__queue_source *source =
        (const tkl__queue_source *)(const void *)((const char *)ear -
                                                  offsetof(tkl__queue_source, ear));
    return &l->all[source - l->consumer->sources];
}

/* Called when a server cannot be listened at. */
static void on_silence(void *arg, tkl__ear *ear)
{
    const line *l = arg;
    waiter *w = waiter_of(l, ear);
    w->code = ear->code;
    report_failure(l, w);
}

/* Asks at every source at which listening has begun. */
static void enter_lines(line *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->all[i].source->ear.fresh)
            l->some[count++] = &l->all[i];
    ask_in_lines(l, l->some, count);
    for (size_t i = 0; i < count; i++)
        if (l->some[i]->code != TKL_EMPTY) {
            report_failure(l, l->some[i]);
            tkl__ear_close(&l->some[i]->source->ear);
        }
}

/* ---- Messages ------------------------------------------------------------ */

/* Converts `stamp`, the start of a lease by the server's clock, to the local clock. The result is
 * not later than now, and not later than the lease really began. */
static int64_t lease_start(const waiter *w, int64_t stamp)
{
    int64_t now = tkl__lease_now();
    int64_t by_server = w->ask.started + (stamp - w->ask.server_now - 1) * 1000;
    return by_server < now ? by_server : now;
}

/* Reads "ID STAMP LEASE LENGTH HISTORY RECORD"; LENGTH is the length of the history. The lease is
 * short until it is renewed. */
static int accept_job(const line *l, waiter *w, tkl_bytes message)
{
    tkl_bytes id = tkl__queue_next_word(&message);
    int64_t stamp = tkl__queue_word_number(tkl__queue_next_word(&message));
    int64_t lease_us = tkl__queue_word_number(tkl__queue_next_word(&message)) * 1000;
    int64_t len = tkl__queue_word_number(tkl__queue_next_word(&message));
    if (!tkl__queue_is_id(id) || stamp < 0 || lease_us < 0 || lease_us > l->consumer->lease_us ||
        len < 0 || (uint64_t)len > message.len)
        return TKL_EUNKNOWN; /* malformed: ask the server for the job */
    int64_t started = lease_start(w, stamp);
    if (tkl__lease_now() - started >= lease_us / 2)
        return TKL_EUNKNOWN; /* too late: ask the server for the job */
    tkl_bytes history = {message.data, (size_t)len};
    tkl_bytes record = {message.data + len, message.len - (size_t)len};
    const tkl__queue_lease lease = {started, lease_us, stamp};
    int rc = tkl__queue_haul_add_one(l->haul, w->source, id.data, record, history, &lease);
    w->in_line = rc != TKL_OK;
    return rc;
}

/* Asks again; after a transient failure, once more in a moment. */
static void look_at_source(line *l, waiter *w)
{
    ask_in_lines(l, &w, 1);
    report_failure(l, w);
    if (tkl_is_transient(w->code))
        tkl__look_at(&w->source->ear.waiter, w->source->ear.rests_until);
}

/* Handles a message to this waiter: " job ...", " look MS", or " recall". */
static void on_message(line *l, waiter *w, tkl_bytes message)
{
    tkl__queue_next_word(&message); /* empty: the token was before the space */
    tkl_bytes word = tkl__queue_next_word(&message);
    if (tkl__same_bytes(word, tkl_str("job"))) {
        w->code = accept_job(l, w, message);
        if (w->code == TKL_EUNKNOWN)
            tkl__ear_cut(&l->consumer->wait, &w->source->ear);
        else if (w->code == TKL_OK && tkl__queue_haul_count(l->haul) == 0)
            look_at_source(l, w); /* unreadable record: the waiter has lost its place */
    } else if (tkl__same_bytes(word, tkl_str("look"))) {
        plan_look(w, tkl__queue_word_number(tkl__queue_next_word(&message)), false);
    } else {
        look_at_source(l, w);
    }
}

/* Handles a message to all waiters. "look MS": another waiter looks then. "looked MS TOKEN": a
 * waiter has just looked, and the waiter with that token looks next, in MS. "rest": nothing is due.
 * "recall TOKEN": the line had no waiter but the one with that token. */
static void on_shared_message(line *l, waiter *w, tkl_bytes message)
{
    tkl_bytes word = tkl__queue_next_word(&message);
    if (tkl__same_bytes(word, tkl_str("look")) || tkl__same_bytes(word, tkl_str("looked"))) {
        int64_t at = look_time(tkl__queue_word_number(tkl__queue_next_word(&message))),
                backup = at + backup_us(w);
        bool other = tkl__same_bytes(word, tkl_str("looked")) &&
                     !tkl__same_bytes(message, tkl_str(w->source->token));
        tkl__look_between(&w->source->ear.waiter, other ? backup : at - CLOSE_US, backup);
    } else if (tkl__same_bytes(word, tkl_str("rest"))) {
        tkl__look_between(&w->source->ear.waiter, look_time(-1), look_time(-1));
    } else if (tkl__same_bytes(word, tkl_str("recall")) &&
               !tkl__same_bytes(message, tkl_str(w->source->token))) {
        look_at_source(l, w);
    }
}

/* ---- Waiting ------------------------------------------------------------- */

/* Whether the wait is over. Transient failures, such as a server's restart, are retried. */
static int outcome_of_look(const line *l)
{
    if (tkl__queue_haul_count(l->haul) > 0)
        return TKL_OK;
    for (size_t i = 0; i < l->count; i++)
        if (l->all[i].code < 0 && !tkl_is_transient(l->all[i].code))
            return l->all[i].code;
    return TKL__NOT_YET;
}

/* Messages to this waiter begin with a space, behind its token; those to all waiters do not. */
static int look_around(void *arg, tkl__wait *wait, const tkl__news *news)
{
    line *l = arg;
    waiter *w = news->ear ? waiter_of(l, news->ear) : NULL;
    wait->again = TKL__FOREVER; /* one waiter of this client looks for all: see plan_look() */
    if (!w)
        enter_lines(l);
    else if (news->kind == TKL__NEWS_LOOK)
        look_at_source(l, w);
    else if (news->message.len > 0 && *news->message.data == ' ')
        on_message(l, w, news->message);
    else
        on_shared_message(l, w, news->message);
    return outcome_of_look(l);
}

/* Gives up the remaining places. After a cancel or interrupt, or with several sources, it skips
 * servers that failed the last time. Returns whether a place remains: it may still get a job. */
static bool leave_lines(line *l)
{
    size_t count = 0;
    bool hurries = is_cancelled(l) || tkl__is_interrupted(l->consumer->client), doubted = false;
    int64_t end = tkl__wait_deadline(&l->consumer->wait), soon = tkl__now() + TKL__QUEUE_PARTING_US;
    for (size_t i = 0; i < l->count; i++) {
        waiter *w = &l->all[i];
        bool skips = w->source->ear.failures > 0 && (hurries || l->count > 1);
        if (w->in_line && skips) {
            w->source->unsure = true;
            w->code = w->code == TKL_EMPTY ? w->source->ear.code : w->code;
        } else if (w->in_line) {
            l->sources[count++] = w->source;
            w->code = TKL_EMPTY;
        }
    }
    tkl__let_take_turn(tkl__deadline(l->consumer->client, l->consumer->wait.timeout_ms));
    int rc = tkl__queue_ask_leave(l->sources, count, hurries && soon < end ? soon : end, l->haul);
    tkl__let_take_turn(0);
    for (size_t i = 0; i < l->count; i++) {
        waiter *w = &l->all[i];
        if (w->in_line && w->source->unsure && w->code == TKL_EMPTY)
            w->code = tkl__in_doubt(rc);
        doubted |= w->in_line && w->source->unsure;
    }
    tkl__wait_end(&l->consumer->wait);
    return doubted;
}

/* The result of the wait that ended with `rc`. Jobs take precedence over errors, and doubt over an
 * interruption. */
static int conclude_wait(const line *l, int rc, bool doubted)
{
    if (tkl__queue_haul_count(l->haul) > 0)
        return TKL_OK;
    if (rc == TKL_EINTR)
        return doubted ? tkl__in_doubt(TKL_ENOTSENT) : tkl__interrupted();
    if (rc != TKL__NOT_YET && !tkl__may_pass(rc))
        return rc;
    int first = TKL_EMPTY;
    for (size_t i = 0; i < l->count && first == TKL_EMPTY; i++)
        if (l->all[i].code < 0)
            first = l->all[i].code;
    return first < 0 && l->count > 1 ? tkl__fail(first, "while waiting: %s", tkl_strerror(first))
                                     : first;
}

static int line_open(line *l)
{
    l->all = calloc(l->count, sizeof *l->all);
    l->some = calloc(l->count, sizeof *l->some);
    l->sources = calloc(l->count, sizeof *l->sources);
    l->asks = calloc(l->count, sizeof *l->asks);
    if (!l->all || !l->some || !l->sources || !l->asks)
        return tkl__nomem();
    for (size_t i = 0; i < l->count; i++) {
        tkl__queue_source *source = &l->consumer->sources[i];
        /* An unsure token is asked for again: it may have got jobs. */
        l->all[i] = (waiter){.source = source, .in_line = source->unsure, .code = TKL_ENOTSENT};
        if (!source->unsure)
            tkl__queue_source_begin(source);
        source->ear.id = tkl_str(source->token);
    }
    return open_bell(l->consumer);
}

static void line_close(line *l)
{
    free(l->all);
    free(l->some);
    free(l->sources);
    free(l->asks);
}

int tkl__queue_line_wait(tkl_consumer *c, size_t max, int64_t deadline, tkl__queue_haul *haul)
{
    line l = {.consumer = c, .max = max, .haul = haul, .count = c->nsources};
    int rc = is_cancelled(&l) ? TKL_EMPTY : line_open(&l);
    if (rc == TKL_OK) {
        c->wait.deadline = deadline;
        c->wait.bell = &c->bell;
        c->wait.end = c->heeds_cancel ? &c->ends_at : NULL;
        c->wait.is_over = is_over;
        c->wait.on_silence = on_silence;
        c->wait.arg = &l;
        rc = tkl__wait_until(&c->wait, look_around, &l);
        bool doubted = leave_lines(&l);
        rc = conclude_wait(&l, rc, doubted);
    }
    line_close(&l);
    atomic_store(&c->woken, false);
    return rc;
}
