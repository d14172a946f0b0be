/* SPDX-License-Identifier: MIT
 *
 * Verbs of limits that stand in a file of their own.
 */
#ifndef TKL_CLI_LIMIT_H
#define TKL_CLI_LIMIT_H

#include "cli.h"

int cli_limit_list(cli_session *cli);
int cli_limit_show(cli_session *cli);

#endif
