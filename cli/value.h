/* SPDX-License-Identifier: MIT
 *
 * Values as people write them. Each function returns NULL when the text was understood, else
 * what is wrong with it, fit to follow "invalid --ttl '5x': ".
 */
#ifndef TKL_CLI_VALUE_H
#define TKL_CLI_VALUE_H

#include <stdint.h>

/* 250ms 10s 5m 2h 1d 2w, 1.5h, 1h30m; a bare number is seconds. A duration above 0 is at least 1
 * ms. */
const char *cli_parse_duration(const char *text, int64_t *ms);

/* 512 512b 64kb 256mb 1.5gb: powers of 1024, any case. */
const char *cli_parse_size(const char *text, int64_t *bytes);

/* The day that a time without a day means. */
typedef enum cli_nearest_time {
    CLI_NEXT, /* the next time that the clock shows it */
    CLI_LAST, /* the last time that the clock showed it; now counts */
} cli_nearest_time;

/* A moment, in milliseconds of Unix time:
 *
 *     2030-01-31T12:00:00Z   RFC 3339; "+02:00" instead of "Z", or nothing for local time; the time
 *                            of day, or its seconds, may be missing; a blank may replace the T
 *     12:00                  the next or the last one
 *     yesterday 14:00        today, tomorrow; without a clock, the beginning of the day
 *     10m ago, in 10m, now
 *     @1893456000            Unix time
 *     31/Jan/2030:12:00:00 +0000  as web servers log it, perhaps in [brackets]
 */
const char *cli_parse_time(const char *text, cli_nearest_time which, int64_t *ms);

/* -12 0 42 +7 */
const char *cli_parse_integer(const char *text, int64_t *number);

/* 30/60s 5/s 1/30d: a count and a period. */
const char *cli_parse_rate(const char *text, int64_t *count, int64_t *period_ms);

/* Checks that the text is one of the words in "a|b|c". */
const char *cli_parse_choice(const char *text, const char *choices);

#endif
