/* SPDX-License-Identifier: MIT */
#include "graphite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void cli_graphite_line(const tkl_bytes *parts, double value, int64_t at_ms)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    fputs("tackle", stdout);
    for (; parts->data != NULL; parts++) {
        putchar('.');
        for (size_t i = 0; i < parts->len; i++)
            putchar(memchr(safe, parts->data[i], sizeof safe - 1) ? parts->data[i] : '_');
    }
    printf(" %.15g %" PRId64 "\n", value, at_ms / 1000);
}

int cli_check_graphite(const cli_session *cli)
{
    if (cli_flag(cli, "graphite") && (cli->json || cli_flag(cli, "csv")))
        return cli_usage(cli, "one of --graphite, --csv and --json");
    return CLI_OK;
}
