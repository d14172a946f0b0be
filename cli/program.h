/* SPDX-License-Identifier: MIT
 *
 * Other programs of tackle: they load libraries that the command does not need.
 */
#ifndef TKL_CLI_PROGRAM_H
#define TKL_CLI_PROGRAM_H

#include "cli.h"

/* Finds a program beside this one, as in the build folder, or where it is installed. The caller
 * frees *path. */
int cli_find_program(const cli_session *cli, const char *name, char **path);

#endif
