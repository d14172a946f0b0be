/* SPDX-License-Identifier: MIT
 *
 * The guided tour: every component's steps, run for real on a private server in memory.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "child.h"
#include "out.h"

/* ---- A private server and PATH ------------------------------------------- */

/* Puts this program first in PATH as `tackle`, so that steps run it and no installed version. */
static int put_on_path(cli_session *cli)
{
    char self[PATH_MAX], *path = NULL;
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0)
        return cli_fail(cli, CLI_FAILURE, "cannot find this program: %s", strerror(errno));
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    const char *old = getenv("PATH");
    if (asprintf(&path, "%s:%s", self, old != NULL ? old : "/usr/bin:/bin") < 0)
        return cli_fail(cli, CLI_FAILURE, "out of memory");
    setenv("PATH", path, 1);
    free(path);
    return CLI_OK;
}

/* Starts a server that ends when we end, for any reason; steps reach it by its socket. */
static int start_server(cli_session *cli, tkl_client **server)
{
    tkl_reply *reply = NULL;
    char *url = NULL;
    int code = tkl_open("embedded:", NULL, server);
    if (code == TKL_OK)
        code = tkl_callz(*server, &reply, "CONFIG", "GET", "unixsocket", NULL);
    if (code != TKL_OK)
        return cli_end(cli, code);
    int n = asprintf(&url, "unix://%s", tkl_reply_str(tkl_reply_at(reply, 1)));
    tkl_reply_free(reply);
    if (n < 0)
        return cli_fail(cli, CLI_FAILURE, "out of memory");
    setenv("TACKLE_URL", url, 1);
    unsetenv("TACKLE_PASSWORD");
    unsetenv("TACKLE_NAMESPACE");
    free(url);
    return CLI_OK;
}

static int make_directory(cli_session *cli, char *directory)
{
    if (mkdtemp(directory) == NULL)
        return cli_fail(cli, CLI_FAILURE, "cannot make %s: %s", directory, strerror(errno));
    setenv("DIR", directory, 1);
    return CLI_OK;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

/* A step that was interrupted may have left its server. */
static void remove_directory(const char *directory)
{
    char url[PATH_MAX];
    snprintf(url, sizeof url, "embedded:%s", directory);
    int code = tkl_server_stop(url);
    (void)code; /* it is fine if it does not run */
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Between steps we only note a signal, so that the clean-up takes place; during a step the signal
 * goes to the step. */
static volatile sig_atomic_t interrupted;

static void note_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void note_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_signal};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

/* ---- The steps ----------------------------------------------------------- */

static void announce(const cli_step *step)
{
    printf("\n%s# %s%s\n%s$ %s%s\n", cli_color(stdout, CLI_DIM), step->text,
           cli_color(stdout, CLI_PLAIN), cli_color(stdout, CLI_CYAN), step->command,
           cli_color(stdout, CLI_PLAIN));
    fflush(stdout);
}

static int run_step(cli_session *cli, const cli_step *step)
{
    const char *argv[] = {"sh", "-c", step->command, NULL};
    cli_command command = {.argv = argv, .foreground = true};
    cli_child child;
    if (interrupted)
        return cli_fail(cli, CLI_FAILURE, "interrupted");
    announce(step);
    int failed = cli_child_start(cli, &command, &child);
    if (failed)
        return failed;
    cli_child_wait(&child, -1, -1);
    int exit = cli_child_close(cli, &child);
    if (exit == step->exit)
        return CLI_OK;
    return cli_fail(cli, CLI_FAILURE, "the step ended with exit code %d instead of %d", exit,
                    step->exit);
}

static int run_steps(cli_session *cli, const cli_component *component)
{
    int failed = CLI_OK;
    if (component->demo == NULL)
        return CLI_OK;
    printf("\n%s== %s: %s ==%s\n", cli_color(stdout, CLI_BOLD), component->name, component->summary,
           cli_color(stdout, CLI_PLAIN));
    for (const cli_step *step = component->demo; step->command != NULL && !failed; step++)
        failed = run_step(cli, step);
    return failed;
}

static int run_tour(cli_session *cli, const cli_component *only)
{
    int failed = CLI_OK;
    for (size_t i = 0; cli_components[i] != NULL && !failed; i++)
        if (only == NULL || only == cli_components[i])
            failed = run_steps(cli, cli_components[i]);
    return failed;
}

/* ---- The verb ------------------------------------------------------------ */

static int prepare_and_run(cli_session *cli, const cli_component *only)
{
    char directory[] = "/tmp/tackle-demo.XXXXXX";
    tkl_client *server = NULL;
    int failed = put_on_path(cli);
    note_signals();
    if (!failed)
        failed = make_directory(cli, directory);
    if (failed)
        return failed;
    failed = start_server(cli, &server);
    if (!failed)
        failed = run_tour(cli, only);
    tkl_close(server);
    remove_directory(directory);
    return failed;
}

static int demo(cli_session *cli)
{
    const cli_component *only = NULL;
    if (cli->argc > 0) {
        only = cli_find_component(cli->argv[0]);
        if (only == NULL)
            return cli_unknown_component(cli, cli->argv[0]);
        if (only->demo == NULL)
            return cli_usage(cli, "there is no tour of '%s'", only->name);
    }
    return prepare_and_run(cli, only);
}

static const cli_verb verbs[] = {
    {
        .args = "[COMMAND]",
        .summary = "a guided tour: real commands on a private server, with their results",
        .details = "Uses a server of its own in memory, and leaves nothing behind.",
        .example = "tackle demo call",
        .run = demo,
    },
    {0},
};

const cli_component cli_demo = {
    .name = "demo",
    .summary = "a guided tour: real commands on a private server, with their results",
    .verbs = verbs,
};
