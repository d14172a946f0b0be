/* SPDX-License-Identifier: MIT
 *
 * Locks and permits as tests use them.
 */
#ifndef TACKLE_TESTS_LOCKS_H
#define TACKLE_TESTS_LOCKS_H

#include <tackle/lock.h>
#include <tackle/semaphore.h>

#include "support/server.h"
#include "support/test.h"

/* How long tests wait for something that must happen, also on a busy machine. */
#define LONG_MS 30000

tkl_lock *open_lock(tkl_client *client, const char *name, const tkl_lock_options *options);
tkl_semaphore *open_sem(tkl_client *client, const char *name, int64_t limit,
                        const tkl_semaphore_options *options);

int64_t lock_waiters(tkl_lock *lock);
int64_t lock_holders(tkl_lock *lock);
int64_t sem_waiters(tkl_semaphore *sem);
int64_t sem_holders(tkl_semaphore *sem);

/* Fails unless every key of the server will expire by itself. */
void assert_all_keys_expire(server *s);
/* How long it takes until all keys have expired; -1 when one never does. */
int64_t keys_left_ms(server *s);

/* A thread that acquires, and does nothing else. */
typedef struct pending {
    tkl_lock *lock;     /* or */
    tkl_semaphore *sem; /* one of them is NULL */
    int64_t wait_ms;
    int result;      /* once joined */
    int64_t took_ms; /* ditto */
    crew *thread;
} pending;

void pending_start(pending *p);
int pending_join(pending *p);

#endif
