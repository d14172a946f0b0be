/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of this component share.
 */
#ifndef TKL_CONFIG_CONFIG_H
#define TKL_CONFIG_CONFIG_H

#include <tackle/config.h>

#include <stdatomic.h>

#include "core/follow.h"
#include "core/keys.h"

enum { TKL__CONFIG_AUTHOR_SIZE = 256 };

struct tkl_config {
    tkl_client *client;
    tkl__keys keys; /* the list, whose name is also that of the channel, and the requests */
    int64_t timeout_ms;
    int64_t history;
    bool is_server; /* its kind is TKL_CONFIG_SERVER */
    char author[TKL__CONFIG_AUTHOR_SIZE];
    tkl__follower follower;
    tkl_config_value *value; /* the follower's copy; NULL: no value */
};

/* Adds a reference to a value; tkl_config_value_free() drops it. */
tkl_config_value *tkl__config_share(tkl_config_value *value);

/* Whether both values are the same change. A server that has lost its data starts with version 1
 * again, so time and text are compared, too. NULL: no value. */
bool tkl__config_same(const tkl_config_value *a, const tkl_config_value *b);

/* ---- server.c ---- */

/* Makes a URL of the description of a server; the caller frees it with tkl_config_url_free().
 * Settings that a URL cannot express are returned beside it. `with_files`: with the name of the
 * password file. */
int tkl__config_server_read(tkl_bytes json, bool with_files, char **url, int *pool_size);
/* TKL_EINVAL: it does not describe a server. No I/O. */
int tkl__config_server_check(tkl_bytes json);

/* Compares with the server: TKL_OK: it has a value if `known`, and none if not; TKL_CONFLICT:
 * otherwise; or an error. */
int tkl__config_check(tkl_config *config, bool known, int64_t timeout_ms);

#endif
