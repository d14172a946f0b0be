/* SPDX-License-Identifier: MIT
 *
 * Which caller gets a connection when there are more callers than connections: usually one that is
 * running. Handing each returned connection to the caller that waits longest would be fair, but it
 * halves the throughput of the pool, because each call then waits until a thread wakes up. So a
 * returned connection lies idle, and the first caller that comes takes it.
 *
 * No caller starves: when TURN_US have passed since the last time, the connection is handed to the
 * first waiter. So slow calls take strict turns, and quick ones cost a bounded number of wake-ups
 * per second. A waiter with n before it waits for n turns at most.
 *
 * No connection lies idle for long while a caller waits, because one waiter is on watch. It is
 * woken to take the connection. If other callers were quicker, it looks again after WATCH_US;
 * before that no other waiter is woken. If it still finds nothing, it goes off watch. When it
 * leaves and there are more connections to take, the next waiter is woken.
 *
 * (256 threads, 32 connections, 2 cores: strict turns cost 2.0 thread switches per call, this costs
 * 1.05, and 1 is the reply itself.)
 *
 * Waking takes longer than everything that is done under the lock, so it happens after unlocking.
 * The waiter may be gone by then. Therefore waiters are kept for reuse until their node is freed,
 * and a thread that wakes one has a reference to the node. At worst a later user of the waiter
 * wakes up for nothing.
 */
#include "core/node.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "core/clock.h"
#include "core/cond.h"
#include "core/error.h"
#include "core/report.h"

/* A connection that was idle for longer than this is checked before it is lent. */
#define TRUST_US 1000
/* The longest pause between two dials. */
#define BACKOFF_MAX_US 500000
/* How long running callers may go before waiters, after the last turn of a waiter. */
#define TURN_US 250
/* How long a waiter is on watch, and the longest time that a connection may lie idle meanwhile. */
#define WATCH_US 1000

/* A caller waiting for a connection. */
typedef struct waiter {
    tkl__cond woken;
    tkl__conn *conn; /* handed over; then the waiter has left the queue */
    struct waiter *next, *prev;
} waiter;

struct tkl__node {
    tkl_client *client;
    tkl__addr addr;
    atomic_int refs;
    tkl__node *next, *prev; /* in client->nodes */

    tkl__conn *newest, *oldest; /* idle connections, by last use */
    tkl__conn *all;             /* every connection, including lent ones */
    int total;                  /* connections open or being dialled */
    int lent;                   /* connections in use by callers */
    waiter *first, *last;       /* waiting callers, the longest wait first */
    waiter *spare;              /* waiters for reuse, linked by next */
    waiter *watch;              /* the waiter on watch, or NULL */
    int64_t turn_at;            /* when a connection was last handed to a waiter */

    int64_t heard_at;          /* when the server last answered */
    bool asking;               /* a thread is sending a PING to see whether the server is alive */
    bool hung;                 /* the server did not answer the last such PING */
    int64_t asked_at;          /* when the last such PING ended */
    _Atomic int64_t silent_at; /* see tkl__node_silent_at() */
    bool reached;              /* the server has answered at least once */
    bool let_go;      /* the server closed a connection, or a dial failed, since the last pick */
    bool dialling;    /* a thread is dialling */
    int failures;     /* failed dials in a row */
    int64_t retry_at; /* no dial before this, after a failure */
    int why;          /* code and text of the last failure, for callers that only waited */
    char why_text[256];
};

/* ---- Lists --------------------------------------------------------------- */

static void idle_push(tkl__node *node, tkl__conn *conn)
{
    conn->newer = NULL;
    conn->older = node->newest;
    if (node->newest)
        node->newest->newer = conn;
    else
        node->oldest = conn;
    node->newest = conn;
}

static void idle_remove(tkl__node *node, tkl__conn *conn)
{
    *(conn->newer ? &conn->newer->older : &node->newest) = conn->older;
    *(conn->older ? &conn->older->newer : &node->oldest) = conn->newer;
}

static void all_add(tkl__node *node, tkl__conn *conn)
{
    conn->prev = NULL;
    conn->next = node->all;
    if (node->all)
        node->all->prev = conn;
    node->all = conn;
}

static void all_remove(tkl__node *node, tkl__conn *conn)
{
    *(conn->prev ? &conn->prev->next : &node->all) = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
}

static void queue_add(tkl__node *node, waiter *w)
{
    w->next = NULL;
    w->prev = node->last;
    *(node->last ? &node->last->next : &node->first) = w;
    node->last = w;
}

