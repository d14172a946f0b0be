/* SPDX-License-Identifier: MIT */
#include "value.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct unit {
    const char *name;
    int64_t scale;
} unit;

static const unit time_units[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"", 1000}, {NULL, 0},
};

static const unit size_units[] = {
    {"b", 1}, {"kb", 1LL << 10}, {"mb", 1LL << 20}, {"gb", 1LL << 30}, {"", 1}, {NULL, 0},
};

static int64_t scale_of(const unit *units, const char *name)
{
    for (; units->name != NULL; units++)
        if (strcasecmp(units->name, name) == 0)
            return units->scale;
    return 0;
}

/* A number "whole.fraction" in exact arithmetic: the value is whole + fraction / divisor. */
typedef struct decimal {
    int64_t whole;
    int64_t fraction;
    int64_t divisor;
} decimal;

/* Digits after the ninth are read and ignored: 10^9 times the largest scale, 2^30, still fits,
 * and nobody means less than a billionth of a day. */
static const char *read_fraction(const char *at, decimal *number)
{
    while (isdigit((unsigned char)*at)) {
        if (number->divisor < 1000000000) {
            number->fraction = number->fraction * 10 + (*at - '0');
            number->divisor *= 10;
        }
        at++;
    }
    return at;
}

/* Returns where the number ends; NULL: there is none, or it is too large. */
static const char *read_decimal(const char *at, decimal *number, bool *too_large)
{
    *number = (decimal){.divisor = 1};
    if (!isdigit((unsigned char)*at))
        return NULL;
    for (; isdigit((unsigned char)*at); at++)
        if (__builtin_mul_overflow(number->whole, 10, &number->whole) ||
            __builtin_add_overflow(number->whole, *at - '0', &number->whole)) {
            *too_large = true;
            return NULL;
        }
    if (at[0] == '.' && isdigit((unsigned char)at[1]))
        at = read_fraction(at + 1, number);
    return at;
}

/* Rounds up: what is more than nothing must not become nothing. */
static bool scale(const decimal *number, int64_t scale_by, int64_t *result)
{
    int64_t part = (number->fraction * scale_by + number->divisor - 1) / number->divisor;
    return !__builtin_mul_overflow(number->whole, scale_by, result) &&
           !__builtin_add_overflow(*result, part, result);
}

static const char *parse_scaled(const char *text, const unit *units, const char *unknown,
                                int64_t *result)
{
    decimal number;
    bool too_large = false;
    if (*text == '-')
        return "must not be negative";
    const char *end = read_decimal(text, &number, &too_large);
    if (too_large)
        return "too large";
    if (end == NULL)
        return "not a number";
    int64_t scale_by = scale_of(units, end);
    if (scale_by == 0)
        return unknown;
    return scale(&number, scale_by, result) ? NULL : "too large";
}

const char *cli_parse_duration(const char *text, int64_t *ms)
{
    return parse_scaled(text, time_units, "unknown unit; use ms, s, m, h or d", ms);
}

const char *cli_parse_size(const char *text, int64_t *bytes)
{
    return parse_scaled(text, size_units, "unknown unit; use b, kb, mb or gb", bytes);
}

const char *cli_parse_integer(const char *text, int64_t *number)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*digits))
        return "not a whole number";
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (*end != '\0')
        return "not a whole number";
    return errno == ERANGE ? "too large" : NULL;
}

const char *cli_parse_choice(const char *text, const char *choices)
{
    size_t len = strlen(text);
    for (const char *word = choices; word != NULL;) {
        const char *bar = strchr(word, '|');
        size_t word_len = bar != NULL ? (size_t)(bar - word) : strlen(word);
        if (len == word_len && memcmp(text, word, len) == 0)
            return NULL;
        word = bar != NULL ? bar + 1 : NULL;
    }
    return "not one of the choices";
}
