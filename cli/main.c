/* SPDX-License-Identifier: MIT
 *
 * tackle: the command. Reads the command line, runs the verb, checks that its output arrived.
 */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "args.h"
#include "guard.h"
#include "help.h"
#include "lines.h"

/* Opens a closed stdin, stdout or stderr, because the next socket would get its number. It is
 * opened in the wrong direction, so that using it fails. */
static void fill_standard_files(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            abort();
}

static int run_version(cli_session *cli)
{
    cli->component = cli_find_component("version");
    cli->verb = cli->component->verbs;
    return cli->verb->run(cli);
}

/* Without a verb it prints the help, but as an error. */
static int explain_usage(const cli_session *cli)
{
    cli_help(stderr, cli->component, NULL);
    return CLI_USAGE;
}

static int run_command(cli_session *cli, int argc, char **argv)
{
    int failed = cli_args_read(cli, argc, argv);
    if (failed)
        return failed;
    if (cli->help) {
        cli_help(stdout, cli->component, cli->verb);
        return CLI_OK;
    }
    if (cli_flag(cli, "version"))
        return run_version(cli);
    if (cli->verb == NULL)
        return explain_usage(cli);
    failed = cli_args_check(cli);
    return failed ? failed : cli_run(cli);
}

int main(int argc, char **argv)
{
    fill_standard_files();
    cli_guard_is_command();
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "C.UTF-8");
    cli_session cli = {0};
    int exit = run_command(&cli, argc, argv);
    tkl_close(cli.client);
    exit = cli_finish(&cli, exit);
    cli_args_free(&cli);
    return exit;
}
