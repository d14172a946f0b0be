/* SPDX-License-Identifier: MIT
 *
 * For operators: scripts on one partition, or on all of them in one trip.
 */
#ifndef TKL_QUEUE_ALL_H
#define TKL_QUEUE_ALL_H

#include "queue/shard.h"

/* A script and the keys that it takes, in its order. */
typedef struct tkl__operation {
    const tkl__script *script;
    const tkl__part *parts;
} tkl__operation;

/* Runs it on a partition. */
int tkl__run_on(const tkl__shard *shard, const tkl__operation *what, const tkl_bytes *args,
                size_t nargs, bool retry_safe, tkl_reply **reply);
/* Runs it on every partition: *replies is an array with the answer of each; it is safe to repeat.
 * The first error counts: *replies is then NULL. */
int tkl__run_on_all(const tkl_queue *queue, const tkl__operation *what, const tkl_bytes *args,
                    size_t nargs, tkl_reply **replies);

/* The key of a job's result: also the channel on which its end is told. free() its bytes. */
int tkl__result_key(const tkl__shard *shard, const char *digits, tkl_bytes *key);

#endif
