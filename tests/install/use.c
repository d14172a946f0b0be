/* SPDX-License-Identifier: MIT
 *
 * A user's program, C and C++ alike: one round trip to a private server.
 */
#include <stdio.h>
#include <string.h>
#include <tackle/tackle.h>

static int fail(void)
{
    fprintf(stderr, "%s\n", tkl_errmsg());
    return 1;
}

int main(void)
{
    tkl_client *client;
    tkl_reply *reply;
    if (tkl_open("embedded:", NULL, &client) != TKL_OK)
        return fail();
    if (tkl_callz(client, NULL, "SET", "greeting", "hello", NULL) != TKL_OK ||
        tkl_callz(client, &reply, "GET", "greeting", NULL) != TKL_OK)
        return fail();
    printf("%s from tackle %s\n", tkl_reply_str(reply), tkl_version());
    tkl_reply_free(reply);
    tkl_close(client);
    return strcmp(TKL_VERSION, tkl_version()) != 0;
}
