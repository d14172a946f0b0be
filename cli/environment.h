/* SPDX-License-Identifier: MIT
 *
 * The environment of a command: ours, with some variables of its own. setenv() would be seen by all
 * the commands that other threads start.
 */
#ifndef TKL_CLI_ENVIRONMENT_H
#define TKL_CLI_ENVIRONMENT_H

#include <tackle/common.h>

/* Of these variables ours do not count. A value that is empty or has a NUL is left out: a variable
 * cannot hold it. NULL: out of memory. */
char **cli_environment_new(const char *const *names, const tkl_bytes *values, size_t count);

/* What a command inherits: `environment`, NULL for ours, without this variable. Only the array is
 * new: free() it. NULL: out of memory. */
char **cli_environment_without(char *const *environment, const char *name);

/* With the same names. NULL is fine. */
void cli_environment_free(char **environment, const char *const *names, size_t count);

#endif
