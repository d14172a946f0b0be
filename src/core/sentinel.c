/* SPDX-License-Identifier: MIT
 *
 * The route of a master watched by Sentinels.
 *
 * The client asks the Sentinels of the URL for the master, one after the other, and checks the
 * answer with the server itself: around a failover, Sentinels may name a server that is a replica,
 * or dead. The answer is kept until a call finds that this server cannot be reached or has become a
 * replica. Then the server is not used before the Sentinels have been asked: a master that died may
 * be back, still as a master, while another one has taken over, and writes to it would be lost.
 * Only when no Sentinel answers does the client go on with the master it knows.
 *
 * A planned failover promotes a replica and lets the old master take writes for ten seconds more:
 * all of them are lost. So the client listens to the Sentinel that named the master (lookout.h).
 * When that Sentinel announces that the master is replaced, the client asks the Sentinels before
 * the next request, and waiters listen at the new master. The Sentinel needs about a second to see
 * that the promotion has happened. The new master does not know what the old one granted in that
 * second: all leases are renewed at once, so that their holders find out.
 *
 * Sentinels are asked over separate connections. They get neither the user and password nor the
 * database of the master. The question and the subscription are sent together, so that nothing can
 * happen between the two.
 */
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/keeper.h"
#include "core/lookout.h"
#include "core/refresh.h"
#include "core/resp.h"
#include "core/waiter.h"

#define READ_EVERY_US 100000  /* least time between two reads of the lookout by callers */
#define POST_EVERY_US 5000000 /* least time between two attempts to replace a lost lookout */
#define POST_US       300000  /* longest delay of the caller that replaces it */
#define HEED_US       1000000 /* longest time that a waiter spends on finding the new master */

typedef struct sentinel {
    tkl__refresh refresh;
    tkl__node *master; /* a reference; NULL: not known */
    bool doubted;      /* the Sentinels must be asked again */
    tkl__lookout lookout;
    int64_t post_at; /* when a new lookout may be tried, if there is none */
} sentinel;

static sentinel *sentinel_of(const tkl_client *client)
{
    return client->route_state;
}

/* ---- Asking a Sentinel --------------------------------------------------- */

