/* SPDX-License-Identifier: MIT
 *
 * What the files of this component share.
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
    tkl__keys keys; /* the stream, whose name is the channel's, too, and the requests */
    int64_t timeout_ms;
    int64_t history;
    char author[TKL__CONFIG_AUTHOR_SIZE];
    tkl__follower follower;
    tkl_config_value *value; /* the copy of the follower; NULL: there is none */
};

/* Another reference to a value; tkl_config_value_free() gives it back. */
tkl_config_value *tkl__config_share(tkl_config_value *value);

/* Whether both are one and the same change. A server that has lost its data begins with version 1
 * again: time and text tell such values apart. NULL is none. */
bool tkl__config_same(const tkl_config_value *a, const tkl_config_value *b);

/* Whether the server has a value, as is `known`: TKL_OK, TKL_CONFLICT or an error. */
int tkl__config_check(tkl_config *config, bool known, int64_t timeout_ms);

#endif
