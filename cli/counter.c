/* SPDX-License-Identifier: MIT
 *
 * Counters over time from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "holders.h"
#include "lines.h"
#include "out.h"
#include "plot.h"
#include "value.h"

enum { EVERY_MS = 60000 };

/* The counter named by the first argument. */
static int open_counter(cli_session *cli, const tkl_counter_options *options, tkl_counter **counter)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_counter_open(client, tkl_str(cli->argv[0]), options, counter));
}

/* ---- add ----------------------------------------------------------------- */

/* "1s,1m,1h" */
static int read_precisions(cli_session *cli, int64_t every_ms[TKL_COUNTER_PRECISIONS_MAX],
                           size_t *count)
{
    const char *text = cli_text(cli, "every", NULL);
    char *list = strdup(text ? text : ""), *rest = text ? list : NULL;
    int failed = list ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    *count = 0;
    for (const char *one; !failed && (one = strsep(&rest, ","));) {
        const char *wrong = *count < TKL_COUNTER_PRECISIONS_MAX
                                ? cli_parse_duration(one, &every_ms[*count])
                                : "more than 16 precisions";
        if (wrong)
            failed = cli_usage(cli, "invalid --every '%s': %s", one, wrong);
        ++*count;
    }
    free(list);
    return failed;
}

static int read_amount(cli_session *cli, int64_t *amount)
{
    *amount = 1;
    const char *wrong = cli->argc > 1 ? cli_parse_integer(cli->argv[1], amount) : NULL;
    return wrong ? cli_usage(cli, "invalid amount '%s': %s", cli->argv[1], wrong) : CLI_OK;
}

static int add(cli_session *cli)
{
    int64_t amount, every_ms[TKL_COUNTER_PRECISIONS_MAX];
    tkl_counter_options options = {.samples = cli_number(cli, "samples", 0)};
    tkl_counter *counter = NULL;
    int failed = read_amount(cli, &amount);
    if (!failed)
        failed = read_precisions(cli, every_ms, &options.every_count);
    if (!failed)
        failed = cli_positive(cli, "samples");
    options.every_ms = options.every_count > 0 ? every_ms : NULL;
    if (!failed)
        failed = open_counter(cli, &options, &counter);
    if (!failed)
        failed = cli_end(cli, tkl_counter_add(counter, amount));
    tkl_counter_close(counter);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli,
                          json_pack("{s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                    "added", (json_int_t)amount));
}

/* ---- series -------------------------------------------------------------- */

/* [[start, count], ...], the start in Unix seconds. */
static json_t *series_json(const tkl_counter_series *series)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < series->count; i++) {
        int64_t ms = series->items[i].start_ms;
        json_t *start =
            ms % 1000 == 0 ? json_integer((json_int_t)(ms / 1000)) : json_real((double)ms / 1000);
        json_array_append_new(rows, json_pack("[o, I]", start, (json_int_t)series->items[i].count));
    }
    return rows;
}

static int print_lines(const cli_session *cli, const tkl_counter_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        char text[32] = "";
        time_t seconds = (time_t)(series->items[i].start_ms / 1000);
        struct tm when;
        if (localtime_r(&seconds, &when) != NULL)
            strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &when);
        printf("%s", text);
        if (series->every_ms % 1000 != 0)
            printf(".%03d", (int)(series->items[i].start_ms % 1000));
        printf("  %" PRId64 "\n", series->items[i].count);
    }
    return cli_flush(cli);
}

static int print_plot(const cli_session *cli, const tkl_counter_series *series)
{
    double *values = calloc(series->count + 1, sizeof *values);
    if (!values)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; i < series->count; i++)
        values[i] = (double)series->items[i].count;
    cli_plot plot = {.values = values, .count = series->count, .every_ms = series->every_ms};
    if (series->count > 0)
        plot.start_ms = series->items[0].start_ms;
    cli_plot_print(&plot, stdout);
    free(values);
    return cli_flush(cli);
}

static int print_series(const cli_session *cli, const tkl_counter_series *series)
{
    if (cli->json)
        return cli_print_json(cli, series_json(series));
    return cli_flag(cli, "plot") ? print_plot(cli, series) : print_lines(cli, series);
}

