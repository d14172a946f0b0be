/* SPDX-License-Identifier: MIT
 *
 * Events from one thread to another over a plain list of the server.
 *
 *     cc blist.c -o blist $(pkg-config --cflags --libs tackle)
 */
#include <pthread.h>
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

/* Prints events until it is interrupted. */
static void *print_events(void *arg)
{
    tkl_blist *events = arg;
    tkl_blist_items *items;
    int code;
    while ((code = tkl_blist_pop(&events, 1, 10, -1, &items)) == TKL_OK) {
        for (size_t i = 0; i < items->count; i++)
            printf(TKL_FMT "\n", TKL_ARG(items->items[i]));
        tkl_blist_items_free(items);
    }
    if (code != TKL_EINTR)
        check(code);
    return NULL;
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    const tkl_bytes payloads[] = {TKL_LIT("opened"), TKL_LIT("changed"), TKL_LIT("closed")};
    tkl_client *client;
    tkl_blist *events;
    pthread_t printer;
    int64_t length;

    check(tkl_open(url ? url : "embedded:", NULL, &client));
    check(tkl_blist_open(client, tkl_str("example-events"), NULL, &events));
    if (pthread_create(&printer, NULL, print_events, events) != 0)
        return 1;
    check(tkl_blist_push(events, payloads, 3, NULL));
    do
        check(tkl_blist_length(events, &length));
    while (length > 0);
    tkl_interrupt(client); /* ends the wait of the printer, and loses nothing */
    pthread_join(printer, NULL);

    tkl_blist_close(events);
    tkl_close(client);
    return 0;
}
