/* SPDX-License-Identifier: MIT
 *
 * Many requests at once. They are handled in rounds. A round takes one node: all requests for it
 * are written in one go and their replies are read. Requests that the node turned down as "not
 * here" or "not now" are retried one by one. Requests that did not reach it stay for the next
 * round, after the others. As long as other nodes have requests left, a node may use half of the
 * time that is left.
 *
 * Nodes are served one after the other, never two at a time: a thread that held one connection
 * while waiting for another could wait for a thread that does the same.
 */
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/lenient.h"
#include "core/library.h"
#include "core/register.h"
#include "core/reply.h"
#include "core/report.h"

/* ---- A batch of requests ------------------------------------------------- */

typedef struct batch {
    tkl_client *client;
    const tkl__request *requests;
    const tkl__ahead *ahead; /* NULL: all requests are built */
    int64_t deadline;
    tkl_reply *replies; /* NULL elements are not done yet */
    size_t *open;       /* indices of the requests that are not done, in order */
    size_t nopen;
    size_t *group; /* indices of the requests that go to the round's node */
    size_t ngroup;
    bool *doubted;               /* per request: an earlier attempt may have executed it */
    const tkl__library *loaded;  /* in this round, by the first call that needed it */
    const tkl__library *missing; /* loaded in an earlier round, at `missing_at` */
    const tkl__node *missing_at;
    int failure;      /* code of the first failure */
    size_t failed_at; /* index of the request that failed first */
} batch;

static void settle_reply(batch *b, size_t index, tkl_reply *reply)
{
    if (b->doubted[index])
        tkl__doubt(&b->requests[index], reply);
    tkl__reply_put(b->replies, index, reply);
}

static void settle_failure(batch *b, size_t index, int rc)
{
    tkl_reply *reply = tkl__reply_new_error(rc, tkl_errmsg());
    if (reply)
        settle_reply(b, index, reply);
    if (b->failure == TKL_OK) {
        b->failure = reply ? tkl_reply_code(reply) : rc;
        b->failed_at = index;
    }
}

/* Collects the open requests that go to the same node as the first of them. */
static int choose_group(batch *b, tkl__node **node)
{
    tkl_client *client = b->client;
    int rc = client->route->pick(client, b->requests[b->open[0]].slot, b->deadline, node);
    b->ngroup = 0;
    for (size_t i = 0; rc == TKL_OK && i < b->nopen; i++) {
        tkl__node *other = *node;
        if (client->route->cluster) {
            rc = client->route->pick(client, b->requests[b->open[i]].slot, b->deadline, &other);
            if (rc == TKL_OK)
                tkl__node_unref(other);
        }
        if (rc == TKL_OK && other == *node)
            b->group[b->ngroup++] = b->open[i];
    }
    if (rc != TKL_OK)
        b->ngroup = 0;
    return rc;
}

/* The bytes of a part of the group: in place when they are contiguous, else copied together. */
static tkl_bytes group_wire(const batch *b, size_t from, size_t to, tkl__buf *copy)
{
    tkl_bytes run = b->requests[b->group[from]].wire;
    for (size_t i = from + 1; i < to; i++) {
        tkl_bytes wire = b->requests[b->group[i]].wire;
        if (copy->len == 0 && run.data + run.len == wire.data) {
            run.len += wire.len;
            continue;
        }
        if (copy->len == 0)
            tkl__buf_add(copy, run.data, run.len);
        tkl__buf_add(copy, wire.data, wire.len);
    }
    return copy->len > 0 ? (tkl_bytes){copy->data, copy->len} : run;
}

/* A request of the group failed, which had time until `until`. It stays open when a retry can
 * help. */
static void group_failed(batch *b, tkl__node *node, size_t index, int rc, int64_t until)
{
    tkl__outcome outcome = tkl__judge(b->client, node, rc, NULL, b->requests[index].retry_safe);
    outcome.again &= !tkl__lenient_gives_up(b->client, node, until);
    if (!outcome.again || tkl__left(b->deadline) == 0)
        settle_failure(b, index, rc);
    else
        tkl__tell_retry(b->client, node, rc, NULL);
    b->doubted[index] |= tkl_is_unknown(rc);
}

/* Whether the call stays open for the next round, when the server does not have its function. The
 * first such call is retried by itself and loads the library. Those after it stay open, so that
 * their order is kept. If the server lacks the function in the next round, too, it refuses to load:
 * then every call is retried by itself, and none is sent again and again. */
