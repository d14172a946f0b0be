/* SPDX-License-Identifier: MIT
 *
 * A progress line on stderr, redrawn in place, only on a terminal.
 */
#ifndef TKL_CLI_PROGRESS_H
#define TKL_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    const char *label;
    uint64_t total;   /* 0: not known */
    int64_t drawn_ms; /* when it was last drawn */
    bool shown;       /* stderr is a terminal */
} cli_progress;

void cli_progress_start(cli_progress *progress, const char *label, uint64_t total);

/* Cheap: draws ten times a second at most. */
void cli_progress_update(cli_progress *progress, uint64_t done);

/* Removes the line. */
void cli_progress_end(cli_progress *progress);

#endif
