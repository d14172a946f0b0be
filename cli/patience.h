/* SPDX-License-Identifier: MIT
 *
 * Waiting that a signal ends in good order: Ctrl-C in a line of waiters leaves the line.
 *
 * From cli_patience_begin() on, INT TERM HUP and QUIT do not end us (unless ignored: those stay
 * so), until the program ends: whoever holds something must give it back. The first one calls
 * `cancel`, in a thread of its own; a second one, or two seconds in which that did not help, end
 * the program at once.
 */
#ifndef TKL_CLI_PATIENCE_H
#define TKL_CLI_PATIENCE_H

#include "cli.h"

int cli_patience_begin(const cli_session *cli, void (*cancel)(void *arg), void *arg);

/* Before cli_patience_begin(): `tell` is called once, with its `arg`, when the wait has lasted for a
 * second. */
void cli_patience_tell(void (*tell)(void *arg));

/* No more calls of `cancel`, but signals are still caught. */
void cli_patience_end(void);

/* The first signal caught so far, or 0. */
int cli_patience_signal(void);

#endif
