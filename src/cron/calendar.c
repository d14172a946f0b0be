/* SPDX-License-Identifier: MIT
 *
 * Years begin in March here, so that the leap day comes last: then the days before a month are (153
 * m + 2) / 5, m from March, and an era of 400 years has 146097 days.
 */
#include "cron/calendar.h"

#define ERA_DAYS   146097
#define EPOCH_DAYS 719468 /* from March 1 of the year 0 to 1970-01-01 */

int64_t tkl__cron_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t tkl__cron_days_of(tkl__cron_date date)
{
    int64_t year = date.year - (date.month <= 2);
    int64_t era = tkl__cron_floor_div(year, 400);
    int64_t of_era = year - era * 400;
    int from_march = (date.month + 9) % 12;
    int64_t of_year = (153 * from_march + 2) / 5 + date.day - 1;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
}

tkl__cron_date tkl__cron_date_of(int64_t days)
{
    int64_t era = tkl__cron_floor_div(days + EPOCH_DAYS, ERA_DAYS);
    int64_t day = days + EPOCH_DAYS - era * ERA_DAYS; /* day of the era */
    /* Subtracts the leap days before this day, so that every year has 365 days. */
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100);
    int64_t from_march = (5 * of_year + 2) / 153;
    int month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    return (tkl__cron_date){.year = year + era * 400 + (month <= 2),
                            .month = month,
                            .day = (int)(of_year - (153 * from_march + 2) / 5 + 1)};
}

int tkl__cron_weekday_of(int64_t days)
{
    int64_t since_sunday = days + 4; /* 1970-01-01 was a Thursday */
    return (int)(since_sunday - tkl__cron_floor_div(since_sunday, 7) * 7);
}

bool tkl__cron_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int tkl__cron_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && tkl__cron_leap(year) ? 29 : days[month - 1];
}
