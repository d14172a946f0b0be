/* SPDX-License-Identifier: MIT */
#include "core/call.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/command.h"
#include "core/error.h"
#include "core/lenient.h"
#include "core/library.h"
#include "core/number.h"
#include "core/options.h"
#include "core/refresh.h"
#include "core/register.h"
#include "core/reply.h"
#include "core/report.h"
#include "core/resp.h"

/* How long a call waits for a connection to one node when there are other nodes. */
#define NODE_SLICE_US 300000
/* The longest pause between two attempts of one call. */
#define PAUSE_MAX_US 100000
/* With less time left than this, no further attempt is made: it would turn a clear error into an
 * unknown outcome. */
#define TRY_MIN_US 2000
/* Redirections followed without a pause. More of them mean that slots are moving right now. */
#define HOPS_AT_ONCE 4

/* A call that has no reply after this time, and again after twice that time and so on, asks the
 * route for the master: the server may hang, and another one may be the master by now. */
#define LOOK_AROUND_US 1000000

#define ASKING "*1\r\n$6\r\nASKING\r\n"

/* ---- The outcome of an attempt ------------------------------------------- */

static tkl__node *follow_redirection(tkl_client *client, tkl__node *node, tkl_bytes text,
                                     bool moved)
{
    int slot, port;
    char host[256];
    if (!client->route->moved || !tkl__parse_redirect(text, &slot, host, &port))
        return NULL;
    const char *to = *host ? host : tkl__node_addr(node)->host;
    if (moved)
        client->route->moved(client, slot, to, port);
    return tkl__node_get(client, to, port);
}

/* READONLY: another server behind the same address may be the master by now. */
static tkl__outcome judge_demoted(tkl_client *client, tkl__node *node)
{
    client->route->suspect(client, node);
    tkl__node_flush(node);
    return (tkl__outcome){.again = client->route != &tkl__route_standalone};
}

static tkl__outcome judge_reply(tkl_client *client, tkl__node *node, const tkl_reply *reply)
{
    tkl_bytes text = tkl_reply_bytes(reply);
    tkl__node *to;
    switch (tkl__error_verdict(text)) {
    case TKL__MOVED:
        to = follow_redirection(client, node, text, true);
        tkl__node_unref(to);
        return (tkl__outcome){.again = to != NULL, .at_once = true};
    case TKL__ASK:
        to = follow_redirection(client, node, text, false);
        return (tkl__outcome){.again = to != NULL, .at_once = true, .other = to};
    case TKL__AGAIN:
        client->route->suspect(client, node);
        return (tkl__outcome){.again = true};
    case TKL__DEMOTED:
        return judge_demoted(client, node);
    case TKL__FINAL:
        break;
    }
    return (tkl__outcome){.again = false};
}

tkl__outcome tkl__judge(tkl_client *client, tkl__node *node, int rc, const tkl_reply *reply,
                        bool retry_safe)
{
    if (rc == TKL_OK)
        return tkl_reply_type_of(reply) == TKL_REPLY_ERROR ? judge_reply(client, node, reply)
                                                           : (tkl__outcome){.again = false};
    if (node && (rc == TKL_ENOTSENT || rc == TKL_EUNKNOWN || rc == TKL_ETIMEOUT))
        client->route->suspect(client, node);
    bool harmless = rc == TKL_ENOTSENT || (rc == TKL_EUNKNOWN && retry_safe);
    return (tkl__outcome){.again = harmless && client->reached};
}

int64_t tkl__borrow_deadline(const tkl_client *client, int64_t deadline)
{
    if (client->route == &tkl__route_standalone || tkl__lenient_is_on(client))
        return deadline;
    int64_t slice = tkl__now() + NODE_SLICE_US;
    return slice < deadline ? slice : deadline;
}

bool tkl__pause(int attempt, bool at_once, int64_t deadline)
{
    if (!at_once || attempt >= HOPS_AT_ONCE) {
        int64_t until = tkl__now() + tkl__backoff(attempt, PAUSE_MAX_US);
        tkl__sleep_until(until < deadline ? until : deadline);
    }
    return tkl__left(deadline) > TRY_MIN_US;
}

