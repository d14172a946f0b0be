/* SPDX-License-Identifier: MIT
 *
 * Counts of a consumer for one partition: how long jobs waited and ran, by kind, since it last sent
 * them to the server. The caller guards them.
 */
#ifndef TKL_QUEUE_TALLY_H
#define TKL_QUEUE_TALLY_H

#include "core/buf.h"
#include "queue/partition.h"

/* All zero is an empty tally. */
typedef struct tkl__queue_tally {
    struct tkl__queue_tally_kind *kinds;
    size_t count;
} tkl__queue_tally;

/* Counts the wait of a job, or the run of an attempt. Without memory it is not counted. */
void tkl__queue_tally_wait(tkl__queue_tally *tally, tkl_bytes kind, int64_t wait_us);
void tkl__queue_tally_run(tkl__queue_tally *tally, tkl_bytes kind, int64_t run_us, bool failed);
bool tkl__queue_tally_is_empty(const tkl__queue_tally *tally);
/* Writes counts as times.inc.lua reads them, and removes them. With many kinds it takes only some:
 * call it until the tally is empty. */
void tkl__queue_tally_take(tkl__queue_tally *tally, tkl__buf *out);
void tkl__queue_tally_free(tkl__queue_tally *tally);

#endif
