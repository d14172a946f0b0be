/* SPDX-License-Identifier: MIT */
#include "ip/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { BITS = 8 * TKL__IP_SIZE, V4_AT = 12 };

static const unsigned char v4_prefix[V4_AT] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const unsigned char address[TKL__IP_SIZE])
{
    return memcmp(address, v4_prefix, V4_AT) == 0;
}

/* Copies the text as a string; false: it is too long for an address or contains a NUL. */
static bool to_string(tkl_bytes text, char out[INET6_ADDRSTRLEN])
{
    if (text.len == 0 || text.len >= INET6_ADDRSTRLEN || memchr(text.data, '\0', text.len))
        return false;
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

const char *tkl__ip_parse(tkl_bytes text, unsigned char address[TKL__IP_SIZE])
{
    char copy[INET6_ADDRSTRLEN];
    if (!to_string(text, copy))
        return "not an address";
    if (inet_pton(AF_INET6, copy, address) == 1)
        return NULL;
    memcpy(address, v4_prefix, V4_AT);
    return inet_pton(AF_INET, copy, address + V4_AT) == 1 ? NULL : "not an address";
}

/* ---- Numbers ------------------------------------------------------------- */

/* Computes address * 10 + digit; false: it is too large. */
static bool append_digit(unsigned char address[TKL__IP_SIZE], unsigned digit)
{
    unsigned carry = digit;
    for (int i = TKL__IP_SIZE - 1; i >= 0; i--) {
        carry += address[i] * 10u;
        address[i] = (unsigned char)carry;
        carry >>= 8;
    }
    return carry == 0;
}

static bool parse_decimal(tkl_bytes text, unsigned char address[TKL__IP_SIZE])
{
    memset(address, 0, TKL__IP_SIZE);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c < '0' || c > '9' || !append_digit(address, (unsigned)(c - '0')))
            return false;
    }
    return text.len > 0;
}

/* Parses an address, or a decimal number, which is an IPv4 address below 2^32. */
static const char *parse_address_or_number(tkl_bytes text, unsigned char address[TKL__IP_SIZE])
{
    static const unsigned char zeros[V4_AT];
    if (!parse_decimal(text, address))
        return tkl__ip_parse(text, address) ? "neither a number nor an address" : NULL;
    if (memcmp(address, zeros, V4_AT) == 0)
        memcpy(address, v4_prefix, V4_AT);
    return NULL;
}

/* ---- Ranges -------------------------------------------------------------- */

static bool bit(const unsigned char address[TKL__IP_SIZE], int index)
{
    return address[index / 8] >> (7 - index % 8) & 1;
}

/* Reads a number from 0 to `most` without sign or leading zeros; -1: not such a number. */
static int parse_length(tkl_bytes text, int most)
{
    int length = 0;
    if (text.len == 0 || text.len > 3 || (text.len > 1 && text.data[0] == '0'))
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        length = 10 * length + (text.data[i] - '0');
    }
    return length <= most ? length : -1;
}

static const char *parse_network(tkl_bytes address, tkl_bytes length, tkl__ip_span *span)
{
    const char *wrong = tkl__ip_parse(address, span->first);
    if (wrong)
        return wrong;
    bool dotted = !memchr(address.data, ':', address.len);
    int bits = parse_length(length, dotted ? BITS - 8 * V4_AT : BITS);
    if (bits < 0)
        return "not a prefix length";
    if (dotted)
        bits += 8 * V4_AT;
    memcpy(span->last, span->first, TKL__IP_SIZE);
    for (int i = bits; i < BITS; i++) {
        if (bit(span->first, i))
            return "the address has bits behind its prefix";
        span->last[i / 8] |= (unsigned char)(0x80 >> i % 8);
    }
    return NULL;
}

static const char *check_order(const tkl__ip_span *span)
{
    return memcmp(span->first, span->last, TKL__IP_SIZE) > 0 ? "reversed: it ends before it begins"
                                                             : NULL;
}

const char *tkl__ip_parse_ends(tkl_bytes first, tkl_bytes last, tkl__ip_span *span)
{
    const char *wrong = parse_address_or_number(first, span->first);
    if (!wrong)
        wrong = parse_address_or_number(last, span->last);
    return wrong ? wrong : check_order(span);
}

/* Splits the text at a character; false: the text does not contain it. */
static bool split(tkl_bytes text, char at, tkl_bytes *before, tkl_bytes *behind)
{
    const char *found = text.len > 0 ? memchr(text.data, at, text.len) : NULL;
    if (!found)
        return false;
    *before = (tkl_bytes){text.data, (size_t)(found - text.data)};
    *behind = (tkl_bytes){found + 1, text.len - before->len - 1};
    return true;
}

const char *tkl__ip_parse_range(tkl_bytes text, tkl__ip_span *span)
{
    tkl_bytes before, behind;
    if (split(text, '/', &before, &behind))
        return parse_network(before, behind, span);
    if (!split(text, '-', &before, &behind))
        before = behind = text;
    const char *wrong = tkl__ip_parse(before, span->first);
    if (!wrong)
        wrong = tkl__ip_parse(behind, span->last);
    return wrong ? wrong : check_order(span);
}

/* ---- Texts --------------------------------------------------------------- */

static void format_address(const unsigned char address[TKL__IP_SIZE], char text[INET6_ADDRSTRLEN])
{
    if (is_v4(address))
        inet_ntop(AF_INET, address + V4_AT, text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

/* Returns the length of the prefix if the range is one network; else -1. */
static int prefix_length(const tkl__ip_span *span)
{
    int length = 0;
    while (length < BITS && bit(span->first, length) == bit(span->last, length))
        length++;
    for (int i = length; i < BITS; i++)
        if (bit(span->first, i) || !bit(span->last, i))
            return -1;
    return length;
}

void tkl__ip_format(const tkl__ip_span *span, char text[TKL__IP_NETWORK_SIZE])
{
    char first[INET6_ADDRSTRLEN], last[INET6_ADDRSTRLEN];
    int length = prefix_length(span);
    format_address(span->first, first);
    format_address(span->last, last);
    if (length < 0)
        snprintf(text, TKL__IP_NETWORK_SIZE, "%s-%s", first, last);
    else
        snprintf(text, TKL__IP_NETWORK_SIZE, "%s/%d", first,
                 is_v4(span->first) ? length - 8 * V4_AT : length);
}
