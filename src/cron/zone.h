/* SPDX-License-Identifier: MIT
 *
 * Time zones: the offset of local time from UTC. All times are seconds.
 */
#ifndef TKL_CRON_ZONE_H
#define TKL_CRON_ZONE_H

#include <tackle/common.h>

typedef struct tkl__cron_zone tkl__cron_zone;

/* Opens a zone by name ("Europe/Berlin"; NULL: UTC), as the system's database has it now.
 * TKL_EINVAL: there is none, or its file is damaged. */
int tkl__cron_zone_open(const char *name, tkl__cron_zone **zone);
/* Makes a zone from the content of its file. */
int tkl__cron_zone_parse(tkl_bytes file, tkl__cron_zone **zone);
void tkl__cron_zone_close(tkl__cron_zone *zone); /* NULL is fine */

/* The seconds to add to Unix time `at` to get local time, and until when they apply (not included;
 * INT64_MAX: for ever). */
int64_t tkl__cron_zone_offset(const tkl__cron_zone *zone, int64_t at, int64_t *until);

/* The Unix time at which a local day begins, given in days since 1970. Where clocks change at
 * midnight, it may be a little early or late. */
int64_t tkl__cron_zone_midnight(const tkl__cron_zone *zone, int64_t day);

/* The largest offset. */
#define TKL__OFFSET_MAX (26 * 3600)

/* ---- The rule for the years to come -------------------------------------- */

/* A day of the year and a time of it: "M3.5.0/2". */
typedef struct tkl__cron_turn {
    char kind;            /* 'M': by weekday; 'J': not counting February 29; 'n': counting it */
    int month, week, day; /* for 'M'; else the day of the year: from 1 for 'J', from 0 for 'n' */
    int64_t time;         /* seconds since midnight; may be negative or beyond the day */
} tkl__cron_turn;

/* "CET-1CEST,M3.5.0,M10.5.0/3" */
typedef struct tkl__cron_rule {
    int64_t standard, summer;  /* offsets, the same when clocks are not changed */
    bool turns;                /* clocks are changed */
    tkl__cron_turn begin, end; /* when summer time begins and ends */
} tkl__cron_rule;

/* False when the text is not such a rule. */
bool tkl__cron_rule_parse(tkl_bytes text, tkl__cron_rule *rule);
int64_t tkl__cron_rule_offset(const tkl__cron_rule *rule, int64_t at, int64_t *until);

#endif
