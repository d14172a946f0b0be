/* SPDX-License-Identifier: MIT
 *
 * All functions here run in one thread, except run_request() and what it calls, which runs in a
 * thread of the loop and touches only what belongs to its request.
 */
#include "http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "caller.h"
#include "clock.h"
#include "events.h"
#include "keep.h"
#include "metrics.h"
#include "openapi.h"
#include "out.h"
#include "pages.h"
#include "repeat.h"

/* How often connections are looked at for slow clients. */
#define SWEEP_MS 1000
/* How long a stream has time to fail before its head is sent. */
#define GRACE_MS 100
/* How long a client may take to fetch its last answer when we end. */
#define FAREWELL_MS 2000

enum { EVENTS = 64 };

typedef enum request_kind {
    CALL,
    BATCH,
    READY,
    OPENAPI,
    METRICS,
    HEALTH,
    CALLER,
    STREAM,
    HISTORY,
    PAGE
} request_kind;

/* A connection, from its beginning to its end. */
typedef struct peer {
    int file;
    int64_t since_ms; /* when we began to wait for the client; 0: it waits for us */
    struct peer *next, *prev;
} peer;

typedef struct request {
    serve_http *http;
    struct MHD_Connection *connection;
    peer *peer;
    request_kind kind;
    serve_route route;
    const serve_page *page; /* of a PAGE */
    serve_rights rights;
    const char *who; /* the name of the token; "-": none is needed */
    char *key;       /* Idempotency-Key; NULL: none */
    json_t *query;   /* the fields of a GET; NULL: they are in the body */
    char *body;
    size_t size;
    int refusal; /* status with which the body is refused at its end; 0: it is not */
    int64_t began_ms;

    uint64_t operation; /* id in the loop */
    bool is_running;    /* submitted, and not done */
    bool is_done;       /* there is an answer */
    bool is_suspended;  /* its connection is */
    serve_answer answer;
    struct request *next, *prev; /* among those that run */

    serve_framing framing; /* of the stream that the client would accept */
    char *last_event;      /* Last-Event-ID; NULL: none */
    serve_stream *stream;  /* made by the operation; NULL: there is none */
    bool has_stream;       /* the operation has made it */
    bool is_streaming;     /* the stream has begun */
    _Atomic bool is_left;  /* the client of the stream has gone away */
    char *from;            /* the client's address, for the time when the connection is gone */
    int64_t beat_ms;       /* when something was sent last */
    bool is_stirred;       /* in the list of such requests; with their mutex, as the next one */
    struct request *next_stirred;
} request;

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
    int stirs;             /* eventfd: streams have something to send */
    pthread_mutex_t mutex; /* guards `stirred` */
    request *stirred;      /* whose streams have something to send */
    request *running;
    peer *peers;
    int64_t bodies; /* bytes of bodies in memory */
    int64_t swept_ms;
    bool has_closed; /* a connection has ended since this was unset */
    bool is_ending;
    serve_metrics metrics;
    serve_events *sampler;
};

/* ---- The log ------------------------------------------------------------- */

