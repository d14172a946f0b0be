/* SPDX-License-Identifier: MIT */
#include "nearest.h"

#include <string.h>

enum { LONGEST = 32 }; /* no name of ours is longer */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other. */
static size_t distance(const char *a, const char *b)
{
    size_t cost[LONGEST + 1][LONGEST + 1];
    size_t rows = strlen(a), columns = strlen(b);
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            cost[i][j] = smaller(replace, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[rows][columns];
}

void cli_nearest(cli_nearness *suggestion, const char *name)
{
    size_t len = strlen(suggestion->word);
    if (len > LONGEST || strlen(name) > LONGEST)
        return;
    size_t far = distance(suggestion->word, name);
    if (far > 1 && far > len / 3)
        return;
    if (suggestion->best == NULL || far < suggestion->distance) {
        suggestion->best = name;
        suggestion->distance = far;
    }
}
