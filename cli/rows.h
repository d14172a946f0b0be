/* SPDX-License-Identifier: MIT
 *
 * Files of rows: JSON lines and CSV, packed by gzip or not. Both give cells: a name (of a member, or
 * of a column) and a text.
 */
#ifndef TKL_CLI_ROWS_H
#define TKL_CLI_ROWS_H

#include "cli.h"
#include "progress.h"

typedef struct cli_rows {
    cli_session *cli;
    /* Whether cells of this name are to be given; asked for each member and each column. */
    bool (*wants)(void *arg, tkl_bytes name);
    void (*begin)(void *arg);
    void (*cell)(void *arg, tkl_bytes name, tkl_bytes text); /* not for null and empty columns */
    void (*bad)(void *arg, const char *why);                 /* something is wrong with the row */
    void (*end)(void *arg);
    void *arg;
    const char *needed; /* a column that a table must have */
    /* What the functions may look at. */
    cli_progress bar; /* cli_progress_end() before something is printed */
    const char *file; /* its name, for messages */
    uint64_t row;     /* from 1; of a table, the row of names is the first */
    int failed; /* an exit code, when something went wrong; whoever sets it ends the reading */
} cli_rows;

/* "-" is standard input. `format`: "jsonl", "csv", "tsv"; NULL: what the name says. Returns
 * rows->failed. */
int cli_rows_read(cli_rows *rows, const char *path, const char *format);

#endif