static void log_line(const char *format, ...) TKL_PRINTF(1, 2);
static void log_line(const char *format, ...)
{
    char now[CLI_TIME_SIZE], *text = NULL;
    struct timespec time;
    va_list list;
    clock_gettime(CLOCK_REALTIME, &time);
    cli_time_text((int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000, now);
    va_start(list, format);
    if (vasprintf(&text, format, list) >= 0)
        fprintf(stderr, "%s %s\n", now, text);
    va_end(list);
    free(text);
}

/* Complaints of libmicrohttpd: mostly about clients that went away. */
static void log_nothing(void *arg, const char *format, va_list list)
{
    (void)arg;
    (void)format;
    (void)list;
}

/* "127.0.0.1:40312"; "unix" for Unix sockets. */
static const char *peer_name(const request *r, char name[NI_MAXHOST])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    char host[64], port[8];
    const struct sockaddr *address = info != NULL ? info->client_addr : NULL;
    socklen_t size = address != NULL && address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                       : sizeof(struct sockaddr_in);
    if (r->http->listener->is_unix || address == NULL ||
        getnameinfo(address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "unix";
    snprintf(name, NI_MAXHOST, "%s:%s", host, port);
    return name;
}

/* Changes are logged, and calls that may have changed something, and whatever was refused. */
static bool is_logged(const serve_route *route, const serve_answer *answer)
{
    bool refused = answer->status == 401 || answer->status == 403;
    bool may_be_done = answer->status < 300 || answer->status >= 500;
    bool writes = route->verb != NULL && route->verb->effect == CLI_WRITES;
    return refused || (writes && may_be_done && !answer->is_repeat);
}

/* Writes "127.0.0.1:40312 web queue push mails 200 3 ms"; `outcome` is the status. */
static void log_call(const request *r, const serve_route *route, const char *subject,
                     const char *outcome, int64_t took_ms)
{
    char name[NI_MAXHOST];
    const char *verb = route->verb != NULL ? route->verb->name : NULL;
    log_line("%s %s %s%s%s%s%s %s %lld ms", r->from != NULL ? r->from : peer_name(r, name), r->who,
             route->component != NULL ? route->component->name
             : r->kind == BATCH       ? "batch"
                                      : "-",
             verb != NULL ? " " : "", verb != NULL ? verb : "", subject != NULL ? " " : "",
             subject != NULL ? subject : "", outcome, (long long)took_ms);
}

static void log_answer(const request *r, const serve_route *route, const serve_answer *answer,
                       int64_t took_ms)
{
    char status[16];
    snprintf(status, sizeof status, "%d", answer->status);
    if (is_logged(route, answer))
        log_call(r, route, answer->subject, status, took_ms);
}

/* A call has ended, or a request was refused. The client may be gone. */
static void log_request(const request *r)
{
    int64_t took_ms = cli_now_ms() - r->began_ms;
    if (!r->is_streaming)
        log_answer(r, &r->route, &r->answer, took_ms);
    else if (is_logged(&r->route, &r->answer)) /* its beginning was logged */
        log_call(r, &r->route, r->answer.subject, "ended", took_ms);
}

/* ---- Sending answers ----------------------------------------------------- */

static void add_header(struct MHD_Response *response, const char *name, const char *format, ...)
    TKL_PRINTF(3, 4);
static void add_header(struct MHD_Response *response, const char *name, const char *format, ...)
{
    char value[64];
    va_list list;
    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    MHD_add_response_header(response, name, value);
}

static const char *type_of(const request *r)
{
    return r->kind == METRICS && r->answer.status == 200 ? "text/plain; version=0.0.4"
                                                         : "application/json";
}

static const char *allowed_methods(const request *r)
{
    if (r->kind == CALL)
        return serve_route_gets(&r->route) ? "GET, POST" : "POST";
    if (r->kind == BATCH || r->kind == HISTORY)
        return "POST";
    return r->kind == STREAM ? "GET" : "GET, HEAD";
}

static void add_common_headers(struct MHD_Response *response, const serve_http *http)
{
    add_header(response, "Cache-Control", "no-store");
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (http->is_ending)
        add_header(response, "Connection", "close");
}

static void add_headers(struct MHD_Response *response, const request *r)
{
    const serve_answer *a = &r->answer;
    add_header(response, "Content-Type", "%s", type_of(r));
    add_common_headers(response, r->http);
    if (a->status == 401)
        add_header(response, "WWW-Authenticate", "Bearer realm=\"tackle\"");
    if (a->status == 405)
        add_header(response, "Allow", "%s", allowed_methods(r));
    if (a->is_repeat)
        add_header(response, "Idempotency-Replayed", "true");
    if (a->status >= 400 && a->retry_s > 0)
        add_header(response, "Retry-After", "%lld", (long long)a->retry_s);
    if (!a->has_limit)
        return;
    add_header(response, "RateLimit-Limit", "%lld", (long long)a->limit);
    add_header(response, "RateLimit-Remaining", "%lld", (long long)a->remaining);
    add_header(response, "RateLimit-Reset", "%lld", (long long)a->reset_s);
}

/* Queues the response; NULL: there was no memory for it. */
static enum MHD_Result send_response(request *r, unsigned status, struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    r->peer->since_ms = cli_now_ms();
    serve_metrics_count(&r->http->metrics, (int)status, cli_now_ms() - r->began_ms);
    enum MHD_Result queued = MHD_queue_response(r->connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_answer(request *r)
{
    if (r->answer.body == NULL)
        serve_answer_error(&r->answer, 500, TKL_ENOMEM, tkl_strerror(TKL_ENOMEM));
    size_t size = r->answer.body != NULL ? strlen(r->answer.body) : 0;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, r->answer.body, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        return MHD_NO;
    r->answer.body = NULL;
    add_headers(response, r);
    return send_response(r, (unsigned)r->answer.status, response);
}

static enum MHD_Result refuse_request(request *r, int status, int code, const char *message)
{
    serve_answer_error(&r->answer, status, code, message);
    log_request(r);
    return send_answer(r);
}

/* ---- Running calls ------------------------------------------------------- */

static bool may_call(void *arg, const serve_route *route)
{
    const request *r = arg;
    return serve_may(&r->rights, route);
}

/* Called in the thread of the operation, while the connection is suspended. */
static void log_item(void *arg, const serve_route *route, const serve_answer *answer,
                     int64_t took_ms)
{
    log_answer(arg, route, answer, took_ms);
}

/* Asks the socket itself: the thread of HTTP may not have heard of it yet. Once a stream has begun,
 * libmicrohttpd may close the socket at any time. */
static bool is_gone(void *arg)
{
    const request *r = arg;
    if (r->stream != NULL && serve_stream_has_begun(r->stream))
        return r->is_left;
    struct pollfd file = {.fd = r->peer->file, .events = POLLRDHUP};
    return poll(&file, 1, 0) > 0;
}

/* The fields of a request; NULL: the body is not JSON, and *error says what is wrong. */
static json_t *fields_of(const request *r, json_error_t *error)
{
    if (r->query != NULL)
        return json_incref(r->query);
    if (r->size == 0)
        return json_object();
    return json_loadb(r->body, r->size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, error);
}

/* Called by the operation: its stream has something to send. */
static void stir_request(void *arg)
{
    request *r = arg;
    serve_http *http = r->http;
    pthread_mutex_lock(&http->mutex);
    if (!r->is_stirred) {
        if (http->stirred == NULL)
            eventfd_write(http->stirs, 1);
        r->is_stirred = true;
        r->next_stirred = http->stirred;
        http->stirred = r;
    }
    pthread_mutex_unlock(&http->mutex);
}

/* A client that comes back says which event it has seen. */
static void resume_after(json_t *fields, const char *last_event)
{
    json_object_del(fields, "recent");
    json_object_del(fields, "all");
    json_object_set_new(fields, "after", cli_json_bytes(tkl_str(last_event)));
}

/* Takes the field "keep", which is ours, and decides whether the answer is a stream. CLI_USAGE: the
 * answer says what is wrong. */
static int prepare_stream(request *r, json_t *fields, serve_caller *caller)
{
    const json_t *keep = serve_can_keep(&r->route) ? json_object_get(fields, "keep") : NULL;
    if (keep != NULL && !json_is_boolean(keep)) {
        serve_answer_error(&r->answer, 400, TKL_EINVAL, "invalid keep: true or false");
        return CLI_USAGE;
    }
    caller->keeps = json_is_true(keep);
    if (keep != NULL)
        json_object_del(fields, "keep");
    if (r->last_event != NULL && serve_can_resume(r->route.verb))
        resume_after(fields, r->last_event);
    bool streams = r->route.verb->follows && r->framing != SERVE_NO_STREAM;
    if (!caller->keeps && !streams)
        return CLI_OK;
    r->stream =
        serve_stream_new(r->framing != SERVE_NO_STREAM ? r->framing : SERVE_LINES, stir_request, r);
    caller->stream = r->stream;
    if (r->stream != NULL) {
        stir_request(r);
        return CLI_OK;
    }
    serve_answer_error(&r->answer, 500, TKL_ENOMEM, tkl_strerror(TKL_ENOMEM));
    return CLI_USAGE;
}

/* Runs as an operation of the loop. */
static int run_request(void *arg)
{
    request *r = arg;
    serve_caller caller = {.is_gone = is_gone, .may = may_call, .note = log_item, .arg = r};
    json_error_t error;
    json_t *fields = fields_of(r, &error);
    char message[JSON_ERROR_TEXT_LENGTH + 64];
    if (fields == NULL) {
        snprintf(message, sizeof message, "the body is not JSON: line %d, column %d: %s",
                 error.line, error.column, error.text);
        serve_answer_error(&r->answer, 400, TKL_EINVAL, message);
    } else if (r->kind == BATCH) {
        serve_batch(r->http->client, fields, &caller, &r->answer);
    } else if (!json_is_object(fields)) {
        serve_answer_error(&r->answer, 400, TKL_EINVAL, "the body is not a JSON object");
    } else if (r->kind == HISTORY) {
        serve_history_answer(r->http->options.history, fields, &r->answer);
    } else if (r->key != NULL) {
        serve_call_once(r->http->answers, r->who, r->key, r->http->client, &r->route, fields,
                        &r->answer);
    } else if (prepare_stream(r, fields, &caller) == CLI_OK) {
        serve_call(r->http->client, &r->route, fields, &caller, &r->answer);
    }
    json_decref(fields);
    return TKL_OK;
}

static void suspend_connection(request *r)
{
    r->is_suspended = true;
    MHD_suspend_connection(r->connection);
}

static void resume_connection(request *r)
{
    if (r->is_suspended)
        MHD_resume_connection(r->connection);
    r->is_suspended = false;
}

static void list_running(request *r)
{
    r->next = r->http->running;
    if (r->next != NULL)
        r->next->prev = r;
    r->http->running = r;
}

static void unlist_running(request *r)
{
    *(r->prev != NULL ? &r->prev->next : &r->http->running) = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    r->next = r->prev = NULL;
}

/* After the operation has ended, nothing stirs the request again. */
static void unlist_stirred(request *r)
{
    serve_http *http = r->http;
    pthread_mutex_lock(&http->mutex);
    request **at = &http->stirred;
    while (r->is_stirred && *at != r)
        at = &(*at)->next_stirred;
    if (r->is_stirred)
        *at = r->next_stirred;
    r->is_stirred = false;
    pthread_mutex_unlock(&http->mutex);
}

static void free_request(request *r)
{
    r->http->bodies -= (int64_t)r->size;
    free(r->key);
    free(r->last_event);
    free(r->from);
    free(r->body);
    json_decref(r->query);
    serve_stream_free(r->stream);
    serve_answer_free(&r->answer);
    free(r);
}

/* The first result of a stream is there. What it holds, it holds from now on. */
static void begin_stream(request *r)
{
    char name[NI_MAXHOST];
    serve_answer begun = {.status = 200, .subject = r->answer.subject};
    r->from = strdup(peer_name(r, name));
    log_answer(r, &r->route, &begun, cli_now_ms() - r->began_ms);
    r->is_streaming = true;
}

/* Called when the operation has ended, in tkl_loop_dispatch(). `code` is another one than TKL_OK when
 * it did not begin. */
static void end_request(void *arg, int code, const char *text)
{
    request *r = arg;
    if (code != TKL_OK)
        serve_answer_error(&r->answer, serve_status(code), code,
                           *text != '\0' ? text : tkl_strerror(code));
    unlist_running(r);
    unlist_stirred(r);
    r->is_running = false;
    r->is_done = true;
    if (r->stream != NULL && !r->is_streaming && serve_stream_has_begun(r->stream))
        begin_stream(r);
    log_request(r);
    if (r->connection == NULL) { /* it has ended before the operation */
        free_request(r);
        return;
    }
    epoll_ctl(r->http->watched, EPOLL_CTL_DEL, r->peer->file, NULL);
    resume_connection(r);
}

/* Submits the call and suspends the connection. libmicrohttpd does not look at suspended
 * connections, so we watch for their end. */
static enum MHD_Result submit_call(request *r)
{
    serve_http *http = r->http;
    struct epoll_event hangup = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = r};
    int code = tkl_loop_submit(http->loop, run_request, end_request, r, &r->operation);
    if (code != TKL_OK)
        return refuse_request(r, serve_status(code), code, tkl_errmsg());
    r->is_running = true;
    r->peer->since_ms = 0;
    list_running(r);
    suspend_connection(r);
    epoll_ctl(http->watched, EPOLL_CTL_ADD, r->peer->file, &hangup);
    return MHD_YES;
}

static void cancel_call(request *r)
{
    int code = tkl_loop_cancel(r->http->loop, r->operation);
    (void)code; /* TKL_NOTFOUND: it has ended, and its callback comes */
}

static void cancel_gone(serve_http *http)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(http->watched, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        request *r = events[i].data.ptr;
        http->metrics.gone++;
        r->is_left = true;
        cancel_call(r);
    }
}

/* ---- Streams ------------------------------------------------------------- */

/* libmicrohttpd calls this whenever it can send more. */
static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t max)
{
    request *r = arg;
    bool has_room = false;
    size_t taken = serve_stream_take(r->stream, to, max, &has_room);
    (void)position;
    if (has_room) {
        int code = tkl_loop_wake(r->http->loop, r->operation);
        (void)code; /* TKL_NOTFOUND: it has ended */
    }
    r->beat_ms = cli_now_ms();
    if (taken == 0 && r->is_done)
        return MHD_CONTENT_READER_END_OF_STREAM;
    r->peer->since_ms = taken > 0 ? r->beat_ms : 0;
    if (taken == 0)
        suspend_connection(r);
    return (ssize_t)taken;
}

static enum MHD_Result send_stream(request *r)
{
    enum { BLOCK = 4096 };
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, r, NULL);
    if (response == NULL)
        return MHD_NO;
    add_header(response, "Content-Type", "%s", serve_framing_type(serve_stream_framing(r->stream)));
    add_header(response, "X-Accel-Buffering", "no"); /* nginx would hold events back */
    add_common_headers(response, r->http);
    serve_metrics_count(&r->http->metrics, 200, cli_now_ms() - r->began_ms);
    enum MHD_Result queued = MHD_queue_response(r->connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

/* Goes on with the streams that have something to send. */
static void resume_stirred(serve_http *http)
{
    eventfd_t rung;
    pthread_mutex_lock(&http->mutex);
    if (http->stirred != NULL)
        eventfd_read(http->stirs, &rung);
    while (http->stirred != NULL) {
        request *r = http->stirred;
        http->stirred = r->next_stirred;
        r->is_stirred = false;
        r->has_stream = true;
        if (!r->is_streaming && serve_stream_has_begun(r->stream))
            begin_stream(r);
        if (r->is_streaming)
            resume_connection(r);
    }
    pthread_mutex_unlock(&http->mutex);
}

static int64_t count_streams(const serve_http *http)
{
    int64_t count = 0;
    for (const request *r = http->running; r != NULL; r = r->next)
        count += r->is_streaming;
    return count;
}

/* Begins streams of news for which nothing has failed so far, although nothing has come yet, and
 * sends a sign of life on streams that have been silent. */
static void beat_streams(serve_http *http, int64_t now)
{
    for (request *r = http->running; r != NULL; r = r->next) {
        if (r->has_stream && !r->is_streaming && r->route.verb->follows &&
            now - r->began_ms >= GRACE_MS) {
            serve_stream_settle(r->stream, SERVE_STREAM_BEGUN);
            stir_request(r);
        }
        if (r->is_streaming && r->is_suspended &&
            now - r->beat_ms + SWEEP_MS > http->options.heartbeat_ms) {
            serve_stream_beat(r->stream);
            resume_connection(r);
        }
    }
}

/* ---- Reading requests ---------------------------------------------------- */

static const char *request_header(const request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* Adds a parameter to the fields. MHD_NO: its name is no text. */
static enum MHD_Result add_parameter(void *arg, enum MHD_ValueKind kind, const char *key,
                                     size_t key_size, const char *value, size_t size)
{
    json_t *query = arg, *old = json_object_get(query, key);
    json_t *text = cli_json_bytes((tkl_bytes){value, value != NULL ? size : 0});
    (void)kind;
    if (strlen(key) != key_size) {
        json_decref(text);
        return MHD_NO;
    }
    if (value == NULL && old == NULL) /* "?all" is a flag */
        text = (json_decref(text), json_true());
    if (old == NULL)
        return json_object_set_new(query, key, text) == 0 ? MHD_YES : MHD_NO;
    if (!json_is_array(old)) {
        json_t *array = json_array();
        json_array_append(array, old);
        json_object_set_new(query, key, array);
        old = array;
    }
    return json_array_append_new(old, text) == 0 ? MHD_YES : MHD_NO;
}

/* Keeps the parameters of the URL as fields. NULL, or what is wrong with them. */
static const char *read_query(request *r, const char *method)
{
    int count = MHD_get_connection_values_n(r->connection, MHD_GET_ARGUMENT_KIND, NULL, NULL);
    if (r->kind != CALL && r->kind != BATCH)
        return NULL;
    if (strcmp(method, "GET") != 0)
        return count == 0 ? NULL : "the fields of a POST belong into its body, not into the URL";
    r->query = json_object();
    int added =
        MHD_get_connection_values_n(r->connection, MHD_GET_ARGUMENT_KIND, add_parameter, r->query);
    return added == count ? NULL : "the name of a parameter is not UTF-8, or has a zero byte";
}

/* Headers that decide where a request ends, and whose it is. */
typedef struct head {
    int hosts, tokens, lengths, codings;
    bool is_odd; /* a coding that is not "chunked" */
} head;

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    head *h = arg;
    bool is_coding = strcasecmp(name, "Transfer-Encoding") == 0;
    (void)kind;
    h->hosts += strcasecmp(name, "Host") == 0;
    h->tokens += strcasecmp(name, "Authorization") == 0;
    h->lengths += strcasecmp(name, "Content-Length") == 0;
    h->codings += is_coding;
    h->is_odd = h->is_odd || (is_coding && (value == NULL || strcasecmp(value, "chunked") != 0));
    return MHD_YES;
}

/* Whether a proxy in front of us might read the head in another way: where the body ends, or which
 * of two values counts. */
static bool is_ambiguous(const request *r)
{
    head h = {0};
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, look_at_header, &h);
    return h.hosts > 1 || h.tokens > 1 || h.lengths + h.codings > 1 || h.is_odd;
}

/* Whether a web page of another site sends the request. See access.h. */
static bool is_from_other_site(const request *r)
{
    return serve_is_other_site(request_header(r, "Sec-Fetch-Site"), request_header(r, "Origin"),
                               request_header(r, "Host"));
}

/* Finds what the path means. False: nothing; it was refused, with *result. */
static bool find_target(request *r, const char *path, enum MHD_Result *result)
{
    static const struct {
        const char *path;
        request_kind kind;
    } others[] = {{"/healthz", HEALTH},  {"/readyz", READY},  {"/openapi.json", OPENAPI},
                  {"/metrics", METRICS}, {"/caller", CALLER}, {"/events", STREAM},
                  {"/history", HISTORY}, {"/v1/batch", BATCH}};
    char why[SERVE_WHY_SIZE];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(path, others[i].path) == 0) {
            r->kind = others[i].kind;
            if (r->kind == STREAM) /* it shows what status does */
                return serve_route_find("/v1/status", &r->route, why);
            if (r->kind == HISTORY)
                return serve_route_find("/v1/queue/times", &r->route, why);
            return r->kind != READY || serve_route_find("/v1/ping", &r->route, why);
        }
    if ((r->page = serve_page_find(path)) != NULL) {
        r->kind = PAGE;
        return true;
    }
    if (serve_route_find(path, &r->route, why))
        return true;
    *result = refuse_request(r, 404, TKL_NOTFOUND, why);
    return false;
}

