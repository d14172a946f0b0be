/* SPDX-License-Identifier: MIT
 *
 * The next time of a cron expression.
 *
 * The search goes field by field: it skips months that do not match in one step, checks the days of
 * a matching month one by one, and finds hours and minutes by their bits. The rarest expression
 * (February 29 on a given weekday) is found within 40 years, that is, in some 2000 steps.
 *
 * Zones. Between two changes of its clocks a zone differs from UTC by a fixed number of seconds.
 * That is a stretch. The search goes from stretch to stretch, in local time. The effect of a change
 * depends on the hours:
 *
 *   Fixed hours ("30 2 * * *") mean a time of the day, which should come once a day. A time that
 *   clocks leave out (02:30 in spring) comes at the moment of the change (03:00), once for all
 *   times left out. A time that they show twice (02:30 in autumn) comes only the first time. For
 *   this, the search keeps the highest local time so far (`seen`), and begins three days before:
 *   further back no local time can be higher than now, for offsets are at most 26 hours.
 *
 *   Every hour ("*" or all of them: "0,15,30,45 * * * *") means an interval: every time counts,
 *   as often as clocks show it.
 */
#include "cron/cron.h"

#include <tackle/cron.h>

#include <stdint.h>

#include "core/error.h"
#include "cron/calendar.h"

#define LOOK_BACK_S (3 * TKL__DAY_S)
#define AHEAD_S     (INT64_C(50) * 366 * TKL__DAY_S)
#define ALL_HOURS   0xffffff
#define NEVER       INT64_MAX

/* ---- Without a zone ------------------------------------------------------ */

/* The lowest bit from `from` on, or -1. */
static int first_bit(uint64_t bits, int from)
{
    uint64_t left = from < 64 ? bits >> from << from : 0;
    return left ? __builtin_ctzll(left) : -1;
}

/* The first minute of the day from `minute` on, or -1. */
static int time_of_day(const tkl__cron *cron, int minute)
{
    int hour = first_bit(cron->hours, minute / 60);
    if (hour < 0)
        return -1;
    int rest = first_bit(cron->minutes, hour == minute / 60 ? minute % 60 : 0);
    if (rest < 0) {
        hour = first_bit(cron->hours, hour + 1);
        rest = first_bit(cron->minutes, 0);
    }
    return hour < 0 ? -1 : hour * 60 + rest;
}

static bool day_matches(const tkl__cron *cron, int day, int weekday)
{
    bool by_day = cron->days >> day & 1, by_weekday = cron->weekdays >> weekday & 1;
    return cron->either ? by_day || by_weekday : by_day && by_weekday;
}

/* The first day that matches, from `days` on. */
static int64_t first_day(const tkl__cron *cron, int64_t days)
{
    tkl__cron_date date = tkl__cron_date_of(days);
    for (;;) {
        if (cron->months >> date.month & 1)
            for (; date.day <= tkl__cron_month_days(date.year, date.month); date.day++, days++)
                if (day_matches(cron, date.day, tkl__cron_weekday_of(days)))
                    return days;
        date = (tkl__cron_date){date.year + (date.month == 12), date.month % 12 + 1, 1};
        days = tkl__cron_days_of(date);
    }
}

/* The first local time that matches, from `from` on. */
static int64_t first_local(const tkl__cron *cron, int64_t from)
{
    int64_t minutes = tkl__cron_floor_div(from + 59, 60);
    int64_t today = tkl__cron_floor_div(minutes, 1440);
    int64_t day = first_day(cron, today);
    int time = time_of_day(cron, day == today ? (int)(minutes - today * 1440) : 0);
    if (time < 0) {
        day = first_day(cron, today + 1);
        time = time_of_day(cron, 0);
    }
    return day * TKL__DAY_S + time * 60;
}

/* ---- In a zone ----------------------------------------------------------- */

/* The state of the search. */
typedef struct search {
    const tkl__cron *cron;
    int64_t after;       /* search after this Unix time */
    int64_t start, end;  /* when this stretch begins and ends, in Unix time */
    int64_t offset;      /* offset from UTC in this stretch */
    int64_t seen;        /* local times before this one have been shown already */
    int64_t from, local; /* `local`: the first match from `from` on */
} search;

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The first local time that matches, from `from` on; mostly known from the stretch before. */
static int64_t match(search *s, int64_t from)
{
    if (from < s->from || from > s->local) {
        s->from = from;
        s->local = first_local(s->cron, from);
    }
    return s->local;
}

/* The first time in this stretch, or NEVER. */
static int64_t in_stretch(search *s)
{
    int64_t from = at_least(s->start, s->after + 1) + s->offset;
    if (s->cron->hours != ALL_HOURS) {
        if (s->start > s->after && match(s, s->seen) < s->start + s->offset)
            return s->start; /* left out by the change */
        from = at_least(from, s->seen);
    }
    if (s->end == INT64_MAX)
        return match(s, from) - s->offset;
    int64_t last = s->end + s->offset;
    int64_t local = from < last ? match(s, from) : last;
    s->seen = at_least(s->seen, last);
    return local < last ? local - s->offset : NEVER;
}

int tkl__cron_next(const tkl__cron *cron, const tkl__cron_zone *zone, int64_t after, int64_t *next)
{
    search s = {.cron = cron, .after = after, .start = after - LOOK_BACK_S, .from = INT64_MAX};
    for (bool first = true; s.start < after + AHEAD_S; s.start = s.end, first = false) {
        s.offset = tkl__cron_zone_offset(zone, s.start, &s.end);
        if (first)
            s.seen = s.start + s.offset;
        *next = in_stretch(&s);
        if (*next != NEVER)
            return TKL_OK;
    }
    *next = 0;
    return tkl__fail(TKL_EINVAL, "cron expression: that time never comes in that zone");
}

#define EARLIEST_S INT64_C(-62135596800) /* 0001-01-01 */
#define LATEST_S   INT64_C(250246627200) /* 9900-01-01 */

int tkl_cron_next(const char *cron, const char *zone, int64_t after_ms, int64_t *next_ms)
{
    tkl__cron parsed;
    tkl__cron_zone *opened;
    int64_t after = tkl__cron_floor_div(after_ms, 1000), next = 0;
    *next_ms = 0;
    int rc = tkl__cron_parse(cron, &parsed);
    if (rc != TKL_OK)
        return rc;
    if (after < EARLIEST_S || after >= LATEST_S)
        return tkl__fail(TKL_EINVAL, "not a time of the years 1 to 9900");
    rc = tkl__cron_zone_open(zone, &opened);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__cron_next(&parsed, opened, after, &next);
    *next_ms = next * 1000;
    tkl__cron_zone_close(opened);
    return rc;
}
