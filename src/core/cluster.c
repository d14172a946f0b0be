/* SPDX-License-Identifier: MIT
 *
 * The route of a cluster: which server serves a slot.
 *
 * The slot map comes from CLUSTER SLOTS. The client asks healthy servers first, then servers that
 * failed recently, then the seeds of the URL, until one answers. It fetches the map at first use,
 * and again after a hint that the map is outdated: a MOVED (whose slot is corrected at once), a
 * server that cannot be reached, or a slot that no server serves.
 *
 * A map holds a reference to each of its nodes and is replaced as a whole. Callers take their own
 * references under the client's mutex, so a map may be replaced while calls to its nodes are in
 * progress.
 */
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/lenient.h"
#include "core/refresh.h"
#include "core/reply.h"
#include "core/resp.h"
#include "core/waiter.h"

#define SUSPECT_FOR 1000000 /* us during which a server that failed is asked last */
#define SERVERS_MAX 4096    /* in one map: no cluster has more, but a hostile server may claim so */

/* A server of the cluster. */
typedef struct member {
    tkl__node *node;   /* a reference */
    bool master;       /* serves slots */
    int64_t suspected; /* when it last failed; 0: never */
} member;

typedef struct slot_map {
    member *members;
    size_t count;
    int assigned;               /* number of slots assigned so far, while the reply is read */
    uint16_t owner[TKL__SLOTS]; /* index of a member plus 1; 0: no server */
} slot_map;

typedef struct cluster {
    tkl__refresh refresh;
    slot_map *map; /* never NULL */
    size_t turn;   /* counter that spreads requests without a key */
} cluster;

static cluster *cluster_of(const tkl_client *client)
{
    return client->route_state;
}

/* ---- The map ------------------------------------------------------------- */

static slot_map *map_new(void)
{
    return calloc(1, sizeof(slot_map));
}

static void map_free(slot_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->count; i++)
        tkl__node_unref(map->members[i].node);
    free(map->members);
    free(map);
}

static member *map_find(const slot_map *map, const tkl__node *node)
{
    for (size_t i = 0; i < map->count; i++)
        if (map->members[i].node == node)
            return &map->members[i];
    return NULL;
}

/* Finds the member of a node, or adds it. If added, *added is true and the map takes over the
 * caller's reference. NULL: no memory, or too many members. */
static member *map_add(slot_map *map, tkl__node *node, bool *added)
{
    member *found = map_find(map, node);
    *added = !found;
    if (found)
        return found;

    *added = false;
    if (map->count == SERVERS_MAX)
        return NULL;
    if (!tkl__grow(&map->members, map->count, sizeof *map->members))
        return NULL;
    map->members[map->count] = (member){.node = node};
    *added = true;
    return &map->members[map->count++];
}

static void map_assign(slot_map *map, int first, int last, member *owner)
{
    uint16_t id = (uint16_t)(owner - map->members + 1);
    owner->master = true;
    for (int slot = first; slot <= last; slot++)
        map->owner[slot] = id;
}

/* ---- Reading CLUSTER SLOTS ----------------------------------------------- */

/* The host of a server. Nil or empty means the server that we asked. "?" means that the cluster
 * does not know the host name: then the IP address is used. */
static const char *endpoint(const tkl_reply *server, const tkl__node *asked)
{
    const char *host = tkl_reply_str(tkl_reply_at(server, 0));
    if (strcmp(host, "?") == 0)
        host = tkl_reply_str(tkl__reply_field(tkl_reply_at(server, 3), "ip"));
    return *host ? host : tkl__node_addr(asked)->host;
}

/* Server: [host, port, id, metadata]. NULL: no memory, or too many. */
static member *read_server(tkl_client *client, slot_map *map, const tkl__node *asked,
                           const tkl_reply *server)
{
    int port = (int)tkl_reply_int(tkl_reply_at(server, 1));
    tkl__node *node = tkl__node_get(client, endpoint(server, asked), port);
    if (!node)
        return NULL;

    bool added;
    member *found = map_add(map, node, &added);
    if (!added)
        tkl__node_unref(node);
    return found;
}

