/* SPDX-License-Identifier: MIT
 *
 * Any command of the server. On a terminal a reply looks as redis-cli shows it; elsewhere it is
 * the bare bytes, one element a line, ready for a script.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "out.h"

/* ---- As JSON ------------------------------------------------------------- */

static json_t *json_of(const tkl_reply *reply);

static json_t *json_of_array(const tkl_reply *reply)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < tkl_reply_count(reply); i++)
        if (json_array_append_new(array, json_of(tkl_reply_at(reply, i))) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *json_of(const tkl_reply *reply)
{
    switch (tkl_reply_type_of(reply)) {
    case TKL_REPLY_STRING:
        return cli_json_bytes(tkl_reply_bytes(reply));
    case TKL_REPLY_INTEGER:
        return json_integer(tkl_reply_int(reply));
    case TKL_REPLY_ARRAY:
        return json_of_array(reply);
    case TKL_REPLY_ERROR:
        return json_pack("{s:o}", "error", cli_json_bytes(tkl_reply_bytes(reply)));
    case TKL_REPLY_NIL:
        break;
    }
    return json_null();
}

/* ---- For people ---------------------------------------------------------- */

static void print_readable(const tkl_reply *reply, int indent);

static int digits(size_t n)
{
    return snprintf(NULL, 0, "%zu", n);
}

/* "1) ..." with the numbers aligned; inner arrays begin on the line of their number. */
static void print_array(const tkl_reply *reply, int indent)
{
    size_t count = tkl_reply_count(reply);
    int width = digits(count);
    if (count == 0)
        puts("(empty array)");
    for (size_t i = 0; i < count; i++) {
        printf("%*s%*zu) ", i > 0 ? indent : 0, "", width, i + 1);
        print_readable(tkl_reply_at(reply, i), indent + width + 2);
    }
}

static void print_quoted(tkl_bytes bytes)
{
    char *text = cli_escape(bytes, true);
    printf("\"%s\"\n", text != NULL ? text : "");
    free(text);
}

static void print_error(tkl_bytes bytes)
{
    char *text = cli_escape(bytes, false);
    printf("(error) %s\n", text != NULL ? text : "");
    free(text);
}

static void print_readable(const tkl_reply *reply, int indent)
{
    switch (tkl_reply_type_of(reply)) {
    case TKL_REPLY_STRING:
        print_quoted(tkl_reply_bytes(reply));
        break;
    case TKL_REPLY_INTEGER:
        printf("(integer) %" PRId64 "\n", tkl_reply_int(reply));
        break;
    case TKL_REPLY_ARRAY:
        print_array(reply, indent);
        break;
    case TKL_REPLY_ERROR:
        print_error(tkl_reply_bytes(reply));
        break;
    case TKL_REPLY_NIL:
        puts("(nil)");
        break;
    }
}

/* ---- For scripts --------------------------------------------------------- */

static void print_raw(const tkl_reply *reply)
{
    tkl_bytes bytes = tkl_reply_bytes(reply);
    if (tkl_reply_type_of(reply) == TKL_REPLY_ARRAY) {
        for (size_t i = 0; i < tkl_reply_count(reply); i++)
            print_raw(tkl_reply_at(reply, i));
        return;
    }
    if (tkl_reply_type_of(reply) == TKL_REPLY_INTEGER)
        printf("%" PRId64, tkl_reply_int(reply));
    else if (bytes.len > 0)
        fwrite(bytes.data, 1, bytes.len, stdout);
    putchar('\n');
}

/* ---- The verb ------------------------------------------------------------ */

static int print_reply(const cli_session *cli, const tkl_reply *reply)
{
    if (cli->json)
        return cli_print_json(cli, json_of(reply));
    if (cli_flag(cli, "raw") || (!cli_flag(cli, "readable") && !isatty(STDOUT_FILENO)))
        print_raw(reply);
    else
        print_readable(reply, 0);
    return CLI_OK;
}

/* The arguments; with --stdin, standard input is the last one. */
static int collect(cli_session *cli, const char **argv, size_t *lens, int *argc)
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
    int exit = code == TKL_OK ? print_reply(cli, reply) : cli_end(cli, code);
    tkl_reply_free(reply);
    return exit;
}

static int call(cli_session *cli)
{
    int argc = 0;
    size_t room = (size_t)cli->argc + 1;
    const char **argv = calloc(room, sizeof *argv);
    size_t *lens = calloc(room, sizeof *lens);
    int exit = argv != NULL && lens != NULL ? collect(cli, argv, lens, &argc)
                                            : cli_fail(cli, CLI_FAILURE, "out of memory");
    if (exit == CLI_OK)
        exit = send_call(cli, argc, argv, lens);
    free(argv);
    free(lens);
    return exit;
}

static const cli_option options[] = {
    {"stdin", CLI_FLAG, NULL, "append standard input as the last argument"},
    {"raw", CLI_FLAG, NULL, "print bare bytes, one element a line (default when piped)"},
    {"readable", CLI_FLAG, NULL, "print types and quotes (default on a terminal)"},
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
        .run = call,
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
