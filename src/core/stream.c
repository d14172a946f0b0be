/* SPDX-License-Identifier: MIT
 *
 * Waiting. A server on the same machine may answer sooner than a thread and its processor can be
 * put to sleep and woken. Then a lone caller that spins makes twice as many calls a second, and
 * both sides together need less processor time. Where the two share one processor, or the server is
 * far away, sleeping is better. Repeated trials find out which is better: one in sixteen is for the
 * manner that lost the last time.
 *
 * Sleeping. A plain socket stays in blocking mode with a receive time-out equal to the client's
 * time-out for calls. The common call waits exactly that long, so its reply costs one recv() and no
 * poll(); a call with less time left polls first.
 *
 * Linux wakes a thread that sleeps in recv() on a Unix socket also when the peer has read the
 * request, which for a call is just before the reply; poll() is not woken then. Among many callers
 * recv() costs 1.6 to 1.9 thread switches per call and poll() 1.0, so they poll. A lone caller is 5
 * to 10% quicker with recv(), probably because its processor is awake by the time the reply
 * arrives. (GET, 32 threads and 1 thread, 2 cores.) A fiber neither spins nor blocks its thread.
 */
#include "core/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/nofork.h"

/* A blocking recv() may outlast its deadline by this much. */
#define SLACK_US 2000
/* How long a thread spins for a reply. */
#define AWAKE_US 150
/* Number of waits in a trial, and the most that one of them counts: rare long waits decide
 * nothing. */
#define TRIAL_WAITS  32
#define TRIAL_CAP_US 300
/* Number of trials of the better manner before one of the other. It grows while the result stays
 * the same. */
#define REST_MIN 4
#define REST_MAX 64

int tkl__stream_poll(int fd, short events, int64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (;;) {
        int n = tkl__poll(&p, 1, deadline);
        if (n > 0)
            return TKL_OK;
        if (n == 0 && tkl__left(deadline) == 0)
            return tkl__fail(TKL_ETIMEOUT, "timed out");
        if (n < 0 && errno != EINTR)
            return tkl__fail_errno(TKL_EIO, "poll");
    }
}

/* ---- Connecting ---------------------------------------------------------- */

static int await_connect(int fd, int64_t deadline)
{
    int rc = tkl__stream_poll(fd, POLLOUT, deadline);
    if (rc != TKL_OK)
        return tkl__fail(TKL_ENOTSENT, "no connection in time");
    int error = 0;
    socklen_t len = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    errno = error;
    return error ? tkl__fail_errno(TKL_ENOTSENT, "connect") : TKL_OK;
}

/* A Unix socket whose backlog is full answers EAGAIN and cannot be polled. */
static int connect_fd(int fd, const struct sockaddr *addr, socklen_t len, int64_t deadline)
{
    while (connect(fd, addr, len) != 0) {
        if (errno == EINPROGRESS)
            return await_connect(fd, deadline);
        if ((errno != EAGAIN && errno != EINTR) || tkl__left(deadline) == 0)
            return tkl__fail_errno(TKL_ENOTSENT, "connect");
        tkl__sleep_until(tkl__now() + tkl__backoff(0, 2000));
    }
    return TKL_OK;
}

static int open_fd(int family, const struct sockaddr *addr, socklen_t len, int64_t deadline,
                   int *fd)
{
    *fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return tkl__fail_errno(TKL_ENOTSENT, "socket");
    int rc = connect_fd(*fd, addr, len, deadline);
    if (rc != TKL_OK) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

static int connect_unix(const char *path, int64_t deadline, int *fd)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof un.sun_path)
        return tkl__fail(TKL_EINVAL, "path is longer than the %zu bytes a Unix socket may have",
                         sizeof un.sun_path - 1);
    strcpy(un.sun_path, path);
    return open_fd(AF_UNIX, (struct sockaddr *)&un, sizeof un, deadline, fd);
}

/* Checks that the server of a private directory runs as this user, even if its path was changed
 * meanwhile. Nothing has been sent yet. */
static int check_owner(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return tkl__fail_errno(TKL_EIO, "SO_PEERCRED");
    return peer.uid == geteuid() ? TKL_OK
                                 : tkl__fail(TKL_EAUTH, "the server belongs to another user");
}

