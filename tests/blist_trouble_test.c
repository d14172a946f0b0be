/* SPDX-License-Identifier: MIT
 *
 * Waiting at a plain blocking queue when connections, servers and processes go; TLS, a cluster,
 * Sentinels.
 *
 * ctest: label threads
 */

#include "core/client.h"
#include "support/certs.h"
#include "support/cluster.h"
#include "support/fake.h"
#include "support/fixture.h"
#include "support/lists.h"
#include "support/process.h"
#include "support/proxy.h"

/* ---- Trouble ------------------------------------------------------------- */

static void a_wait_goes_on_when_its_connection_is_killed(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    push_item(list, "before");
    assert_pops(list, 0, "before");
    popper_start(f->server, &p);
    for (int i = 0; i < 3; i++) {
        int64_t received = server_info(f->server, "total_connections_received");
        server_do(f->server, "CLIENT KILL TYPE normal SKIPME yes");
        eventually(server_info(f->server, "total_connections_received") > received &&
                       server_info(f->server, "blocked_clients") == 1,
                   LONG_MS);
    }
    push_item(list, "x");
    popper_got(&p, "x");
    tkl_blist_close(list);
}

static void a_wait_goes_on_when_the_server_is_started_again(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_blist *list = open_list(client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = -1};
    popper_start(s, &p);
    server_kill(s);
    test_sleep_ms(50);
    server_restart(s);
    eventually(server_info(s, "blocked_clients") == 1, LONG_MS);
    push_item(list, "x");
    popper_got(&p, "x");
    tkl_blist_close(list);
    tkl_close(client);
    server_end(s);
}

static void a_server_that_stays_away_is_told_at_the_end_of_the_wait(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 2000});
    tkl_blist *list = open_list(client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = 3000};
    popper_start(s, &p);
    server_kill(s);
    crew_join(p.thread);
    assert_true(p.code == TKL_ENOTSENT || p.code == TKL_EUNKNOWN);
    assert_true(p.took_ms >= 2950);
    tkl_blist_close(list);
    tkl_close(client);
    server_end(s);
}

static void a_server_that_was_never_there_is_told_at_once(void **state)
{
    (void)state;
    tkl_client *client;
    tkl_blist_items *item;
    assert_ok(tkl_open("unix:///nonexistent/socket", NULL, &client));
    tkl_blist *list = open_list(client, "l");
    int64_t start = test_now_ms();
    assert_code(pop_one(list, LONG_MS, &item), TKL_ENOTSENT);
    assert_true(test_now_ms() - start < LONG_MS / 2);
    tkl_blist_close(list);
    tkl_close(client);
}

static void a_silent_server_is_left_after_the_wait_and_the_time_out(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 1000});
    tkl_blist *list = open_list(client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = 2000};
    popper_start(s, &p);
    server_freeze(s);
    crew_join(p.thread);
    assert_code(p.code, TKL_ETIMEOUT);
    assert_true(p.took_ms >= 2950);
    server_thaw(s);
    tkl_blist_close(list);
    tkl_close(client);
    server_end(s);
}

/* A waiter leaves a server that hangs, also while no other thread uses the client. */
static void a_server_that_hangs_is_left_for_the_new_master(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, &(tkl_options){.timeout_ms = 1000});
    client->heartbeat_us = 300000;
    tkl_blist *list = open_list(client, "a");
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", "tackle:blist:{a}", NULL);
    server *old = cluster_owner(c, slot), *owner = cluster_replica(c, old);
    popper p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = (popper){.lists = &list, .count = 1, .wait_ms = -1};
        popper_start(old, &p[i]);
    }
    server_freeze(old);
    eventually(server_info(owner, "blocked_clients") == 3, LONG_MS);
    for (int i = 0; i < 3; i++)
        server_do(owner, "RPUSH tackle:blist:{a} x");
    for (int i = 0; i < 3; i++)
        popper_got(&p[i], "x");
    server_thaw(old);
    tkl_blist_close(list);
    tkl_close(client);
    cluster_end(c);
}

static void a_long_wait_is_not_taken_for_a_server_that_hangs(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    f->client->heartbeat_us = 500000;
    popper p[4];
    for (int i = 0; i < 4; i++) {
        p[i] = (popper){.lists = &list, .count = 1, .wait_ms = LONG_MS};
        popper_start(f->server, &p[i]);
    }
    int64_t received = server_info(f->server, "total_connections_received");
    int64_t pings = server_calls(f->server, "ping");
    test_sleep_ms(1800);
    assert_in_range(server_calls(f->server, "ping") - pings, 1, 6); /* one for all of them */
    /* A waiter that took it for hanging would connect again, each of them every 500 ms. A busy
     * server may be late for a ping. */
    assert_true(server_info(f->server, "total_connections_received") - received <= 4);
    for (int i = 0; i < 4; i++)
        push_item(list, "x");
    for (int i = 0; i < 4; i++)
        popper_got(&p[i], "x");
    tkl_blist_close(list);
}

