/* SPDX-License-Identifier: MIT */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cli_info_field(const tkl_reply *info, const char *name, char value[CLI_INFO_SIZE])
{
    size_t len = strlen(name);
    *value = '\0';
    for (const char *line = tkl_reply_str(info); *line != '\0'; line += strspn(line, "\r\n")) {
        size_t width = strcspn(line, "\r\n");
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            snprintf(value, CLI_INFO_SIZE, "%.*s", (int)(width - len - 1), line + len + 1);
        line += width;
    }
    return value;
}

int64_t cli_info_number(const tkl_reply *info, const char *name)
{
    char value[CLI_INFO_SIZE];
    return strtoll(cli_info_field(info, name, value), NULL, 10);
}

const char *cli_info_version(const tkl_reply *info, char value[CLI_INFO_SIZE])
{
    return *cli_info_field(info, "valkey_version", value) != '\0'
               ? value
               : cli_info_field(info, "redis_version", value);
}
