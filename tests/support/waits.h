/* SPDX-License-Identifier: MIT
 *
 * Consumers that wait for jobs of the queue "q".
 */
#ifndef TACKLE_TESTS_WAITS_H
#define TACKLE_TESTS_WAITS_H

#include "support/queues.h"
#include "support/server.h"

#define LONG_MS 30000
#define KEY     "tackle:queue:{q}:"

/* A thread that claims once. */
typedef struct pending {
    tkl_consumer *consumer;
    size_t max;
    int64_t wait_ms;
    int result; /* once joined */
    tkl_jobs *jobs;
    int64_t took_ms;
    crew *thread;
} pending;

/* The body of the thread; `arg` is the pending. */
void claim_in_thread(void *arg, int index);
/* Starts the thread, and returns when it waits. */
void start_waiting(pending *p, server *s);
void join(pending *p);
/* Joins the thread, which must have got these jobs, and reports them as done. */
void expect(pending *p, const char *words);

/* The number of waiters in line. */
int64_t waiters(server *s);

#endif
