/* SPDX-License-Identifier: MIT
 *
 * A user's program with text that is not ASCII.
 */
#include <stdio.h>
#include <tackle/tackle.h>

int main(void)
{
    tkl_client *client;
    tkl_recent *recent;
    tkl_names *found;
    tkl_bytes contact = TKL_LIT("Ängström");
    int rc = tkl_open("embedded:", NULL, &client);
    if (rc == TKL_OK)
        rc = tkl_recent_open(client, tkl_str("ann"), NULL, &recent);
    if (rc == TKL_OK)
        rc = tkl_recent_add(recent, &contact, 1);
    if (rc == TKL_OK)
        rc = tkl_recent_complete(recent, tkl_str("ÄN"), 1, &found);
    if (rc != TKL_OK || found->count != 1) {
        fprintf(stderr, "%s\n", tkl_errmsg());
        return 1;
    }
    printf(TKL_FMT "\n", TKL_ARG(found->items[0]));
    tkl_names_free(found);
    tkl_recent_close(recent);
    tkl_close(client);
    return 0;
}
