/* SPDX-License-Identifier: MIT
 *
 * `tackle online compare`.
 */
#ifndef TKL_CLI_ONLINE_COMPARE_H
#define TKL_CLI_ONLINE_COMPARE_H

#include "cli.h"

int cli_online_compare(cli_session *cli);
extern const cli_option cli_online_compare_options[];

#endif
