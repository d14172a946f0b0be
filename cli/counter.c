/* SPDX-License-Identifier: MIT
 *
 * Counters over time from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graphite.h"
#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"
#include "plot.h"
#include "value.h"

enum {
    EVERY_MS = 60000,
    LINE_SIZE = 128, /* a time and an amount */
};

/* The counter named by the first argument. */
static int open_counter(cli_session *cli, const tkl_counter_options *options, tkl_counter **counter)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_counter_open(client, tkl_str(cli->argv[0]), options, counter));
}

/* ---- add ----------------------------------------------------------------- */

/* Reads "1s,1m,1h". */
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

/* Additions from standard input: each line has a time, and may have an amount. */
typedef struct past {
    tkl_counter *counter;
    tkl_counter_item *items; /* increments that are not sent yet, of this many lines */
    int64_t added;
} past;

/* Reads "TIME" or "TIME AMOUNT". Returns NULL, or why the text is wrong. A time may contain
 * blanks. */
static const char *read_past(tkl_bytes row, int64_t *at_ms, int64_t *amount)
{
    char text[LINE_SIZE];
    *amount = 1;
    if (row.len >= sizeof text || memchr(row.data, '\0', row.len) != NULL)
        return "too long, or with a NUL";
    memcpy(text, row.data, row.len);
    text[row.len] = '\0';
    const char *wrong = cli_parse_time(text, CLI_LAST, at_ms);
    char *blank = strrchr(text, ' ');
    if (wrong == NULL || blank == NULL || cli_parse_integer(blank + 1, amount) != NULL)
        return wrong;
    *blank = '\0';
    return cli_parse_time(text, CLI_LAST, at_ms);
}

/* Sends some lines. Adjacent lines of the same time are one add. If one of the lines is wrong, none
 * is sent. */
static int add_lines(cli_session *cli, const tkl_bytes *lines, size_t count, void *arg)
{
    past *p = arg;
    size_t made = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t at_ms, amount, both;
        const char *wrong = read_past(lines[i], &at_ms, &amount);
        if (wrong != NULL)
            return cli_usage(cli, "line %zu: invalid time: %s", cli_item_line(i), wrong);
        bool same = made > 0 && p->items[made - 1].at_ms == at_ms &&
                    !__builtin_add_overflow(p->items[made - 1].amount, amount, &both);
        if (same)
            p->items[made - 1].amount = both;
        else
            p->items[made++] =
                (tkl_counter_item){.counter = p->counter, .amount = amount, .at_ms = at_ms};
        sum += amount;
    }
    int failed = cli_end_items(cli, tkl_counter_add_each(p->items, made, NULL), count);
    p->added += failed ? 0 : sum;
    return failed;
}

/* Adds the amount of the command line, or the lines of standard input; *added: the sum. */
static int add_all(cli_session *cli, tkl_counter *counter, int64_t amount, int64_t *added)
{
    tkl_counter_item item = {
        .counter = counter, .amount = amount, .at_ms = cli_number(cli, "at", 0)};
    *added = amount;
    if (!cli_flag(cli, "lines"))
        return cli_end(cli, tkl_counter_add_each(&item, 1, NULL));
    past p = {.counter = counter, .items = calloc(CLI_ITEMS_MAX, sizeof *p.items)};
    int failed = p.items != NULL ? cli_text_items(cli, 1, add_lines, &p) : cli_end(cli, TKL_ENOMEM);
    *added = p.added;
    free(p.items);
    return failed;
}

