/* SPDX-License-Identifier: MIT
 *
 * A cached value that is missing: GET, compute, SET. Callers that come during the computation
 * compute it, too.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "naive.h"

enum { CALLERS = 5 };

static atomic_int computed;

static int ask_naively(void)
{
    int computing = 0;
    for (int i = 0; i < CALLERS; i++) /* all of them ask while the first computes */
        computing += tkl_reply_is_nil(COMMAND("GET", "naive-page"));
    for (int i = 0; i < computing; i++)
        COMMAND("SET", "naive-page", "the page");
    COMMAND("DEL", "naive-page");
    return computing;
}

static int compute_page(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    (void)key;
    (void)arg;
    computed++;
    usleep(200000);
    return tkl_cache_give(result, tkl_str("the page"));
}

static void *ask_cache(void *cache)
{
    tkl_cache_value *value;
    check(tkl_cache_fetch(cache, tkl_str("naive-page"), compute_page, NULL, 10000, &value));
    tkl_cache_value_free(value);
    return NULL;
}

/* One caller has the lease to compute. The others wait for it. */
static int ask_by_cache(void)
{
    tkl_cache *cache;
    pthread_t callers[CALLERS];
    check(tkl_cache_open(client, &(tkl_cache_options){.ttl_ms = 60000}, &cache));
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&callers[i], NULL, ask_cache, cache) != 0)
            exit(1);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], NULL);
    check(tkl_cache_drop(cache, tkl_str("naive-page")));
    tkl_cache_close(cache);
    return computed;
}

int main(void)
{
    open_client();
    int naive = ask_naively(), ours = ask_by_cache();
    return compare("computed too often", naive - 1, ours - 1);
}