/* ---- One request --------------------------------------------------------- */

/* Whether another server serves the slot by now. */
static bool is_replaced(tkl_client *client, tkl__node *node, int slot, int64_t deadline)
{
    int64_t until = tkl__now() + LOOK_AROUND_US;
    tkl__node *server;
    client->route->suspect(client, node);
    if (client->route->pick(client, slot, until < deadline ? until : deadline, &server) != TKL_OK)
        return false;
    tkl__node_unref(server);
    return !client->route->serves(client, slot, node);
}

int tkl__await_reply(tkl_client *client, tkl__node *node, tkl__conn *conn, int slot,
                     int64_t deadline, tkl_reply **reply)
{
    bool follow = client && client->route != &tkl__route_standalone;
    for (int64_t us = LOOK_AROUND_US; follow && us < tkl__left(deadline); us *= 2) {
        int rc = tkl__conn_receive_by(conn, tkl__now() + us, reply);
        if (rc != TKL_OK || *reply)
            return rc;
        if (is_replaced(client, node, slot, deadline))
            return tkl__conn_give_up(conn, TKL_EUNKNOWN, "another server is the master by now");
    }
    return tkl__conn_receive(conn, deadline, reply);
}

/* Reads the reply to a request, behind that to ASKING. */
static int read_reply(tkl_client *client, tkl__node *node, tkl__conn *conn, int slot, bool asking,
                      int64_t deadline, tkl_reply **reply)
{
    if (!asking)
        return tkl__await_reply(client, node, conn, slot, deadline, reply);
    int rc = tkl__conn_receive(conn, deadline, reply);
    tkl_reply_free(*reply);
    *reply = NULL;
    return rc == TKL_OK ? tkl__conn_receive(conn, deadline, reply) : rc;
}

static int exchange(tkl_client *client, tkl__node *node, tkl__conn *conn, tkl_bytes wire, int slot,
                    bool asking, int64_t deadline, tkl_reply **reply)
{
    int rc = TKL_OK;
    if (asking)
        rc = tkl__conn_send(conn, tkl_str(ASKING), deadline, NULL);
    if (rc == TKL_OK)
        rc = tkl__conn_send(conn, wire, deadline, NULL);
    return rc == TKL_OK ? read_reply(client, node, conn, slot, asking, deadline, reply) : rc;
}

/* Loads the library and runs the request. *refusal: why the server did not load it; NULL: it
 * did. */
static int load_and_exchange(tkl_client *client, tkl__node *node, tkl__conn *conn,
                             const tkl__request *request, bool asking, int64_t deadline,
                             tkl_reply **refusal, tkl_reply **reply)
{
    const tkl__library *library = request->script->library;
    tkl__buf both;
    tkl_reply *loaded = NULL;
    tkl__buf_init(&both);
    tkl__library_wire(&both, library);
    if (asking)
        tkl__buf_addz(&both, ASKING);
    tkl__buf_add(&both, request->wire.data, request->wire.len);
    int rc = both.failed ? tkl__nomem()
                         : tkl__conn_send(conn, (tkl_bytes){both.data, both.len}, deadline, NULL);
    tkl__buf_free(&both);
    if (rc == TKL_OK)
        rc = tkl__conn_receive(conn, deadline, &loaded);
    *refusal = loaded ? tkl__library_refusal(loaded, library) : NULL;
    return rc == TKL_OK ? read_reply(client, node, conn, request->slot, asking, deadline, reply)
                        : rc;
}

/* Runs the request with the text of its library, on a server that refused to load it. */
static int exchange_with_source(tkl_client *client, tkl__node *node, tkl__conn *conn,
                                const tkl__request *request, bool asking, int64_t deadline,
                                tkl_reply **reply)
{
    tkl__buf whole;
    tkl__buf_init(&whole);
    tkl__wire_with_source(&whole, request->script, request->wire);
    int rc = whole.failed ? tkl__nomem()
                          : exchange(client, node, conn, (tkl_bytes){whole.data, whole.len},
                                     request->slot, asking, deadline, reply);
    tkl__buf_free(&whole);
    return rc;
}

