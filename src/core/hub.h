/* SPDX-License-Identifier: MIT
 *
 * A hub is the subscription connection to one node, shared by all waiters of a client. For wait.c
 * and the client only; components use wait.h.
 *
 * It has no thread of its own: one of the waiters reads the connection for all, wakes the others
 * when their messages come, and passes the task on when it leaves. While nobody waits, nobody reads
 * and nothing is sent.
 *
 * Heartbeat. A server that hangs closes no connection. So after `heartbeat_us` of silence the
 * reader sends a PING, and after the same time without an answer it gives the connection up: every
 * waiter gets TKL__CUT and listens again, at the node that serves the channel by then. With each
 * PING the reader also compares with the route: a channel whose slot has moved to another node
 * meanwhile is cut as well.
 *
 * Locking: `mutex` guards everything but `users` and `next`. It is held for the bookkeeping and for
 * sending, never while waiting. `reading` says that a thread is in poll() for the connection; only
 * that thread, or one that finds nobody reading, may read or close it. A thread that fails to send
 * while another one polls shuts the socket down, which ends the poll. Order: the client's
 * hubs_mutex, a hub's mutex, the client's mutex.
 */
#ifndef TKL_CORE_HUB_H
#define TKL_CORE_HUB_H

#include "core/wait.h"

/* The heartbeat of clients; a test may set another one in its client. */
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
    int code;             /* why refused */
    char *refusal;        /* in words */
    int users;            /* those listening or about to */
    tkl__waiter *waiters; /* those listening */
    int64_t look_at;      /* TKL__FOREVER: nobody asked */
    tkl__waiter *looker;  /* was told to look, and has not said when to look next */
    tkl__topic *chain;    /* in its bucket */
    tkl__topic *next_asked;
    tkl__topic *next_idle;
};

struct tkl__hub {
    tkl__hub *next; /* of the client */
    int users;      /* calls of tkl__hub_get() that were not followed by tkl__hub_put() */
    tkl_client *client;
    tkl__node *node;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* dialled, confirmed, refused, cut */
    tkl__conn *conn;        /* NULL: not connected */
    bool dialling;
    int failures;     /* dials failed in a row */
    int64_t retry_at; /* no dial before this */
    bool reading;
    tkl__waiter *sleepers; /* waiters that could take over reading */
    tkl__topic *buckets[TKL__BUCKETS];
    tkl__topic *asked, *asked_last; /* requests without an answer, in order; PING is one */
    tkl__topic *idle, *idle_last;   /* topics without users, oldest first */
    int idle_count;

    tkl__topic ping;  /* stands for PING in `asked` */
    bool pinged;      /* a PING was sent and nothing has come since */
    int64_t beat_at;  /* when the reader has to send the PING, or to give up */
    uint64_t counted; /* bytes received when beat_at was set */
};

/* ---- Hubs of a client ---------------------------------------------------- */

/* The hub of a node, whose reference it takes over. Closes hubs of nodes that serve nothing any
 * more. NULL: no memory. */
tkl__hub *tkl__hub_get(tkl_client *client, tkl__node *node);
void tkl__hub_put(tkl__hub *hub);

/* ---- Topics: with the hub's mutex ---------------------------------------- */

tkl__topic *tkl__hub_find(tkl__hub *hub, tkl_bytes channel);
/* The topic with one more user, made when new. NULL: no memory. */
tkl__topic *tkl__hub_join(tkl__hub *hub, tkl_bytes channel);
/* Takes that back. The subscription stays for a while, for the next user. */
void tkl__hub_leave(tkl__hub *hub, tkl__topic *topic);
/* Returns when the subscription is confirmed. Unlocks meanwhile. */
int tkl__hub_subscribe(tkl__hub *hub, tkl__topic *topic, int64_t deadline);
/* Sends subscriptions to these channels, all in one piece, and waits for none of them. */
void tkl__hub_ask_ahead(tkl__hub *hub, const tkl_bytes *channels, size_t count, int64_t deadline);

/* ---- Reading: with the hub's mutex --------------------------------------- */

/* Reads for all until something came, the moment passed, or the client was interrupted. Unlocks
 * meanwhile. */
void tkl__hub_read(tkl__hub *hub, int64_t until);
/* Deals with what came, with the heartbeat and with an interruption: for a thread that has polled
 * the connection itself. */
void tkl__hub_attend(tkl__hub *hub);
/* Called by a thread that stops waiting: another one should read. */
void tkl__hub_pass_on(tkl__hub *hub);

void tkl__waiter_wake(tkl__waiter *waiter);
void tkl__sleeper_add(tkl__hub *hub, tkl__waiter *waiter);
void tkl__sleeper_remove(tkl__hub *hub, tkl__waiter *waiter);

#endif
