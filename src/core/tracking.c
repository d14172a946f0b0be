/* SPDX-License-Identifier: MIT */
#include "core/tracking.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/call.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/nofork.h"
#include "core/reply.h"
#include "core/report.h"
#include "core/resp.h"
#include "core/thread.h"

#define CHANNEL      "__redis__:invalidate"
#define CONNECT_MS   2000     /* how long an attempt to hear all masters may take */
#define PAUSE_MAX_US 1000000  /* between two attempts */
#define REFUSED_US   30000000 /* ... after the server has said that the user may not track */
#define MASTERS_MAX  1000

/* A master that is heard. */
typedef struct tkl__heard {
    tkl__node *node;
    tkl__conn *conn;
    bool pinged;     /* a PING was sent, and nothing has come since */
    int64_t beat_at; /* when the PING must be sent, or its answer be there */
} heard;

static bool is_over(tkl__tracking *t)
{
    return t->end != 0;
}

/* ---- Hearing a master ---------------------------------------------------- */

/* Sends a command and checks its answer. */
static int run_command(tkl__conn *conn, const tkl__buf *wire, int64_t deadline, tkl_reply **reply)
{
    *reply = NULL;
    int rc = wire->failed
                 ? tkl__nomem()
                 : tkl__conn_send(conn, (tkl_bytes){wire->data, wire->len}, deadline, NULL);
    if (rc == TKL_OK)
        rc = tkl__conn_receive(conn, deadline, reply);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

/* Asks the server to name all keys with the prefix, on this connection itself: in RESP2 it is the
 * redirection to a connection that has subscribed. */
static int ask_for_keys(const tkl__tracking *t, tkl__conn *conn, int64_t deadline)
{
    char id[24];
    tkl_reply *reply;
    tkl__buf wire;
    int rc = tkl__conn_command(conn, deadline, &reply, "CLIENT", "ID", NULL);
    if (rc == TKL_OK)
        rc = tkl__check(&reply);
    if (rc != TKL_OK)
        return rc;
    snprintf(id, sizeof id, "%" PRId64, tkl_reply_int(reply));
    tkl_reply_free(reply);
    const tkl_bytes words[] = {
        tkl_str("CLIENT"), tkl_str("TRACKING"), tkl_str("ON"),     tkl_str("REDIRECT"),
        tkl_str(id),       tkl_str("BCAST"),    tkl_str("PREFIX"), t->prefix};
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, sizeof words / sizeof *words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        tkl__resp_arg(&wire, words[i].data, words[i].len);
    rc = run_command(conn, &wire, deadline, &reply);
    tkl_reply_free(reply);
    tkl__buf_clear(&wire);
    tkl__resp_head(&wire, 2);
    tkl__resp_argz(&wire, "SUBSCRIBE");
    tkl__resp_argz(&wire, CHANNEL);
    if (rc == TKL_OK) {
        rc = run_command(conn, &wire, deadline, &reply);
        tkl_reply_free(reply);
    }
    tkl__buf_free(&wire);
    return rc;
}

static void close_heard(heard *h)
{
    tkl__conn_close(h->conn);
    tkl__node_unref(h->node);
}

static int hear_master(tkl__tracking *t, int slot, int64_t deadline, heard *h)
{
    tkl_client *client = t->client;
    *h = (heard){.node = NULL};
    int rc = client->route->pick(client, slot, deadline, &h->node);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__conn_dial(&client->target, tkl__node_addr(h->node), client->tls, deadline, &h->conn);
    tkl__tell_event(client, rc == TKL_OK ? TKL_EVENT_CONNECTED : TKL_EVENT_LOST, rc,
                    tkl__node_addr(h->node), NULL);
    if (rc != TKL_OK)
        client->route->suspect(client, h->node);
    else
        rc = ask_for_keys(t, h->conn, deadline);
    h->beat_at = tkl__now() + client->heartbeat_us;
    if (rc != TKL_OK)
        close_heard(h);
    return rc;
}

static bool is_heard(const tkl__tracking *t, const tkl__node *node)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->heard[i].node == node)
            return true;
    return false;
}

