/* SPDX-License-Identifier: MIT
 *
 * The record of a job: a line of words, then bytes. The line has the options that differ from the
 * defaults; it is empty for a job without options.
 *
 *     priority=-5 retries=3 unique=7 group=4 meta=10 kind=6\n unique key, group, meta data, kind,
 *                                                             payload
 *
 *     priority          retries           time_limit        milliseconds
 *     backoff           backoff_max       milliseconds
 *     result            how long the result is kept, milliseconds
 *     unique_ms         how long the unique key is held, whether the job ends or not
 *     until_started     1: the unique key is free when the job is started
 *     flow              1: part of a flow: others may wait for it
 *     unique, group, meta, kind   lengths of these, which follow the line in this order
 *
 * record.c writes it; record.c and jobs.inc.lua read it.
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

/* The decoded record, with defaults filled in. The bytes are views into the record. */
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
    tkl_bytes unique, group, meta, kind, payload;
} tkl__queue_record;

/* Checks the options of a job. TKL_EINVAL: one is out of range. */
int tkl__queue_check_job(const tkl_push *job);
/* Appends the record. `flow`: the job waits for others of its push, or others wait for it. */
void tkl__queue_record_encode(tkl__buf *out, const tkl_push *job, bool flow);
/* Reads a record. False: the bytes are not a record. */
bool tkl__queue_record_decode(tkl_bytes bytes, tkl__queue_record *record);
/* Whether the end of the job does more than remove its record. */
bool tkl__queue_record_is_rich(const tkl__queue_record *record);

/* The history of a job, as jobs.inc.lua writes it: "failures since started error". */
typedef struct tkl__queue_history {
    int failures;
    int64_t since_ms; /* since when the job is ready, by the server's clock; 0: as it was pushed */
    tkl_bytes error;  /* a view into the text */
} tkl__queue_history;

tkl__queue_history tkl__queue_history_read(tkl_bytes text);

#endif
