/* SPDX-License-Identifier: MIT
 *
 * The stage of the guided tour and of the laboratory: a private server, a directory, and this
 * program as `tackle` in PATH, for shell lines that are run for real.
 */
#ifndef TKL_CLI_STAGE_H
#define TKL_CLI_STAGE_H

#include "cli.h"

typedef struct cli_stage {
    char directory[64]; /* $DIR of the lines */
    tkl_client *server; /* has the private server: it ends when this is closed, or when we end */
} cli_stage;

/* Starts a private server in memory and makes the directory /tmp/tackle-<name>.XXXXXX. From now on
 * the environment leads shell commands to both, and signals are only noted, so that cli_stage_close()
 * is reached. */
int cli_stage_open(cli_session *cli, const char *name, cli_stage *stage);

/* Removes all of it, with a private server that a command has left in the directory. */
void cli_stage_close(cli_stage *stage);

/* Runs commands with sh; `output` is a descriptor for what they print, also on stderr; 0: ours. *exit
 * is the exit code. Fails when sh cannot be run, or after a signal. */
int cli_stage_run(cli_session *cli, const char *commands, int output, int *exit);

/* Gives people time to read. Fails after a signal. */
int cli_stage_pause(cli_session *cli, int seconds);

#endif
