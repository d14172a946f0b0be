/* SPDX-License-Identifier: MIT */
#include "core/block.h"

#include "core/clock.h"
#include "core/error.h"

/* A try that lasted so long was no failure to get through: the pauses begin anew. */
#define WENT_WELL_US 1000000

#define ASKING "*1\r\n$6\r\nASKING\r\n"

/* When the reply must be here. */
static int64_t late(const tkl_client *client, int64_t end)
{
    int64_t slack = client->target.timeout_ms * 1000;
    return end > TKL__FOREVER - slack ? TKL__FOREVER : end + slack;
}

/* When the command must have been sent. */
static int64_t soon(const tkl_client *client, int64_t end)
{
    int64_t timeout = tkl__deadline_ms(client->target.timeout_ms);
    return timeout < late(client, end) ? timeout : late(client, end);
}

static int send_command(tkl__conn *conn, const tkl__blocking *command, int64_t end,
                        int64_t deadline)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    command->write(&wire, end == TKL__FOREVER ? TKL__FOREVER : tkl__left(end), command->arg);
    int rc = wire.failed ? tkl__nomem()
                         : tkl__conn_send(conn, (tkl_bytes){wire.data, wire.len}, deadline, NULL);
    tkl__buf_free(&wire);
    return rc;
}

static int ask_first(tkl__conn *conn, int64_t deadline)
{
    tkl_reply *reply = NULL;
    int rc = tkl__conn_send(conn, tkl_str(ASKING), deadline, NULL);
    if (rc == TKL_OK)
        rc = tkl__conn_receive(conn, deadline, &reply);
    tkl_reply_free(reply);
    return rc == TKL_OK ? TKL_OK : TKL_ENOTSENT;
}

/* *nothing: no part of a reply came. */
static int converse(tkl_client *client, tkl__conn *conn, const tkl__blocking *command, bool asking,
                    int64_t end, bool *nothing, tkl_reply **reply)
{
    int64_t deadline = soon(client, end);
    int rc = asking ? ask_first(conn, deadline) : TKL_OK;
    if (rc == TKL_OK)
        rc = send_command(conn, command, end, deadline);
    if (rc == TKL_OK)
        rc = tkl__conn_receive(conn, late(client, end), reply);
    *nothing = !conn->midway;
    return rc;
}

static int try_on(tkl_client *client, tkl__node *node, const tkl__blocking *command, bool asking,
                  int64_t end, bool *nothing, tkl_reply **reply)
{
    tkl__conn *conn;
    int64_t deadline = tkl__borrow_deadline(client, soon(client, end));
    int rc = tkl__node_borrow_apart(node, deadline, &conn);
    if (rc != TKL_OK)
        return rc;
    rc = converse(client, conn, command, asking, end, nothing, reply);
    tkl__node_return_apart(node, conn);
    return rc;
}

int tkl__block(tkl_client *client, const tkl__blocking *command, int64_t end, tkl_reply **reply)
{
    tkl__node *asked = NULL; /* where an ASK sent us */
    *reply = NULL;
    for (int attempt = 0;; attempt++) {
        int64_t began = tkl__now();
        bool nothing = false;
        tkl__node *node = asked;
        int rc = TKL_OK;
        if (!node)
            rc = client->route->pick(client, command->slot, soon(client, end), &node);
        if (rc == TKL_OK)
            rc = try_on(client, node, command, asked != NULL, end, &nothing, reply);
        tkl__outcome outcome = tkl__judge(client, node, rc, *reply, nothing);
        tkl__node_unref(node);
        asked = outcome.other;
        if (tkl__now() - began > WENT_WELL_US)
            attempt = 0;
        if (!outcome.again || !tkl__pause(attempt, outcome.at_once, end)) {
            tkl__node_unref(asked);
            return rc == TKL_OK ? tkl__check(reply) : rc;
        }
        tkl_reply_free(*reply);
        *reply = NULL;
    }
}
