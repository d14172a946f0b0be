/* SPDX-License-Identifier: MIT */
#include "tail.h"

#include <string.h>

void cli_tail_keep(cli_tail *t, const char *data, size_t len)
{
    if (len > CLI_TAIL_MAX) {
        t->cut = true;
        data += len - CLI_TAIL_MAX;
        len = CLI_TAIL_MAX;
    }
    if (t->len + len > CLI_TAIL_MAX) {
        size_t drop = t->len + len - CLI_TAIL_MAX;
        memmove(t->text, t->text + drop, t->len - drop);
        t->len -= drop;
        t->cut = true;
    }
    memcpy(t->text + t->len, data, len);
    t->len += len;
}

const char *cli_tail_text(cli_tail *t)
{
    char *text = t->text;
    text[t->len] = '\0';
    for (size_t i = 0; i < t->len; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    while (t->len > 0 && strchr(" \t\r\n", text[t->len - 1]) != NULL)
        text[--t->len] = '\0';
    char *newline = t->cut ? strchr(text, '\n') : NULL;
    if (newline != NULL)
        return newline + 1;
    while (t->cut && (*text & 0xC0) == 0x80)
        text++;
    return text;
}
