/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "out.h"

static int run_version(cli_session *cli)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s}", "version", tkl_version()));
    printf("tackle %s\n", tkl_version());
    return CLI_OK;
}

static const cli_verb verbs[] = {
    {
        .summary = "print the version",
        .example = "tackle version",
        .effect = CLI_READS,
        .run = run_version,
    },
    {0},
};

const cli_component cli_version = {
    .name = "version",
    .summary = "print the version",
    .verbs = verbs,
};
