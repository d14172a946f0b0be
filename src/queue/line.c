/* SPDX-License-Identifier: MIT
 *
 * Waiting in line: see "Waiting" and "Looking" in the essay of queue.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"
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
/* What a request may need beyond the deadline, when the server is gone; and at most, while others
 * wait elsewhere for the same consumer: a dead server must not keep them. */
#define OVERTIME_US 2000000
#define ASIDE_US    1000000

/* Pauses while the server is away: about 50 ms at first (see tkl__backoff), then longer. */
#define FIRST_PAUSE  5
#define PAUSE_MAX_US 1000000

/* One who waits at one source. */
typedef struct stander {
    tkl__source *source;
    size_t max;
    int64_t deadline;
    tkl__waiter waiter;
    tkl__ask ask; /* the last */
    tkl__haul *haul;
    bool in_line; /* surely, or perhaps */
    int code;
    pthread_t thread;
    bool running; /* the thread */
} stander;

/* ---- When to stop -------------------------------------------------------- */

static bool is_over(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    bool over = c->cancelled || c->enough;
    pthread_mutex_unlock(&c->mutex);
    return over;
}

/* With the mutex: all who wait for this consumer shall stop. */
static void call_off_all(tkl_consumer *c)
{
    for (size_t i = 0; i < c->nsources; i++)
        if (c->sources[i].waiting)
            tkl__call_off(c->sources[i].waiting);
}

void tkl_consumer_cancel(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    c->cancelled = true;
    call_off_all(c);
    pthread_mutex_unlock(&c->mutex);
}

static void have_enough(tkl_consumer *c)
{
    pthread_mutex_lock(&c->mutex);
    c->enough = true;
    call_off_all(c);
    pthread_mutex_unlock(&c->mutex);
}

/* tkl__await() that can be called off. */
static tkl__event await(stander *s, tkl_bytes *message)
{
    tkl_consumer *c = s->source->consumer;
    pthread_mutex_lock(&c->mutex);
    bool over = c->cancelled || c->enough;
    s->source->waiting = over ? NULL : &s->waiter;
    pthread_mutex_unlock(&c->mutex);
    if (over)
        return TKL__TIME_UP;
    tkl__event event = tkl__await(&s->waiter, s->deadline, message);
    pthread_mutex_lock(&c->mutex);
    s->source->waiting = NULL;
    pthread_mutex_unlock(&c->mutex);
    return event;
}

/* ---- Asking -------------------------------------------------------------- */

