/* SPDX-License-Identifier: MIT
 *
 * When a cron expression names a time. What schedules (schedule.h) go by; of use alone, too.
 *
 *     int64_t next_ms, now_ms = (int64_t)time(NULL) * 1000;
 *     tkl_cron_next("30 2 * * mon-fri", "Europe/Berlin", now_ms, &next_ms);
 *
 * docs/schedule.md has the grammar, and what happens when clocks are changed.
 */
#ifndef TACKLE_CRON_H
#define TACKLE_CRON_H

#include <tackle/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first time after `after_ms` that the expression names, as it is read off a clock in `zone`
 * (NULL: UTC). Both are Unix time in milliseconds, of the years 1 to 9900. TKL_EINVAL: the
 * expression cannot be read, or says a time that never comes, or the zone is not known;
 * tkl_errmsg() tells which part. TKL_EIO: the zone's file cannot be read. Asks no server: a zone
 * is looked up in the system's database. Any number of threads. */
TKL_API int tkl_cron_next(const char *cron, const char *zone, int64_t after_ms, int64_t *next_ms)
    TKL_NONNULL(1, 4) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
