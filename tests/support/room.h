/* SPDX-License-Identifier: MIT
 *
 * A room in which only one may be at a time, behind a lock or a permit called "door". Guests, each
 * with a client of its own, check that they are alone there and that fences grow.
 */
#ifndef TACKLE_TESTS_ROOM_H
#define TACKLE_TESTS_ROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "support/locks.h"

#define GUESTS 4

typedef struct room {
    const char *url;
    bool permits;       /* a semaphore of 1, not a lock */
    int rounds;         /* how often each guest goes in, at most ... */
    atomic_bool closed; /* ... and not after this */
    pthread_mutex_t mutex;
    struct guest *inside; /* NULL: nobody */
    uint64_t fence;       /* the last one */
    atomic_int served;    /* visits that ended */
    int excused;          /* guests that may meet another one: two masters for a moment */
    atomic_int overlaps;  /* guests that met another one */
    atomic_int backward;  /* fences that did not grow */
    atomic_int lost;      /* holders that lost what they held */
} room;

/* GUESTS threads that go in and out. */
crew *room_open(room *r);

/* One guest is inside, GUESTS others wait, and `disturb` does what it does to the servers. So many
 * milliseconds later the one inside leaves: all others come in, one at a time. */
void room_survives(room *r, void (*disturb)(void *where), void *where, int64_t settle_ms);

#endif
