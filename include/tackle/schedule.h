/* SPDX-License-Identifier: MIT
 *
 * Jobs that are pushed again and again: by a cron expression or every so often.
 *
 *     tkl_queue *queue;
 *     tkl_schedule nightly = {.cron = "30 2 * * mon-fri", .zone = "Europe/Berlin",
 *                             .job = {.payload = tkl_str("report")}};
 *     TKL_TRY(tkl_queue_open(client, tkl_str("reports"), NULL, &queue));
 *     TKL_TRY(tkl_schedule_set(queue, tkl_str("nightly"), &nightly));
 *
 * A schedule belongs to a queue and lives on the server. Each due time fires once, however many
 * workers run: the first consumer of the queue that sees it pushes the job. docs/schedule.md has
 * the grammar and says what happens when clocks change.
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

/* The treatment of due times that passed while no consumer was there. */
typedef enum tkl_missed {
    TKL_MISSED_FIRE_ONCE = 0, /* one job for all of them */
    TKL_MISSED_SKIP = 1,      /* no job for times that passed more than a minute ago */
} tkl_missed;

TKL_API const char *tkl_missed_name(tkl_missed missed); /* "once" */

typedef struct tkl_schedule {
    const char *cron; /* cron expression, at most 256 bytes; NULL: use every_ms */
    int64_t every_ms; /* fires at the multiples of this since 1970, UTC; 1000 to ten years */
    const char *zone; /* time zone of `cron`: "Europe/Berlin"; NULL: UTC */
    tkl_missed missed;
    tkl_push job; /* the job to push at each due time; without delay, time and flow */
    TKL_RESERVED(8);
} tkl_schedule;

#define TKL_SCHEDULE_ID_MAX 256

/* Makes or replaces the schedule `id` (1 to TKL_SCHEDULE_ID_MAX bytes). Everything is copied.
 * Setting the same schedule again changes nothing, not even the next due time, so every program may
 * set it when it starts. TKL_EINVAL: the expression is invalid or names a time that never comes, or
 * the zone is unknown; tkl_errmsg() says which part. Safe to repeat. */
TKL_API int tkl_schedule_set(tkl_queue *queue, tkl_bytes id, const tkl_schedule *schedule)
    TKL_NONNULL(1, 3) TKL_CHECK;
/* Removes the schedule; jobs that it pushed stay. TKL_NOTFOUND: there is no such schedule. */
TKL_API int tkl_schedule_remove(tkl_queue *queue, tkl_bytes id) TKL_NONNULL(1) TKL_CHECK;

/* Pauses the schedule: it fires no more until it is resumed. It stays paused when it is set again,
 * also with another time or job. A job that it pushed before is not changed. Pausing it twice is
 * TKL_OK. TKL_NOTFOUND: there is no such schedule. */
TKL_API int tkl_schedule_pause(tkl_queue *queue, tkl_bytes id) TKL_NONNULL(1) TKL_CHECK;
/* Goes on with the first time from now on; times that passed while it was paused are not missed. A
 * schedule that is not paused: TKL_OK. TKL_NOTFOUND: there is no such schedule. */
TKL_API int tkl_schedule_resume(tkl_queue *queue, tkl_bytes id) TKL_NONNULL(1) TKL_CHECK;
/* Pushes the job of the schedule now, also of a paused one; its next time stays. `job` (may be NULL)
 * is the id of the job. TKL_EXISTS: another job has its unique key; `job` is that one. TKL_FULL: a
 * limit of the queue. TKL_NOTFOUND: there is no such schedule. Safe to repeat by the library: a lost
 * answer pushes nothing twice. */
TKL_API int tkl_schedule_fire(tkl_queue *queue, tkl_bytes id, char job[TKL_JOB_ID_SIZE])
    TKL_NONNULL(1) TKL_CHECK;

/* Views into the tkl_schedules. */
typedef struct tkl_schedule_info {
    tkl_bytes id, payload;
    const char *cron; /* "" for a schedule with every_ms */
    const char *zone; /* "UTC" unless the schedule has a zone */
    int64_t every_ms;
    tkl_missed missed;
    int priority;
    int64_t next_ms; /* Unix time; 0: it is paused */
    int64_t last_ms; /* Unix time at which it fired last; 0: never */
    tkl_bytes kind;  /* kind of its jobs; empty: none */
    bool paused;
    TKL_RESERVED(2);
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
