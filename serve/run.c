/* SPDX-License-Identifier: MIT
 *
 * Calls and streams. run_request() and what it calls run in a thread of the loop and touch only
 * what belongs to their request; all other functions run in the thread of HTTP.
 */
#include "request.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "keep.h"
#include "out.h"
#include "repeat.h"

/* How long a stream has time to fail before its head is sent. */
#define GRACE_MS 100

enum { AT_ONCE = 64 }; /* gone clients that one epoll_wait() reports */

/* ---- Running calls ------------------------------------------------------- */

static bool may_call(void *arg, const serve_route *route)
{
    const serve_request *r = arg;
    return serve_may(&r->user.rights, route);
}

/* Logs a call of a batch. Runs in the thread of the operation, while the connection is
 * suspended. */
static void log_item(void *arg, const serve_route *route, const serve_answer *answer,
                     int64_t took_ms)
{
    serve_log_answer(arg, route, answer, took_ms);
}

/* Asks the socket itself: the thread of HTTP may not have heard of it yet. Once a stream has begun,
 * libmicrohttpd may close the socket at any time. */
static bool is_gone(void *arg)
{
    const serve_request *r = arg;
    if (r->stream != NULL && serve_stream_has_begun(r->stream))
        return r->is_left;
    struct pollfd file = {.fd = r->peer->file, .events = POLLRDHUP};
    return poll(&file, 1, 0) > 0;
}

