/* SPDX-License-Identifier: MIT
 *
 * A server and the pool of connections to it.
 *
 * A call borrows a connection for its own use and puts it back; the one used last is lent
 * first. The pool grows to the client's limit; callers beyond it wait their turn. While a
 * server that was reached before cannot be reached, one caller at a time dials, after a
 * backoff that all share; a server that never was fails at once.
 *
 * All state is under the client's one mutex, which is held for a few instructions at a
 * time and never during I/O.
 */
#ifndef TKL_CORE_NODE_H
#define TKL_CORE_NODE_H

#include "core/conn.h"

typedef struct tkl__node tkl__node;

/* The node of that address, made when new, with a reference for the caller. NULL: no memory.
 * The _locked forms are for callers that hold the client's lock. */
tkl__node *tkl__node_get(tkl_client *client, const char *host, int port);
tkl__node *tkl__node_get_locked(tkl_client *client, const char *host, int port);
/* For callers that hold the client's lock or another reference. */
tkl__node *tkl__node_ref(tkl__node *node);
/* NULL is fine. The last one closes its connections. */
void tkl__node_unref(tkl__node *node);
const tkl__addr *tkl__node_addr(const tkl__node *node);

/* Lends a connection, dialling if need be. */
int tkl__node_borrow(tkl__node *node, int64_t deadline, tkl__conn **conn);
/* Takes it back, or closes it when it is broken. */
void tkl__node_return(tkl__node *node, tkl__conn *conn);
/* The same for calls that may wait on the server for long: beside the pool's limit, so that they
 * never keep others from calling. What the pool has idle is taken out of it; what comes back is put
 * in while there is room. Does not wait for a server that cannot be reached just now. */
int tkl__node_borrow_apart(tkl__node *node, int64_t deadline, tkl__conn **conn);
void tkl__node_return_apart(tkl__node *node, tkl__conn *conn);
/* For a thread that waits for an answer: whether the server hangs. After a heartbeat in which it
 * has answered nobody, one of the threads that call this sends a PING over another connection, and
 * waits for a heartbeat at most. */
bool tkl__node_hangs(tkl__node *node);
/* Closes the idle connections: after a failover they may lead to the wrong server. */
void tkl__node_flush(tkl__node *node);

/* In the child after a fork, with the client locked: lets go of the parent's connections. */
void tkl__node_forget_locked(tkl__node *node);
/* Adds how it stands to the numbers of its client. */
void tkl__node_count_locked(const tkl__node *node, tkl_client_info *info);
/* The next in client->nodes. */
tkl__node *tkl__node_next(const tkl__node *node);

#endif
