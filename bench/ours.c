/* SPDX-License-Identifier: MIT */
#include "ours.h"

#include <stdlib.h>

void check(int rc)
{
    if (rc != TKL_OK)
        bench_die("%s: %s", tkl_strerror(rc), tkl_errmsg());
}

void *ours_alloc(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        bench_die("out of memory");
    return memory;
}

tkl_client *ours_client(const bench_run *run, const bench_contender *self)
{
    tkl_client *client;
    check(tkl_open(run->url, &(tkl_options){.pool_size = self->pool}, &client));
    check(tkl_callz(client, NULL, "PING", NULL));
    return client;
}
