/* SPDX-License-Identifier: MIT */
#include "core/cond.h"

#include <stddef.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"

/* A fiber in tkl__cond_wait(), on its stack. */
typedef struct tkl__cond_sleeper {
    tkl__fiber *fiber;
    struct tkl__cond_sleeper *next, *prev;
    bool listed;
} sleeper;

/* ---- Condition variables ------------------------------------------------- */

void tkl__cond_init(tkl__cond *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->threads, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&c->mutex, NULL);
    c->fibers = c->last = NULL;
}

void tkl__cond_destroy(tkl__cond *c)
{
    pthread_cond_destroy(&c->threads);
    pthread_mutex_destroy(&c->mutex);
}

/* With the mutex of the condition. */
static void sleeper_add(tkl__cond *c, sleeper *s)
{
    s->listed = true;
    s->prev = c->last;
    *(c->last ? &c->last->next : &c->fibers) = s;
    c->last = s;
}

/* With the mutex of the condition. */
static void sleeper_remove(tkl__cond *c, sleeper *s)
{
    s->listed = false;
    *(s->prev ? &s->prev->next : &c->fibers) = s->next;
    *(s->next ? &s->next->prev : &c->last) = s->prev;
}

/* Wakes the fibers that have slept longest, up to `most`. Returns how many. */
static size_t wake_fibers(tkl__cond *c, size_t most)
{
    size_t woken = 0;
    pthread_mutex_lock(&c->mutex);
    for (; c->fibers && woken < most; woken++) {
        tkl__fiber *fiber = c->fibers->fiber;
        sleeper_remove(c, c->fibers);
        tkl__fiber_wake(fiber);
    }
    pthread_mutex_unlock(&c->mutex);
    return woken;
}

void tkl__cond_signal(tkl__cond *c)
{
    if (wake_fibers(c, 1) == 0)
        pthread_cond_signal(&c->threads);
}

void tkl__cond_broadcast(tkl__cond *c)
{
    wake_fibers(c, SIZE_MAX);
    pthread_cond_broadcast(&c->threads);
}

/* The fiber is on the list before the caller's mutex is unlocked, so no signal is missed. */
static void sleep_on_fiber(tkl__cond *c, tkl__fiber *self, pthread_mutex_t *mutex, int64_t until)
{
    sleeper s = {.fiber = self};
    pthread_mutex_lock(&c->mutex);
    sleeper_add(c, &s);
    pthread_mutex_unlock(&c->mutex);
    pthread_mutex_unlock(mutex);
    tkl__fiber_park(until);
    pthread_mutex_lock(mutex);
    pthread_mutex_lock(&c->mutex);
    if (s.listed)
        sleeper_remove(c, &s);
    pthread_mutex_unlock(&c->mutex);
}

bool tkl__cond_wait(tkl__cond *c, pthread_mutex_t *mutex, int64_t deadline)
{
    int64_t until = tkl__wake_time(deadline);
    tkl__fiber *self = tkl__fiber_self();
    if (self) {
        sleep_on_fiber(c, self, mutex, until);
        return tkl__left(deadline) > 0;
    }
    if (until == TKL__FOREVER)
        return pthread_cond_wait(&c->threads, mutex) == 0;
    struct timespec ts = tkl__timespec(until);
    return pthread_cond_timedwait(&c->threads, mutex, &ts) == 0 ||
           (until < deadline && tkl__left(deadline) > 0);
}

/* ---- Turns --------------------------------------------------------------- */

void tkl__turn_init(tkl__turn *turn)
{
    pthread_mutex_init(&turn->mutex, NULL);
    tkl__cond_init(&turn->free);
    turn->taken = false;
}

void tkl__turn_destroy(tkl__turn *turn)
{
    tkl__cond_destroy(&turn->free);
    pthread_mutex_destroy(&turn->mutex);
}

/* False: the calling fiber was cancelled while another operation had the turn. */
static bool take_turn(tkl__turn *turn, bool cancellable)
{
    pthread_mutex_lock(&turn->mutex);
    while (turn->taken && !(cancellable && tkl__fiber_cancelled_at() != 0)) {
        tkl__rest_begin();
        (void)tkl__cond_wait(&turn->free, &turn->mutex, TKL__FOREVER);
        tkl__rest_end();
    }
    bool was_free = !turn->taken;
    turn->taken = true;
    pthread_mutex_unlock(&turn->mutex);
    return was_free;
}

void tkl__turn_take(tkl__turn *turn)
{
    (void)take_turn(turn, false);
}

int tkl__turn_take_unless_cancelled(tkl__turn *turn)
{
    return take_turn(turn, true) ? TKL_OK : tkl__interrupted();
}

bool tkl__turn_try(tkl__turn *turn)
{
    pthread_mutex_lock(&turn->mutex);
    bool was_free = !turn->taken;
    turn->taken = true;
    pthread_mutex_unlock(&turn->mutex);
    return was_free;
}

void tkl__turn_end(tkl__turn *turn)
{
    pthread_mutex_lock(&turn->mutex);
    turn->taken = false;
    tkl__cond_signal(&turn->free);
    pthread_mutex_unlock(&turn->mutex);
}
