/* SPDX-License-Identifier: MIT
 *
 * Results that are a list of texts, or a number of things removed.
 */
#ifndef TKL_CLI_LINES_H
#define TKL_CLI_LINES_H

#include <jansson.h>

#include "cli.h"

/* With --json an array of strings, else a line each. */
int cli_print_names(const cli_session *cli, const tkl_names *names);

/* The options of verbs that list names. */
extern const cli_option cli_list_options[];

/* Runs the verb of the session; returns its exit code. A verb that `views`, or has these options,
 * is lenient (tkl_lenient_begin()): where masters of a cluster do not answer, it shows what the
 * others have, and stderr names them. */
int cli_run(cli_session *cli);

/* "no answer from 10.0.0.1:6379, 10.0.0.2:6379: what they have is missing"; returns `text`, which
 * is "" when no server is missing. */
enum { CLI_MISSING_SIZE = 256 };
const char *cli_missing_text(const tkl_names *missing, char text[CLI_MISSING_SIZE]);

/* The same as JSON: ["10.0.0.1:6379"]. */
json_t *cli_missing_json(const tkl_names *missing);

/* All names of a component, as rows with the column "name": tkl_log_names() and the like. */
int cli_list(cli_session *cli, int (*names_of)(tkl_client *client, tkl_names **names));

/* Prints a count, `what` of the first argument: {"name": "ann", "added": 2}, or the number. */
int cli_print_count(const cli_session *cli, const char *what, int64_t count);

/* Prints {"name": ..., "removed": 2} with --json, else the number alone. */
int cli_print_removed(const cli_session *cli, int64_t count);

#endif
