/* SPDX-License-Identifier: MIT
 *
 * Which server to ask: the difference between standalone, Sentinel and Cluster.
 */
#ifndef TKL_CORE_ROUTE_H
#define TKL_CORE_ROUTE_H

#include "core/node.h"

/* `state` is the route's own, made by its open function (client->route_state). */
typedef struct tkl__route {
    /* The master that serves `slot` (TKL__NO_SLOT: any master), with a reference. May ask
     * servers, within the deadline. TKL_ENOTSENT when none can be found yet: the caller backs off
     * and tries again until its deadline. */
    int (*pick)(tkl_client *client, int slot, int64_t deadline, tkl__node **node);

    /* Told that `node` could not be reached or is no master any more: the next pick looks again
     * (standalone: nothing to do). Must not block. */
    void (*suspect)(tkl_client *client, tkl__node *node);

    /* Told by MOVED that `slot` is served by that address. Updates the map at once; the whole
     * map is fetched again by a later pick. NULL where MOVED makes no sense. */
    void (*moved)(tkl_client *client, int slot, const char *host, int port);

    /* Whether calls for `slot` go to `node` (TKL__NO_SLOT: for any slot), as far as is known. No
     * I/O. */
    bool (*serves)(tkl_client *client, int slot, const tkl__node *node);

    /* One slot of each master; free() the array. A command for every master is sent to the servers
     * of these slots, whichever they are by then. NULL where there is one master. */
    int (*shards)(tkl_client *client, int64_t deadline, int **slots, size_t *count);

    /* Frees the route's state. */
    void (*close)(tkl_client *client);

    bool cluster; /* keys have slots */
    bool wary;    /* a server that let go of a connection, or could not be reached, is not dialled
                     again before a pick has looked whether it is still the right one */
} tkl__route;

extern const tkl__route tkl__route_standalone; /* also for the private server */
extern const tkl__route tkl__route_sentinel;
extern const tkl__route tkl__route_cluster;

/* Each sets client->route and client->route_state from client->target. No I/O. */
int tkl__standalone_open(tkl_client *client);
int tkl__sentinel_open(tkl_client *client);
int tkl__cluster_open(tkl_client *client);

#endif
