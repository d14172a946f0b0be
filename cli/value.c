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

#include "clock.h"

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

/* Rounds up, so that a number above 0 never becomes 0. */
static bool scale(const decimal *number, int64_t scale_by, int64_t *result)
{
    int64_t part = (number->fraction * scale_by + number->divisor - 1) / number->divisor;
    return !__builtin_mul_overflow(number->whole, scale_by, result) &&
           !__builtin_add_overflow(*result, part, result);
}

/* Reads the unit at `at`, which has *len letters; 0: unknown. A unit ends at the end of the text or
 * where the next number begins. */
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

static const char not_a_time[] = "not a time like 12:00, 2030-01-31, 2030-01-31T12:00:00Z, '10m "
                                 "ago', 'yesterday 14:00' or @1893456000";

/* A moment as it is written: a day, a time of that day, and the zone of both. */
typedef struct written {
    struct tm date;
    int64_t fraction_ms;
    bool local;
    int offset_s; /* offset from UTC, unless the time is local */
} written;

/* Reads "12:00", "12:00:30" or "12:00:30.250"; NULL: it is no time. */
static const char *read_clock(const char *at, written *w)
{
    decimal seconds = {.divisor = 1};
    at = strptime(at, "%H:%M", &w->date);
    if (at != NULL && *at == ':')
        at = strptime(at + 1, "%S", &w->date);
    if (at != NULL && at[0] == '.' && isdigit((unsigned char)at[1]))
        at = read_fraction(at + 1, &seconds);
    scale(&seconds, 1000, &w->fraction_ms);
    return at;
}

/* Reads the rest of the text: "Z", "+02:00" or nothing. False: it is something else. */
static bool read_zone(const char *at, written *w)
{
    int hours, minutes, used = 0;
    w->local = *at == '\0';
    at += *at == ' ';
    if (w->local || strcmp(at, "Z") == 0 || strcmp(at, "z") == 0)
        return true;
    if ((*at != '+' && *at != '-') || strchr("+- ", at[1]) != NULL ||
        sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5 ||
        at[1 + used] != '\0' || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    w->offset_s = (hours * 60 + minutes) * (*at == '-' ? -60 : 60);
    return true;
}

/* The Unix time of a written moment, `days` later. A day such as February 30 is refused. */
static const char *unix_time(const written *w, int days, int64_t *ms)
{
    struct tm date = w->date;
    date.tm_mday += days;
    date.tm_isdst = -1;
    int64_t seconds = w->local ? mktime(&date) : timegm(&date) - w->offset_s;
    *ms = seconds * 1000 + w->fraction_ms;
    return days != 0 || date.tm_mday == w->date.tm_mday ? NULL : "there is no such day";
}

/* "2030-01-31", "2030-01-31T12:00Z", "2030-01-31 12:00:30.5 +02:00" */
static const char *parse_date(const char *text, int64_t *ms)
{
    written w = {0};
    const char *at = strptime(text, "%Y-%m-%d", &w.date);
    if (at != NULL && (*at == 'T' || *at == 't' || (*at == ' ' && isdigit((unsigned char)at[1]))))
        at = read_clock(at + 1, &w);
    if (at == NULL || !read_zone(at, &w))
        return not_a_time;
    return unix_time(&w, 0, ms);
}

/* "31/Jan/2030:12:00:00 +0000", perhaps in brackets: the time of a line in the log of a web server.
 * NULL also when the text is something else; *is_logged says which. */
static const char *parse_logged(const char *text, bool *is_logged, int64_t *ms)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    written w = {0};
    char month[4], sign;
    int hours, minutes, used = 0;
    bool brackets = *text == '[';
    if (sscanf(text + brackets, "%2d/%3[A-Za-z]/%4d:%2d:%2d:%2d %c%2d%2d%n", &w.date.tm_mday, month,
               &w.date.tm_year, &w.date.tm_hour, &w.date.tm_min, &w.date.tm_sec, &sign, &hours,
               &minutes, &used) != 9)
        used = 0;
    *is_logged = used == 26 && strcmp(text + brackets + used, brackets ? "]" : "") == 0;
    if (!*is_logged)
        return NULL;
    const char *name = strstr(months, month);
    if (name == NULL || (name - months) % 3 != 0 || strlen(month) != 3 || w.date.tm_hour > 23 ||
        w.date.tm_min > 59 || w.date.tm_sec > 60 || (sign != '+' && sign != '-') || hours > 23 ||
        minutes > 59 || strspn(text + brackets + 12, "0123456789: +-]") < 14)
        return not_a_time;
    w.date.tm_mon = (int)(name - months) / 3;
    w.date.tm_year -= 1900;
    w.offset_s = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
    return unix_time(&w, 0, ms);
}

