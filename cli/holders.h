/* SPDX-License-Identifier: MIT
 *
 * How claims and those who hold them are shown: for locks and semaphores.
 */
#ifndef TKL_CLI_HOLDERS_H
#define TKL_CLI_HOLDERS_H

#include "out.h"

/* {"name","token","fence","ttl_ms"}, and its fields for people. */
json_t *cli_claim(tkl_bytes name, const char *token, uint64_t fence, int64_t ttl_ms);
extern const cli_column cli_claim_fields[];

/* [{"host","pid","label","fence","ttl_ms","since_ms"}] */
json_t *cli_json_holders(const tkl_holders *holders);

/* Prints an object that has "holders": its fields, then a table of them. Frees the object. */
int cli_print_holders(const cli_session *cli, json_t *object, const cli_column *fields);

/* Prints an array of such objects: for people a line each, with its first holder. Frees it. */
int cli_print_held(const cli_session *cli, json_t *objects);

/* With --json {"name": ..., "released": true}; else nothing: the exit code says it. */
int cli_print_done(const cli_session *cli, const char *what);

#endif
