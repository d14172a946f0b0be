/* SPDX-License-Identifier: MIT */
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024

static _Thread_local char last_text[TEXT_MAX];

tkl_bytes tkl_str(const char *text)
{
    return (tkl_bytes){text, text ? strlen(text) : 0};
}

const char *tkl_strerror(int code)
{
    switch (code) {
#define TEXT_CASE(name, value, exit, text) \
    case value:                            \
        return text;
        TKL_CODES(TEXT_CASE)
#undef TEXT_CASE
    }
    return "unknown code";
}

const char *tkl_codename(int code)
{
    switch (code) {
#define NAME_CASE(name, value, exit, text) \
    case value:                            \
        return #name;
        TKL_CODES(NAME_CASE)
#undef NAME_CASE
    }
    return "unknown code";
}

bool tkl_is_unknown(int code)
{
    return code == TKL_ETIMEOUT || code == TKL_EUNKNOWN || code == TKL_EPROTO;
}

bool tkl_is_transient(int code)
{
    return tkl__may_pass(code) || code == TKL_EREADONLY || code == TKL_EOOM;
}

bool tkl__may_pass(int code)
{
    return code == TKL_ENOTSENT || code == TKL_ETIMEOUT || code == TKL_EUNKNOWN ||
           code == TKL_EUNREADY;
}

const char *tkl_errmsg(void)
{
    return last_text;
}

void tkl__begin(void)
{
    last_text[0] = '\0';
}

int tkl__no(int code)
{
    return tkl__fail(code, "%s", tkl_strerror(code));
}

int tkl__interrupted(void)
{
    return tkl__no(TKL_EINTR);
}

/* C0 and DEL are one byte, C1 is two in UTF-8: ESC [ and its like. */
void tkl__clean_text(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned char next = i + 1 < len ? (unsigned char)text[i + 1] : 0;
        bool harmless = c == '\n' || c == '\t';
        bool c1 = c == 0xC2 && next >= 0x80 && next <= 0x9F;
        if ((c < ' ' && !harmless) || c == 0x7F || c1)
            text[i] = '?';
        if (c1)
            text[i + 1] = '?';
    }
}

static void clean_last(void)
{
    tkl__clean_text(last_text, strlen(last_text));
}

/* A server says little of why, and much of the script that met it. */
static void explain_oom(void)
{
    char said[TEXT_MAX];
    if (strncmp(last_text, "OOM", 3) != 0)
        return;
    memcpy(said, last_text, sizeof said);
    char *script = strstr(said, " script: ");
    if (script)
        *script = '\0';
    snprintf(last_text, sizeof last_text, "the server is out of memory (maxmemory): %.900s", said);
}

int tkl__fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_text, sizeof last_text, format, args);
    va_end(args);
    if (code == TKL_EOOM)
        explain_oom();
    clean_last();
    return code;
}

/* Puts the reason behind the first n bytes of the text, as much of it as there is room for. */
static void append_reason(int n, const char *reason)
{
    if (n < 0 || n >= TEXT_MAX)
        return;
    int room = TEXT_MAX - n - (int)sizeof ": ";
    snprintf(last_text + n, TEXT_MAX - (size_t)n, ": %.*s", room > 0 ? room : 0, reason);
}

int tkl__fail_errno(int code, const char *format, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(last_text, sizeof last_text, format, args);
    va_end(args);
    append_reason(n, strerror(saved));
    clean_last();
    return code;
}

int tkl__fail_in(int code, const char *format, ...)
{
    char inner[TEXT_MAX];
    memcpy(inner, last_text, sizeof inner);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(last_text, sizeof last_text, format, args);
    va_end(args);
    append_reason(n, inner);
    clean_last();
    return code;
}

int tkl__nomem(void)
{
    return tkl__no(TKL_ENOMEM);
}
