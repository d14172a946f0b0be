/* SPDX-License-Identifier: MIT
 *
 * tackle-serve: all components over HTTP. `tackle serve` runs it, so that the command itself needs
 * no HTTP library. Its options are those of the table in cli/serve.c.
 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "args.h"
#include "demo.h"
#include "help.h"
#include "http.h"

enum {
    DEFAULT_HEAD = 8 << 10,
    HEAD_MIN = 2 << 10,
    HEAD_MOST = 1 << 20,
    BODY_MIN = 1 << 10,
    DEFAULT_BODY = 1 << 20,
    DEFAULT_CONNECTIONS = 10000,
    DEFAULT_CLIENT_TIMEOUT_MS = 60000,
    DEFAULT_HEARTBEAT_MS = 15000,
    DEFAULT_ANSWER_LIFE_MS = 3600000,
    DEFAULT_HISTORY_MS = 60000,
    DEFAULT_SESSION_MS = 8 * 3600000,
    OTHER_FILES = 256,        /* descriptors for other things than clients of HTTP */
    FILES_PER_CONNECTION = 2, /* its socket, and a connection to Redis on which its call waits */
};

/* Reads the command line as that of `tackle serve`. */
static int read_arguments(cli_session *cli, int argc, char **argv)
{
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (words == NULL)
        return cli_end(cli, TKL_ENOMEM);
    words[0] = argv[0];
    words[1] = (char[]){"serve"};
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    int failed = cli_args_read(cli, argc + 1, words);
    free(words);
    return failed || cli->help ? failed : cli_args_check(cli);
}

/* Allows as many connections as there may be descriptors for. */
static void fit_connections(const cli_session *cli, int64_t *connections)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int64_t left = files.rlim_max == RLIM_INFINITY ? INT64_MAX : (int64_t)files.rlim_max;
    int64_t most = (left - OTHER_FILES) / FILES_PER_CONNECTION;
    if (*connections <= most)
        return;
    *connections = most > 0 ? most : 1;
    if (cli_flag(cli, "max-connections"))
        fprintf(stderr, "tackle: at most %lld connections: the limit of open files is %lld\n",
                (long long)*connections, (long long)left);
}

static int read_options(const cli_session *cli, serve_http_options *options)
{
    *options = (serve_http_options){
        .max_head = cli_number(cli, "max-head", DEFAULT_HEAD),
        .max_body = cli_number(cli, "max-body", DEFAULT_BODY),
        .max_connections = cli_number(cli, "max-connections", DEFAULT_CONNECTIONS),
        .client_timeout_ms = cli_number(cli, "client-timeout", DEFAULT_CLIENT_TIMEOUT_MS),
        .heartbeat_ms = cli_number(cli, "heartbeat", DEFAULT_HEARTBEAT_MS),
        .answer_life_ms = cli_number(cli, "idempotency-life", DEFAULT_ANSWER_LIFE_MS),
    };
    if (options->max_head < HEAD_MIN || options->max_head > HEAD_MOST)
        return cli_usage(cli, "invalid --max-head: from 2kb to 1mb");
    if (options->max_body < BODY_MIN || options->max_body > SERVE_BODIES_MAX)
        return cli_usage(cli, "invalid --max-body: from 1kb to 256mb");
    if (options->max_connections < 1 || options->max_connections > 1000000)
        return cli_usage(cli, "invalid --max-connections: from 1 to 1000000");
    fit_connections(cli, &options->max_connections);
    return CLI_OK;
}

/* Blocks the signals that serve_http_run() reads, for this thread and those that it starts. */
static void block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Chooses a server in memory for the demo, which ends with this program. */
static int choose_demo_server(cli_session *cli)
{
    free(cli->url);
    cli->url = strdup("embedded:");
    return cli->url != NULL ? CLI_OK : cli_end(cli, TKL_ENOMEM);
}

/* The URL of the socket of a server in memory, which other clients need. NULL: it is not known. */
static char *socket_url(tkl_client *client)
{
    tkl_reply *reply = NULL;
    char *url = NULL;
    if (tkl_callz(client, &reply, "CONFIG", "GET", "unixsocket", NULL) == TKL_OK &&
        asprintf(&url, "unix://%s", tkl_reply_str(tkl_reply_at(reply, 1))) < 0)
        url = NULL;
    tkl_reply_free(reply);
    return url;
}

/* Opens a client of the same server in the namespace of the dashboard. */
static int open_private(cli_session *cli, tkl_client *client, tkl_client **private)
{
    const char *url = NULL;
    int failed = cli_url(cli, &url);
    if (failed)
        return failed;
    char *own = strcmp(url, "embedded:") == 0 ? socket_url(client) : strdup(url);
    failed = own != NULL ? cli_open_part(cli, own, "dashboard", private) : cli_end(cli, TKL_ENOMEM);
    free(own);
    return failed;
}

/* The interval of the history; 0: a server that only reads leaves the history to others. */
static int64_t history_ms(const cli_session *cli)
{
    return cli_flag(cli, "read-only") ? 0 : cli_number(cli, "history", DEFAULT_HISTORY_MS);
}

static int serve_until_signal(cli_session *cli)
{
    tkl_client *client = NULL, *private = NULL;
    serve_demo *demo = NULL;
    serve_access *access = NULL;
    serve_listener listener = {.file = -1};
    serve_tls tls = {0};
    serve_http_options options = {0};
    serve_http *http = NULL;
    int failed = read_options(cli, &options);
    if (!failed && cli_flag(cli, "demo"))
        failed = choose_demo_server(cli);
    if (!failed)
        failed = serve_access_open(cli, &access);
    if (!failed)
        failed = serve_tls_open(cli, &tls);
    if (!failed)
        failed = serve_listen(cli, &listener);
    if (!failed)
        failed = cli_connect(cli, &client);
    if (!failed)
        failed = open_private(cli, client, &private);
    if (!failed)
        failed = serve_history_open(cli, client, private, history_ms(cli), &options.history);
    if (!failed)
        failed =
            serve_logins_open(cli, private, access,
                              cli_number(cli, "session-life", DEFAULT_SESSION_MS), &options.logins);
    if (!failed && cli_flag(cli, "demo"))
        failed = serve_demo_start(cli, client, options.history, &demo);
    if (!failed)
        failed = serve_http_open(cli, client, access, &listener, &tls, &options, &http);
    if (!failed) {
        fprintf(stderr, "tackle: serving on %s%s\n", listener.name,
                serve_access_has_tokens(access) ? "" : ", without tokens");
        failed = serve_http_run(http);
    }
    serve_demo_stop(demo);
    serve_http_close(http);
    serve_history_close(options.history);
    serve_logins_close(options.logins);
    tkl_close(private);
    serve_listener_close(&listener);
    serve_tls_close(&tls);
    serve_access_close(access);
    return failed;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    setvbuf(stderr, NULL, _IOLBF, 0);
    block_signals();
    cli_session cli = {0};
    int exit = argc > 0 ? read_arguments(&cli, argc, argv) : CLI_USAGE;
    if (exit == CLI_OK && cli.help)
        cli_help(stdout, cli.component, cli.verb);
    else if (exit == CLI_OK)
        exit = serve_until_signal(&cli);
    tkl_close(cli.client);
    cli_args_free(&cli);
    return exit;
}
