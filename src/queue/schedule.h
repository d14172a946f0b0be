/* SPDX-License-Identifier: MIT
 *
 * Schedules as stored in :schedules, and the functions with which consumers fire them.
 *
 *     "next last missed every cron-length zone-length\n" cron zone record
 *
 * next, last: times; next is 0 while it is paused, last before the first. missed: 0, or 1 to skip.
 * every: 0 with a cron expression. Everything before the record is the beginning: the next time
 * depends on it alone.
 */
#ifndef TKL_QUEUE_SCHEDULE_H
#define TKL_QUEUE_SCHEDULE_H

#include <tackle/schedule.h>

#include "queue/partition.h"

#define TKL__QUEUE_CRON_MAX 256
#define TKL__QUEUE_ZONE_MAX 64

/* The next time of a schedule that is paused. */
#define TKL__QUEUE_PAUSED 0

int tkl__queue_check_schedule_id(tkl_bytes id);

/* A decoded schedule: views into the value. */
typedef struct tkl__queue_planned {
    int64_t next_ms, last_ms, every_ms;
    tkl_missed missed;
    tkl_bytes cron, zone;
    tkl_bytes beginning; /* everything before the record */
    tkl_bytes record;    /* the part of the record that is in the value */
} tkl__queue_planned;

/* Reads a schedule. False: the value is not a schedule. */
bool tkl__queue_planned_decode(tkl_bytes value, tkl__queue_planned *planned);

/* Finds the next time of a schedule that is due, and whether it fires now, at `now_ms` of the
 * server's clock. TKL_EINVAL, TKL_EIO: this machine does not know the zone (any more). */
int tkl__queue_planned_next(const tkl__queue_planned *planned, int64_t now_ms, int64_t *next_ms,
                            bool *fires);

/* Fires schedules that a claim found due. `due`: an array of their ids. Returns whether it fired
 * any. A schedule that did not fire stays due: the next claim finds it again after a second. When
 * this machine lacks something, such as the time zone, on_error gets the reason and *unfit is
 * true. */
struct tkl__queue_source;
bool tkl__queue_fire_schedules(const struct tkl__queue_source *source, const tkl_reply *due,
                               int64_t deadline, bool *unfit);

#endif
