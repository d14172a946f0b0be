/* SPDX-License-Identifier: MIT
 *
 * Commands run by verbs such as `lock run` and `queue work`.
 *
 * A child leads its own process group, so that we can end everything it starts, and so that the
 * group does not outlive us (guard.h).
 *
 * A child in the foreground takes our place: it gets the terminal if we have it, and the signals
 * that we get (INT TERM HUP QUIT USR1 USR2 WINCH). When Ctrl-Z stops the child, we stop, too, until
 * `fg` or `bg`. There is one at a time, and only the main thread calls its functions. Children in
 * the background get neither terminal nor signals; any thread may have some.
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
    int signal; /* the signal that ended it, or 0 */
    bool foreground;
    int terminal;         /* our terminal, or -1 */
    struct termios modes; /* modes of the terminal before the child got it */
    int events[2];        /* pipe with reports from the thread that watches the child */
    pthread_t watcher;
} cli_child;

typedef enum cli_child_event {
    CLI_CHILD_ENDED,
    CLI_CHILD_WOKEN, /* the descriptor became readable */
    CLI_CHILD_TIMEOUT,
} cli_child_event;

/* The command to run. Fields other than argv may be zero for their defaults. */
typedef struct cli_command {
    const char *const *argv;   /* ended by NULL; argv[0] is found by PATH */
    char *const *environment;  /* ended by NULL; NULL: ours */
    int input, output, errors; /* its stdin, stdout and stderr; 0: ours */
    const sigset_t *mask;      /* signals it blocks; NULL: those of the calling thread */
    bool foreground;

    /* Limits that the guard enforces if we die: see cli_guard_add(). */
    int64_t grace_ms; /* 0: the default */
    int64_t until_ms; /* 0: never */
} cli_command;

/* Checks that there is such a command, by PATH unless its name has a slash: CLI_OK, 127 when there
 * is none, 126 when it cannot be executed. */
int cli_child_check(const cli_session *cli, const char *name);

/* Starts the command. Fails with 127 when there is no such command, 126 when it cannot be
 * executed. */
int cli_child_start(const cli_session *cli, const cli_command *command, cli_child *child);

/* Waits until the child has ended, `wake` is readable (-1: none) or the time is over (-1: never).
 */
cli_child_event cli_child_wait(cli_child *child, int wake, int64_t timeout_ms);

/* Whether a child that has ended left others of its group behind, running. */
bool cli_child_leaves(const cli_child *child);

/* Ends the child and all of its group: SIGTERM, and SIGKILL after the grace time. If the child has
 * ended already, ends the rest of its group. */
void cli_child_end(cli_child *child, int64_t grace_ms);

/* Gives back the terminal and the signals after the child has ended; returns its exit code. */
int cli_child_close(cli_session *cli, cli_child *child);

#endif
