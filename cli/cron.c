/* SPDX-License-Identifier: MIT
 *
 * Shows the next times of a cron expression, to check it before use. Asks no server.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "out.h"

enum { MOST = 1000 };

/* The C library has one zone for the whole program; this program needs no other. */
static void use_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static json_t *row(const cli_session *cli, int64_t ms)
{
    char text[64];
    struct tm local;
    time_t at = (time_t)(ms / 1000);
    localtime_r(&at, &local);
    size_t length = strftime(text, sizeof text - 1,
                             cli->json ? "%Y-%m-%dT%H:%M:%S%z" : "%a %Y-%m-%dT%H:%M:%S%z", &local);
    memmove(text + length - 1, text + length - 2, 3); /* +0100: RFC 3339 has a colon in it */
    text[length - 2] = ':';
    return json_pack("{s:s}", "time", text);
}

static int collect_times(cli_session *cli, int64_t count, json_t *rows)
{
    const char *zone = cli_text(cli, "zone", "UTC");
    int64_t now = (int64_t)time(NULL) * 1000, at = cli_number(cli, "after", now);
    for (int64_t i = 0; i < count; i++) {
        int code = tkl_cron_next(cli->argv[0], zone, at, &at);
        if (code != TKL_OK)
            return cli_end(cli, code);
        use_zone(zone);
        if (json_array_append_new(rows, row(cli, at)) != 0)
            return cli_end(cli, TKL_ENOMEM);
    }
    return CLI_OK;
}

static int run_cron(cli_session *cli)
{
    static const cli_column columns[] = {{"time", "TIME"}, {0}};
    int64_t count = cli_number(cli, "count", 5);
    if (count < 1 || count > MOST)
        return cli_usage(cli, "--count is from 1 to %d", MOST);
    json_t *rows = json_array();
    int failed = collect_times(cli, count, rows);
    if (!failed)
        return cli_print_rows(cli, rows, columns);
    json_decref(rows);
    return failed;
}

static const cli_option options[] = {
    {"zone", CLI_TEXT, "ZONE", "time zone, like Europe/Berlin (default UTC)"},
    {"count", CLI_INTEGER, "N", "print the next N times (default 5)"},
    {"after", CLI_TIME, "TIME", "print times after this one (default now)"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .args = "EXPRESSION",
        .summary = "when a cron expression comes next",
        .options = options,
        .details =
            "EXPRESSION is 'MINUTE HOUR DAY MONTH WEEKDAY', as for the schedules of queues, or\n"
            "@hourly, @daily, @weekly, @monthly, @yearly. Asks no server.",
        .example = "tackle cron '30 2 * * mon-fri' --zone Europe/Berlin",
        .effect = CLI_READS,
        .run = run_cron,
    },
    {0},
};

static const cli_step demo[] = {
    {"There is no 02:30 on the day when clocks go forward: it comes at 03:00, once.",
     "tackle cron '30 2 * * *' --zone Europe/Berlin --after 2026-03-28 --count 3", 0},
    {0},
};

const cli_component cli_cron = {
    .name = "cron",
    .summary = "when a cron expression comes next",
    .verbs = verbs,
    .demo = demo,
};
