/* SPDX-License-Identifier: MIT
 *
 * A lock on three independent servers, of which one may fail. Here they are private ones that
 * end with the program; give the URLs of yours as arguments instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

#define NODES 3

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, tkl_errmsg());
    exit(1);
}

/* Two steps, each well within the lease; between them it is renewed. */
static int work(tkl_redlock *lock)
{
    for (int step = 1; step <= 2; step++) {
        printf("step %d: valid for %.0f seconds\n", step, (double)tkl_redlock_left_ms(lock) / 1000);
        if (tkl_redlock_renew(lock, 0) != TKL_OK)
            return -1; /* lost, or about to be: stop */
    }
    return 0;
}

int main(int argc, char **argv)
{
    tkl_client *nodes[NODES];
    for (int i = 0; i < NODES; i++)
        if (tkl_open(i + 1 < argc ? argv[i + 1] : "embedded:", NULL, &nodes[i]) != TKL_OK)
            die("open");

    tkl_redlock *lock;
    tkl_redlock_options options = {.lease_ms = 10000};
    if (tkl_redlock_open(nodes, NODES, tkl_str("invoices"), &options, &lock) != TKL_OK)
        die("redlock");

    int code = tkl_redlock_acquire(lock, 5000);
    if (code == TKL_BUSY)
        printf("another owner has it\n");
    else if (code != TKL_OK)
        die("acquire");
    else if (work(lock) != 0)
        printf("lost on the way\n");
    else if (tkl_redlock_release(lock) == TKL_OK)
        printf("done\n");

    tkl_redlock_close(lock);
    for (int i = 0; i < NODES; i++)
        tkl_close(nodes[i]);
    return 0;
}
