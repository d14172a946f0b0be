/* SPDX-License-Identifier: MIT
 *
 * The last line of a zone's file: a rule for the changes of clocks in every year after the last
 * entry. It has the form of POSIX's TZ, with times from -167 to 167 hours (RFC 8536).
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "cron/calendar.h"
#include "cron/zone.h"

/* ---- Reading ------------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
} cursor;

static bool skip_char(cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool read_number(cursor *c, int min, int max, int *value)
{
    int digits = 0, n = 0;
    for (; c->at < c->end && isdigit((unsigned char)*c->at) && digits < 3; digits++)
        n = n * 10 + (*c->at++ - '0');
    *value = n;
    return digits > 0 && n >= min && n <= max;
}

/* Skips a name, "EST" or "<-03>", which is not needed. */
static bool skip_name(cursor *c)
{
    const char *start = c->at;
    if (skip_char(c, '<')) {
        while (c->at < c->end && *c->at != '>')
            c->at++;
        return skip_char(c, '>');
    }
    while (c->at < c->end && isalpha((unsigned char)*c->at))
        c->at++;
    return c->at - start >= 3;
}

/* Reads "[+-]h[:m[:s]]". */
static bool read_span(cursor *c, int hours_max, int64_t *seconds)
{
    int hours, minutes = 0, rest = 0;
    bool negative = skip_char(c, '-');
    if (!negative)
        skip_char(c, '+');
    if (!read_number(c, 0, hours_max, &hours))
        return false;
    if (skip_char(c, ':') &&
        (!read_number(c, 0, 59, &minutes) || (skip_char(c, ':') && !read_number(c, 0, 59, &rest))))
        return false;
    *seconds = hours * 3600 + minutes * 60 + rest;
    if (negative)
        *seconds = -*seconds;
    return true;
}

static bool read_turn(cursor *c, tkl__cron_turn *t)
{
    *t = (tkl__cron_turn){.kind = skip_char(c, 'M')   ? 'M'
                                  : skip_char(c, 'J') ? 'J'
                                                      : 'n',
                          .time = 2 * 3600};
    bool good;
    if (t->kind == 'M')
        good = read_number(c, 1, 12, &t->month) && skip_char(c, '.') &&
               read_number(c, 1, 5, &t->week) && skip_char(c, '.') && read_number(c, 0, 6, &t->day);
    else
        good = read_number(c, t->kind == 'J', 365, &t->day);
    return good && (!skip_char(c, '/') || read_span(c, 167, &t->time));
}

bool tkl__cron_rule_parse(tkl_bytes text, tkl__cron_rule *rule)
{
    cursor c = {text.data, text.data + text.len};
    *rule = (tkl__cron_rule){0};
    if (!skip_name(&c) || !read_span(&c, 24, &rule->standard))
        return false;
    rule->standard = -rule->standard; /* POSIX counts to the west */
    rule->summer = rule->standard;
    if (c.at == c.end)
        return true;
    if (!skip_name(&c))
        return false;
    rule->summer = rule->standard + 3600;
    if (c.at < c.end && *c.at != ',') {
        if (!read_span(&c, 24, &rule->summer))
            return false;
        rule->summer = -rule->summer;
    }
    rule->turns = true;
    return skip_char(&c, ',') && read_turn(&c, &rule->begin) && skip_char(&c, ',') &&
           read_turn(&c, &rule->end) && c.at == c.end;
}

/* ---- Using --------------------------------------------------------------- */

static int64_t nth_weekday(int64_t year, const tkl__cron_turn *t)
{
    int64_t first = tkl__cron_days_of((tkl__cron_date){year, t->month, 1});
    int day = (t->day - tkl__cron_weekday_of(first) + 7) % 7 + (t->week - 1) * 7;
    return first + (day < tkl__cron_month_days(year, t->month) ? day : day - 7); /* 5: the last */
}

static int64_t day_of(int64_t year, const tkl__cron_turn *t)
{
    if (t->kind == 'M')
        return nth_weekday(year, t);
    int64_t january = tkl__cron_days_of((tkl__cron_date){year, 1, 1});
    if (t->kind == 'n')
        return january + t->day;
    return january + t->day - 1 + (t->day >= 60 && tkl__cron_leap(year));
}

/* A change of the clocks: the offset from `at` on. */
typedef struct change {
    int64_t at, offset;
} change;

/* The time of a turn is in the local time before it. */
static change change_of(int64_t year, const tkl__cron_turn *t, int64_t before, int64_t after)
{
    return (change){day_of(year, t) * TKL__DAY_S + t->time - before, after};
}

/* Inserts a change behind those that are not later. */
static void insert_turn(change *list, int count, change new)
{
    int i = count;
    for (; i > 0 && list[i - 1].at > new.at; i--)
        list[i] = list[i - 1];
    list[i] = new;
}

/* A turn may be up to a week outside its year, so two years on either side are enough. When an end
 * and the next begin coincide (summer time all year) the begin comes last and counts. */
#define YEARS 2

int64_t tkl__cron_rule_offset(const tkl__cron_rule *rule, int64_t at, int64_t *until)
{
    change list[2 * (2 * YEARS + 1)];
    int count = 0, i = 0;
    *until = INT64_MAX;
    if (!rule->turns)
        return rule->standard;
    int64_t year = tkl__cron_date_of(tkl__cron_floor_div(at, TKL__DAY_S)).year;
    for (int64_t y = year - YEARS; y <= year + YEARS; y++) {
        insert_turn(list, count++, change_of(y, &rule->end, rule->summer, rule->standard));
        insert_turn(list, count++, change_of(y, &rule->begin, rule->standard, rule->summer));
    }
    while (i < count - 1 && list[i + 1].at <= at)
        i++;
    *until = list[i + 1].at;
    return list[i].offset;
}
