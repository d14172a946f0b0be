/* SPDX-License-Identifier: MIT */
#include "support/cluster.h"

#include "support/test.h"

#define SETTLE_MS 60000 /* a loaded machine under a sanitizer is slow, not broken */
#define SLOTS     16384

/* ---- A server's own view ------------------------------------------------- */

void cluster_id(server *s, char id[41])
{
    char *text = server_ask(s, "CLUSTER MYID");
    snprintf(id, 41, "%s", text);
    free(text);
}

/* The row of a server in its own CLUSTER NODES: id, address, flags, master, ping, pong, epoch,
 * link, slots... */
static char *own_line(server *s)
{
    char *text = server_ask(s, "CLUSTER NODES");
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strstr(line, "myself")) {
            line = strdup(line);
            free(text);
            return line;
        }
    fail_msg("CLUSTER NODES without myself: %s", text);
    return NULL;
}

static bool in_range(const char *word, int slot)
{
    int first, last;
    int found = sscanf(word, "%d-%d", &first, &last);
    return (found == 1 && slot == first) || (found == 2 && slot >= first && slot <= last);
}

static bool serves(server *s, int slot)
{
    char *line = own_line(s);
    char *rest = line;
    bool found = false;
    for (int column = 0; rest != NULL; column++) {
        const char *word = strsep(&rest, " ");
        if (column == 2 && !strstr(word, "master"))
            break;
        found |= column >= 8 && *word != '[' && in_range(word, slot);
    }
    free(line);
    return found;
}

static bool follows(server *s, const char *master_id)
{
    char *line = own_line(s);
    char *flags = test_format("slave %s", master_id);
    bool found = strstr(line, flags) != NULL;
    free(flags);
    free(line);
    return found;
}

server *cluster_owner(cluster *c, int slot)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (c->servers[i]->pid != 0 && serves(c->servers[i], slot))
            return c->servers[i];
    return NULL;
}

static bool is_master(server *s)
{
    char *role = server_ask(s, "ROLE");
    bool master = strncmp(role, "master", 6) == 0;
    free(role);
    return master;
}

server *cluster_other(cluster *c, int slot)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (c->servers[i]->pid != 0 && is_master(c->servers[i]) && !serves(c->servers[i], slot))
            return c->servers[i];
    fail_msg("no other master than that of slot %d", slot);
    return NULL;
}

server *cluster_replica(cluster *c, server *master)
{
    char id[41];
    cluster_id(master, id);
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (c->servers[i]->pid != 0 && follows(c->servers[i], id))
            return c->servers[i];
    fail_msg("%s has no replica", master->tcp_url);
    return NULL;
}

/* ---- Waiting until all agree --------------------------------------------- */

static bool answer_has(server *s, const char *command, const char *part)
{
    char *text = server_ask(s, command);
    bool found = strstr(text, part) != NULL;
    free(text);
    return found;
}

/* Whether a server sees all others and no failure, and is linked with its master or its replica. */
static bool content(server *s)
{
    if (!answer_has(s, "CLUSTER INFO", "cluster_state:ok") ||
        !answer_has(s, "CLUSTER INFO", "cluster_known_nodes:6") ||
        answer_has(s, "CLUSTER NODES", "fail") || answer_has(s, "CLUSTER NODES", "handshake"))
        return false;
    return is_master(s) ? answer_has(s, "INFO replication", "state=online")
                        : answer_has(s, "INFO replication", "master_link_status:up");
}

/* The columns of a row that all servers show alike: id and slots. Slots that are being moved stand
 * at the end in brackets, and only in a server's own row. */
static char *served_by(char *line)
{
    char *moving = strstr(line, " [");
    if (moving != NULL)
        *moving = '\0';
    const char *slots = line;
    for (int column = 0; column < 8 && slots != NULL; column++)
        slots = strchr(slots + 1, ' ');
    return test_format("%.40s%s", line, slots != NULL ? slots : "");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The owners of all slots, as one server sees them. */
static char *view_of(server *s)
{
    char *lines[2 * CLUSTER_SIZE];
    size_t count = 0;
    char *text = server_ask(s, "CLUSTER NODES");
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strstr(line, "master") && count < 2 * CLUSTER_SIZE)
            lines[count++] = served_by(line);
    free(text);
    qsort(lines, count, sizeof(lines[0]), compare_texts);

    char *view = strdup("");
    for (size_t i = 0; i < count; i++) {
        char *longer = test_format("%s%s\n", view, lines[i]);
        free(view);
        free(lines[i]);
        view = longer;
    }
    return view;
}

