/* SPDX-License-Identifier: MIT
 *
 * Scripts of the user's own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reply.h"

/* A whole file; "-" is standard input. */
static int read_source(cli_session *cli, tkl_bytes *source, char **text)
{
    const char *path = cli->argv[0];
    if (strcmp(path, "-") == 0)
        return cli_payload(cli, 0, source);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return cli_fail(cli, CLI_FAILURE, "%s: %s", path, strerror(errno));
    size_t room = TKL_SCRIPT_SOURCE_MAX + 1, len = 0;
    *text = malloc(room);
    if (*text != NULL)
        len = fread(*text, 1, room, file);
    bool failed = *text == NULL || ferror(file);
    int reason = errno;
    fclose(file);
    if (failed)
        return cli_fail(cli, CLI_FAILURE, "%s: %s", path, strerror(reason));
    *source = (tkl_bytes){*text, len};
    return CLI_OK;
}

static int run_source(cli_session *cli, tkl_bytes source)
{
    tkl_client *client = NULL;
    tkl_script *script = NULL;
    tkl_reply *reply = NULL;
    const char *name = strcmp(cli->argv[0], "-") == 0 ? "standard input" : cli->argv[0];
    const char *file = strrchr(name, '/');
    tkl_script_options options = {.reads_only = cli_flag(cli, "read-only")};
    int end = cli->before_dashes >= 0 ? cli->before_dashes : cli->argc;
    size_t nkeys = (size_t)end - 1, nargs = (size_t)(cli->argc - end);
    tkl_bytes *words = cli_arguments(cli, 1);
    int failed = words != NULL ? cli_connect(cli, &client) : cli_end(cli, TKL_ENOMEM);
    if (!failed)
        failed = cli_end(cli, tkl_script_open(client, file != NULL ? file + 1 : name, source,
                                              &options, &script));
    if (!failed)
        failed =
            cli_end(cli, tkl_script_run(script, words, nkeys, words + nkeys, nargs, NULL, &reply));
    if (!failed)
        failed = cli_print_reply(cli, reply);
    tkl_reply_free(reply);
    tkl_script_close(script);
    free(words);
    return failed;
}

static int run_file(cli_session *cli)
{
    tkl_bytes source;
    char *text = NULL;
    int failed = read_source(cli, &source, &text);
    if (!failed)
        failed = run_source(cli, source);
    free(text);
    return failed;
}

static const cli_option options[] = {
    {"read-only", CLI_FLAG, NULL, "the script writes nothing: it runs on a full server, too"},
    CLI_REPLY_OPTIONS,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "run",
        .args = "FILE [KEY...] [-- ARG...]",
        .summary = "run a Lua script on the server, in one step",
        .options = options,
        .details =
            "FILE is - for standard input. The script gets KEYS and ARGV, calls the server\n"
            "with redis.call() and returns its reply. The server runs nothing else meanwhile:\n"
            "keep scripts short. An error names the line.",
        .example = "echo \"return redis.call('INCRBY', KEYS[1], ARGV[1])\" >add.lua\n"
                   "tackle script run add.lua visits -- 3\n"
                   "echo 'return #ARGV' | tackle script run - --json -- a b",
        .local = "it reads a file, and its caller could send any command to the server",
        .run = run_file,
    },
    {0},
};

static const cli_step demo[] = {
    {"A script of your own is one step on the server.",
     "echo \"return redis.call('INCRBY', KEYS[1], ARGV[1])\" >\"$DIR/add.lua\" && "
     "tackle script run \"$DIR/add.lua\" visits -- 3",
     0},
    {0},
};

const cli_component cli_script = {
    .name = "script",
    .summary = "Lua scripts of your own, each one step on the server",
    .verbs = verbs,
    .demo = demo,
};
