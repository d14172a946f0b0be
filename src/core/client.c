/* SPDX-License-Identifier: MIT
 *
 * Opening and closing, and fork().
 *
 * A forked child inherits sockets that the parent still uses, and locks held by threads that do not
 * exist in the child. So fork() waits until no client is locked, and increments the generation in
 * the child. The first thread that locks a client there finds that the generation has changed, and
 * drops all connections.
 */
#include "core/client.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/default.h"
#include "core/error.h"
#include "core/hub.h"
#include "core/keeper.h"
#include "core/nofork.h"
#include "core/register.h"
#include "server/embedded.h"

static pthread_mutex_t clients_mutex = PTHREAD_MUTEX_INITIALIZER;
static tkl_client *clients; /* all open clients */
static unsigned fork_generation;

/* ---- fork ---------------------------------------------------------------- */

static void before_fork(void)
{
    tkl__nofork_lock();
    pthread_mutex_lock(&clients_mutex);
    for (tkl_client *c = clients; c; c = c->next)
        pthread_mutex_lock(&c->mutex);
}

static void unlock_clients(void)
{
    for (tkl_client *c = clients; c; c = c->next)
        pthread_mutex_unlock(&c->mutex);
    pthread_mutex_unlock(&clients_mutex);
}

static void after_fork(void)
{
    unlock_clients();
    tkl__nofork_unlock();
}

static void after_fork_in_child(void)
{
    fork_generation++;
    unlock_clients();
    tkl__nofork_reset();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static void forget_connections(tkl_client *client)
{
    for (tkl__node *node = client->nodes; node; node = tkl__node_next(node))
        tkl__node_forget_locked(node);
    tkl__hubs_forget(client);
    tkl__interrupt_forget(&client->interrupt);
    tkl__keeper_forget(client);
    tkl__random(client->id, sizeof client->id);
    client->generation = fork_generation;
}

void tkl__client_lock(tkl_client *client)
{
    pthread_mutex_lock(&client->mutex);
    if (client->generation != fork_generation)
        forget_connections(client);
}

void tkl__client_unlock(tkl_client *client)
{
    pthread_mutex_unlock(&client->mutex);
}

unsigned tkl__fork_generation(void)
{
    return fork_generation;
}

/* ---- Opening and closing ------------------------------------------------- */

static void enlist_client(tkl_client *client)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&clients_mutex);
    client->generation = fork_generation;
    client->next = clients;
    clients = client;
    pthread_mutex_unlock(&clients_mutex);
}

static void delist_client(tkl_client *client)
{
    pthread_mutex_lock(&clients_mutex);
    for (tkl_client **at = &clients; *at; at = &(*at)->next)
        if (*at == client) {
            *at = client->next;
            break;
        }
    pthread_mutex_unlock(&clients_mutex);
}

/* Starts the private server. From then on it is an ordinary server on a Unix socket. */
static int start_embedded(tkl_client *client)
{
    char path[128];
    int64_t deadline = tkl__deadline_ms(client->target.timeout_ms);
    tkl__addr *addr = calloc(1, sizeof *addr);
    if (!addr)
        return tkl__nomem();
    client->target.addrs = addr;
    int rc = tkl__embedded_start(&client->target, deadline, path, &client->embedded);
    if (rc != TKL_OK)
        return rc;
    addr->host = strdup(path);
    client->target.naddrs = 1;
    return addr->host ? tkl__standalone_open(client) : tkl__nomem();
}

static int open_route(tkl_client *client)
{
    switch (client->target.scheme) {
    case TKL__STANDALONE:
        return tkl__standalone_open(client);
    case TKL__CLUSTER:
        return tkl__cluster_open(client);
    case TKL__SENTINEL:
        return tkl__sentinel_open(client);
    case TKL__EMBEDDED:
        return start_embedded(client);
    }
    return tkl__fail(TKL_EBUG, "no such scheme");
}

/* Opens the server that the environment or a configuration file names. Falling back to a private
 * server would hide that nobody else uses it. */
static int open_default(const tkl_options *options, tkl_client **out)
{
    tkl_options all = options ? *options : (tkl_options){0};
    tkl_default_server *server;
    const char *ns = getenv("TACKLE_NAMESPACE");
    int rc = tkl_default_server_read(&server);
    if (rc != TKL_OK)
        return rc;
    if (!all.ns && ns && *ns)
        all.ns = ns;
    if (server->is_fallback)
        rc = tkl__fail(TKL_EINVAL, "nothing names a server: set TACKLE_URL, or write "
                                   "~/.config/tackle/config or " TKL__SYSTEM_CONFIG);
    else
        rc = tkl_open(server->url, &all, out);
    tkl_default_server_free(server);
    return rc;
}

int tkl_open(const char *url, const tkl_options *options, tkl_client **out)
{
    *out = NULL;
    if (!url)
        return open_default(options, out);
    tkl_client *client = calloc(1, sizeof *client);
    if (!client)
        return tkl__nomem();
    int rc = tkl__target_parse(url, options, &client->target);
    if (rc != TKL_OK) {
        free(client);
        return rc;
    }
    tkl__random(client->id, sizeof client->id);
    pthread_mutex_init(&client->mutex, NULL);
    pthread_mutex_init(&client->hubs_mutex, NULL);
    client->heartbeat_us = TKL__HEARTBEAT_US;
    enlist_client(client);
    rc = tkl__interrupt_open(&client->interrupt);
    if (rc == TKL_OK)
        rc = tkl__register_open(&client->names);
    if (rc == TKL_OK && client->target.tls && !(client->tls = tkl__tls_context(&client->target)))
        rc = TKL_ETLS;
    if (rc == TKL_OK)
        rc = open_route(client);
    if (rc != TKL_OK) {
        tkl_close(client);
        return rc;
    }
    *out = client;
    return TKL_OK;
}

void tkl_close(tkl_client *client)
{
    if (!client)
        return;
    tkl__keeper_stop(client);
    tkl__hubs_close(client);
    if (client->route)
        client->route->close(client);
    delist_client(client);
    tkl__embedded_stop(client->embedded);
    tkl__tls_free(client->tls);
    tkl__interrupt_close(&client->interrupt);
    tkl__register_close(&client->names);
    tkl__target_free(&client->target);
    pthread_mutex_destroy(&client->hubs_mutex);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}
