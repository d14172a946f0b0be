/* SPDX-License-Identifier: MIT
 *
 * The plain blocking queue: order, arguments, expiry, permissions.
 *
 * ctest: label threads
 */

#include "core/client.h"
#include "support/fixture.h"
#include "support/lists.h"

/* ---- Order --------------------------------------------------------------- */

static void items_come_in_the_order_of_their_pushes(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "{a}%\xff");
    tkl_bytes items[] = {tkl_str("one"), tkl_str("two"), {NULL, 0}};
    int64_t length;
    assert_ok(tkl_blist_push(list, items, 3, &length));
    assert_int_equal(length, 3);
    push_item(list, "four");
    assert_int_equal(list_length(list), 4);
    assert_pops(list, 0, "one");
    assert_pops(list, LONG_MS, "two");
    assert_pops(list, 0, "");
    assert_pops(list, -1, "four");
    assert_int_equal(list_length(list), 0);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_blist_close(list);
}

/* Pops all items; the text has their first letters. */
static void assert_all(tkl_blist *list, int64_t wait_ms, const char *expected)
{
    tkl_blist_items *items;
    char found[16] = "";
    assert_ok(tkl_blist_pop(&list, 1, 10, wait_ms, &items));
    for (size_t i = 0; i < items->count; i++)
        found[i] = items->items[i].data[0];
    tkl_blist_items_free(items);
    assert_string_equal(found, expected);
}

static void a_list_has_two_ends(void **state)
{
    fixture *f = *state;
    const tkl_bytes items[] = {TKL_LIT("a"), TKL_LIT("b"), TKL_LIT("c")};
    for (int64_t ttl_ms = 0; ttl_ms <= 60000; ttl_ms += 60000) {
        tkl_blist *plain, *ends, *both[2];
        tkl_blist_items *none;
        int64_t length;
        assert_ok(tkl_blist_open(f->client, tkl_str("x"), &(tkl_blist_options){.ttl_ms = ttl_ms},
                                 &plain));
        assert_ok(tkl_blist_open(
            f->client, tkl_str("x"),
            &(tkl_blist_options){.ttl_ms = ttl_ms, .push_first = true, .pop_last = true}, &ends));
        assert_ok(tkl_blist_push(plain, items, 2, NULL));
        assert_ok(tkl_blist_push(ends, items + 2, 1, &length));
        assert_int_equal(length, 3);
        assert_all(plain, 0, "cab");
        assert_ok(tkl_blist_push(plain, items, 3, NULL));
        assert_all(ends, 0, "cba");
        assert_ok(tkl_blist_push(ends, items, 3, NULL));
        assert_all(plain, 10000, "cba");
        assert_ok(tkl_blist_push(ends, items, 3, NULL));
        assert_all(ends, -1, "abc");
        both[0] = plain;
        both[1] = ends;
        assert_code(tkl_blist_pop(both, 2, 1, 0, &none), TKL_EINVAL);
        assert_contains(tkl_errmsg(), "pop_last");
        tkl_blist_close(plain);
        tkl_blist_close(ends);
    }
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
        push_item(lists[2], "r");
        push_item(lists[1], "n");
        push_item(lists[0], "u");
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
    push_item(list, "x");
    assert_ok(tkl_blist_drop(list));
    assert_int_equal(list_length(list), 0);
    tkl_blist_close(list);
}

static void pushing_nothing_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_blist *list = open_list(f->client, "l");
    int64_t length;
    push_item(list, "x");
    assert_ok(tkl_blist_push(list, NULL, 0, &length));
    assert_int_equal(length, 1);
    assert_ok(tkl_blist_push(list, NULL, 0, NULL));
    assert_int_equal(list_length(list), 1);
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
        push_item(list, "x");
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
    popper_start(f->server, &p);
    tkl_interrupt(f->client);
    crew_join(p.thread);
    assert_code(p.code, TKL_EINTR);
    assert_null(p.item);
    push_item(list, "x");
    assert_pops(list, LONG_MS, "x"); /* an item that is there is taken */
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

/* The permissions that docs/blist.md lists are enough. */
static void the_permissions_of_the_page_suffice(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config =
            (const char *const[]){
                "user app on >secret ~tackle:blist:* +rpush +lmpop +blmpop +llen +unlink +scan "
                "+client|id +client|unblock +client|setname +fcall +fcall_ro +function|load "
                "+pexpire",
                NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "app", .password = "secret"});
    tkl_blist *list, *brief;
    tkl_names *names;
    assert_ok(tkl_blist_open(client, tkl_str("l"), NULL, &list));
    assert_ok(tkl_blist_open(client, tkl_str("l"), &(tkl_blist_options){.ttl_ms = 60000}, &brief));
    push_item(list, "a");
    push_item(brief, "b");
    assert_int_equal(list_length(list), 2);
    assert_ok(tkl_blist_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_pops(list, 0, "a");
    assert_pops(list, LONG_MS, "b");
    push_item(list, "c");
    assert_ok(tkl_blist_drop(list));
    popper p = {.lists = &list, .count = 1, .wait_ms = -1};
    popper_start(s, &p);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(items_come_in_the_order_of_their_pushes),
        TEST(a_list_has_two_ends),
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
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