static int counter_add(cli_session *cli)
{
    int64_t amount, added = 0, every_ms[TKL_COUNTER_PRECISIONS_MAX];
    tkl_counter_options options = {.samples = cli_number(cli, "samples", 0)};
    tkl_counter *counter = NULL;
    int failed = CLI_OK;
    if (cli_flag(cli, "lines") && (cli->argc > 1 || cli_text(cli, "at", NULL) != NULL))
        failed = cli_usage(cli, "with --lines, the lines have the times and amounts");
    if (!failed)
        failed = read_amount(cli, &amount);
    if (!failed)
        failed = read_precisions(cli, every_ms, &options.every_count);
    if (!failed)
        failed = cli_positive(cli, "samples");
    options.every_ms = options.every_count > 0 ? every_ms : NULL;
    if (!failed)
        failed = open_counter(cli, &options, &counter);
    if (!failed)
        failed = add_all(cli, counter, amount, &added);
    tkl_counter_close(counter);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli,
                          json_pack("{s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                    "added", (json_int_t)added));
}

/* ---- series -------------------------------------------------------------- */

/* Series of several counters, over the same period. */
typedef struct chart {
    size_t count;                /* number of counters */
    tkl_counter_series **series; /* one for each counter */
    int64_t every_ms;
    int64_t start_ms; /* start of the earliest slice of all counters */
    size_t slices;    /* number of slices since start_ms */
} chart;

/* The count of a counter in a slice of the chart. False: the counter does not keep slices that old.
 * A series that was read a moment earlier may end earlier: its count is 0 from there on. */
static bool count_at(const chart *c, size_t counter, size_t slice, int64_t *count)
{
    const tkl_counter_series *series = c->series[counter];
    int64_t start_ms = c->start_ms + (int64_t)slice * c->every_ms;
    *count = 0;
    if (series->count == 0 || start_ms < series->items[0].start_ms)
        return false;
    size_t at = (size_t)((start_ms - series->items[0].start_ms) / c->every_ms);
    if (at < series->count)
        *count = series->items[at].count;
    return true;
}

static void measure_chart(chart *c)
{
    int64_t end_ms = 0;
    for (size_t i = 0; i < c->count; i++) {
        const tkl_counter_series *series = c->series[i];
        if (series->count == 0)
            continue;
        int64_t first = series->items[0].start_ms;
        int64_t last = series->items[series->count - 1].start_ms;
        c->start_ms = end_ms == 0 || first < c->start_ms ? first : c->start_ms;
        end_ms = last + c->every_ms > end_ms ? last + c->every_ms : end_ms;
    }
    c->slices = (size_t)((end_ms - (end_ms > 0 ? c->start_ms : 0)) / c->every_ms);
}

/* Returns [{"time": "...", "counts": [1, null]}, ...]: the start of each slice, and the count of
 * each counter, in the order of the arguments. */
static json_t *chart_json(const chart *c)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < c->slices; i++) {
        int64_t count;
        json_t *counts = json_array();
        for (size_t k = 0; k < c->count; k++)
            json_array_append_new(
                counts, count_at(c, k, i, &count) ? json_integer((json_int_t)count) : json_null());
        json_array_append_new(rows, json_pack("{s:o, s:o}", "time",
                                              cli_json_time(c->start_ms + (int64_t)i * c->every_ms),
                                              "counts", counts));
    }
    return rows;
}

static int print_csv(const cli_session *cli, const chart *c)
{
    printf("time");
    for (size_t k = 0; k < c->count; k++) {
        putchar(',');
        cli_csv_field(tkl_str(cli->argv[k]));
    }
    printf("\r\n");
    for (size_t i = 0; i < c->slices; i++) {
        int64_t count;
        json_t *time = cli_json_time(c->start_ms + (int64_t)i * c->every_ms);
        printf("%s", time != NULL ? json_string_value(time) : "");
        json_decref(time);
        for (size_t k = 0; k < c->count; k++) {
            putchar(',');
            if (count_at(c, k, i, &count))
                printf("%" PRId64, count);
        }
        printf("\r\n");
    }
    return cli_flush(cli);
}

static int print_graphite(const cli_session *cli, const chart *c)
{
    for (size_t k = 0; k < c->count; k++) {
        const tkl_bytes path[] = {tkl_str("counter"), tkl_str(cli->argv[k]), {NULL, 0}};
        for (size_t i = 0; i < c->series[k]->count; i++)
            cli_graphite_line(path, (double)c->series[k]->items[i].count,
                              c->series[k]->items[i].start_ms);
    }
    return cli_flush(cli);
}

