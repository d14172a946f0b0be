/* SPDX-License-Identifier: MIT
 *
 * Many items for one verb: its arguments, or with --lines the lines of standard input.
 */
#ifndef TKL_CLI_ITEMS_H
#define TKL_CLI_ITEMS_H

#include "cli.h"

/* Most items of one call of `work`. */
#define CLI_ITEMS_MAX 1000

/* Works on some of the items. Returns an exit code; any code except CLI_OK ends the work. */
typedef int cli_items_fn(cli_session *cli, const tkl_bytes *items, size_t count, void *arg);

/* Calls `work` for all items after the first `skip` arguments, or for all lines: a thousand, or a
 * few megabytes, at a time. CLI_USAGE when there are neither, or both. */
int cli_items(cli_session *cli, int skip, cli_items_fn *work, void *arg);

/* The same for items that are text: a line may end with CRLF, and empty lines are left out. */
int cli_text_items(cli_session *cli, int skip, cli_items_fn *work, void *arg);

/* For `work`: the line of an item, from 1; 0 when the items are arguments. */
size_t cli_item_line(size_t index);

/* cli_end() for the current items: the message names their lines. */
int cli_end_items(const cli_session *cli, int code, size_t count);

#define CLI_LINES                                                               \
    {                                                                           \
        "lines", CLI_LOCAL_FLAG, NULL, "each line of standard input is an item" \
    }

#endif
