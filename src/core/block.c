/* SPDX-License-Identifier: MIT */
#include "core/block.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/report.h"
#include "core/resp.h"

/* An attempt that lasted longer than this had reached the server: the backoff starts over. */
#define WENT_WELL_US 1000000

/* How long the reply to an interrupted wait may take before the server is asked once more. */
#define UNBLOCK_MS 50

#define ASKING "*1\r\n$6\r\nASKING\r\n"

static int64_t timeout_of(const tkl_client *client, const tkl__blocking *command)
{
    return command->timeout_ms > 0 ? command->timeout_ms : client->target.timeout_ms;
}

/* The deadline for the reply: `end` plus the time-out of a call. */
static int64_t reply_deadline(int64_t timeout_ms, int64_t end)
{
    int64_t slack = timeout_ms * 1000;
    return end > TKL__FOREVER - slack ? TKL__FOREVER : end + slack;
}

/* The deadline for sending the command. */
static int64_t send_deadline(int64_t timeout_ms, int64_t end)
{
    int64_t timeout = tkl__deadline_ms(timeout_ms);
    return timeout < reply_deadline(timeout_ms, end) ? timeout : reply_deadline(timeout_ms, end);
}

/* Everything that is sent, in one write: CLIENT ID, ASKING and the command. */
typedef struct sending {
    bool id, asking;
    tkl__buf wire;
} sending;

static void sending_make(sending *r, const tkl__conn *conn, const tkl__blocking *command,
                         bool asking, int64_t end)
{
    static const char client_id[] = "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n";
    r->id = conn->id == 0;
    r->asking = asking;
    tkl__buf_init(&r->wire);
    if (r->id)
        tkl__buf_addz(&r->wire, client_id);
    if (r->asking)
        tkl__buf_addz(&r->wire, ASKING);
    command->write(&r->wire, end == TKL__FOREVER ? TKL__FOREVER : tkl__left(end), command->arg);
}

/* Reads the replies that come before the command's own: to CLIENT ID and ASKING. */
static int read_preface(const sending *r, tkl__conn *conn, int64_t deadline)
{
    int rc = TKL_OK;
    tkl_reply *reply = NULL;
    if (r->id) {
        rc = tkl__conn_receive(conn, deadline, &reply);
        conn->id = tkl_reply_type_of(reply) == TKL_REPLY_INTEGER ? tkl_reply_int(reply) : -1;
        tkl_reply_free(reply);
    }
    if (rc == TKL_OK && r->asking) {
        rc = tkl__conn_receive(conn, deadline, &reply);
        tkl_reply_free(reply);
    }
    return rc;
}

/* Sleeps until bytes arrive, the client is interrupted, or `until` passes. */
static void poll_until(tkl_client *client, const tkl__conn *conn, int64_t until)
{
    struct pollfd files[] = {{conn->stream.fd, POLLIN, 0}, {client->interrupt.fd, POLLIN, 0}};
    tkl__rest_begin();
    tkl__poll(files, 2, until);
    tkl__rest_end();
    if (files[1].revents)
        tkl__interrupt_seen(client);
}

/* A server that hangs counts as down: another one may be the master by now. */
static bool server_hangs(tkl_client *client, tkl__node *node)
{
    tkl__heed_interrupt(client);
    bool hung = tkl__node_hangs(node);
    return !tkl__unheed_interrupt(client) && hung;
}

/* Waits for the reply. TKL_EINTR: the client was interrupted first. */
static int await_reply(tkl_client *client, tkl__node *node, tkl__conn *conn, int64_t deadline,
                       tkl_reply **reply)
{
    int64_t beat = tkl__now() + client->heartbeat_us;
    for (;;) {
        int rc = tkl__conn_try_receive(conn, reply);
        if (rc != TKL_OK || *reply)
            return rc;
        if (tkl__is_interrupted(client))
            return TKL_EINTR;
        if (tkl__left(deadline) == 0)
            return tkl__conn_give_up(conn, TKL_ETIMEOUT, "timed out");
        if (tkl__now() >= beat && server_hangs(client, node))
            return tkl__conn_give_up(conn, TKL_EUNKNOWN, "the server hangs");
        if (tkl__now() >= beat)
            beat = tkl__now() + client->heartbeat_us;
        else
            poll_until(client, conn, beat < deadline ? beat : deadline);
    }
}

/* Asks the server, over another connection, to answer now. */
static int ask_to_unblock(tkl__node *node, int64_t id, int64_t deadline)
{
    tkl__buf wire;
    tkl_reply *reply;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, 3);
    tkl__resp_argz(&wire, "CLIENT");
    tkl__resp_argz(&wire, "UNBLOCK");
    tkl__resp_int(&wire, id);
    tkl__request request = {.wire = {wire.data, wire.len}, .slot = TKL__NO_SLOT};
    int rc = wire.failed ? tkl__nomem() : tkl__exec_on(node, &request, deadline, &reply);
    tkl__buf_free(&wire);
    if (rc != TKL_OK)
        return rc;
    rc = tkl_reply_code(reply);
    tkl_reply_free(reply);
    return rc;
}

