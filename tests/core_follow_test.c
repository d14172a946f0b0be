/* SPDX-License-Identifier: MIT
 *
 * Waiters follow the master of their channel, also when the old one hangs instead of dying, and
 * leave nothing behind.
 *
 * ctest: label threads
 */
#include "core/clock.h"
#include "core/hub.h"
#include "core/resp.h"
#include "support/call.h"
#include "support/cluster.h"

#define PATIENCE_MS 60000 /* for events that must come, also on a busy machine */
#define BEAT_US     300000

static int64_t in(int64_t ms)
{
    return tkl__deadline_ms(ms);
}

static tkl_client *open_client(const char *url)
{
    tkl_client *client = test_open(url, &(tkl_options){.timeout_ms = 1000});
    client->heartbeat_us = BEAT_US;
    return client;
}

/* Listens again after a cut, as often as needed, as components do. */
static void listen_again(tkl_client *client, const char *channel, tkl__waiter *waiter)
{
    tkl__unlisten(waiter);
    eventually(tkl__listen(client, tkl_str(channel), tkl_str(""), in(1000), waiter) == TKL_OK,
               PATIENCE_MS);
}

/* Publishes messages on `master` until the waiter hears one. */
static void hear_from(tkl_client *client, server *master, const char *channel, tkl__waiter *waiter)
{
    int64_t until = test_now_ms() + PATIENCE_MS;
    for (;;) {
        tkl_bytes message;
        free(server_ask(master, "SPUBLISH %s hello", channel));
        tkl__event event = tkl__await(waiter, in(100), &message);
        if (event == TKL__MESSAGE)
            return;
        if (event == TKL__CUT)
            listen_again(client, channel, waiter);
        if (test_now_ms() > until)
            fail_msg("nothing was heard from the new master");
    }
}

/* Whether a server is a master. It must not be frozen. */
static bool is_master(server *s)
{
    char *role = server_ask(s, "ROLE");
    bool master = strncmp(role, "master", 6) == 0;
    free(role);
    return master;
}

static int64_t subscribers(server *s)
{
    char *list = server_ask(s, "CLIENT LIST TYPE pubsub");
    int64_t count = 0;
    for (const char *at = list; (at = strstr(at, "name=tackle")); at++)
        count++;
    free(list);
    return count;
}

/* The permissions that docs/client.md lists, and two commands. */
#define PERMISSIONS "~* resetchannels &tackle:* +get +set +spublish +ssubscribe +sunsubscribe"

static void use_permissions(const char *url, server *const *servers, int count, const char *more)
{
    for (int i = 0; i < count; i++) {
        char *command = test_format("ACL SETUSER app on >secret " PERMISSIONS " %s", more);
        server_do(servers[i], command);
        free(command);
    }
    tkl_client *client = test_open(url, &(tkl_options){.username = "app", .password = "secret"});
    tkl__waiter waiter;
    tkl_bytes message;
    client->heartbeat_us = 1000000;
    call_expect(client, "OK", "SET", "key", "1", NULL);
    call_expect(client, "1", "GET", "key", NULL);
    assert_ok(tkl__listen(client, tkl_str("tackle:x"), tkl_str(""), in(PATIENCE_MS), &waiter));
    assert_int_equal(tkl__await(&waiter, in(1500), &message), TKL__TIME_UP);
    assert_ok(call_code(client, NULL, "SPUBLISH", "tackle:x", "hello", NULL));
    assert_int_equal(tkl__await(&waiter, in(PATIENCE_MS), &message), TKL__MESSAGE);
    tkl__unlisten(&waiter);
    tkl_close(client);
}

/* ---- A cluster ----------------------------------------------------------- */

static int start_cluster(void **state)
{
    *state = cluster_start(false);
    return 0;
}

static int end_cluster(void **state)
{
    cluster_end(*state);
    return 0;
}

static server *await_other_owner(cluster *c, int slot, const server *old)
{
    server *owner = NULL;
    eventually((owner = cluster_owner(c, slot)) && owner != old, PATIENCE_MS);
    return owner;
}

