/* SPDX-License-Identifier: MIT
 *
 * All keys by KEYS: one command looks at all of them, and every other client waits meanwhile. A scan
 * takes many short steps.
 */
#include "naive.h"

/* Returns how many keys one command has looked at. */
static int64_t walk_naively(void)
{
    return (int64_t)tkl_reply_count(COMMAND("KEYS", "naive-key:*"));
}

/* The largest step of a scan that finds them all. */
static int64_t walk_by_scan(int64_t expected)
{
    tkl_scan *scan;
    tkl_scan_element element;
    tkl_scan_options options = {.match = tkl_str("naive-key:*")};
    int64_t found = 0, largest = 0;
    check(tkl_scan_open(client, &options, &scan));
    while (tkl_scan_next(scan, &element) == TKL_OK) {
        int64_t step = (int64_t)tkl_scan_rest(scan) + 1;
        largest = step > largest ? step : largest;
        found++;
    }
    tkl_scan_close(scan);
    if (found != expected)
        exit(1);
    return largest;
}

int main(void)
{
    open_client();
    COMMAND("EVAL", "for i = 1, 20000 do redis.call('SET', 'naive-key:' .. i, i) end", "0");
    int64_t naive = walk_naively(), ours = walk_by_scan(naive);
    COMMAND("EVAL", "for i = 1, 20000 do redis.call('DEL', 'naive-key:' .. i) end", "0");
    return compare_less("keys in one step", naive, ours);
}