static int too_many(const slot_map *map)
{
    if (map->count < SERVERS_MAX)
        return tkl__nomem();
    return tkl__fail(TKL_EPROTO, "a CLUSTER SLOTS reply that names more than %d servers",
                     SERVERS_MAX);
}

static int malformed(const tkl__node *asked)
{
    const tkl__addr *addr = tkl__node_addr(asked);
    return tkl__fail(TKL_EPROTO, "%s:%d gave a CLUSTER SLOTS reply that makes no sense", addr->host,
                     addr->port);
}

static bool is_server(const tkl_reply *server)
{
    int64_t port = tkl_reply_int(tkl_reply_at(server, 1));
    return port > 0 && port <= 65535;
}

/* Range: [first slot, last slot, master, replica...]. */
static int read_range(tkl_client *client, slot_map *map, const tkl__node *asked,
                      const tkl_reply *range)
{
    int64_t first = tkl_reply_int(tkl_reply_at(range, 0));
    int64_t last = tkl_reply_int(tkl_reply_at(range, 1));
    if (first < 0 || first > last || last >= TKL__SLOTS || !is_server(tkl_reply_at(range, 2)))
        return malformed(asked);

    map->assigned += (int)(last - first + 1);
    if (map->assigned > TKL__SLOTS)
        return malformed(asked); /* some slot has two masters */
    member *master = read_server(client, map, asked, tkl_reply_at(range, 2));
    if (!master)
        return too_many(map);
    map_assign(map, (int)first, (int)last, master);

    for (size_t i = 3; i < tkl_reply_count(range); i++)
        if (is_server(tkl_reply_at(range, i)) &&
            !read_server(client, map, asked, tkl_reply_at(range, i)))
            return too_many(map);
    return TKL_OK;
}

static int read_map(tkl_client *client, const tkl__node *asked, const tkl_reply *ranges,
                    slot_map *map)
{
    const tkl__addr *addr = tkl__node_addr(asked);
    if (tkl_reply_type_of(ranges) != TKL_REPLY_ARRAY)
        return malformed(asked);
    if (tkl_reply_count(ranges) == 0)
        return tkl__fail(TKL_ENOTSENT, "%s:%d knows no server of the cluster that serves slots",
                         addr->host, addr->port);

    for (size_t i = 0; i < tkl_reply_count(ranges); i++) {
        int rc = read_range(client, map, asked, tkl_reply_at(ranges, i));
        if (rc != TKL_OK)
            return rc;
    }
    return TKL_OK;
}

static int ask_slots(tkl__node *node, int64_t deadline, tkl_reply **slots)
{
    tkl__conn *conn;
    *slots = NULL;
    int rc = tkl__node_borrow(node, deadline, &conn);
    if (rc != TKL_OK)
        return rc;

    const tkl__addr *addr = tkl__node_addr(node);
    rc = tkl__conn_command(conn, deadline, slots, "CLUSTER", "SLOTS", NULL);
    tkl__node_return(node, conn);
    if (rc == TKL_OK)
        rc = tkl__check(slots);
    return rc == TKL_OK ? rc : tkl__fail_in(rc, "CLUSTER SLOTS of %s:%d", addr->host, addr->port);
}

/* ---- Fetching the map ---------------------------------------------------- */

/* A list that holds a reference to each node. */
typedef struct node_list {
    tkl__node **nodes;
    size_t count;
} node_list;

static void list_free(node_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        tkl__node_unref(list->nodes[i]);
    free(list->nodes);
}

static void shuffle_nodes(tkl__node **nodes, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        uint32_t dice;
        tkl__random(&dice, sizeof dice);
        tkl__node *spare = nodes[i - 1];
        nodes[i - 1] = nodes[dice % i];
        nodes[dice % i] = spare;
    }
}

