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
    return code == TKL_ENOTSENT || code == TKL_ETIMEOUT || code == TKL_EUNKNOWN ||
           code == TKL_EUNREADY || code == TKL_EREADONLY || code == TKL_EOOM;
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
    return code;
}

int tkl__fail_errno(int code, const char *format, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(last_text, sizeof last_text, format, args);
    va_end(args);
    if (n >= 0 && n < TEXT_MAX)
        snprintf(last_text + n, TEXT_MAX - (size_t)n, ": %s", strerror(saved));
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
    if (n >= 0 && n < TEXT_MAX)
        snprintf(last_text + n, TEXT_MAX - (size_t)n, ": %s", inner);
    return code;
}

int tkl__nomem(void)
{
    return tkl__no(TKL_ENOMEM);
}
