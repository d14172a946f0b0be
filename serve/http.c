/* SPDX-License-Identifier: MIT */
#include "http.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "caller.h"
#include "clock.h"
#include "openapi.h"
#include "repeat.h"
#include "request.h"

/* How long a client may take to fetch its last answer when the server ends. */
#define FAREWELL_MS 2000

/* ---- Requests ------------------------------------------------------------ */

/* Keeps a part of the body. A body that is too large is read, forgotten, and refused at its end. */
static void keep_body(serve_request *r, const char *data, size_t size)
{
    serve_http *http = r->http;
    if ((int64_t)(r->size + size) > serve_body_max(r))
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

static enum MHD_Result send_page(serve_request *r)
{
    unsigned status = MHD_HTTP_OK;
    struct MHD_Response *response =
        serve_page_response(r->page, serve_request_header(r, "If-None-Match"),
                            serve_request_header(r, "Accept-Encoding"), &status);
    return serve_send_response(r, status, response);
}

/* Answers a request that has arrived as a whole. */
static enum MHD_Result take_request(serve_request *r)
{
    serve_http *http = r->http;
    if (r->refusal == 413)
        return serve_refuse(r, 413, TKL_EINVAL, "the body is too large");
    if (r->refusal != 0)
        return serve_refuse(r, r->refusal, TKL_ENOMEM, "too many large requests at once");
    r->answer.status = 200;
    switch (r->kind) {
    case SERVE_HEALTH:
        r->answer.body = strdup("{\"status\": \"ok\"}");
        return serve_send_answer(r);
    case SERVE_OPENAPI:
        r->answer.body = serve_openapi(&r->user.rights);
        return serve_send_answer(r);
    case SERVE_METRICS:
        http->metrics.streams = serve_count_streams(http);
        r->answer.body = serve_metrics_text(&http->metrics, http->loop);
        return serve_send_answer(r);
    case SERVE_CALLER:
        r->answer.body = serve_caller_text(r->user.who, &r->user.rights);
        return serve_send_answer(r);
    case SERVE_STREAM:
        return serve_send_response(
            r, MHD_HTTP_OK,
            serve_events_response(http->sampler, r->connection, &r->peer->since_ms));
    case SERVE_PAGE:
        return send_page(r);
    default:
        return serve_submit(r);
    }
}

static serve_request *new_request(serve_http *http, struct MHD_Connection *connection)
{
    serve_request *r = calloc(1, sizeof *r);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (r == NULL || info == NULL || info->socket_context == NULL) {
        free(r);
        return NULL;
    }
    r->http = http;
    r->connection = connection;
    r->peer = info->socket_context;
    r->user.who = "-";
    r->began_ms = cli_now_ms();
    return r;
}

/* libmicrohttpd calls this for the head of a request, for parts of its body, at its end, and once
 * more when its connection was resumed: after the head, or after the end. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **context)
{
    serve_request *r = *context;
    (void)version;
    if (r == NULL) {
        r = *context = new_request(arg, connection);
        return r != NULL ? serve_admit(r, path, method) : MHD_NO;
    }
    if (r->is_checking)
        return serve_admit_user(r, method);
    if (*size > 0) {
        keep_body(r, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (r->is_streaming)
        return serve_send_stream(r);
    return r->is_done ? serve_send_answer(r) : take_request(r);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode how)
{
    serve_request *r = *context;
    (void)arg;
    (void)connection;
    (void)how;
    *context = NULL;
    if (r == NULL)
        return;
    r->peer->since_ms = cli_now_ms();
    if (!r->is_running) {
        serve_request_free(r);
        return;
    }
    r->connection = NULL; /* a stream whose client is gone: end_request() frees it */
    r->is_left = true;
    serve_cancel(r);
}

/* ---- Connections --------------------------------------------------------- */

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    serve_http *http = arg;
    serve_peer *p = *context;
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
    if (now - http->swept_ms < SERVE_SWEEP_MS)
        return;
    http->swept_ms = now;
    serve_beat_streams(http, now);
    for (const serve_peer *p = http->peers; p != NULL; p = p->next)
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

/* Ignores the messages of libmicrohttpd, which mostly are about clients that went away. */
static void log_nothing(void *arg, const char *format, va_list list)
{
    (void)arg;
    (void)format;
    (void)list;
}

static struct MHD_Daemon *start_daemon(serve_http *http, const serve_tls *tls)
{
    struct MHD_OptionItem with_tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, tls->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (char[]){SERVE_TLS_PRIORITIES}},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (http->has_tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, http->listener->file,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, http, MHD_OPTION_CONNECTION_LIMIT, (unsigned)http->options.max_connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)http->options.max_head,
        MHD_OPTION_EXTERNAL_LOGGER, log_nothing, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY,
        http->has_tls ? with_tls : &with_tls[sizeof with_tls / sizeof *with_tls - 1],
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
                         .has_tls = tls->certificate != NULL,
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
    int sleep = http->peers != NULL ? SERVE_SWEEP_MS : -1, loop = tkl_loop_timeout_ms(http->loop);
    int sample = serve_events_timeout_ms(http->sampler);
    int reading = serve_history_timeout_ms(http->options.history);
    if (reading >= 0 && (loop < 0 || reading < loop))
        loop = reading;
    if (sample >= 0 && (loop < 0 || sample < loop))
        loop = sample;
    if (MHD_get_timeout(http->daemon, &wanted) == MHD_YES && (sleep < 0 || wanted < SERVE_SWEEP_MS))
        sleep = wanted < SERVE_SWEEP_MS ? (int)wanted : SERVE_SWEEP_MS;
    return loop >= 0 && (sleep < 0 || loop < sleep) ? loop : sleep;
}

static int serve_once(serve_http *http)
{
    struct epoll_event events[5];
    if (epoll_wait(http->events, events, 5, sleep_ms(http)) < 0 && errno != EINTR)
        return cli_fail(http->cli, CLI_FAILURE, "cannot wait for events: %s", strerror(errno));
    serve_cancel_gone(http);
    serve_resume_stirred(http);
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
    for (serve_request *r = http->running; r != NULL; r = r->next)
        serve_cancel(r);
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
        serve_log_line("ending: %s", "waits are cancelled, calls under way are finished");
        begin_end(http);
        failed = serve_rest(http);
    }
    return failed;
}