static bool is_left_open(batch *b, const tkl__node *node, const tkl__request *request)
{
    const tkl__library *library = request->script->library;
    if (b->missing == library && b->missing_at == node)
        return false;
    if (b->loaded == library)
        return true;
    b->loaded = library;
    return false;
}

/* Keeps the reply, or retries the request by itself when this node turned it down. */
static void group_answered(batch *b, tkl__node *node, size_t index, tkl_reply *reply)
{
    tkl__request request = b->requests[index];
    tkl__outcome outcome = tkl__judge(b->client, node, TKL_OK, reply, request.retry_safe);
    tkl__node_unref(outcome.other);
    bool unknown = request.script && tkl__is_unknown_function(reply);
    if (unknown && is_left_open(b, node, &request)) {
        tkl_reply_free(reply);
        return;
    }
    if (outcome.again || unknown) {
        tkl__tell_retry(b->client, node, TKL_OK, reply);
        tkl_reply_free(reply);
        request.doubted = b->doubted[index];
        int rc = tkl__exec(b->client, &request, b->deadline, &reply);
        if (rc != TKL_OK) {
            settle_failure(b, index, rc);
            return;
        }
    }
    settle_reply(b, index, reply);
}

static void make_others(batch *b)
{
    if (b->ahead)
        b->ahead->make(b->ahead->arg);
    b->ahead = NULL;
}

/* Builds and sends the requests that were not built when the first ones were sent. */
static void send_others(batch *b, tkl__conn *conn, size_t *written)
{
    tkl__buf unused;
    size_t more = 0, from = b->ahead->ready;
    make_others(b);
    if (from == b->ngroup || conn->broken)
        return;
    tkl__buf_init(&unused);
    tkl__conn_send(conn, group_wire(b, from, b->ngroup, &unused), b->deadline, &more);
    *written += more;
}

/* Reads the replies to the first `written` bytes of the group. */
static int read_replies(batch *b, tkl__node *node, tkl__conn *conn, size_t written,
                        int64_t deadline, tkl_reply **replies)
{
    size_t end = 0;
    for (size_t i = 0; i < b->ngroup; i++) {
        const tkl__request *request = &b->requests[b->group[i]];
        end += request->wire.len;
        if (end > written)
            return TKL_ENOTSENT;
        int rc = tkl__await_reply(b->client, node, conn, request->slot, deadline, &replies[i]);
        if (rc != TKL_OK)
            return rc;
    }
    return TKL_OK;
}

/* Handles the replies, which had time until `until`. Requests without one may have been executed if
 * they were written in full (`rc`); the others were not executed (`unsent`). */
static void sort_out(batch *b, tkl__node *node, size_t written, int rc, int unsent, int64_t until,
                     tkl_reply **replies)
{
    size_t end = 0;
    for (size_t i = 0; i < b->ngroup; i++) {
        end += b->requests[b->group[i]].wire.len;
        if (replies[i])
            group_answered(b, node, b->group[i], replies[i]);
        else
            group_failed(b, node, b->group[i], end > written ? unsent : rc, until);
    }
}

/* A node that does not answer must not use up the time of the others. */
static int64_t group_deadline(const batch *b)
{
    int64_t left = tkl__left(b->deadline);
    return b->ngroup < b->nopen && left != TKL__FOREVER ? tkl__now() + left / 2 : b->deadline;
}

/* Announces the names of the group to the register, in front of it. */
static int announce_names(const batch *b, const tkl__node *node, tkl__conn *conn, int64_t deadline)
{
    size_t built = b->ahead ? b->ahead->ready : b->ngroup;
    unsigned count = 0;
    tkl__buf wire;
    tkl__buf_init(&wire);
    for (size_t i = 0; i < built; i++)
        count += tkl__register_write(b->client, node, &b->requests[b->group[i]], &wire);
    int rc = tkl__register_send(conn, &wire, count, deadline);
    tkl__buf_free(&wire);
    return rc;
}