static bool is_allowed_method(const request *r, const char *method)
{
    const char *allowed = allowed_methods(r);
    return (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
            strcmp(method, "POST") == 0) &&
           strstr(allowed, method) != NULL;
}

/* Keeps the Idempotency-Key. NULL, or what is wrong with it. */
static const char *read_key(request *r)
{
    const char *key = request_header(r, "Idempotency-Key");
    if (key == NULL)
        return NULL;
    if (r->kind != CALL || !r->route.verb->adds)
        return "Idempotency-Key is for verbs that add something, such as queue/push";
    if (*key == '\0' || strlen(key) > SERVE_KEY_MAX)
        return "Idempotency-Key: 1 to 255 bytes";
    r->key = strdup(key);
    return r->key != NULL ? NULL : "out of memory";
}

/* Notes what the client can do with a stream. */
static void read_framing(request *r)
{
    const char *last_event = request_header(r, "Last-Event-ID");
    r->framing = serve_framing_of(request_header(r, "Accept"));
    if (last_event != NULL && *last_event != '\0')
        r->last_event = strdup(last_event);
}

/* Checks a request whose head has arrived. False: it was refused, with *result. */
static bool admit_request(request *r, const char *path, const char *method, enum MHD_Result *result)
{
    const serve_http *http = r->http;
    const char *length = request_header(r, "Content-Length"), *wrong = NULL;
    if (is_ambiguous(r))
        *result = refuse_request(r, 400, TKL_EINVAL,
                                 "one Host, one Authorization, and one Content-Length or "
                                 "Transfer-Encoding: chunked, please");
    else if (!http->listener->is_unix &&
             !serve_host_is_ours(http->access, request_header(r, "Host")))
        *result =
            refuse_request(r, 403, TKL_EAUTH, "this Host is not served here: --host names more");
    else if (!find_target(r, path, result))
        return false;
    else if (r->kind != PAGE && is_from_other_site(r)) /* a link to the dashboard is harmless */
        *result = refuse_request(r, 403, TKL_EAUTH, "web pages of other sites may not call");
    else if (!serve_access_check(http->access, request_header(r, "Authorization"), &r->rights,
                                 &r->who) &&
             r->kind != HEALTH && r->kind != READY && r->kind != PAGE)
        *result = refuse_request(r, 401, TKL_EAUTH,
                                 "a valid token is needed: Authorization: Bearer TOKEN");
    else if (!is_allowed_method(r, method))
        *result = refuse_request(r, 405, TKL_EINVAL, "this method is not allowed here");
    else if ((r->kind == CALL || r->kind == STREAM || r->kind == HISTORY) &&
             !serve_may(&r->rights, &r->route))
        *result = refuse_request(r, 403, TKL_EAUTH, "not permitted");
    else if ((wrong = read_key(r)) != NULL || (wrong = read_query(r, method)) != NULL)
        *result = refuse_request(r, 400, TKL_EINVAL, wrong);
    else if (length != NULL && strtoll(length, NULL, 10) > http->options.max_body)
        *result = refuse_request(r, 413, TKL_EINVAL, "the body is too large");
    else if (http->is_ending)
        *result = refuse_request(r, 503, TKL_EINTR, "the server is ending");
    else
        return true;
    return false;
}

