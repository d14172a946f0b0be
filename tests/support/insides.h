/* SPDX-License-Identifier: MIT
 *
 * The keys of the queue "work", as far as tests must know them: to let time pass for one job
 * without waiting, and to see data that no call shows.
 */
#ifndef TACKLE_TESTS_INSIDES_H
#define TACKLE_TESTS_INSIDES_H

#include <tackle/queue.h>

/* Makes a delayed job due at that time, in milliseconds. */
void inside_set_due(tkl_client *client, const char *id, int64_t time);
/* Lets the lease of a claim end at that time. */
void inside_set_lease_end(tkl_client *client, const char *id, const char *token, int64_t time);
/* Sets the time at which a dead letter has died. */
void inside_set_death(tkl_client *client, const char *id, int64_t time);

/* How many jobs of a group have started and not ended. */
int64_t inside_group(tkl_client *client, tkl_bytes group);

/* Forgets the unique keys that are taken for a time, of which all must be. Returns how many. */
int64_t inside_forget_timed_keys(tkl_client *client);

/* The bytes that a job counts for. */
int64_t inside_record_size(const tkl_push *job, bool flow);

#endif
