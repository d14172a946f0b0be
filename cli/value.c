/* SPDX-License-Identifier: MIT */
#include "value.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

typedef struct unit {
    const char *name;
    int64_t scale;
} unit;

static const unit time_units[] = {
    {"ms", 1},       {"s", 1000},      {"m", 60000}, {"h", 3600000},
    {"d", 86400000}, {"w", 604800000}, {"", 1000},   {NULL, 0},
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

/* The unit that stands here, its letters being *len; 0: unknown. Where it ends, the text does, or
 * another number begins. */
static int64_t read_unit(const unit *units, const char *at, size_t *len)
{
    char name[8];
    *len = 0;
    while (isalpha((unsigned char)at[*len]))
        ++*len;
    if (*len >= sizeof name || (at[*len] != '\0' && !isdigit((unsigned char)at[*len])))
        return 0;
    memcpy(name, at, *len);
    name[*len] = '\0';
    return scale_of(units, name);
}

/* "5s", or several, each of a smaller unit than the one before: "1h30m". */
static const char *parse_scaled(const char *text, const unit *units, const char *unknown,
                                int64_t *result)
{
    int64_t before = INT64_MAX, part;
    bool too_large = false;
    *result = 0;
    if (*text == '-')
        return "must not be negative";
    do {
        decimal number;
        size_t len;
        const char *end = read_decimal(text, &number, &too_large);
        if (end == NULL)
            return too_large ? "too large" : "not a number";
        int64_t scale_by = read_unit(units, end, &len);
        if (scale_by == 0 || scale_by >= before || (len == 0 && before != INT64_MAX))
            return unknown;
        if (!scale(&number, scale_by, &part) || __builtin_add_overflow(*result, part, result))
            return "too large";
        before = scale_by;
        text = end + len;
    } while (*text != '\0');
    return NULL;
}

const char *cli_parse_duration(const char *text, int64_t *ms)
{
    return parse_scaled(text, time_units, "unknown unit; use ms, s, m, h, d or w", ms);
}

const char *cli_parse_size(const char *text, int64_t *bytes)
{
    return parse_scaled(text, size_units, "unknown unit; use b, kb, mb or gb", bytes);
}

/* ---- Times --------------------------------------------------------------- */

static const char not_a_time[] = "not a time like 2030-01-31T12:00:00Z, 12:00 or @1893456000";

/* Reads "12:00", "12:00:30" or "12:00:30.250"; NULL when it is none. */
static const char *read_clock(const char *at, struct tm *time, int64_t *fraction_ms)
{
    decimal seconds = {.divisor = 1};
    at = strptime(at, "%H:%M", time);
    if (at != NULL && *at == ':')
        at = strptime(at + 1, "%S", time);
    if (at != NULL && at[0] == '.' && isdigit((unsigned char)at[1]))
        at = read_fraction(at + 1, &seconds);
    scale(&seconds, 1000, fraction_ms);
    return at;
}

/* The end of the text, "Z" or "+02:00"; NULL when it is neither. */
static const char *read_zone(const char *at, bool *local, int *offset_s)
{
    int hours, minutes, used = 0;
    *local = *at == '\0';
    *offset_s = 0;
    if (*at == 'Z')
        return at + 1;
    if (*local)
        return at;
    if (sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5 ||
        (*at != '+' && *at != '-') || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
        return NULL;
    *offset_s = (hours * 60 + minutes) * (*at == '-' ? -60 : 60);
    return at + 1 + used;
}

/* The day must still be the same: there is no February 30. */
static const char *unix_time(struct tm *time, bool local, int64_t *seconds)
{
    int day = time->tm_mday;
    time->tm_isdst = -1;
    *seconds = local ? mktime(time) : timegm(time);
    return time->tm_mday == day ? NULL : "there is no such day";
}

static const char *parse_date(const char *text, int64_t *ms)
{
    struct tm date = {0};
    int64_t seconds, fraction_ms = 0;
    bool local;
    int offset_s;
    const char *at = strptime(text, "%Y-%m-%d", &date);
    if (at != NULL && (*at == 'T' || *at == ' '))
        at = read_clock(at + 1, &date, &fraction_ms);
    if (at != NULL)
        at = read_zone(at, &local, &offset_s);
    if (at == NULL || *at != '\0')
        return not_a_time;
    const char *wrong = unix_time(&date, local, &seconds);
    *ms = (seconds - offset_s) * 1000 + fraction_ms;
    return wrong;
}

/* Today's, or tomorrow's when that has passed. */
static const char *parse_clock(const char *text, int64_t *ms)
{
    time_t now = time(NULL);
    struct tm date;
    int64_t seconds, fraction_ms = 0;
    localtime_r(&now, &date);
    date.tm_sec = 0;
    const char *at = read_clock(text, &date, &fraction_ms);
    if (at == NULL || *at != '\0')
        return not_a_time;
    struct tm today = date;
    if (unix_time(&today, true, &seconds) != NULL || seconds <= now) {
        date.tm_mday++;
        date.tm_isdst = -1;
        seconds = mktime(&date);
    }
    *ms = seconds * 1000 + fraction_ms;
    return NULL;
}

const char *cli_parse_time(const char *text, int64_t *ms)
{
    static const unit second[] = {{"", 1000}, {NULL, 0}};
    if (*text == '@')
        return parse_scaled(text + 1, second, not_a_time, ms);
    return strchr(text, '-') != NULL && strlen(text) > 5 ? parse_date(text, ms)
                                                         : parse_clock(text, ms);
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

const char *cli_parse_rate(const char *text, int64_t *count, int64_t *period_ms)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL || slash == text)
        return "COUNT/PERIOD is needed, like 30/60s or 5/s";
    char *number = strndup(text, (size_t)(slash - text));
    const char *wrong = number != NULL ? cli_parse_integer(number, count) : "out of memory";
    free(number);
    if (wrong != NULL)
        return wrong;
    bool bare = strchr("0123456789-.", slash[1]) == NULL;
    char *period = NULL;
    if (asprintf(&period, "%s%s", bare ? "1" : "", slash + 1) < 0)
        return "out of memory";
    wrong = slash[1] == '\0' ? "the period is missing" : cli_parse_duration(period, period_ms);
    free(period);
    return wrong;
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
