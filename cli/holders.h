/* SPDX-License-Identifier: MIT
 *
 * How claims, holders and waiters are shown: for locks and semaphores.
 */
#ifndef TKL_CLI_HOLDERS_H
#define TKL_CLI_HOLDERS_H

#include "out.h"

/* {"name", "token", "fence", "lease_ms"}, with the name of the first argument. */
int cli_print_claim(const cli_session *cli, const char *token, uint64_t fence, int64_t lease_ms);

/* {"name", "held", "holders", "waiters", "line"}, and "shared" of a lock, "limit" of a semaphore:
 * `held` and `waiters` are numbers, `holders` and `line` list the first of them. */
json_t *cli_json_hold(const cli_session *cli, tkl_bytes name, const tkl_holders *holders);

/* Prints such an object: its fields, then tables of holders and waiters. Frees it. */
int cli_print_holders(const cli_session *cli, json_t *object);

/* Prints an array of such objects: for people a line each, with its first holder. Frees it. */
int cli_print_held(const cli_session *cli, json_t *objects);

/* Prints {"name": ..., "released": true} with --json, else nothing: the exit code says it. */
int cli_print_done(const cli_session *cli, const char *what);

#endif
