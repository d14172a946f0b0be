/* SPDX-License-Identifier: MIT
 *
 * What commands print while several of them run: whole lines, each with a tag if wanted, or all
 * of a command at its end.
 */
#ifndef TKL_CLI_RELAY_H
#define TKL_CLI_RELAY_H

#include <stdbool.h>
#include <stddef.h>

/* One stream of one command. */
typedef struct cli_relay {
    int pipe[2];     /* the command writes into the second; 0: closed */
    int to;          /* where it goes: STDOUT_FILENO or STDERR_FILENO */
    const char *tag; /* before each line, with a tab; NULL: none */
    bool whole;      /* all at the end */
    char *text;      /* what waits for the end of its line, or of the command */
    size_t len, cap;
} cli_relay;

/* False and errno. */
bool cli_relay_open(cli_relay *relay, int to, const char *tag, bool whole);

/* Takes what is there; *data and *len (may be NULL) tell what it was. False when there is nothing
 * at the moment, or at the end, which closes the pipe. */
bool cli_relay_take(cli_relay *relay, char *data, size_t size, size_t *len);

/* Prints what is left, and closes. Fine for one that is not open. */
void cli_relay_close(cli_relay *relay);

/* Around whatever else writes to the same files. */
void cli_relay_lock(void);
void cli_relay_unlock(void);

#endif
