/* SPDX-License-Identifier: MIT
 *
 * Lines typed on a terminal, with the keys of an editor, a history (arrow up) and completion (Tab).
 *
 * libedit does that. It is loaded when the first line is read, so that no other verb pays for it.
 * Without it, and where keys or output do not belong to a terminal, callers read lines themselves.
 * There is one editor in a process.
 */
#ifndef TKL_CLI_EDIT_H
#define TKL_CLI_EDIT_H

#include <stdbool.h>
#include <stddef.h>

/* The index-th text that a word may become, to be freed; NULL: there are no more, or there is no
 * memory. `before` is the line as far as that word. Empty texts, and those that do not begin like
 * the word, are left out. */
typedef char *cli_edit_guess(void *arg, const char *before, const char *word, size_t index);

/* Opens the editor. False: there is none here. It changes the terminal only while it reads a
 * line. */
bool cli_edit_open(cli_edit_guess *guess, void *arg);

/* The next line without its end, to be freed; NULL: there is none. */
char *cli_edit_line(const char *prompt);

/* Adds the line to the history, which ends with the process. */
void cli_edit_remember(const char *text);

#endif
