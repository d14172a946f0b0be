/* SPDX-License-Identifier: MIT
 *
 * Relays the output of commands that run at the same time: whole lines, each with a tag if wanted,
 * or all output of a command at its end.
 */
#ifndef TKL_CLI_RELAY_H
#define TKL_CLI_RELAY_H

#include <stdbool.h>
#include <stddef.h>

/* One stream of one command. */
typedef struct cli_relay {
    int pipe[2];     /* the command writes into the second; 0: closed */
    int to;          /* target: STDOUT_FILENO or STDERR_FILENO */
    const char *tag; /* printed before each line, with a tab; NULL: none */
    bool whole;      /* print everything at the end */
    char *text;      /* text that waits for the end of its line, or of the command */
    size_t len, cap;
} cli_relay;

/* False on failure, and errno. */
bool cli_relay_open(cli_relay *relay, int to, const char *tag, bool whole);

/* Reads from the pipe into `data` (*len bytes; both may be NULL) and prints. False when there is
 * nothing at the moment, or at the end, which closes the pipe. */
bool cli_relay_take(cli_relay *relay, char *data, size_t size, size_t *len);

/* Prints the rest and closes. A relay that is not open is fine. */
void cli_relay_close(cli_relay *relay);

/* Closes a descriptor unless it is 0, which means closed, and sets it to 0. */
void cli_close_file(int *fd);

/* Locks for other writers to stdout or stderr. */
void cli_relay_lock(void);
void cli_relay_unlock(void);

#endif
