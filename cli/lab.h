/* SPDX-License-Identifier: MIT
 *
 * Experiments of the laboratory: a classic technique that fails, and the same work with tackle. Each
 * is an entry of a table (lab_*.c): shell lines that lab.c runs for real. What a shell cannot do, many
 * writers at once or a client that measures, is a routine in C.
 */
#ifndef TKL_CLI_LAB_H
#define TKL_CLI_LAB_H

#include "cli.h"

/* The last step of a way. */
typedef struct cli_routine {
    const char *text;
    const char *command; /* the commands, as a reader would type them */
    /* Prints to the descriptor `output`; *count is what is counted for this way. Returns the exit
     * code. */
    int (*run)(cli_session *cli, int output, int64_t *count);
} cli_routine;

typedef struct cli_experiment {
    const char *name;
    const char *title;
    const char *counted;     /* the count shown for both ways: "programs too many" */
    const cli_step *naive;   /* the naive way, ended by a zero entry */
    const char *naive_count; /* a line that prints the count afterwards; NULL: the routine counts */
    cli_routine naive_routine;
    const cli_step *ours; /* the same work with tackle */
    const char *ours_count;
    cli_routine ours_routine;
    bool less;         /* tackle needs less than the naive way; otherwise its count is 0 */
    bool timed;        /* the counts are times: a busy machine may show anything */
    const char *learn; /* the lesson: a sentence or two */
    const char *page;  /* in docs/ */
} cli_experiment;

/* Tables by subject, each ended by a zero entry. */
extern const cli_experiment cli_lab_holding[];  /* locks and semaphores */
extern const cli_experiment cli_lab_passing[];  /* jobs and messages */
extern const cli_experiment cli_lab_counting[]; /* limits, memory, the server */

/* Routines: lab_writers.c and lab_waits.c. */
#define CLI_LAB_WATCH "WATCH n; GET n; MULTI; SET n $((n + 1)); EXEC"
int cli_lab_write_watching(cli_session *cli, int output, int64_t *wasted);
#define CLI_LAB_TURNS                                                           \
    "tkl_lock_acquire(n); GET n; SET n $((n + 1)); tkl_lock_release(n)    and " \
    "tkl_script_run(add.lua, n)"
int cli_lab_write_in_turn(cli_session *cli, int output, int64_t *wasted);
#define CLI_LAB_KEYS "tackle call KEYS '*' | wc -l"
int cli_lab_wait_for_keys(cli_session *cli, int output, int64_t *worst_ms);
#define CLI_LAB_SCAN "tackle scan | wc -l"
int cli_lab_wait_for_scan(cli_session *cli, int output, int64_t *worst_ms);

#endif