static bool is_suspicious(const member *server)
{
    return (server->suspected > 0 && tkl__now() - server->suspected < SUSPECT_FOR) ||
           tkl__lenient_skips(server->node);
}

/* Adds the members that are suspected, or those that are not. Shuffled, so that clients spread over
 * the servers. */
static void list_members(node_list *list, const slot_map *map, bool suspected)
{
    size_t start = list->count;
    for (size_t i = 0; i < map->count; i++)
        if (is_suspicious(&map->members[i]) == suspected)
            list->nodes[list->count++] = tkl__node_ref(map->members[i].node);
    shuffle_nodes(list->nodes + start, list->count - start);
}

static bool is_listed(const node_list *list, const tkl__node *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->nodes[i] == node)
            return true;
    return false;
}

static void list_seeds(node_list *list, tkl_client *client)
{
    size_t start = list->count;
    for (size_t i = 0; i < client->target.naddrs; i++) {
        const tkl__addr *seed = &client->target.addrs[i];
        tkl__node *node = tkl__node_get(client, seed->host, seed->port);
        if (node && is_listed(list, node))
            tkl__node_unref(node);
        else if (node)
            list->nodes[list->count++] = node;
    }
    shuffle_nodes(list->nodes + start, list->count - start);
}

/* Lists all servers that may know the map, in the order in which to ask them. */
static int list_candidates(tkl_client *client, node_list *list)
{
    tkl__client_lock(client);
    const slot_map *map = cluster_of(client)->map;
    list->nodes = calloc(map->count + client->target.naddrs, sizeof list->nodes[0]);
    if (list->nodes) {
        list_members(list, map, false);
        list_members(list, map, true);
    }
    tkl__client_unlock(client);

    if (!list->nodes)
        return tkl__nomem();
    list_seeds(list, client);
    return TKL_OK;
}

/* Installs the new map. Keeps what the old one knew about the health of its servers. */
static void install_map(tkl_client *client, slot_map *fresh)
{
    tkl__client_lock(client);
    cluster *c = cluster_of(client);
    slot_map *old = c->map;
    for (size_t i = 0; i < fresh->count; i++) {
        const member *before = map_find(old, fresh->members[i].node);
        if (before)
            fresh->members[i].suspected = before->suspected;
    }
    c->map = fresh;
    tkl__client_unlock(client);
    map_free(old);
    tkl__hubs_reroute(client);
}

static int fetch_from(tkl_client *client, tkl__node *node, int64_t deadline)
{
    tkl_reply *slots;
    int rc = ask_slots(node, deadline, &slots);
    if (rc != TKL_OK)
        return rc;

    slot_map *fresh = map_new();
    rc = fresh ? read_map(client, node, slots, fresh) : tkl__nomem();
    tkl_reply_free(slots);
    if (rc == TKL_OK)
        install_map(client, fresh);
    else
        map_free(fresh);
    return rc;
}

static int fetch_map(tkl_client *client, int64_t deadline)
{
    node_list candidates = {0};
    int rc = list_candidates(client, &candidates);
    if (rc != TKL_OK)
        return rc;

    tkl_error failure = {0};
    for (size_t i = 0; i < candidates.count; i++) {
        tkl__node *node = candidates.nodes[i];
        int64_t until = tkl__lenient_deadline(
            client, node, tkl__refresh_slice(deadline, candidates.count - 1 - i));
        rc = fetch_from(client, node, until);
        if (rc == TKL_OK)
            break;
        (void)!tkl__lenient_gives_up(client, node, until);
        tkl__failure_note(&failure, rc);
        if (tkl__left(deadline) == 0)
            break;
    }
    list_free(&candidates);
    return rc == TKL_OK ? TKL_OK : tkl__first_tell(&failure);
}

