/* SPDX-License-Identifier: MIT
 *
 * The plain blocking queue: order, waiting, what happens when the connection goes, and that those
 * who wait stand in nobody's way.
 *
 * ctest: label threads
 * ctest: timeout 180
 */
#include <tackle/blist.h>

#include <stdatomic.h>
#include <unistd.h>

#include "support/certs.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/process.h"
#include "support/proxy.h"

#define LONG_MS 60000 /* longer than any test takes */

static tkl_blist *open_list(tkl_client *client, const char *name)
{
    tkl_blist *list;
    assert_ok(tkl_blist_open(client, tkl_str(name), &list));
    return list;
}

static void push(tkl_blist *list, const char *item)
{
    tkl_bytes bytes = tkl_str(item);
    assert_ok(tkl_blist_push(list, &bytes, 1, NULL));
}

static void assert_item(tkl_reply *item, const char *expected)
{
    assert_int_equal(tkl_reply_kind(item), TKL_REPLY_STRING);
    assert_string_equal(tkl_reply_str(item), expected);
    tkl_reply_free(item);
}

static void assert_pops(tkl_blist *list, int64_t wait_ms, const char *expected)
{
    tkl_reply *item;
    assert_ok(tkl_blist_pop(&list, 1, wait_ms, NULL, &item));
    assert_item(item, expected);
}

static int64_t length_of(tkl_blist *list)
{
    int64_t length;
    assert_ok(tkl_blist_length(list, &length));
    return length;
}

/* ---- Others who wait ----------------------------------------------------- */

/* A pop in a thread of its own. */
typedef struct popper {
    tkl_blist *const *lists;
    size_t count, which;
    int64_t wait_ms, took_ms;
    int code;
    tkl_reply *item;
    crew *thread;
} popper;

static void pop_it(void *arg, int index)
{
    popper *p = arg;
    (void)index;
    int64_t start = test_now_ms();
    p->code = tkl_blist_pop(p->lists, p->count, p->wait_ms, &p->which, &p->item);
    p->took_ms = test_now_ms() - start;
}

/* Returns when the server has it in the line. */
static void start_waiting(server *s, popper *p)
{
    int64_t before = server_info(s, "blocked_clients");
    p->thread = crew_start(1, pop_it, p);
    eventually(server_info(s, "blocked_clients") == before + 1, LONG_MS);
}

static void assert_got(popper *p, const char *expected)
{
    crew_join(p->thread);
    assert_ok(p->code);
    assert_item(p->item, expected);
}

/* ---- Order --------------------------------------------------------------- */

static void items_come_in_the_order_of_their_pushes(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "{a}%\xff");
    tkl_bytes items[] = {tkl_str("one"), tkl_str("two"), {NULL, 0}};
    int64_t length;
    assert_ok(tkl_blist_push(list, items, 3, &length));
    assert_int_equal(length, 3);
    push(list, "four");
    assert_int_equal(length_of(list), 4);
    assert_pops(list, 0, "one");
    assert_pops(list, LONG_MS, "two");
    assert_pops(list, 0, "");
    assert_pops(list, -1, "four");
    assert_int_equal(length_of(list), 0);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_blist_close(list);
}

static void any_bytes_of_any_size_will_do(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "big");
    size_t len = 20 << 20;
    char *data = malloc(len);
    for (size_t i = 0; i < len; i++)
        data[i] = (char)(i * 7 + i / 251);
    for (int wait = 0; wait <= LONG_MS; wait += LONG_MS) {
        tkl_reply *item;
        tkl_bytes bytes = {data, len};
        assert_ok(tkl_blist_push(list, &bytes, 1, NULL));
        assert_ok(tkl_blist_pop(&list, 1, wait, NULL, &item));
        assert_int_equal(tkl_reply_bytes(item).len, len);
        assert_memory_equal(tkl_reply_bytes(item).data, data, len);
        tkl_reply_free(item);
    }
    free(data);
    tkl_blist_close(list);
}

static void the_first_list_that_has_an_item_is_served(void **state)
{
    fixture *f = *state;
    tkl_blist *lists[] = {open_list(f->client, "urgent"), open_list(f->client, "normal"),
                          open_list(f->client, "rest")};
    for (int wait = 0; wait <= LONG_MS; wait += LONG_MS) {
        const char *expected[] = {"u", "n", "r"};
        push(lists[2], "r");
        push(lists[1], "n");
        push(lists[0], "u");
        for (size_t i = 0; i < 3; i++) {
            size_t which = 9;
            tkl_reply *item;
            assert_ok(tkl_blist_pop(lists, 3, wait, &which, &item));
            assert_int_equal(which, i);
            assert_item(item, expected[i]);
        }
    }
    for (size_t i = 0; i < 3; i++)
        tkl_blist_close(lists[i]);
}

