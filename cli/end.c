/* SPDX-License-Identifier: MIT
 *
 * How verbs end: exit codes and messages.
 */
#include <stdarg.h>
#include <stdio.h>

#include "cli.h"
#include "out.h"

/* "tackle: lock run: ", as far as it is known what runs. */
static void print_prefix(const cli_session *cli)
{
    fprintf(stderr, "tackle: ");
    if (cli->component != NULL)
        fprintf(stderr, "%s", cli->component->name);
    if (cli->verb != NULL && cli->verb->name != NULL)
        fprintf(stderr, " %s", cli->verb->name);
    if (cli->component != NULL)
        fprintf(stderr, ": ");
}

int cli_fail(const cli_session *cli, int exit, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_prefix(cli);
    vfprintf(stderr, format, list);
    putc('\n', stderr);
    va_end(list);
    return exit;
}

int cli_usage(const cli_session *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_prefix(cli);
    vfprintf(stderr, format, list);
    va_end(list);
    const cli_component *component = cli->component;
    const cli_verb *verb = cli->verb;
    fprintf(stderr, "\nTry 'tackle %s%s%s%s--help'.\n", component != NULL ? component->name : "",
            component != NULL ? " " : "", verb != NULL && verb->name != NULL ? verb->name : "",
            verb != NULL && verb->name != NULL ? " " : "");
    return CLI_USAGE;
}

int cli_exit_of(int code)
{
    switch (code) {
    case TKL_OK:
        return CLI_OK;
    case TKL_EINVAL:
        return CLI_USAGE;
    case TKL_ENOTSENT:
    case TKL_ETIMEOUT:
    case TKL_EUNKNOWN:
    case TKL_ESPAWN:
        return CLI_UNREACHABLE;
    default:
        return code > 0 ? CLI_NO : CLI_FAILURE;
    }
}

/* The detail says more than the code, but a "no" has none. */
int cli_end(const cli_session *cli, int code)
{
    if (code == TKL_OK)
        return CLI_OK;
    const char *detail = code < 0 ? tkl_errmsg() : "";
    return cli_fail(cli, cli_exit_of(code), "%s", *detail != '\0' ? detail : tkl_strerror(code));
}
