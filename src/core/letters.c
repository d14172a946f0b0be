/* SPDX-License-Identifier: MIT */
#include "core/letters.h"

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

bool tkl__same_letters(const char *a, const char *b, size_t count)
{
    size_t i = 0;
    while (i < count && small(a[i]) == small(b[i]))
        i++;
    return i == count;
}