static int serve_group(batch *b, tkl__node *node)
{
    tkl__conn *conn;
    tkl__buf copy;
    size_t written = 0;
    tkl_reply **replies = calloc(b->ngroup, sizeof(tkl_reply *));
    if (!replies)
        return tkl__nomem();
    tkl__buf_init(&copy);
    tkl_bytes wire = group_wire(b, 0, b->ahead ? b->ahead->ready : b->ngroup, &copy);
    int64_t deadline = tkl__lenient_deadline(b->client, node, group_deadline(b));
    int rc = copy.failed ? tkl__nomem()
                         : tkl__node_borrow(node, tkl__borrow_deadline(b->client, deadline), &conn);
    int unsent = rc != TKL_OK ? rc : TKL_ENOTSENT;
    deadline = tkl__turn_by(deadline, tkl__now());
    if (rc == TKL_OK) {
        if (announce_names(b, node, conn, deadline) == TKL_OK)
            tkl__conn_send(conn, wire, deadline, &written);
        if (b->ahead)
            send_others(b, conn, &written);
        tkl__reader_collect(conn->reader, b->replies);
        rc = read_replies(b, node, conn, written, deadline, replies);
        tkl__reader_collect(conn->reader, NULL);
        tkl__node_return(node, conn);
    }
    tkl__buf_free(&copy);
    make_others(b);
    b->loaded = NULL;
    sort_out(b, node, written, rc, unsent, deadline, replies);
    if (b->loaded) {
        b->missing = b->loaded;
        b->missing_at = node;
    }
    free(replies);
    return TKL_OK;
}

static bool is_done(const batch *b, size_t index)
{
    return tkl_reply_at(b->replies, index) != NULL;
}

/* Removes the requests that are done. The rest of the round's node comes last, so that the other
 * nodes do not wait for it. */
static void drop_done(batch *b)
{
    size_t n = 0, late = 0;
    for (size_t i = 0, g = 0; i < b->nopen; i++) {
        bool served = g < b->ngroup && b->group[g] == b->open[i];
        g += served;
        if (is_done(b, b->open[i]))
            continue;
        if (served)
            b->group[late++] = b->open[i];
        else
            b->open[n++] = b->open[i];
    }
    memcpy(&b->open[n], b->group, late * sizeof *b->open);
    b->nopen = n + late;
}

/* The requests of the group fail: the view does without their node. */
static void skip_group(batch *b, const tkl__node *node)
{
    for (size_t i = 0; i < b->ngroup; i++)
        settle_failure(b, b->group[i], tkl__lenient_fail(node));
}

static void fail_open(batch *b, int rc)
{
    for (size_t i = 0; i < b->nopen; i++)
        settle_failure(b, b->open[i], rc);
    b->nopen = 0;
}

/* Runs one round. Returns whether to pause before the next one. */
static bool round_trip(batch *b)
{
    tkl__node *node = NULL;
    size_t before = b->nopen;
    int rc = choose_group(b, &node);
    if (rc == TKL_OK && tkl__lenient_skips(node))
        skip_group(b, node);
    else if (rc == TKL_OK)
        rc = serve_group(b, node);
    tkl__node_unref(node);
    drop_done(b);
    bool hopeless = rc != TKL_OK && (rc != TKL_ENOTSENT || !b->client->reached);
    if (hopeless)
        fail_open(b, rc);
    return rc != TKL_OK || b->nopen == before;
}

static void work_off(batch *b)
{
    for (int stuck = 0; b->nopen > 0;) {
        if (!round_trip(b))
            stuck = 0;
        else if (b->nopen > 0 && !tkl__pause(stuck++, false, b->deadline))
            fail_open(b, TKL_ENOTSENT);
    }
}

int tkl__exec_many(tkl_client *client, const tkl__request *requests, size_t count, int64_t deadline,
                   tkl_reply **replies)
{
    return tkl__exec_many_ahead(client, requests, count, NULL, deadline, replies);
}

int tkl__exec_many_ahead(tkl_client *client, const tkl__request *requests, size_t count,
                         const tkl__ahead *ahead, int64_t deadline, tkl_reply **replies)
{
    batch b = {.client = client,
               .requests = requests,
               .ahead = ahead,
               .deadline = deadline,
               .nopen = count};
    tkl__begin();
    if (client->route->cluster) /* the node of each request must be known first */
        make_others(&b);
    *replies = b.replies = tkl__reply_new_array(count);
    b.open = malloc((count + 1) * sizeof *b.open);
    b.group = malloc((count + 1) * sizeof *b.group);
    b.doubted = malloc((count + 1) * sizeof *b.doubted);
    if (!b.replies || !b.open || !b.group || !b.doubted) {
        tkl_reply_free(b.replies);
        *replies = NULL;
        b.failure = tkl__nomem();
    } else {
        for (size_t i = 0; i < count; i++) {
            b.open[i] = i;
            bool made = !b.ahead || i < b.ahead->ready;
            b.doubted[i] = made && requests[i].doubted;
        }
        work_off(&b);
        if (b.failure != TKL_OK)
            tkl__fail(b.failure, "%s", tkl_reply_str(tkl_reply_at(b.replies, b.failed_at)));
    }
    free(b.open);
    free(b.group);
    free(b.doubted);
    return b.failure;
}