static void an_empty_list_says_so(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "none");
    tkl_reply *item = (tkl_reply *)list;
    size_t which = 7;
    assert_code(tkl_blist_pop(&list, 1, 0, &which, &item), TKL_EMPTY);
    assert_null(item);
    assert_int_equal(which, 0);
    int64_t start = test_now_ms();
    assert_code(tkl_blist_pop(&list, 1, 150, NULL, &item), TKL_EMPTY);
    assert_true(test_now_ms() - start >= 149);
    assert_code(tkl_blist_pop(&list, 1, 1, NULL, &item), TKL_EMPTY);
    assert_code(tkl_blist_clear(list), TKL_NOTFOUND);
    push(list, "x");
    assert_ok(tkl_blist_clear(list));
    assert_int_equal(length_of(list), 0);
    tkl_blist_close(list);
}

static void pushing_nothing_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    int64_t length;
    push(list, "x");
    assert_ok(tkl_blist_push(list, NULL, 0, &length));
    assert_int_equal(length, 1);
    assert_ok(tkl_blist_push(list, NULL, 0, NULL));
    assert_int_equal(length_of(list), 1);
    tkl_blist_close(list);
}

static void wrong_arguments_are_refused(void **state)
{
    fixture *f = *state;
    tkl_blist *list;
    tkl_reply *item;
    assert_code(tkl_blist_open(f->client, tkl_str(""), &list), TKL_EINVAL);
    assert_null(list);
    list = open_list(f->client, "l");
    assert_code(tkl_blist_pop(&list, 0, 0, NULL, &item), TKL_EINVAL);
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_blist *both[] = {list, open_list(other, "m")};
    assert_code(tkl_blist_pop(both, 2, 0, NULL, &item), TKL_EINVAL);
    tkl_blist_close(both[1]);
    tkl_blist_close(list);
    tkl_blist_close(NULL);
    tkl_close(other);
}

static void another_type_in_the_way_is_told(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "x");
    tkl_bytes bytes = tkl_str("item");
    tkl_reply *item;
    int64_t length;
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:blist:{x}", "text", NULL));
    assert_code(tkl_blist_push(list, &bytes, 1, NULL), TKL_ETYPE);
    assert_code(tkl_blist_pop(&list, 1, 0, NULL, &item), TKL_ETYPE);
    assert_code(tkl_blist_pop(&list, 1, LONG_MS, NULL, &item), TKL_ETYPE);
    assert_code(tkl_blist_length(list, &length), TKL_ETYPE);
    tkl_blist_close(list);
}

/* ---- Waiting ------------------------------------------------------------- */

static void a_push_ends_the_wait(void **state)
{
    fixture *f = *state;
    tkl_blist *lists[] = {open_list(f->client, "a"), open_list(f->client, "b")};
    popper p = {.lists = lists, .count = 2, .wait_ms = -1};
    start_waiting(f->server, &p);
    push(lists[1], "x");
    assert_got(&p, "x");
    assert_int_equal(p.which, 1);
    tkl_blist_close(lists[0]);
    tkl_blist_close(lists[1]);
}

static void who_waits_longest_is_served_first(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_blist *list = open_list(f->client, "l"), *same = open_list(other, "l");
    popper poppers[] = {{.lists = &list, .count = 1, .wait_ms = -1},
                        {.lists = &same, .count = 1, .wait_ms = LONG_MS},
                        {.lists = &list, .count = 1, .wait_ms = LONG_MS}};
    for (int i = 0; i < 3; i++)
        start_waiting(f->server, &poppers[i]);
    tkl_bytes items[] = {tkl_str("1st"), tkl_str("2nd")};
    assert_ok(tkl_blist_push(list, items, 2, NULL));
    assert_got(&poppers[0], "1st");
    assert_got(&poppers[1], "2nd");
    push(same, "3rd");
    assert_got(&poppers[2], "3rd");
    tkl_blist_close(list);
    tkl_blist_close(same);
    tkl_close(other);
}

static void who_waits_sends_nothing(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    start_waiting(f->server, &p);
    int64_t before = server_commands(f->server);
    test_sleep_ms(300);
    assert_int_equal(server_commands(f->server), before);
    push(list, "x");
    assert_got(&p, "x");
    tkl_blist_close(list);
}

