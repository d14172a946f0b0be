/* SPDX-License-Identifier: MIT
 *
 * Replies of the server, printed. On a terminal a reply looks as redis-cli shows it; elsewhere it
 * is the bare bytes, one element a line, ready for a script.
 */
#ifndef TKL_CLI_REPLY_H
#define TKL_CLI_REPLY_H

#include "cli.h"

/* For the options of a verb that prints replies. */
#define CLI_REPLY_OPTIONS                                                                 \
    {"raw", CLI_FLAG, NULL, "print bare bytes, one element a line (default when piped)"}, \
    {                                                                                     \
        "readable", CLI_FLAG, NULL, "print types and quotes (default on a terminal)"      \
    }

int cli_print_reply(const cli_session *cli, const tkl_reply *reply);

#endif
