/* SPDX-License-Identifier: MIT */
#include "core/conn.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/identity.h"
#include "core/reply.h"
#include "core/resp.h"
#include "core/trace.h"

/* Bytes read at once, on the stack: fibers have small ones. */
#define READ_CHUNK 16384

/* ---- Sending and receiving ----------------------------------------------- */

static int mark_broken(tkl__conn *conn, int rc)
{
    conn->broken = true;
    conn->code = rc;
    return rc;
}

int tkl__conn_send(tkl__conn *conn, tkl_bytes wire, int64_t deadline, size_t *written)
{
    size_t done = 0;
    tkl__trace_send(conn->trace, wire);
    int rc = tkl__stream_write(&conn->stream, wire.data, wire.len, deadline, &done);
    conn->sent += done;
    conn->answers = false;
    if (written)
        *written = done;
    return rc == TKL_OK ? TKL_OK : mark_broken(conn, TKL_ENOTSENT);
}

static int protocol_error(tkl__conn *conn)
{
    const char *why = conn->reader->err == REDIS_ERR_OOM ? "a reply that is too large or too deep"
                                                         : conn->reader->errstr;
    return mark_broken(conn, tkl__fail(TKL_EPROTO, "%s", why));
}

/* `finish`: the deadline once the server has begun to answer. */
static int next_reply(tkl__conn *conn, int64_t deadline, int64_t finish, tkl_reply **reply)
{
    *reply = NULL;
    for (bool more = false;; more = true) {
        int64_t until = conn->answers ? finish : deadline;
        void *object = NULL;
        if (redisReaderGetReply(conn->reader, &object) != REDIS_OK)
            return protocol_error(conn);
        if (object) {
            conn->midway = conn->reader->pos < conn->reader->len;
            *reply = object;
            conn->errors += tkl_reply_type_of(*reply) == TKL_REPLY_ERROR;
            tkl__trace_reply(conn->trace, *reply);
            return TKL_OK;
        }
        if (more && tkl__left(until) == 0) /* a server could send a reply without end */
            return tkl__fail(TKL_ETIMEOUT, "timed out");
        if (tkl__reader_size(conn->reader) > conn->reply_max)
            return mark_broken(conn,
                               tkl__fail(TKL_EPROTO, "a reply of more than %zu bytes (reply_max)",
                                         conn->reply_max));
        char chunk[READ_CHUNK];
        size_t n;
        int rc = tkl__stream_read(&conn->stream, chunk, sizeof chunk, until, &n);
        if (rc != TKL_OK)
            return rc;
        conn->received += n;
        if (redisReaderFeed(conn->reader, chunk, n) != REDIS_OK)
            return protocol_error(conn);
        conn->midway = conn->answers = true;
    }
}

static void skip_reply(tkl__conn *conn, tkl_reply *reply)
{
    bool refused = tkl_reply_type_of(reply) == TKL_REPLY_ERROR;
    if (refused)
        conn->primed = false;
    if (refused && conn->errand) { /* later replies of the same write have none */
        free(conn->failed);
        conn->failed = conn->errand;
    } else {
        free(conn->errand);
    }
    conn->errand = NULL;
    tkl_reply_free(reply);
    conn->owed--;
}

/* Reads the next reply that a caller waits for. Skips the replies that nobody waits for. */
static int wanted_reply(tkl__conn *conn, int64_t deadline, int64_t finish, tkl_reply **reply)
{
    int rc;
    while ((rc = next_reply(conn, deadline, finish, reply)) == TKL_OK && conn->owed > 0)
        skip_reply(conn, *reply);
    return rc;
}

/* Marks the connection as broken. Requests sent before may have been executed. */
static int conn_lost(tkl__conn *conn, int rc)
{
    return mark_broken(conn, rc == TKL_ETLS ? TKL_EUNKNOWN : rc);
}

int tkl__conn_receive(tkl__conn *conn, int64_t deadline, tkl_reply **reply)
{
    int rc = wanted_reply(conn, deadline, tkl__finish_by(deadline), reply);
    return rc == TKL_OK ? TKL_OK : conn_lost(conn, rc);
}

