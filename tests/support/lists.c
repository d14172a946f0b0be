/* SPDX-License-Identifier: MIT */
#include "support/lists.h"

tkl_blist *open_list(tkl_client *client, const char *name)
{
    tkl_blist *list;
    assert_ok(tkl_blist_open(client, tkl_str(name), NULL, &list));
    return list;
}

void push_item(tkl_blist *list, const char *item)
{
    tkl_bytes bytes = tkl_str(item);
    assert_ok(tkl_blist_push(list, &bytes, 1, NULL));
}

void assert_item(tkl_blist_items *item, const char *expected)
{
    assert_int_equal(item->count, 1);
    assert_int_equal(item->items[0].len, strlen(expected));
    assert_memory_equal(item->items[0].data, expected, strlen(expected));
    tkl_blist_items_free(item);
}

int pop_one(tkl_blist *list, int64_t wait_ms, tkl_blist_items **item)
{
    return tkl_blist_pop(&list, 1, 1, wait_ms, item);
}

void assert_pops(tkl_blist *list, int64_t wait_ms, const char *expected)
{
    tkl_blist_items *item;
    assert_ok(pop_one(list, wait_ms, &item));
    assert_item(item, expected);
}

int64_t list_length(tkl_blist *list)
{
    int64_t length;
    assert_ok(tkl_blist_length(list, &length));
    return length;
}

static void pop_in_thread(void *arg, int index)
{
    popper *p = arg;
    (void)index;
    int64_t start = test_now_ms();
    p->code = tkl_blist_pop(p->lists, p->count, 1, p->wait_ms, &p->item);
    p->which = p->item ? p->item->which : 0;
    p->took_ms = test_now_ms() - start;
}

void popper_start(server *s, popper *p)
{
    int64_t before = server_info(s, "blocked_clients");
    p->thread = crew_start(1, pop_in_thread, p);
    eventually(server_info(s, "blocked_clients") == before + 1, LONG_MS);
    server_info(s, "blocked_clients"); /* the server has also written its earlier replies by now */
}

void popper_got(popper *p, const char *expected)
{
    crew_join(p->thread);
    assert_ok(p->code);
    assert_item(p->item, expected);
}
