/* SPDX-License-Identifier: MIT
 *
 * A lookout is the connection to the Sentinel that named the master. It is subscribed to that
 * Sentinel's announcements of failovers, so that a client leaves a master that was replaced but
 * does not know it yet. For sentinel.c only.
 *
 * It has no thread. A caller reads it before a request, unless another one did so recently. A
 * thread that waits for messages polls its file beside its own connection.
 */
#ifndef TKL_CORE_LOOKOUT_H
#define TKL_CORE_LOOKOUT_H

#include "core/buf.h"
#include "core/client.h"

/* Signs of life of a Sentinel. */
typedef struct tkl__pulse {
    int64_t heard_at; /* when it last sent something */
    uint64_t counted; /* bytes received by then */
    bool pinged;      /* a PING was sent, and nothing has arrived since */
} tkl__pulse;

/* Guarded by the client's mutex. */
typedef struct tkl__lookout {
    tkl__conn *conn; /* NULL: there is none, or a thread is reading it */
    bool reading;    /* a thread is reading it */
    tkl__pulse pulse;
    int file;            /* epoll with its socket: the same for the life of the client; -1: none */
    int64_t read_at;     /* when it was last read */
    unsigned generation; /* fork generation of this struct */
} tkl__lookout;

void tkl__lookout_init(tkl__lookout *lookout);
void tkl__lookout_close(tkl_client *client, tkl__lookout *lookout);

/* Adds the subscription to a request that is about to be sent to the Sentinel. */
void tkl__lookout_subscribe(tkl__buf *wire);
/* Takes over the connection on which the subscription was sent. Without the mutex. */
void tkl__lookout_post(tkl_client *client, tkl__lookout *lookout, tkl__conn *conn);

/* Reads announcements; never waits. With the mutex, which is released meanwhile. True: the Sentinel
 * has announced that this master is replaced. */
bool tkl__lookout_read(tkl_client *client, tkl__lookout *lookout);
/* With the mutex: whether there is a lookout. */
bool tkl__lookout_stands(tkl_client *client, tkl__lookout *lookout);

#endif
