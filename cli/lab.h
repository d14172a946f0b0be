/* SPDX-License-Identifier: MIT
 *
 * Experiments of the laboratory: a classic technique that fails, and the same work with tackle. Each
 * is an entry of a table (lab_*.c): shell lines that lab.c runs for real.
 */
#ifndef TKL_CLI_LAB_H
#define TKL_CLI_LAB_H

#include "cli.h"

typedef struct cli_experiment {
    const char *name;
    const char *title;
    const char *counted;     /* what is counted for both ways: "programs too many" */
    const cli_step *naive;   /* the naive way, ended by a zero entry */
    const char *naive_count; /* a line that prints the count afterwards */
    const cli_step *ours;    /* the same work with tackle */
    const char *ours_count;
    bool less;         /* tackle needs less than the naive way; otherwise its count is 0 */
    const char *learn; /* what to learn from it: a sentence or two */
    const char *page;  /* in docs/ */
} cli_experiment;

/* Tables by subject, each ended by a zero entry. */
extern const cli_experiment cli_lab_holding[];  /* locks and semaphores */
extern const cli_experiment cli_lab_passing[];  /* jobs and messages */
extern const cli_experiment cli_lab_counting[]; /* limits, memory, the server */

#endif
