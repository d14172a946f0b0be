/* SPDX-License-Identifier: MIT
 *
 * Verbs of limits that stand in a file of their own.
 */
#ifndef TKL_CLI_LIMIT_H
#define TKL_CLI_LIMIT_H

#include "out.h"

/* The end of a verb about the KEY of the limit NAME: TKL_NOTFOUND says that it has taken nothing. */
int cli_limit_end_of_key(const cli_session *cli, int code);

int cli_limit_list(cli_session *cli);
int cli_limit_show(cli_session *cli);
int cli_limit_refused(cli_session *cli);

/* Adds a row for each limit that refused lately, by name; or for the `max` that refused most, those
 * first (0: all). A code of the library. */
int cli_limit_refusals_read(tkl_client *client, size_t max, json_t *rows);
extern const cli_column cli_limit_refusals_columns[];

#endif
