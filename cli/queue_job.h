/* SPDX-License-Identifier: MIT
 *
 * A job of `tackle queue work`: the command that is run for it.
 */
#ifndef TKL_CLI_QUEUE_JOB_H
#define TKL_CLI_QUEUE_JOB_H

#include <signal.h>
#include <stdatomic.h>

#include "queue.h"

typedef struct cli_crew cli_crew;

/* A command that is run for jobs. */
typedef struct cli_crew_command {
    cli_crew *crew;
    const char *const *argv; /* ended by NULL */
} cli_crew_command;

/* Shared by the threads of a worker. */
struct cli_crew {
    cli_session *cli;
    tkl_queue **queues; /* as named by the first arguments */
    size_t count;
    const char *const
        *argv;    /* command of all jobs whose kind has none, ended by NULL; NULL: none */
    bool streams; /* it is one command for all of them */
    tkl_worker *worker;
    sigset_t mask;       /* signals that commands block: those that were blocked when we started;
                            our threads block more */
    int64_t grace_ms;    /* from SIGTERM to SIGKILL */
    int64_t again_ms;    /* delay of a job whose command asks for a later retry */
    atomic_bool working; /* the server has answered once: later failures are retried */
    atomic_bool now;     /* the commands must be ended */
    atomic_int trouble;  /* exit code of the failure that made us give up; 0: none */
    atomic_uint begun;   /* commands started */
    int signals;         /* number of signals received */
    int signal;          /* the last signal received */
};

/* Handlers of the worker. The first runs a cli_crew_command, the second fails jobs for which there
 * is no command. */
int cli_crew_run_job(tkl_task *task, void *command);
int cli_crew_refuse_job(tkl_task *task, void *crew);
/* Hooks of the worker; the argument is the crew. */
void cli_crew_on_end(const tkl_job *job, tkl_outcome outcome, int64_t run_us, void *crew);
void cli_crew_on_damaged(tkl_queue *queue, const char *id, void *crew);

/* Notes for the hooks how a job ended, in handlers that run no command for it. `unwanted`: why it
 * was cancelled, from cli_crew_why_unwanted(), or NULL. */
void cli_crew_note_end(const char *unwanted, const char *reason);
const char *cli_crew_why_unwanted(const cli_crew *crew, const tkl_job *job, int64_t began_ms);

/* The name of a queue as the user wrote it. */
const char *cli_crew_queue_name(const cli_crew *crew, const tkl_queue *queue);

/* Prints a line on stderr, never mixed with those of other threads. */
void cli_crew_say(cli_crew *crew, const char *format, ...) TKL_PRINTF(2, 3);

/* Ends the work in good order, with this exit code. From any thread. */
void cli_crew_give_up(cli_crew *crew, int exit);

#endif
