/* SPDX-License-Identifier: MIT */
#include "core/resp.h"

#include <stdlib.h>
#include <string.h>

#include "core/letters.h"

/* ---- Writing commands ---------------------------------------------------- */

/* Writes `value` in decimal at the end of a 20-byte field; returns where it starts. */
static char *decimal(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return end;
}

/* The longest head: "$18446744073709551615\r\n". */
#define HEAD_MAX 24

/* Writes a head such as "$12\r\n"; returns its end. */
static char *write_head(char *to, char mark, uint64_t value)
{
    char text[HEAD_MAX];
    char *end = text + sizeof text, *start = decimal(end, value);
    *to++ = mark;
    while (start < end)
        *to++ = *start++;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

void tkl__resp_head(tkl__buf *out, size_t argc)
{
    char *start = tkl__buf_reserve(out, HEAD_MAX);
    if (start)
        out->len += (size_t)(write_head(start, '*', argc) - start);
}

void tkl__resp_arg(tkl__buf *out, const void *data, size_t len)
{
    char *start = tkl__buf_reserve(out, HEAD_MAX + len + 2);
    if (!start)
        return;
    char *to = write_head(start, '$', len);
    if (len > 0)
        memcpy(to, data, len);
    memcpy(to + len, "\r\n", 2);
    out->len += (size_t)(to - start) + len + 2;
}

void tkl__resp_argz(tkl__buf *out, const char *text)
{
    tkl__resp_arg(out, text, strlen(text));
}

void tkl__resp_int(tkl__buf *out, int64_t value)
{
    char text[24];
    char *end = text + sizeof text;
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *start = decimal(end, magnitude);
    if (value < 0)
        *--start = '-';
    tkl__resp_arg(out, start, (size_t)(end - start));
}

void tkl__resp_command(tkl__buf *out, int argc, const char *const *argv, const size_t *lens)
{
    tkl__resp_head(out, (size_t)argc);
    for (int i = 0; i < argc; i++)
        tkl__resp_arg(out, argv[i], lens ? lens[i] : strlen(argv[i]));
}

/* ---- Reading errors ------------------------------------------------------ */

tkl__verdict tkl__error_verdict(tkl_bytes text)
{
    static const struct {
        const char *word;
        tkl__verdict verdict;
    } words[] = {
        {"MOVED ", TKL__MOVED},      {"ASK ", TKL__ASK},         {"TRYAGAIN", TKL__AGAIN},
        {"LOADING", TKL__AGAIN},     {"BUSY ", TKL__AGAIN},      {"CLUSTERDOWN", TKL__AGAIN},
        {"MASTERDOWN", TKL__AGAIN},  {"READONLY", TKL__DEMOTED}, {"FAILOVER", TKL__AGAIN},
        {"UNBLOCKED", TKL__DEMOTED}, {"NOREPLICAS", TKL__AGAIN},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tkl__begins_with(text, tkl_str(words[i].word)))
            return words[i].verdict;
    return TKL__FINAL;
}

int tkl__error_code(tkl_bytes text)
{
    static const struct {
        const char *word;
        int code;
    } words[] = {
        {"NOAUTH", TKL_EAUTH},
        {"WRONGPASS", TKL_EAUTH},
        {"NOPERM", TKL_EAUTH},
        {"ERR invalid password", TKL_EAUTH},
        {"ERR AUTH", TKL_EAUTH},
        {"ERR Client sent AUTH", TKL_EAUTH},
        /* missing permissions inside scripts: Redis 7.0, and later */
        {"ERR The user executing the script", TKL_EAUTH},
        {"ERR ACL failure in script", TKL_EAUTH},
        {"WRONGTYPE", TKL_ETYPE},
        {"DAMAGED", TKL_EDAMAGED}, /* sent by tackle's scripts */
        {"OOM", TKL_EOOM},
        {"READONLY", TKL_EREADONLY},
        {"LOADING", TKL_EUNREADY},
        {"BUSY ", TKL_EUNREADY},
        {"CLUSTERDOWN", TKL_EUNREADY},
        {"MASTERDOWN", TKL_EUNREADY},
        {"TRYAGAIN", TKL_EUNREADY},
        {"MOVED ", TKL_EUNREADY},
        {"ASK ", TKL_EUNREADY},
        {"FAILOVER", TKL_EUNREADY},
        {"NOREPLICAS", TKL_EUNREADY},
        {"ERR max number of clients", TKL_EUNREADY},
        {"CROSSSLOT", TKL_ECROSSSLOT},
        {"NOSCRIPT", TKL_ENOSCRIPT},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tkl__begins_with(text, tkl_str(words[i].word)))
            return words[i].code;
    return TKL_EREFUSED;
}

bool tkl__parse_redirect(tkl_bytes text, int *slot, char *host, int *port)
{
    char copy[320];
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';

    char *number = strchr(copy, ' ');
    char *address = number ? strchr(number + 1, ' ') : NULL;
    char *colon = address ? strrchr(address, ':') : NULL; /* IPv6 addresses have several */
    if (!colon || colon - address - 1 >= 256)
        return false;
    long slot_number = strtol(number + 1, NULL, 10);
    long port_number = strtol(colon + 1, NULL, 10);
    if (slot_number < 0 || slot_number >= TKL__SLOTS || port_number < 1 || port_number > 65535)
        return false;
    *slot = (int)slot_number;
    *port = (int)port_number;
    *colon = '\0';
    strcpy(host, address + 1);
    return true;
}
