/* SPDX-License-Identifier: MIT
 *
 * For operators: scripts on one partition, or on all of them in one round trip.
 */
#ifndef TKL_QUEUE_ALL_H
#define TKL_QUEUE_ALL_H

#include "core/rounds.h"
#include "queue/partition.h"

/* Runs a script on a partition. */
int tkl__queue_run_on(const tkl__queue_partition *partition, const tkl__script *script,
                      const tkl_bytes *args, size_t nargs, bool retry_safe, tkl_reply **reply);
/* Call it before another step of an operation; `jobs` is how many the last step handled. Fails when
 * steps keep handling none, so that no server can keep a caller for ever. */
int tkl__queue_next_step(const tkl__queue_partition *partition, tkl__rounds *rounds, int64_t jobs);
/* Runs a script on every partition, with the same arguments: *replies is an array with the answer
 * of each. The script must be safe to repeat. On an error, the first one counts and *replies is
 * NULL. */
int tkl__queue_run_on_all(const tkl_queue *queue, const tkl__script *script, const tkl_bytes *args,
                          size_t nargs, tkl_reply **replies);

/* Runs a script without arguments on every partition of several queues, all of one client, in the
 * same way; no queue at all: *replies is NULL. */
int tkl__queue_run_on_queues(tkl_queue *const *queues, size_t count, const tkl__script *script,
                             tkl_reply **replies);

/* The key of a job's result: also the channel on which its end is published. free() its bytes. */
int tkl__queue_result_key(const tkl__queue_partition *partition, const char *digits,
                          tkl_bytes *key);
/* Makes the keys of a call that also needs the key of a job's result, which comes last. free() the
 * bytes of that key. */
int tkl__queue_result_keys(const tkl__queue_partition *partition, const char *digits,
                           tkl_bytes keys[TKL__QUEUE_KEYS + 1]);

/* The state of this name; TKL_JOB_STATE_UNKNOWN for any other word. */
tkl_job_state tkl__queue_state_of(const char *word);

/* Adds the answer of queue/stats for one partition. */
void tkl__queue_stats_add(tkl_queue_stats *sum, const tkl_reply *one);

#endif