/* ---- Many ---------------------------------------------------------------- */

#define MANY 100

typedef struct crowd {
    tkl_blist *list;
    atomic_int popped;
} crowd;

static void pop_one(void *arg, int index)
{
    crowd *c = arg;
    tkl_reply *item;
    (void)index;
    assert_ok(tkl_blist_pop(&c->list, 1, LONG_MS, NULL, &item));
    tkl_reply_free(item);
    atomic_fetch_add(&c->popped, 1);
}

static void many_who_wait_keep_nobody_from_calling(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.pool_size = 2, .name = "crowd"});
    crowd c = {.list = open_list(client, "l")};
    crew *threads = crew_start(MANY, pop_one, &c);
    eventually(server_info(f->server, "blocked_clients") == MANY, LONG_MS);
    for (int i = 0; i < 100; i++)
        call_expect(client, "PONG", "PING", NULL);
    assert_int_equal(server_connections(f->server, "crowd"), MANY + 1);
    for (int i = 0; i < MANY; i++)
        push(c.list, "x");
    crew_join(threads);
    assert_int_equal(c.popped, MANY);
    /* Of their connections the pool keeps what it has room for. */
    eventually(server_connections(f->server, "crowd") <= 2, LONG_MS);
    tkl_blist_close(c.list);
    tkl_close(client);
}

static void waiting_again_and_again_needs_one_connection(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_blist *list = open_list(client, "l");
    tkl_reply *item;
    int64_t before = server_info(f->server, "total_connections_received");
    for (int i = 0; i < 50; i++) {
        push(list, "x");
        assert_pops(list, LONG_MS, "x");
        assert_code(tkl_blist_pop(&list, 1, 1, NULL, &item), TKL_EMPTY);
    }
    assert_int_equal(server_info(f->server, "total_connections_received"), before + 1);
    tkl_blist_close(list);
    tkl_close(client);
}

#define PRODUCERS 4
#define CONSUMERS 8
#define EACH      500

typedef struct traffic {
    tkl_client *client;
    atomic_int seen[PRODUCERS * EACH];
    atomic_int left;
} traffic;

static void produce_or_consume(void *arg, int index)
{
    traffic *t = arg;
    tkl_blist *list = open_list(t->client, "traffic");
    for (int i = 0; index < PRODUCERS && i < EACH; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", index * EACH + i);
        push(list, text);
    }
    while (index >= PRODUCERS && atomic_load(&t->left) > 0) {
        tkl_reply *item;
        int rc = tkl_blist_pop(&list, 1, 20, NULL, &item);
        if (rc == TKL_EMPTY)
            continue;
        assert_ok(rc);
        atomic_fetch_add(&t->seen[atoi(tkl_reply_str(item))], 1);
        atomic_fetch_sub(&t->left, 1);
        tkl_reply_free(item);
    }
    tkl_blist_close(list);
}

static void each_item_is_popped_once(void **state)
{
    fixture *f = *state;
    static traffic t;
    memset(&t, 0, sizeof t);
    t.client = test_open(f->server->url, &(tkl_options){.pool_size = 3});
    t.left = PRODUCERS * EACH;
    crew_run(PRODUCERS + CONSUMERS, produce_or_consume, &t);
    for (int i = 0; i < PRODUCERS * EACH; i++)
        assert_int_equal(t.seen[i], 1);
    tkl_close(t.client);
}

/* ---- Trouble ------------------------------------------------------------- */

static void a_wait_goes_on_when_its_connection_is_killed(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    push(list, "before");
    assert_pops(list, 0, "before");
    start_waiting(f->server, &p);
    for (int i = 0; i < 3; i++) {
        int64_t received = server_info(f->server, "total_connections_received");
        server_do(f->server, "CLIENT KILL TYPE normal SKIPME yes");
        eventually(server_info(f->server, "total_connections_received") > received &&
                       server_info(f->server, "blocked_clients") == 1,
                   LONG_MS);
    }
    push(list, "x");
    assert_got(&p, "x");
    tkl_blist_close(list);
}