static void queue_remove(tkl__node *node, waiter *w)
{
    *(w->prev ? &w->prev->next : &node->first) = w->next;
    *(w->next ? &w->next->prev : &node->last) = w->prev;
}

static waiter *waiter_get(tkl__node *node)
{
    waiter *w = node->spare;
    if (w) {
        node->spare = w->next;
    } else {
        w = calloc(1, sizeof *w);
        if (!w)
            return NULL;
        tkl__cond_init(&w->woken);
    }
    w->conn = NULL;
    return w;
}

static void waiter_put(tkl__node *node, waiter *w)
{
    w->next = node->spare;
    node->spare = w;
}

/* ---- Waking -------------------------------------------------------------- */

/* Puts the first waiter on watch when there is an idle connection and no waiter on watch. Returns
 * that waiter, to be woken after unlocking, or NULL. */
static waiter *post_watch(tkl__node *node)
{
    if (!node->newest || node->watch)
        return NULL;
    return node->watch = node->first;
}

static void end_watch(tkl__node *node, const waiter *w)
{
    if (node->watch == w)
        node->watch = NULL;
}

static void leave_queue(tkl__node *node, waiter *w)
{
    queue_remove(node, w);
    end_watch(node, w);
}

static void wake_caller(waiter *w)
{
    if (w)
        tkl__cond_signal(&w->woken);
}

static void wake_first(tkl__node *node)
{
    wake_caller(node->first);
}

/* ---- Nodes of a client --------------------------------------------------- */

static tkl__node *make_node(tkl_client *client, const char *host, int port)
{
    tkl__node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->client = client;
    node->addr = (tkl__addr){strdup(host), port};
    if (!node->addr.host) {
        free(node);
        return NULL;
    }
    node->next = client->nodes;
    if (client->nodes)
        client->nodes->prev = node;
    client->nodes = node;
    return node;
}

tkl__node *tkl__node_get_locked(tkl_client *client, const char *host, int port)
{
    tkl__node *node = client->nodes;
    while (node && (node->addr.port != port || strcmp(node->addr.host, host) != 0))
        node = node->next;
    if (!node)
        node = make_node(client, host, port);
    if (node)
        node->refs++;
    return node;
}

tkl__node *tkl__node_get(tkl_client *client, const char *host, int port)
{
    tkl__client_lock(client);
    tkl__node *node = tkl__node_get_locked(client, host, port);
    tkl__client_unlock(client);
    return node;
}

tkl__node *tkl__node_ref(tkl__node *node)
{
    node->refs++;
    return node;
}

static void free_node(tkl__node *node)
{
    for (tkl__conn *conn = node->all, *next; conn; conn = next) {
        next = conn->next;
        tkl__conn_close(conn);
    }
    for (waiter *w = node->spare, *next; w; w = next) {
        next = w->next;
        tkl__cond_destroy(&w->woken);
        free(w);
    }
    free(node->addr.host);
    free(node);
}

void tkl__node_unref(tkl__node *node)
{
    if (!node)
        return;
    /* Only the last reference needs the lock: until then no other thread can free the node. */
    int refs = atomic_load(&node->refs);
    while (refs > 1)
        if (atomic_compare_exchange_weak(&node->refs, &refs, refs - 1))
            return;
    tkl_client *client = node->client;
    tkl__client_lock(client);
    bool last = atomic_fetch_sub(&node->refs, 1) == 1;
    if (last) {
        *(node->prev ? &node->prev->next : &client->nodes) = node->next;
        if (node->next)
            node->next->prev = node->prev;
    }
    tkl__client_unlock(client);
    if (last)
        free_node(node);
}

const tkl__addr *tkl__node_addr(const tkl__node *node)
{
    return &node->addr;
}

tkl__node *tkl__node_next(const tkl__node *node)
{
    return node->next;
}

/* ---- Lending ------------------------------------------------------------- */

/* Removes a connection from the pool; the caller closes it without the lock. */
static void forget_conn(tkl__node *node, tkl__conn *conn)
{
    all_remove(node, conn);
    node->total--;
}

/* Unlocks while closing. */
static void discard_conn(tkl__node *node, tkl__conn *conn)
{
    forget_conn(node, conn);
    tkl__client_unlock(node->client);
    tkl__conn_close(conn);
    tkl__client_lock(node->client);
}

