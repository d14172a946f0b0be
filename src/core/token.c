/* SPDX-License-Identifier: MIT */
#include "core/token.h"

#include <string.h>

#include "core/clock.h"

static const char digits[] = "0123456789abcdef";

void tkl__token_new(char token[TKL_TOKEN_SIZE])
{
    unsigned char bytes[(TKL_TOKEN_SIZE - 1) / 2];
    tkl__random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        token[2 * i] = digits[bytes[i] >> 4];
        token[2 * i + 1] = digits[bytes[i] & 15];
    }
    token[TKL_TOKEN_SIZE - 1] = '\0';
}

void tkl__token_letters(char *to, size_t count)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    tkl__random(to, count);
    for (size_t i = 0; i < count; i++)
        to[i] = letters[(unsigned char)to[i] & 63];
    to[count] = '\0';
}

bool tkl__is_token(const char *text)
{
    return strlen(text) == TKL_TOKEN_SIZE - 1 && strspn(text, digits) == TKL_TOKEN_SIZE - 1;
}