/* Adds a master. A forked child must find the list whole, so fork() waits meanwhile. */
static void add_heard(tkl__tracking *t, heard h)
{
    tkl__nofork_enter();
    t->heard[t->count++] = h;
    tkl__nofork_leave();
}

static int hear_all(tkl__tracking *t)
{
    int64_t deadline = tkl__deadline_ms(CONNECT_MS);
    unsigned reroutes = t->client->reroutes;
    int *slots = NULL;
    size_t count = 0;
    int rc = tkl__shards(t->client, deadline, &slots, &count);
    if (rc == TKL_OK && count > MASTERS_MAX)
        rc = tkl__fail(TKL_EINVAL, "too many masters");
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        heard h;
        rc = hear_master(t, slots[i], deadline, &h);
        if (rc == TKL_OK && is_heard(t, h.node))
            close_heard(&h);
        else if (rc == TKL_OK)
            add_heard(t, h);
    }
    free(slots);
    if (rc != TKL_OK)
        return rc;
    t->reroutes = reroutes;
    t->serial++;
    t->live = true;
    return TKL_OK;
}

static void hear_none(tkl__tracking *t)
{
    t->live = false;
    t->lost(t->arg);
    while (t->count > 0) {
        heard h = t->heard[t->count - 1];
        tkl__nofork_enter();
        t->count--;
        tkl__nofork_leave();
        close_heard(&h);
    }
}

/* ---- Messages ------------------------------------------------------------ */

/* A message names keys, or none when the server was flushed. */
static void take_message(tkl__tracking *t, const tkl_reply *reply)
{
    const tkl_reply *keys = tkl_reply_at(reply, 2);
    if (strcmp(tkl_reply_str(tkl_reply_at(reply, 0)), "message") != 0)
        return; /* the answer to a PING */
    if (tkl_reply_type_of(keys) != TKL_REPLY_ARRAY)
        t->lost(t->arg);
    for (size_t i = 0; i < tkl_reply_count(keys); i++)
        t->changed(t->arg, tkl_reply_bytes(tkl_reply_at(keys, i)));
}

/* Reads what has come. False: the connection is lost. */
static bool drain_heard(tkl__tracking *t, heard *h)
{
    tkl_reply *reply = NULL;
    int rc;
    while ((rc = tkl__conn_try_receive(h->conn, &reply)) == TKL_OK && reply) {
        take_message(t, reply);
        tkl_reply_free(reply);
        h->pinged = false;
        h->beat_at = tkl__now() + t->client->heartbeat_us;
    }
    return rc == TKL_OK;
}

/* False: the server does not answer, or is the wrong one by now. */
static bool beat_heard(const tkl__tracking *t, heard *h)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    if (tkl__now() < h->beat_at)
        return true;
    int64_t deadline = tkl__now() + t->client->heartbeat_us;
    if (h->pinged || tkl__conn_send(h->conn, tkl_str(ping), deadline, NULL) != TKL_OK)
        return false;
    h->pinged = true;
    h->beat_at = deadline;
    return t->client->route->serves(t->client, TKL__NO_SLOT, h->node);
}

/* Sleeps until a file is readable, the time has come, or the bell rings; the bell is the first
 * file. The bell also rings when `end` is set. So the sleep ignores `end`, which it would have to
 * check 20 times a second. */
static int sleep_at(const tkl__tracking *t, struct pollfd *files, nfds_t count, int64_t until)
{
    eventfd_t rung;
    files[0] = (struct pollfd){t->bell, POLLIN, 0};
    tkl__heed(NULL);
    int ready = poll(files, count, tkl__poll_ms(until));
    tkl__heed(&t->end);
    if (files[0].revents)
        eventfd_read(t->bell, &rung);
    return ready;
}

/* Waits until a server sends something, a heartbeat is due, or the bell rings. */
static void await_news(const tkl__tracking *t, struct pollfd *files)
{
    const tkl__route *route = t->client->route;
    int64_t until = TKL__FOREVER;
    files[1] = (struct pollfd){route->lookout ? route->lookout(t->client) : -1, POLLIN, 0};
    for (size_t i = 0; i < t->count; i++) {
        const heard *h = &t->heard[i];
        files[2 + i] = (struct pollfd){h->conn->stream.fd, POLLIN, 0};
        until = h->beat_at < until ? h->beat_at : until;
    }
    int ready = sleep_at(t, files, 2 + t->count, until);
    if (route->heed && (ready == 0 || files[1].revents))
        route->heed(t->client);
}

