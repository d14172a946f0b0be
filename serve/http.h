/* SPDX-License-Identifier: MIT
 *
 * The HTTP server. One thread does all of HTTP (libmicrohttpd, epoll): it reads requests, checks
 * who may do what, submits calls as operations of a tkl_loop, and sends their answers. A connection
 * whose call is under way is suspended: a thousand waits cost a thousand connections and no thread.
 *
 *     request -> refused -------------------------> answered
 *             -> submitted -> running -> done ------^
 *                                |  client gone, or server ends: cancelled
 *                                +-> streaming -> ended
 *
 * A stream (stream.h) is an answer that begins while its operation still runs. Its connection is
 * resumed whenever there is something to send, and suspended again.
 */
#ifndef TKL_SERVE_HTTP_H
#define TKL_SERVE_HTTP_H

#include "access.h"
#include "history.h"
#include "listen.h"
#include "login.h"
#include "tls.h"

/* Bytes of the bodies of all requests together. A request beyond them is answered with 503. */
#define SERVE_BODIES_MAX (INT64_C(256) << 20)

typedef struct serve_http serve_http;

typedef struct serve_http_options {
    int64_t max_head; /* bytes of a request's head and what libmicrohttpd keeps beside it */
    int64_t max_body; /* bytes of a request's body */
    int64_t max_connections;
    int64_t client_timeout_ms; /* time for a client to send a request, and to take its answer */
    int64_t heartbeat_ms;      /* a stream is silent for this long at most */
    int64_t answer_life_ms;    /* how long answers to requests with a key are kept */
    serve_history *history;    /* history of the queues, for the dashboard */
    serve_logins *logins;      /* sessions of browsers */
} serve_http_options;

/* Everything must stay until serve_http_close(). */
int serve_http_open(const cli_session *cli, tkl_client *client, const serve_access *access,
                    const serve_listener *listener, const serve_tls *tls,
                    const serve_http_options *options, serve_http **http);

/* Serves until SIGTERM or SIGINT, which must be blocked in all threads. Then waits are cancelled
 * and answered with 503, and calls under way are finished. A second signal ends it at once. */
int serve_http_run(serve_http *http);

void serve_http_close(serve_http *http);

#endif
