/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"

/* Puts this program first in PATH as `tackle`, so that commands run it and no installed version. */
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

/* Starts a server that ends when we end, for any reason; commands reach it by its socket. */
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

static int make_directory(cli_session *cli, const char *name, cli_stage *stage)
{
    snprintf(stage->directory, sizeof stage->directory, "/tmp/tackle-%s.XXXXXX", name);
    if (mkdtemp(stage->directory) == NULL) {
        int failed =
            cli_fail(cli, CLI_FAILURE, "cannot make %s: %s", stage->directory, strerror(errno));
        stage->directory[0] = '\0';
        return failed;
    }
    setenv("DIR", stage->directory, 1);
    return CLI_OK;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

/* A command that was interrupted may have left its server. */
static void remove_directory(const char *directory)
{
    char url[PATH_MAX];
    snprintf(url, sizeof url, "embedded:%s", directory);
    int code = tkl_server_stop(url);
    (void)code; /* it is fine if it does not run */
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Between lines we only note a signal, so that the clean-up takes place; during a line the signal
 * goes to the line. */
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

int cli_stage_open(cli_session *cli, const char *name, cli_stage *stage)
{
    *stage = (cli_stage){0};
    int failed = put_on_path(cli);
    note_signals();
    if (!failed)
        failed = make_directory(cli, name, stage);
    if (!failed)
        failed = start_server(cli, &stage->server);
    if (failed)
        cli_stage_close(stage);
    return failed;
}

void cli_stage_close(cli_stage *stage)
{
    tkl_close(stage->server);
    if (stage->directory[0] != '\0')
        remove_directory(stage->directory);
    *stage = (cli_stage){0};
}

int cli_stage_run(cli_session *cli, const char *commands, int output, int *exit)
{
    const char *argv[] = {"sh", "-c", commands, NULL};
    cli_command command = {.argv = argv, .foreground = true, .output = output, .errors = output};
    cli_child child;
    if (interrupted)
        return cli_fail(cli, CLI_FAILURE, "interrupted");
    int failed = cli_child_start(cli, &command, &child);
    if (failed)
        return failed;
    cli_child_wait(&child, -1, -1);
    *exit = cli_child_close(cli, &child);
    return CLI_OK;
}

int cli_stage_pause(cli_session *cli, int seconds)
{
    if (seconds > 0)
        sleep((unsigned)seconds); /* a signal ends it */
    return interrupted ? cli_fail(cli, CLI_FAILURE, "interrupted") : CLI_OK;
}
