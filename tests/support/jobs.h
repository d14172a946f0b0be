/* SPDX-License-Identifier: MIT
 *
 * Jobs one by one, by id and token. Nothing extends their leases.
 */
#ifndef TACKLE_TESTS_JOBS_H
#define TACKLE_TESTS_JOBS_H

#include <tackle/queue.h>

#include "support/call.h"
#include "support/queues.h"
#include "support/server.h"

/* ---- Opening ------------------------------------------------------------- */

/* Opens a consumer that does not extend its leases. lease_ms 0: an hour, which no test outlives. */
tkl_consumer *open_claimer(tkl_queue *queue, int64_t lease_ms);

/* ---- Pushing ------------------------------------------------------------- */

typedef struct job_id {
    char text[TKL_JOB_ID_SIZE];
} job_id;

job_id push_text(tkl_queue *queue, const char *payload);
job_id push_one(tkl_queue *queue, const tkl_push *job);
/* Returns the outcome of a push of this one job; *id (may be NULL) is the id in the answer. */
int push_code(tkl_queue *queue, const tkl_push *job, job_id *id);

/* ---- Claiming ------------------------------------------------------------ */

/* A claimed job that outlives the claim. */
typedef struct claimed {
    char id[TKL_JOB_ID_SIZE];
    char token[TKL_TOKEN_SIZE];
    char payload[64];
    char error[64];
    int attempt;
} claimed;

/* Claims one job without waiting; fails the test when there is none. */
claimed claim_one(tkl_consumer *consumer);
/* Claims up to `max` jobs; returns how many. */
size_t claim_some(tkl_consumer *consumer, size_t max, claimed *jobs);
void assert_nothing_ready(tkl_consumer *consumer);
/* Claims and acknowledges one job after the other. Their payloads, with spaces in between, must be
 * these. */
void assert_claims(tkl_consumer *consumer, tkl_queue *queue, const char *payloads);

int finish_code(tkl_queue *queue, const claimed *job, tkl_outcome outcome, const char *text);
void finish_job(tkl_queue *queue, const claimed *job, tkl_outcome outcome);
/* Reports that a job has failed and is to be tried again after `delay_ms`. */
void fail_for(tkl_queue *queue, const claimed *job, int64_t delay_ms);

/* ---- Looking ------------------------------------------------------------- */

tkl_queue_stats stats_of(tkl_queue *queue);
tkl_job_state state_of(tkl_queue *queue, const char *id);

/* Fails when other keys of a queue are left than the meta hash, the times, and keys that expire:
 * requests, waiters and workers. */
void assert_no_garbage(server *s);

#endif
