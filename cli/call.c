/* SPDX-License-Identifier: MIT
 *
 * Any command of the server.
 */
#include <stdlib.h>

#include "reply.h"

/* The arguments; with --stdin, standard input is the last one. */
static int collect_words(cli_session *cli, const char **argv, size_t *lens, int *argc)
{
    for (*argc = 0; *argc < cli->argc; ++*argc) {
        argv[*argc] = cli->argv[*argc];
        lens[*argc] = tkl_str(argv[*argc]).len;
    }
    if (!cli_flag(cli, "stdin"))
        return CLI_OK;
    tkl_bytes input;
    int failed = cli_payload(cli, cli->argc, &input);
    argv[*argc] = input.data;
    lens[(*argc)++] = input.len;
    return failed;
}

static int send_call(cli_session *cli, int argc, const char **argv, const size_t *lens)
{
    tkl_client *client = NULL;
    tkl_reply *reply = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    int code = tkl_call(client, argc, argv, lens, NULL, &reply);
    int exit = code == TKL_OK ? cli_print_reply(cli, reply) : cli_end(cli, code);
    tkl_reply_free(reply);
    return exit;
}

static int run_call(cli_session *cli)
{
    int argc = 0;
    size_t room = (size_t)cli->argc + 1;
    const char **argv = calloc(room, sizeof *argv);
    size_t *lens = calloc(room, sizeof *lens);
    int exit = argv != NULL && lens != NULL ? collect_words(cli, argv, lens, &argc)
                                            : cli_fail(cli, CLI_FAILURE, "out of memory");
    if (exit == CLI_OK)
        exit = send_call(cli, argc, argv, lens);
    free(argv);
    free(lens);
    return exit;
}

static const cli_option options[] = {
    {"stdin", CLI_FLAG, NULL, "append standard input as the last argument"},
    CLI_REPLY_OPTIONS,
    {0},
};

static const cli_verb verbs[] = {
    {
        .args = "ARG...",
        .summary = "send any command to the server and print its reply",
        .options = options,
        .details =
            "Put -- before arguments that begin with two dashes. An error of the server ends\n"
            "with exit code 70. As JSON: bytes are strings, or {\"base64\": \"...\"} when they\n"
            "are not UTF-8; nil is null; an error inside an array is {\"error\": \"...\"}.",
        .example = "tackle call SET greeting hello\n"
                   "tackle call GET greeting\n"
                   "echo -n 'from a file' | tackle call SET greeting --stdin",
        .dashes = true,
        .local = "its caller could send any command to the server",
        .run = run_call,
    },
    {0},
};

static const cli_step demo[] = {
    {"Any command of the server.", "tackle call RPUSH planets Mercury Venus Earth", 0},
    {"A pipe gets bare values, --readable shows the types.",
     "tackle call LRANGE planets 0 -1 --readable", 0},
    {"Scripts like JSON.", "tackle call LRANGE planets 0 -1 --json", 0},
    {0},
};

const cli_component cli_call = {
    .name = "call",
    .summary = "send any command to the server and print its reply",
    .verbs = verbs,
    .demo = demo,
};
