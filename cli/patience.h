/* SPDX-License-Identifier: MIT
 *
 * Waits that a signal ends cleanly: after Ctrl-C a waiter leaves the line.
 *
 * From cli_patience_begin() to the end of the program, INT, TERM, HUP and QUIT do not end us, so
 * that we can give back what we hold. Ignored signals stay ignored. The first signal calls
 * `cancel`, in a separate thread; a second signal, or two seconds without an end of the wait, ends
 * the program at once.
 *
 * A session with a sink does none of this: its waits are cancelled from outside.
 */
#ifndef TKL_CLI_PATIENCE_H
#define TKL_CLI_PATIENCE_H

#include "cli.h"

int cli_patience_begin(const cli_session *cli, void (*cancel)(void *arg), void *arg);

/* Call it before cli_patience_begin(): `tell` is called once, with `arg`, when the wait has lasted
 * for a second. */
void cli_patience_tell(void (*tell)(void *arg));

/* Ends the wait: `cancel` is not called any more, but signals are still caught. */
void cli_patience_end(const cli_session *cli);

/* The first signal caught so far, or 0. */
int cli_patience_signal(void);

#endif
