/* SPDX-License-Identifier: MIT
 *
 * A server and the pool of connections to it.
 *
 * A call borrows a connection for its own use and returns it; the one used last is lent first. The
 * pool grows to the client's limit; callers beyond it wait their turn. While a server that was
 * reached before is down, one caller at a time dials, after a backoff that all callers share. A
 * server that was never reached fails at once.
 *
 * All state is under the client's one mutex, which is held for a few instructions at a time and
 * never during I/O.
 */
#ifndef TKL_CORE_NODE_H
#define TKL_CORE_NODE_H

#include "core/conn.h"

typedef struct tkl__node tkl__node;

/* Returns the node of that address, with a reference for the caller; makes it if it is new. NULL:
 * no memory. The _locked forms are for callers that hold the client's lock. */
tkl__node *tkl__node_get(tkl_client *client, const char *host, int port);
tkl__node *tkl__node_get_locked(tkl_client *client, const char *host, int port);
/* For callers that hold the client's lock or another reference. */
tkl__node *tkl__node_ref(tkl__node *node);
/* Drops a reference; the last one closes the connections. NULL is fine. */
void tkl__node_unref(tkl__node *node);
const tkl__addr *tkl__node_addr(const tkl__node *node);

/* Lends a connection; dials if necessary. */
int tkl__node_borrow(tkl__node *node, int64_t deadline, tkl__conn **conn);
/* Takes the connection back, or closes it if it is broken. */
void tkl__node_return(tkl__node *node, tkl__conn *conn);
/* The same for calls that may block on the server for a long time. They do not count for the pool's
 * limit, so they never keep others from calling. An idle connection is taken out of the pool; a
 * returned one goes into the pool while there is room. Does not wait for a server that is down. */
int tkl__node_borrow_apart(tkl__node *node, int64_t deadline, tkl__conn **conn);
void tkl__node_return_apart(tkl__node *node, tkl__conn *conn);
/* Whether the server hangs; for a thread that waits for an answer. When the server has answered no
 * caller for a heartbeat, one of the threads that call this sends a PING on another connection, and
 * waits a heartbeat at most. */
bool tkl__node_hangs(tkl__node *node);
/* When the server last let a view of operators wait in vain; 0: never. See lenient.h. */
int64_t tkl__node_silent_at(const tkl__node *node);
void tkl__node_note_silence(tkl__node *node);
/* Whether the last attempt to connect failed. */
bool tkl__node_is_refused(tkl__node *node);
/* Closes the idle connections: after a failover they may lead to the wrong server. */
void tkl__node_flush(tkl__node *node);

/* In the child after a fork, with the client locked: drops the parent's connections. */
void tkl__node_forget_locked(tkl__node *node);
/* Adds the node's numbers to those of its client. */
void tkl__node_count_locked(const tkl__node *node, tkl_client_stats *info);
/* The next in client->nodes. */
tkl__node *tkl__node_next(const tkl__node *node);

#endif
