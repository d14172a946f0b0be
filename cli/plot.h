/* SPDX-License-Identifier: MIT
 *
 * Numbers over time, drawn with block characters: as wide as the terminal, with labelled axes.
 */
#ifndef TKL_CLI_PLOT_H
#define TKL_CLI_PLOT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What to draw: a number for each stretch of time. */
typedef struct cli_plot {
    const double *values;
    size_t count;
    int64_t start_ms; /* of the first, Unix time */
    int64_t every_ms; /* from one to the next */
    int width;        /* columns in all; 0: those of the terminal, or 80 */
    int height;       /* lines of bars; 0: 8 */
} cli_plot;

/* Where there are more numbers than columns, neighbours are added up. */
void cli_plot_print(const cli_plot *plot, FILE *to);

#endif
