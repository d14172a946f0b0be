/* SPDX-License-Identifier: MIT
 *
 * One server: also the route of the private server.
 */
#include "core/client.h"
#include "core/error.h"

static int pick_node(tkl_client *client, int slot, int64_t deadline, tkl__node **node)
{
    (void)slot;
    (void)deadline;
    *node = tkl__node_ref(client->route_state);
    return TKL_OK;
}

static void suspect_node(tkl_client *client, tkl__node *node)
{
    (void)client;
    (void)node; /* there is no other server to look for */
}

static bool serves_slot(tkl_client *client, int slot, const tkl__node *node)
{
    (void)slot;
    return node == client->route_state;
}

static void close_route(tkl_client *client)
{
    tkl__node_unref(client->route_state);
}

const tkl__route tkl__route_standalone = {
    .pick = pick_node,
    .suspect = suspect_node,
    .serves = serves_slot,
    .close = close_route,
};

int tkl__standalone_open(tkl_client *client)
{
    const tkl__addr *addr = &client->target.addrs[0];
    client->route_state = tkl__node_get(client, addr->host, addr->port);
    if (!client->route_state)
        return tkl__nomem();
    client->route = &tkl__route_standalone;
    return TKL_OK;
}
