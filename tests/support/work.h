/* SPDX-License-Identifier: MIT
 *
 * For each test an empty server, the queue "work", and a consumer that does not extend its leases.
 */
#ifndef TACKLE_TESTS_WORK_H
#define TACKLE_TESTS_WORK_H

#include <tackle/queue.h>

#include "support/fixture.h"
#include "support/jobs.h"

extern tkl_queue *queue;
extern tkl_consumer *consumer;

int work_fresh(void **state);
int work_done(void **state);

#define WORK_TEST(name) cmocka_unit_test_setup_teardown(name, work_fresh, work_done)

void limit(const tkl_queue_limits *limits);
job_id push_group(const char *group, const char *payload);

/* Fails unless the queue answers this code about a result, and this result; NULL: none. */
void assert_result(const char *id, int64_t wait_ms, int code, const char *text);

tkl_listing *peek(tkl_job_state state, size_t skip, size_t max);
/* Fails unless these are the payloads of some jobs of a state, with spaces in between. */
void assert_peek(tkl_job_state state, size_t skip, size_t max, const char *expected);
/* Pushes a job that goes to the dead letters. */
void bury(const char *payload);

/* Makes a delayed job due now. */
void make_job_due(fixture *f, const char *member);
/* Ends the lease of a claim. */
void end_lease(fixture *f, const claimed *job);

/* Keys with all kinds of bytes. */
enum { ODD_KEYS = 8 };
extern const tkl_bytes odd_keys[ODD_KEYS];

#endif