/* Keeps a part of the body. What is too large is read and forgotten, and refused at its end. */
static void keep_body(request *r, const char *data, size_t size)
{
    serve_http *http = r->http;
    if ((int64_t)(r->size + size) > http->options.max_body)
        r->refusal = 413;
    else if (http->bodies + (int64_t)size > SERVE_BODIES_MAX)
        r->refusal = 503;
    char *body = r->refusal == 0 ? realloc(r->body, r->size + size) : NULL;
    if (body == NULL) {
        r->refusal = r->refusal != 0 ? r->refusal : 503;
        return;
    }
    memcpy(body + r->size, data, size);
    r->body = body;
    r->size += size;
    http->bodies += (int64_t)size;
}

static enum MHD_Result send_page(request *r)
{
    unsigned status = MHD_HTTP_OK;
    struct MHD_Response *response = serve_page_response(
        r->page, request_header(r, "If-None-Match"), request_header(r, "Accept-Encoding"), &status);
    return send_response(r, status, response);
}

/* Answers a request that has arrived as a whole. */
static enum MHD_Result take_request(request *r)
{
    serve_http *http = r->http;
    if (r->refusal == 413)
        return refuse_request(r, 413, TKL_EINVAL, "the body is too large");
    if (r->refusal != 0)
        return refuse_request(r, r->refusal, TKL_ENOMEM, "too many large requests at once");
    r->answer.status = 200;
    switch (r->kind) {
    case HEALTH:
        r->answer.body = strdup("{\"status\": \"ok\"}");
        return send_answer(r);
    case OPENAPI:
        r->answer.body = serve_openapi(&r->rights);
        return send_answer(r);
    case METRICS:
        http->metrics.streams = count_streams(http);
        r->answer.body = serve_metrics_text(&http->metrics, http->loop);
        return send_answer(r);
    case CALLER:
        r->answer.body = serve_caller_text(r->who, &r->rights);
        return send_answer(r);
    case STREAM:
        return send_response(
            r, MHD_HTTP_OK,
            serve_events_response(http->sampler, r->connection, &r->peer->since_ms));
    case PAGE:
        return send_page(r);
    default:
        return submit_call(r);
    }
}

