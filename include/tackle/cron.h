/* SPDX-License-Identifier: MIT
 *
 * Computes the next time that a cron expression names. Schedules (schedule.h) use it; it also works
 * without a server.
 *
 *     int64_t next_ms, now_ms = (int64_t)time(NULL) * 1000;
 *     TKL_TRY(tkl_cron_next("30 2 * * mon-fri", "Europe/Berlin", now_ms, &next_ms));
 *
 * docs/schedule.md has the grammar, and says what happens when clocks change.
 */
#ifndef TACKLE_CRON_H
#define TACKLE_CRON_H

#include <tackle/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the first time after `after_ms` that the expression names, on a clock in `zone` (NULL:
 * UTC). Both times are Unix time in milliseconds, of the years 1 to 9900. TKL_EINVAL: the
 * expression is invalid or names a time that never comes, or the zone is unknown; tkl_errmsg() says
 * which part. TKL_EIO: the zone's file cannot be read. Asks no server: zones come from the system's
 * database. Any number of threads may call it. */
TKL_API int tkl_cron_next(const char *cron, const char *zone, int64_t after_ms, int64_t *next_ms)
    TKL_NONNULL(1, 4) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