/* Makes TCP detect a dead peer within half a minute, even when nothing is sent. */
static void tune_tcp(int fd)
{
    int on = 1, idle = 15, interval = 5, count = 3;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/* A name may have several addresses. One that does not answer must not use up the time of those
 * after it, so each gets a share of the time left. Never more than half, because the greeting
 * follows. */
int tkl__stream_connect_any(const struct addrinfo *found, int64_t deadline, int *fd)
{
    int left = 0, rc = TKL_ENOTSENT;
    for (const struct addrinfo *a = found; a; a = a->ai_next)
        left++;
    for (const struct addrinfo *a = found; a && rc != TKL_OK; a = a->ai_next, left--) {
        int64_t until = left == 1 ? deadline : tkl__now() + tkl__left(deadline) / left / 2;
        rc = open_fd(a->ai_family, a->ai_addr, a->ai_addrlen, until, fd);
    }
    return rc;
}

static int connect_tcp(const tkl__addr *addr, int64_t deadline, int *fd)
{
    char port[8];
    snprintf(port, sizeof port, "%d", addr->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    tkl__nofork_enter();
    int error = getaddrinfo(addr->host, port, &hints, &found);
    tkl__nofork_leave();
    if (error)
        return tkl__fail(TKL_ENOTSENT, "%s", gai_strerror(error));
    int rc = tkl__stream_connect_any(found, deadline, fd);
    freeaddrinfo(found);
    if (rc == TKL_OK)
        tune_tcp(*fd);
    return rc;
}

static void make_blocking(tkl__stream *stream, int64_t timeout_ms)
{
    stream->block_us = timeout_ms > 3600000 ? INT64_C(3600000000) : timeout_ms * 1000;
    struct timeval tv = {.tv_sec = (time_t)(stream->block_us / 1000000),
                         .tv_usec = (suseconds_t)(stream->block_us % 1000000)};
    setsockopt(stream->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    fcntl(stream->fd, F_SETFL, 0);
}

int tkl__stream_open(tkl__stream *stream, const tkl__target *target, const tkl__addr *addr,
                     struct ssl_ctx_st *tls, int64_t deadline)
{
    *stream = (tkl__stream){.fd = -1};
    int rc = addr->port == 0 ? connect_unix(addr->host, deadline, &stream->fd)
                             : connect_tcp(addr, deadline, &stream->fd);
    if (rc == TKL_OK && target->scheme == TKL__EMBEDDED)
        rc = check_owner(stream->fd);
    if (rc != TKL_OK)
        return rc;
    if (tls)
        return tkl__tls_connect(stream, target, addr, tls, deadline);
    stream->local = addr->port == 0;
    stream->always_sleep = target->always_sleep;
    make_blocking(stream, target->timeout_ms);
    return TKL_OK;
}

void tkl__stream_close(tkl__stream *stream)
{
    if (stream->ssl)
        tkl__tls_close(stream);
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

/* ---- Reading and writing ------------------------------------------------- */

static int stream_lost(const char *during)
{
    return tkl__fail_errno(TKL_EUNKNOWN, "connection lost while %s", during);
}

static void note_wait(tkl__manner *m, int64_t us)
{
    m->took_us += us < TRIAL_CAP_US ? us : TRIAL_CAP_US;
    if (++m->waits < TRIAL_WAITS)
        return;
    m->last_us[m->awake] = m->took_us;
    bool best = m->last_us[true] < m->last_us[false] / 4 * 3; /* spinning must be clearly better:
                                                                 others need the processors, too */
    if (best != m->best)
        m->rest = m->left = REST_MIN;
    m->best = m->awake = best;
    if (--m->left == 0) {
        m->awake = !best;
        m->rest = m->rest < REST_MAX ? 2 * m->rest : REST_MAX;
        m->left = m->rest;
    }
    m->waits = 0;
    m->took_us = 0;
}

/* Spins until there is something to read, or for AWAKE_US. */
static void stay_awake(const tkl__stream *stream, int64_t since)
{
    char byte;
    ssize_t got;
    do
        got = recv(stream->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    while (got < 0 && errno == EAGAIN && tkl__now() < since + AWAKE_US);
}

static int plain_read_some(tkl__stream *stream, char *data, size_t cap, int64_t deadline, size_t *n)
{
    for (;;) {
        bool blocking = !(stream->local && stream->crowded) && !tkl__heeds() &&
                        !tkl__fiber_self() && tkl__left(deadline) >= stream->block_us - SLACK_US;
        if (!blocking && deadline > 0) {
            int rc = tkl__stream_poll(stream->fd, POLLIN, deadline);
            if (rc != TKL_OK)
                return rc;
        }
        ssize_t got = recv(stream->fd, data, cap, blocking ? 0 : MSG_DONTWAIT);
        if (got > 0) {
            *n = (size_t)got;
            return TKL_OK;
        }
        if (got == 0)
            return tkl__fail(TKL_EUNKNOWN, "the server closed the connection");
        if (errno == EAGAIN && deadline == 0)
            return tkl__fail(TKL_ETIMEOUT, "timed out");
        if (errno != EAGAIN && errno != EINTR)
            return stream_lost("reading");
    }
}

static int plain_read(tkl__stream *stream, char *data, size_t cap, int64_t deadline, size_t *n)
{
    if (stream->crowded || stream->always_sleep || deadline == 0 || tkl__fiber_self())
        return plain_read_some(stream, data, cap, deadline, n);
    int64_t since = tkl__now();
    if (stream->manner.awake)
        stay_awake(stream, since);
    int rc = plain_read_some(stream, data, cap, deadline, n);
    note_wait(&stream->manner, tkl__now() - since);
    return rc;
}

int tkl__stream_read(tkl__stream *stream, char *data, size_t cap, int64_t deadline, size_t *n)
{
    return stream->ssl ? tkl__tls_read(stream, data, cap, deadline, n)
                       : plain_read(stream, data, cap, deadline, n);
}

static int plain_write(tkl__stream *stream, const char *data, size_t len, int64_t deadline,
                       size_t *written)
{
    while (*written < len) {
        ssize_t n = send(stream->fd, data + *written, len - *written, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            *written += (size_t)n;
        else if (errno == EAGAIN) {
            int rc = tkl__stream_poll(stream->fd, POLLOUT, deadline);
            if (rc != TKL_OK)
                return rc;
        } else if (errno != EINTR)
            return stream_lost("writing");
    }
    return TKL_OK;
}

int tkl__stream_write(tkl__stream *stream, const char *data, size_t len, int64_t deadline,
                      size_t *written)
{
    *written = 0;
    return stream->ssl ? tkl__tls_write(stream, data, len, deadline, written)
                       : plain_write(stream, data, len, deadline, written);
}

bool tkl__stream_stale(tkl__stream *stream)
{
    if (stream->ssl)
        return tkl__tls_stale(stream);
    char byte;
    ssize_t n = recv(stream->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}