static void waiters_follow_after_a_master_hangs(void **state)
{
    cluster *c = *state;
    cluster_heal(c);
    int slot = tkl__slot_of(tkl_str("channel"));
    server *old = cluster_owner(c, slot), *owner = cluster_replica(c, old);
    tkl_client *client = open_client(c->url);
    tkl__waiter waiter = {.hub = NULL};
    listen_again(client, "channel", &waiter);
    server_freeze(old);
    eventually(is_master(owner), PATIENCE_MS);
    hear_from(client, owner, "channel", &waiter);
    server_thaw(old);
    eventually(subscribers(old) == 0, PATIENCE_MS);
    assert_int_equal(subscribers(owner), 1);
    tkl__unlisten(&waiter);
    tkl_close(client);
}

static void subscriptions_to_nodes_that_serve_nothing_are_closed(void **state)
{
    cluster *c = *state;
    int slot = tkl__slot_of(tkl_str("channel"));
    tkl_client *client = open_client(c->url);
    tkl__waiter waiter = {.hub = NULL};
    for (int i = 0; i < 3; i++) {
        cluster_heal(c);
        server *old = cluster_owner(c, slot);
        listen_again(client, "channel", &waiter);
        cluster_fail_over(c, slot);
        hear_from(client, await_other_owner(c, slot, old), "channel", &waiter);
        int hubs = 0;
        for (tkl__hub *hub = client->hubs; hub; hub = hub->next)
            hubs++;
        assert_int_equal(hubs, 1);
    }
    tkl__unlisten(&waiter);
    tkl_close(client);
}

/* The old node answers, but is not the one to listen to: another call has learned that. */
static void a_channel_that_lives_elsewhere_is_a_cut(void **state)
{
    cluster *c = *state;
    cluster_heal(c);
    int slot = tkl__slot_of(tkl_str("channel"));
    tkl_client *client = open_client(c->url);
    tkl__waiter waiter = {.hub = NULL};
    tkl_bytes message;
    listen_again(client, "channel", &waiter);
    client->route->moved(client, slot, "127.0.0.1", cluster_other(c, slot)->port);
    assert_int_equal(tkl__await(&waiter, in(PATIENCE_MS), &message), TKL__CUT);
    tkl__unlisten(&waiter);
    tkl_close(client);
}

static void the_permissions_of_the_page_suffice_in_a_cluster(void **state)
{
    cluster *c = *state;
    cluster_heal(c);
    use_permissions(c->url, c->servers, CLUSTER_SIZE, "+cluster|slots");
}

/* ---- Sentinels ----------------------------------------------------------- */

/* The master that all Sentinels name; a frozen server cannot be asked. */
static server *named_by_all(sentinels *trio)
{
    for (int i = 0; i < 3; i++) {
        int votes = 0;
        char *port = test_format("\n%d", trio->data[i]->port);
        for (int w = 0; w < 3; w++) {
            char *named =
                server_ask(trio->watchers[w], "SENTINEL GET-MASTER-ADDR-BY-NAME " SENTINEL_NAME);
            votes += strstr(named, port) != NULL;
            free(named);
        }
        free(port);
        if (votes == 3)
            return trio->data[i];
    }
    return NULL;
}

static void waiters_follow_the_master_of_the_sentinels(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    sentinels_heal(trio);
    use_permissions(trio->url, trio->data, 3, "+role");
    server *old = sentinels_master(trio);
    tkl_client *client = open_client(trio->url);
    tkl__waiter waiter = {.hub = NULL};
    listen_again(client, "channel", &waiter);
    server_freeze(old);
    server *owner = NULL;
    eventually((owner = named_by_all(trio)) != old && owner, PATIENCE_MS);
    hear_from(client, owner, "channel", &waiter);
    server_thaw(old);
    tkl__unlisten(&waiter);
    tkl_close(client);
    sentinels_end(trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiters_follow_after_a_master_hangs),
        cmocka_unit_test(subscriptions_to_nodes_that_serve_nothing_are_closed),
        cmocka_unit_test(a_channel_that_lives_elsewhere_is_a_cut),
        cmocka_unit_test(the_permissions_of_the_page_suffice_in_a_cluster),
        cmocka_unit_test(waiters_follow_the_master_of_the_sentinels),
    };
    return cmocka_run_group_tests(tests, start_cluster, end_cluster);
}
