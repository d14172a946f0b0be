/* SPDX-License-Identifier: MIT */
#include "support/typed.h"

#include <string.h>

/* The text typed so far: the initials of the characters. */
typedef struct typing {
    char initials[32];
    size_t count;
    bool chinese; /* a character was typed as itself: then nothing is misread */
} typing;

static bool goes_on(const char *letters, const char *query, typing so_far);

/* Whether the initials are read as a syllable instead; for the characters that models have. */
static bool is_misread(const typing *t)
{
    static const char *const begun[] = {"zh",  "zha", "ch",  "cha", "sh",  "sha", "an",
                                        "ba",  "ban", "ha",  "han", "na",  "nan", "la",
                                        "lan", "sa",  "san", "za",  "zan", "ca",  "can"};
    for (size_t i = 0; !t->chinese && i < sizeof begun / sizeof *begun; i++)
        if (t->count == strlen(begun[i]) && memcmp(t->initials, begun[i], t->count) == 0)
            return true;
    return false;
}

/* Whether the query types a character this way: whole, or by its first letter, or by zh, ch, sh; at
 * the end of the query by any beginning. `initial` stands for it; `behind` are the characters that
 * follow. */
static bool typed_this_way(const char *way, size_t len, char initial, const char *behind,
                           const char *query, typing so_far)
{
    size_t same = 0;
    bool latin = way[0] >= 'a' && way[0] <= 'z';
    so_far.initials[so_far.count++] = initial;
    while (same < len && way[same] == query[same])
        same++;
    return (latin && same > 0 && goes_on("", query + same, so_far)) ||
           (same == len && goes_on(behind, query + len, so_far)) ||
           (latin && same >= 1 && goes_on(behind, query + 1, so_far)) ||
           (latin && same >= 2 && way[1] == 'h' && goes_on(behind, query + 2, so_far));
}

/* Whether the rest of the query types the rest of the characters. A character that is typed as
 * itself may stand for any of its initials. */
static bool goes_on(const char *letters, const char *query, typing so_far)
{
    if (!*query)
        return !is_misread(&so_far);
    if (!*letters)
        return false;
    const char *end = letters + 1 + strcspn(letters + 1, "\x1e\x1f");
    const char *first = letters + 2, *second = first + strcspn(first, ",") + 1;
    typing itself = so_far;
    itself.chinese = true;
    for (const char *way = second; way < end; way += strcspn(way, ",") + 1)
        if (typed_this_way(way, strcspn(way, ","), *way, end, query, so_far) ||
            typed_this_way(first, strcspn(first, ","), *way, end, query, itself))
            return true;
    return second >= end && typed_this_way(first, strcspn(first, ","), *first, end, query, so_far);
}

bool typed_so(const char *letters, const char *query)
{
    return goes_on(letters, query, (typing){.count = 0});
}
