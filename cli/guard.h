/* SPDX-License-Identifier: MIT
 *
 * A process that ends our children's process groups should we vanish.
 *
 * The kernel's own means (PR_SET_PDEATHSIG) reaches the child only, not what the child has
 * started, and depends on which of our threads forked. The guard reads a pipe that only we can
 * write: at its end we are gone, and the groups still listed get SIGTERM, later SIGKILL.
 */
#ifndef TKL_CLI_GUARD_H
#define TKL_CLI_GUARD_H

#include <sys/types.h>

/* Watches over a process group, until told otherwise. Any thread may call these two. */
void cli_guard_add(pid_t group);
void cli_guard_remove(pid_t group);

/* Ends the guard; at the end of the program. */
void cli_guard_stop(void);

#endif