static int series_verb(cli_session *cli)
{
    tkl_counter *counter = NULL;
    tkl_counter_series *series = NULL;
    int failed = open_counter(cli, NULL, &counter);
    if (!failed)
        failed = cli_end(cli, tkl_counter_read(counter, cli_number(cli, "every", EVERY_MS),
                                               cli_number(cli, "from", 0), cli_number(cli, "to", 0),
                                               &series));
    if (!failed)
        failed = print_series(cli, series);
    tkl_counter_series_free(series);
    tkl_counter_close(counter);
    return failed;
}

/* ---- list, clean, drop --------------------------------------------------- */

static int list(cli_session *cli)
{
    return cli_list(cli, tkl_counter_names);
}

static int clean(cli_session *cli)
{
    tkl_client *client = NULL;
    int64_t removed = 0;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_counter_clean(client, &removed));
    if (failed)
        return failed;
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:I}", "removed", (json_int_t)removed));
    printf("%" PRId64 " old slices removed\n", removed);
    return CLI_OK;
}

static int drop(cli_session *cli)
{
    tkl_counter *counter = NULL;
    int failed = cli_confirm(cli, "This deletes the counter %s.", cli->argv[0]);
    if (!failed)
        failed = open_counter(cli, NULL, &counter);
    if (!failed)
        failed = cli_end(cli, tkl_counter_drop(counter));
    tkl_counter_close(counter);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option add_options[] = {
    {"every", CLI_TEXT, "DURATION,...",
     "precisions of a new counter (default 1s,5s,1m,5m,1h,5h,1d)"},
    {"samples", CLI_INTEGER, "N", "slices kept of each precision (default 120)"},
    {0},
};

static const cli_option series_options[] = {
    {"every", CLI_PERIOD, "DURATION", "precision to show (default 60s)"},
    {"from", CLI_TIME, "TIME", "begin at this time (default: the oldest slice)"},
    {"to", CLI_TIME, "TIME", "end at this time (default now)"},
    {"plot", CLI_FLAG, NULL, "draw a plot as wide as the terminal"},
    {0},
};

static const cli_option drop_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "add",
        .args = "NAME [AMOUNT]",
        .summary = "add AMOUNT, or 1, to a counter",
        .options = add_options,
        .details = "AMOUNT may be negative.",
        .example = "tackle counter add hits\n"
                   "tackle counter add bytes 1500 --json",
        .run = add,
    },
    {
        .name = "series",
        .args = "NAME",
        .summary = "the counts of each second, minute, hour or day",
        .options = series_options,
        .details =
            "Slices begin at multiples of their length since 1970, UTC. With --json\n"
            "[[start,count],...] in order of time, start in Unix seconds; where nothing was\n"
            "counted the count is 0.",
        .example = "tackle counter add hits 3\n"
                   "tackle counter series hits --every 1s --json\n"
                   "tackle counter series hits --every 60 --plot",
        .run = series_verb,
    },
    {
        .name = "list",
        .summary = "the names of all counters",
        .example = "tackle counter add hits\n"
                   "tackle counter list --json",
        .run = list,
    },
    {
        .name = "clean",
        .summary = "remove old slices of all counters",
        .details = "Never needed: new slices take the place of old ones, and idle counters\n"
                   "expire. It frees the memory of counters that are hardly used any more.",
        .example = "tackle counter clean --json",
        .run = clean,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete a counter",
        .options = drop_options,
        .example = "tackle counter add tackle-example\n"
                   "tackle counter drop tackle-example --yes --json",
        .run = drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"One add counts in every second, minute, hour and day at once.",
     "for i in 1 2 3; do tackle counter add hits $i; done; "
     "tackle counter series hits --every 1d --json | tail -c 20",
     0},
    {"Three seconds of a busy counter, drawn.",
     "for i in 2 5 9 4 7 1; do tackle counter add load $i --every 500ms,1m --samples 12; "
     "sleep 0.5; done; tackle counter series load --every 500ms --plot",
     0},
    {0},
};

const cli_component cli_counter = {
    .name = "counter",
    .summary = "counts over time: each second, minute, hour, day",
    .verbs = verbs,
    .demo = demo,
};
