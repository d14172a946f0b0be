/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of `tackle queue`; queue.c has the tables.
 */
#ifndef TKL_CLI_QUEUE_H
#define TKL_CLI_QUEUE_H

#include "cli.h"
#include "out.h"

enum { CLI_QUEUE_LEASE_MS = 10000 }; /* the library's default */

/* Opens the queue that this argument names, with --partitions. */
int cli_queue_open(cli_session *cli, int index, tkl_queue **queue);

/* Opens the queues named by the first `count` arguments. Close them even after a failure. */
int cli_queue_open_all(cli_session *cli, size_t count, tkl_queue ***queues);
void cli_queue_close_all(tkl_queue **queues, size_t count); /* NULL is fine */
/* The name of one of these queues, as the user wrote it. */
const char *cli_queue_name(const cli_session *cli, tkl_queue *const *queues,
                           const tkl_queue *queue);

/* Reads the options of a job to push, without its payload. */
int cli_queue_job(const cli_session *cli, tkl_push *job);

/* Removes null fields, for people. */
void cli_queue_drop_nulls(json_t *object);

/* The beginning of a payload for a table, with dots if it is longer. */
json_t *cli_queue_short(tkl_bytes bytes);

/* A claimed job, with all its fields. */
json_t *cli_queue_claim_json(const char *queue, const tkl_job *job, int64_t lease_ms);

/* Prints jobs of a state, with --max and --skip. */
int cli_queue_print_jobs(cli_session *cli, tkl_queue *queue, tkl_job_state state);

/* The conditions --kind, --reason and --older, and a text. Returns whether one was given. */
bool cli_queue_filter(const cli_session *cli, const char *text, tkl_job_filter *filter);
/* Prints jobs of a state that fit the conditions, with --max. */
int cli_queue_print_fitting(cli_session *cli, tkl_queue *queue, tkl_job_state state,
                            const tkl_job_filter *filter);

/* Prints a number of jobs: "3 retried". */
int cli_queue_print_count(const cli_session *cli, const char *what, int64_t count);

typedef int cli_queue_job_fn(tkl_queue *queue, const char *id, void *arg);

/* Does something with the jobs whose ids are the arguments from `first` on, and prints how many.
 * Exit code 1 if one of them does not exist; `missing` says so. */
int cli_queue_for_ids(cli_session *cli, tkl_queue *queue, int first, cli_queue_job_fn *work,
                      void *arg, const char *missing, const char *what);

/* Checks that the queue exists. If it does not, most likely its name was mistyped. */
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

int cli_queue_watch(cli_session *cli);

int cli_queue_workers(cli_session *cli);
int cli_queue_times(cli_session *cli);
int cli_queue_why(cli_session *cli);
int cli_queue_flow(cli_session *cli);

int cli_queue_find(cli_session *cli);

int cli_queue_dead(cli_session *cli);
int cli_queue_done(cli_session *cli);
int cli_queue_retry(cli_session *cli);
int cli_queue_move(cli_session *cli);

int cli_queue_cancel(cli_session *cli);
int cli_queue_promote(cli_session *cli);
int cli_queue_requeue(cli_session *cli);
int cli_queue_edit(cli_session *cli);
int cli_queue_pause(cli_session *cli);
int cli_queue_resume(cli_session *cli);
int cli_queue_drain(cli_session *cli);
int cli_queue_drop(cli_session *cli);
int cli_queue_limit(cli_session *cli);

int cli_queue_schedule(cli_session *cli);
int cli_queue_schedules(cli_session *cli);
int cli_queue_unschedule(cli_session *cli);
int cli_queue_fire(cli_session *cli);
/* pause and resume with --schedule */
int cli_queue_pause_schedule(cli_session *cli);
int cli_queue_resume_schedule(cli_session *cli);

#endif