static bool settled(cluster *c)
{
    char *first = view_of(c->servers[0]);
    bool same = true;
    for (int i = 0; same && i < CLUSTER_SIZE; i++) {
        char *view = view_of(c->servers[i]);
        same = strcmp(view, first) == 0 && content(c->servers[i]);
        free(view);
    }
    free(first);
    return same;
}

void cluster_heal(cluster *c)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (c->servers[i]->pid == 0)
            server_restart(c->servers[i]);
    eventually(settled(c), SETTLE_MS);
}

/* ---- Starting a cluster -------------------------------------------------- */

static server *start_member(bool tls)
{
    const char *config[] = {
        "cluster-enabled yes",
        "cluster-config-file nodes.conf",
        "cluster-node-timeout 1000",
        "cluster-replica-validity-factor 0",
        "cluster-allow-replica-migration no",
        "repl-diskless-sync-delay 0",
        /* Commands that no client can know. */
        "rename-command substr piece-of",
        "rename-command sdiff less-the-others",
        tls ? "tls-cluster yes" : NULL,
        "tls-replication yes",
        NULL,
    };
    return server_start(&(server_options){.config = config, .tcp = true, .tls = tls});
}

static int client_port(const server *s)
{
    return s->tls_port != 0 ? s->tls_port : s->port;
}

static bool acquainted(cluster *c)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (!answer_has(c->servers[i], "CLUSTER INFO", "cluster_known_nodes:6") ||
            answer_has(c->servers[i], "CLUSTER NODES", "handshake"))
            return false;
    return true;
}

/* Introduces each server to each other one, since waiting for gossip takes longer. A server forgets
 * a handshake that takes too long, as on a busy machine. */
static bool introduce(cluster *c)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        for (int k = 0; k < i; k++)
            server_do(c->servers[i], "CLUSTER MEET 127.0.0.1 %d", client_port(c->servers[k]));
    for (int64_t until = test_now_ms() + 3000; test_now_ms() < until; test_sleep_ms(5))
        if (acquainted(c))
            return true;
    return false;
}

static void share_out_slots(cluster *c)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_do(c->servers[i], "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
    for (int i = 0; i < CLUSTER_MASTERS; i++)
        server_do(c->servers[i], "CLUSTER ADDSLOTSRANGE %d %d", i * SLOTS / CLUSTER_MASTERS,
                  (i + 1) * SLOTS / CLUSTER_MASTERS - 1);
}

static void make_replica(server *replica, server *master)
{
    char id[41];
    cluster_id(master, id);
    char *command = test_format("CLUSTER REPLICATE %s", id);
    eventually(answer_has(replica, command, "OK"), SETTLE_MS);
    free(command);
}

static void write_cluster_url(cluster *c, bool tls)
{
    int len = snprintf(c->url, sizeof(c->url), "redis%s+cluster://", tls ? "s" : "");
    for (int i = 0; i < CLUSTER_SIZE; i++)
        len += snprintf(c->url + len, sizeof(c->url) - (size_t)len, "%s127.0.0.1:%d",
                        i > 0 ? "," : "", client_port(c->servers[i]));
}

cluster *cluster_start(bool tls)
{
    cluster *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    for (int i = 0; i < CLUSTER_SIZE; i++)
        c->servers[i] = start_member(tls);
    write_cluster_url(c, tls);
    share_out_slots(c);
    eventually(introduce(c), SETTLE_MS);
    for (int i = CLUSTER_MASTERS; i < CLUSTER_SIZE; i++)
        make_replica(c->servers[i], c->servers[i - CLUSTER_MASTERS]);
    cluster_heal(c);
    return c;
}

void cluster_end(cluster *c)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_end(c->servers[i]);
    free(c);
}

/* ---- Joining ------------------------------------------------------------- */

server *cluster_join(cluster *c)
{
    server *joined = start_member(false);
    char id[41];
    cluster_id(joined, id);
    server_do(joined, "CLUSTER MEET 127.0.0.1 %d", c->servers[0]->port);
    for (int i = 0; i < CLUSTER_SIZE; i++)
        for (bool known = false; !known; test_sleep_ms(5)) {
            char *nodes = server_ask(c->servers[i], "CLUSTER NODES"), *line = strstr(nodes, id);
            known = line && !strstr(line, "handshake");
            free(nodes);
        }
    return joined;
}

