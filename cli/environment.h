/* SPDX-License-Identifier: MIT
 *
 * Makes the environment of a command: ours with additional variables. setenv() would also change
 * the environment of commands that other threads start.
 */
#ifndef TKL_CLI_ENVIRONMENT_H
#define TKL_CLI_ENVIRONMENT_H

#include <tackle/common.h>

/* Copies our environment and replaces these variables. A variable whose value is empty or has a NUL
 * is left out. NULL: out of memory. */
char **cli_environment_new(const char *const *names, const tkl_bytes *values, size_t count);

/* Copies `environment` (NULL: ours) without this variable. Only the array is new: free() it. NULL:
 * out of memory. */
char **cli_environment_without(char *const *environment, const char *name);

/* Frees an environment; the names are those of cli_environment_new(). NULL is fine. */
void cli_environment_free(char **environment, const char *const *names, size_t count);

#endif
