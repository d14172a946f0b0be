/* SPDX-License-Identifier: MIT
 *
 * What the files of `tackle files` share.
 */
#ifndef TKL_CLI_FILES_H
#define TKL_CLI_FILES_H

#include "cli.h"

/* A handle for the channel that the first argument names. */
int cli_files_open(cli_session *cli, const tkl_files_options *options, tkl_files **files);

/* ---- files_bar.c --------------------------------------------------------- */

/* A line on stderr with rate and remaining time, drawn over itself, and only on a terminal. */
typedef struct cli_files_bar {
    bool shown;
    int64_t started_ms, drawn_ms; /* drawn 0: nothing is there */
    int64_t before;               /* bytes that were done when it started */
} cli_files_bar;

void cli_files_bar_start(cli_files_bar *bar);
void cli_files_bar_update(cli_files_bar *bar, const tkl_files_progress *progress);
/* Removes the line; the next update draws it again. */
void cli_files_bar_clear(cli_files_bar *bar);

/* "12 B", "3.4 MB"; returns `text`. */
enum { CLI_BYTES_SIZE = 24 };
const char *cli_bytes_text(int64_t bytes, char text[CLI_BYTES_SIZE]);

/* ---- files_move.c, files_look.c ------------------------------------------ */

int cli_files_send(cli_session *cli);
int cli_files_receive(cli_session *cli);
int cli_files_status(cli_session *cli);
int cli_files_drop(cli_session *cli);
int cli_files_add(cli_session *cli);
int cli_files_list(cli_session *cli);

#endif