/* Reads the reply. *reply is NULL when it does not arrive in time. */
static int take_reply(tkl__conn *conn, int64_t deadline, tkl_reply **reply)
{
    int rc;
    do
        rc = tkl__conn_try_receive(conn, reply);
    while (rc == TKL_OK && !*reply &&
           tkl__stream_poll(conn->stream.fd, POLLIN, deadline) == TKL_OK);
    return rc;
}

/* Ends the wait of an interrupted command and reads its reply: the item or nil. Closing the
 * connection would end the wait too, but would lose an item that is on its way: the server has
 * already removed it from the list. Asks the server repeatedly, because it may not have read the
 * command yet. A server that does not answer until the deadline may have lost an item. */
static int unblock_server(tkl__node *node, tkl__conn *conn, int64_t deadline, tkl_reply **reply)
{
    int rc = conn->id > 0 ? TKL_OK : TKL_EREFUSED;
    while (rc == TKL_OK && !*reply && tkl__left(deadline) > 0) {
        rc = ask_to_unblock(node, conn->id, deadline);
        if (rc == TKL_OK)
            rc = take_reply(conn, tkl__deadline_ms(UNBLOCK_MS), reply);
    }
    if (*reply && !tkl_reply_is_nil(*reply))
        return TKL_OK;
    conn->broken |= !*reply;
    tkl_reply_free(*reply);
    *reply = NULL;
    return tkl__interrupted();
}

/* *nothing: no part of a reply arrived. */
static int send_and_block(tkl_client *client, tkl__node *node, tkl__conn *conn,
                          const tkl__blocking *command, bool asking, int64_t end, bool *nothing,
                          tkl_reply **reply)
{
    sending r;
    int64_t deadline = send_deadline(timeout_of(client, command), end);
    sending_make(&r, conn, command, asking, end);
    int rc = r.wire.failed
                 ? tkl__nomem()
                 : tkl__conn_send(conn, (tkl_bytes){r.wire.data, r.wire.len}, deadline, NULL);
    tkl__buf_free(&r.wire);
    if (rc == TKL_OK)
        rc = read_preface(&r, conn, deadline);
    if (rc == TKL_OK)
        rc = await_reply(client, node, conn, reply_deadline(timeout_of(client, command), end),
                         reply);
    *nothing = !conn->midway;
    if (rc != TKL_EINTR)
        return rc;
    return unblock_server(node, conn, tkl__deadline_ms(timeout_of(client, command)), reply);
}

static int try_on(tkl_client *client, tkl__node *node, const tkl__blocking *command, bool asking,
                  int64_t end, bool *nothing, tkl_reply **reply)
{
    tkl__conn *conn;
    int64_t deadline =
        tkl__borrow_deadline(client, send_deadline(timeout_of(client, command), end));
    tkl__heed_interrupt(client);
    int rc = tkl__node_borrow_apart(node, deadline, &conn);
    if (tkl__unheed_interrupt(client) && rc != TKL_OK)
        return tkl__interrupted();
    if (rc != TKL_OK)
        return rc;
    rc = send_and_block(client, node, conn, command, asking, end, nothing, reply);
    tkl__node_return_apart(node, conn);
    return rc;
}

int tkl__block(tkl_client *client, const tkl__blocking *command, int64_t end, tkl_reply **reply)
{
    tkl__node *asked = NULL; /* the node that an ASK redirected to */
    bool doubted = false;    /* an earlier attempt may have been executed */
    *reply = NULL;
    for (int attempt = 0;; attempt++) {
        if (tkl__is_interrupted(client)) {
            tkl__node_unref(asked);
            return tkl__interrupted();
        }
        int64_t began = tkl__now();
        bool nothing = false;
        tkl__node *node = asked;
        int rc = TKL_OK;
        tkl__heed_interrupt(client);
        if (!node)
            rc = client->route->pick(client, command->slot,
                                     send_deadline(timeout_of(client, command), end), &node);
        if (tkl__unheed_interrupt(client) && rc != TKL_OK)
            rc = tkl__interrupted();
        if (rc == TKL_OK)
            rc = try_on(client, node, command, asked != NULL, end, &nothing, reply);
        tkl__outcome outcome = tkl__judge(client, node, rc, *reply, nothing);
        if (outcome.again)
            tkl__tell_retry(client, node, rc, *reply);
        tkl__node_unref(node);
        asked = outcome.other;
        doubted |= tkl_is_unknown(rc);
        if (tkl__now() - began > WENT_WELL_US)
            attempt = 0;
        if (!outcome.again || !tkl__pause(attempt, outcome.at_once, end)) {
            tkl__node_unref(asked);
            rc = rc == TKL_OK ? tkl__check(reply) : rc;
            return doubted ? tkl__in_doubt(rc) : rc;
        }
        tkl_reply_free(*reply);
        *reply = NULL;
    }
}
