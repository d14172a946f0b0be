/* SPDX-License-Identifier: MIT
 *
 * Suggestions on a terminal.
 */
#ifndef TKL_CLI_SUGGEST_H
#define TKL_CLI_SUGGEST_H

#include "cli.h"

/* Reads a line and shows suggestions while it is typed, until Enter, Ctrl-C or Ctrl-D. */
int cli_suggest_try(cli_session *cli, tkl_suggest *suggest, size_t count);

#endif
