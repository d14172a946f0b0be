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

#include "core/client.h"
#include "support/certs.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/process.h"
#include "support/proxy.h"

#define LONG_MS 60000 /* longer than any test takes */

static tkl_blist *open_list(tkl_client *client, const char *name)
{
    tkl_blist *list;
    assert_ok(tkl_blist_open(client, tkl_str(name), NULL, &list));
    return list;
}

static void push(tkl_blist *list, const char *item)
{
    tkl_bytes bytes = tkl_str(item);
    assert_ok(tkl_blist_push(list, &bytes, 1, NULL));
}

static void assert_item(tkl_blist_items *item, const char *expected)
{
    assert_int_equal(item->count, 1);
    assert_int_equal(item->items[0].len, strlen(expected));
    assert_memory_equal(item->items[0].data, expected, strlen(expected));
    tkl_blist_items_free(item);
}

static int pop_one(tkl_blist *list, int64_t wait_ms, tkl_blist_items **item)
{
    return tkl_blist_pop(&list, 1, 1, wait_ms, item);
}

static void assert_pops(tkl_blist *list, int64_t wait_ms, const char *expected)
{
    tkl_blist_items *item;
    assert_ok(pop_one(list, wait_ms, &item));
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
    tkl_blist_items *item;
    crew *thread;
} popper;

static void pop_it(void *arg, int index)
{
    popper *p = arg;
    (void)index;
    int64_t start = test_now_ms();
    p->code = tkl_blist_pop(p->lists, p->count, 1, p->wait_ms, &p->item);
    p->which = p->item ? p->item->which : 0;
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
        tkl_blist_items *item;
        tkl_bytes bytes = {data, len};
        assert_ok(tkl_blist_push(list, &bytes, 1, NULL));
        assert_ok(pop_one(list, wait, &item));
        assert_int_equal(item->items[0].len, len);
        assert_memory_equal(item->items[0].data, data, len);
        tkl_blist_items_free(item);
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
            tkl_blist_items *item;
            assert_ok(tkl_blist_pop(lists, 3, 1, wait, &item));
            assert_int_equal(item->which, i);
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
    tkl_blist_items *item = (tkl_blist_items *)(void *)list;
    assert_code(pop_one(list, 0, &item), TKL_EMPTY);
    assert_null(item);
    assert_string_equal(tkl_errmsg(), tkl_strerror(TKL_EMPTY));
    int64_t start = test_now_ms();
    assert_code(pop_one(list, 150, &item), TKL_EMPTY);
    assert_true(test_now_ms() - start >= 149);
    assert_code(pop_one(list, 1, &item), TKL_EMPTY);
    assert_code(tkl_blist_drop(list), TKL_NOTFOUND);
    push(list, "x");
    assert_ok(tkl_blist_drop(list));
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
    tkl_blist_items *item;
    assert_code(tkl_blist_open(f->client, tkl_str(""), NULL, &list), TKL_EINVAL);
    assert_null(list);
    list = open_list(f->client, "l");
    assert_code(tkl_blist_pop(NULL, 0, 1, 0, &item), TKL_EINVAL);
    assert_code(tkl_blist_pop(&list, 1, 0, 0, &item), TKL_EINVAL);
    assert_code(tkl_blist_pop(&list, 1, TKL_BLIST_POP_MAX + 1, 0, &item), TKL_EINVAL);
    assert_code(tkl_blist_pop(&list, 1, SIZE_MAX, 0, &item), TKL_EINVAL);
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_blist *both[] = {list, open_list(other, "m")};
    assert_code(tkl_blist_pop(both, 2, 1, 0, &item), TKL_EINVAL);
    tkl_blist_close(both[1]);
    tkl_blist_close(list);
    tkl_blist_close(NULL);
    tkl_close(other);
}

