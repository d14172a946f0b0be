/* SPDX-License-Identifier: MIT
 *
 * A crawler that fetches every page once: a Bloom filter remembers the pages in ten bits each,
 * for all crawlers together.
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
    static const char *const links[] = {"/", "/about", "/news", "/about", "/", "/news/1"};
    enum { LINKS = sizeof links / sizeof *links };
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    tkl_bloom *seen;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    const tkl_bloom_options options = {.error = 0.001, .capacity = 1000000};
    stop_on(tkl_bloom_open(client, tkl_str("crawled"), &options, &seen));

    tkl_bytes pages[LINKS];
    bool added[LINKS];
    for (int i = 0; i < LINKS; i++)
        pages[i] = tkl_str(links[i]);
    stop_on(tkl_bloom_add(seen, pages, LINKS, added));
    for (int i = 0; i < LINKS; i++)
        printf("%-8s %s\n", links[i], added[i] ? "fetch" : "seen before");

    tkl_bloom_close(seen);
    tkl_close(client);
}
