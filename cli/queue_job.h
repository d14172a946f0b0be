/* SPDX-License-Identifier: MIT
 *
 * A job of `tackle queue work`: the command that is run for it.
 */
#ifndef TKL_CLI_QUEUE_JOB_H
#define TKL_CLI_QUEUE_JOB_H

#include <signal.h>
#include <stdatomic.h>

#include "queue.h"

/* What the threads of a worker share. */
typedef struct cli_crew {
    cli_session *cli;
    tkl_queue **queues; /* as named by the first arguments */
    size_t count;
    tkl_worker *worker;
    sigset_t mask;       /* signals that commands block: as we were started, unlike the threads */
    int64_t grace_ms;    /* from SIGTERM to SIGKILL */
    int64_t again_ms;    /* a job that asks for it comes back after so long */
    atomic_bool working; /* the server has answered once: later failures are worth another try */
    atomic_bool now;     /* children are to be ended */
    atomic_int trouble;  /* exit code of what made us give up; 0: nothing did */
    atomic_uint begun;   /* commands started */
    int signals;         /* how many were heard */
    int signal;          /* the last of them */
} cli_crew;

/* Handler and hook of the worker; the argument is the crew. */
int cli_crew_run_job(tkl_task *task, void *crew);
void cli_crew_on_end(const tkl_job *job, tkl_outcome outcome, int64_t run_us, void *crew);

/* A line on stderr, whole among those of other threads. */
void cli_crew_say(cli_crew *crew, const char *format, ...) TKL_PRINTF(2, 3);

/* Ends the work in good order, with this exit code. From any thread. */
void cli_crew_give_up(cli_crew *crew, int exit);

#endif
