/* SPDX-License-Identifier: MIT
 *
 * The record of a job: a line of words, then bytes. The line says whatever differs from the
 * defaults; that of a job without options is empty.
 *
 *     priority=-5 retries=3 unique=7 group=4 meta=10\n unique key, group, meta data, payload
 *
 *     priority          retries           time_limit        milliseconds
 *     backoff           backoff_max       milliseconds
 *     result            how long the result is kept, milliseconds
 *     unique_ms         the unique key is held so long, whatever becomes of the job
 *     until_started     1: the unique key is free when the job is started
 *     flow              1: part of a flow: others may wait for it
 *     unique, group, meta   lengths of these, which follow the line in this order
 *
 * Written here, read here and by jobs.inc.lua.
 */
#ifndef TKL_QUEUE_RECORD_H
#define TKL_QUEUE_RECORD_H

#include <tackle/queue.h>

#include "core/buf.h"

#define TKL__QUEUE_RETRIES        10
#define TKL__QUEUE_BACKOFF_MS     1000
#define TKL__QUEUE_BACKOFF_MAX_MS 3600000
/* The longest delay of a job: ten years. */
#define TKL__QUEUE_DELAY_MAX_MS INT64_C(315360000000)

/* All resolved: defaults are written out. Views into the record. */
typedef struct tkl__queue_record {
    int priority;
    int retries; /* 0: none */
    int64_t backoff_ms;
    int64_t backoff_max_ms;
    int64_t time_limit_ms;
    int64_t result_ms;
    int64_t unique_ms;
    bool until_started;
    bool flow;
    tkl_bytes unique, group, meta, payload;
} tkl__queue_record;

/* Whether the options are within their limits: TKL_EINVAL. */
int tkl__queue_check_job(const tkl_push *job);
/* Appends the record. `flow`: others of its push wait for it, or it for them. */
void tkl__queue_record_encode(tkl__buf *out, const tkl_push *job, bool flow);
/* False: this is no record. */
bool tkl__queue_record_decode(tkl_bytes bytes, tkl__queue_record *record);
/* Whether there is more to the end of a job than that its record goes. */
bool tkl__queue_record_is_rich(const tkl__queue_record *record);

/* What happened to a job so far, as jobs.inc.lua writes it: "failures since started error". */
typedef struct tkl__queue_history {
    int failures;
    tkl_bytes error; /* a view */
} tkl__queue_history;

tkl__queue_history tkl__queue_history_read(tkl_bytes text);

#endif