static void a_wait_goes_on_when_the_server_is_started_again(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_blist *list = open_list(client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = -1};
    start_waiting(s, &p);
    server_kill(s);
    test_sleep_ms(50);
    server_restart(s);
    eventually(server_info(s, "blocked_clients") == 1, LONG_MS);
    push(list, "x");
    assert_got(&p, "x");
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
    start_waiting(s, &p);
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
    tkl_reply *item;
    assert_ok(tkl_open("unix:///nonexistent/socket", NULL, &client));
    tkl_blist *list = open_list(client, "l");
    int64_t start = test_now_ms();
    assert_code(tkl_blist_pop(&list, 1, LONG_MS, NULL, &item), TKL_ENOTSENT);
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
    start_waiting(s, &p);
    server_freeze(s);
    crew_join(p.thread);
    assert_code(p.code, TKL_ETIMEOUT);
    assert_true(p.took_ms >= 2950);
    server_thaw(s);
    tkl_blist_close(list);
    tkl_close(client);
    server_end(s);
}

static void an_item_cut_off_in_the_middle_is_told(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    tkl_blist *list = open_list(client, "l"), *direct = open_list(f->client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    start_waiting(f->server, &p);
    proxy_cut_after(between, TO_CLIENT, 30);
    push(direct, "lost on the way");
    crew_join(p.thread);
    assert_code(p.code, TKL_EUNKNOWN);
    assert_null(p.item);
    /* And nothing is wrong afterwards. */
    push(direct, "next");
    assert_pops(list, LONG_MS, "next");
    tkl_blist_close(list);
    tkl_blist_close(direct);
    tkl_close(client);
    proxy_end(between);
}

static int wait_in_child(void *url)
{
    tkl_client *client;
    tkl_blist *list;
    tkl_reply *item;
    if (tkl_open(url, NULL, &client) != TKL_OK ||
        tkl_blist_open(client, tkl_str("l"), &list) != TKL_OK)
        return 1;
    return tkl_blist_pop(&list, 1, -1, NULL, &item) == TKL_OK ? 0 : 2;
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
    push(list, "x");
    assert_pops(list, 0, "x");
    tkl_blist_close(list);
}

static int use_parents_client(void *arg)
{
    tkl_blist *list = arg;
    tkl_reply *item;
    return tkl_blist_pop(&list, 1, 1, NULL, &item) == TKL_EMPTY ? 0 : 1;
}

/* The child lets go of the connection on which its parent waits. */
static void a_forked_child_does_not_disturb_the_wait(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l"), *other = open_list(f->client, "other");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    start_waiting(f->server, &p);
    assert_int_equal(process_wait(process_fork(use_parents_client, other)), 0);
    push(list, "x");
    assert_got(&p, "x");
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
    start_waiting(s, &p);
    server_do(s, "CLIENT KILL TYPE normal SKIPME yes");
    eventually(server_info(s, "blocked_clients") == 1, LONG_MS);
    push(list, "x");
    assert_got(&p, "x");
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
    tkl_reply *item;
    assert_code(tkl_blist_pop(lists, 2, 0, NULL, &item), TKL_ECROSSSLOT);
    assert_code(tkl_blist_pop(lists, 2, LONG_MS, NULL, &item), TKL_ECROSSSLOT);
    push(lists[0], "x");
    assert_pops(lists[0], LONG_MS, "x");

    /* And a wait goes on at the server that takes over. */
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", "tackle:blist:{a}", NULL);
    popper p = {.lists = lists, .count = 1, .wait_ms = -1};
    start_waiting(cluster_owner(c, slot), &p);
    cluster_fail_over(c, slot);
    eventually(server_info(cluster_owner(c, slot), "blocked_clients") == 1, LONG_MS);
    push(lists[0], "y");
    assert_got(&p, "y");
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
    start_waiting(trio->data[0], &p);
    sentinels_fail_over(trio);
    eventually(server_info(sentinels_master(trio), "blocked_clients") == 1, LONG_MS);
    push(list, "x");
    assert_got(&p, "x");
    tkl_blist_close(list);
    tkl_close(client);
    sentinels_end(trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(items_come_in_the_order_of_their_pushes),
        TEST(any_bytes_of_any_size_will_do),
        TEST(the_first_list_that_has_an_item_is_served),
        TEST(an_empty_list_says_so),
        TEST(pushing_nothing_changes_nothing),
        TEST(wrong_arguments_are_refused),
        TEST(another_type_in_the_way_is_told),
        TEST(a_push_ends_the_wait),
        TEST(who_waits_longest_is_served_first),
        TEST(who_waits_sends_nothing),
        TEST(many_who_wait_keep_nobody_from_calling),
        TEST(waiting_again_and_again_needs_one_connection),
        TEST(each_item_is_popped_once),
        TEST(a_wait_goes_on_when_its_connection_is_killed),
        TEST(an_item_cut_off_in_the_middle_is_told),
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
