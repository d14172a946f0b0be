/* SPDX-License-Identifier: MIT
 *
 * Live numbers for the dashboard: server-sent events, one a second, with the data of `tackle top`.
 *
 *     event: sample
 *     data: {"time": "...", "server": {...}, "queues": [...], "locks": [...], ...}
 *
 *     event: problem
 *     data: {"error": "TKL_ENOTSENT", "message": "..."}
 *
 * One sampler serves all streams: it reads an overview a second, one round trip for each master,
 * however many streams there are. Without a stream it reads nothing. A client that is slow gets the
 * latest sample, not all of them.
 *
 * All functions run in the thread of HTTP; only the reading itself is an operation of the loop.
 */
#ifndef TKL_SERVE_EVENTS_H
#define TKL_SERVE_EVENTS_H

#include <microhttpd.h>
#include <stdint.h>
#include <tackle/loop.h>

typedef struct serve_events serve_events;

/* NULL: out of memory. The loop must be closed before the sampler is. */
serve_events *serve_events_open(tkl_client *client, tkl_loop *loop);
void serve_events_close(serve_events *events);

/* The response of a new stream. *since_ms, which must live as long as the connection, is the moment
 * since which the client has left something unread; 0: it has read all. NULL: out of memory. */
struct MHD_Response *serve_events_response(serve_events *events, struct MHD_Connection *connection,
                                           int64_t *since_ms);

/* Milliseconds until serve_events_tick() has something to do; -1: for ever. */
int serve_events_timeout_ms(const serve_events *events);

/* Begins to read a sample when it is time. */
void serve_events_tick(serve_events *events);

/* Ends all streams. */
void serve_events_end(serve_events *events);

#endif
