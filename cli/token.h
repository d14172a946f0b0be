/* SPDX-License-Identifier: MIT
 *
 * Tokens and tickets. A user who knows one can release what another process holds, so they can be
 * kept off the command line, which every user of the machine can read.
 */
#ifndef TKL_CLI_TOKEN_H
#define TKL_CLI_TOKEN_H

#include "cli.h"

/* Reads the token that a word stands for: "-" is a line of standard input, "@FILE" the first line
 * of a file, any other word is the token itself and is wiped from the list of processes. The caller
 * frees *token. */
int cli_token_of(const cli_session *cli, char *word, char **token);

/* For the help of verbs that have a TOKEN among their arguments. */
bool cli_takes_token(const cli_verb *verb);
extern const char cli_token_help[];

#endif