/* The end of a request that is part of waiting. */
static int64_t until(const stander *s)
{
    const tkl_consumer *c = s->source->consumer;
    int64_t end = tkl__call_deadline(c->client, NULL), now = tkl__now();
    int64_t wait = s->deadline > now ? s->deadline : now;
    if (wait < end - OVERTIME_US)
        end = wait + OVERTIME_US;
    if (c->nsources > 1 && now + ASIDE_US < end)
        end = now + ASIDE_US;
    return end;
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

/* Asks with a place in the line. TKL_EMPTY: it is had, go on waiting. */
static int ask(stander *s)
{
    s->ask = (tkl__ask){.source = s->source, .max = s->max, .wait = true, .again = s->in_line};
    s->in_line = true;
    int rc = tkl__ask_one(&s->ask, until(s), s->haul);
    if (rc != TKL_OK)
        return rc;
    if (tkl__haul_count(s->haul) > 0) {
        s->in_line = false;
        return TKL_OK;
    }
    plan_look(s, s->ask.look_ms, s->ask.rank);
    return TKL_EMPTY;
}

/* The owner hears of what is sat out. */
static int tell(const stander *s, int rc)
{
    const tkl_consumer *c = s->source->consumer;
    if (tkl__may_pass(rc) && c->on_error)
        c->on_error(rc, tkl_errmsg(), c->arg);
    return rc;
}

/* Listens, and asks. */
static int enter(stander *s)
{
    tkl__unlisten(&s->waiter);
    int rc = tkl__listen(s->source->consumer->client, s->source->shard->channel,
                         tkl_str(s->source->token), until(s), &s->waiter);
    return tell(s, rc == TKL_OK ? ask(s) : rc);
}

/* ---- What one who waits is told ------------------------------------------ */

/* "ID TILL LENGTH EXTRA RECORD", the first two of 13 characters each: when did the lease start by
 * our clock? Not later than it came, and not earlier than the server's clock says. */
static int accept_job(stander *s, tkl_bytes message)
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
    if (left > extra && now - started < s->source->consumer->lease_us / 2)
        rc = tkl__haul_add_one(s->haul, s->source, copy,
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

static int on_message(stander *s, tkl_bytes message)
{
    tkl_bytes rest = {message.data + 1, message.len > 0 ? message.len - 1 : 0};
    switch (message.len > 0 ? message.data[0] : '\0') {
    case 'J':
        return accept_job(s, rest);
    case 'L':
        be_appointed(s, rest);
        return TKL_EMPTY;
    default: /* C: come */
        return ask(s);
    }
}

static int look(stander *s)
{
    int rc = tell(s, ask(s));
    if (rc == TKL_EMPTY && tkl__strayed(&s->waiter))
        return TKL_EUNKNOWN; /* as good as cut */
    if (!tkl__may_pass(rc))
        return rc;
    tkl__look_at(&s->waiter, tkl__now() + TKL__REPEAT_US);
    return TKL_EMPTY;
}

/* ---- Waiting at one source ----------------------------------------------- */

/* One step. TKL_EMPTY: go on. */
static int step(stander *s)
{
    tkl_bytes message;
    switch (await(s, &message)) {
    case TKL__MESSAGE:
        return on_message(s, message);
    case TKL__LOOK:
        return look(s);
    case TKL__CUT:
        return TKL_EUNKNOWN;
    case TKL__TIME_UP:
        break;
    }
    return TKL_EMPTY;
}

/* Waits until the deadline. What passes, such as a server's restart, is sat out. */
static int stand(stander *s)
{
    tkl_consumer *c = s->source->consumer;
    s->in_line = s->source->unsure; /* what the token was given is asked for again */
    if (!s->in_line)
        tkl__source_begin(s->source);
    int rc = enter(s), failures = FIRST_PAUSE;
    while (tkl__left(s->deadline) > 0 && !is_over(c)) {
        if (rc == TKL_EMPTY) {
            rc = step(s);
            failures = FIRST_PAUSE;
        } else if (tkl__may_pass(rc)) {
            int64_t again = tkl__now() + tkl__backoff(failures++, PAUSE_MAX_US);
            tkl__sleep_until(again < s->deadline ? again : s->deadline);
            rc = enter(s);
        } else
            break;
    }
    if (s->in_line && rc != TKL_OK) {
        int left = tkl__ask_leave(s->source, until(s), s->haul);
        if (left == TKL_OK)
            rc = tkl__haul_count(s->haul) > 0 ? TKL_OK : TKL_EMPTY;
        else if (rc == TKL_EMPTY)
            rc = left;
    }
    tkl__unlisten(&s->waiter);
    return rc;
}

/* ---- Waiting at several -------------------------------------------------- */

static void *stand_apart(void *arg)
{
    stander *s = arg;
    s->code = stand(s);
    if (s->code != TKL_EMPTY)
        have_enough(s->source->consumer);
    return NULL;
}

/* One thread for each source but the first, which is the caller's. */
static void stand_together(stander *all, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int rc = tkl__thread_start(&all[i].thread, stand_apart, &all[i], "waiting for jobs");
        all[i].running = rc == TKL_OK;
        if (!all[i].running)
            all[i].code = rc;
    }
    stand_apart(&all[0]);
    for (size_t i = 1; i < count; i++)
        if (all[i].running)
            pthread_join(all[i].thread, NULL);
}

/* What they got, in the order of the queues. Jobs count more than errors. */
static int gather(stander *all, size_t count, tkl__haul *haul)
{
    int first = TKL_EMPTY;
    for (size_t i = 0; i < count; i++) {
        int rc = all[i].haul ? tkl__haul_join(haul, all[i].haul) : TKL_OK;
        if (rc == TKL_OK)
            rc = all[i].code;
        if (rc < 0 && first == TKL_EMPTY)
            first = count > 1 ? tkl__fail(rc, "while waiting: %s", tkl_strerror(rc)) : rc;
    }
    return tkl__haul_count(haul) > 0 ? TKL_OK : first;
}

int tkl__line_wait(tkl_consumer *c, size_t max, int64_t deadline, tkl__haul *haul)
{
    stander *all = calloc(c->nsources, sizeof *all);
    int rc = all ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < c->nsources; i++) {
        all[i] = (stander){.source = &c->sources[i], .max = max, .deadline = deadline};
        rc = (all[i].haul = tkl__haul_new()) ? TKL_OK : TKL_ENOMEM;
    }
    pthread_mutex_lock(&c->mutex);
    bool cancelled = c->cancelled;
    c->enough = false;
    pthread_mutex_unlock(&c->mutex);
    if (rc == TKL_OK && !cancelled)
        stand_together(all, c->nsources);
    int got = all ? gather(all, c->nsources, haul) : TKL_EMPTY;
    free(all);
    return rc == TKL_OK ? got : rc;
}
