/* SPDX-License-Identifier: MIT
 *
 * The client's inside, for the core only.
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

struct tkl_client {
    tkl__target target;
    struct ssl_ctx_st *tls; /* NULL: plain */
    unsigned char id[16];   /* random: names the channels on which this client listens */
    const tkl__route *route;
    void *route_state;
    struct tkl__embedded *embedded; /* the in-memory server this client started, or NULL */

    atomic_bool reached; /* some server has answered once */
    tkl__interrupt interrupt;
    int64_t heartbeat_us; /* of subscriptions: see hub.h */

    pthread_mutex_t mutex;      /* guards all that follows, and everything of nodes and routes */
    struct tkl__keeper *keeper; /* for renewing; see keeper.h */
    tkl__node *nodes;           /* list of all nodes that are referred to */
    tkl_client_info counts;     /* what only grows */
    atomic_uint generation;     /* the fork generation the connections belong to */

    pthread_mutex_t hubs_mutex; /* guards the list, and who uses a hub; see hub.h */
    struct tkl__hub *hubs;      /* for waiting */

    tkl_client *next; /* list of all clients, for fork */
};

/* Taking the lock also notices that this process is a fork of the one that made the
 * connections, and lets go of them. */
void tkl__client_lock(tkl_client *client);
void tkl__client_unlock(tkl_client *client);

/* How many forks lie between this process and the first: another number than before means that
 * what was counted here belongs to the parent. */
unsigned tkl__fork_generation(void);

#endif
