/* SPDX-License-Identifier: MIT
 *
 * Schedules of the queue "q" as tests use them.
 */
#ifndef TACKLE_TESTS_SCHEDULES_H
#define TACKLE_TESTS_SCHEDULES_H

#include <tackle/schedule.h>

#include "support/one_queue.h"

#define LONG_MS 60000 /* longer than any test takes */
#define HOUR_MS 3600000

void set_schedule(tkl_queue *queue, const char *id, const tkl_schedule *schedule);
/* Reads one schedule by its id; all zero when there is none. Only its numbers are valid: its texts
 * are freed with the list. */
tkl_schedule_info look_at(tkl_queue *queue, const char *id);
size_t count_schedules(tkl_queue *queue);

/* The server's time in milliseconds. */
int64_t server_time(server *s);
/* Moves the next time of a schedule to `ago_ms` in the past, as if no program had run since
 * then. */
void make_due(server *s, const char *id, int64_t ago_ms);

/* Takes all jobs that come within that time; returns how many. */
int take_all(tkl_consumer *consumer, int64_t wait_ms);
/* Takes one job, which must have this payload, and reports it. */
void expect_word(tkl_consumer *consumer, const char *word);

#endif