/* ---- The route ----------------------------------------------------------- */

/* Takes the masters in turn. Masters that failed recently are taken only when there is no other. */
static member *any_master(cluster *c)
{
    member *last_resort = NULL;
    for (size_t i = 0; i < c->map->count; i++) {
        member *candidate = &c->map->members[(c->turn + i) % c->map->count];
        if (candidate->master && !is_suspicious(candidate))
            return candidate;
        if (candidate->master)
            last_resort = candidate;
    }
    return last_resort;
}

static member *owner_of(cluster *c, int slot)
{
    if (slot == TKL__NO_SLOT)
        return any_master(c);
    uint16_t id = c->map->owner[slot];
    return id > 0 ? &c->map->members[id - 1] : NULL;
}

static bool have_owner(tkl_client *client, int slot)
{
    return owner_of(cluster_of(client), slot) != NULL;
}

static int cluster_pick(tkl_client *client, int slot, int64_t deadline, tkl__node **node)
{
    cluster *c = cluster_of(client);
    *node = NULL;

    tkl__client_lock(client);
    c->turn++;
    int rc = tkl__refresh_ensure(client, &c->refresh, slot, deadline);
    if (rc == TKL_OK)
        *node = tkl__node_ref(owner_of(c, slot)->node);
    tkl__client_unlock(client);
    return rc;
}

static void cluster_suspect(tkl_client *client, tkl__node *node)
{
    cluster *c = cluster_of(client);

    tkl__client_lock(client);
    member *found = map_find(c->map, node);
    if (found)
        found->suspected = tkl__now();
    c->refresh.stale = true;
    tkl__client_unlock(client);
}

static bool cluster_serves(tkl_client *client, int slot, const tkl__node *node)
{
    cluster *c = cluster_of(client);
    tkl__client_lock(client);
    const member *found = slot == TKL__NO_SLOT ? map_find(c->map, node) : owner_of(c, slot);
    bool serves = found && found->master && found->node == node;
    tkl__client_unlock(client);
    return serves;
}

static void cluster_moved(tkl_client *client, int slot, const char *host, int port)
{
    cluster *c = cluster_of(client);
    bool added = false;

    tkl__client_lock(client);
    tkl__node *node = tkl__node_get_locked(client, host, port);
    member *owner = node ? map_add(c->map, node, &added) : NULL;
    bool changed = owner && owner_of(c, slot) != owner;
    if (changed)
        map_assign(c->map, slot, slot, owner);
    c->refresh.stale = true;
    tkl__client_unlock(client);

    if (!added)
        tkl__node_unref(node);
    if (changed)
        tkl__hubs_reroute(client);
}

/* Returns the first slot of each member that serves any. */
static int first_slots(const slot_map *map, int **slots, size_t *count)
{
    bool *seen = calloc(map->count, sizeof *seen);
    *slots = calloc(map->count, sizeof **slots);
    for (int slot = 0; seen && *slots && slot < TKL__SLOTS; slot++) {
        uint16_t id = map->owner[slot];
        if (id == 0 || seen[id - 1])
            continue;
        seen[id - 1] = true;
        (*slots)[(*count)++] = slot;
    }
    bool complete = seen && *slots;
    free(seen);
    return complete ? TKL_OK : tkl__nomem();
}

static int cluster_shards(tkl_client *client, int64_t deadline, int **slots, size_t *count)
{
    cluster *c = cluster_of(client);
    *slots = NULL;
    *count = 0;

    tkl__client_lock(client);
    int rc = tkl__refresh_ensure(client, &c->refresh, TKL__NO_SLOT, deadline);
    if (rc == TKL_OK)
        rc = first_slots(c->map, slots, count);
    tkl__client_unlock(client);

    if (rc != TKL_OK) {
        free(*slots);
        *slots = NULL;
    }
    return rc;
}

/* ---- All masters --------------------------------------------------------- */

