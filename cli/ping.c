/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "clock.h"
#include "out.h"

static int print_pong(const cli_session *cli, double ms)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:f}", "reply", "PONG", "took_ms", ms));
    printf("PONG %.3f ms\n", ms);
    return CLI_OK;
}

/* The first ping connects; the second is timed, so the time is only the round trip. */
static int run_ping(cli_session *cli)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    int code = tkl_callz(client, NULL, "PING", NULL);
    int64_t start = cli_now_us();
    if (code == TKL_OK)
        code = tkl_callz(client, NULL, "PING", NULL);
    double ms = (double)(cli_now_us() - start) / 1000;
    return code == TKL_OK ? print_pong(cli, ms) : cli_end(cli, code);
}

static const cli_verb verbs[] = {
    {
        .summary = "see whether the server answers, and how fast",
        .example = "tackle ping",
        .effect = CLI_READS,
        .run = run_ping,
    },
    {0},
};

static const cli_step demo[] = {
    {"Is the server there?", "tackle ping", 0},
    {"The same for programs: every command prints JSON on demand.", "tackle ping --json", 0},
    {0},
};

const cli_component cli_ping = {
    .name = "ping",
    .summary = "see whether the server answers, and how fast",
    .verbs = verbs,
    .demo = demo,
};
