/* SPDX-License-Identifier: MIT
 *
 * Finds out which process groups still exist. Any thread may call it, and also a forked child of a
 * program with threads: nothing here allocates memory or takes a lock.
 */
#ifndef TKL_CLI_GROUP_H
#define TKL_CLI_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Finds out which of the groups have a process that is not a zombie: some containers have no
 * process that reaps orphans. When this cannot be found out, a group counts as existing. */
void cli_groups_look(const pid_t *groups, size_t count, bool *there);

bool cli_group_is_there(pid_t group);

#endif
