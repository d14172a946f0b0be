/* SPDX-License-Identifier: MIT
 *
 * Seasons: days, weeks, months and years of a time zone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "board/board.h"
#include "core/clock.h"
#include "core/error.h"
#include "cron/calendar.h"

/* A season is kept this much longer: clocks may be set back on its last day. */
#define LONGER_MS 7200000

/* The first day of the season that a day is in. Days count from 1970. */
static int64_t first_day(tkl_board_per per, int64_t day)
{
    tkl__cron_date date = tkl__cron_date_of(day);
    switch (per) {
    case TKL_BOARD_WEEK:
        return day - (tkl__cron_weekday_of(day) + 6) % 7;
    case TKL_BOARD_YEAR:
        date.month = 1;
        date.day = 1;
        return tkl__cron_days_of(date);
    case TKL_BOARD_MONTH:
        date.day = 1;
        return tkl__cron_days_of(date);
    default:
        return day;
    }
}

/* The first day of the season after the one that begins on a day. */
static int64_t next_first_day(tkl_board_per per, int64_t first)
{
    static const int longest[] = {
        [TKL_BOARD_DAY] = 1, [TKL_BOARD_WEEK] = 7, [TKL_BOARD_MONTH] = 31, [TKL_BOARD_YEAR] = 366};
    return first_day(per, first + longest[per]);
}

/* Writes "2026-11-16". Years are 1970 to 9999. */
static bool read_day(const char *text, int64_t *day)
{
    int year, month, number, end = 0;
    bool form = strlen(text) == 10 && strspn(text, "0123456789-") == 10 &&
                sscanf(text, "%4d-%2d-%2d%n", &year, &month, &number, &end) == 3 && end == 10;
    if (!form || year < 1970 || month < 1 || month > 12 || number < 1 ||
        number > tkl__cron_month_days(year, month))
        return false;
    *day = tkl__cron_days_of((tkl__cron_date){year, month, number});
    return true;
}

int tkl__board_check_season(const char *season)
{
    int64_t day;
    if (strcmp(season, "previous") == 0 || read_day(season, &day))
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "a season is \"previous\" or a day in it, \"2026-11-16\"");
}

static void write_name(int64_t first, char name[TKL__BOARD_SEASON_SIZE])
{
    tkl__cron_date date = tkl__cron_date_of(first);
    snprintf(name, TKL__BOARD_SEASON_SIZE, "%04d-%02d-%02d", (int)date.year, date.month, date.day);
}

int tkl__board_find_season(const tkl_board *b, tkl__board_season *s)
{
    tkl_board_per per = b->shape.per;
    *s = (tkl__board_season){.shape = b->shape};
    if (per == TKL_BOARD_FOREVER)
        return TKL_OK;
    int64_t until, day, now_ms = tkl__now() / 1000 + b->ahead;
    int64_t seconds = tkl__cron_floor_div(now_ms, 1000);
    int64_t local = seconds + tkl__cron_zone_offset(b->zone, seconds, &until);
    int64_t first = first_day(per, tkl__cron_floor_div(local, TKL__DAY_S));
    int64_t last = next_first_day(per, first);
    if (b->season && read_day(b->season, &day)) {
        write_name(first_day(per, day), s->name);
        return TKL_OK;
    }
    s->start_ms = tkl__cron_zone_midnight(b->zone, first) * 1000;
    s->till_ms = tkl__cron_zone_midnight(b->zone, last) * 1000;
    if (s->start_ms > now_ms) /* clocks change at midnight: now is in its season all the same */
        s->start_ms = now_ms;
    if (s->till_ms <= now_ms)
        s->till_ms = now_ms + 1;
    write_name(b->season ? first_day(per, first - 1) : first, s->name);
    for (int64_t i = 1; i < b->shape.keep; i++)
        last = next_first_day(per, last);
    s->kept_ms = tkl__cron_zone_midnight(b->zone, last) * 1000 + LONGER_MS;
    return TKL_OK;
}
