/* SPDX-License-Identifier: MIT
 *
 * Several real servers that belong together: a cluster of 3 masters and 3 replicas, and a master
 * with 2 replicas under 3 Sentinels. Both notice a dead server within about a second.
 */
#ifndef TACKLE_TESTS_CLUSTER_H
#define TACKLE_TESTS_CLUSTER_H

#include "support/server.h"

#define CLUSTER_MASTERS 3
#define CLUSTER_SIZE    6

/* ---- A cluster ----------------------------------------------------------- */

typedef struct cluster {
    server *servers[CLUSTER_SIZE]; /* at the start the masters come first, in the order of slots */
    char url[256];                 /* redis+cluster://... with all of them */
} cluster;

/* Starts a cluster. `tls`: clients and servers speak TLS, also the servers among themselves; the
 * URL is rediss+cluster://. */
cluster *cluster_start(bool tls);
void cluster_end(cluster *c);

/* Starts the servers that were killed. Waits until all 6 are linked, all slots are served, and all
 * servers agree on the owners. */
void cluster_heal(cluster *c);

/* The master that says that it serves the slot; NULL: no server does. */
server *cluster_owner(cluster *c, int slot);
/* A running master that does not serve the slot. */
server *cluster_other(cluster *c, int slot);
/* The replica of a master. */
server *cluster_replica(cluster *c, server *master);
/* A new master without slots, which all members know; cluster_part() ends it. */
server *cluster_join(cluster *c);
void cluster_part(cluster *c, server *joined);
/* Writes the id of a server, 40 hex digits. */
void cluster_id(server *s, char id[41]);

/* A planned failover: the replica of the slot's master takes over its slots. */
void cluster_fail_over(cluster *c, int slot);

/* The steps of moving a slot: declare it, move some of its keys (all: INT_MAX), end it. */
void cluster_move_begin(server *from, server *to, int slot);
void cluster_move_keys(server *from, server *to, int slot, int count);
void cluster_move_end(cluster *c, server *to, int slot);

/* ---- Sentinels ----------------------------------------------------------- */

#define SENTINEL_NAME "the-master"

typedef struct sentinels {
    server *data[3];     /* at the start the first is the master */
    server *watchers[3]; /* the Sentinels */
    char url[256];       /* redis+sentinel://.../the-master */
} sentinels;

sentinels *sentinels_start(void);
void sentinels_end(sentinels *trio);
/* Starts the servers that were killed, and waits until all Sentinels know two good replicas and
 * each other. */
void sentinels_heal(sentinels *trio);
/* The master as all Sentinels see it; NULL: they do not agree, or it is dead. */
server *sentinels_master(sentinels *trio);
/* A planned failover: one of the replicas becomes the master. */
void sentinels_fail_over(sentinels *trio);
/* Waits until the Sentinels agree on another master. */
void sentinels_await_other(sentinels *trio, const server *than);

#endif