static bool lacks_function(const tkl__request *request, int rc, const tkl_reply *reply)
{
    return rc == TKL_OK && request->script && tkl__is_unknown_function(reply);
}

/* Announces the name of the request to the register, in front of it. */
static int announce_name(tkl_client *client, const tkl__node *node, tkl__conn *conn,
                         const tkl__request *request, int64_t deadline)
{
    if (request->names_word == 0)
        return TKL_OK;
    tkl__buf wire;
    tkl__buf_init(&wire);
    unsigned count = tkl__register_write(client, node, request, &wire);
    int rc = tkl__register_send(conn, &wire, count, deadline);
    tkl__buf_free(&wire);
    return rc;
}

/* Runs the request. If the server does not have the function, loads the library on the same
 * connection: after a redirection no other way leads to the right server. Another client may remove
 * it again before the request runs, so this is repeated until the deadline.
 *
 * A request whose reply nobody awaited may have failed on this connection for the same reason. It
 * goes first: then the function stays missing here, and the caller comes back. */
static int converse(tkl_client *client, tkl__node *node, tkl__conn *conn,
                    const tkl__request *request, bool asking, int64_t deadline, tkl_reply **reply)
{
    int rc = client && !asking ? announce_name(client, node, conn, request, deadline) : TKL_OK;
    if (rc == TKL_OK)
        rc = exchange(client, node, conn, request->wire, request->slot, asking, deadline, reply);
    for (int attempt = 0; lacks_function(request, rc, *reply) && !conn->failed; attempt++) {
        if (attempt > 0 && !tkl__pause(attempt, true, deadline))
            return rc;
        tkl_reply *refusal;
        tkl_reply_free(*reply);
        *reply = NULL;
        rc = load_and_exchange(client, node, conn, request, asking, deadline, &refusal, reply);
        if (!refusal || !lacks_function(request, rc, *reply)) {
            tkl_reply_free(refusal);
            continue;
        }
        tkl_reply_free(*reply);
        *reply = refusal;
        if (!tkl__runs_when_full(request->script, refusal))
            return TKL_OK;
        tkl_reply_free(refusal);
        *reply = NULL;
        return exchange_with_source(client, node, conn, request, asking, deadline, reply);
    }
    return rc;
}

static int try_on(tkl_client *client, tkl__node *node, const tkl__request *request, bool asking,
                  int64_t borrow_deadline, int64_t deadline, tkl_reply **reply)
{
    for (;;) {
        tkl__conn *conn;
        int rc = tkl__node_borrow(node, borrow_deadline, &conn);
        if (rc != TKL_OK)
            return rc;
        conn->stream.crowded |= request->crowded;
        int64_t end = tkl__turn_by(deadline, tkl__now());
        rc = converse(client, node, conn, request, asking, end, reply);
        bool again = lacks_function(request, rc, *reply) && conn->failed;
        tkl__node_return(node, conn); /* runs what failed before this request */
        if (!again)
            return rc;
        tkl_reply_free(*reply);
        *reply = NULL;
    }
}

int tkl__exec_on(tkl__node *node, const tkl__request *request, int64_t deadline, tkl_reply **reply)
{
    *reply = NULL;
    return try_on(NULL, node, request, false, deadline, deadline, reply);
}

static bool is_tryagain(const tkl_reply *reply)
{
    static const char word[] = "TRYAGAIN";
    return tkl_reply_type_of(reply) == TKL_REPLY_ERROR &&
           strncmp(tkl_reply_str(reply), word, sizeof word - 1) == 0;
}

void tkl__doubt(const tkl__request *request, tkl_reply *reply)
{
    if (tkl_reply_type_of(reply) == TKL_REPLY_ERROR)
        tkl__reply_doubt(reply, request->no_tryagain && is_tryagain(reply));
}

static bool is_redirection(const tkl_reply *reply)
{
    tkl__verdict verdict = tkl_reply_type_of(reply) == TKL_REPLY_ERROR
                               ? tkl__error_verdict(tkl_reply_bytes(reply))
                               : TKL__FINAL;
    return verdict == TKL__MOVED || verdict == TKL__ASK;
}

