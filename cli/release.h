/* SPDX-License-Identifier: MIT
 *
 * Gives back the lock, permit or slot that a command ran with: quickly, and also if we are killed.
 */
#ifndef TKL_CLI_RELEASE_H
#define TKL_CLI_RELEASE_H

#include "cli.h"

/* A run of this program that gives something back. */
typedef struct cli_release {
    const char **argv;
    char **environment;
} cli_release;

/* Makes the guard (guard.h) run `tackle COMPONENT WORDS...` if we die, with our server and global
 * options; `words` ends with NULL. The token or ticket is its standard input. `nodes` is the value
 * of TACKLE_NODES; NULL: not needed. Does nothing if the server is in memory and ends with us, or
 * if memory runs out. Call it before the command is started; `token` must stay valid until
 * cli_release_free(). */
void cli_release_plan(cli_session *cli, const char *const *words, const char *nodes,
                      const char *token, cli_release *plan);
void cli_release_free(cli_release *plan);

/* Calls give_back(arg) in a separate thread and waits only for a moment: a server that hangs must
 * not delay the exit code of the command. TKL_ETIMEOUT: no answer in time; the call still runs, so
 * do not touch `arg` any more, and end with cli_leave(). tkl_errmsg() works as if the call had run
 * in this thread. */
int cli_release_soon(int (*give_back)(void *arg), void *arg, const char **message);

#endif
