/* SPDX-License-Identifier: MIT */
#include "core/lex.h"

void tkl__lex_escape(tkl__buf *out, tkl_bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c > 1)
            tkl__buf_add(out, &text.data[i], 1);
        else
            tkl__buf_add(out, c ? "\x01\x81" : "\x01\x80", 2);
    }
}

size_t tkl__lex_unescape(tkl_bytes text, char *out)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\x01' && i + 1 < text.len)
            out[len++] = (char)(text.data[++i] & 0x7f);
        else
            out[len++] = text.data[i];
    }
    return len;
}

void tkl__lex_above(tkl__buf *out, tkl_bytes prefix)
{
    size_t len = prefix.len;
    while (len > 0 && prefix.data[len - 1] == '\xff')
        len--;
    if (len == 0) {
        tkl__buf_addz(out, "+");
        return;
    }
    char last = (char)(prefix.data[len - 1] + 1);
    tkl__buf_addz(out, "(");
    tkl__buf_add(out, prefix.data, len - 1);
    tkl__buf_add(out, &last, 1);
}
