/* SPDX-License-Identifier: MIT
 *
 * The laboratory: classic techniques that fail, and the same work with tackle, run for real on a
 * private server in memory. The tables are in lab_*.c.
 */
#include "lab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "language.h"
#include "out.h"
#include "stage.h"

enum { OUTPUT_MAX = 65536 }; /* bytes of a line's output that are kept */

static const cli_experiment *const tables[] = {cli_lab_holding, cli_lab_passing, cli_lab_counting};
enum { TABLES = sizeof tables / sizeof *tables };

/* A way to do the work, as it runs. */
typedef struct lab_way {
    const cli_step *steps;
    const char *count_line;
    const cli_routine *routine;
    cli_phrase title;
    int64_t began_ms; /* monotonic */
    int64_t count;    /* errors that were counted */
    json_t *log;      /* the steps that were run */
} lab_way;

/* ---- Running a step ------------------------------------------------------ */

static int open_output(cli_session *cli, int *fd)
{
    *fd = memfd_create("output", MFD_CLOEXEC);
    return *fd >= 0 ? CLI_OK : cli_fail(cli, CLI_FAILURE, "there is no place for the output");
}

/* Reads what was printed into `text`, without the newline at its end, and closes the descriptor. */
static void take_output(int fd, char text[OUTPUT_MAX])
{
    ssize_t len = pread(fd, text, OUTPUT_MAX - 1, 0);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
}

static int run_line(cli_session *cli, const char *command, char text[OUTPUT_MAX], int *exit)
{
    int fd, failed = open_output(cli, &fd);
    if (failed)
        return failed;
    failed = cli_stage_run(cli, command, fd, exit);
    take_output(fd, text);
    return failed;
}

static int run_routine(cli_session *cli, lab_way *way, char text[OUTPUT_MAX])
{
    int fd, failed = open_output(cli, &fd);
    if (failed)
        return failed;
    failed = way->routine->run(cli, fd, &way->count);
    take_output(fd, text);
    return failed;
}

static void show_head(const char *text, const char *command, int64_t at_ms)
{
    printf("%s%5.2f s  %s%s\n         %s$ %s%s\n", cli_color(stdout, CLI_DIM), (double)at_ms / 1000,
           cli_translated(text), cli_color(stdout, CLI_PLAIN), cli_color(stdout, CLI_CYAN), command,
           cli_color(stdout, CLI_PLAIN));
    fflush(stdout);
}

/* Runs a step, or the routine if there is none, and shows it. */
static int run_step(cli_session *cli, lab_way *way, const cli_step *step)
{
    char output[OUTPUT_MAX];
    int exit = 0;
    const char *text = step != NULL ? step->text : way->routine->text;
    const char *command = step != NULL ? step->command : way->routine->command;
    int64_t at_ms = cli_now_ms() - way->began_ms;
    if (!cli->json)
        show_head(text, command, at_ms);
    int failed =
        step != NULL ? run_line(cli, command, output, &exit) : run_routine(cli, way, output);
    if (failed)
        return failed;
    if (!cli->json && *output != '\0') {
        cli_print_lines(tkl_str(output), 9);
        putchar('\n');
        fflush(stdout);
    }
    json_array_append_new(way->log,
                          json_pack("{s:I, s:s, s:s, s:o, s:i}", "at_ms", (json_int_t)at_ms, "text",
                                    text, "command", command, "output",
                                    cli_json_present(tkl_str(output)), "exit", exit));
    if (step == NULL || exit == step->exit)
        return CLI_OK;
    return cli_fail(cli, CLI_FAILURE, "the step '%s' ended with exit code %d instead of %d: %s",
                    text, exit, step->exit, output);
}

static int read_count(cli_session *cli, lab_way *way)
{
    char text[OUTPUT_MAX], *end;
    int exit = 0;
    int failed = run_line(cli, way->count_line, text, &exit);
    if (failed)
        return failed;
    way->count = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        return cli_fail(cli, CLI_FAILURE, "this is no count: %s", text);
    return CLI_OK;
}

/* ---- Running an experiment ----------------------------------------------- */

static void print_title(cli_phrase title)
{
    printf("%s%s%s\n", cli_color(stdout, CLI_BOLD), cli_say(title), cli_color(stdout, CLI_PLAIN));
}

static int run_way(cli_session *cli, lab_way *way)
{
    int failed = CLI_OK;
    way->log = json_array();
    way->began_ms = cli_now_ms();
    if (!cli->json) {
        putchar('\n');
        print_title(way->title);
    }
    for (const cli_step *step = way->steps; step->command != NULL && !failed; step++)
        failed = run_step(cli, way, step);
    if (failed)
        return failed;
    return way->count_line != NULL ? read_count(cli, way) : run_step(cli, way, NULL);
}

static bool is_as_announced(const cli_experiment *experiment, int64_t naive, int64_t ours)
{
    if (experiment->timed)
        return true;
    return experiment->less ? ours < naive : naive > 0 && ours == 0;
}

