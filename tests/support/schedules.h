/* SPDX-License-Identifier: MIT
 *
 * Schedules of the queue "q" as tests use them.
 */
#ifndef TACKLE_TESTS_SCHEDULES_H
#define TACKLE_TESTS_SCHEDULES_H

#include <tackle/schedule.h>

#include "support/one_queue.h"

#define LONG_MS 60000 /* longer than anything takes */
#define HOUR_MS 3600000

void set_schedule(tkl_queue *queue, const char *id, const tkl_schedule *schedule);
/* One schedule by its id, or all zero. Only numbers: the rest dies with the list. */
tkl_schedule_info look_at(tkl_queue *queue, const char *id);
size_t count_schedules(tkl_queue *queue);

/* In milliseconds. */
int64_t server_time(server *s);
/* As if its next time had been so long ago, and nobody there. */
void make_due(server *s, const char *id, int64_t ago_ms);

/* Takes what comes within that time: how many jobs. */
int take_all(tkl_consumer *consumer, int64_t wait_ms);
/* Takes one job, which must be this, and reports it. */
void expect_word(tkl_consumer *consumer, const char *word);

#endif
