/* SPDX-License-Identifier: MIT
 *
 * A limit of three, by GET, compare, INCR. Five requests are served at once by five programs: all of
 * them read before the first one counts.
 */
#include "naive.h"

enum { LIMIT = 3, REQUESTS = 5 };

static int pass_naively(void)
{
    int passed = 0;
    int64_t seen[REQUESTS];
    for (int i = 0; i < REQUESTS; i++)
        seen[i] = tkl_reply_int(COMMAND("GET", "naive-hits"));
    for (int i = 0; i < REQUESTS; i++)
        if (seen[i] < LIMIT) {
            COMMAND("INCR", "naive-hits");
            passed++;
        }
    COMMAND("DEL", "naive-hits");
    return passed;
}

/* A check looks, decides and counts in one step. */
static int pass_by_limit(void)
{
    int passed = 0;
    tkl_limit *hits;
    tkl_limit_rule rule = {.algorithm = TKL_LIMIT_WINDOW, .count = LIMIT, .period_ms = 60000};
    check(tkl_limit_open(client, tkl_str("naive-hits"), &rule, NULL, &hits));
    for (int i = 0; i < REQUESTS; i++)
        passed += tkl_limit_check(hits, tkl_str("ann"), 1, NULL) == TKL_OK;
    tkl_limit_close(hits);
    return passed;
}

int main(void)
{
    open_client();
    int naive = pass_naively(), ours = pass_by_limit();
    return compare("requests beyond the limit", naive - LIMIT, ours - LIMIT);
}