static request *new_request(serve_http *http, struct MHD_Connection *connection)
{
    request *r = calloc(1, sizeof *r);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (r == NULL || info == NULL || info->socket_context == NULL) {
        free(r);
        return NULL;
    }
    r->http = http;
    r->connection = connection;
    r->peer = info->socket_context;
    r->who = "-";
    r->began_ms = cli_now_ms();
    return r;
}

/* libmicrohttpd calls this for the head of a request, for parts of its body, at its end, and once
 * more when its connection was resumed. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **context)
{
    request *r = *context;
    enum MHD_Result result = MHD_YES;
    (void)version;
    if (r == NULL) {
        r = *context = new_request(arg, connection);
        if (r == NULL)
            return MHD_NO;
        if (!admit_request(r, path, method, &result))
            return result;
        read_framing(r);
        return result;
    }
    if (*size > 0) {
        keep_body(r, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (r->is_streaming)
        return send_stream(r);
    return r->is_done ? send_answer(r) : take_request(r);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode how)
{
    request *r = *context;
    (void)arg;
    (void)connection;
    (void)how;
    *context = NULL;
    if (r == NULL)
        return;
    r->peer->since_ms = cli_now_ms();
    if (!r->is_running) {
        free_request(r);
        return;
    }
    r->connection = NULL; /* a stream whose client is gone: end_request() frees it */
    r->is_left = true;
    cancel_call(r);
}

