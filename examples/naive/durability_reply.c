/* SPDX-License-Identifier: MIT
 *
 * A program takes "OK" for "saved". The server is killed, and data that was only in memory is gone.
 * Private servers in directories of their own show it: one keeps nothing, one every write.
 */
#include <ftw.h>
#include <signal.h>

#include "naive.h"

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

/* Stores an order, kills the server and starts it again. Returns the orders that are lost. */
static int lose_order(const char *durability)
{
    char directory[] = "/tmp/naive-XXXXXX", url[128];
    tkl_server_info info;
    if (mkdtemp(directory) == NULL)
        exit(1);
    snprintf(url, sizeof url, "embedded:%s?durability=%s", directory, durability);
    check(tkl_open(url, NULL, &client));
    COMMAND("SET", "naive-order", "1"); /* it answers OK */
    check(tkl_server_status(url, &info));
    tkl_close(client);
    kill((pid_t)info.pid, SIGKILL);
    while (tkl_server_status(url, &info) != TKL_NOTFOUND)
        usleep(1000); /* until it is gone */
    check(tkl_open(url, NULL, &client));
    int lost = tkl_reply_is_nil(COMMAND("GET", "naive-order"));
    tkl_close(client);
    check(tkl_server_stop(url));
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return lost;
}

int main(void)
{
    int naive = lose_order("none"), ours = lose_order("always");
    client = NULL;
    return compare("orders lost by kill -9", naive, ours);
}
