/* SPDX-License-Identifier: MIT
 *
 * Commands run by verbs such as `lock run` and `queue work`.
 *
 * A child leads a process group of its own, so that all it starts can be ended with it, and the
 * group does not outlive us (guard.h).
 *
 * A child in the foreground stands for us: it gets the terminal when we have it and the signals
 * we get (INT TERM HUP QUIT USR1 USR2 WINCH), and when Ctrl-Z stops it so it does us, until `fg`
 * or `bg`. There is one at a time, and its functions are called by the main thread. Children in
 * the background get none of that; any thread may have some.
 */
#ifndef TKL_CLI_CHILD_H
#define TKL_CLI_CHILD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "cli.h"

typedef struct cli_child {
    pid_t pid; /* also the number of its group */
    bool ended;
    int exit;   /* once ended: its exit code, or 128 + the signal that ended it */
    int signal; /* that signal, or 0 */
    bool foreground;
    int terminal;         /* our terminal, or -1 */
    struct termios modes; /* the terminal's before the child had it */
    int events[2];        /* from the thread that watches the child */
    pthread_t watcher;
} cli_child;

typedef enum cli_child_event {
    CLI_CHILD_ENDED,
    CLI_CHILD_WOKEN, /* the descriptor became readable */
    CLI_CHILD_TIMEOUT,
} cli_child_event;

/* What to run. All zero but argv means the defaults. */
typedef struct cli_command {
    const char *const *argv;   /* ended by NULL; argv[0] is found by PATH */
    char *const *environment;  /* ended by NULL; NULL: ours */
    int input, output, errors; /* its standard files; 0: ours */
    const sigset_t *mask;      /* signals it blocks; NULL: those of the calling thread */
    bool foreground;
} cli_command;

/* Fails with 127 when there is no such command, 126 when it cannot be executed. */
int cli_child_start(const cli_session *cli, const cli_command *command, cli_child *child);

/* Waits until the child has ended, `wake` is readable (-1: none) or the time is over (-1: never).
 */
cli_child_event cli_child_wait(cli_child *child, int wake, int64_t timeout_ms);

/* Whether a child that has ended left others of its group behind, running. */
bool cli_child_leaves(const cli_child *child);

/* Ends the child and all of its group: SIGTERM, after the grace time SIGKILL. When it has ended
 * by itself, what is left of its group. */
void cli_child_end(cli_child *child, int64_t grace_ms);

/* Gives back the terminal and the signals after the child has ended; returns its exit code. */
int cli_child_close(cli_session *cli, cli_child *child);

#endif
