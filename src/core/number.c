/* SPDX-License-Identifier: MIT */
#include "core/number.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest text of a number. */
#define TEXT_MAX 400

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* the C locale; 0: no memory for it */

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Switches the calling thread to the C locale; returns the previous one. */
static locale_t enter_plain(void)
{
    pthread_once(&once, make_plain);
    return plain ? uselocale(plain) : (locale_t)0;
}

static void leave_plain(locale_t before)
{
    if (before)
        uselocale(before);
}

const char *tkl__double_text(double value, char text[TKL__DOUBLE_SIZE])
{
    locale_t before = enter_plain();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, TKL__DOUBLE_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    leave_plain(before);
    return text;
}

bool tkl__double_parse(tkl_bytes bytes, double *value)
{
    char text[TEXT_MAX], *end;
    *value = 0;
    if (bytes.len == 0 || bytes.len >= sizeof text || isspace((unsigned char)*bytes.data))
        return false;
    memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = '\0';
    locale_t before = enter_plain();
    double parsed = strtod(text, &end);
    leave_plain(before);
    if (end != text + bytes.len)
        return false;
    *value = parsed;
    return true;
}

void tkl__add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = more > 0 ? INT64_MAX : INT64_MIN;
}