/* The fields of a request. NULL: the body is not JSON, and the answer says what is wrong. */
CLI_APART static json_t *read_fields(serve_request *r)
{
    json_error_t error;
    char message[JSON_ERROR_TEXT_LENGTH + 64];
    if (r->query != NULL)
        return json_incref(r->query);
    if (r->size == 0 || r->kind == SERVE_READY)
        return json_object();
    json_t *fields = json_loadb(r->body, r->size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (fields != NULL)
        return fields;
    snprintf(message, sizeof message, "the body is not JSON: line %d, column %d: %s", error.line,
             error.column, error.text);
    serve_answer_error(&r->answer, 400, TKL_EINVAL, message);
    return NULL;
}

/* Wakes the thread of HTTP; the operation calls this when its stream has something to send. */
static void stir_request(void *arg)
{
    serve_request *r = arg;
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

/* Sets the field `after` to the last event that a client which comes back has seen. */
static void resume_after(json_t *fields, const char *last_event)
{
    json_object_del(fields, "recent");
    json_object_del(fields, "all");
    json_object_set_new(fields, "after", cli_json_bytes(tkl_str(last_event)));
}

/* Takes the field "keep", which the verb does not know, and decides whether the answer is a stream.
 * CLI_USAGE: the answer says what is wrong. */
static int prepare_stream(serve_request *r, json_t *fields, serve_caller *caller)
{
    const json_t *keep = serve_can_keep(&r->route) ? json_object_get(fields, "keep") : NULL;
    if (keep != NULL && !json_is_boolean(keep) && !json_is_null(keep)) {
        serve_answer_wrong(&r->answer, "keep", "invalid keep: true or false");
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

static serve_caller caller_of(serve_request *r)
{
    return (serve_caller){.is_gone = is_gone, .may = may_call, .note = log_item, .arg = r};
}

CLI_APART static void log_in(serve_request *r, const json_t *fields)
{
    char address[NI_MAXHOST];
    serve_login(r->http->options.logins, fields, serve_peer_network(r, address), &r->user,
                &r->answer);
}

static void run_call(serve_request *r, json_t *fields)
{
    serve_caller caller = caller_of(r);
    if (prepare_stream(r, fields, &caller) == CLI_OK)
        serve_call(r->http->client, &r->route, fields, &caller, &r->answer);
}

/* Runs the call of a request, as an operation of the loop. */
static int run_request(void *arg)
{
    serve_request *r = arg;
    json_t *fields = r->is_checking ? NULL : read_fields(r);
    if (r->is_checking)
        serve_login_check(r->http->options.logins, &r->user, &r->answer);
    else if (fields == NULL)
        return TKL_OK;
    else if (r->kind == SERVE_BATCH)
        r->batch = serve_batch_new(fields, &r->answer);
    else if (!json_is_object(fields))
        serve_answer_error(&r->answer, 400, TKL_EINVAL, "the body is not a JSON object");
    else if (r->kind == SERVE_LOGIN)
        log_in(r, fields);
    else if (r->kind == SERVE_LOGOUT)
        serve_logout(r->http->options.logins, r->user.secret, &r->answer);
    else if (r->kind == SERVE_HISTORY)
        serve_history_answer(r->http->options.history, fields, &r->answer);
    else if (r->key != NULL)
        serve_call_once(r->http->answers, r->user.who, r->key, r->http->client, &r->route, fields,
                        &r->answer);
    else
        run_call(r, fields);
    if (r->kind == SERVE_READY && r->answer.status != 200) /* strangers get no details */
        serve_answer_error(&r->answer, 503, TKL_EUNREADY, "Redis does not answer");
    json_decref(fields);
    return TKL_OK;
}

static void suspend_connection(serve_request *r)
{
    r->is_suspended = true;
    MHD_suspend_connection(r->connection);
}

static void resume_connection(serve_request *r)
{
    if (r->is_suspended)
        MHD_resume_connection(r->connection);
    r->is_suspended = false;
}

static void list_running(serve_request *r)
{
    r->next = r->http->running;
    if (r->next != NULL)
        r->next->prev = r;
    r->http->running = r;
}

static void unlist_running(serve_request *r)
{
    *(r->prev != NULL ? &r->prev->next : &r->http->running) = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    r->next = r->prev = NULL;
}

/* Removes the request from the list `stirred`. Its operation has ended and cannot add it again. */
static void unlist_stirred(serve_request *r)
{
    serve_http *http = r->http;
    pthread_mutex_lock(&http->mutex);
    serve_request **at = &http->stirred;
    while (r->is_stirred && *at != r)
        at = &(*at)->next_stirred;
    if (r->is_stirred)
        *at = r->next_stirred;
    r->is_stirred = false;
    pthread_mutex_unlock(&http->mutex);
}

void serve_request_free(serve_request *r)
{
    r->http->bodies -= (int64_t)r->size;
    free(r->key);
    free(r->last_event);
    free(r->from);
    free(r->body);
    json_decref(r->query);
    OPENSSL_cleanse(r->user.secret, sizeof r->user.secret);
    serve_stream_free(r->stream);
    serve_batch_free(r->batch);
    serve_answer_free(&r->answer);
    free(r);
}

/* Notes that the stream has begun, and logs it, since its operation may hold something from now on.
 * A stream that only follows news changes nothing and is not logged. */
static void begin_stream(serve_request *r)
{
    char name[NI_MAXHOST];
    r->from = strdup(serve_peer_name(r, name));
    r->is_streaming = true;
    if (r->route.verb->follows)
        return;
    serve_answer begun = {.status = 200, .subject = r->answer.subject};
    serve_log_answer(r, &r->route, &begun, cli_now_ms() - r->began_ms);
}

/* Ends a request when nothing of it runs any more and its answer is there. */
static void finish_request(serve_request *r)
{
    unlist_running(r);
    unlist_stirred(r);
    r->is_running = false;
    r->is_done = true;
    if (r->stream != NULL && !r->is_streaming && serve_stream_has_begun(r->stream))
        begin_stream(r);
    if (!r->is_checking || r->answer.status != 0)
        serve_log_request(r);
    if (r->connection == NULL) { /* the connection has ended before the operation */
        serve_request_free(r);
        return;
    }
    epoll_ctl(r->http->watched, EPOLL_CTL_DEL, r->peer->file, NULL);
    resume_connection(r);
}

static void finish_batch(void *arg)
{
    serve_request *r = arg;
    serve_batch_answer(r->batch, &r->answer);
    finish_request(r);
}

/* Called when the operation has ended, in tkl_loop_dispatch(). `code` is not TKL_OK when it
 * could not begin. */
static void end_request(void *arg, int code, const char *text)
{
    serve_request *r = arg;
    if (code != TKL_OK)
        serve_answer_error(&r->answer, serve_status(code), code,
                           *text != '\0' ? text : tkl_strerror(code));
    if (r->batch == NULL) {
        finish_request(r);
        return;
    }
    serve_caller caller = caller_of(r);
    r->is_batching = true;
    if (r->is_cancelled)
        serve_batch_cancel(r->batch);
    serve_batch_run(r->batch, r->http->loop, r->http->client, &caller, finish_batch, r);
}

/* Submits the call and suspends the connection. libmicrohttpd ignores suspended connections, so
 * `watched` reports their end. */
enum MHD_Result serve_submit(serve_request *r)
{
    serve_http *http = r->http;
    struct epoll_event hangup = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = r};
    int code = tkl_loop_submit(http->loop, run_request, end_request, r, &r->operation);
    if (code != TKL_OK)
        return serve_refuse(r, serve_status(code), code, tkl_errmsg());
    r->is_running = true;
    r->peer->since_ms = 0;
    list_running(r);
    suspend_connection(r);
    epoll_ctl(http->watched, EPOLL_CTL_ADD, r->peer->file, &hangup);
    return MHD_YES;
}

void serve_cancel(serve_request *r)
{
    r->is_cancelled = true;
    if (r->is_batching)
        serve_batch_cancel(r->batch);
    int code = tkl_loop_cancel(r->http->loop, r->operation);
    (void)code; /* TKL_NOTFOUND: the operation has ended, and end_request() follows */
}

void serve_cancel_gone(serve_http *http)
{
    struct epoll_event events[AT_ONCE];
    int count = epoll_wait(http->watched, events, AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        serve_request *r = events[i].data.ptr;
        http->metrics.gone++;
        r->is_left = true;
        serve_cancel(r);
    }
}

/* ---- Streams ------------------------------------------------------------- */

/* libmicrohttpd calls this whenever it can send more. */
static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t max)
{
    serve_request *r = arg;
    bool has_room = false;
    size_t taken = serve_stream_take(r->stream, to, max, &has_room);
    (void)position;
    if (has_room) {
        int code = tkl_loop_wake(r->http->loop, r->operation);
        (void)code; /* TKL_NOTFOUND: the operation has ended */
    }
    r->beat_ms = cli_now_ms();
    if (taken == 0 && r->is_done)
        return MHD_CONTENT_READER_END_OF_STREAM;
    r->peer->since_ms = taken > 0 ? r->beat_ms : 0;
    if (taken == 0)
        suspend_connection(r);
    return (ssize_t)taken;
}

enum MHD_Result serve_send_stream(serve_request *r)
{
    enum { BLOCK = 4096 };
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, r, NULL);
    if (response == NULL)
        return MHD_NO;
    serve_add_header(response, "Content-Type", "%s",
                     serve_framing_type(serve_stream_framing(r->stream)));
    serve_add_header(response, "X-Accel-Buffering", "no"); /* nginx would hold events back */
    serve_add_common_headers(response, r->http);
    serve_metrics_count(&r->http->metrics, 200, cli_now_ms() - r->began_ms);
    enum MHD_Result queued = MHD_queue_response(r->connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

void serve_resume_stirred(serve_http *http)
{
    eventfd_t rung;
    pthread_mutex_lock(&http->mutex);
    if (http->stirred != NULL)
        eventfd_read(http->stirs, &rung);
    while (http->stirred != NULL) {
        serve_request *r = http->stirred;
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

int64_t serve_count_streams(const serve_http *http)
{
    int64_t count = 0;
    for (const serve_request *r = http->running; r != NULL; r = r->next)
        count += r->is_streaming;
    return count;
}

void serve_beat_streams(serve_http *http, int64_t now)
{
    for (serve_request *r = http->running; r != NULL; r = r->next) {
        if (r->has_stream && !r->is_streaming && r->route.verb->follows &&
            now - r->began_ms >= GRACE_MS) {
            serve_stream_settle(r->stream, SERVE_STREAM_BEGUN);
            stir_request(r);
        }
        if (r->is_streaming && r->is_suspended &&
            now - r->beat_ms + SERVE_SWEEP_MS > http->options.heartbeat_ms) {
            serve_stream_beat(r->stream);
            resume_connection(r);
        }
    }
}
