/* SPDX-License-Identifier: MIT
 *
 * Cron expressions: parses them, and finds the next time.
 */
#ifndef TKL_CRON_CRON_H
#define TKL_CRON_CRON_H

#include "cron/zone.h"

/* A parsed expression: bit n is set when the value n matches. */
typedef struct tkl__cron {
    uint64_t minutes;  /* 0 to 59 */
    uint64_t hours;    /* 0 to 23 */
    uint64_t days;     /* 1 to 31 */
    uint64_t months;   /* 1 to 12 */
    uint64_t weekdays; /* 0 to 6, Sunday is 0 */
    bool either;       /* day or weekday must match; else both */
} tkl__cron;

/* TKL_EINVAL: the text is not an expression, or its time never comes. */
int tkl__cron_parse(const char *text, tkl__cron *cron);

/* The first time after `after`, in seconds of Unix time. TKL_EINVAL when there is none within half
 * a century, which can only happen in a strange zone. */
int tkl__cron_next(const tkl__cron *cron, const tkl__cron_zone *zone, int64_t after, int64_t *next);

#endif
