/* SPDX-License-Identifier: MIT
 *
 * Help for the command, a component or a verb, made from the tables.
 */
#ifndef TKL_CLI_HELP_H
#define TKL_CLI_HELP_H

#include <stdio.h>

#include "cli.h"

/* Prints the help of the verb; of the component if `verb` is NULL; of the command if both are
 * NULL. */
void cli_help(FILE *stream, const cli_component *component, const cli_verb *verb);

/* "tackle lock run [OPTION...] NAME -- COMMAND [ARG...]" */
void cli_synopsis(FILE *stream, const cli_component *component, const cli_verb *verb);

/* For the bash completion: a line for each verb, with its options. */
void cli_describe_completion(FILE *stream);

/* For the man pages: the page of a component; NULL: the sections on options and commands of the
 * page of the command. */
void cli_describe_man(FILE *stream, const cli_component *component);

#endif