static void an_item_cut_off_in_the_middle_is_told(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    tkl_blist *list = open_list(client, "l"), *direct = open_list(f->client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    popper_start(f->server, &p);
    proxy_cut_after(between, TO_CLIENT, 30);
    push_item(direct, "lost on the way");
    crew_join(p.thread);
    assert_code(p.code, TKL_EUNKNOWN);
    assert_null(p.item);
    /* And nothing is wrong afterwards. */
    push_item(direct, "next");
    assert_pops(list, LONG_MS, "next");
    tkl_blist_close(list);
    tkl_blist_close(direct);
    tkl_close(client);
    proxy_end(between);
}

/* Answers CLIENT ID together with the first part of the item, and hangs up. */
static void break_off(fake_conn *c, void *arg)
{
    (void)arg;
    for (const char *command; (command = fake_expect_any(c)) != NULL;) {
        if (strncmp(command, "BLMPOP", 6) == 0) {
            fake_sendz(c, ":7\r\n*2\r\n$16\r\ntackle:bl");
            return;
        }
        if (strcmp(command, "CLIENT ID") != 0)
            fake_sendz(c, "+OK\r\n");
    }
}

static void an_item_cut_off_after_other_replies_is_told(void **state)
{
    (void)state;
    fake *broken = fake_start(break_off, NULL);
    tkl_client *client = test_open(fake_url(broken), NULL);
    tkl_blist *list = open_list(client, "l");
    tkl_blist_items *item;
    assert_code(pop_one(list, LONG_MS, &item), TKL_EUNKNOWN);
    assert_int_equal(fake_accepted(broken), 1);
    tkl_blist_close(list);
    tkl_close(client);
    fake_end(broken);
}

static int wait_in_child(void *url)
{
    tkl_client *client;
    tkl_blist *list;
    tkl_blist_items *item;
    if (tkl_open(url, NULL, &client) != TKL_OK ||
        tkl_blist_open(client, tkl_str("l"), NULL, &list) != TKL_OK)
        return 1;
    return pop_one(list, -1, &item) == TKL_OK ? 0 : 2;
}

static void a_process_that_dies_waiting_takes_nothing_with_it(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    pid_t child = process_fork(wait_in_child, f->server->url);
    eventually(server_info(f->server, "blocked_clients") == 1, LONG_MS);
    kill(child, SIGKILL);
    process_wait(child);
    eventually(server_info(f->server, "blocked_clients") == 0, LONG_MS);
    push_item(list, "x");
    assert_pops(list, 0, "x");
    tkl_blist_close(list);
}

static int use_parents_client(void *arg)
{
    tkl_blist *list = arg;
    tkl_blist_items *item;
    return pop_one(list, 1, &item) == TKL_EMPTY ? 0 : 1;
}

/* The child lets go of the connection on which its parent waits. */
static void a_forked_child_does_not_disturb_the_wait(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l"), *other = open_list(f->client, "other");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    popper_start(f->server, &p);
    assert_int_equal(process_wait(process_fork(use_parents_client, other)), 0);
    push_item(list, "x");
    popper_got(&p, "x");
    tkl_blist_close(list);
    tkl_blist_close(other);
}

static void waiting_works_through_tls(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tls = true});
    tkl_client *client = test_open(s->tls_url, &(tkl_options){.tls_ca_file = certs_get()->ca});
    tkl_blist *list = open_list(client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    popper_start(s, &p);
    server_do(s, "CLIENT KILL TYPE normal SKIPME yes");
    eventually(server_info(s, "blocked_clients") == 1, LONG_MS);
    push_item(list, "x");
    popper_got(&p, "x");
    tkl_blist_close(list);
    tkl_close(client);
    server_end(s);
}

/* ---- Several servers ----------------------------------------------------- */

static void in_a_cluster_lists_must_share_a_slot(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_blist *lists[] = {open_list(client, "a"), open_list(client, "b")};
    tkl_blist_items *item;
    assert_code(tkl_blist_pop(lists, 2, 1, 0, &item), TKL_ECROSSSLOT);
    assert_code(tkl_blist_pop(lists, 2, 1, LONG_MS, &item), TKL_ECROSSSLOT);
    push_item(lists[0], "x");
    assert_pops(lists[0], LONG_MS, "x");

    /* And a wait goes on at the server that takes over. */
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", "tackle:blist:{a}", NULL);
    popper p = {.lists = lists, .count = 1, .wait_ms = -1};
    popper_start(cluster_owner(c, slot), &p);
    cluster_fail_over(c, slot);
    eventually(server_info(cluster_owner(c, slot), "blocked_clients") == 1, LONG_MS);
    push_item(lists[0], "y");
    popper_got(&p, "y");
    tkl_blist_close(lists[0]);
    tkl_blist_close(lists[1]);
    tkl_close(client);
    cluster_end(c);
}

static void a_wait_follows_the_master_of_the_sentinels(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    tkl_client *client = test_open(trio->url, &(tkl_options){.timeout_ms = 30000});
    tkl_blist *list = open_list(client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = -1};
    popper_start(trio->data[0], &p);
    sentinels_fail_over(trio);
    eventually(server_info(sentinels_master(trio), "blocked_clients") == 1, LONG_MS);
    push_item(list, "x");
    popper_got(&p, "x");
    tkl_blist_close(list);
    tkl_close(client);
    sentinels_end(trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_wait_goes_on_when_its_connection_is_killed),
        TEST(an_item_cut_off_in_the_middle_is_told),
        cmocka_unit_test(an_item_cut_off_after_other_replies_is_told),
        TEST(a_long_wait_is_not_taken_for_a_server_that_hangs),
        cmocka_unit_test(a_server_that_hangs_is_left_for_the_new_master),
        TEST(a_process_that_dies_waiting_takes_nothing_with_it),
        TEST(a_forked_child_does_not_disturb_the_wait),
        cmocka_unit_test(a_wait_goes_on_when_the_server_is_started_again),
        cmocka_unit_test(a_server_that_stays_away_is_told_at_the_end_of_the_wait),
        cmocka_unit_test(a_server_that_was_never_there_is_told_at_once),
        cmocka_unit_test(a_silent_server_is_left_after_the_wait_and_the_time_out),
        cmocka_unit_test(waiting_works_through_tls),
        cmocka_unit_test(in_a_cluster_lists_must_share_a_slot),
        cmocka_unit_test(a_wait_follows_the_master_of_the_sentinels),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
