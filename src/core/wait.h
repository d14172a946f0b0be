/* SPDX-License-Identifier: MIT
 *
 * Waiting for messages: how a thousand threads wait over one connection.
 *
 * All waiters of a client share one subscription connection per node (sharded pub/sub, so
 * that it works on a cluster). It has no thread of its own: one of the waiters reads it for all,
 * wakes the others as their messages come, and passes the task on when it leaves. When nobody
 * waits, nobody reads, and nothing is sent. One who waits at several places reads wherever nobody
 * else does, and is rung for by those who read at the others.
 */
#ifndef TKL_CORE_WAIT_H
#define TKL_CORE_WAIT_H

#include <pthread.h>

#include "core/client.h"

typedef struct tkl__hub tkl__hub;     /* the subscription connection to a node */
typedef struct tkl__topic tkl__topic; /* a channel listened to */
typedef struct tkl__note tkl__note;   /* a message received */

/* One who waits, on its own stack. All fields are private. */
typedef struct tkl__waiter {
    tkl__hub *hub; /* NULL: not listening */
    tkl__topic *topic;
    tkl_bytes id; /* messages that begin with this are for it; the caller keeps the bytes */
    tkl__note *first, *last;
    tkl__note *read; /* the one handed out */
    bool cut;
    bool called_off;
    pthread_cond_t woken;
    struct tkl__waiter *next, *prev; /* of the topic */
    struct tkl__waiter *next_sleeper, *prev_sleeper;
    bool asleep;
    int bell;   /* of one who waits at several places, while it does; -1: none */
    bool reads; /* for all of its hub; of one who waits at several places */
} tkl__waiter;

typedef enum tkl__event {
    TKL__MESSAGE, /* there is one */
    TKL__LOOK,    /* the time of tkl__look_at() has come; told to one waiter of the topic only */
    TKL__CUT,     /* the connection broke: messages may be lost; listen again and look */
    TKL__TIME_UP, /* the deadline passed, or it was called off */
    TKL__INTERRUPTED, /* tkl_interrupt() ended all waits of the client */
} tkl__event;

/* Subscribes to `channel`, on the node of its slot, unless this client does already. When it
 * returns TKL_OK, every message published from then on is heard. */
int tkl__listen(tkl_client *client, tkl_bytes channel, tkl_bytes id, int64_t deadline,
                tkl__waiter *waiter);
/* Fine for one that is not listening. The subscription stays for a while, for the next. */
void tkl__unlisten(tkl__waiter *waiter);

/* Whether the client is subscribed already: listening costs no trip then. */
bool tkl__hears(tkl_client *client, tkl_bytes channel);

/* Waits for what comes first. *message, without the id, is valid until the next call. */
tkl__event tkl__await(tkl__waiter *waiter, int64_t deadline, tkl_bytes *message);

/* The same at several places at once, on whichever nodes, with one thread: the first of the waiters
 * that has something is *which. Those that are not listening are passed over. `bell` is an eventfd
 * that does not block, of this thread: TKL__TIME_UP also when somebody rang it. */
tkl__event tkl__await_any(tkl__waiter *const *waiters, size_t count, int bell, int64_t deadline,
                          size_t *which, tkl_bytes *message);

/* Whether calls about the channel go to another node by now: one that fell silent is not noticed
 * by listening to it. */
bool tkl__strayed(tkl__waiter *waiter);

/* From another thread: ends a tkl__await() under way, or the next, with TKL__TIME_UP. */
void tkl__call_off(tkl__waiter *waiter);

/* Asks for a TKL__LOOK at that moment, for one of the waiters of this one's topic: the earliest
 * moment asked for counts. Whoever was told to look asks for the next; when it leaves without,
 * another one is told to look. */
void tkl__look_at(tkl__waiter *waiter, int64_t at);

/* For the client: drops the hubs, at its end or (without a word) in a forked child. */
void tkl__hubs_close(tkl_client *client);
void tkl__hubs_forget(tkl_client *client);

#endif
