/* SPDX-License-Identifier: MIT
 *
 * Keeps pages that are slow to compute. Ten threads fetch the same page at once: it is computed
 * once.
 *
 *     cache                                         # on a private server
 *     TACKLE_URL=redis://cache.example cache        # start it several times
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tackle/tackle.h>

enum { THREADS = 10 };

static int make_page(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    const struct timespec slow = {.tv_nsec = 200000000};
    (void)arg;
    printf("making " TKL_FMT "\n", TKL_ARG(key));
    nanosleep(&slow, NULL);
    return tkl_cache_give(result, tkl_str("<h1>Hello</h1>"));
}

static void *show_page(void *cache)
{
    tkl_cache_value *value;
    if (tkl_cache_fetch(cache, tkl_str("page/7"), make_page, NULL, 5000, &value) == TKL_OK)
        printf(TKL_FMT "%s\n", TKL_ARG(value->data), value->stale ? " (old)" : "");
    else
        fprintf(stderr, "cache: %s\n", tkl_errmsg());
    tkl_cache_value_free(value);
    return NULL;
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client = NULL;
    tkl_cache *cache = NULL;
    pthread_t threads[THREADS];
    int rc = tkl_open(url ? url : "embedded:", NULL, &client);
    if (rc == TKL_OK)
        rc = tkl_cache_open(client, &(tkl_cache_options){.ttl_ms = 60000}, &cache);
    for (int i = 0; rc == TKL_OK && i < THREADS; i++)
        pthread_create(&threads[i], NULL, show_page, cache);
    for (int i = 0; rc == TKL_OK && i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (rc != TKL_OK)
        fprintf(stderr, "cache: %s\n", tkl_errmsg());
    tkl_cache_close(cache);
    tkl_close(client);
    return rc == TKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
