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
/* Runs a script that searches for an active job in steps, until the deadline of the queue. `cursor`
 * is among the arguments of the call. The answer of a step that did not find the job is the cursor of
 * the next one; *reply is the last answer. */
int tkl__queue_run_search(const tkl_queue *queue, const tkl__invocation *call, tkl_bytes *cursor,
                          tkl_reply **reply);
/* Call this before another step of an operation; `jobs`: how many the last step handled. Fails when
 * steps go on without handling any, so that no server can keep a caller for ever. */
int tkl__queue_next_step(const tkl__queue_partition *partition, tkl__rounds *rounds, int64_t jobs);
/* Runs a script on every partition, with the same arguments: *replies is an array of their answers.
 * The script must be safe to repeat. After an error *replies is NULL; the first error counts. */
int tkl__queue_run_on_all(const tkl_queue *queue, const tkl__script *script, const tkl_bytes *args,
                          size_t nargs, tkl_reply **replies);

/* Does the same with a script without arguments on every partition of several queues, all of one
 * client. With no queue *replies is NULL. */
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
