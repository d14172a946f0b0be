/* SPDX-License-Identifier: MIT
 *
 * Waiting for messages: how a thousand threads wait over one connection.
 *
 * A waiter listens to a channel of sharded pub/sub, which also works on a cluster. All waiters of a
 * client share one subscription connection per node (hub.h); one of them reads it for all. A thread
 * may wait at several places at once: it reads each connection that no other thread reads, and an
 * eventfd wakes it for messages that other threads read.
 *
 *     tkl__waiter waiter;
 *     rc = tkl__listen(client, channel, id, deadline, &waiter);
 *     ...look at the state: what is published from now on is heard...
 *     switch (tkl__await(&waiter, deadline, &message)) ...
 *     tkl__unlisten(&waiter);
 */
#ifndef TKL_CORE_WAITER_H
#define TKL_CORE_WAITER_H

#include "core/client.h"
#include "core/cond.h"

typedef struct tkl__hub tkl__hub;
typedef struct tkl__topic tkl__topic;
typedef struct tkl__note tkl__note;

/* Lives on the stack of the thread that waits. All fields are private. */
typedef struct tkl__waiter {
    tkl__hub *hub; /* NULL: not listening */
    tkl__topic *topic;
    tkl_bytes id; /* it gets messages that begin with this; the caller keeps the bytes */
    tkl__note *first, *last;
    tkl__note *read; /* the message handed out last */
    bool cut;
    tkl__cond woken;
    struct tkl__waiter *next, *prev; /* in the list of the topic */
    struct tkl__waiter *next_sleeper, *prev_sleeper;
    bool asleep;
    struct tkl__waiter *front; /* gets the messages of this waiter; NULL: itself */
    int bell;                  /* eventfd of a thread in tkl__await_any(); -1: none */
    bool reads;                /* in tkl__await_any(): this thread reads for all of the hub */
} tkl__waiter;

typedef enum tkl__event {
    TKL__MESSAGE,     /* a message arrived */
    TKL__LOOK,        /* the time of tkl__look_at() has come; only one waiter of the channel gets
                         this */
    TKL__CUT,         /* messages may be lost, or another node serves the channel by now: listen
                         again and look at the state */
    TKL__TIME_UP,     /* the deadline passed, or the bell rang */
    TKL__INTERRUPTED, /* tkl_interrupt() was called: end the wait with tkl__interrupted() */
} tkl__event;

/* Subscribes to `channel` on the node of its slot, unless this client has done so already. After
 * TKL_OK the waiter gets every message published from then on. TKL_EINTR: the client is
 * interrupted. */
int tkl__listen(tkl_client *client, tkl_bytes channel, tkl_bytes id, int64_t deadline,
                tkl__waiter *waiter);
/* Fine for a waiter that is not listening. The subscription stays for a while, for the next
 * waiter. */
void tkl__unlisten(tkl__waiter *waiter);

/* For callers that are about to listen to many channels. Sends the subscriptions to all channels on
 * this waiter's node in one write, so that the tkl__listen() calls that follow find their answers
 * on the way. Those calls report failures. */
void tkl__listen_ahead(tkl__waiter *waiter, const tkl_bytes *channels, size_t count,
                       int64_t deadline);

/* Adds a second channel to a waiter: `front` gets all messages published there, whatever they begin
 * with. `ear` lives beside `front`; unlisten it first. */
int tkl__overhear(tkl__waiter *front, tkl_bytes channel, int64_t deadline, tkl__waiter *ear);

/* The node of a channel, with a reference; and whether a node serves another channel, as far as the
 * route knows. For callers that listen to many channels and skip all channels of a server that does
 * not answer. */
int tkl__server_of(tkl_client *client, tkl_bytes channel, int64_t deadline, tkl__node **node);
bool tkl__serves(tkl_client *client, const tkl__node *node, tkl_bytes channel);

/* Whether the client is subscribed already: then listening costs no round trip. */
bool tkl__hears(tkl_client *client, tkl_bytes channel);

/* Waits for the first event; an interruption comes before everything else. *message, without the
 * id, is valid until the next call. */
tkl__event tkl__await(tkl__waiter *waiter, int64_t deadline, tkl_bytes *message);

/* The same at several places at once, on any nodes: *which is the first waiter with an event.
 * Waiters that are not listening are skipped. `bell` is a non-blocking eventfd of this thread: when
 * another thread rings it, this returns TKL__TIME_UP. */
tkl__event tkl__await_any(tkl_client *client, tkl__waiter *const *waiters, size_t count, int bell,
                          int64_t deadline, size_t *which, tkl_bytes *message);

/* Asks for a TKL__LOOK at that moment, for one of the waiters of this waiter's channel; the
 * earliest moment counts. The waiter that gets TKL__LOOK calls this for the next one. If it leaves
 * without that call, another waiter gets TKL__LOOK. Does nothing for a waiter that does not listen:
 * it looks as soon as it listens again. */
void tkl__look_at(tkl__waiter *waiter, int64_t at);
/* Moves the next TKL__LOOK of this waiter's channel to `latest`, unless it is between `earliest`
 * and `latest` already. Does nothing for a waiter that does not listen. */
void tkl__look_between(tkl__waiter *waiter, int64_t earliest, int64_t latest);

/* Routes call this, without a lock, when another node may serve a channel by now. Waiters that
 * listen at the wrong node get TKL__CUT. */
void tkl__hubs_reroute(tkl_client *client);

/* For the client: closes the hubs at its end, or drops them in a forked child without sending
 * anything. */
void tkl__hubs_close(tkl_client *client);
void tkl__hubs_forget(tkl_client *client);

#endif
