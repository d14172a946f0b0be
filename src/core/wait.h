/* SPDX-License-Identifier: MIT
 *
 * Waiting for messages: how a thousand threads wait over one connection.
 *
 * A waiter listens to a channel of sharded pub/sub, so that this works on a cluster. All waiters of
 * a client share one subscription connection per node (hub.h), which one of them reads for all. A
 * thread may wait at several places at once: it reads wherever nobody else does, and an eventfd
 * wakes it for messages that others read.
 *
 *     tkl__waiter waiter;
 *     rc = tkl__listen(client, channel, id, deadline, &waiter);
 *     ...look at the state: what is published from now on is heard...
 *     switch (tkl__await(&waiter, deadline, &message)) ...
 *     tkl__unlisten(&waiter);
 */
#ifndef TKL_CORE_WAIT_H
#define TKL_CORE_WAIT_H

#include <pthread.h>

#include "core/client.h"

typedef struct tkl__hub tkl__hub;
typedef struct tkl__topic tkl__topic;
typedef struct tkl__note tkl__note;

/* Lives on the stack of the thread that waits. All fields are private. */
typedef struct tkl__waiter {
    tkl__hub *hub; /* NULL: not listening */
    tkl__topic *topic;
    tkl_bytes id; /* messages that begin with this are for it; the caller keeps the bytes */
    tkl__note *first, *last;
    tkl__note *read; /* the one handed out */
    bool cut;
    pthread_cond_t woken;
    struct tkl__waiter *next, *prev; /* of the topic */
    struct tkl__waiter *next_sleeper, *prev_sleeper;
    bool asleep;
    struct tkl__waiter *front; /* gets what this one hears; NULL: itself */
    int bell;   /* of a thread that waits at several places, while it does; -1: none */
    bool reads; /* for all of its hub; of a thread that waits at several places */
} tkl__waiter;

typedef enum tkl__event {
    TKL__MESSAGE,     /* there is one */
    TKL__LOOK,        /* the time of tkl__look_at() has come; told to one waiter of the channel */
    TKL__CUT,         /* messages may be lost, or the channel's node is another one by now: listen
                         again and look at the state */
    TKL__TIME_UP,     /* the deadline passed, or the wait was called off */
    TKL__INTERRUPTED, /* tkl_interrupt() was called: end the wait with tkl__interrupted() */
} tkl__event;

/* Subscribes to `channel`, on the node of its slot, unless this client does already. When it
 * returns TKL_OK, every message published from then on is heard. TKL_EINTR: the client is
 * interrupted. */
int tkl__listen(tkl_client *client, tkl_bytes channel, tkl_bytes id, int64_t deadline,
                tkl__waiter *waiter);
/* Fine for a waiter that is not listening. The subscription stays for a while, for the next. */
void tkl__unlisten(tkl__waiter *waiter);

/* For callers that are about to listen to many channels: those on the node of this waiter are asked
 * for in one piece, so that each tkl__listen() that follows finds its answer under way. What goes
 * wrong is found by these. */
void tkl__listen_ahead(tkl__waiter *waiter, const tkl_bytes *channels, size_t count,
                       int64_t deadline);

/* A second channel for a waiter: what is published there, whatever it begins with, comes to `front`
 * as its messages do. `ear` lives beside it; unlisten it first. */
int tkl__overhear(tkl__waiter *front, tkl_bytes channel, int64_t deadline, tkl__waiter *ear);

/* The node of a channel, with a reference, and whether another channel is on it as far as is known.
 * For callers that listen to many and want to leave all of a silent server alone. */
int tkl__server_of(tkl_client *client, tkl_bytes channel, int64_t deadline, tkl__node **node);
bool tkl__serves(tkl_client *client, const tkl__node *node, tkl_bytes channel);

/* Whether the client is subscribed already: listening costs no trip then. */
bool tkl__hears(tkl_client *client, tkl_bytes channel);

/* Waits for what comes first; an interruption comes before everything else. *message, without the
 * id, is valid until the next call. */
tkl__event tkl__await(tkl__waiter *waiter, int64_t deadline, tkl_bytes *message);

/* The same at several places at once, on whichever nodes: the first of the waiters that has
 * something is *which. Waiters that are not listening are passed over. `bell` is an eventfd that
 * does not block, of this thread: TKL__TIME_UP also when another thread rang it. */
tkl__event tkl__await_any(tkl__waiter *const *waiters, size_t count, int bell, int64_t deadline,
                          size_t *which, tkl_bytes *message);

/* Whether calls about the channel go to another node by now. The heartbeat finds that out as well,
 * seconds later. */
bool tkl__strayed(tkl__waiter *waiter);

/* Asks for a TKL__LOOK at that moment, for one of the waiters of this one's channel: the earliest
 * moment asked for counts. A waiter that was told to look asks for the next; when it leaves
 * without, another one is told to look. */
void tkl__look_at(tkl__waiter *waiter, int64_t at);
/* Moves the next TKL__LOOK of this waiter's channel: to the latest of these moments, unless it is
 * between them already. */
void tkl__look_between(tkl__waiter *waiter, int64_t earliest, int64_t latest);

/* For the client: drops the hubs, at its end or (without a word) in a forked child. */
void tkl__hubs_close(tkl_client *client);
void tkl__hubs_forget(tkl_client *client);

#endif
