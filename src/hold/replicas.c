/* SPDX-License-Identifier: MIT
 *
 * Acquisitions that count once replicas have them.
 *
 * WAIT covers only the writes of its own connection. So the client sends a renewal of the
 * acquisition with WAIT right behind it, on one connection, and repeats both together: on a new or
 * a demoted master, a WAIT alone would cover no write at all.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/resp.h"
#include "hold/inside.h"
#include "hold/scripts.h"

/* Extra time for the answer: the server checks the time-out of WAIT ten times a second. */
#define WAIT_SLACK_US 500000

static void make_wire(const tkl__hold *h, int64_t deadline, tkl__buf *wire)
{
    tkl_bytes args[] = {h->everyone, tkl_str(h->token), tkl_str(h->lease), tkl_str("")};
    tkl__invocation call = tkl__hold_invoke(h, &tkl__lua_hold_renew, args, 4);
    tkl__script_wire(wire, &call);
    tkl__resp_head(wire, 3);
    tkl__resp_argz(wire, "WAIT");
    tkl__resp_int(wire, h->rules.replicas);
    tkl__resp_int(wire, tkl__left(deadline) / 1000 + 1);
}

/* The server's answers to the renewal and to WAIT. */
typedef struct pair {
    tkl_reply *renewal, *wait;
} pair;

static void free_pair(pair *p)
{
    tkl_reply_free(p->renewal);
    tkl_reply_free(p->wait);
    *p = (pair){NULL, NULL};
}

static int send_wire(tkl__conn *conn, const tkl__buf *wire, int64_t deadline)
{
    return wire->failed ? tkl__nomem()
                        : tkl__conn_send(conn, (tkl_bytes){wire->data, wire->len}, deadline, NULL);
}

static int receive_pair(tkl__conn *conn, int64_t deadline, pair *p)
{
    int rc = tkl__conn_receive(conn, deadline + WAIT_SLACK_US, &p->renewal);
    if (rc == TKL_OK)
        rc = tkl__conn_receive(conn, deadline + WAIT_SLACK_US, &p->wait);
    return rc;
}

/* Loads the library on a new master that does not have it, and sends both requests again. If it
 * refuses to load, the refusal is the answer to the renewal. */
static int load_and_send(tkl__conn *conn, const tkl__buf *wire, int64_t deadline, pair *p)
{
    tkl__buf all;
    tkl_reply *loaded = NULL;
    tkl__buf_init(&all);
    tkl__library_wire(&all, &tkl__lua_hold);
    tkl__buf_add(&all, wire->data, wire->len);
    int rc = send_wire(conn, &all, deadline);
    tkl__buf_free(&all);
    if (rc == TKL_OK)
        rc = tkl__conn_receive(conn, deadline, &loaded);
    tkl_reply *refusal = loaded ? tkl__library_refusal(loaded, &tkl__lua_hold) : NULL;
    if (rc == TKL_OK)
        rc = receive_pair(conn, deadline, p);
    if (rc == TKL_OK && refusal && tkl__is_unknown_function(p->renewal)) {
        tkl_reply_free(p->renewal);
        p->renewal = refusal;
        return TKL_OK;
    }
    tkl_reply_free(refusal);
    return rc;
}

static int ask_replicas(tkl__node *node, const tkl__buf *wire, int64_t deadline, pair *p)
{
    tkl__conn *conn;
    int rc = tkl__node_borrow(node, deadline, &conn);
    if (rc != TKL_OK)
        return rc;
    rc = send_wire(conn, wire, deadline);
    if (rc == TKL_OK)
        rc = receive_pair(conn, deadline, p);
    if (rc == TKL_OK && tkl__is_unknown_function(p->renewal)) {
        free_pair(p);
        rc = load_and_send(conn, wire, deadline, p);
    }
    tkl__node_return(node, conn);
    return rc;
}

static int try_pair(tkl__hold *h, int64_t deadline, bool *again, pair *p)
{
    tkl__node *node = NULL;
    tkl__buf wire;
    *again = false;
    tkl__buf_init(&wire);
    make_wire(h, deadline, &wire);
    int slot = h->client->route->cluster ? tkl__slot_of(h->keys[0]) : TKL__NO_SLOT;
    int rc = wire.failed ? tkl__nomem() : h->client->route->pick(h->client, slot, deadline, &node);
    if (rc == TKL_OK)
        rc = ask_replicas(node, &wire, deadline, p);
    tkl__buf_free(&wire);
    const tkl_reply *bad = tkl_reply_type_of(p->renewal) == TKL_REPLY_ERROR ? p->renewal : p->wait;
    tkl__outcome outcome = tkl__judge(h->client, node, rc, bad, true);
    tkl__node_unref(outcome.other);
    tkl__node_unref(node);
    *again = outcome.again || (rc == TKL_OK && tkl__is_unknown_function(p->renewal));
    return rc;
}

/* Repeats both requests until one server has answered both. */
static int renew_and_wait(tkl__hold *h, int64_t deadline, int64_t *replicas)
{
    pair p = {NULL, NULL};
    tkl__hold_grant g;
    bool again;
    int attempt = 0;
    int rc = try_pair(h, deadline, &again, &p);
    while (again && tkl__pause(attempt++, false, deadline)) {
        free_pair(&p);
        rc = try_pair(h, deadline, &again, &p);
    }
    if (rc == TKL_OK)
        rc = tkl__check(&p.renewal);
    if (rc == TKL_OK)
        rc = tkl__check(&p.wait);
    if (rc == TKL_OK)
        rc = tkl__hold_read_grant(p.renewal, 0, &g);
    *replicas = tkl_reply_int(p.wait);
    free_pair(&p);
    return rc;
}

int tkl__hold_await_replicas(tkl__hold *h, tkl__hold_grant *g)
{
    int64_t replicas = 0;
    if (h->rules.replicas == 0)
        return TKL_OK;
    int64_t half = tkl__hold_us(h->rules.lease_ms) / 2;
    int64_t deadline = tkl__hold_deadline(h);
    int64_t started = tkl__lease_now();
    if (tkl__left(deadline) > half)
        deadline = tkl__now() + half;
    int rc = renew_and_wait(h, deadline, &replicas);
    if (rc == TKL_OK && replicas >= h->rules.replicas) {
        g->started = started;
        g->lease_us = tkl__hold_us(h->rules.lease_ms);
        return TKL_OK;
    }
    tkl__hold_ask_release(h, true, true);
    if (rc == TKL_OK)
        return tkl__fail(TKL_EUNREADY, "only %" PRId64 " of %d replicas have it", replicas,
                         h->rules.replicas);
    return rc == TKL_NOTOWNER ? tkl__fail(TKL_ELOST, "a failover lost the acquisition") : rc;
}
