/* SPDX-License-Identifier: MIT
 *
 * "Did you mean": the nearest of several names to a mistyped one.
 */
#ifndef TKL_CLI_NEAREST_H
#define TKL_CLI_NEAREST_H

#include <stddef.h>

typedef struct cli_nearness {
    const char *word; /* the word that was typed */
    const char *best; /* the nearest so far; NULL: nothing is near */
    size_t distance;  /* its distance */
} cli_nearness;

/* Offers a name that exists. */
void cli_nearest(cli_nearness *suggestion, const char *name);

/* Offers the same name by what other programs call it: "delete" is drop here. */
void cli_known_as(cli_nearness *suggestion, const char *name);

#endif
