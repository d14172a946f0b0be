/* SPDX-License-Identifier: MIT
 *
 * What a test must know of the keys of the queue "work": how to let time pass for one job without
 * waiting, and what is kept that no call tells.
 */
#ifndef TACKLE_TESTS_INSIDES_H
#define TACKLE_TESTS_INSIDES_H

#include <tackle/queue.h>

/* A delayed job is due at that time, in milliseconds. */
void inside_set_due(tkl_client *client, const char *id, int64_t time);
/* The lease of a claim ends at that time. */
void inside_set_lease_end(tkl_client *client, const char *id, const char *token, int64_t time);
/* A dead letter died at that time. */
void inside_set_death(tkl_client *client, const char *id, int64_t time);

/* How many jobs of a group are started and not over. */
int64_t inside_group(tkl_client *client, tkl_bytes group);

/* How many unique keys are taken for a time, when there are no others; forgets them. */
int64_t inside_forget_timed_keys(tkl_client *client);

/* The bytes that a job counts for. */
int64_t inside_record_size(const tkl_push *job, bool flow);

#endif
