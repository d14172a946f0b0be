/* SPDX-License-Identifier: MIT
 *
 * Finds the server of a verb, opens the client, and reads the payload.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* ---- The user's own private server --------------------------------------- */

static char *home_directory(void)
{
    const char *home = getenv("HOME");
    const struct passwd *user = home == NULL || *home != '/' ? getpwuid(getuid()) : NULL;
    return strdup(user != NULL ? user->pw_dir : home != NULL ? home : "/");
}

/* A relative XDG_DATA_HOME does not count: its standard says so. */
static char *data_directory(void)
{
    const char *data = getenv("XDG_DATA_HOME");
    char *home = data == NULL || *data != '/' ? home_directory() : NULL;
    char *path = NULL;
    int n = home != NULL ? asprintf(&path, "%s/.local/share/tackle", home)
                         : asprintf(&path, "%s/tackle", data != NULL ? data : "");
    free(home);
    return n >= 0 ? path : NULL;
}

/* Makes the parent directories. The library makes the last one, and reports it if a directory
 * cannot be made. */
static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* "embedded:" and the path with what an URL reserves escaped. */
static char *embedded_url(const char *path)
{
    char *url = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&url, &size);
    if (to == NULL)
        return NULL;
    fputs("embedded:", to);
    for (; *path != '\0'; path++)
        if (strchr("%?#", *path) != NULL || (unsigned char)*path <= ' ')
            fprintf(to, "%%%02X", (unsigned char)*path);
        else
            putc(*path, to);
    if (fclose(to) == 0)
        return url;
    free(url);
    return NULL;
}

static char *default_url(void)
{
    char *path = data_directory();
    if (path == NULL)
        return NULL;
    make_parents(path);
    char *url = embedded_url(path);
    free(path);
    return url;
}

/* The value of the first of the two variables that is set and not empty; NULL: none is. */
static const char *either(const char *first, const char *second)
{
    const char *value = getenv(first);
    if (value == NULL || *value == '\0')
        value = getenv(second);
    return value != NULL && *value != '\0' ? value : NULL;
}

int cli_url(cli_session *cli, const char **url)
{
    const char *named = either("TACKLE_URL", "REDIS_URL");
    if (cli->url == NULL && named != NULL)
        cli->url = strdup(named);
    else if (cli->url == NULL) {
        cli->url = default_url();
        cli->is_default = true;
    }
    *url = cli->url;
    return cli->url != NULL ? CLI_OK : cli_fail(cli, CLI_FAILURE, "out of memory");
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

int cli_open(const cli_session *cli, const char *url, tkl_client **client)
{
    const int64_t *timeout_ms = cli_global_number(cli, "timeout");
    tkl_options options = {
        .timeout_ms = timeout_ms != NULL ? *timeout_ms : 0,
        .ns = namespace_of(cli),
        .tls_ca_file = cli_text(cli, "cacert", NULL),
        .tls_cert_file = cli_text(cli, "cert", NULL),
        .tls_key_file = cli_text(cli, "key", NULL),
        .tls_no_verify = cli_flag(cli, "insecure"),
        .on_event = cli->on_event,
        .event_arg = cli->event_arg,
    };
    if (timeout_ms != NULL && *timeout_ms == 0)
        return cli_usage(cli, "invalid --timeout: must be more than 0");
    return cli_end(cli, tkl_open(url, &options, client));
}

/* Without a URL nothing is shared beyond this user and machine. */
static void warn_alone(const cli_session *cli)
{
    const char *what = cli->component->shared;
    if (what != NULL && cli->is_default && isatty(STDERR_FILENO))
        fprintf(stderr,
                "tackle: on your private server: other users and machines do not see these %s "
                "(--url or TACKLE_URL names a shared one)\n",
                what);
}

int cli_connect(cli_session *cli, tkl_client **client)
{
    const char *url;
    int failed = cli_url(cli, &url);
    if (failed)
        return failed;
    bool starts = cli->client == NULL && cli->is_default && is_stopped(url);
    if (cli->client == NULL) {
        warn_alone(cli);
        failed = cli_open(cli, url, &cli->client);
    }
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

int cli_payload(cli_session *cli, int index, tkl_bytes *payload)
{
    if (index < cli->argc && strcmp(cli->argv[index], "-") != 0) {
        *payload = tkl_str(cli->argv[index]);
        return CLI_OK;
    }
    free(cli->input);
    cli->input = read_all(stdin, &payload->len);
    payload->data = cli->input;
    if (cli->input == NULL)
        return cli_fail(cli, CLI_FAILURE, "cannot read standard input: %s", strerror(errno));
    return CLI_OK;
}
