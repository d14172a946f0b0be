/* SPDX-License-Identifier: MIT */
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/own.h"

/* The text of the calling thread or fiber. */
#define LAST_TEXT (tkl__own_now()->text)

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
    return LAST_TEXT;
}

void tkl_error_last(int code, tkl_error *error)
{
    const char *text = *LAST_TEXT ? LAST_TEXT : tkl_strerror(code);
    *error = (tkl_error){.code = code};
    if (code != TKL_OK)
        snprintf(error->text, sizeof error->text, "%s", text);
}

void tkl__begin(void)
{
    LAST_TEXT[0] = '\0';
}

int tkl__no(int code)
{
    return tkl__fail(code, "%s", tkl_strerror(code));
}

int tkl__no_or_ok(int code)
{
    return code == TKL_OK ? TKL_OK : tkl__no(code);
}

void tkl__first_note(tkl_error *first, int code)
{
    if (code == TKL_OK || first->code < 0 || (first->code > 0 && code > 0))
        return;
    tkl_error_last(code, first);
}

int tkl__first_tell(const tkl_error *first)
{
    return first->code == TKL_OK ? TKL_OK : tkl__fail(first->code, "%s", first->text);
}

int tkl__interrupted(void)
{
    return tkl__no(TKL_EINTR);
}

/* The length of the character here if it could upset a terminal, else 0. C0 and DEL are one byte;
 * C1 (U+0080 to U+009F) is two in UTF-8. U+061C is two as well: like U+200E, U+200F, U+202A to
 * U+202E and U+2066 to U+2069, it changes the direction of a text. U+2028 and U+2029 end lines. */
static size_t unsafe_length(const unsigned char *at, size_t len)
{
    if (*at == 0x7F || (*at < ' ' && *at != '\n' && *at != '\t'))
        return 1;
    if (len > 1 &&
        ((at[0] == 0xC2 && at[1] >= 0x80 && at[1] <= 0x9F) || (at[0] == 0xD8 && at[1] == 0x9C)))
        return 2;
    if (len < 3 || at[0] != 0xE2)
        return 0;
    bool direction = at[1] == 0x80 && (at[2] == 0x8E || at[2] == 0x8F);
    bool lines_and_overrides = at[1] == 0x80 && at[2] >= 0xA8 && at[2] <= 0xAE;
    bool isolates = at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9;
    return direction || lines_and_overrides || isolates ? 3 : 0;
}

void tkl__clean_text(char *text, size_t len)
{
    for (size_t i = 0, unsafe; i<len; i += unsafe> 0 ? unsafe : 1) {
        unsafe = unsafe_length((const unsigned char *)text + i, len - i);
        memset(text + i, '?', unsafe);
    }
}

static void clean_last(void)
{
    tkl__clean_text(LAST_TEXT, strlen(LAST_TEXT));
}

/* Adds the reason to an OOM error and removes the name of the script: servers say little about the
 * reason and much about the script. */
static void explain_oom(void)
{
    char said[TKL_ERROR_TEXT_SIZE];
    if (strncmp(LAST_TEXT, "OOM", 3) != 0)
        return;
    memcpy(said, LAST_TEXT, sizeof said);
    char *script = strstr(said, " script: ");
    if (script)
        *script = '\0';
    snprintf(LAST_TEXT, sizeof LAST_TEXT, "the server is out of memory (maxmemory): %.900s", said);
}

int tkl__fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(LAST_TEXT, sizeof LAST_TEXT, format, args);
    va_end(args);
    if (code == TKL_EOOM)
        explain_oom();
    clean_last();
    return code;
}

/* Appends the reason after the first n bytes of the text, as much of it as fits. */
static void append_reason(int n, const char *reason)
{
    if (n < 0 || n >= TKL_ERROR_TEXT_SIZE)
        return;
    int room = TKL_ERROR_TEXT_SIZE - n - (int)sizeof ": ";
    snprintf(LAST_TEXT + n, TKL_ERROR_TEXT_SIZE - (size_t)n, ": %.*s", room > 0 ? room : 0, reason);
}

int tkl__fail_errno(int code, const char *format, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(LAST_TEXT, sizeof LAST_TEXT, format, args);
    va_end(args);
    append_reason(n, strerror(saved));
    clean_last();
    return code;
}

int tkl__fail_in(int code, const char *format, ...)
{
    char inner[TKL_ERROR_TEXT_SIZE];
    memcpy(inner, LAST_TEXT, sizeof inner);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(LAST_TEXT, sizeof LAST_TEXT, format, args);
    va_end(args);
    append_reason(n, inner);
    clean_last();
    return code;
}

int tkl__in_doubt(int code)
{
    bool clear = code < 0 && code != TKL_EINTR && !tkl_is_unknown(code);
    if (clear && strncmp(LAST_TEXT, TKL__IN_DOUBT, strlen(TKL__IN_DOUBT)) == 0)
        return TKL_EUNKNOWN; /* a reply that says so already */
    return clear ? tkl__fail_in(TKL_EUNKNOWN, TKL__IN_DOUBT) : code;
}

int tkl__nomem(void)
{
    return tkl__no(TKL_ENOMEM);
}