int tkl__conn_receive_by(tkl__conn *conn, int64_t time, tkl_reply **reply)
{
    int rc = wanted_reply(conn, time, time, reply);
    return rc == TKL_OK || rc == TKL_ETIMEOUT ? TKL_OK : conn_lost(conn, rc);
}

int tkl__conn_try_receive(tkl__conn *conn, tkl_reply **reply)
{
    return tkl__conn_receive_by(conn, 0, reply);
}

int tkl__conn_give_up(tkl__conn *conn, int code, const char *why)
{
    return mark_broken(conn, tkl__fail(code, "%s", why));
}

bool tkl__conn_more(const tkl__conn *conn)
{
    return conn->stream.ssl || conn->reader->pos < conn->reader->len;
}

int tkl__conn_command(tkl__conn *conn, int64_t deadline, tkl_reply **reply, ...)
{
    const char *argv[16];
    int argc = 0;
    va_list args;
    va_start(args, reply);
    while (argc < 16 && (argv[argc] = va_arg(args, const char *)))
        argc++;
    va_end(args);

    *reply = NULL;
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_command(&wire, argc, argv, NULL);
    int rc = wire.failed ? tkl__nomem()
                         : tkl__conn_send(conn, (tkl_bytes){wire.data, wire.len}, deadline, NULL);
    tkl__buf_free(&wire);
    return rc == TKL_OK ? tkl__conn_receive(conn, deadline, reply) : rc;
}

bool tkl__conn_stale(tkl__conn *conn)
{
    tkl_reply *reply = NULL;
    while (conn->owed > 0) {
        int rc = next_reply(conn, 0, 0, &reply);
        if (rc != TKL_OK)
            return rc != TKL_ETIMEOUT; /* TKL_ETIMEOUT: the reply has not arrived yet */
        skip_reply(conn, reply);
    }
    return tkl__stream_stale(&conn->stream);
}

bool tkl__conn_buffered(const tkl__conn *conn)
{
    return conn->owed == 0 && conn->reader->pos < conn->reader->len;
}

/* ---- Dialling ------------------------------------------------------------ */

/* The commands that open a connection, sent in one round trip. */
typedef struct greeting {
    tkl__buf wire;
    bool auth, select;
} greeting;

static void greeting_make(greeting *g, const tkl__target *target)
{
    char name[TKL__IDENTITY_NAME_SIZE];
    tkl__identity_name(name);
    g->auth = target->password || target->username;
    g->select = target->db != 0;
    tkl__buf_init(&g->wire);
    if (g->auth) {
        tkl__resp_head(&g->wire, target->username ? 3 : 2);
        tkl__resp_argz(&g->wire, "AUTH");
        if (target->username)
            tkl__resp_argz(&g->wire, target->username);
        tkl__resp_argz(&g->wire, target->password ? target->password : "");
    }
    if (g->select) {
        tkl__resp_head(&g->wire, 2);
        tkl__resp_argz(&g->wire, "SELECT");
        tkl__resp_int(&g->wire, target->db);
    }
    tkl__resp_head(&g->wire, 3);
    tkl__resp_argz(&g->wire, "CLIENT");
    tkl__resp_argz(&g->wire, "SETNAME");
    tkl__resp_argz(&g->wire, target->name ? target->name : name);
}

static void greeting_free(greeting *g)
{
    explicit_bzero(g->wire.data, g->wire.len);
    tkl__buf_free(&g->wire);
}

static const char password_hint[] = " Give a password in the URL, in a file or in TACKLE_PASSWORD.";

