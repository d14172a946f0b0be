/* SPDX-License-Identifier: MIT
 *
 * Files of rows: JSON lines and CSV, packed by gzip or not. Both give cells: the name of a member
 * or column, and a text.
 */
#ifndef TKL_CLI_ROWS_H
#define TKL_CLI_ROWS_H

#include "cli.h"
#include "progress.h"

typedef struct cli_rows {
    cli_session *cli;
    /* Whether the reader wants cells of this name; called for each member and each column. */
    bool (*wants)(void *arg, tkl_bytes name);
    void (*begin)(void *arg);
    void (*cell)(void *arg, tkl_bytes name, tkl_bytes text); /* not called for null and empty
                                                                columns */
    void (*bad)(void *arg, const char *why);                 /* the row is bad */
    void (*end)(void *arg);
    void *arg;
    const char *needed; /* a column that a table must have */
    /* The callbacks may use these. */
    cli_progress bar; /* cli_progress_end() before something is printed */
    const char *file; /* its name, for messages */
    uint64_t row;     /* number of the row, from 1; the header of a table is row 1 */
    int failed;       /* exit code of a failure; a callback that sets it ends the reading */
} cli_rows;

/* Reads a file; "-" is standard input. `format`: "jsonl", "csv", "tsv"; NULL: by the name of the
 * file, else by its first line: "jsonl" if that begins with '{', "tsv" if it has a tab, or "csv".
 * Returns rows->failed. */
int cli_rows_read(cli_rows *rows, const char *path, const char *format);

#endif
