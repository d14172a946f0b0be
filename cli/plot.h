/* SPDX-License-Identifier: MIT
 *
 * Numbers over time, drawn with block characters: as wide as the terminal, with labelled axes.
 */
#ifndef TKL_CLI_PLOT_H
#define TKL_CLI_PLOT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The data to draw: one number for each interval of time. */
typedef struct cli_plot {
    const double *values;
    size_t count;
    int64_t start_ms; /* start of the first interval, Unix time */
    int64_t every_ms; /* length of an interval */
    int width;        /* width in columns; 0: that of the terminal, or 80 */
    int height;       /* lines of bars; 0: 8 */
} cli_plot;

/* Draws the plot. If there are more numbers than columns, adds neighbours up. */
void cli_plot_print(const cli_plot *plot, FILE *to);

#endif
