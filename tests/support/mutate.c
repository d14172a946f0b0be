/* SPDX-License-Identifier: MIT */
#include "support/mutate.h"

#include <string.h>

/* splitmix64 */
static uint64_t roll(uint64_t *dice)
{
    uint64_t x = *dice += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint64_t dice_below(uint64_t *dice, uint64_t limit)
{
    return roll(dice) % limit;
}

/* ---- Bytes on the wire --------------------------------------------------- */

/* Replies that are well formed, and wrong for most commands. */
static const char *const replies[] = {
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "$0\r\n\r\n",
    "+OK\r\n",
    "+\r\n",
    ":0\r\n",
    ":-1\r\n",
    ":1\r\n",
    ":9223372036854775807\r\n",
    ":-9223372036854775808\r\n",
    "-ERR \x1b[31mno\x07\r\n",
    "-MOVED 1 127.0.0.1:1\r\n",
    "-MOVED 99999 x\r\n",
    "-ASK 0 :0\r\n",
    "-NOSCRIPT no\r\n",
    "-ERR Function not found\r\n",
    "-LOADING not yet\r\n",
    "*1\r\n$-1\r\n",
    "*1\r\n*0\r\n",
    "*1\r\n:-1\r\n",
    "*2\r\n$1\r\n0\r\n*0\r\n",
    "*2\r\n$1\r\n7\r\n*1\r\n$1\r\nx\r\n",
    "*2\r\n:0\r\n$3\r\ninf\r\n",
    "*3\r\n:0\r\n:0\r\n:0\r\n",
    "*4\r\n:0\r\n$0\r\n\r\n$3\r\nnan\r\n:-5\r\n",
    "*4\r\n$20\r\n99999999999999999999\r\n:1\r\n*1\r\n:1\r\n-ERR x\r\n",
    "*8\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n",
    "$30\r\n999999999999999999999999999999\r\n",
    "$5\r\n-1e99\r\n",
};

static size_t put_text(char *data, size_t at, const char *text)
{
    size_t len = strlen(text);
    memcpy(data + at, text, len);
    return at + len;
}

static size_t insert_text(char *data, size_t len, size_t at, const char *text)
{
    size_t more = strlen(text);
    memmove(data + at + more, data + at, len - at);
    memcpy(data + at, text, more);
    return len + more;
}

size_t mutate_bytes(uint64_t *dice, char *data, size_t len)
{
    static const char types[] = "+-:$*_#,(=~%>";
    static const char *const numbers[] = {"9", "-", "99999999", "18446744073709551615", "0x", "."};
    size_t at = dice_below(dice, len), run = 1 + dice_below(dice, 8);
    switch (dice_below(dice, 12)) {
    case 0:
        data[at] = (char)(data[at] ^ (1 << dice_below(dice, 8)));
        return len;
    case 1:
        data[at] = (char)roll(dice);
        return len;
    case 2:
        data[0] = types[dice_below(dice, sizeof types - 1)];
        return len;
    case 3:
        return insert_text(data, len, len > 1 ? 1 : 0, numbers[dice_below(dice, 6)]);
    case 4:
        return insert_text(data, len, at, numbers[dice_below(dice, 6)]);
    case 5:
        return at > 0 ? at : 1;
    case 6:
        if (at + run >= len)
            return len;
        memmove(data + at, data + at + run, len - at - run);
        return len - run;
    default:
        return put_text(data, 0, replies[dice_below(dice, sizeof replies / sizeof *replies)]);
    }
}