/* ---- Connections --------------------------------------------------------- */

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    serve_http *http = arg;
    peer *p = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        p = *context = calloc(1, sizeof *p);
        if (p == NULL)
            return;
        p->file =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        p->since_ms = cli_now_ms();
        p->next = http->peers;
        if (p->next != NULL)
            p->next->prev = p;
        http->peers = p;
        http->metrics.connections++;
    } else if (p != NULL) {
        *(p->prev != NULL ? &p->prev->next : &http->peers) = p->next;
        if (p->next != NULL)
            p->next->prev = p->prev;
        free(p);
        *context = NULL;
        http->metrics.connections--;
        http->has_closed = true;
    }
}

/* Ends connections whose clients are too slow: byte by byte, or not at all. */
static void sweep_peers(serve_http *http)
{
    int64_t now = cli_now_ms();
    if (now - http->swept_ms < SWEEP_MS)
        return;
    http->swept_ms = now;
    beat_streams(http, now);
    for (const peer *p = http->peers; p != NULL; p = p->next)
        if (p->since_ms != 0 && now - p->since_ms > http->options.client_timeout_ms)
            shutdown(p->file, SHUT_RDWR);
}

/* ---- Opening and closing ------------------------------------------------- */

static bool add_event(int events, int file)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    return file >= 0 && epoll_ctl(events, EPOLL_CTL_ADD, file, &event) == 0;
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static struct MHD_Daemon *start_daemon(serve_http *http, const serve_tls *tls)
{
    struct MHD_OptionItem with_tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, tls->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (char[]){SERVE_TLS_PRIORITIES}},
        {MHD_OPTION_END, 0, NULL},
    };
    bool has_tls = tls->certificate != NULL;
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (has_tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, http->listener->file,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, http, MHD_OPTION_CONNECTION_LIMIT, (unsigned)http->options.max_connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)http->options.max_head,
        MHD_OPTION_EXTERNAL_LOGGER, log_nothing, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, has_tls ? with_tls : &with_tls[sizeof with_tls / sizeof *with_tls - 1],
        MHD_OPTION_END);
}