/* Makes the result of the call out of its attempts: `rc` and the reply are those of the last one.
 * If that one is a redirection to a server that could not be used, the error says why. */
static int conclude_call(const tkl__request *request, bool doubted, const tkl_error *behind, int rc,
                         tkl_reply **reply)
{
    if (rc == TKL_OK && behind->code != TKL_OK && is_redirection(*reply)) {
        rc = tkl__fail(behind->code, "%s, and there: %s", tkl_reply_str(*reply), behind->text);
        tkl_reply_free(*reply);
        *reply = NULL;
    }
    if (doubted && *reply)
        tkl__doubt(request, *reply);
    return doubted ? tkl__in_doubt(rc) : rc;
}

int tkl__exec(tkl_client *client, const tkl__request *request, int64_t deadline, tkl_reply **reply)
{
    tkl__node *asked = NULL;         /* the node that an ASK redirected to */
    bool doubted = request->doubted; /* an earlier attempt may have been executed */
    bool redirected = false;         /* the previous attempt ended in a redirection */
    tkl_error behind;                /* why the target of a redirection could not be used */
    behind.code = TKL_OK;
    *reply = NULL;
    tkl__begin();
    for (int attempt = 0;; attempt++) {
        tkl__node *node = asked;
        int rc = node ? TKL_OK : client->route->pick(client, request->slot, deadline, &node);
        int64_t until = node ? tkl__lenient_deadline(client, node, deadline) : deadline;
        bool skipped = node && tkl__lenient_skips(node);
        if (skipped)
            rc = tkl__lenient_fail(node);
        else if (rc == TKL_OK)
            rc = try_on(client, node, request, asked != NULL, tkl__borrow_deadline(client, until),
                        until, reply);
        if (rc != TKL_OK && redirected)
            tkl__failure_note(&behind, rc);
        if (request->imported)
            *request->imported = asked != NULL;
        redirected = is_redirection(*reply);
        doubted |= tkl_is_unknown(rc);
        tkl__outcome outcome = tkl__judge(client, node, rc, *reply, request->retry_safe);
        if (rc != TKL_OK && node && tkl__lenient_gives_up(client, node, until))
            outcome.again = request->slot == TKL__NO_SLOT && request->retry_safe && !skipped;
        if (outcome.again)
            tkl__tell_retry(client, node, rc, *reply);
        tkl__node_unref(node);
        asked = outcome.other;
        outcome.again &= !(request->no_tryagain && is_tryagain(*reply));
        if (!outcome.again || !tkl__pause(attempt, outcome.at_once, deadline)) {
            tkl__node_unref(asked);
            return conclude_call(request, doubted, &behind, rc, reply);
        }
        tkl_reply_free(*reply);
        *reply = NULL;
    }
}

/* ---- Every master -------------------------------------------------------- */

static tkl_reply *sum_replies(tkl_reply *const *parts, size_t count)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++)
        tkl__add(&total, tkl_reply_int(parts[i]));
    return tkl__reply_new_int(total);
}

static tkl_reply *combine_replies(tkl__fanout fanout, tkl_reply **parts, size_t count)
{
    if (fanout == TKL__ALL_SUM)
        return sum_replies(parts, count);
    if (fanout == TKL__ALL_CONCAT)
        return tkl__reply_join(parts, count);
    tkl_reply *first = parts[0];
    parts[0] = NULL;
    return first;
}

int tkl__shards(tkl_client *client, int64_t deadline, int **slots, size_t *count)
{
    if (client->route->shards)
        return client->route->shards(client, deadline, slots, count);
    *count = 1;
    *slots = malloc(sizeof **slots);
    if (!*slots)
        return tkl__nomem();
    **slots = TKL__NO_SLOT;
    return TKL_OK;
}

static int ask_all(tkl_client *client, const int *slots, size_t count, tkl__request request,
                   int64_t deadline, tkl_reply **parts)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        request.slot = slots[i];
        rc = tkl__exec(client, &request, deadline, &parts[i]);
        if (rc == TKL_OK)
            rc = tkl__check(&parts[i]);
        request.doubted = true; /* one server has executed it, whatever the others answer */
    }
    return rc;
}

