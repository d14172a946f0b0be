/* SPDX-License-Identifier: MIT
 *
 * Which server a request goes to: the difference between standalone, Sentinel and Cluster.
 */
#ifndef TKL_CORE_ROUTE_H
#define TKL_CORE_ROUTE_H

#include "core/node.h"

/* The functions of a route. Its own state is client->route_state, made by its open function. */
typedef struct tkl__route {
    /* Returns the master that serves `slot` (TKL__NO_SLOT: any master), with a reference. May ask
     * servers, within the deadline. TKL_ENOTSENT when none can be found yet: the caller backs off
     * and retries until its deadline. */
    int (*pick)(tkl_client *client, int slot, int64_t deadline, tkl__node **node);

    /* Notes that `node` could not be reached or is not a master any more: the next pick looks again
     * (standalone: nothing to do). Must not block. */
    void (*suspect)(tkl_client *client, tkl__node *node);

    /* Notes a MOVED: that address serves `slot`. Updates the map at once; a later pick fetches the
     * whole map again. NULL where MOVED makes no sense. */
    void (*moved)(tkl_client *client, int slot, const char *host, int port);

    /* Whether calls for `slot` (TKL__NO_SLOT: for any slot) go to `node`, as far as the route
     * knows. No I/O. */
    bool (*serves)(tkl_client *client, int slot, const tkl__node *node);

    /* Returns one slot of each master; free() the array. A command for every master is sent to the
     * servers of these slots, even if they have moved by then. NULL where there is one master. */
    int (*shards)(tkl_client *client, int64_t deadline, int **slots, size_t *count);

    /* Asks the servers for all masters, also those without slots, as a new array of references.
     * NULL where there is one master. */
    int (*masters)(tkl_client *client, int64_t deadline, tkl__node ***nodes, size_t *count);

    /* `lookout` returns a file that is readable when a server has announced a change, the same for
     * the life of the client; -1: none. Waiting threads call `heed` then, and every few seconds: it
     * finds out what changed, and takes a second at most. NULL where nothing is announced. */
    int (*lookout)(tkl_client *client);
    void (*heed)(tkl_client *client);

    /* Frees the route's state. */
    void (*close)(tkl_client *client);

    bool cluster; /* keys have slots */
    bool wary;    /* after a server closed a connection or could not be reached, it is not
                     dialled again before a pick has checked that it is still the right one */
} tkl__route;

extern const tkl__route tkl__route_standalone; /* also for the private server */

/* Each sets client->route and client->route_state from client->target. No I/O. */
int tkl__standalone_open(tkl_client *client);
int tkl__sentinel_open(tkl_client *client);
int tkl__cluster_open(tkl_client *client);

#endif
