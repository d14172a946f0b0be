/* SPDX-License-Identifier: MIT
 *
 * Processes that tests start, count and kill.
 */
#ifndef TACKLE_TESTS_PROCESS_H
#define TACKLE_TESTS_PROCESS_H

#include <signal.h>
#include <sys/types.h>

/* How many other processes have this text in their command line. The dead do not count. */
int process_count(const char *text);
/* Sends these processes a signal. */
void process_signal(const char *text, int signal);

/* Kills all these processes when this program ends, however it ends: for servers that outlive
 * programs. */
void process_guard(const char *text);

/* Runs body(arg) in a forked child, which ends with the number it returns, or with this program. No
 * assertions in there: cmocka lives in the parent. */
pid_t process_fork(int (*body)(void *arg), void *arg);
/* Waits for its end: the exit code, or 128 + the signal. */
int process_wait(pid_t pid);

/* How often the threads of this program go to sleep in a second: once for each time they wake.
 * Those of a sanitizer count, too, so compare with a second in which nothing else runs. */
long process_sleeps_in_a_second(void);

/* Writes an executable shell script. */
void process_script(const char *path, const char *text);

#endif