static int exec_everywhere(tkl_client *client, const tkl__request *request, tkl__fanout fanout,
                           int64_t deadline, tkl_reply **reply)
{
    int *slots;
    size_t count;
    int rc = tkl__shards(client, deadline, &slots, &count);
    if (rc != TKL_OK)
        return rc;
    tkl_reply **parts = calloc(count, sizeof *parts);
    rc = parts ? ask_all(client, slots, count, *request, deadline, parts) : tkl__nomem();
    if (rc == TKL_OK && !(*reply = combine_replies(fanout, parts, count)))
        rc = tkl__nomem();
    for (size_t i = 0; parts && i < count; i++)
        tkl_reply_free(parts[i]);
    free(parts);
    free(slots);
    return rc;
}

/* ---- The public calls ---------------------------------------------------- */

int tkl__call_check(const tkl_call_options *options)
{
    if (!options)
        return TKL_OK;
    int rc = TKL__CHECK_RESERVED(options);
    return rc == TKL_OK ? tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX) : rc;
}

int64_t tkl__call_deadline(const tkl_client *client, const tkl_call_options *options)
{
    return tkl__deadline(client, options ? options->timeout_ms : 0);
}

int tkl__check(tkl_reply **reply)
{
    int rc = tkl_reply_type_of(*reply) == TKL_REPLY_ERROR ? tkl_reply_code(*reply) : TKL_OK;
    if (rc == TKL_OK)
        return TKL_OK;
    tkl_bytes text = tkl_reply_bytes(*reply);
    const char *hint =
        tkl__error_verdict(text) == TKL__MOVED
            ? " (a cluster in motion, or a cluster whose URL should begin with redis+cluster://)"
            : "";
    tkl__fail(rc, "%s%s", text.data, hint);
    tkl_reply_free(*reply);
    *reply = NULL;
    return rc;
}

static int route_and_exec(tkl_client *client, int argc, const char *const *argv, const size_t *lens,
                          tkl__request *request, int64_t deadline, tkl_reply **reply)
{
    tkl__fanout fanout = TKL__ONE_NODE;
    if (client->route->cluster) {
        int rc = tkl__command_route(client, argc, argv, lens, deadline, &request->slot, &fanout);
        if (rc != TKL_OK)
            return rc;
    }
    return fanout == TKL__ONE_NODE ? tkl__exec(client, request, deadline, reply)
                                   : exec_everywhere(client, request, fanout, deadline, reply);
}

int tkl_call(tkl_client *client, int argc, const char *const *argv, const size_t *lens,
             const tkl_call_options *options, tkl_reply **reply)
{
    tkl_reply *own = NULL;
    if (reply)
        *reply = NULL;
    int rc = tkl__command_check(argc, argv, lens);
    if (rc == TKL_OK)
        rc = tkl__call_check(options);
    if (rc != TKL_OK)
        return rc;
    int64_t deadline = tkl__call_deadline(client, options);
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_command(&wire, argc, argv, lens);
    tkl__request request = {.wire = {wire.data, wire.len},
                            .slot = TKL__NO_SLOT,
                            .retry_safe = options && options->retry_safe};
    rc = wire.failed ? tkl__nomem()
                     : route_and_exec(client, argc, argv, lens, &request, deadline, &own);
    tkl__buf_free(&wire);
    if (rc == TKL_OK)
        rc = tkl__check(&own);
    if (reply)
        *reply = own;
    else
        tkl_reply_free(own);
    return rc;
}

int tkl__words(va_list args, const char **argv, int max)
{
    int argc = 0;
    while (argc < max && (argv[argc] = va_arg(args, const char *)))
        argc++;
    return argc < max ? argc : tkl__fail(TKL_EINVAL, "more than %d words", max - 1);
}

int tkl_callz(tkl_client *client, tkl_reply **reply, ...)
{
    const char *argv[TKL__WORDS_MAX];
    va_list args;
    va_start(args, reply);
    int argc = tkl__words(args, argv, TKL__WORDS_MAX);
    va_end(args);
    if (reply)
        *reply = NULL;
    return argc < 0 ? argc : tkl_call(client, argc, argv, NULL, NULL, reply);
}