/* Takes the idle connection that was used last; NULL: none. Closes stale ones on the way. */
static tkl__conn *take_idle(tkl__node *node)
{
    tkl__conn *conn;
    while ((conn = node->newest)) {
        idle_remove(node, conn);
        if (tkl__now() - conn->idle_since < TRUST_US || !tkl__conn_stale(conn))
            return conn;
        node->let_go = true;
        discard_conn(node, conn);
    }
    return NULL;
}

static bool may_dial(const tkl__node *node)
{
    if (node->total >= node->client->target.pool_size)
        return false;
    return node->failures == 0 || (!node->dialling && tkl__now() >= node->retry_at);
}

/* Whether the failure may pass: the server is restarting, or has too many clients. */
static bool may_pass(const tkl__node *node, int rc)
{
    return rc == TKL_EUNREADY || (rc == TKL_ENOTSENT && node->reached);
}

/* Unlocks while dialling. */
static int dial_node(tkl__node *node, int64_t deadline, tkl__conn **conn)
{
    tkl_client *client = node->client;
    node->total++;
    node->dialling = true;
    tkl__client_unlock(client);
    int rc = tkl__conn_dial(&client->target, &node->addr, client->tls, deadline, conn);
    bool given_up = rc != TKL_OK && tkl__was_cut_short();
    if (!given_up)
        tkl__tell_event(client, rc == TKL_OK ? TKL_EVENT_CONNECTED : TKL_EVENT_LOST, rc,
                        &node->addr, NULL);
    tkl__client_lock(client);
    node->dialling = false;
    if (rc == TKL_OK) {
        all_add(node, *conn);
        node->heard_at = tkl__now();
        client->counts.dials++;
        node->reached = true;
        client->reached = true;
        node->failures = 0;
        wake_first(node);
    } else if (given_up) { /* an interruption: this says nothing about the server */
        node->total--;
        wake_first(node);
    } else {
        node->total--;
        client->counts.failures++;
        node->let_go = true;
        node->why = rc;
        snprintf(node->why_text, sizeof node->why_text, "%s", tkl_errmsg());
        node->retry_at = tkl__now() + tkl__backoff(node->failures++, BACKOFF_MAX_US);
        for (waiter *w = node->first; w; w = w->next)
            wake_caller(w);
    }
    return rc;
}

/* When a waiter must check again by itself: after WATCH_US when it is on watch, else at the next
 * dial or at its deadline. */
static int64_t next_look(const tkl__node *node, const waiter *w, int64_t deadline)
{
    bool dial_soon = node->total < node->client->target.pool_size && !node->dialling;
    int64_t at = dial_soon && node->retry_at < deadline ? node->retry_at : deadline;
    int64_t watch = w == node->watch ? tkl__now() + WATCH_US : at;
    return watch < at ? watch : at;
}

static int no_turn(const tkl__node *node)
{
    if (node->failures == 0)
        return tkl__fail(TKL_ENOTSENT, "all %d connections to %s are in use",
                         node->client->target.pool_size, node->addr.host);
    return tkl__fail(node->why, "%s", node->why_text);
}

static bool may_proceed(const tkl__node *node)
{
    return node->newest || may_dial(node);
}

static bool may_wait_on(const tkl__node *node, int64_t deadline)
{
    return tkl__left(tkl__turn_by(deadline, node->heard_at)) > 0;
}

/* Sleeps until a connection is handed over (in *conn), until one can be taken or dialled, or until
 * the deadline. */
static int await_turn(tkl__node *node, int64_t deadline, tkl__conn **conn)
{
    waiter *w = waiter_get(node);
    if (!w)
        return tkl__nomem();
    queue_add(node, w);
    while (!w->conn && !may_proceed(node) && may_wait_on(node, deadline)) {
        int64_t end = tkl__turn_by(deadline, node->heard_at);
        if (!tkl__cond_wait(&w->woken, &node->client->mutex, next_look(node, w, end)))
            end_watch(node, w);
    }
    *conn = w->conn;
    if (!*conn)
        leave_queue(node, w);
    waiter_put(node, w);
    return *conn || may_proceed(node) ? TKL_OK : no_turn(node);
}

static bool backing_off(const tkl__node *node)
{
    return node->failures > 0 && (node->dialling || tkl__now() < node->retry_at);
}

/* On a wary route: whether this may be the wrong server by now. True only once: a caller that picks
 * this node again has asked the route. */
static bool in_doubt(tkl__node *node)
{
    bool let_go = node->let_go;
    node->let_go = false;
    return node->client->route->wary && (let_go || backing_off(node));
}