void cluster_part(cluster *c, server *joined)
{
    char id[41];
    cluster_id(joined, id);
    server_end(joined);
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_do(c->servers[i], "CLUSTER FORGET %s", id);
}

/* ---- Failing over -------------------------------------------------------- */

/* Tries one failover, which the servers give up after five seconds when their link breaks. */
static bool promote(cluster *c, server *replica, int slot)
{
    server_do(replica, "CLUSTER FAILOVER");
    for (int64_t until = test_now_ms() + 6000; test_now_ms() < until; test_sleep_ms(5))
        if (cluster_owner(c, slot) == replica)
            return true;
    return false;
}

void cluster_fail_over(cluster *c, int slot)
{
    server *replica = cluster_replica(c, cluster_owner(c, slot));
    eventually(promote(c, replica, slot), SETTLE_MS);
}

/* ---- Moving slots -------------------------------------------------------- */

void cluster_move_begin(server *from, server *to, int slot)
{
    char from_id[41], to_id[41];
    cluster_id(from, from_id);
    cluster_id(to, to_id);
    server_do(to, "CLUSTER SETSLOT %d IMPORTING %s", slot, from_id);
    server_do(from, "CLUSTER SETSLOT %d MIGRATING %s", slot, to_id);
}

void cluster_move_keys(server *from, server *to, int slot, int count)
{
    for (int moved = 0; moved < count; moved++) {
        char *key = server_ask(from, "CLUSTER GETKEYSINSLOT %d 1", slot);
        key[strcspn(key, "\n")] = '\0';
        bool any = *key != '\0';
        if (any)
            server_do(from, "MIGRATE 127.0.0.1 %d %s 0 10000", to->port, key);
        free(key);
        if (!any)
            return;
    }
}

static int64_t epoch(server *s, const char *which)
{
    char *info = server_ask(s, "CLUSTER INFO");
    const char *found = strstr(info, which);
    int64_t number = found != NULL ? strtoll(found + strlen(which), NULL, 10) : -1;
    free(info);
    return number;
}

static bool knows_all_epochs(cluster *c, server *s)
{
    int64_t known = epoch(s, "cluster_current_epoch:");
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (c->servers[i]->pid != 0 && epoch(c->servers[i], "cluster_my_epoch:") > known)
            return false;
    return true;
}

/* Waits until the new owner knows the latest epoch: a server that takes a slot over gives itself
 * the next epoch. With an older one it would lose the slot again, and two servers would each say
 * for ever that the other has it. */
void cluster_move_end(cluster *c, server *to, int slot)
{
    char id[41];
    cluster_id(to, id);
    eventually(knows_all_epochs(c, to), SETTLE_MS);
    server_do(to, "CLUSTER SETSLOT %d NODE %s", slot, id);
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (c->servers[i]->pid != 0 && c->servers[i] != to && is_master(c->servers[i]))
            server_do(c->servers[i], "CLUSTER SETSLOT %d NODE %s", slot, id);
}

/* ---- Sentinels ----------------------------------------------------------- */

static server *start_data(const server *master)
{
    char *replicaof = master ? test_format("replicaof 127.0.0.1 %d", master->port) : NULL;
    const char *config[] = {"repl-diskless-sync-delay 0", "repl-timeout 5", replicaof, NULL};
    server *s = server_start(&(server_options){.config = config, .tcp = true});
    free(replicaof);
    return s;
}

static server *start_watcher(const server *master)
{
    char *monitor = test_format("sentinel monitor " SENTINEL_NAME " 127.0.0.1 %d 2", master->port);
    const char *config[] = {
        monitor,
        "sentinel down-after-milliseconds " SENTINEL_NAME " 500",
        "sentinel failover-timeout " SENTINEL_NAME " 4000",
        "sentinel parallel-syncs " SENTINEL_NAME " 2",
        NULL,
    };
    server *s = server_start(&(server_options){.config = config, .tcp = true, .sentinel = true});
    free(monitor);
    /* By default Sentinels look every ten seconds, and do nothing for half a minute after they were
     * stopped. */
    server_do(s, "SENTINEL DEBUG info-period 200 publish-period 200 ping-period 100 "
                 "ask-period 100 slave-reconf-timeout 1000 tilt-trigger 60000");
    return s;
}

