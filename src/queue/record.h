/* SPDX-License-Identifier: MIT
 *
 * The record of a job: a line of text, then bytes. The line has the kind of the job and whatever
 * differs from the defaults; a job without options is "a\n" and its payload.
 *
 *     r p-5 n3 b2000 B60000 t5000 o86400000 f1000 u7 g4 m10\n unique group meta payload
 *
 *     a, r, s  the kind: plain; rich: has more than a place in the queue; rich, and there is more
 *              to its start, too: it has a group, or a unique key that is free then
 *     p        priority                 n        retries
 *     b, B     backoff and its cap, ms  t        time limit, ms
 *     o        result kept for, ms      f        unique for, ms
 *     s        1: the unique key is free when the job is started
 *     u, g, m  lengths of unique key, group and meta, which follow in this order
 *
 * Written here, read here and by the scripts.
 */
#ifndef TKL_QUEUE_RECORD_H
#define TKL_QUEUE_RECORD_H

#include <tackle/queue.h>

#include "core/buf.h"

#define TKL__PLAIN        'a'
#define TKL__RICH         'r'
#define TKL__RICH_STARTED 's'

#define TKL__RETRIES        10
#define TKL__BACKOFF_MS     1000
#define TKL__BACKOFF_MAX_MS 3600000

/* All resolved: defaults are written out. Views into the record. */
typedef struct tkl__record {
    char kind;
    int priority;
    int retries; /* 0: none */
    int64_t backoff_ms;
    int64_t backoff_max_ms;
    int64_t timeout_ms;
    int64_t result_ms;
    int64_t unique_ms;
    tkl_bytes unique, group, meta, payload;
} tkl__record;

/* Whether the options are within their limits: TKL_EINVAL. */
int tkl__push_check(const tkl_push *job);
/* The kind of a job; `awaited`: others of its flow wait for it. */
char tkl__push_kind(const tkl_push *job, bool awaited);
/* Appends the record. */
void tkl__record_encode(tkl__buf *out, const tkl_push *job, char kind);
/* False: this is no record. */
bool tkl__record_decode(tkl_bytes bytes, tkl__record *record);

#endif
