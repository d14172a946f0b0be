/* SPDX-License-Identifier: MIT
 *
 * Tracking: hears from the servers which keys change, for a component that keeps local copies.
 *
 * A thread has one connection to each master, with CLIENT TRACKING in broadcasting mode: the server
 * names every key with the prefix that is written, expires or is evicted, whoever reads it, and
 * remembers nothing for its clients. The messages come by the RESP2 channel for invalidations, to
 * the same connection.
 *
 * All or nothing: while one master is not heard, or the route has changed, nothing may be kept. A
 * server that hangs is noticed after two heartbeats at most.
 *
 * In a forked child the thread does not exist: the first tkl__tracking_state() there starts it
 * again.
 */
#ifndef TKL_CORE_TRACKING_H
#define TKL_CORE_TRACKING_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/client.h"

typedef struct tkl__tracking {
    tkl_client *client;
    tkl_bytes prefix; /* keys begin with it; the component owns it for the life of the tracking */
    /* The thread calls these: a key has changed; any key may have changed. */
    void (*changed)(void *arg, tkl_bytes key);
    void (*lost)(void *arg);
    /* A forked child calls this before its thread starts; no other thread uses the tracking then. */
    void (*forked)(void *arg);
    void *arg;

    /* Private. */
    pthread_t thread;
    bool running;
    atomic_uint process;      /* fork generation of the thread */
    int bell;                 /* an eventfd that wakes the thread */
    _Atomic int64_t end;      /* deadline of all calls of the thread; 0: not ended */
    _Atomic uint64_t serial;  /* how often all masters were heard; changes with each loss */
    atomic_bool live;         /* all of them are heard now ... */
    atomic_uint reroutes;     /* ... if the client's route has not changed since */
    struct tkl__heard *heard; /* the masters */
    size_t count;
} tkl__tracking;

/* Prepares the tracking; no I/O, no thread yet. The caller sets all fields but the private ones. */
void tkl__tracking_init(tkl__tracking *tracking);
/* Ends the thread at once, even if a server does not answer. In a forked child it only frees
 * memory. */
void tkl__tracking_close(tkl__tracking *tracking);

/* Starts to track, if that has not happened yet. Does not wait. */
void tkl__tracking_start(tkl__tracking *tracking);

/* 0: changes may be missed now. Otherwise a number that is the same as long as none is missed.
 * No I/O. */
uint64_t tkl__tracking_state(tkl__tracking *tracking);

#endif
