/* SPDX-License-Identifier: MIT */
#include "support/configs.h"

tkl_config *open_config(tkl_client *client)
{
    tkl_config *config;
    assert_ok(tkl_config_open(client, tkl_str("limits"), tkl_str("search"), NULL, &config));
    return config;
}

int64_t set_config(tkl_config *config, const char *json)
{
    int64_t version;
    assert_ok(tkl_config_set(config, tkl_str(json), NULL, &version));
    return version;
}

int set_config_if(tkl_config *config, const char *json, int64_t if_version, int64_t *version)
{
    tkl_config_set_options options = {.if_version = if_version};
    return tkl_config_set(config, tkl_str(json), &options, version);
}

bool is_config(tkl_config_value *value, const char *json, int64_t version)
{
    bool same = value && value->version == version && value->json.len == strlen(json) &&
                memcmp(value->json.data, json, value->json.len) == 0;
    tkl_config_value_free(value);
    return same;
}

bool reads_config(tkl_config *config, const char *json, int64_t version)
{
    tkl_config_value *value = NULL;
    int rc = tkl_config_read(config, &value, NULL);
    return rc == TKL_OK ? is_config(value, json, version) : false;
}

int64_t config_age(tkl_config *config)
{
    tkl_config_value *value;
    int64_t age;
    assert_ok(tkl_config_read(config, &value, &age));
    tkl_config_value_free(value);
    return age;
}
