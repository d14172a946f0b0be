/* SPDX-License-Identifier: MIT
 *
 * A room for one guest at a time, behind a lock or a permit called "door". Guests, each with a
 * client of its own, check that they are alone there and that fences grow.
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
    int rounds;         /* how often each guest goes in, at most */
    atomic_bool closed; /* guests do not go in any more */
    pthread_mutex_t mutex;
    struct guest *inside; /* NULL: the room is empty */
    uint64_t fence;       /* the last one */
    atomic_int served;    /* visits that ended */
    int excused;          /* guests that may meet another one, while there are two masters */
    atomic_int overlaps;  /* guests that met another one */
    atomic_int backward;  /* fences that did not grow */
    atomic_int lost;      /* holders that lost what they held */
} room;

/* Starts GUESTS threads that go in and out. */
crew *room_open(room *r);

/* Lets one guest be inside while GUESTS others wait, and calls `disturb`, which does something to
 * the servers. Some milliseconds later the guest leaves: all others must come in, one at a time. */
void room_survives(room *r, void (*disturb)(void *where), void *where, int64_t settle_ms);

#endif
