/* SPDX-License-Identifier: MIT
 *
 * The fields of INFO: what a server says about itself.
 */
#ifndef TKL_CLI_INFO_H
#define TKL_CLI_INFO_H

#include "out.h"

enum { CLI_INFO_SIZE = 256 };

/* Reads INFO; of a cluster, that of a master that answers. */
int cli_info_read(tkl_client *client, tkl_reply **info);

/* The value of a field, "used_memory", in the text of INFO; "" when it is missing. Returns
 * `value`. */
const char *cli_info_field(const char *info, const char *name, char value[CLI_INFO_SIZE]);
/* The same as a number; 0 when it is missing. */
int64_t cli_info_number(const char *info, const char *name);
/* The version: that of Valkey if it is one. Returns `value`. */
const char *cli_info_version(const char *info, char value[CLI_INFO_SIZE]);

/* Facts that operators want to know first, as status shows them. */
json_t *cli_info_json(const char *info);

#endif
