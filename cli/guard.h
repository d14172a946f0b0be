/* SPDX-License-Identifier: MIT
 *
 * The guard: a process that ends our children's process groups if we die, and then gives back the
 * lock, permit or slot that we held for them.
 *
 * PR_SET_PDEATHSIG of the kernel reaches only the child, not the processes that the child has
 * started, and depends on which of our threads forked. The guard reads a pipe that only we can
 * write: when the pipe ends, we are dead, and the groups on its list get SIGTERM, later SIGKILL. A
 * command that runs under a lease must end before the lease does, so SIGKILL comes before that.
 * When no process of the groups is left, the guard executes the command that gives back.
 */
#ifndef TKL_CLI_GUARD_H
#define TKL_CLI_GUARD_H

#include <stdint.h>
#include <sys/types.h>

enum { CLI_GUARD_GRACE_MS = 5000 }; /* default time between SIGTERM and SIGKILL */

/* A moment that never comes. */
#define CLI_GUARD_NEVER INT64_MAX

/* The clock of leases, which also runs while the machine sleeps. */
int64_t cli_guard_now_ms(void);

/* The moment at which the guard ends the command if we die: a little before the lease ends.
 * `lease_ms`: the whole lease; `left_ms`: the time left. */
int64_t cli_guard_end_of(int64_t lease_ms, int64_t left_ms);

/* Watches over a process group until it is removed: if we die, the group gets `grace_ms` (0: the
 * default) to end, and must end before `until_ms` by cli_guard_now_ms(). Any thread may call these
 * three. */
void cli_guard_add(pid_t group, int64_t grace_ms, int64_t until_ms);
void cli_guard_until(pid_t group, int64_t until_ms);
void cli_guard_remove(pid_t group);

/* Says that this program is the `tackle` command, which the guard may run again to give back. Other
 * programs that run verbs, such as tests, do not call it. */
void cli_guard_is_command(void);

/* Sets the command that gives back what we hold: arguments of this program, its environment and its
 * standard input. All must stay valid. Call it before the first group is added. */
void cli_guard_owe(const char *const *argv, char *const *environment, const char *input);

/* Tells the guard that there is nothing left to give back. */
void cli_guard_settle(void);

/* Ends the guard, at the end of the program or before another debt: the next group starts another
 * guard. A guard that still has to give something back runs on after our end. */
void cli_guard_stop(void);

#endif
