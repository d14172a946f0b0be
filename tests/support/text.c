/* SPDX-License-Identifier: MIT */
#include "support/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *test_text(const char *format, ...)
{
    static _Thread_local char texts[64][256];
    static _Thread_local size_t next;
    char *text = texts[next++ % 64];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof texts[0], format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof texts[0])
        abort();
    return text;
}
