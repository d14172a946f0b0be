/* SPDX-License-Identifier: MIT
 *
 * Three members, two chats. Bob was away and reads all messages in one round trip.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

static void print_chat(const tkl_inbox_chat *chat)
{
    const tkl_messages *m = chat->messages;
    printf(TKL_FMT ":\n", TKL_ARG(chat->id));
    for (size_t i = 0; m && i < m->count; i++)
        printf("  %d. " TKL_FMT ": " TKL_FMT "\n", (int)m->items[i].id, TKL_ARG(m->items[i].sender),
               TKL_ARG(m->items[i].body));
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    const tkl_bytes all[] = {TKL_LIT("ann"), TKL_LIT("bob"), TKL_LIT("eve")};
    const tkl_letter noon = {.body = TKL_LIT("lunch at noon?")}, yes = {.body = TKL_LIT("yes")},
                     red = {.body = TKL_LIT("the build is red")};
    tkl_client *client;
    tkl_chat *lunch, *work;
    tkl_inbox *bob;
    tkl_inbox_chats *chats;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_chat_open(client, tkl_str("lunch"), NULL, &lunch));
    stop_on(tkl_chat_open(client, tkl_str("work"), NULL, &work));
    stop_on(tkl_chat_create(lunch, all, 3, NULL));
    stop_on(tkl_chat_create_and_send(work, all, 2, NULL, all[0], &red, 1));
    stop_on(tkl_chat_send(lunch, all[0], &noon, 1, NULL));
    stop_on(tkl_chat_send(lunch, all[2], &yes, 1, NULL));

    stop_on(tkl_inbox_open(client, all[1], NULL, &bob));
    stop_on(tkl_inbox_fetch(bob, 100, 1000, &chats));
    for (size_t i = 0; i < chats->count; i++)
        print_chat(&chats->items[i]);
    stop_on(tkl_inbox_ack_all(bob, chats));

    tkl_inbox_chats_free(chats);
    tkl_inbox_close(bob);
    stop_on(tkl_chat_drop(lunch));
    stop_on(tkl_chat_drop(work));
    tkl_chat_close(lunch);
    tkl_chat_close(work);
    tkl_close(client);
}