static void print_seen(const cli_experiment *experiment, int64_t naive, int64_t ours)
{
    enum { SIZE = 64 };
    const int64_t counts[2] = {naive, ours};
    char texts[2][SIZE];
    for (int i = 0; i < 2; i++)
        snprintf(texts[i], SIZE, "%s%lld%s", cli_color(stdout, CLI_BOLD), (long long)counts[i],
                 cli_color(stdout, CLI_PLAIN));
    putchar('\n');
    print_title(CLI_SAY_SEEN);
    printf("  ");
    printf(cli_say(CLI_SAY_COUNTS), cli_translated(experiment->counted), texts[0], texts[1]);
    putchar('\n');
}

static int print_end(const cli_session *cli, const cli_experiment *experiment, lab_way ways[2])
{
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:s, s:s, s:s, s:{s:I, s:O}, s:{s:I, s:O}, s:s, s:s}",
                                        "name", experiment->name, "title", experiment->title,
                                        "measure", experiment->counted, "naive", "count",
                                        (json_int_t)ways[0].count, "steps", ways[0].log, "tackle",
                                        "count", (json_int_t)ways[1].count, "steps", ways[1].log,
                                        "learn", experiment->learn, "page", experiment->page));
    print_seen(experiment, ways[0].count, ways[1].count);
    print_title(CLI_SAY_LEARN);
    cli_print_translated(stdout, experiment->learn, CLI_INDENT);
    printf("  ");
    printf(cli_say(CLI_SAY_PAGE), experiment->page);
    putchar('\n');
    return CLI_OK;
}

static int run_experiment(cli_session *cli, const cli_experiment *experiment)
{
    lab_way ways[2] = {
        {.steps = experiment->naive,
         .count_line = experiment->naive_count,
         .routine = &experiment->naive_routine,
         .title = CLI_SAY_NAIVE},
        {.steps = experiment->ours,
         .count_line = experiment->ours_count,
         .routine = &experiment->ours_routine,
         .title = CLI_SAY_OURS},
    };
    cli_stage stage;
    int failed = cli_stage_open(cli, "lab", &stage);
    if (failed)
        return failed;
    if (!cli->json)
        printf("%s%s: %s%s\n", cli_color(stdout, CLI_BOLD), experiment->name,
               cli_translated(experiment->title), cli_color(stdout, CLI_PLAIN));
    for (int i = 0; i < 2 && !failed; i++)
        failed = run_way(cli, &ways[i]);
    cli_stage_close(&stage);
    if (!failed)
        failed = print_end(cli, experiment, ways);
    if (!failed && !is_as_announced(experiment, ways[0].count, ways[1].count))
        failed = cli_fail(cli, CLI_FAILURE, "the experiment did not show what it should");
    for (int i = 0; i < 2; i++)
        json_decref(ways[i].log);
    return failed;
}

/* ---- The verb ------------------------------------------------------------ */

static const cli_experiment *find_experiment(const char *name)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const cli_experiment *next = tables[i]; next->name != NULL; next++)
            if (strcmp(next->name, name) == 0)
                return next;
    return NULL;
}

static int print_list(const cli_session *cli)
{
    const cli_column columns[] = {
        {"name", cli_say(CLI_SAY_NAMES)}, {"title", cli_say(CLI_SAY_TITLES)}, {0}};
    json_t *rows = json_array();
    for (size_t i = 0; i < TABLES; i++)
        for (const cli_experiment *next = tables[i]; next->name != NULL; next++)
            json_array_append_new(rows,
                                  json_pack("{s:s, s:s, s:s}", "name", next->name, "title",
                                            cli->json ? next->title : cli_translated(next->title),
                                            "page", next->page));
    return cli_print_rows(cli, rows, columns);
}

static int run_lab(cli_session *cli)
{
    if (cli->argc == 0)
        return print_list(cli);
    const cli_experiment *experiment = find_experiment(cli->argv[0]);
    if (experiment == NULL)
        return cli_usage(cli, "there is no experiment '%s': 'tackle lab' lists them", cli->argv[0]);
    return run_experiment(cli, experiment);
}

static const cli_verb verbs[] = {
    {
        .args = "[EXPERIMENT]",
        .summary = "see classic techniques fail, and the same work with tackle",
        .details =
            "Without EXPERIMENT it lists them. Each runs real commands for a few seconds, on a\n"
            "server of its own in memory, and leaves nothing behind. Where two programs must\n"
            "meet at the wrong moment, the steps are put into that order: no luck is needed.",
        .example = "tackle lab\n"
                   "tackle lab lock-race\n"
                   "tackle lab mailbox --json",
        .local = "it is an experiment with servers of its own",
        .run = run_lab,
    },
    {0},
};

const cli_component cli_lab = {
    .name = "lab",
    .summary = "a laboratory: classic techniques that fail, and the same work with tackle",
    .verbs = verbs,
};
