/* SPDX-License-Identifier: MIT
 *
 * Components that start over each hour, by a clock that the test sets. Logs and statistics have the
 * same rules, so the same tests are for both.
 */
#ifndef TACKLE_TESTS_HOURLY_H
#define TACKLE_TESTS_HOURLY_H

#include "support/fixture.h"
#include "support/timed.h"

/* A full hour. */
#define NOON_MS INT64_C(1800000000000)

typedef struct hourly {
    void *(*open)(tkl_client *client);
    void (*close)(void *it);
    void (*add)(void *it);                                /* a message, a value */
    int (*add_at)(void *it, int64_t at_ms);               /* one with this time */
    void (*expect)(void *it, int64_t this, int64_t last); /* checks these counts */
} hourly;

/* A server at 12:01, and the component that is tested on it. */
typedef struct stage {
    const hourly *kind;
    timed_server *time;
    tkl_client *client;
    void *it;
} stage;

stage stage_open(const hourly *kind);
void stage_close(stage *s);

/* Adds `count` events, and then expects these counts. */
void stage_add(stage *s, int count, int64_t this, int64_t last);

void this_hour_becomes_last_hour(const hourly *kind);
void hours_of_silence_leave_last_hour_empty(const hourly *kind);
void a_clock_set_back_neither_loses_nor_repeats(const hourly *kind);
void a_clock_that_comes_back_goes_on(const hourly *kind);
void an_earlier_time_counts_in_its_hour(const hourly *kind);

/* Eight processes run `write`, which gets the URL of the server and returns 0, while the hour
 * changes; `jumping`: while the clock jumps between 12:45 and 13:15. */
void hour_changes_under_load(stage *s, int (*write)(void *url), bool jumping);
enum { HOURLY_WRITERS = 8 };

#endif