/* Asks for the master, and subscribes to announcements of failovers. */
static int send_question(const tkl_client *client, tkl__conn *conn, int64_t deadline)
{
    const char *words[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", client->target.master};
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_command(&wire, 3, words, NULL);
    tkl__lookout_subscribe(&wire);
    int rc = wire.failed ? tkl__nomem()
                         : tkl__conn_send(conn, (tkl_bytes){wire.data, wire.len}, deadline, NULL);
    tkl__buf_free(&wire);
    return rc;
}

/* Reads the reply to GET-MASTER-ADDR-BY-NAME: [host, port], or nil. *conn: to the Sentinel. */
static int ask_sentinel(const tkl_client *client, const tkl__addr *addr, int64_t deadline,
                        tkl_reply **answer, tkl__conn **conn)
{
    tkl__target target = client->target;
    target.username = NULL;
    target.password = NULL;
    target.db = 0;

    *answer = NULL;
    int rc = tkl__conn_dial(&target, addr, client->tls, deadline, conn);
    if (rc == TKL_OK)
        rc = send_question(client, *conn, deadline);
    if (rc == TKL_OK)
        rc = tkl__conn_receive(*conn, deadline, answer);
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

/* TKL_NOTFOUND when this Sentinel knows no master of that name. *conn: to the Sentinel. */
static int named_by(tkl_client *client, const tkl__addr *from, int64_t deadline, tkl__node **node,
                    tkl__conn **conn)
{
    tkl_reply *answer;
    int rc = ask_sentinel(client, from, deadline, &answer, conn);
    if (rc == TKL_OK)
        rc = read_answer(client, from, answer, node);
    tkl_reply_free(answer);
    return rc;
}

/* ---- Checking the answer ------------------------------------------------- */

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

/* Takes over the reference. Idle connections to the old master lead to the wrong server, so they
 * are closed. */
static void install_master(tkl_client *client, tkl__node *master)
{
    sentinel *s = sentinel_of(client);

    tkl__client_lock(client);
    tkl__node *old = s->master;
    s->master = master;
    s->doubted = false;
    tkl__client_unlock(client);

    if (old && old != master) {
        tkl__node_flush(old);
        tkl__hubs_reroute(client);
        tkl__keep_now(client);
    }
    tkl__node_unref(old);
}

/* Whether `node` is the master and not in doubt; NULL: whether there is such a master. */
static bool is_trusted(tkl_client *client, const tkl__node *node)
{
    const sentinel *s = sentinel_of(client);
    tkl__client_lock(client);
    bool trusted = s->master && !s->doubted && (!node || node == s->master);
    tkl__client_unlock(client);
    return trusted;
}

/* Trusts the known master again, because no Sentinel answers. False when no master is known. */
static bool trust_master(tkl_client *client)
{
    sentinel *s = sentinel_of(client);
    tkl__client_lock(client);
    s->doubted = false;
    bool known = s->master != NULL;
    tkl__client_unlock(client);
    return known;
}

/* Asks one Sentinel and checks its answer. *refused is the last server that this search found not
 * to be a master, with a reference. */
static int try_sentinel(tkl_client *client, const tkl__addr *from, int64_t deadline,
                        tkl__node **refused)
{
    tkl__node *node = NULL;
    tkl__conn *conn = NULL;
    int rc = named_by(client, from, deadline, &node, &conn);
    if (rc == TKL_OK && node == *refused)
        rc = TKL_ENOTSENT; /* the reason was recorded when it was refused */
    else if (rc == TKL_OK && !is_trusted(client, node))
        rc = check_role(node, deadline);
    if (rc == TKL_OK) {
        install_master(client, node);
        tkl__lookout_post(client, &sentinel_of(client)->lookout, conn);
        return TKL_OK;
    }
    tkl__conn_close(conn);
    if (node) {
        tkl__node_unref(*refused);
        *refused = node;
    }
    return rc;
}

/* Asks all Sentinels until one leads to a master. A Sentinel that does not know the name counts
 * only when none of them names a server: it may have lost its configuration. A caller that has a
 * good master, and only looks for a Sentinel to listen to, is not delayed for long. */
static int find_master(tkl_client *client, int64_t deadline)
{
    const tkl__target *target = &client->target;
    tkl_error failure = {0};
    tkl__node *refused = NULL;
    bool stranger = false;
    uint32_t start;
    int rc = TKL_ENOTSENT;

    bool calm = is_trusted(client, NULL);
    if (calm && tkl__left(deadline) > POST_US)
        deadline = tkl__now() + POST_US;
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
    if (!named && (calm || !stranger) && trust_master(client))
        return TKL_OK;
    if (stranger && !named)
        return tkl__fail(TKL_EINVAL, "no sentinel knows master '%s'", target->master);
    return tkl__first_tell(&failure);
}

/* ---- The route ----------------------------------------------------------- */

static bool have_master(tkl_client *client, int slot)
{
    (void)slot;
    return sentinel_of(client)->master != NULL && !sentinel_of(client)->doubted;
}

/* With the mutex, which is released meanwhile. */
static void read_lookout(tkl_client *client)
{
    sentinel *s = sentinel_of(client);
    if (tkl__lookout_read(client, &s->lookout))
        s->refresh.stale = s->doubted = true;
    if (s->master && !tkl__lookout_stands(client, &s->lookout) && tkl__now() >= s->post_at) {
        s->refresh.stale = true;
        s->post_at = tkl__now() + POST_EVERY_US;
    }
}

static int sentinel_pick(tkl_client *client, int slot, int64_t deadline, tkl__node **node)
{
    sentinel *s = sentinel_of(client);
    *node = NULL;

    tkl__client_lock(client);
    if (tkl__now() - s->lookout.read_at >= READ_EVERY_US)
        read_lookout(client);
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

static int sentinel_lookout(tkl_client *client)
{
    return sentinel_of(client)->lookout.file;
}

static void sentinel_heed(tkl_client *client)
{
    sentinel *s = sentinel_of(client);
    tkl__client_lock(client);
    read_lookout(client);
    if (s->refresh.stale)
        (void)tkl__refresh_ensure(client, &s->refresh, TKL__NO_SLOT, tkl__now() + HEED_US);
    tkl__client_unlock(client);
}

static void sentinel_close(tkl_client *client)
{
    sentinel *s = sentinel_of(client);
    tkl__lookout_close(client, &s->lookout);
    tkl__node_unref(s->master);
    tkl__refresh_free(client, &s->refresh);
    free(s);
}

static const tkl__route route_sentinel = {
    .pick = sentinel_pick,
    .suspect = sentinel_suspect,
    .serves = sentinel_serves,
    .lookout = sentinel_lookout,
    .heed = sentinel_heed,
    .close = sentinel_close,
    .wary = true,
};

int tkl__sentinel_open(tkl_client *client)
{
    sentinel *s = calloc(1, sizeof *s);
    if (!s)
        return tkl__nomem();
    tkl__refresh_init(&s->refresh, have_master, find_master);
    tkl__lookout_init(&s->lookout);
    client->route = &route_sentinel;
    client->route_state = s;
    return TKL_OK;
}
