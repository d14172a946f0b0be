/* SPDX-License-Identifier: MIT
 *
 * The internals of a client, for the core only.
 */
#ifndef TKL_CORE_CLIENT_H
#define TKL_CORE_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/interrupt.h"
#include "core/route.h"

struct tkl__embedded;
struct tkl__hub;
struct tkl__keeper;

/* Which names the client has announced to the register; see register.c. */
typedef struct tkl__register {
    _Atomic(uint64_t) *announced; /* marks of names */
    atomic_llong silent_until;    /* monotonic: nothing is announced before, since it was refused */
    int64_t tokens, tokens_at;    /* bucket that bounds announcements; under the client's mutex */
} tkl__register;

struct tkl_client {
    tkl__target target;
    struct ssl_ctx_st *tls; /* NULL: plain */
    unsigned char id[16];   /* random: names the channels on which this client listens */
    const tkl__route *route;
    void *route_state;
    struct tkl__embedded *embedded; /* the in-memory server this client started, or NULL */

    atomic_bool reached;  /* a server has answered at least once */
    atomic_uint reroutes; /* how often the route has changed */
    tkl__interrupt interrupt;
    int64_t heartbeat_us; /* heartbeat of subscriptions: see hub.h */
    tkl__register names;

    pthread_mutex_t mutex;      /* guards all that follows, and all nodes and routes */
    struct tkl__keeper *keeper; /* renews leases; see keeper.h */
    tkl__node *nodes;           /* list of all nodes with a reference */
    tkl_client_stats counts;    /* the counters that only grow */
    atomic_uint generation;     /* the fork generation that made the connections */

    pthread_mutex_t hubs_mutex; /* guards the list and the users of each hub; see hub.h */
    struct tkl__hub *hubs;      /* subscriptions of waiters */

    tkl_client *next; /* list of all clients, for fork */
};

/* Locks the client. In a forked child this also drops the connections, which belong to the
 * parent. */
void tkl__client_lock(tkl_client *client);
void tkl__client_unlock(tkl_client *client);

/* Number of forks between this process and the first one. A changed number means that what was
 * counted here belongs to the parent. */
unsigned tkl__fork_generation(void);

#endif
