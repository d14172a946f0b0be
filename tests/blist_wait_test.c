/* SPDX-License-Identifier: MIT
 *
 * Waiting at a plain blocking queue: who is served first, and that waiters do not keep others from
 * calling.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "core/client.h"
#include "support/fixture.h"
#include "support/lists.h"
#include "support/proxy.h"

/* ---- Waiting ------------------------------------------------------------- */

static void a_push_ends_the_wait(void **state)
{
    fixture *f = *state;
    tkl_blist *lists[] = {open_list(f->client, "a"), open_list(f->client, "b")};
    popper p = {.lists = lists, .count = 2, .wait_ms = -1};
    popper_start(f->server, &p);
    push_item(lists[1], "x");
    popper_got(&p, "x");
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
        popper_start(f->server, &poppers[i]);
    tkl_bytes items[] = {tkl_str("1st"), tkl_str("2nd")};
    assert_ok(tkl_blist_push(list, items, 2, NULL));
    popper_got(&poppers[0], "1st");
    popper_got(&poppers[1], "2nd");
    push_item(same, "3rd");
    popper_got(&poppers[2], "3rd");
    tkl_blist_close(list);
    tkl_blist_close(same);
    tkl_close(other);
}

static void who_waits_sends_nothing(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = LONG_MS};
    popper_start(f->server, &p);
    int64_t before = server_commands(f->server);
    test_sleep_ms(300);
    assert_int_equal(server_commands(f->server), before);
    push_item(list, "x");
    popper_got(&p, "x");
    tkl_blist_close(list);
}

/* ---- Many ---------------------------------------------------------------- */

#define MANY 100

typedef struct crowd {
    tkl_blist *list;
    atomic_int popped;
} crowd;

static void pop_in_crowd(void *arg, int index)
{
    crowd *c = arg;
    tkl_blist_items *item;
    (void)index;
    assert_ok(pop_one(c->list, LONG_MS, &item));
    tkl_blist_items_free(item);
    atomic_fetch_add(&c->popped, 1);
}

static void many_who_wait_keep_nobody_from_calling(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.pool_size = 2, .name = "crowd"});
    crowd c = {.list = open_list(client, "l")};
    crew *threads = crew_start(MANY, pop_in_crowd, &c);
    eventually(server_info(f->server, "blocked_clients") == MANY, LONG_MS);
    for (int i = 0; i < 100; i++)
        call_expect(client, "PONG", "PING", NULL);
    assert_int_equal(server_connections(f->server, "crowd"), MANY + 1);
    for (int i = 0; i < MANY; i++)
        push_item(c.list, "x");
    crew_join(threads);
    assert_int_equal(c.popped, MANY);
    /* The pool keeps as many of their connections as it has room for. */
    eventually(server_connections(f->server, "crowd") <= 2, LONG_MS);
    tkl_blist_close(c.list);
    tkl_close(client);
}

static void waiting_again_and_again_needs_one_connection(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_blist *list = open_list(client, "l");
    tkl_blist_items *item;
    int64_t before = server_info(f->server, "total_connections_received");
    for (int i = 0; i < 50; i++) {
        push_item(list, "x");
        assert_pops(list, LONG_MS, "x");
        assert_code(pop_one(list, 1, &item), TKL_EMPTY);
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

static int number_of(const tkl_blist_items *item)
{
    char text[16];
    snprintf(text, sizeof text, TKL_FMT, TKL_ARG(item->items[0]));
    return atoi(text);
}

static void produce_or_consume(void *arg, int index)
{
    traffic *t = arg;
    tkl_blist *list = open_list(t->client, "traffic");
    for (int i = 0; index < PRODUCERS && i < EACH; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", index * EACH + i);
        push_item(list, text);
    }
    while (index >= PRODUCERS && atomic_load(&t->left) > 0) {
        tkl_blist_items *item;
        int rc = pop_one(list, 20, &item);
        if (rc == TKL_EMPTY)
            continue;
        assert_ok(rc);
        atomic_fetch_add(&t->seen[number_of(item)], 1);
        atomic_fetch_sub(&t->left, 1);
        tkl_blist_items_free(item);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_push_ends_the_wait),
        TEST(who_waits_longest_is_served_first),
        TEST(who_waits_sends_nothing),
        TEST(many_who_wait_keep_nobody_from_calling),
        TEST(waiting_again_and_again_needs_one_connection),
        TEST(each_item_is_popped_once),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
