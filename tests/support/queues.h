/* SPDX-License-Identifier: MIT
 *
 * Queues as tests use them.
 */
#ifndef TACKLE_TESTS_QUEUES_H
#define TACKLE_TESTS_QUEUES_H

#include <tackle/queue.h>

#include "support/test.h"

tkl_queue *open_queue(tkl_client *client, const char *name, int partitions);
/* Sets exactly these limits; 0 removes a limit. */
int set_exactly(tkl_queue *queue, const tkl_queue_limits *limits);

/* `lease_ms` 0: the default. */
tkl_consumer *open_consumer(tkl_queue *queue, int64_t lease_ms);

/* Pushes a job, or fails the test. `id` may be NULL. */
void push_job(tkl_queue *queue, const tkl_push *job, char id[TKL_JOB_ID_SIZE]);
/* Pushes one job for each word. */
void push_words(tkl_queue *queue, const char *words);

/* Claims jobs, or fails the test. */
tkl_jobs *claim_jobs(tkl_consumer *consumer, size_t max, int64_t wait_ms);
/* Fails unless the claimed jobs have these payloads, separated by spaces, in this order. */
void assert_jobs(const tkl_jobs *jobs, const char *words);
/* Claims all jobs, which must have these payloads, and reports them as done. */
void expect_all(tkl_consumer *consumer, const char *words);
/* Reports one job. Returns the code of the report. */
int report_job(tkl_consumer *consumer, const tkl_job *job, tkl_outcome outcome, const char *text,
               int64_t delay_ms);
void finish_all(tkl_consumer *consumer, const tkl_jobs *jobs);

#endif
