/* SPDX-License-Identifier: MIT
 *
 * All components over HTTP. The work is done by a program of its own, tackle-serve (serve/), which
 * this verb becomes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

static const char program[] = "tackle-serve";

/* The options again, as words. A URL may hold a password, so it goes by the environment. */
static char **words_of(const cli_session *cli)
{
    char **words = calloc(cli->ngiven + 2, sizeof *words);
    if (words == NULL || (words[0] = strdup(program)) == NULL)
        return NULL;
    if (cli->url != NULL)
        setenv("TACKLE_URL", cli->url, 1);
    for (size_t i = 0, n = 1; i < cli->ngiven; i++) {
        const cli_given *given = &cli->given[i];
        if (strcmp(given->option->name, "url") == 0)
            continue;
        if (asprintf(&words[n++], "--%s%s%s", given->option->name, given->text != NULL ? "=" : "",
                     given->text != NULL ? given->text : "") < 0)
            return NULL;
    }
    return words;
}

static int run_serve(cli_session *cli)
{
    char *path = NULL;
    if (cli_flag(cli, "demo") && cli->url != NULL)
        return cli_usage(cli, "--demo has a server of its own: leave --url out");
    int failed = cli_find_program(cli, program, &path);
    if (failed)
        return failed;
    char **words = words_of(cli);
    if (words == NULL)
        return cli_end(cli, TKL_ENOMEM);
    execv(path, words);
    failed = cli_fail(cli, CLI_FAILURE, "cannot run %s: %s", path, strerror(errno));
    free(path);
    return failed;
}

static const cli_option options[] = {
    {"listen", CLI_TEXT, "ADDRESS:PORT|unix:PATH", "where to listen (default 127.0.0.1:8480)"},
    {"token-file", CLI_TEXT, "FILE", "callers need a token of this file: NAME TOKEN RIGHT..."},
    {"tls-cert", CLI_TEXT, "FILE", "offer HTTPS with this certificate, in PEM"},
    {"tls-key", CLI_TEXT, "FILE", "its key"},
    {"read-only", CLI_FLAG, NULL, "offer only what reads"},
    {"allow", CLI_TEXT, "COMPONENT,...", "offer only these components"},
    {"host", CLI_TEXT, "NAME,...", "names by which clients may call us, besides addresses"},
    {"demo", CLI_FLAG, NULL, "show a small shop at work, on a server in memory"},
    {"max-head", CLI_SIZE, "SIZE", "largest head of a request, with its URL (default 8kb)"},
    {"max-body", CLI_SIZE, "SIZE", "largest body of a request (default 1mb)"},
    {"max-connections", CLI_INTEGER, "N", "most connections at once (default 10000)"},
    {"client-timeout", CLI_PERIOD, "DURATION",
     "time to send a request or take an answer (default 60s)"},
    {"heartbeat", CLI_PERIOD, "DURATION", "longest silence of a stream (default 15s)"},
    {"session-life", CLI_PERIOD, "DURATION", "how long an unused login lasts (default 8h)"},
    {"history", CLI_DURATION, "DURATION", "read queues for plots (default 1m; 0: never)"},
    {"idempotency-life", CLI_PERIOD, "DURATION",
     "how long an Idempotency-Key is remembered (default 1h)"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .summary = "offer all components over HTTP",
        .options = options,
        .details =
            "POST /v1/COMPONENT/VERB runs a verb. The body is a JSON object: arguments by their\n"
            "names in the help, options by theirs. The answer is what --json prints. GET with\n"
            "the same as parameters does for verbs that only read. GET /openapi.json describes\n"
            "all of it; /healthz, /readyz and /metrics are for operators. A call that waits\n"
            "holds no thread, and a client that goes away leaves the line.\n\n"
            "Without --token-file, whoever reaches the address may do everything; so it must be\n"
            "one of this machine. A line of the file has a name, a token of 16 or more\n"
            "characters, and rights: read, write, COMPONENT:read, COMPONENT:write. Requests of\n"
            "other web pages are refused. Changes are logged on stderr.\n\n"
            "GET / is a dashboard for browsers; with --demo it has something to show.\n\n"
            "SIGTERM ends it: waits are answered with 503. What callers hold stays theirs until\n"
            "they give it back or its lease ends.",
        .example = "tackle serve --listen unix:/tmp/tackle-example.sock & server=$!\n"
                   "curl -s --retry 9 --retry-delay 1 --retry-all-errors \\\n"
                   "  --unix-socket /tmp/tackle-example.sock \\\n"
                   "  -d '{\"name\": \"door\", \"lease\": \"5s\"}' "
                   "http://localhost/v1/lock/acquire\n"
                   "kill $server; wait $server",
        .local = "it is this server",
        .run = run_serve,
    },
    {0},
};

const cli_component cli_serve = {
    .name = "serve",
    .summary = "offer all components over HTTP, for every language",
    .verbs = verbs,
};