/* "12:00", "12:00Z": this time today, or a day later or earlier if it must be in the future or
 * past. `days`: a named day, counted from today; NULL: no day was named. */
static const char *parse_clock(const char *text, const int *days, cli_nearest_time which,
                               int64_t *ms)
{
    int64_t now_ms = cli_unix_ms();
    time_t now = (time_t)(now_ms / 1000);
    written w = {0}, read = {0};
    const char *at = *text != '\0' || days == NULL ? read_clock(text, &read) : text;
    if (at == NULL || !read_zone(at, &read))
        return not_a_time;
    time_t there = now + read.offset_s;
    if ((read.local ? localtime_r(&now, &w.date) : gmtime_r(&there, &w.date)) == NULL)
        return not_a_time;
    w.date.tm_hour = read.date.tm_hour;
    w.date.tm_min = read.date.tm_min;
    w.date.tm_sec = read.date.tm_sec;
    w.fraction_ms = read.fraction_ms;
    w.local = read.local;
    w.offset_s = read.offset_s;
    if (days != NULL)
        return unix_time(&w, *days, ms);
    const char *wrong = unix_time(&w, 0, ms);
    if (wrong == NULL && which == CLI_NEXT && *ms <= now_ms)
        wrong = unix_time(&w, 1, ms);
    else if (wrong == NULL && which == CLI_LAST && *ms > now_ms)
        wrong = unix_time(&w, -1, ms);
    return wrong;
}

/* "yesterday", "tomorrow 14:00": sets *days from today and returns what follows; else NULL. */
static const char *read_day(const char *text, int *days)
{
    static const char *const names[] = {"yesterday", "today", "tomorrow"};
    for (int i = 0; i < 3; i++) {
        size_t len = strlen(names[i]);
        *days = i - 1;
        if (strncmp(text, names[i], len) == 0 && (text[len] == '\0' || text[len] == ' '))
            return text + len + (text[len] == ' ');
    }
    return NULL;
}

/* "10m ago" (sign -1) or "in 10m" (sign 1), without the word. */
static const char *parse_distance(const char *text, size_t len, int sign, int64_t *ms)
{
    char duration[64];
    int64_t distance;
    if (len == 0 || len >= sizeof duration)
        return not_a_time;
    memcpy(duration, text, len);
    duration[len] = '\0';
    const char *wrong = cli_parse_duration(duration, &distance);
    if (wrong != NULL)
        return wrong;
    return __builtin_add_overflow(cli_unix_ms(), sign * distance, ms) ? "too large" : NULL;
}

const char *cli_parse_time(const char *text, cli_nearest_time which, int64_t *ms)
{
    static const unit second[] = {{"", 1000}, {NULL, 0}};
    size_t len = strlen(text);
    int days;
    bool is_logged;
    const char *wrong = parse_logged(text, &is_logged, ms);
    if (is_logged)
        return wrong;
    const char *clock = read_day(text, &days);
    if (clock != NULL)
        return parse_clock(clock, &days, which, ms);
    if (*text == '@')
        return parse_scaled(text + 1, second, not_a_time, ms);
    if (strcmp(text, "now") == 0)
        return parse_distance("0", 1, 1, ms);
    if (strncmp(text, "in ", 3) == 0)
        return parse_distance(text + 3, len - 3, 1, ms);
    if (len > 4 && strcmp(text + len - 4, " ago") == 0)
        return parse_distance(text, len - 4, -1, ms);
    bool is_date = len > 4 && text[4] == '-';
    return is_date ? parse_date(text, ms) : parse_clock(text, NULL, which, ms);
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