static int print_lines(const cli_session *cli, const tkl_counter_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        char text[CLI_TIME_SIZE];
        cli_time_text(series->items[i].start_ms, text);
        printf("%s  %" PRId64 "\n", text, series->items[i].count);
    }
    return cli_flush(cli);
}

/* Prints the name of a counter above its plot, when there are several counters. */
static void print_title(const cli_session *cli, const chart *c, size_t counter)
{
    if (c->count == 1)
        return;
    printf("%s%s", counter > 0 ? "\n" : "", cli_color(stdout, CLI_BOLD));
    cli_print_bytes(tkl_str(cli->argv[counter]));
    printf("%s\n", cli_color(stdout, CLI_PLAIN));
}

/* Plots the counters one below the other, over the same period. */
static int print_plots(const cli_session *cli, const chart *c)
{
    double *values = calloc(c->slices + 1, sizeof *values);
    if (!values)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t k = 0; k < c->count; k++) {
        for (size_t i = 0; i < c->slices; i++) {
            int64_t count;
            count_at(c, k, i, &count);
            values[i] = (double)count;
        }
        cli_plot plot = {
            .values = values, .count = c->slices, .every_ms = c->every_ms, .start_ms = c->start_ms};
        print_title(cli, c, k);
        cli_plot_print(&plot, stdout);
    }
    free(values);
    return cli_flush(cli);
}

static int print_chart(const cli_session *cli, const chart *c)
{
    int failed = CLI_OK;
    if (cli->json)
        return cli_print_json(cli, chart_json(c));
    if (cli_flag(cli, "csv"))
        return print_csv(cli, c);
    if (cli_flag(cli, "graphite"))
        return print_graphite(cli, c);
    if (cli_flag(cli, "plot"))
        return print_plots(cli, c);
    for (size_t k = 0; !failed && k < c->count; k++) {
        print_title(cli, c, k);
        failed = print_lines(cli, c->series[k]);
    }
    return failed;
}

static int read_counter(cli_session *cli, tkl_client *client, const char *name, int64_t every_ms,
                        tkl_counter_series **series)
{
    tkl_counter *counter = NULL;
    int failed = cli_end(cli, tkl_counter_open(client, tkl_str(name), NULL, &counter));
    if (!failed)
        failed = cli_end(cli, tkl_counter_read(counter, every_ms, cli_number(cli, "from", 0),
                                               cli_number(cli, "to", 0), series));
    tkl_counter_close(counter);
    return failed;
}

static int series_verb(cli_session *cli)
{
    chart c = {.count = (size_t)cli->argc, .every_ms = cli_number(cli, "every", EVERY_MS)};
    tkl_client *client = NULL;
    if (cli_flag(cli, "csv") && (cli_flag(cli, "plot") || cli->json))
        return cli_usage(cli, "one of --csv, --plot and --json");
    int failed = cli_check_graphite(cli);
    if (!failed && cli_flag(cli, "graphite") && (cli_flag(cli, "plot") || c.every_ms % 1000 != 0))
        failed = cli_usage(cli, "--graphite knows whole seconds only, and no --plot");
    if (!failed)
        failed = cli_connect(cli, &client);
    c.series = calloc(c.count, sizeof(tkl_counter_series *));
    if (!failed && c.series == NULL)
        failed = cli_end(cli, TKL_ENOMEM);
    for (size_t k = 0; !failed && k < c.count; k++)
        failed = read_counter(cli, client, cli->argv[k], c.every_ms, &c.series[k]);
    if (!failed) {
        measure_chart(&c);
        failed = print_chart(cli, &c);
    }
    for (size_t k = 0; c.series != NULL && k < c.count; k++)
        tkl_counter_series_free(c.series[k]);
    free(c.series);
    return failed;
}

/* ---- list, clean, drop --------------------------------------------------- */

static int counter_list(cli_session *cli)
{
    return cli_list(cli, tkl_counter_names);
}

