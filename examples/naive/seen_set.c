/* SPDX-License-Identifier: MIT
 *
 * Which addresses has a crawler seen? A set keeps each address whole. A Bloom filter keeps ten bits
 * of each, and errs for one in a hundred addresses that are new.
 */
#include "naive.h"

enum { PAGES = 20000 };

/* Returns the bytes for all addresses. */
static int64_t remember_naively(void)
{
    COMMAND("EVAL",
            "for i = 1, 20000 do redis.call('SADD', KEYS[1], 'https://example.org/' .. i) end", "1",
            "naive-seen");
    int64_t bytes = tkl_reply_int(COMMAND("MEMORY", "USAGE", "naive-seen", "SAMPLES", "0"));
    COMMAND("DEL", "naive-seen");
    return bytes;
}

static int64_t remember_by_bloom(void)
{
    static char addresses[PAGES][32];
    static tkl_bytes pages[PAGES];
    tkl_bloom *seen;
    tkl_bloom_info *info;
    tkl_bloom_options options = {.capacity = PAGES};
    for (int i = 0; i < PAGES; i++) {
        snprintf(addresses[i], sizeof addresses[i], "https://example.org/%d", i + 1);
        pages[i] = tkl_str(addresses[i]);
    }
    check(tkl_bloom_open(client, tkl_str("naive-seen"), &options, &seen));
    check(tkl_bloom_add(seen, pages, PAGES, NULL));
    check(tkl_bloom_show(seen, &info));
    int64_t bytes = info->bytes;
    tkl_bloom_info_free(info);
    check(tkl_bloom_drop(seen));
    tkl_bloom_close(seen);
    return bytes;
}

int main(void)
{
    open_client();
    int64_t naive = remember_naively(), ours = remember_by_bloom();
    return compare_less("bytes for 20,000 addresses", naive, ours);
}
