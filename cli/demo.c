/* SPDX-License-Identifier: MIT
 *
 * The guided tour: steps of the components, run for real on a private server in memory.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "args.h"
#include "language.h"
#include "out.h"
#include "stage.h"

/* ---- The steps ----------------------------------------------------------- */

static void announce(const cli_step *step)
{
    printf("\n%s# %s%s\n%s$ %s%s\n", cli_color(stdout, CLI_DIM), cli_translated(step->text),
           cli_color(stdout, CLI_PLAIN), cli_color(stdout, CLI_CYAN), step->command,
           cli_color(stdout, CLI_PLAIN));
    fflush(stdout);
}

static int run_step(cli_session *cli, const cli_step *step)
{
    int exit = 0;
    announce(step);
    int failed = cli_stage_run(cli, step->command, 0, &exit);
    if (failed || exit == step->exit)
        return failed;
    return cli_fail(cli, CLI_FAILURE, "the step ended with exit code %d instead of %d", exit,
                    step->exit);
}

/* Runs the steps of a component, at most `most` of them. On a terminal there is time to read. */
static int run_steps(cli_session *cli, const cli_component *component, int most, int pause_s)
{
    int failed = CLI_OK;
    if (component->demo == NULL)
        return CLI_OK;
    printf("\n%s== %s: %s ==%s\n", cli_color(stdout, CLI_BOLD), component->name,
           cli_translated(component->summary), cli_color(stdout, CLI_PLAIN));
    for (const cli_step *step = component->demo; step->command != NULL && most-- > 0 && !failed;
         step++) {
        failed = run_step(cli, step);
        if (!failed)
            failed = cli_stage_pause(cli, pause_s);
    }
    return failed;
}

/* The short tour: some steps of some components, in less than two minutes. */
static int run_short_tour(cli_session *cli)
{
    static const char *const names[] = {"lock", "queue", "limit", "channel", "search", "cache"};
    enum { STEPS = 3, PAUSE_S = 3 };
    int failed = CLI_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && !failed; i++)
        failed = run_steps(cli, cli_find_component(names[i]), STEPS,
                           isatty(STDOUT_FILENO) ? PAUSE_S : 0);
    if (!failed)
        printf("\n%s\n", cli_say(CLI_SAY_MORE_TOURS));
    return failed;
}

static int run_whole_tour(cli_session *cli)
{
    int failed = CLI_OK;
    for (size_t i = 0; cli_components[i] != NULL && !failed; i++)
        failed = run_steps(cli, cli_components[i], INT_MAX, 0);
    return failed;
}

/* Shows what the tour has left on its server in a browser, until a signal comes. */
static int show_dashboard(cli_session *cli)
{
    int exit = 0;
    printf("\n%s%s%s\n", cli_color(stdout, CLI_BOLD), cli_say(CLI_SAY_DASHBOARD),
           cli_color(stdout, CLI_PLAIN));
    fflush(stdout);
    int failed = cli_stage_run(cli, "exec tackle serve --listen 127.0.0.1:0", 0, &exit);
    return failed || exit == 0
               ? failed
               : cli_fail(cli, CLI_FAILURE, "the dashboard ended with exit code %d", exit);
}

/* A person at a terminal can open a page; a script cannot. */
static bool wants_dashboard(const cli_session *cli, const cli_component *only)
{
    return cli_flag(cli, "dashboard") ||
           (only == NULL && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
}

/* ---- The verb ------------------------------------------------------------ */

static int prepare_and_run(cli_session *cli, const cli_component *only)
{
    cli_stage stage;
    int failed = cli_stage_open(cli, "demo", &stage);
    if (failed)
        return failed;
    if (only != NULL)
        failed = run_steps(cli, only, INT_MAX, 0);
    else
        failed = cli_flag(cli, "all") ? run_whole_tour(cli) : run_short_tour(cli);
    if (!failed && wants_dashboard(cli, only))
        failed = show_dashboard(cli);
    cli_stage_close(&stage);
    return failed;
}

static int run_demo(cli_session *cli)
{
    const cli_component *only = NULL;
    if (cli->argc > 0) {
        only = cli_find_component(cli->argv[0]);
        if (only == NULL)
            return cli_unknown_component(cli, cli->argv[0]);
        if (only->demo == NULL)
            return cli_usage(cli, "there is no tour of '%s'", only->name);
        if (cli_flag(cli, "all"))
            return cli_usage(cli, "--all is for the tour of all commands");
    }
    return prepare_and_run(cli, only);
}

static const cli_option options[] = {
    {"all", CLI_FLAG, NULL, "show all steps of all commands"},
    {"dashboard", CLI_FLAG, NULL, "show the data in a browser at the end, until Ctrl-C"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .args = "[COMMAND]",
        .summary = "a guided tour: real commands on a private server, with their results",
        .options = options,
        .details =
            "Without COMMAND it shows a little of everything, in less than two minutes. On a\n"
            "terminal it ends with the address of a dashboard on the data of the tour. Uses a\n"
            "server of its own in memory, and leaves nothing behind.",
        .example = "tackle demo call",
        .local = "it is a tour for a terminal",
        .run = run_demo,
    },
    {0},
};

const cli_component cli_demo = {
    .name = "demo",
    .summary = "a guided tour: real commands on a private server, with their results",
    .verbs = verbs,
};
