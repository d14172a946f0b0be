/* SPDX-License-Identifier: MIT
 *
 * The route of a master watched by Sentinels.
 *
 * Who the master is, is asked of the Sentinels of the URL, one after the other, and checked with
 * the server itself: for some moments around a failover Sentinels may name a server that is
 * a replica, or dead. The answer is kept until a call finds that this server cannot be reached or
 * has become a replica. Then it is not used before the Sentinels have been asked: a master that
 * died may be back, as the master that it was, while another one has taken over; what is written to
 * it then is lost. Only when no Sentinel answers does the client go on with what it knows.
 *
 * Sentinels are asked over connections made for the one question: it is rare, and their user,
 * password and database are not those of the master. They get neither.
 */
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/refresh.h"
#include "core/resp.h"

typedef struct sentinel {
    tkl__refresh refresh;
    tkl__node *master; /* a reference; NULL: not known */
    bool doubted;      /* to be asked for again */
} sentinel;

static sentinel *sentinel_of(const tkl_client *client)
{
    return client->route_state;
}

/* ---- Asking a Sentinel --------------------------------------------------- */

/* The reply to GET-MASTER-ADDR-BY-NAME: [host, port], or nil. */
static int ask_sentinel(const tkl_client *client, const tkl__addr *addr, int64_t deadline,
                        tkl_reply **answer)
{
    tkl__target target = client->target;
    target.username = NULL;
    target.password = NULL;
    target.db = 0;

    tkl__conn *conn;
    *answer = NULL;
    int rc = tkl__conn_dial(&target, addr, client->tls, deadline, &conn);
    if (rc == TKL_OK)
        rc = tkl__conn_command(conn, deadline, answer, "SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                               target.master, NULL);
    tkl__conn_close(conn);
    if (rc == TKL_OK)
        rc = tkl__check(answer);
    return rc == TKL_OK ? rc : tkl__fail_in(rc, "sentinel %s:%d", addr->host, addr->port);
}

static int read_answer(tkl_client *client, const tkl__addr *from, const tkl_reply *answer,
                       tkl__node **node)
{
    int64_t port = tkl_reply_int(tkl_reply_at(answer, 1));
    if (tkl_reply_is_nil(answer))
        return TKL_NOTFOUND;
    if (port <= 0 || port > 65535)
        return tkl__fail(TKL_EPROTO, "sentinel %s:%d gave an answer that makes no sense",
                         from->host, from->port);

    *node = tkl__node_get(client, tkl_reply_str(tkl_reply_at(answer, 0)), (int)port);
    return *node ? TKL_OK : tkl__nomem();
}

/* TKL_NOTFOUND when this Sentinel knows no master of that name. */
static int named_by(tkl_client *client, const tkl__addr *from, int64_t deadline, tkl__node **node)
{
    tkl_reply *answer;
    int rc = ask_sentinel(client, from, deadline, &answer);
    if (rc == TKL_OK)
        rc = read_answer(client, from, answer, node);
    tkl_reply_free(answer);
    return rc;
}

/* ---- Checking what it said ----------------------------------------------- */

static int check_role(tkl__node *node, int64_t deadline)
{
    const tkl__addr *addr = tkl__node_addr(node);
    tkl__conn *conn;
    int rc = tkl__node_borrow(node, deadline, &conn);
    if (rc != TKL_OK)
        return rc;

    tkl_reply *role;
    rc = tkl__conn_command(conn, deadline, &role, "ROLE", NULL);
    tkl__node_return(node, conn);
    if (rc == TKL_OK)
        rc = tkl__check(&role);
    if (rc == TKL_OK && strcmp(tkl_reply_str(tkl_reply_at(role, 0)), "master") != 0)
        rc = tkl__fail(TKL_ENOTSENT, "%s:%d, named by the sentinels, is no master", addr->host,
                       addr->port);
    tkl_reply_free(role);
    return rc;
}

/* ---- Finding the master -------------------------------------------------- */

/* Takes over the reference. Idle connections to the old master lead to the wrong server. */
static void install(tkl_client *client, tkl__node *master)
{
    sentinel *s = sentinel_of(client);

    tkl__client_lock(client);
    tkl__node *old = s->master;
    s->master = master;
    s->doubted = false;
    tkl__client_unlock(client);

    if (old && old != master)
        tkl__node_flush(old);
    tkl__node_unref(old);
}

/* One Sentinel's word, checked. `refused` is the server that this search has found to be no master
 * already, with a reference. */
static int try_sentinel(tkl_client *client, const tkl__addr *from, int64_t deadline,
                        tkl__node **refused)
{
    tkl__node *node = NULL;
    int rc = named_by(client, from, deadline, &node);
    if (rc != TKL_OK)
        return rc;
    if (node == *refused) {
        tkl__node_unref(node);
        return TKL_ENOTSENT; /* for the reason recorded when it was refused */
    }

    rc = check_role(node, deadline);
    if (rc == TKL_OK) {
        install(client, node);
        return TKL_OK;
    }
    tkl__node_unref(*refused);
    *refused = node;
    return rc;
}

static void trust(tkl_client *client)
{
    tkl__client_lock(client);
    sentinel_of(client)->doubted = false;
    tkl__client_unlock(client);
}

/* Asks all Sentinels until one leads to a master. A Sentinel that does not know the name counts
 * only when none of them names a server: it may have lost its configuration. */
static int find_master(tkl_client *client, int64_t deadline)
{
    const tkl__target *target = &client->target;
    tkl__failure failure = {0};
    tkl__node *refused = NULL;
    bool stranger = false;
    uint32_t start;
    int rc = TKL_ENOTSENT;

    tkl__random(&start, sizeof start); /* so that clients spread */
    for (size_t i = 0; i < target->naddrs && rc != TKL_OK; i++) {
        const tkl__addr *from = &target->addrs[(start + i) % target->naddrs];
        int64_t until = tkl__refresh_slice(deadline, target->naddrs - 1 - i);
        rc = try_sentinel(client, from, until, &refused);
        stranger |= rc == TKL_NOTFOUND;
        if (rc < 0)
            tkl__failure_note(&failure, rc);
    }
    bool named = refused != NULL;
    tkl__node_unref(refused);

    if (rc == TKL_OK)
        return TKL_OK;
    if (!stranger && !named)
        trust(client);
    if (stranger && !named)
        return tkl__fail(TKL_EINVAL, "no sentinel knows master \"%s\"", target->master);
    return tkl__failure_tell(&failure);
}

/* ---- The route ----------------------------------------------------------- */

static bool have_master(tkl_client *client, int slot)
{
    (void)slot;
    return sentinel_of(client)->master != NULL && !sentinel_of(client)->doubted;
}

static int sentinel_pick(tkl_client *client, int slot, int64_t deadline, tkl__node **node)
{
    sentinel *s = sentinel_of(client);
    *node = NULL;

    tkl__client_lock(client);
    int rc = tkl__refresh_ensure(client, &s->refresh, slot, deadline);
    if (rc == TKL_OK)
        *node = tkl__node_ref(s->master);
    tkl__client_unlock(client);
    return rc;
}

static void sentinel_suspect(tkl_client *client, tkl__node *node)
{
    sentinel *s = sentinel_of(client);

    tkl__client_lock(client);
    if (node == s->master)
        s->refresh.stale = s->doubted = true;
    tkl__client_unlock(client);
}

static bool sentinel_serves(tkl_client *client, int slot, const tkl__node *node)
{
    (void)slot;
    tkl__client_lock(client);
    bool serves = node == sentinel_of(client)->master;
    tkl__client_unlock(client);
    return serves;
}

static void sentinel_close(tkl_client *client)
{
    sentinel *s = sentinel_of(client);
    tkl__node_unref(s->master);
    tkl__refresh_free(client, &s->refresh);
    free(s);
}

const tkl__route tkl__route_sentinel = {
    .pick = sentinel_pick,
    .suspect = sentinel_suspect,
    .serves = sentinel_serves,
    .close = sentinel_close,
    .wary = true,
};

int tkl__sentinel_open(tkl_client *client)
{
    sentinel *s = calloc(1, sizeof *s);
    if (!s)
        return tkl__nomem();
    tkl__refresh_init(&s->refresh, have_master, find_master);
    client->route = &tkl__route_sentinel;
    client->route_state = s;
    return TKL_OK;
}
