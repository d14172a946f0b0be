/* SPDX-License-Identifier: MIT */
#include "redlock/crew.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cond.h"
#include "core/error.h"
#include "core/thread.h"

/* How many questions may wait for one server. Each ends at its own deadline, so only a server that
 * hangs while callers keep asking can have that many. */
#define BACKLOG 16
/* A crew waits this much longer than a deadline. Its threads check deadlines themselves; only a
 * thread that is stuck in the resolver, which has no deadline, takes longer. */
#define SLACK_US 20000

/* A question under way; its last user frees it. */
typedef struct redlock_round {
    tkl__redlock_question question;
    tkl__redlock_answers answers;
    bool by_majority; /* done when the majority is known */
    uint64_t awaited; /* otherwise: done when these servers have answered */
    size_t users;     /* threads that will answer it, and the caller */
} redlock_round;

typedef struct worker {
    tkl__redlock_crew *crew;
    size_t server;
    pthread_t thread;
    bool running;
    bool silent;                  /* its last question failed */
    redlock_round *todo[BACKLOG]; /* a ring */
    size_t first, count;
} worker;

struct tkl__redlock_crew {
    const void *owner;
    size_t count;
    pid_t pid; /* threads do not survive a fork() */
    pthread_mutex_t mutex;
    tkl__cond work; /* something to do, or closing */
    tkl__cond news; /* a question has enough answers */
    bool closing;
    worker workers[]; /* `count` of them */
};

/* ---- Counting ------------------------------------------------------------ */

static size_t size_of(uint64_t set)
{
    return (size_t)__builtin_popcountll(set);
}

bool tkl__redlock_crew_is_majority(const tkl__redlock_crew *c, uint64_t servers)
{
    return size_of(servers) > c->count / 2;
}

uint64_t tkl__redlock_crew_everybody(const tkl__redlock_crew *c)
{
    return UINT64_MAX >> (TKL__REDLOCK_MAX - c->count);
}

static uint64_t silent_ones(const tkl__redlock_crew *c)
{
    uint64_t silent = 0;
    for (size_t i = 0; i < c->count; i++)
        silent |= (uint64_t)c->workers[i].silent << i;
    return silent;
}

/* Whether the missing answers cannot change the outcome any more: a majority says yes, or no
 * majority can say yes. In the second case it must also be clear whether a majority answers at
 * all. */
static bool is_decided(const tkl__redlock_crew *c, const redlock_round *r)
{
    const tkl__redlock_answers *a = &r->answers;
    uint64_t said = a->yes | a->no;
    uint64_t open = tkl__redlock_crew_everybody(c) & ~said & ~a->failed;
    if (r->question.impatient && tkl__redlock_crew_is_majority(c, said))
        open &= ~silent_ones(c);
    if (tkl__redlock_crew_is_majority(c, a->yes))
        return true;
    if (tkl__redlock_crew_is_majority(c, a->yes | open))
        return false;
    return tkl__redlock_crew_is_majority(c, said) || !tkl__redlock_crew_is_majority(c, said | open);
}

static bool has_enough_answers(const tkl__redlock_crew *c, const redlock_round *r)
{
    const tkl__redlock_answers *a = &r->answers;
    return r->by_majority ? is_decided(c, r) : (r->awaited & ~(a->yes | a->no | a->failed)) == 0;
}

/* Notes one server's answer; `text` is the error message of a failure. */
static void note_answer(tkl__redlock_answers *a, size_t server, int rc, const char *text)
{
    uint64_t bit = UINT64_C(1) << server;
    if (rc >= 0) {
        *(rc == TKL_OK ? &a->yes : &a->no) |= bit;
        return;
    }
    bool worse = !tkl__may_pass(rc) && a->fatal == 0;
    a->failed |= bit;
    a->fatal |= tkl__may_pass(rc) ? 0 : bit;
    if (a->why == TKL_OK || worse) {
        a->why = rc;
        snprintf(a->text, sizeof a->text, "%s", text);
    }
}

/* ---- The threads --------------------------------------------------------- */

static void leave_round(redlock_round *r)
{
    if (--r->users == 0)
        free(r);
}

