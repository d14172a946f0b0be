/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of `tackle files`.
 */
#ifndef TKL_CLI_FILES_H
#define TKL_CLI_FILES_H

#include "cli.h"

/* A handle for the channel that the first argument names. */
int cli_files_open(cli_session *cli, const tkl_files_options *options, tkl_files **files);
/* Whether the options of send and receive are in their ranges. */
int cli_files_check(cli_session *cli);

/* ---- files_bar.c --------------------------------------------------------- */

/* A progress line on stderr with the rate of the last seconds and the remaining time. On a terminal
 * the line is redrawn in place. Elsewhere a new line is printed now and then, none with --json. */
enum { CLI_FILES_SAMPLES = 8 };
typedef struct cli_files_bar {
    const char *verb;
    bool terminal, silent;
    int64_t drawn_ms; /* when it was last drawn; on a terminal 0: no line is shown */
    struct {
        int64_t at_ms, bytes;
    } samples[CLI_FILES_SAMPLES]; /* a ring, one for each second or so */
    size_t count;                 /* number of samples so far */
} cli_files_bar;

void cli_files_bar_start(cli_files_bar *bar, const cli_session *cli);
void cli_files_bar_update(cli_files_bar *bar, const tkl_files_progress *progress);
/* Removes the line; the next update draws it again. */
void cli_files_bar_clear(cli_files_bar *bar);

/* Writes "12 B", "3.4 MB" and the like; returns `text`. */
enum { CLI_BYTES_SIZE = 24 };
const char *cli_bytes_text(int64_t bytes, char text[CLI_BYTES_SIZE]);

/* ---- files_move.c, files_look.c ------------------------------------------ */

int cli_files_send(cli_session *cli);
int cli_files_end(cli_session *cli);
int cli_files_receive(cli_session *cli);
int cli_files_status(cli_session *cli);
int cli_files_drop_receiver(cli_session *cli);
int cli_files_add_receiver(cli_session *cli);
int cli_files_list(cli_session *cli);

#endif
