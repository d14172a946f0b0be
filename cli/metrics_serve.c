/* SPDX-License-Identifier: MIT
 *
 * `tackle metrics --listen`: a responder for HTTP/1.1 that knows one thing, GET /metrics.
 *
 * One thread serves all clients by poll(). A client has CLIENT_MS for its request and its answer,
 * REQUEST_MAX bytes for the request, and no second request. When all places are taken, the
 * client that came first is cut off. So slow clients cost others nothing.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "metrics.h"

enum { CLIENTS = 16, REQUEST_MAX = 8192, CLIENT_MS = 10000 };

typedef struct visitor {
    int fd;        /* -1: the place is free */
    int64_t until; /* when it must be done: monotonic ms */
    char request[REQUEST_MAX];
    size_t len;
    char *answer; /* NULL: the request is not complete */
    size_t size, sent;
    bool served; /* it has its answer and should leave */
} visitor;

typedef struct service {
    tkl_client *client;
    int64_t max; /* series */
    int fd;
    visitor visitors[CLIENTS];
} service;

/* ---- Listening ----------------------------------------------------------- */

/* Splits "HOST:PORT" or "[HOST]:PORT"; false: it is neither. */
static bool split_address(const char *address, char host[256], char port[8])
{
    const char *colon = strrchr(address, ':');
    size_t len = colon != NULL ? (size_t)(colon - address) : 0;
    if (len == 0 || len > 255 || strlen(colon + 1) == 0 || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || atol(colon + 1) > 65535)
        return false;
    if (address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    } else if (memchr(address, ':', len) != NULL) {
        return false;
    }
    memcpy(host, address, len);
    host[len] = '\0';
    strcpy(port, colon + 1);
    return len > 0;
}

static int listen_on(const struct addrinfo *where)
{
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, CLIENTS) == 0)
        return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

static void say_where(int fd)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
        getnameinfo((struct sockaddr *)&own, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        fprintf(stderr, "tackle: metrics: http://%s%s%s:%s/metrics\n", strchr(host, ':') ? "[" : "",
                host, strchr(host, ':') ? "]" : "", port);
}

static int open_listener(const cli_session *cli, const char *address, int *fd)
{
    char host[256], port[8];
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (!split_address(address, host, port))
        return cli_usage(cli, "invalid --listen '%s': write HOST:PORT, such as 127.0.0.1:9480",
                         address);
    int wrong = getaddrinfo(host, port, &wanted, &found);
    if (wrong != 0)
        return cli_fail(cli, CLI_FAILURE, "%s: %s", host, gai_strerror(wrong));
    *fd = listen_on(found);
    int reason = errno;
    freeaddrinfo(found);
    if (*fd < 0)
        return cli_fail(cli, CLI_FAILURE, "cannot listen on %s: %s", address, strerror(reason));
    say_where(*fd);
    return CLI_OK;
}

/* ---- Visitors ------------------------------------------------------------ */

static void send_away(visitor *v)
{
    close(v->fd);
    free(v->answer);
    *v = (visitor){.fd = -1};
}

/* A free place; when all are taken, that of the visitor that came first. */
static visitor *find_place(service *s)
{
    visitor *oldest = &s->visitors[0];
    for (int i = 0; i < CLIENTS; i++) {
        if (s->visitors[i].fd < 0)
            return &s->visitors[i];
        if (s->visitors[i].until < oldest->until)
            oldest = &s->visitors[i];
    }
    send_away(oldest);
    return oldest;
}

static void welcome(service *s)
{
    int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    visitor *v = find_place(s);
    v->fd = fd;
    v->until = cli_now_ms() + CLIENT_MS;
}

/* ---- Answers ------------------------------------------------------------- */

/* Takes over `body`; NULL: the answer is the status alone. */
static void give_answer(visitor *v, const char *status, const char *more, char *body, size_t len)
{
    FILE *to = open_memstream(&v->answer, &v->size);
    if (to != NULL) {
        fprintf(to,
                "HTTP/1.1 %s\r\n%sContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                status, more, body != NULL ? len : strlen(status) + 1);
        if (body != NULL)
            fwrite(body, 1, len, to);
        else
            fprintf(to, "%s\n", status);
    }
    free(body);
    if (to == NULL || fclose(to) != 0)
        send_away(v);
}

static void answer_metrics(const service *s, visitor *v)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to != NULL)
        cli_metrics_write(s->client, s->max, to, NULL);
    if (to != NULL && fclose(to) == 0)
        give_answer(v, "200 OK", "", text, size);
    else
        send_away(v);
}