/* The thread of one server: asks it the next question, and notes the answer. */
static void *serve_rounds(void *arg)
{
    worker *w = arg;
    tkl__redlock_crew *c = w->crew;
    pthread_mutex_lock(&c->mutex);
    while (w->count > 0 || !c->closing) {
        if (w->count == 0) {
            (void)tkl__cond_wait(&c->work, &c->mutex, TKL__FOREVER);
            continue;
        }
        redlock_round *r = w->todo[w->first];
        w->first = (w->first + 1) % BACKLOG;
        w->count--;
        pthread_mutex_unlock(&c->mutex);
        int rc = tkl__left(r->question.deadline) > 0
                     ? r->question.ask(c->owner, &r->question, w->server)
                     : tkl__fail(TKL_ENOTSENT, "a server is still busy with an earlier request");
        pthread_mutex_lock(&c->mutex);
        note_answer(&r->answers, w->server, rc, tkl_errmsg());
        w->silent = rc < 0;
        if (has_enough_answers(c, r))
            tkl__cond_signal(&c->news);
        leave_round(r);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

static int start_all(tkl__redlock_crew *c)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < c->count; i++) {
        worker *w = &c->workers[i];
        if (!w->running)
            rc = tkl__thread_start(&w->thread, serve_rounds, w, "asking servers");
        w->running = rc == TKL_OK;
    }
    return rc;
}

/* ---- Opening and closing ------------------------------------------------- */

int tkl__redlock_crew_open(size_t count, const void *owner, tkl__redlock_crew **crew)
{
    tkl__redlock_crew *c = calloc(1, sizeof *c + count * sizeof *c->workers);
    *crew = c;
    if (!c)
        return tkl__nomem();
    c->owner = owner;
    c->count = count;
    c->pid = getpid();
    pthread_mutex_init(&c->mutex, NULL);
    tkl__cond_init(&c->work);
    tkl__cond_init(&c->news);
    for (size_t i = 0; i < count; i++)
        c->workers[i] = (worker){.crew = c, .server = i};
    return TKL_OK;
}

void tkl__redlock_crew_close(tkl__redlock_crew *c)
{
    if (!c)
        return;
    if (c->pid != getpid()) { /* a forked child: threads and locks are its parent's */
        free(c);
        return;
    }
    pthread_mutex_lock(&c->mutex);
    c->closing = true;
    pthread_mutex_unlock(&c->mutex);
    tkl__cond_broadcast(&c->work);
    for (size_t i = 0; i < c->count; i++)
        if (c->workers[i].running)
            pthread_join(c->workers[i].thread, NULL);
    tkl__cond_destroy(&c->work);
    tkl__cond_destroy(&c->news);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}

/* ---- Asking -------------------------------------------------------------- */

static void put_round(worker *w, redlock_round *r)
{
    if (w->count == BACKLOG) {
        note_answer(&r->answers, w->server, TKL_ENOTSENT, "a server has too many requests open");
        return;
    }
    w->todo[(w->first + w->count++) % BACKLOG] = r;
    r->users++;
}

/* Asks the servers in `whom`, and waits for their answers; `wanted` says which are enough. */
static int ask_servers(tkl__redlock_crew *c, const redlock_round *wanted, uint64_t whom,
                       tkl__redlock_answers *answers)
{
    *answers = (tkl__redlock_answers){0};
    int rc = start_all(c);
    redlock_round *r = rc == TKL_OK ? malloc(sizeof *r) : NULL;
    if (!r)
        return rc == TKL_OK ? tkl__nomem() : rc;
    *r = *wanted;
    r->users = 1;
    int64_t until = r->question.deadline + SLACK_US;
    pthread_mutex_lock(&c->mutex);
    for (size_t i = 0; i < c->count; i++)
        if (whom & UINT64_C(1) << i)
            put_round(&c->workers[i], r);
    tkl__cond_broadcast(&c->work);
    while (!has_enough_answers(c, r) && tkl__cond_wait(&c->news, &c->mutex, until))
        ;
    *answers = r->answers;
    leave_round(r);
    pthread_mutex_unlock(&c->mutex);
    return TKL_OK;
}

int tkl__redlock_crew_ask_majority(tkl__redlock_crew *c, const tkl__redlock_question *question,
                                   tkl__redlock_answers *answers)
{
    redlock_round wanted = {.question = *question, .by_majority = true};
    return ask_servers(c, &wanted, tkl__redlock_crew_everybody(c), answers);
}

int tkl__redlock_crew_ask(tkl__redlock_crew *c, const tkl__redlock_question *question,
                          uint64_t whom, uint64_t awaited)
{
    redlock_round wanted = {.question = *question, .awaited = awaited};
    tkl__redlock_answers answers;
    return ask_servers(c, &wanted, whom, &answers);
}