static void wrong_options_are_refused(void **state)
{
    fixture *f = *state;
    static const tkl_blist_options wrong[] = {
        {.timeout_ms = -1}, {.ttl_ms = -1}, {.ttl_ms = INT64_MAX}, {.reserved = {[7] = 1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tkl_blist *list;
        assert_code(tkl_blist_open(f->client, tkl_str("l"), &wrong[i], &list), TKL_EINVAL);
        assert_null(list);
    }
}

static void many_are_popped_in_one_trip(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    tkl_bytes bytes[2500];
    for (size_t i = 0; i < 2500; i++)
        bytes[i] = i % 2 ? tkl_str("odd") : tkl_str("even");
    for (int64_t wait = 0; wait <= LONG_MS; wait += LONG_MS) {
        tkl_blist_items *items;
        assert_ok(tkl_blist_push(list, bytes, 2500, NULL));
        assert_ok(tkl_blist_pop(&list, 1, 2000, wait, &items));
        assert_int_equal(items->count, 2000);
        for (size_t i = 0; i < items->count; i++)
            assert_int_equal(items->items[i].len, bytes[i].len);
        tkl_blist_items_free(items);
        assert_ok(tkl_blist_pop(&list, 1, 2000, wait, &items));
        assert_int_equal(items->count, 500);
        tkl_blist_items_free(items);
    }
    tkl_blist_items_free(NULL);
    tkl_blist_close(list);
}

static void a_list_may_expire(void **state)
{
    fixture *f = *state;
    tkl_blist *list;
    tkl_bytes bytes[2500];
    int64_t length;
    for (size_t i = 0; i < 2500; i++)
        bytes[i] = tkl_str("item");
    assert_ok(
        tkl_blist_open(f->client, tkl_str("l"), &(tkl_blist_options){.ttl_ms = 60000}, &list));
    assert_ok(tkl_blist_push(list, bytes, 2500, &length));
    assert_int_equal(length, 2500);
    assert_in_range(call_int(f->client, "PTTL", "tackle:blist:{l}", NULL), 30000, 60000);
    assert_ok(tkl_blist_push(list, bytes, 1, &length));
    assert_int_equal(length, 2501);
    assert_pops(list, LONG_MS, "item");
    tkl_blist_close(list);
}

static void all_names_are_listed(void **state)
{
    fixture *f = *state;
    tkl_names *names;
    static const char *const all[] = {"b", "a{}", "c"};
    for (int i = 0; i < 3; i++) {
        tkl_blist *list = open_list(f->client, all[i]);
        push(list, "x");
        tkl_blist_close(list);
    }
    assert_ok(tkl_blist_names(f->client, &names));
    assert_int_equal(names->count, 3);
    assert_memory_equal(names->items[0].data, "a{}", 3);
    tkl_names_free(names);
}

static void a_handle_has_its_own_time_out(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_blist *list;
    tkl_blist_items *item;
    int64_t length, start = test_now_ms();
    assert_ok(tkl_blist_open(client, tkl_str("l"), &(tkl_blist_options){.timeout_ms = 50}, &list));
    server_freeze(s);
    assert_true(tkl_blist_length(list, &length) < 0);
    assert_true(pop_one(list, 50, &item) < 0);
    server_thaw(s);
    assert_true(test_now_ms() - start < LONG_MS / 2);
    tkl_blist_close(list);
    tkl_close(client);
    server_end(s);
}

static void an_interrupted_wait_ends_and_takes_nothing(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    popper p = {.lists = &list, .count = 1, .wait_ms = -1};
    start_waiting(f->server, &p);
    tkl_interrupt(f->client);
    crew_join(p.thread);
    assert_code(p.code, TKL_EINTR);
    assert_null(p.item);
    push(list, "x");
    assert_pops(list, LONG_MS, "x"); /* what is there is had */
    tkl_blist_items *item;
    assert_code(pop_one(list, LONG_MS, &item), TKL_EINTR);
    assert_code(pop_one(list, 0, &item), TKL_EMPTY);
    tkl_resume(f->client);
    assert_code(pop_one(list, 1, &item), TKL_EMPTY);
    tkl_blist_close(list);
}

static void another_type_in_the_way_is_told(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "x");
    tkl_bytes bytes = tkl_str("item");
    tkl_blist_items *item;
    int64_t length;
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:blist:{x}", "text", NULL));
    assert_code(tkl_blist_push(list, &bytes, 1, NULL), TKL_ETYPE);
    assert_code(pop_one(list, 0, &item), TKL_ETYPE);
    assert_code(pop_one(list, LONG_MS, &item), TKL_ETYPE);
    assert_code(tkl_blist_length(list, &length), TKL_ETYPE);
    tkl_blist_close(list);
}

/* What docs/blist.md says a user needs. */
static void the_permissions_of_the_page_suffice(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config =
            (const char *const[]){
                "user app on >secret ~tackle:blist:* +rpush +lmpop +blmpop +llen +unlink +scan "
                "+client|id +client|unblock +client|setname +evalsha +eval +pexpire",
                NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "app", .password = "secret"});
    tkl_blist *list, *brief;
    tkl_names *names;
    assert_ok(tkl_blist_open(client, tkl_str("l"), NULL, &list));
    assert_ok(tkl_blist_open(client, tkl_str("l"), &(tkl_blist_options){.ttl_ms = 60000}, &brief));
    push(list, "a");
    push(brief, "b");
    assert_int_equal(length_of(list), 2);
    assert_ok(tkl_blist_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_pops(list, 0, "a");
    assert_pops(list, LONG_MS, "b");
    push(list, "c");
    assert_ok(tkl_blist_drop(list));
    popper p = {.lists = &list, .count = 1, .wait_ms = -1};
    start_waiting(s, &p);
    tkl_interrupt(client);
    crew_join(p.thread);
    assert_code(p.code, TKL_EINTR);
    char *log = server_ask(s, "ACL LOG");
    assert_string_equal(log, "");
    free(log);
    tkl_blist_close(list);
    tkl_blist_close(brief);
    tkl_close(client);
    server_end(s);
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
    tkl_blist_items *item;
    int64_t before = server_info(f->server, "total_connections_received");
    for (int i = 0; i < 50; i++) {
        push(list, "x");
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
        push(list, text);
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

/* Also while it is the only one that uses the client. */
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
        start_waiting(old, &p[i]);
    }
    server_freeze(old);
    eventually(server_info(owner, "blocked_clients") == 3, LONG_MS);
    for (int i = 0; i < 3; i++)
        server_do(owner, "RPUSH tackle:blist:{a} x");
    for (int i = 0; i < 3; i++)
        assert_got(&p[i], "x");
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
        start_waiting(f->server, &p[i]);
    }
    int64_t received = server_info(f->server, "total_connections_received");
    int64_t pings = server_calls(f->server, "ping");
    test_sleep_ms(1800);
    assert_in_range(server_calls(f->server, "ping") - pings, 1, 6); /* one for all of them */
    assert_true(server_info(f->server, "total_connections_received") - received <= 1);
    for (int i = 0; i < 4; i++)
        push(list, "x");
    for (int i = 0; i < 4; i++)
        assert_got(&p[i], "x");
    tkl_blist_close(list);
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
    push(list, "x");
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
    tkl_blist_items *item;
    assert_code(tkl_blist_pop(lists, 2, 1, 0, &item), TKL_ECROSSSLOT);
    assert_code(tkl_blist_pop(lists, 2, 1, LONG_MS, &item), TKL_ECROSSSLOT);
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
        TEST(wrong_options_are_refused),
        TEST(many_are_popped_in_one_trip),
        TEST(a_list_may_expire),
        TEST(all_names_are_listed),
        TEST(an_interrupted_wait_ends_and_takes_nothing),
        cmocka_unit_test(a_handle_has_its_own_time_out),
        cmocka_unit_test(the_permissions_of_the_page_suffice),
        TEST(another_type_in_the_way_is_told),
        TEST(a_push_ends_the_wait),
        TEST(who_waits_longest_is_served_first),
        TEST(who_waits_sends_nothing),
        TEST(many_who_wait_keep_nobody_from_calling),
        TEST(waiting_again_and_again_needs_one_connection),
        TEST(each_item_is_popped_once),
        TEST(a_wait_goes_on_when_its_connection_is_killed),
        TEST(an_item_cut_off_in_the_middle_is_told),
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
