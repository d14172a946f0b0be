/* SPDX-License-Identifier: MIT
 *
 * A shop: customers log in, look at things and log out; the shop knows the things viewed most.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tackle/tackle.h>

static void check(int code)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_codename(code), tkl_errmsg());
    exit(1);
}

static void print_items(const char *title, const tkl_session_items *items)
{
    printf("%s:", title);
    for (size_t i = 0; i < items->count; i++)
        printf(" " TKL_FMT, TKL_ARG(items->items[i].item));
    printf("\n");
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    tkl_session *shop;
    check(tkl_open(url ? url : "embedded:", NULL, &client));
    check(tkl_session_open(client, tkl_str("shop"), NULL, &shop));

    char alice[TKL_TOKEN_SIZE], bob[TKL_TOKEN_SIZE];
    check(tkl_session_create(shop, tkl_str("alice"), 0, alice));
    check(tkl_session_create(shop, tkl_str("bob"), 0, bob));

    tkl_session_view views[] = {
        {.token = alice, .item = tkl_str("teapot")},
        {.token = alice, .item = tkl_str("kettle")},
        {.token = bob, .item = tkl_str("teapot")},
    };
    check(tkl_session_touch(shop, views, 3, NULL));

    tkl_session_items *items;
    check(tkl_session_recent(shop, alice, 0, 10, &items));
    print_items("alice looked at", items);
    tkl_session_items_free(items);
    check(tkl_session_top(shop, 0, 10, &items));
    print_items("looked at most", items);
    tkl_session_items_free(items);

    check(tkl_session_end(shop, alice));
    check(tkl_session_drop(shop));
    tkl_session_close(shop);
    tkl_close(client);
}