/* The node of a server in CLUSTER SHARDS, if it is a master that has not failed; else NULL. */
static tkl__node *master_of(tkl_client *client, const tkl__node *asked, const tkl_reply *server)
{
    const char *host = tkl_reply_str(tkl__reply_field(server, "endpoint"));
    int64_t port = tkl_reply_int(tkl__reply_field(server, client->tls ? "tls-port" : "port"));
    if (strcmp(tkl_reply_str(tkl__reply_field(server, "role")), "master") != 0 ||
        strcmp(tkl_reply_str(tkl__reply_field(server, "health")), "fail") == 0 || port < 1 ||
        port > 65535)
        return NULL;
    if (!*host || strcmp(host, "?") == 0)
        host = tkl_reply_str(tkl__reply_field(server, "ip"));
    return tkl__node_get(client, *host ? host : tkl__node_addr(asked)->host, (int)port);
}

static int read_masters(tkl_client *client, const tkl__node *asked, const tkl_reply *shards,
                        node_list *masters)
{
    size_t servers = 0;
    for (size_t i = 0; i < tkl_reply_count(shards); i++)
        servers += tkl_reply_count(tkl__reply_field(tkl_reply_at(shards, i), "nodes"));
    masters->nodes = calloc(servers + 1, sizeof *masters->nodes);
    if (!masters->nodes)
        return tkl__nomem();
    for (size_t i = 0; i < tkl_reply_count(shards); i++) {
        const tkl_reply *nodes = tkl__reply_field(tkl_reply_at(shards, i), "nodes");
        for (size_t j = 0; j < tkl_reply_count(nodes); j++) {
            tkl__node *node = master_of(client, asked, tkl_reply_at(nodes, j));
            if (node)
                masters->nodes[masters->count++] = node;
        }
    }
    return masters->count > 0 ? TKL_OK
                              : tkl__fail(TKL_EPROTO, "a CLUSTER SHARDS reply without masters");
}

/* The slot map has only masters with slots, so this asks for all. */
static int cluster_masters(tkl_client *client, int64_t deadline, tkl__node ***nodes, size_t *count)
{
    static const char wire[] = "*2\r\n$7\r\nCLUSTER\r\n$6\r\nSHARDS\r\n";
    const tkl__request request = {.wire = {wire, sizeof wire - 1}, .slot = TKL__NO_SLOT};
    tkl__node *asked;
    tkl_reply *shards = NULL;
    node_list masters = {0};
    int rc = cluster_pick(client, TKL__NO_SLOT, deadline, &asked);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__exec_on(asked, &request, deadline, &shards);
    if (rc == TKL_OK)
        rc = tkl__check(&shards);
    if (rc == TKL_OK)
        rc = read_masters(client, asked, shards, &masters);
    tkl_reply_free(shards);
    tkl__node_unref(asked);
    if (rc != TKL_OK) {
        list_free(&masters);
        return rc;
    }
    *nodes = masters.nodes;
    *count = masters.count;
    return TKL_OK;
}

static void cluster_close(tkl_client *client)
{
    cluster *c = cluster_of(client);
    map_free(c->map);
    tkl__refresh_free(client, &c->refresh);
    free(c);
}

static const tkl__route route_cluster = {
    .pick = cluster_pick,
    .suspect = cluster_suspect,
    .serves = cluster_serves,
    .moved = cluster_moved,
    .shards = cluster_shards,
    .masters = cluster_masters,
    .close = cluster_close,
    .cluster = true,
};

int tkl__cluster_open(tkl_client *client)
{
    cluster *c = calloc(1, sizeof *c);
    slot_map *map = map_new();
    if (!c || !map) {
        free(c);
        free(map);
        return tkl__nomem();
    }
    c->map = map;
    tkl__refresh_init(&c->refresh, have_owner, fetch_map);
    client->route = &route_cluster;
    client->route_state = c;
    return TKL_OK;
}
