/* SPDX-License-Identifier: MIT
 *
 * The identity of this process, for operators: its program, its host and its pid.
 */
#ifndef TKL_CORE_IDENTITY_H
#define TKL_CORE_IDENTITY_H

#define TKL__PROGRAM_SIZE 33 /* with the NUL */
#define TKL__HOST_SIZE    65

/* Both consist of printable ASCII without spaces and colons; other characters become '_'. A long
 * name is cut. Never empty. */
typedef struct tkl__identity {
    char program[TKL__PROGRAM_SIZE];
    char host[TKL__HOST_SIZE];
    long pid;
} tkl__identity;

tkl__identity tkl__identity_get(void);

/* "tackle:PROGRAM:HOST:PID", the name of a connection. */
#define TKL__IDENTITY_NAME_SIZE (TKL__PROGRAM_SIZE + TKL__HOST_SIZE + 32)
void tkl__identity_name(char name[TKL__IDENTITY_NAME_SIZE]);

#endif