int serve_http_open(const cli_session *cli, tkl_client *client, const serve_access *access,
                    const serve_listener *listener, const serve_tls *tls,
                    const serve_http_options *options, serve_http **out)
{
    serve_http *http = *out = calloc(1, sizeof *http);
    if (http == NULL)
        return cli_end(cli, TKL_ENOMEM);
    *http = (serve_http){.cli = cli,
                         .client = client,
                         .access = access,
                         .listener = listener,
                         .options = *options,
                         .events = epoll_create1(EPOLL_CLOEXEC),
                         .watched = epoll_create1(EPOLL_CLOEXEC),
                         .signals = open_signals(),
                         .stirs = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_mutex_init(&http->mutex, NULL);
    serve_metrics_init(&http->metrics);
    int failed = cli_end(cli, tkl_loop_open(client, NULL, &http->loop));
    if (!failed)
        failed = cli_end(cli, serve_answers_open(client, options->answer_life_ms, &http->answers));
    if (!failed && (http->sampler = serve_events_open(client, http->loop)) == NULL)
        failed = cli_end(cli, TKL_ENOMEM);
    if (!failed && (http->daemon = start_daemon(http, tls)) == NULL)
        failed = cli_fail(cli, CLI_FAILURE, "cannot serve HTTP: %s", strerror(errno));
    const union MHD_DaemonInfo *info =
        failed ? NULL : MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!failed &&
        (info == NULL || !add_event(http->events, info->epoll_fd) ||
         !add_event(http->events, tkl_loop_fd(http->loop)) ||
         !add_event(http->events, http->watched) || !add_event(http->events, http->signals) ||
         !add_event(http->events, http->stirs)))
        failed = cli_fail(cli, CLI_FAILURE, "cannot wait for events: %s", strerror(errno));
    if (failed) {
        serve_http_close(http);
        *out = NULL;
    }
    return failed;
}

