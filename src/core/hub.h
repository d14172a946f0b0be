/* SPDX-License-Identifier: MIT
 *
 * A hub is the subscription connection to one node, shared by all waiters of a client. For waiter.c
 * and the client only; components use waiter.h.
 *
 * It has no thread of its own: one of the waiters reads the connection for all, wakes the others
 * when their messages arrive, and passes the task on when it leaves. While there are no waiters,
 * nothing is read and nothing is sent.
 *
 * Heartbeat. A server that hangs closes no connection. So after `heartbeat_us` of silence the
 * reader sends a PING, and after the same time without an answer it gives the connection up: every
 * waiter gets TKL__CUT and listens again, at the node that serves the channel by then.
 *
 * The right node. After a failover the old master may live on as a replica: it accepts
 * subscriptions and forwards messages, but the new master counts its own subscribers only, and
 * takes the others for dead. So a channel is cut as soon as the route says that another node serves
 * it: when the route changes (tkl__hubs_reroute), when a subscription is confirmed, and at each
 * PING. When a server ends a subscription by itself, it has lost the slot, and the route looks for
 * the new server.
 *
 * Locking: `mutex` guards everything but `users` and `next`. It is held for bookkeeping and for
 * sending, never while waiting. `reading` says that a thread is in poll() for the connection; only
 * that thread, or a thread that finds `reading` false, may read or close it. A thread that fails to
 * send while another one polls shuts the socket down, which ends the poll. Order: the client's
 * hubs_mutex, a hub's mutex, the client's mutex.
 */
#ifndef TKL_CORE_HUB_H
#define TKL_CORE_HUB_H

#include <poll.h>

#include "core/waiter.h"

/* The default heartbeat; a test may set another one in its client. */
#define TKL__HEARTBEAT_US INT64_C(4000000)

#define TKL__BUCKETS 256

/* A message received. */
struct tkl__note {
    tkl__note *next;
    size_t len;
    char text[];
};

typedef enum tkl__topic_state {
    TKL__OFF,     /* not subscribed */
    TKL__ASKED,   /* SSUBSCRIBE sent */
    TKL__ON,      /* confirmed */
    TKL__REFUSED, /* answered by an error */
} tkl__topic_state;

/* A channel. */
struct tkl__topic {
    char *channel;
    size_t len;
    tkl__topic_state state;
    int code;             /* error code of the refusal */
    char *refusal;        /* its text */
    int users;            /* waiters that listen or are about to */
    tkl__waiter *waiters; /* waiters that listen */
    int64_t look_at;      /* when a waiter has to look; TKL__FOREVER: never */
    tkl__waiter *looker;  /* the waiter that got TKL__LOOK and has not yet called tkl__look_at() */
    tkl__topic *chain;    /* next topic in the hash bucket */
    tkl__topic *next_asked;
    tkl__topic *next_idle;
};

struct tkl__hub {
    tkl__hub *next; /* in the list of the client */
    int users;      /* tkl__hub_get() calls without their tkl__hub_put() */
    tkl_client *client;
    tkl__node *node;
    pthread_mutex_t mutex;
    tkl__cond changed; /* dialled, confirmed, refused, cut */
    tkl__conn *conn;   /* NULL: not connected */
    bool dialling;
    int failures;     /* failed dials in a row */
    int64_t retry_at; /* no dial before this */
    bool reading;
    tkl__waiter *sleepers; /* waiters that could take over reading */
    tkl__topic *buckets[TKL__BUCKETS];
    tkl__topic *asked, *asked_last; /* requests without an answer yet, in order; PING is one */
    tkl__topic *idle, *idle_last;   /* topics without users, oldest first */
    int idle_count;

    tkl__topic ping;  /* stands for PING in `asked`; its state: TKL__ASKED or TKL__OFF */
    bool pinged;      /* a PING was sent and nothing has come since */
    int64_t beat_at;  /* when the reader must send the PING, or give up */
    uint64_t counted; /* bytes received when beat_at was set */
};

/* ---- Hubs of a client ---------------------------------------------------- */

/* Returns the hub of a node and takes over the caller's reference to the node. Closes hubs of nodes
 * that serve nothing any more. NULL: no memory. */
tkl__hub *tkl__hub_get(tkl_client *client, tkl__node *node);
void tkl__hub_put(tkl__hub *hub);
/* Whether this hub's node serves the channel, as far as the route knows. With the mutex. */
bool tkl__hub_serves(const tkl__hub *hub, const tkl__topic *topic);

/* ---- Topics: with the hub's mutex ---------------------------------------- */

/* Returns the topic with one more user; makes it if it is new. NULL: no memory. */
tkl__topic *tkl__hub_join(tkl__hub *hub, tkl_bytes channel);
/* Removes one user. The subscription stays for a while, for the next user. */
void tkl__hub_leave(tkl__hub *hub, tkl__topic *topic);
/* Subscribes, and returns when the server has confirmed it. Unlocks meanwhile. */
int tkl__hub_subscribe(tkl__hub *hub, tkl__topic *topic, int64_t deadline);
/* Sends subscriptions to these channels in one write, and waits for none of them. */
void tkl__hub_ask_ahead(tkl__hub *hub, const tkl_bytes *channels, size_t count, int64_t deadline);

/* ---- Reading: with the hub's mutex --------------------------------------- */

/* Reads for all waiters until something arrives, the time passes, or the client is interrupted.
 * Unlocks meanwhile. */
void tkl__hub_read(tkl__hub *hub, int64_t until);
/* Handles replies, heartbeat and interruption, for a thread that has polled the connection
 * itself. */
void tkl__hub_attend(tkl__hub *hub);
/* A reading thread polls these files beside the connection, then calls tkl__hub_side_read(). They
 * signal changes of the route and interruptions. Without the mutex. */
#define TKL__HUB_FILES 2
void tkl__hub_side_files(tkl_client *client, struct pollfd files[TKL__HUB_FILES]);
void tkl__hub_side_read(tkl_client *client, const struct pollfd files[TKL__HUB_FILES], int ready);
/* A thread that stops waiting calls this, so that another waiter reads. */
void tkl__hub_pass_on(tkl__hub *hub);

void tkl__sleeper_add(tkl__hub *hub, tkl__waiter *waiter);
void tkl__sleeper_remove(tkl__hub *hub, tkl__waiter *waiter);

#endif