static int borrow_conn(tkl__node *node, int64_t deadline, tkl__conn **conn)
{
    while (!(*conn = take_idle(node))) {
        if (in_doubt(node))
            return node->failures > 0
                       ? no_turn(node)
                       : tkl__fail(TKL_ENOTSENT, "%s let go of a connection", node->addr.host);
        int rc = may_dial(node) ? dial_node(node, tkl__turn_by(deadline, tkl__now()), conn)
                                : await_turn(node, deadline, conn);
        if (*conn)
            return TKL_OK;
        if (rc != TKL_OK && (!may_pass(node, rc) || !may_wait_on(node, deadline)))
            return rc;
    }
    return TKL_OK;
}

int tkl__node_borrow(tkl__node *node, int64_t deadline, tkl__conn **conn)
{
    *conn = NULL;
    tkl__client_lock(node->client);
    int rc = borrow_conn(node, deadline, conn);
    if (rc == TKL_OK) {
        (*conn)->stream.crowded = node->lent++ > 0;
        (*conn)->lent_at = tkl__now();
        node->client->counts.calls++;
    }
    waiter *next = post_watch(node);
    tkl__client_unlock(node->client);
    wake_caller(next);
    return rc;
}

/* ---- Taking back --------------------------------------------------------- */

/* Returns the connection that was idle longest, if that was too long. */
static tkl__conn *expired_conn(tkl__node *node, int64_t now)
{
    tkl__conn *conn = node->oldest;
    if (!conn || (now - conn->idle_since) / 1000 < node->client->target.idle_ms)
        return NULL;
    idle_remove(node, conn);
    forget_conn(node, conn);
    return conn;
}

/* Passes a returned connection on. Returns the waiter to wake, or NULL. */
static waiter *hand_on(tkl__node *node, tkl__conn *conn, int64_t now)
{
    waiter *w = node->first;
    if (!w || now - node->turn_at < TURN_US) {
        idle_push(node, conn);
        return post_watch(node);
    }
    node->turn_at = now;
    leave_queue(node, w);
    w->conn = conn;
    return w;
}

static void count_use(tkl__node *node, tkl__conn *conn, int64_t now)
{
    tkl_client_stats *counts = &node->client->counts;
    if (conn->lent_at > 0 && !conn->broken) {
        int64_t took = now - conn->lent_at;
        int bucket = 0;
        while (bucket < TKL_LATENCY_BUCKETS - 1 && took > (int64_t)TKL__LATENCY_FIRST_US << bucket)
            bucket++;
        counts->took_us += took;
        counts->took[bucket]++;
    }
    counts->errors += (int64_t)conn->errors;
    conn->errors = 0;
    counts->bytes_sent += (int64_t)(conn->sent - conn->sent_counted);
    counts->bytes_received += (int64_t)(conn->received - conn->received_counted);
    counts->lost += conn->broken;
    if (!conn->broken)
        node->heard_at = now;
    conn->sent_counted = conn->sent;
    conn->received_counted = conn->received;
}

static void report_loss(const tkl__node *node, const tkl__conn *conn)
{
    if (conn->broken)
        tkl__tell_event(node->client, TKL_EVENT_LOST, conn->code, &node->addr, NULL);
}

void tkl__node_return(tkl__node *node, tkl__conn *conn)
{
    tkl__conn *old = NULL;
    waiter *next = NULL;
    int64_t now = tkl__now();
    report_loss(node, conn);
    tkl_client *client = node->client;
    tkl__errand *failed = conn->failed;
    conn->failed = NULL;
    tkl__client_lock(client);
    count_use(node, conn, now);
    node->lent--;
    if (conn->broken || tkl__conn_buffered(conn)) {
        forget_conn(node, conn);
        old = conn;
        wake_first(node);
    } else {
        conn->idle_since = now;
        next = hand_on(node, conn, now);
        old = expired_conn(node, now);
    }
    tkl__client_unlock(client);
    wake_caller(next);
    tkl__conn_close(old);
    if (failed)
        failed->redo(client, failed);
}

/* ---- Beside the pool ----------------------------------------------------- */

/* These connections are in `all`, for fork(), and are counted nowhere else. */

int tkl__node_borrow_apart(tkl__node *node, int64_t deadline, tkl__conn **conn)
{
    int rc = TKL_OK;
    tkl__client_lock(node->client);
    *conn = take_idle(node);
    if (!*conn)
        rc = backing_off(node) ? no_turn(node) : dial_node(node, deadline, conn);
    if (rc == TKL_OK) {
        (*conn)->stream.crowded = true;
        (*conn)->lent_at = 0;
        node->client->counts.calls++;
        node->total--;
        wake_first(node); /* there is room for another connection */
    }
    tkl__client_unlock(node->client);
    return rc;
}

