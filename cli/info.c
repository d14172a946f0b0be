/* SPDX-License-Identifier: MIT */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_info_read(tkl_client *client, tkl_reply **info)
{
    const char *words[] = {"INFO"};
    return tkl_call(client, 1, words, NULL, &(tkl_call_options){.retry_safe = true}, info);
}

const char *cli_info_field(const char *info, const char *name, char value[CLI_INFO_SIZE])
{
    size_t len = strlen(name);
    *value = '\0';
    for (const char *at = info; *at != '\0'; at += strspn(at, "\r\n")) {
        size_t width = strcspn(at, "\r\n");
        if (strncmp(at, name, len) == 0 && at[len] == ':')
            snprintf(value, CLI_INFO_SIZE, "%.*s", (int)(width - len - 1), at + len + 1);
        at += width;
    }
    return value;
}

int64_t cli_info_number(const char *info, const char *name)
{
    char value[CLI_INFO_SIZE];
    return strtoll(cli_info_field(info, name, value), NULL, 10);
}

const char *cli_info_version(const char *info, char value[CLI_INFO_SIZE])
{
    return *cli_info_field(info, "valkey_version", value) != '\0'
               ? value
               : cli_info_field(info, "redis_version", value);
}

json_t *cli_info_json(const char *info)
{
    char version[CLI_INFO_SIZE], role[CLI_INFO_SIZE], policy[CLI_INFO_SIZE], saved[CLI_INFO_SIZE];
    char program[CLI_INFO_SIZE], written[CLI_INFO_SIZE];
    bool valkey = *cli_info_field(info, "valkey_version", program) != '\0';
    int64_t most = cli_info_number(info, "maxmemory"),
            aof = cli_info_number(info, "aof_current_size");
    bool aof_failed =
        strcmp(cli_info_field(info, "aof_last_write_status", written), "err") == 0 ||
        strcmp(cli_info_field(info, "aof_last_bgrewrite_status", written), "err") == 0;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:s, s:b, s:s, s:I, s:I, s:I}", "program",
                  valkey ? "valkey" : "redis", "version", cli_info_version(info, version), "role",
                  cli_info_field(info, "role", role), "uptime_ms",
                  (json_int_t)cli_info_number(info, "uptime_in_seconds") * 1000, "memory",
                  (json_int_t)cli_info_number(info, "used_memory"), "memory_max",
                  most > 0 ? json_integer((json_int_t)most) : json_null(), "policy",
                  cli_info_field(info, "maxmemory_policy", policy), "aof",
                  cli_info_number(info, "aof_enabled") != 0, "last_save",
                  cli_info_field(info, "rdb_last_bgsave_status", saved), "clients",
                  (json_int_t)cli_info_number(info, "connected_clients"), "replicas",
                  (json_int_t)cli_info_number(info, "connected_slaves"), "commands_per_second",
                  (json_int_t)cli_info_number(info, "instantaneous_ops_per_sec"));
    json_t *persistence = json_pack(
        "{s:o, s:I, s:b, s:o, s:s}", "saved_at",
        cli_json_time(cli_info_number(info, "rdb_last_save_time") * 1000), "unsaved_changes",
        (json_int_t)cli_info_number(info, "rdb_changes_since_last_save"), "saving",
        cli_info_number(info, "rdb_bgsave_in_progress") != 0 ||
            cli_info_number(info, "aof_rewrite_in_progress") != 0,
        "aof_bytes", aof > 0 ? json_integer((json_int_t)aof) : json_null(), "last_aof",
        aof_failed ? "err" : "ok");
    if (object != NULL && persistence != NULL)
        json_object_update_new(object, persistence);
    else
        json_decref(persistence);
    return object;
}
