/* SPDX-License-Identifier: MIT
 *
 * Finds the server of a verb, opens the client, and reads the payload.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "trace.h"

static const char by_configuration[] = "config:";

static bool is_configured(const char *url)
{
    return strncmp(url, by_configuration, strlen(by_configuration)) == 0;
}

/* Finds the server that is used without --url. It cannot be config:NAME, which asks that server. */
static int read_default(const cli_session *cli, tkl_default_server **server)
{
    int code = tkl_default_server_read(server);
    if (code != TKL_OK)
        return cli_end(cli, code);
    if (!is_configured((*server)->url))
        return CLI_OK;
    int failed = cli_usage(cli, "%s: %s is for --url alone: it asks the server that is named here",
                           (*server)->source, (*server)->url);
    tkl_default_server_free(*server);
    *server = NULL;
    return failed;
}

/* --url config:NAME: asks the server that is used without --url for the one of a component. */
static int find_configured(cli_session *cli)
{
    const char *component = cli->url + strlen(by_configuration);
    tkl_default_server *server = NULL;
    tkl_client *client = NULL;
    char *url = NULL;
    if (*component == '\0')
        return cli_usage(cli, "--url config: lacks the name of a component");
    int failed = read_default(cli, &server);
    if (!failed)
        failed = cli_open(cli, server->url, &client);
    tkl_default_server_free(server);
    if (failed)
        return failed;
    int code = tkl_config_url(client, tkl_str(component), &url);
    if (code == TKL_NOTFOUND)
        failed = cli_no(cli, code, "no server is configured for '%s'", component);
    else
        failed = cli_end(cli, code);
    tkl_close(client);
    if (failed)
        return failed;
    free(cli->url);
    cli->url = url;
    return CLI_OK;
}

int cli_url(cli_session *cli, const char **url)
{
    tkl_default_server *server = NULL;
    int failed = CLI_OK;
    if (cli->url != NULL && is_configured(cli->url))
        failed = find_configured(cli);
    *url = cli->url;
    if (cli->url != NULL)
        return failed;
    failed = read_default(cli, &server);
    if (failed)
        return failed;
    cli->url = strdup(server->url);
    cli->url_source = strdup(server->source);
    cli->is_default = server->is_fallback;
    tkl_default_server_free(server);
    *url = cli->url;
    return cli->url != NULL && cli->url_source != NULL ? CLI_OK : cli_end(cli, TKL_ENOMEM);
}

/* ---- The client ---------------------------------------------------------- */

static const char *namespace_of(const cli_session *cli)
{
    const char *named = getenv("TACKLE_NAMESPACE");
    return cli_text(cli, "namespace", named != NULL && *named != '\0' ? named : NULL);
}

static bool is_stopped(const char *url)
{
    tkl_server_info info;
    return tkl_server_status(url, &info) == TKL_NOTFOUND || info.pid == 0;
}

/* Whether the verb can look through all keys, and shall. */
static bool is_scanning(const cli_session *cli)
{
    return cli_find_option(cli, "scan", strlen("scan")) != NULL && cli_flag(cli, "scan");
}

static int open_in(const cli_session *cli, const char *url, const char *ns, bool is_listed,
                   tkl_client **client)
{
    const int64_t *timeout_ms = cli_global_number(cli, "timeout");
    tkl_options options = {
        .timeout_ms = timeout_ms != NULL ? *timeout_ms : 0,
        .ns = ns,
        .tls_ca_file = cli_text(cli, "cacert", NULL),
        .tls_cert_file = cli_text(cli, "cert", NULL),
        .tls_key_file = cli_text(cli, "key", NULL),
        .tls_no_verify = cli_flag(cli, "insecure"),
        .no_register = !is_listed,
        .on_event = cli->on_event,
        .event_arg = cli->event_arg,
        .on_trace = cli_flag(cli, "trace") ? cli_trace : NULL,
        .trace_arg = (void *)(uintptr_t)cli,
    };
    if (timeout_ms != NULL && *timeout_ms == 0)
        return cli_usage(cli, "invalid --timeout: must be more than 0");
    return cli_end(cli, tkl_open(url, &options, client));
}

int cli_open(const cli_session *cli, const char *url, tkl_client **client)
{
    return open_in(cli, url, namespace_of(cli), !is_scanning(cli), client);
}

int cli_open_part(const cli_session *cli, const char *url, const char *part, tkl_client **client)
{
    const char *whole = namespace_of(cli);
    char *ns = NULL;
    if (asprintf(&ns, "%s:%s", whole != NULL ? whole : "tackle", part) < 0)
        return cli_end(cli, TKL_ENOMEM);
    int failed = open_in(cli, url, ns, false, client);
    free(ns);
    return failed;
}

/* Without a URL nothing is shared beyond this user and machine. A job of cron, whose machine alone
 * would hold "the" lock, has no terminal; so the warning does not depend on one. */
static void warn_alone(const cli_session *cli)
{
    const char *what = cli->component->shared;
    if (what != NULL && cli->is_default)
        cli_fail(cli, CLI_OK,
                 "nothing names a server, so this is your private one: other users and machines do "
                 "not see these %s ('tackle doctor' tells more)",
                 what);
}

int cli_connect(cli_session *cli, tkl_client **client)
{
    const char *url;
    *client = cli->client;
    if (cli->client != NULL)
        return CLI_OK;
    int failed = cli_url(cli, &url);
    if (failed)
        return failed;
    bool starts = cli->is_default && is_stopped(url);
    warn_alone(cli);
    failed = cli_open(cli, url, &cli->client);
    if (!failed && starts)
        fprintf(stderr, "tackle: started your private server, %s (--url names another)\n", url);
    *client = cli->client;
    return failed;
}

/* ---- Standard input ------------------------------------------------------ */

/* Reads to the end; *len is the length. NULL and errno on failure. */
static char *read_all(FILE *from, size_t *len)
{
    char *data = NULL, chunk[65536];
    FILE *to = open_memstream(&data, len);
    if (to == NULL)
        return NULL;
    while (!feof(from) && !ferror(from)) { /* a single Ctrl-D ends the input */
        size_t n = fread(chunk, 1, sizeof chunk, from);
        if (fwrite(chunk, 1, n, to) < n)
            break;
    }
    bool whole = !ferror(from) && !ferror(to);
    if (fclose(to) == 0 && whole)
        return data;
    int reason = errno;
    free(data);
    errno = reason;
    return NULL;
}

tkl_bytes cli_argument(const cli_session *cli, int index)
{
    const char *text = cli->argv[index];
    return cli->lengths != NULL ? (tkl_bytes){text, cli->lengths[index]} : tkl_str(text);
}

tkl_bytes *cli_arguments(const cli_session *cli, int skip)
{
    tkl_bytes *arguments = calloc((size_t)cli->argc + 1, sizeof *arguments);
    for (int i = skip; arguments != NULL && i < cli->argc; i++)
        arguments[i - skip] = cli_argument(cli, i);
    return arguments;
}

bool cli_same_bytes(tkl_bytes a, tkl_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

int cli_payload(cli_session *cli, int index, tkl_bytes *payload)
{
    if (index < cli->argc && (cli->sink != NULL || strcmp(cli->argv[index], "-") != 0)) {
        *payload = cli_argument(cli, index);
        return CLI_OK;
    }
    if (cli->sink != NULL)
        return cli_missing(cli, index);
    free(cli->input);
    cli->input = read_all(stdin, &payload->len);
    payload->data = cli->input;
    if (cli->input == NULL)
        return cli_fail(cli, CLI_FAILURE, "cannot read standard input: %s", strerror(errno));
    return CLI_OK;
}
