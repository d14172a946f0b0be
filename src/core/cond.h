/* SPDX-License-Identifier: MIT
 *
 * Condition variables and long locks, for threads and fibers alike.
 */
#ifndef TKL_CORE_COND_H
#define TKL_CORE_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A condition variable on CLOCK_MONOTONIC. Its rules are those of pthread_cond_t: a wait may end
 * for no reason, and a signal needs no mutex if the change before it was made with the mutex. */
typedef struct tkl__cond {
    pthread_cond_t threads;                  /* threads that sleep here */
    pthread_mutex_t mutex;                   /* guards the list; held for a few instructions */
    struct tkl__cond_sleeper *fibers, *last; /* fibers that sleep here, by arrival */
} tkl__cond;

void tkl__cond_init(tkl__cond *cond);
void tkl__cond_destroy(tkl__cond *cond);
void tkl__cond_signal(tkl__cond *cond);
void tkl__cond_broadcast(tkl__cond *cond);
/* False when the deadline passed. */
bool tkl__cond_wait(tkl__cond *cond, pthread_mutex_t *mutex, int64_t deadline);

/* A turn is a lock that its owner keeps while it waits for servers. A fiber that waits for its turn
 * does not hold up others. */
typedef struct tkl__turn {
    pthread_mutex_t mutex; /* guards `taken` */
    tkl__cond free;
    bool taken;
} tkl__turn;

void tkl__turn_init(tkl__turn *turn);
void tkl__turn_destroy(tkl__turn *turn);
void tkl__turn_take(tkl__turn *turn);
/* The same, but TKL_EINTR when the calling fiber is cancelled and the turn is not free. */
int tkl__turn_take_unless_cancelled(tkl__turn *turn);
/* Takes the turn if it is free; does not wait. */
bool tkl__turn_try(tkl__turn *turn);
void tkl__turn_end(tkl__turn *turn);

#endif
