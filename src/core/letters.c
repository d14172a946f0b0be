/* SPDX-License-Identifier: MIT */
#include "core/letters.h"

#include <string.h>

bool tkl__same_bytes(tkl_bytes a, tkl_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

int tkl__compare_bytes(tkl_bytes a, tkl_bytes b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.data, b.data, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool tkl__begins_with(tkl_bytes text, tkl_bytes prefix)
{
    return text.len >= prefix.len && tkl__same_bytes((tkl_bytes){text.data, prefix.len}, prefix);
}

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
