/* SPDX-License-Identifier: MIT
 *
 * History: what each queue has done in the half hours of the last seven days, for the plots of the
 * dashboard. Counters of tackle keep it, in a namespace of their own, so that they do not mix with
 * those of users:
 *
 *     NS:dashboard:counter:{pushed:QUEUE}    jobs that were pushed; also done, failed (attempts)
 *     NS:dashboard:counter:{claimed:QUEUE}   attempts that began; wait_us: has their waits
 *     NS:dashboard:counter:{run_us:QUEUE}    how long ended attempts ran
 *
 * A counter has one precision, and slices for seven days. Nothing is stored for a queue without
 * work, and the counters expire a week after the last job.
 *
 * Every `interval_ms` one of all servers, the leader "history" of that namespace, reads the totals
 * of all queues in a few round trips, however many queues there are, and adds the increase since
 * the last reading. The history lacks work that is done while no server runs.
 */
#ifndef TKL_SERVE_HISTORY_H
#define TKL_SERVE_HISTORY_H

#include "call.h"

typedef struct serve_history serve_history;

/* The work of a queue in a span of time. Times are sums in microseconds. */
typedef struct serve_history_work {
    int64_t pushed, done, failed, claimed, wait_us, run_us;
} serve_history_work;

/* `private` is a client in the namespace of the dashboard. `interval_ms` 0: others write the
 * history, this server reads it. Frees *history on failure. */
int serve_history_open(const cli_session *cli, tkl_client *client, tkl_client *private,
                       int64_t interval_ms, serve_history **history);
/* Frees the history. The loop must be closed before. NULL is fine. */
void serve_history_close(serve_history *history);

/* How long the event loop may sleep before it calls serve_history_tick(); -1: for ever. */
int serve_history_timeout_ms(const serve_history *history);
/* Submits the next reading, when its time has come. */
void serve_history_tick(serve_history *history, tkl_loop *loop);

/* Adds the work of a queue at a moment (Unix ms; 0: now). Blocks. */
int serve_history_add(serve_history *history, tkl_bytes queue, int64_t at_ms,
                      const serve_history_work *work);

/* Answers {"name": "mails"} with arrays that have a value for each half hour, the oldest first:
 *
 *     {"read_at": null, "from": "2030-01-31T12:00:00.000Z", "every_ms": 1800000,
 *      "pushed": [0, 12, ...], "done": ..., "failed": ..., "wait_ms": [null, 3.5, ...],
 *      "run_ms": ...}
 *
 * The times are means of one attempt. `read_at` says when this server read last; null: another
 * server reads, or none does. Runs in an operation of a tkl_loop. */
void serve_history_answer(serve_history *history, const json_t *fields, serve_answer *answer);

#endif
