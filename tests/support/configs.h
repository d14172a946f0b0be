/* SPDX-License-Identifier: MIT
 *
 * Configuration as tests use it: the kind "limits", the component "search".
 */
#ifndef TACKLE_TESTS_CONFIGS_H
#define TACKLE_TESTS_CONFIGS_H

#include <tackle/config.h>

#include "support/fixture.h"

#define KEY     "tackle:config:{limits:search}"
#define LONG_MS 30000

tkl_config *open_config(tkl_client *client);
int64_t set_config(tkl_config *config, const char *json);
int set_config_if(tkl_config *config, const char *json, int64_t if_version, int64_t *version);
/* Whether a value that was read has this text and version. Frees it. */
bool is_config(tkl_config_value *value, const char *json, int64_t version);
/* Whether the copy in memory has this text and version. */
bool reads_config(tkl_config *config, const char *json, int64_t version);
int64_t config_age(tkl_config *config);

#endif
