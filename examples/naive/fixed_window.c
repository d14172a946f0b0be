/* SPDX-License-Identifier: MIT
 *
 * Ten in a minute, by a counter for each minute. Ten at the end of one minute and ten at the
 * beginning of the next are twenty within a second.
 */
#include "naive.h"

enum { LIMIT = 10 };

/* How many of a burst pass in the minute of this key. */
static int burst_naively(const char *minute)
{
    int passed = 0;
    for (int i = 0; i < LIMIT; i++)
        passed += tkl_reply_int(COMMAND("INCR", minute)) <= LIMIT;
    COMMAND("EXPIRE", minute, "60");
    return passed;
}

/* Never more than ten in any 60 s, wherever they begin. */
static int burst_by_limit(void)
{
    int passed = 0;
    tkl_limit *logins;
    tkl_limit_rule rule = {.algorithm = TKL_LIMIT_WINDOW, .count = LIMIT, .period_ms = 60000};
    check(tkl_limit_open(client, tkl_str("naive-logins"), &rule, NULL, &logins));
    for (int i = 0; i < LIMIT; i++)
        passed += tkl_limit_check(logins, tkl_str("ann"), 1, NULL) == TKL_OK;
    tkl_limit_close(logins);
    return passed;
}

int main(void)
{
    open_client();
    int naive = burst_naively("naive-logins:12:00") + burst_naively("naive-logins:12:01");
    int ours = burst_by_limit() + burst_by_limit();
    return compare("logins beyond ten in a minute", naive - LIMIT, ours - LIMIT);
}