/* Answers a request whose head is complete. */
static void answer_request(const service *s, visitor *v)
{
    const char *line_end = memmem(v->request, v->len, "\r\n", 2);
    size_t len = (size_t)(line_end - v->request);
    const char *blank = memchr(v->request, ' ', len);
    const char *second =
        blank != NULL ? memchr(blank + 1, ' ', len - (size_t)(blank + 1 - v->request)) : NULL;
    if (second == NULL || strncmp(second + 1, "HTTP/1.", 7) != 0) {
        give_answer(v, "400 Bad Request", "", NULL, 0);
        return;
    }
    size_t method = (size_t)(blank - v->request), path = strcspn(blank + 1, "? ");
    if (method != 3 || memcmp(v->request, "GET", 3) != 0)
        give_answer(v, "405 Method Not Allowed", "Allow: GET\r\n", NULL, 0);
    else if (path == strlen("/metrics") && memcmp(blank + 1, "/metrics", path) == 0)
        answer_metrics(s, v);
    else
        give_answer(v, "404 Not Found", "", NULL, 0);
}

/* ---- One step ------------------------------------------------------------ */

static void read_request(const service *s, visitor *v)
{
    ssize_t n = recv(v->fd, v->request + v->len, sizeof v->request - v->len, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        send_away(v);
        return;
    }
    v->len += n > 0 ? (size_t)n : 0;
    if (memmem(v->request, v->len, "\r\n\r\n", 4) != NULL)
        answer_request(s, v);
    else if (v->len == sizeof v->request)
        give_answer(v, "431 Request Header Fields Too Large", "", NULL, 0);
}

static void write_answer(visitor *v)
{
    ssize_t n = send(v->fd, v->answer + v->sent, v->size - v->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        send_away(v);
        return;
    }
    v->sent += n > 0 ? (size_t)n : 0;
    if (v->sent == v->size) {
        shutdown(v->fd, SHUT_WR);
        v->served = true;
    }
}

/* Reads and drops all bytes until the visitor leaves: closing a connection with unread bytes could
 * destroy the answer on its way. */
static void see_off(visitor *v)
{
    ssize_t n = recv(v->fd, v->request, sizeof v->request, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        send_away(v);
}

/* Waits for news, at most until the first visitor must leave. */
static void await_news(const service *s, struct pollfd files[CLIENTS + 1])
{
    int64_t until = INT64_MAX, now = cli_now_ms();
    files[CLIENTS] = (struct pollfd){.fd = s->fd, .events = POLLIN};
    for (int i = 0; i < CLIENTS; i++) {
        const visitor *v = &s->visitors[i];
        files[i] = (struct pollfd){.fd = v->fd,
                                   .events = v->answer != NULL && !v->served ? POLLOUT : POLLIN};
        if (v->fd >= 0 && v->until < until)
            until = v->until;
    }
    int wait_ms = until == INT64_MAX ? -1 : until > now ? (int)(until - now) : 0;
    if (poll(files, CLIENTS + 1, wait_ms) < 0)
        for (int i = 0; i <= CLIENTS; i++)
            files[i].revents = 0;
}

int cli_metrics_serve(cli_session *cli, tkl_client *client, const char *address, int64_t max)
{
    service *s = calloc(1, sizeof *s);
    if (s == NULL)
        return cli_end(cli, TKL_ENOMEM);
    s->client = client;
    s->max = max;
    int failed = open_listener(cli, address, &s->fd);
    for (int i = 0; i < CLIENTS; i++)
        s->visitors[i].fd = -1;
    while (!failed) {
        struct pollfd files[CLIENTS + 1];
        await_news(s, files);
        for (int i = 0; i < CLIENTS; i++) {
            visitor *v = &s->visitors[i];
            if (v->fd >= 0 && files[i].revents != 0 && v->served)
                see_off(v);
            else if (v->fd >= 0 && files[i].revents != 0 && v->answer == NULL)
                read_request(s, v);
            else if (v->fd >= 0 && files[i].revents != 0)
                write_answer(v);
            if (v->fd >= 0 && cli_now_ms() >= v->until)
                send_away(v);
        }
        if (files[CLIENTS].revents != 0)
            welcome(s);
    }
    free(s);
    return failed;
}