static int counter_clean(cli_session *cli)
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

static int counter_drop(cli_session *cli)
{
    tkl_counter *counter = NULL;
    int failed = cli_confirm(cli, "This deletes the counter '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_counter(cli, NULL, &counter);
    if (!failed)
        failed = cli_end_of(cli, tkl_counter_drop(counter), "counter");
    tkl_counter_close(counter);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option add_options[] = {
    {"every", CLI_TEXT, "DURATION,...",
     "precisions of a new counter (default 1s,5s,1m,5m,1h,5h,1d)"},
    {"samples", CLI_INTEGER, "N", "slices kept of each precision (default 120)"},
    {"at", CLI_PAST, "TIME", "when it happened (default now)"},
    {"lines", CLI_LOCAL_FLAG, NULL, "each line of standard input is a time, or TIME AMOUNT"},
    {0},
};

static const cli_option series_options[] = {
    {"every", CLI_PERIOD, "DURATION", "precision to show (default 60s)"},
    {"from", CLI_PAST, "TIME", "begin at this time (default: the oldest slice)"},
    {"to", CLI_PAST, "TIME", "end at this time (default now)"},
    {"plot", CLI_LOCAL_FLAG, NULL, "draw a plot as wide as the terminal"},
    {"csv", CLI_LOCAL_FLAG, NULL, "print CSV: the time, and a column for each counter"},
    CLI_GRAPHITE,
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
        .details =
            "AMOUNT may be negative. TIME is 12:17 (the last one), '10m ago', 'yesterday 14:00',\n"
            "RFC 3339, or as web servers log it: 31/Jan/2030:12:00:00 +0000. Precisions whose\n"
            "slices of that time are gone do not count it; if none has them, it is an error.",
        .example = "tackle counter add hits\n"
                   "tackle counter add bytes 1500 --json\n"
                   "tackle counter add hits 7 --at 'yesterday 14:00'\n"
                   "date -u -d yesterday '+[%d/%b/%Y:%T +0000]' | tackle counter add hits --lines",
        .effect = CLI_WRITES,
        .adds = true,
        .run = counter_add,
    },
    {
        .name = "series",
        .args = "NAME...",
        .summary = "the counts of each second, minute, hour or day",
        .options = series_options,
        .details =
            "TIME is 12:17 (the last one), '10m ago', 'yesterday 14:00', 2026-11-16 or RFC 3339.\n"
            "Slices begin at multiples of their length since 1970, UTC. With --json an array of\n"
            "{\"time\": START, \"counts\": [COUNT, ...]} in order of time, a count for each "
            "counter;\n"
            "0 where nothing was counted, null (in CSV nothing) for times that a counter does\n"
            "not keep any more.",
        .example = "tackle counter add hits 3\n"
                   "tackle counter series hits --every 1s --json\n"
                   "tackle counter series hits --every 60 --plot\n"
                   "tackle counter add misses\n"
                   "tackle counter series hits misses --every 1h --csv\n"
                   "tackle counter series hits --graphite | tail -n 1",
        .effect = CLI_READS,
        .run = series_verb,
    },
    {
        .name = "list",
        .summary = "the names of all counters",
        .options = cli_list_options,
        .example = "tackle counter add hits\n"
                   "tackle counter list --json",
        .effect = CLI_READS,
        .run = counter_list,
    },
    {
        .name = "clean",
        .summary = "remove old slices of all counters",
        .details = "Never needed: new slices take the place of old ones, and idle counters\n"
                   "expire. It frees the memory of counters that are hardly used any more.",
        .example = "tackle counter clean --json",
        .effect = CLI_WRITES,
        .run = counter_clean,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete a counter",
        .options = drop_options,
        .example = "tackle counter add tackle-example\n"
                   "tackle counter drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = counter_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"One add counts in every second, minute, hour and day at once.",
     "for i in 1 2 3; do tackle counter add hits $i; done; "
     "tackle counter series hits --every 1d --json | tail -c 60",
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
    .shared = "counters",
    .demo = demo,
};
