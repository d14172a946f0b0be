/* SPDX-License-Identifier: MIT
 *
 * The "To" field of a mail program: it completes the user's input from the last receivers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", tkl_errmsg());
    exit(1);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    const tkl_bytes sent_to[] = {TKL_LIT("Bob"), TKL_LIT("Jürgen"), TKL_LIT("张三"),
                                 TKL_LIT("Julia")};
    tkl_recent_options options = {.accents = true, .pinyin = true};
    tkl_client *client;
    tkl_recent *recent;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_recent_open(client, tkl_str("ann"), &options, &recent));
    stop_on(tkl_recent_add(recent, sent_to, 4));

    static const char *const typed[] = {"j", "ju", "zs", "b"};
    for (int i = 0; i < 4; i++) {
        tkl_names *found;
        stop_on(tkl_recent_complete(recent, tkl_str(typed[i]), 5, &found));
        printf("%-4s", typed[i]);
        for (size_t j = 0; j < found->count; j++)
            printf(" " TKL_FMT, TKL_ARG(found->items[j]));
        printf("\n");
        tkl_names_free(found);
    }
    tkl_recent_close(recent);
    tkl_close(client);
}
