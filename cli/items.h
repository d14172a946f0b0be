/* SPDX-License-Identifier: MIT
 *
 * Many items for one verb: its arguments, or with --lines the lines of standard input.
 */
#ifndef TKL_CLI_ITEMS_H
#define TKL_CLI_ITEMS_H

#include "cli.h"

/* Works on some of the items; returns an exit code, and other than CLI_OK ends the work. */
typedef int cli_items_fn(cli_session *cli, const tkl_bytes *items, size_t count, void *arg);

/* Calls `work` for all items behind the first `skip` arguments, or for all lines, a thousand or a
 * few megabytes at a time. CLI_USAGE when there are neither, or both. */
int cli_items(cli_session *cli, int skip, cli_items_fn *work, void *arg);

#define CLI_LINES                                                        \
    {                                                                    \
        "lines", CLI_FLAG, NULL, "items are the lines of standard input" \
    }

#endif
