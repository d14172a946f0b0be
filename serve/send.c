/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "out.h"

/* ---- The log ------------------------------------------------------------- */

void serve_log_line(const char *format, ...)
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

/* The address of the client; NULL: it uses a Unix socket. */
static const struct sockaddr *address_of(const serve_request *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info != NULL && !r->http->listener->is_unix ? info->client_addr : NULL;
}

const char *serve_peer_name(const serve_request *r, char name[NI_MAXHOST])
{
    char host[64], port[8];
    const struct sockaddr *address = address_of(r);
    socklen_t size = address != NULL && address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                       : sizeof(struct sockaddr_in);
    if (address == NULL || getnameinfo(address, size, host, sizeof host, port, sizeof port,
                                       NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "unix";
    snprintf(name, NI_MAXHOST, "%s:%s", host, port);
    return name;
}

const char *serve_peer_network(const serve_request *r, char name[NI_MAXHOST])
{
    enum { NETWORK = 8 }; /* bytes of an IPv6 address */
    const struct sockaddr *address = address_of(r);
    if (address == NULL)
        return "unix";
    const void *at = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    if (address->sa_family == AF_INET6) {
        struct in6_addr network = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        if (!IN6_IS_ADDR_V4MAPPED(&network))
            memset(network.s6_addr + NETWORK, 0, sizeof network.s6_addr - NETWORK);
        return inet_ntop(AF_INET6, &network, name, NI_MAXHOST);
    }
    return inet_ntop(AF_INET, at, name, NI_MAXHOST);
}

/* Whether the log has the call: it was refused, or it has or may have changed something. */
static bool is_logged(const serve_route *route, const serve_answer *answer)
{
    bool refused = answer->status == 401 || answer->status == 403;
    bool may_be_done = answer->status < 300 || answer->status >= 500;
    bool writes = route->verb != NULL && route->verb->effect == CLI_WRITES;
    return refused || (writes && may_be_done && !answer->is_repeat);
}

/* Writes "127.0.0.1:40312 web queue push mails 200 3 ms"; `outcome` is the status. */
static void log_call(const serve_request *r, const serve_route *route, const char *subject,
                     const char *outcome, int64_t took_ms)
{
    char name[NI_MAXHOST];
    const char *verb = route->verb != NULL ? route->verb->name : NULL;
    serve_log_line("%s %s %s%s%s%s%s %s %lld ms",
                   r->from != NULL ? r->from : serve_peer_name(r, name), r->user.who,
                   route->component != NULL  ? route->component->name
                   : r->kind == SERVE_BATCH  ? "batch"
                   : r->kind == SERVE_LOGIN  ? "login"
                   : r->kind == SERVE_LOGOUT ? "logout"
                                             : "-",
                   verb != NULL ? " " : "", verb != NULL ? verb : "", subject != NULL ? " " : "",
                   subject != NULL ? subject : "", outcome, (long long)took_ms);
}

void serve_log_answer(const serve_request *r, const serve_route *route, const serve_answer *answer,
                      int64_t took_ms)
{
    char status[16];
    snprintf(status, sizeof status, "%d", answer->status);
    if (r->kind == SERVE_LOGIN || r->kind == SERVE_LOGOUT || is_logged(route, answer))
        log_call(r, route, answer->subject, status, took_ms);
}

void serve_log_request(const serve_request *r)
{
    int64_t took_ms = cli_now_ms() - r->began_ms;
    if (!r->is_streaming)
        serve_log_answer(r, &r->route, &r->answer, took_ms);
    else if (is_logged(&r->route, &r->answer)) /* a stream's beginning was logged already */
        log_call(r, &r->route, r->answer.subject, "ended", took_ms);
}

/* ---- Sending answers ----------------------------------------------------- */

void serve_add_header(struct MHD_Response *response, const char *name, const char *format, ...)
{
    char value[128];
    va_list list;
    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    MHD_add_response_header(response, name, value);
}

static const char *type_of(const serve_request *r)
{
    return r->kind == SERVE_METRICS && r->answer.status == 200 ? "text/plain; version=0.0.4"
                                                               : "application/json";
}

const char *serve_allowed_methods(const serve_request *r)
{
    if (r->kind == SERVE_CALL)
        return serve_route_gets(&r->route) ? "GET, POST" : "POST";
    if (r->kind == SERVE_BATCH || r->kind == SERVE_HISTORY || r->kind == SERVE_LOGIN ||
        r->kind == SERVE_LOGOUT)
        return "POST";
    return r->kind == SERVE_STREAM ? "GET" : "GET, HEAD";
}

void serve_add_common_headers(struct MHD_Response *response, const serve_http *http)
{
    serve_add_header(response, "Cache-Control", "no-store");
    serve_add_header(response, "X-Content-Type-Options", "nosniff");
    if (http->is_ending)
        serve_add_header(response, "Connection", "close");
}

/* Sets or removes the cookie. Without a Path, the browser uses the folder in which it sees /login,
 * which is right also behind a proxy that removes a prefix. The Origin of the page says whether the
 * browser uses HTTPS. */
static void add_cookie(struct MHD_Response *response, const serve_request *r)
{
    const char *origin = serve_request_header(r, "Origin");
    bool is_secure = r->http->has_tls || (origin != NULL && strncmp(origin, "https:", 6) == 0);
    serve_add_header(response, "Set-Cookie", SERVE_COOKIE "=%s; HttpOnly; SameSite=Strict%s%s",
                     r->kind == SERVE_LOGIN ? r->user.secret : "", is_secure ? "; Secure" : "",
                     r->kind == SERVE_LOGIN ? "" : "; Max-Age=0");
}

static void add_headers(struct MHD_Response *response, const serve_request *r)
{
    const serve_answer *a = &r->answer;
    serve_add_header(response, "Content-Type", "%s", type_of(r));
    serve_add_common_headers(response, r->http);
    if (a->status == 401)
        serve_add_header(response, "WWW-Authenticate", "Bearer realm=\"tackle\"");
    if (a->status == 200 && (r->kind == SERVE_LOGIN || r->kind == SERVE_LOGOUT))
        add_cookie(response, r);
    if (a->status == 405)
        serve_add_header(response, "Allow", "%s", serve_allowed_methods(r));
    if (a->is_repeat)
        serve_add_header(response, "Idempotency-Replayed", "true");
    if (a->status >= 400 && a->retry_s > 0)
        serve_add_header(response, "Retry-After", "%lld", (long long)a->retry_s);
    if (a->warning != NULL)
        MHD_add_response_header(response, "Tackle-Warning", a->warning);
    if (!a->has_limit)
        return;
    serve_add_header(response, "RateLimit-Limit", "%lld", (long long)a->limit);
    serve_add_header(response, "RateLimit-Remaining", "%lld", (long long)a->remaining);
    serve_add_header(response, "RateLimit-Reset", "%lld", (long long)a->reset_s);
}

enum MHD_Result serve_send_response(serve_request *r, unsigned status,
                                    struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    r->peer->since_ms = cli_now_ms();
    serve_metrics_count(&r->http->metrics, (int)status, cli_now_ms() - r->began_ms);
    enum MHD_Result queued = MHD_queue_response(r->connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

enum MHD_Result serve_send_answer(serve_request *r)
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
    return serve_send_response(r, (unsigned)r->answer.status, response);
}

enum MHD_Result serve_refuse(serve_request *r, int status, int code, const char *message)
{
    serve_answer_error(&r->answer, status, code, message);
    serve_log_request(r);
    return serve_send_answer(r);
}
