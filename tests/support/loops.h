/* SPDX-License-Identifier: MIT
 *
 * Operations of an event loop, as tests see them.
 */
#ifndef TACKLE_TESTS_LOOPS_H
#define TACKLE_TESTS_LOOPS_H

#include <tackle/loop.h>

#include "support/test.h"

/* Far more than an operation takes, even on a busy machine. */
#define LOOP_MS 60000

/* A submitted operation and its outcome. */
typedef struct ticket {
    int (*run)(void *arg); /* gets the argument below */
    void *arg;
    uint64_t id;
    int ended; /* how often its callback was called */
    int code;
    char *text; /* malloc'ed */
} ticket;

/* Opens a loop in which operations may take long to begin. */
tkl_loop *loop_open(tkl_client *client, int threads);
void ticket_submit(tkl_loop *loop, ticket *t, int (*run)(void *arg), void *arg);
/* Polls and dispatches until the callback was called; returns the code. */
int ticket_await(tkl_loop *loop, ticket *t);
/* Does the same for many, without looking at their codes. */
void tickets_await(tkl_loop *loop, ticket *tickets, size_t count);
void ticket_free(ticket *t);
/* Submits and awaits. */
int loop_run(tkl_loop *loop, int (*run)(void *arg), void *arg);

/* Polls for at most `ms` and dispatches. */
void loop_turn(tkl_loop *loop, int ms);
tkl_loop_stats loop_stats(tkl_loop *loop);

#endif