/* Returns when a master is not heard any more, or the route has changed. */
static void hear_on(tkl__tracking *t)
{
    struct pollfd *files = calloc(2 + t->count, sizeof *files);
    bool good = files != NULL;
    while (good && !is_over(t) && t->reroutes == t->client->reroutes) {
        for (size_t i = 0; good && i < t->count; i++) {
            good = drain_heard(t, &t->heard[i]) && beat_heard(t, &t->heard[i]);
            if (!good)
                t->client->route->suspect(t->client, t->heard[i].node);
        }
        if (good)
            await_news(t, files);
    }
    free(files);
}

static void *track_keys(void *arg)
{
    tkl__tracking *t = arg;
    struct pollfd bell;
    tkl__heed(&t->end);
    for (int failures = 0; !is_over(t);) {
        int rc = hear_all(t);
        if (rc == TKL_OK)
            hear_on(t);
        hear_none(t);
        failures = rc == TKL_OK ? 0 : failures + 1;
        int64_t pause = rc == TKL_EAUTH ? REFUSED_US : tkl__backoff(failures, PAUSE_MAX_US);
        if (!is_over(t))
            sleep_at(t, &bell, 1, tkl__now() + pause);
    }
    return NULL;
}

/* ---- Beginning and ending ------------------------------------------------ */

void tkl__tracking_init(tkl__tracking *t)
{
    t->running = false;
    t->live = false;
    t->end = 0;
    t->serial = 0;
    t->bell = -1;
    t->heard = NULL;
    t->count = 0;
    t->process = tkl__fork_generation();
}

static void begin_thread(tkl__tracking *t)
{
    if (!t->heard)
        t->heard = calloc(MASTERS_MAX, sizeof *t->heard);
    if (t->bell < 0)
        t->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    t->running = t->heard && t->bell >= 0 &&
                 tkl__thread_start(&t->thread, track_keys, t, "tracking keys") == TKL_OK;
}

/* In a forked child: the connections and the thread are the parent's. Returns how many nodes the
 * list has, which the caller releases without the client's lock. */
static size_t leave_parent(tkl__tracking *t)
{
    size_t count = t->count;
    for (size_t i = 0; i < count; i++)
        tkl__conn_abandon_lent(t->heard[i].conn);
    if (t->bell >= 0)
        close(t->bell);
    t->bell = -1;
    t->live = false;
    t->end = 0;
    t->count = 0;
    t->running = false;
    return count;
}

static void release_nodes(heard *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tkl__node_unref(list[i].node);
    free(list);
}

void tkl__tracking_start(tkl__tracking *t)
{
    heard *parents = NULL;
    size_t count = 0;
    tkl__client_lock(t->client);
    if (t->process != tkl__fork_generation()) {
        count = leave_parent(t);
        parents = t->heard;
        t->heard = NULL;
        t->forked(t->arg);
        t->process = tkl__fork_generation();
    }
    if (!t->running)
        begin_thread(t);
    tkl__client_unlock(t->client);
    release_nodes(parents, count);
}

uint64_t tkl__tracking_state(tkl__tracking *t)
{
    if (t->process != tkl__fork_generation())
        tkl__tracking_start(t);
    if (!t->live)
        return 0;
    if (t->reroutes == t->client->reroutes)
        return t->serial;
    eventfd_write(t->bell, 1);
    return 0;
}

void tkl__tracking_close(tkl__tracking *t)
{
    size_t count = 0;
    if (t->process != tkl__fork_generation()) {
        count = leave_parent(t);
    } else if (t->running) {
        t->end = tkl__now();
        eventfd_write(t->bell, 1);
        pthread_join(t->thread, NULL);
    }
    if (t->bell >= 0)
        close(t->bell);
    release_nodes(t->heard, count);
}
