/* SPDX-License-Identifier: MIT
 *
 * Batches: several calls in one request.
 *
 *     [{"call": "queue/push", "fields": {...}}, ...]       at once
 *     {"calls": [...], "in_order": true}                   one after the other
 *
 * Each call is an operation of the loop. Up to SERVE_BATCH_AT_ONCE calls of a batch are under way,
 * so that other clients have their turn; the thread of HTTP begins the next call when one has
 * ended. All calls of a batch in order are one operation.
 */
#ifndef TKL_SERVE_BATCH_H
#define TKL_SERVE_BATCH_H

#include "call.h"

enum { SERVE_BATCH_MAX = 1000, SERVE_BATCH_AT_ONCE = 100 };

typedef struct serve_batch serve_batch;

/* Reads the calls. NULL: they are no batch, and the answer says why. In any thread. */
serve_batch *serve_batch_new(const json_t *body, serve_answer *answer);
/* Frees the batch. No call may be under way. NULL is fine. */
void serve_batch_free(serve_batch *batch);

/* ---- The thread of HTTP -------------------------------------------------- */

/* Begins with the calls. `done` is called once, in tkl_loop_dispatch() or before this returns.
 * Everything must stay until then. */
void serve_batch_run(serve_batch *batch, tkl_loop *loop, tkl_client *client,
                     const serve_caller *caller, void (*done)(void *arg), void *arg);
/* Cancels the calls that are under way; the others do not begin. */
void serve_batch_cancel(serve_batch *batch);

/* Writes the answer, when all calls have ended. */
void serve_batch_answer(const serve_batch *batch, serve_answer *answer);

#endif