void tkl__node_return_apart(tkl__node *node, tkl__conn *conn)
{
    waiter *next = NULL;
    bool broken = conn->broken || tkl__conn_buffered(conn);
    int64_t now = tkl__now();
    report_loss(node, conn);
    tkl__client_lock(node->client);
    count_use(node, conn, now);
    if (!broken && node->total < node->client->target.pool_size) {
        node->total++;
        conn->idle_since = now;
        next = hand_on(node, conn, now);
        conn = NULL;
    } else {
        all_remove(node, conn);
    }
    tkl__client_unlock(node->client);
    wake_caller(next);
    tkl__conn_close(conn);
}

/* ---- Is it alive? -------------------------------------------------------- */

/* With the lock. */
static bool is_silent(const tkl__node *node)
{
    return tkl__now() - node->heard_at >= node->client->heartbeat_us;
}

/* Finds out whether the server answers a PING. With the lock, which is released meanwhile. */
static void probe_node(tkl__node *node)
{
    tkl__conn *conn;
    tkl_reply *reply = NULL;
    node->asking = true;
    node->hung = false;
    tkl__client_unlock(node->client);
    int64_t deadline = tkl__now() + node->client->heartbeat_us;
    if (tkl__node_borrow_apart(node, deadline, &conn) == TKL_OK) {
        if (tkl__conn_command(conn, deadline, &reply, "PING", NULL) == TKL_OK)
            tkl_reply_free(reply);
        tkl__node_return_apart(node, conn); /* notes the answer in heard_at */
    }
    tkl__client_lock(node->client);
    node->asking = false;
    node->hung = is_silent(node);
    node->asked_at = tkl__now();
}

bool tkl__node_hangs(tkl__node *node)
{
    tkl_client *client = node->client;
    tkl__client_lock(client);
    bool known = node->asking || tkl__now() - node->asked_at < client->heartbeat_us;
    if (is_silent(node) && !known)
        probe_node(node);
    bool hangs = is_silent(node) && node->hung;
    tkl__client_unlock(client);
    return hangs;
}

int64_t tkl__node_silent_at(const tkl__node *node)
{
    return atomic_load(&node->silent_at);
}

void tkl__node_note_silence(tkl__node *node)
{
    atomic_store(&node->silent_at, tkl__now());
}

bool tkl__node_is_refused(tkl__node *node)
{
    tkl__client_lock(node->client);
    bool refused = node->failures > 0;
    tkl__client_unlock(node->client);
    return refused;
}

/* ---- Counting ------------------------------------------------------------ */

void tkl__node_count_locked(const tkl__node *node, tkl_client_stats *info)
{
    info->nodes++;
    for (const tkl__conn *conn = node->all; conn; conn = conn->next)
        info->connections++;
    for (const tkl__conn *conn = node->newest; conn; conn = conn->older)
        info->idle++;
    for (const waiter *w = node->first; w; w = w->next)
        info->waiting++;
}

/* ---- Clearing ------------------------------------------------------------ */

void tkl__node_flush(tkl__node *node)
{
    tkl__client_lock(node->client);
    tkl__conn *conn;
    while ((conn = node->newest)) {
        idle_remove(node, conn);
        discard_conn(node, conn);
    }
    tkl__client_unlock(node->client);
}

/* The waiters' threads belong to the parent. One may have been inside a condition variable. */
static void forget_waiters(tkl__node *node)
{
    for (waiter *w = node->first, *next; w; w = next) {
        next = w->next;
        waiter_put(node, w);
    }
    for (waiter *w = node->spare; w; w = w->next)
        tkl__cond_init(&w->woken);
    node->first = node->last = node->watch = NULL;
}

void tkl__node_forget_locked(tkl__node *node)
{
    for (tkl__conn *conn; (conn = node->newest);) {
        idle_remove(node, conn);
        all_remove(node, conn);
        tkl__conn_abandon(conn);
    }
    for (tkl__conn *conn = node->all, *next; conn; conn = next) {
        next = conn->next;
        tkl__conn_abandon_lent(conn);
    }
    node->all = NULL;
    forget_waiters(node);
    node->total = node->lent = 0;
    node->dialling = node->asking = false;
}
