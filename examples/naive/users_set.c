/* SPDX-License-Identifier: MIT
 *
 * The users of a day in a set of their numbers: 40 to 60 bytes each. A bitmap takes an eighth of a
 * byte for each possible number, a HyperLogLog 12 to 14 KB for any number of users.
 */
#include "naive.h"

enum { USERS = 20000 };

/* Returns the bytes of one day. */
static int64_t store_naively(void)
{
    COMMAND("EVAL", "for i = 1, 20000 do redis.call('SADD', KEYS[1], i) end", "1", "naive-today");
    int64_t bytes = tkl_reply_int(COMMAND("MEMORY", "USAGE", "naive-today", "SAMPLES", "0"));
    COMMAND("DEL", "naive-today");
    return bytes;
}

static int64_t store_by_online(tkl_online_kind kind)
{
    static char numbers[USERS][8];
    static tkl_bytes users[USERS];
    tkl_online *online;
    tkl_online_report *report;
    tkl_online_options options = {.kind = kind};
    for (int i = 0; i < USERS; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%d", i + 1);
        users[i] = tkl_str(numbers[i]);
    }
    check(tkl_online_open(client, tkl_str("naive-today"), &options, &online));
    check(tkl_online_mark(online, users, USERS, NULL));
    check(tkl_online_show(online, &report));
    int64_t bytes = report->items[0].bytes;
    tkl_online_report_free(report);
    check(tkl_online_drop(online));
    tkl_online_close(online);
    return bytes;
}

int main(void)
{
    open_client();
    int64_t naive = store_naively(), ours = store_by_online(TKL_ONLINE_BITMAP);
    printf("as a HyperLogLog: %" PRId64 " bytes\n", store_by_online(TKL_ONLINE_HLL));
    return compare_less("bytes of a day", naive, ours);
}
