/* SPDX-License-Identifier: MIT
 *
 * The Gregorian calendar, as days since 1970-01-01.
 */
#ifndef TKL_CRON_CALENDAR_H
#define TKL_CRON_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define TKL__DAY_S 86400

typedef struct tkl__cron_date {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
} tkl__cron_date;

int64_t tkl__cron_days_of(tkl__cron_date date);
tkl__cron_date tkl__cron_date_of(int64_t days);
int tkl__cron_weekday_of(int64_t days); /* 0: Sunday */
bool tkl__cron_leap(int64_t year);
int tkl__cron_month_days(int64_t year, int month);
int64_t tkl__cron_floor_div(int64_t a, int64_t b); /* rounded down, b > 0 */

#endif
