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
#include "out.h"

/* A closed stdin, stdout or stderr would be the number of the next socket. They are opened the
 * wrong way round, so that using them fails instead of going nowhere. */
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

/* Without a verb there is nothing to do: help, but as an error. */
static int explain_usage(const cli_session *cli)
{
    cli_help(stderr, cli->component, NULL);
    return CLI_USAGE;
}

static int run(cli_session *cli, int argc, char **argv)
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
    return failed ? failed : cli->verb->run(cli);
}

/* A command that Ctrl-C ended had the terminal to itself, so whoever started us has not heard of
 * the signal. They and we get it now: a shell script around `tackle lock run` ends as it would
 * around the command alone. */
static void die_of_signal(const cli_session *cli)
{
    signal(cli->signal, SIG_DFL);
    kill(cli->signal_heard ? getpid() : 0, cli->signal);
}

int main(int argc, char **argv)
{
    fill_standard_files();
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "C.UTF-8");
    cli_session cli = {0};
    int exit = run(&cli, argc, argv);
    tkl_close(cli.client);
    cli_guard_stop();
    int unwritten = cli_flush(&cli);
    if (cli.signal != 0)
        die_of_signal(&cli);
    cli_args_free(&cli);
    return unwritten ? unwritten : exit;
}
