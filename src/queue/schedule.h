/* SPDX-License-Identifier: MIT
 *
 * Schedules as they stand in :schedules, and the part of them that consumers do.
 *
 *     "next last missed every cron-length zone-length\n" cron zone record
 *
 * next, last: times; last is 0 before the first. missed: 0, or 1 to skip. every: 0 with a cron
 * expression. All before the record is the beginning: it has what decides about the next time.
 */
#ifndef TKL_QUEUE_SCHEDULE_H
#define TKL_QUEUE_SCHEDULE_H

#include <tackle/schedule.h>

#include "queue/shard.h"

#define TKL__QUEUE_CRON_MAX 256
#define TKL__QUEUE_ZONE_MAX 64

/* Views into the value. */
typedef struct tkl__queue_planned {
    int64_t next_ms, last_ms, every_ms;
    tkl_missed missed;
    tkl_bytes cron, zone;
    tkl_bytes beginning; /* all before the record */
    tkl_bytes record;    /* as far as it is in the value */
} tkl__queue_planned;

/* False: this is no schedule. */
bool tkl__queue_planned_decode(tkl_bytes value, tkl__queue_planned *planned);

/* Of one whose time has come: when it comes next, and whether it fires now, at the time `now_ms`
 * of the server's clock.
 * TKL_EINVAL, TKL_EIO: this machine does not know the zone (any more). */
int tkl__queue_planned_next(const tkl__queue_planned *planned, int64_t now_ms, int64_t *next_ms,
                            bool *fires);

/* Fires schedules that a claim found due, an array of ids; says whether there were any. What cannot
 * be done stays due: the next claim finds it again after a second. When that is because of what
 * this machine does not know, the consumer's owner is told, and *unfit is true. */
struct tkl__queue_source;
bool tkl__queue_fire_schedules(const struct tkl__queue_source *source, const tkl_reply *due,
                               int64_t deadline, bool *unfit);

#endif
