/* SPDX-License-Identifier: MIT
 *
 * The end of a command's stderr, kept as the reason of a failure.
 */
#ifndef TKL_CLI_TAIL_H
#define TKL_CLI_TAIL_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_TAIL_MAX = 900 };

/* All zero: empty. */
typedef struct cli_tail {
    char text[CLI_TAIL_MAX + 1];
    size_t len;
    bool cut; /* the beginning of the output is not in it */
} cli_tail;

void cli_tail_keep(cli_tail *tail, const char *data, size_t len);

/* Returns the text: whole lines if there are any, no blanks at the end, no NULs. It points into the
 * tail. */
const char *cli_tail_text(cli_tail *tail);

#endif
