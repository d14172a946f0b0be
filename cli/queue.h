/* SPDX-License-Identifier: MIT
 *
 * What the files of `tackle queue` share; queue.c has the tables.
 */
#ifndef TKL_CLI_QUEUE_H
#define TKL_CLI_QUEUE_H

#include "cli.h"
#include "out.h"

/* The queue named by the argument, with --partitions. */
int cli_queue_open(cli_session *cli, int index, tkl_queue **queue);

/* Those named by the first `count` arguments. Close them in any case. */
int cli_queue_open_all(cli_session *cli, size_t count, tkl_queue ***queues);
void cli_queue_close_all(tkl_queue **queues, size_t count); /* NULL is fine */

/* The options of a job that is pushed, its payload not. */
int cli_queue_job(const cli_session *cli, tkl_push *job);

/* A Unix time as "2026-11-15 23:45:01", the time of here; null when it is 0. For people. */
json_t *cli_queue_time(int64_t ms);

/* Leaves out what is absent, for people. */
void cli_queue_drop_nulls(json_t *object);

/* The beginning of a payload, fit for a table: dots stand for the rest. */
json_t *cli_queue_short(tkl_bytes bytes);

/* Prints jobs of a state, with --max and --skip. */
int cli_queue_print_jobs(cli_session *cli, tkl_queue *queue, tkl_job_state state);

/* The exit code when nobody has ever pushed to the queue, waits at it or made a schedule of it: a
 * mistyped name, most likely. */
int cli_queue_known(const cli_session *cli, tkl_queue *queue);

/* ---- The verbs ----------------------------------------------------------- */

int cli_queue_push(cli_session *cli);

int cli_queue_work(cli_session *cli);

int cli_queue_claim(cli_session *cli);
int cli_queue_ack(cli_session *cli);
int cli_queue_fail(cli_session *cli);
int cli_queue_release(cli_session *cli);
int cli_queue_renew(cli_session *cli);

int cli_queue_stats(cli_session *cli);
int cli_queue_list(cli_session *cli);
int cli_queue_peek(cli_session *cli);
int cli_queue_show(cli_session *cli);
int cli_queue_result(cli_session *cli);

int cli_queue_dead(cli_session *cli);
int cli_queue_retry(cli_session *cli);
int cli_queue_cancel(cli_session *cli);
int cli_queue_pause(cli_session *cli);
int cli_queue_resume(cli_session *cli);
int cli_queue_drain(cli_session *cli);
int cli_queue_drop(cli_session *cli);
int cli_queue_limit(cli_session *cli);

int cli_queue_schedule(cli_session *cli);
int cli_queue_schedules(cli_session *cli);
int cli_queue_unschedule(cli_session *cli);

#endif
