/* SPDX-License-Identifier: MIT
 *
 * Jobs that are pushed again and again: by a cron expression or every so often.
 *
 *     tkl_queue *queue;
 *     tkl_schedule nightly = {.cron = "30 2 * * mon-fri", .zone = "Europe/Berlin",
 *                             .job = {.payload = tkl_str("report")}};
 *     tkl_queue_open(client, tkl_str("reports"), NULL, &queue);
 *     tkl_schedule_set(queue, tkl_str("nightly"), &nightly);
 *
 * A schedule belongs to a queue and lives on the server. Each due time is fired once, however
 * many workers run: whichever consumer of the queue comes first pushes the job. docs/schedule.md
 * has the grammar and what happens when clocks are changed.
 *
 * Threads, fork and keys as in queue.h; there are no callbacks.
 */
#ifndef TACKLE_SCHEDULE_H
#define TACKLE_SCHEDULE_H

#include <tackle/cron.h>
#include <tackle/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Times that passed while no consumer was there. */
typedef enum tkl_missed {
    TKL_MISSED_FIRE_ONCE = 0, /* one job for all of them */
    TKL_MISSED_SKIP = 1,      /* none for those that are more than a minute past */
} tkl_missed;

TKL_API const char *tkl_missed_name(tkl_missed missed); /* "once" */

typedef struct tkl_schedule {
    const char *cron; /* at most 256 bytes; or NULL */
    int64_t every_ms; /* instead: at the multiples of this since 1970, UTC; 1000 to ten years */
    const char *zone; /* of cron: "Europe/Berlin"; NULL: UTC */
    tkl_missed missed;
    tkl_push job; /* pushed at each time; its delay, time and flow must be empty */
    TKL_RESERVED(8);
} tkl_schedule;

#define TKL_SCHEDULE_ID_MAX 256

/* Makes or replaces the schedule `id` (1 to TKL_SCHEDULE_ID_MAX bytes). All is copied. Setting what
 * is set already changes nothing, not even the next time, so every program may do it when it
 * starts. TKL_EINVAL: the expression cannot be read, says a time that never comes, or the zone is
 * unknown; tkl_errmsg() tells which part. Safe to repeat. */
TKL_API int tkl_schedule_set(tkl_queue *queue, tkl_bytes id, const tkl_schedule *schedule)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Jobs that it pushed stay. TKL_NOTFOUND. */
TKL_API int tkl_schedule_remove(tkl_queue *queue, tkl_bytes id) TKL_NONNULL(1) TKL_CHECK;

/* Views into the tkl_schedules. */
typedef struct tkl_schedule_info {
    tkl_bytes id, payload;
    const char *cron; /* "" when every_ms counts */
    const char *zone; /* "UTC" unless said */
    int64_t every_ms;
    tkl_missed missed;
    int priority;
    int64_t next_ms; /* Unix time */
    int64_t last_ms; /* when it fired last; 0: never */
    TKL_RESERVED(4);
} tkl_schedule_info;

typedef struct tkl_schedules {
    const tkl_schedule_info *items; /* by id */
    size_t count;
} tkl_schedules;

/* All schedules of the queue. Free with tkl_schedules_free(). */
TKL_API int tkl_schedule_list(tkl_queue *queue, tkl_schedules **schedules)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_schedules_free(tkl_schedules *schedules); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
