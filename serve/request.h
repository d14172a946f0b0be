/* SPDX-License-Identifier: MIT
 *
 * A request, on its way through the files of the HTTP server:
 *
 *     admit.c   its head: who asks for what, and whether that is allowed; a request with a cookie
 *               is suspended while Redis is asked for its session (login.h)
 *     http.c    connections and bodies; the loop of the thread of HTTP
 *     run.c     its call, as an operation of a tkl_loop; streams
 *     send.c    its answer, and the log
 *
 * All functions run in the thread of HTTP, unless they say otherwise.
 */
#ifndef TKL_SERVE_REQUEST_H
#define TKL_SERVE_REQUEST_H

#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>

#include "batch.h"
#include "events.h"
#include "http.h"
#include "login.h"
#include "metrics.h"
#include "pages.h"

/* How often the server looks for slow clients and silent streams. */
#define SERVE_SWEEP_MS 1000

typedef enum serve_request_kind {
    SERVE_CALL,
    SERVE_BATCH,
    SERVE_READY,
    SERVE_OPENAPI,
    SERVE_METRICS,
    SERVE_HEALTH,
    SERVE_CALLER,
    SERVE_LOGIN,
    SERVE_LOGOUT,
    SERVE_STREAM,
    SERVE_HISTORY,
    SERVE_PAGE
} serve_request_kind;

/* A connection, from its beginning to its end. */
typedef struct serve_peer {
    int file;
    int64_t since_ms; /* when the server began to wait for the client; 0: the client waits */
    struct serve_peer *next, *prev;
} serve_peer;

typedef struct serve_request {
    serve_http *http;
    struct MHD_Connection *connection;
    serve_peer *peer;
    serve_request_kind kind;
    serve_route route;
    const serve_page *page; /* the page of a SERVE_PAGE */
    serve_user user;        /* the caller; its name is "-" when no token is needed */
    bool is_checking;       /* the session of its cookie is being looked up */
    char *key;              /* Idempotency-Key; NULL: none */
    json_t *query;          /* the fields of a GET; NULL: they are in the body */
    char *body;
    size_t size;
    int refusal; /* status with which the body is refused at its end; 0: it is not */
    int64_t began_ms;

    uint64_t operation; /* id in the loop */
    bool is_running;    /* submitted, and not done */
    bool is_done;       /* there is an answer */
    bool is_suspended;  /* its connection is suspended */
    serve_batch *batch; /* the calls of a SERVE_BATCH; belongs to the operation until is_batching */
    bool is_batching;   /* the operation has read the calls, and they run */
    bool is_cancelled;  /* the client is gone, or the server ends */
    serve_answer answer;
    struct serve_request *next, *prev; /* neighbours in the list of running requests */

    serve_framing framing; /* framing of streams that the client accepts */
    char *last_event;      /* Last-Event-ID; NULL: none */
    serve_stream *stream;  /* made by the operation; NULL: there is none */
    bool has_stream;       /* the operation has made it */
    bool is_streaming;     /* the stream has begun */
    _Atomic bool is_left;  /* the client of the stream has gone away */
    char *from;            /* the client's address, for the log when the connection is gone */
    int64_t beat_ms;       /* when something was sent last */
    bool is_stirred;       /* in the list `stirred`; guarded by the mutex, as next_stirred */
    struct serve_request *next_stirred;
} serve_request;

struct serve_http {
    const cli_session *cli;
    tkl_client *client;
    tkl_cache *answers; /* to requests with a key */
    const serve_access *access;
    const serve_listener *listener;
    serve_http_options options;
    struct MHD_Daemon *daemon;
    tkl_loop *loop;
    int events;  /* epoll: the daemon, the loop, watched connections and signals */
    int watched; /* epoll: connections whose requests run */
    int signals;
    int stirs;              /* eventfd: streams have something to send */
    pthread_mutex_t mutex;  /* guards `stirred` */
    serve_request *stirred; /* whose streams have something to send */
    serve_request *running;
    serve_peer *peers;
    int64_t bodies; /* bytes of bodies in memory */
    int64_t swept_ms;
    bool has_closed; /* a connection has ended since this was unset */
    bool has_tls;
    bool is_ending;
    serve_metrics metrics;
    serve_events *sampler;
};

/* ---- admit.c ------------------------------------------------------------- */

/* The value of a header; NULL: the request has no such header. */
const char *serve_request_header(const serve_request *r, const char *name);

/* Reads and checks the head of a request; refuses the request if it is not allowed. */
enum MHD_Result serve_admit(serve_request *r, const char *path, const char *method);

/* How many bytes the body may have. */
int64_t serve_body_max(const serve_request *r);

/* Goes on with a request when the session of its cookie was looked up. */
enum MHD_Result serve_admit_user(serve_request *r, const char *method);

/* ---- run.c --------------------------------------------------------------- */

/* Submits the call and suspends the connection until there is an answer, or a stream begins. */
enum MHD_Result serve_submit(serve_request *r);
void serve_cancel(serve_request *r);
void serve_request_free(serve_request *r);

/* Cancels the calls whose clients have gone away. */
void serve_cancel_gone(serve_http *http);

/* Answers with the stream that has begun. */
enum MHD_Result serve_send_stream(serve_request *r);

/* Resumes the connections of streams that have something to send. */
void serve_resume_stirred(serve_http *http);

/* Begins streams of verbs that follow news when they have not failed for a moment, even without a
 * first result, and sends a sign of life on silent streams. */
void serve_beat_streams(serve_http *http, int64_t now);
int64_t serve_count_streams(const serve_http *http);

/* ---- send.c -------------------------------------------------------------- */

void serve_log_line(const char *format, ...) TKL_PRINTF(1, 2);

/* Logs a call: a login, a refusal, or a call that has or may have changed something. In any
 * thread. */
void serve_log_answer(const serve_request *r, const serve_route *route, const serve_answer *answer,
                      int64_t took_ms);

/* Logs the request itself: its call has ended, or it was refused. The client may be gone. */
void serve_log_request(const serve_request *r);

/* The client's address, "127.0.0.1:40312", or "unix". In any thread, while there is a
 * connection. */
const char *serve_peer_name(const serve_request *r, char name[NI_MAXHOST]);

/* The address by which wrong tokens are counted, without the port: an IPv4 address, the network of
 * an IPv6 address, which is that of one customer, or "unix". As serve_peer_name(). */
const char *serve_peer_network(const serve_request *r, char name[NI_MAXHOST]);

/* The methods that the path of the request allows, "GET, POST". */
const char *serve_allowed_methods(const serve_request *r);

void serve_add_header(struct MHD_Response *response, const char *name, const char *format, ...)
    TKL_PRINTF(3, 4);
void serve_add_common_headers(struct MHD_Response *response, const serve_http *http);

/* Queues the response; NULL: there was no memory for it. */
enum MHD_Result serve_send_response(serve_request *r, unsigned status,
                                    struct MHD_Response *response);
enum MHD_Result serve_send_answer(serve_request *r);
enum MHD_Result serve_refuse(serve_request *r, int status, int code, const char *message);

#endif
