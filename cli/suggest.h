/* SPDX-License-Identifier: MIT
 *
 * "Did you mean": the nearest of several names to a mistyped one.
 */
#ifndef TKL_CLI_SUGGEST_H
#define TKL_CLI_SUGGEST_H

#include <stddef.h>

typedef struct cli_suggestion {
    const char *word; /* what was typed */
    const char *best; /* the nearest so far; NULL: nothing is near */
    size_t distance;  /* its distance */
} cli_suggestion;

/* Offers a name that exists. */
void cli_suggest(cli_suggestion *suggestion, const char *name);

#endif
