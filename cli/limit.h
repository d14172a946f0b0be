/* SPDX-License-Identifier: MIT
 *
 * Verbs of limits that stand in a file of their own.
 */
#ifndef TKL_CLI_LIMIT_H
#define TKL_CLI_LIMIT_H

#include "cli.h"

/* The end of a verb about the KEY of the limit NAME: TKL_NOTFOUND says that it has taken nothing. */
int cli_limit_end_of_key(const cli_session *cli, int code);

int cli_limit_list(cli_session *cli);
int cli_limit_show(cli_session *cli);

#endif