/* The port of the master as one Sentinel sees it. */
static int64_t named_port(server *watcher)
{
    char *answer = server_ask(watcher, "SENTINEL GET-MASTER-ADDR-BY-NAME " SENTINEL_NAME);
    const char *port = strchr(answer, '\n');
    int64_t number = port != NULL ? strtoll(port, NULL, 10) : 0;
    free(answer);
    return number;
}

server *sentinels_master(sentinels *trio)
{
    int64_t port = named_port(trio->watchers[0]);
    for (int i = 1; i < 3; i++)
        if (named_port(trio->watchers[i]) != port)
            return NULL;
    for (int i = 0; i < 3; i++)
        if (trio->data[i]->port == port && trio->data[i]->pid != 0 && is_master(trio->data[i]))
            return trio->data[i];
    return NULL;
}

/* How often a field has this value in a reply of names and values on lines of their own. */
static int fields(const char *reply, const char *name, const char *value)
{
    char *line = test_format("\n%s\n%s\n", name, value);
    int count = 0;
    for (const char *at = reply; (at = strstr(at, line)) != NULL; at++)
        count++;
    free(line);
    return count;
}

static bool watcher_content(server *watcher)
{
    char *master = server_ask(watcher, "SENTINEL MASTER " SENTINEL_NAME);
    char *replicas = server_ask(watcher, "SENTINEL REPLICAS " SENTINEL_NAME);
    bool good = fields(master, "flags", "master") == 1 && fields(master, "num-slaves", "2") == 1 &&
                fields(master, "num-other-sentinels", "2") == 1 &&
                fields(replicas, "flags", "slave") == 2 &&
                fields(replicas, "master-link-status", "ok") == 2;
    free(master);
    free(replicas);
    return good;
}

static bool all_watchers_content(sentinels *trio)
{
    server *master = sentinels_master(trio);
    if (master == NULL || server_info(master, "connected_slaves") != 2)
        return false;
    for (int i = 0; i < 3; i++)
        if (!watcher_content(trio->watchers[i]))
            return false;
    return true;
}

void sentinels_heal(sentinels *trio)
{
    for (int i = 0; i < 3; i++)
        if (trio->data[i]->pid == 0)
            server_restart(trio->data[i]);
    eventually(all_watchers_content(trio), SETTLE_MS);
}

static bool other_master(sentinels *trio, const server *than, int64_t ms)
{
    for (int64_t until = test_now_ms() + ms; test_now_ms() < until; test_sleep_ms(5)) {
        const server *master = sentinels_master(trio);
        if (master != NULL && master != than)
            return true;
    }
    return false;
}

/* Tries one failover, which the Sentinels give up when the replica is too slow. */
static bool try_fail_over(sentinels *trio, const server *old)
{
    free(server_ask(trio->watchers[0], "SENTINEL FAILOVER " SENTINEL_NAME));
    return other_master(trio, old, 8000);
}

void sentinels_fail_over(sentinels *trio)
{
    const server *old = sentinels_master(trio);
    eventually(try_fail_over(trio, old), SETTLE_MS);
}

/* Waits for twice as long as usual: the Sentinels may need several attempts. */
void sentinels_await_other(sentinels *trio, const server *than)
{
    assert_true(other_master(trio, than, 2 * SETTLE_MS));
}

sentinels *sentinels_start(void)
{
    sentinels *trio = calloc(1, sizeof(*trio));
    assert_non_null(trio);
    for (int i = 0; i < 3; i++)
        trio->data[i] = start_data(i > 0 ? trio->data[0] : NULL);
    for (int i = 0; i < 3; i++)
        trio->watchers[i] = start_watcher(trio->data[0]);
    snprintf(trio->url, sizeof(trio->url),
             "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/" SENTINEL_NAME,
             trio->watchers[0]->port, trio->watchers[1]->port, trio->watchers[2]->port);
    sentinels_heal(trio);
    return trio;
}

void sentinels_end(sentinels *trio)
{
    for (int i = 0; i < 3; i++) {
        server_end(trio->watchers[i]);
        server_end(trio->data[i]);
    }
    free(trio);
}
