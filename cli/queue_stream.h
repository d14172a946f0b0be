/* SPDX-License-Identifier: MIT
 *
 * `tackle queue work --stream`: one command for all jobs, which gets them as lines of JSON and
 * answers with lines of JSON. docs/queue.md has the protocol.
 */
#ifndef TKL_CLI_QUEUE_STREAM_H
#define TKL_CLI_QUEUE_STREAM_H

#include "queue_job.h"

typedef struct cli_stream cli_stream;

/* Starts the thread that keeps the command. The command itself starts with the first job. */
int cli_stream_open(cli_crew *crew, const char *const *argv, cli_stream **stream);

/* The handler of the worker; the argument is the stream. */
int cli_stream_run_job(tkl_task *task, void *stream);

/* Ends the command: the end of its input, SIGTERM after the grace time, SIGKILL after another. No
 * job may run any more. NULL is fine. */
void cli_stream_close(cli_stream *stream);

#endif