void serve_http_close(serve_http *http)
{
    if (http == NULL)
        return;
    tkl_loop_close(http->loop); /* calls back for what still runs, so it comes first */
    if (http->daemon != NULL) {
        serve_events_end(http->sampler);
        MHD_stop_daemon(http->daemon);
    }
    serve_events_close(http->sampler);
    tkl_cache_close(http->answers);
    close(http->events);
    close(http->watched);
    close(http->signals);
    close(http->stirs);
    pthread_mutex_destroy(&http->mutex);
    free(http);
}

/* ---- Serving ------------------------------------------------------------- */

/* How long to sleep at most, in ms; -1: for ever. */
static int sleep_ms(const serve_http *http)
{
    unsigned MHD_LONG_LONG wanted;
    int sleep = http->peers != NULL ? SWEEP_MS : -1, loop = tkl_loop_timeout_ms(http->loop);
    int sample = serve_events_timeout_ms(http->sampler);
    int reading = serve_history_timeout_ms(http->options.history);
    if (reading >= 0 && (loop < 0 || reading < loop))
        loop = reading;
    if (sample >= 0 && (loop < 0 || sample < loop))
        loop = sample;
    if (MHD_get_timeout(http->daemon, &wanted) == MHD_YES && (sleep < 0 || wanted < SWEEP_MS))
        sleep = wanted < SWEEP_MS ? (int)wanted : SWEEP_MS;
    return loop >= 0 && (sleep < 0 || loop < sleep) ? loop : sleep;
}

static int serve_once(serve_http *http)
{
    struct epoll_event events[5];
    if (epoll_wait(http->events, events, 5, sleep_ms(http)) < 0 && errno != EINTR)
        return cli_fail(http->cli, CLI_FAILURE, "cannot wait for events: %s", strerror(errno));
    cancel_gone(http);
    resume_stirred(http);
    serve_events_tick(http->sampler);
    if (!http->is_ending)
        serve_history_tick(http->options.history, http->loop);
    int code = tkl_loop_dispatch(http->loop);
    do { /* after the end of a connection, the daemon listens again in its next run only */
        http->has_closed = false;
        MHD_run(http->daemon);
    } while (http->has_closed);
    sweep_peers(http);
    return cli_end(http->cli, code);
}

/* Takes a signal; 0: none came. */
static int next_signal(const serve_http *http)
{
    struct signalfd_siginfo info;
    return read(http->signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

static void begin_end(serve_http *http)
{
    http->is_ending = true;
    MHD_quiesce_daemon(http->daemon);
    for (request *r = http->running; r != NULL; r = r->next)
        cancel_call(r);
    serve_events_end(http->sampler);
}

/* Serves on until all calls are answered, and clients have had time to take the answers. */
static int serve_rest(serve_http *http)
{
    int64_t until = 0;
    int failed = CLI_OK;
    while (!failed && next_signal(http) == 0 && http->peers != NULL) {
        if (http->running != NULL)
            until = 0;
        else if (until == 0)
            until = cli_now_ms() + FAREWELL_MS;
        else if (cli_now_ms() >= until)
            break;
        failed = serve_once(http);
    }
    return failed;
}

int serve_http_run(serve_http *http)
{
    int failed = CLI_OK;
    while (!failed && next_signal(http) == 0)
        failed = serve_once(http);
    if (!failed) {
        log_line("ending: %s", "waits are cancelled, calls under way are finished");
        begin_end(http);
        failed = serve_rest(http);
    }
    return failed;
}
