/* SPDX-License-Identifier: MIT
 *
 * The command line: which component and verb, which options, which arguments.
 */
#ifndef TKL_CLI_ARGS_H
#define TKL_CLI_ARGS_H

#include "cli.h"

/* Fills the invocation; global options may stand anywhere before "--". A password in --url is
 * wiped from `argv`, where every user of the machine could read it. */
int cli_args_read(cli_session *cli, int argc, char **argv);

/* Whether the number of arguments suits the verb. */
int cli_args_check(cli_session *cli);

void cli_args_free(cli_session *cli);

/* NULL: there is no such name. */
const cli_component *cli_find_component(const char *name);
const cli_verb *cli_find_verb(const cli_component *component, const char *name);

/* An option of the verb, or a global one. */
const cli_option *cli_find_option(const cli_session *cli, const char *name, size_t len);

/* Keeps an option with its value, which may be wiped; NULL for a flag. Room for it is there. */
int cli_keep_option(cli_session *cli, const cli_option *option, char *value);

/* Reads the word of a specification of arguments ("NAME [PAYLOAD...]") at `*at` and moves on; false
 * at the end. "--" and "[--" are not words. */
bool cli_next_word(const char **at, const char **word, size_t *len);

/* The usage error for an argument that is not there: "missing PAYLOAD". */
int cli_missing(const cli_session *cli, int index);

/* Usage errors with the nearest name that exists. */
int cli_unknown_component(const cli_session *cli, const char *name);
int cli_unknown_verb(const cli_session *cli, const char *name);

#endif