/* Reads one answer to the greeting; an error becomes its code. */
static int greeting_answer(tkl__conn *conn, const char *what, int64_t deadline)
{
    tkl_reply *reply;
    int rc = next_reply(conn, deadline, deadline, &reply);
    if (rc == TKL_ETIMEOUT || rc == TKL_EUNKNOWN)
        return tkl__fail_in(TKL_ENOTSENT, "%s", what); /* no request has been sent yet */
    if (rc != TKL_OK)
        return rc;
    rc = tkl_reply_code(reply);
    const char *text = tkl_reply_str(reply);
    if (rc != TKL_OK)
        tkl__fail(rc, "%s: %s%s", what, text, strncmp(text, "NOAUTH", 6) ? "" : password_hint);
    tkl_reply_free(reply);
    return rc;
}

static int read_answers(tkl__conn *conn, const greeting *g, int64_t deadline)
{
    int rc = TKL_OK;
    if (g->auth)
        rc = greeting_answer(conn, "AUTH", deadline);
    if (rc == TKL_OK && g->select)
        rc = greeting_answer(conn, "SELECT", deadline);
    if (rc != TKL_OK)
        return rc;
    rc = greeting_answer(conn, "connection", deadline);
    /* A user without the permission to name connections goes on without a name. A user who must log
     * in cannot go on. */
    bool optional = rc == TKL_EREFUSED || (rc == TKL_EAUTH && strstr(tkl_errmsg(), "NOPERM"));
    return optional ? TKL_OK : rc;
}

static int greet_server(tkl__conn *conn, const tkl__target *target, int64_t deadline)
{
    greeting g;
    greeting_make(&g, target);
    int rc = g.wire.failed
                 ? tkl__nomem()
                 : tkl__conn_send(conn, (tkl_bytes){g.wire.data, g.wire.len}, deadline, NULL);
    /* A server that refuses the connection may have closed it before we wrote. Its reason can still
     * be read. */
    if (rc == TKL_OK || rc == TKL_ENOTSENT)
        rc = read_answers(conn, &g, deadline);
    greeting_free(&g);
    return rc == TKL_OK && conn->broken ? TKL_ENOTSENT : rc;
}

static int failed_to(const tkl__addr *addr, int rc)
{
    if (addr->port == 0)
        return tkl__fail_in(rc, "%s", addr->host);
    return tkl__fail_in(rc, strchr(addr->host, ':') ? "[%s]:%d" : "%s:%d", addr->host, addr->port);
}

int tkl__conn_dial(const tkl__target *target, const tkl__addr *addr, struct ssl_ctx_st *tls,
                   int64_t deadline, tkl__conn **conn)
{
    tkl__conn *c = calloc(1, sizeof *c);
    *conn = NULL;
    if (!c)
        return tkl__nomem();
    c->stream.fd = -1;
    c->reply_max = target->reply_max > 0 ? (size_t)target->reply_max : SIZE_MAX;
    c->trace = tkl__trace_open(target, addr);
    c->reader = tkl__reader_new();
    int rc = c->reader ? tkl__stream_open(&c->stream, target, addr, tls, deadline) : tkl__nomem();
    if (rc == TKL_OK)
        rc = greet_server(c, target, deadline);
    if (rc != TKL_OK) {
        tkl__conn_close(c);
        return failed_to(addr, rc);
    }
    *conn = c;
    return TKL_OK;
}

void tkl__conn_close(tkl__conn *conn)
{
    if (!conn)
        return;
    tkl__stream_close(&conn->stream);
    tkl__trace_close(conn->trace, conn->code);
    if (conn->reader)
        redisReaderFree(conn->reader);
    free(conn->errand);
    free(conn->failed);
    free(conn);
}

void tkl__conn_abandon(tkl__conn *conn)
{
    close(conn->stream.fd);
    conn->stream.fd = -1;
    tkl__trace_abandon(conn->trace);
    conn->trace = NULL;
    tkl__conn_close(conn);
}

void tkl__conn_abandon_lent(tkl__conn *conn)
{
    static _Atomic(tkl__conn *) kept; /* in reach, so that no tool takes them for leaks */
    close(conn->stream.fd);
    conn->stream.fd = -1;
    conn->next = atomic_load(&kept);
    while (!atomic_compare_exchange_weak(&kept, &conn->next, conn))
        ;
}
