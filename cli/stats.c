/* SPDX-License-Identifier: MIT
 *
 * Statistics and timers from the shell.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "graphite.h"
#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"

enum { COUNT = 100 };

#define TIME_TYPE "time"

static int open_stats(cli_session *cli, const char *type, tkl_stats **stats)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed : cli_end(cli, tkl_stats_open(client, tkl_str(type), NULL, stats));
}

/* ---- record -------------------------------------------------------------- */

/* Where values are recorded. */
typedef struct target {
    tkl_stats *stats;
    tkl_bytes context;
    int64_t at_ms; /* 0: now */
    int64_t count;
} target;

/* The locale of numbers is "C": main() sets another for characters only. */
static bool read_number(tkl_bytes text, double *number)
{
    char copy[64], *end;
    if (text.len == 0 || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *number = strtod(copy, &end);
    bool is_decimal = strspn(copy, "0123456789+-.eE") == text.len; /* not 0x10, inf */
    return is_decimal && *end == '\0' && end != copy;
}

static int no_number(const cli_session *cli, tkl_bytes text, size_t row)
{
    return row > 0
               ? cli_usage(cli, "line %zu: invalid value '" TKL_FMT "': not a decimal number", row,
                           TKL_ARG(text))
               : cli_usage(cli, "invalid value '" TKL_FMT "': not a decimal number", TKL_ARG(text));
}

static int record_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    target *t = arg;
    tkl_stats_value *values = calloc(count, sizeof *values);
    int failed = values ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < count; i++) {
        values[i].context = t->context;
        values[i].at_ms = t->at_ms;
        if (!read_number(items[i], &values[i].value))
            failed = no_number(cli, items[i], cli_item_line(i));
    }
    if (!failed)
        failed = cli_end_items(cli, tkl_stats_record(t->stats, values, count), count);
    if (!failed)
        t->count += (int64_t)count;
    free(values);
    return failed;
}

static int stats_record(cli_session *cli)
{
    target t = {.context = tkl_str(cli->argv[0]), .at_ms = cli_number(cli, "at", 0)};
    int failed = open_stats(cli, cli->argv[1], &t.stats);
    if (!failed)
        failed = cli_text_items(cli, 2, record_some, &t);
    tkl_stats_close(t.stats);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli, json_pack("{s:o, s:I}", "context", cli_json_bytes(t.context),
                                         "recorded", (json_int_t)t.count));
}

/* ---- show ---------------------------------------------------------------- */

static json_t *summary_json(const tkl_stats_summary *s)
{
    json_t *stddev = s->count > 1 ? json_real(s->stddev) : json_null();
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:f, s:f, s:f, s:o}", "count",
                     (json_int_t)s->count, "min", s->min, "max", s->max, "sum", s->sum, "sumsq",
                     s->sumsq, "mean", s->mean, "stddev", stddev, "p50", s->p50, "p90", s->p90,
                     "p99", s->p99, "p999", s->p999, "since", cli_json_time(s->start_ms));
}

static int read_hour(const cli_session *cli, tkl_hour *hour)
{
    bool last = cli_flag(cli, "last"), both = cli_flag(cli, "both");
    *hour = both ? TKL_HOUR_BOTH : last ? TKL_HOUR_LAST : TKL_HOUR_THIS;
    return last && both ? cli_usage(cli, "either --last or --both") : CLI_OK;
}

/* Reads all contexts of CONTEXT TYPE [CONTEXT...]; free the array. */
static tkl_bytes *read_contexts(const cli_session *cli, size_t *count)
{
    tkl_bytes *contexts = calloc((size_t)cli->argc, sizeof *contexts);
    *count = 0;
    for (int i = 0; contexts && i < cli->argc; i++)
        if (i != 1)
            contexts[(*count)++] = tkl_str(cli->argv[i]);
    return contexts;
}

static int print_graphite(const cli_session *cli, const tkl_stats_summary *s)
{
    const struct {
        const char *field;
        double value;
    } numbers[] = {{"count", (double)s->count},
                   {"min", s->min},
                   {"max", s->max},
                   {"sum", s->sum},
                   {"mean", s->mean},
                   {"p50", s->p50},
                   {"p90", s->p90},
                   {"p99", s->p99},
                   {"p999", s->p999}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const tkl_bytes path[] = {tkl_str("stats"),
                                  tkl_str(cli->argv[1]),
                                  tkl_str(cli->argv[0]),
                                  tkl_str(numbers[i].field),
                                  {NULL, 0}};
        cli_graphite_line(path, numbers[i].value, s->start_ms);
    }
    return cli_flush(cli);
}

static int print_summary(const cli_session *cli, const tkl_stats_summary *summary)
{
    static const cli_column fields[] = {
        {"count", "count"}, {"min", "min"},       {"max", "max"},     {"sum", "sum"},
        {"mean", "mean"},   {"stddev", "stddev"}, {"p50", "p50"},     {"p90", "p90"},
        {"p99", "p99"},     {"p999", "p99.9"},    {"since", "since"}, {0}};
    if (cli_flag(cli, "graphite"))
        return print_graphite(cli, summary);
    if (cli_flag(cli, "csv"))
        return cli_print_csv(cli, json_pack("[o]", summary_json(summary)), fields);
    return cli_print_record(cli, summary_json(summary), fields);
}

static int stats_show(cli_session *cli)
{
    tkl_stats *stats = NULL;
    tkl_stats_summary *summary = NULL;
    tkl_hour hour;
    size_t count = 0;
    tkl_bytes *contexts = read_contexts(cli, &count);
    int failed = contexts ? read_hour(cli, &hour) : cli_end(cli, TKL_ENOMEM);
    if (!failed)
        failed = cli_check_csv(cli);
    if (!failed)
        failed = cli_check_graphite(cli);
    if (!failed && cli_flag(cli, "graphite") && count > 1)
        failed = cli_usage(cli, "--graphite is for one context");
    if (!failed)
        failed = open_stats(cli, cli->argv[1], &stats);
    if (!failed)
        failed = cli_end(cli, tkl_stats_show(stats, contexts, count, hour, &summary));
    if (!failed)
        failed = print_summary(cli, summary);
    tkl_stats_summary_free(summary);
    tkl_stats_close(stats);
    free(contexts);
    return failed;
}

/* ---- time ---------------------------------------------------------------- */

/* Reports a failure of the statistics; it does not change the exit code of the command. */
static void stop_timer(cli_session *cli, tkl_timer *timer)
{
    tkl_timer_result result;
    if (tkl_timer_stop(timer, &result) != TKL_OK)
        cli_fail(cli, CLI_OK, "the time was not recorded: %s", tkl_errmsg());
    else if (result.log_code != TKL_OK)
        cli_fail(cli, CLI_OK, "slow, but not logged: %s", tkl_strerror(result.log_code));
}

static int time_verb(cli_session *cli)
{
    cli_child child;
    cli_command command = {.argv = &cli->argv[1], .foreground = true};
    tkl_stats *stats = NULL;
    if (*cli->argv[0] == '\0')
        return cli_usage(cli, "a context has at least one byte");
    int failed = open_stats(cli, cli_text(cli, "type", TIME_TYPE), &stats);
    if (failed)
        return failed;
    tkl_timer timer = tkl_timer_start(stats, tkl_str(cli->argv[0]));
    int exit = cli_child_start(cli, &command, &child);
    if (!exit) {
        cli_child_wait(&child, -1, -1);
        exit = cli_child_close(cli, &child);
        stop_timer(cli, &timer);
    }
    tkl_stats_close(stats);
    return exit;
}

/* ---- slowest, list, contexts, drop ------------------------------------------------- */

static json_t *rank_json(const tkl_stats_rank *rank)
{
    return json_pack("{s:f, s:I, s:o, s:o}", "mean", rank->mean, "count", (json_int_t)rank->count,
                     "p99", rank->count > 0 ? json_real(rank->p99) : json_null(), "context",
                     cli_json_bytes(rank->context));
}

static json_t *ranking_json(const tkl_stats_ranking *ranking)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < ranking->count; i++)
        json_array_append_new(rows, rank_json(&ranking->items[i]));
    return rows;
}

static int print_ranking(const cli_session *cli, const tkl_stats_ranking *ranking)
{
    static const cli_column columns[] = {
        {"mean", "MEAN"}, {"count", "COUNT"}, {"p99", "P99"}, {"context", "CONTEXT"}, {0}};
    if (cli_flag(cli, "csv"))
        return cli_print_csv(cli, ranking_json(ranking), columns);
    if (!cli->json)
        return cli_print_rows(cli, ranking_json(ranking), columns);
    json_t *mean = ranking->value_count > 0 ? json_real(ranking->mean) : json_null();
    return cli_print_json(cli, json_pack("{s:o, s:o, s:I, s:o}", "hour",
                                         cli_json_time(ranking->start_ms), "mean", mean, "count",
                                         (json_int_t)ranking->value_count, "contexts",
                                         ranking_json(ranking)));
}

static int stats_slowest(cli_session *cli)
{
    tkl_stats *stats = NULL;
    tkl_stats_ranking *ranking = NULL;
    int64_t count = cli_number(cli, "count", COUNT);
    tkl_hour hour = cli_flag(cli, "last") ? TKL_HOUR_LAST : TKL_HOUR_THIS;
    int failed = cli_not_negative(cli, "count");
    if (!failed)
        failed = cli_check_csv(cli);
    if (!failed)
        failed = open_stats(cli, cli_text(cli, "type", TIME_TYPE), &stats);
    if (!failed)
        failed = cli_end(cli, tkl_stats_slowest(stats, hour, (size_t)count, &ranking));
    if (!failed)
        failed = print_ranking(cli, ranking);
    tkl_stats_ranking_free(ranking);
    tkl_stats_close(stats);
    return failed;
}

static int stats_list(cli_session *cli)
{
    return cli_list(cli, tkl_stats_names);
}

static int stats_contexts(cli_session *cli)
{
    static const cli_column columns[] = {{"context", "CONTEXT"}, {0}};
    tkl_stats *stats = NULL;
    tkl_names *names = NULL;
    json_t *rows = json_array();
    int failed = open_stats(cli, cli->argc > 0 ? cli->argv[0] : TIME_TYPE, &stats);
    if (!failed)
        failed = cli_end(cli, tkl_stats_contexts(stats, &names));
    for (size_t i = 0; !failed && i < names->count; i++)
        json_array_append_new(rows, json_pack("{s:o}", "context", cli_json_bytes(names->items[i])));
    tkl_names_free(names);
    tkl_stats_close(stats);
    if (!failed)
        return cli_print_rows(cli, rows, columns);
    json_decref(rows);
    return failed;
}

static int stats_drop(cli_session *cli)
{
    tkl_stats *stats = NULL;
    int failed = cli_confirm(cli, "This deletes the statistics of '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_stats(cli, cli->argv[1], &stats);
    if (!failed)
        failed = cli_end_of(cli, tkl_stats_drop(stats, tkl_str(cli->argv[0])), "context");
    tkl_stats_close(stats);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

#define LAST                                                             \
    {                                                                    \
        "last", CLI_FLAG, NULL, "show the last hour instead of this one" \
    }
#define TYPE                                                        \
    {                                                               \
        "type", CLI_TEXT, "TYPE", "what is measured (default time)" \
    }

static const cli_option record_options[] = {
    CLI_LINES,
    {"at", CLI_PAST, "TIME", "when they were measured, in this hour or the last (default now)"},
    {0},
};
static const cli_option show_options[] = {
    LAST, {"both", CLI_FLAG, NULL, "show both hours together"}, CLI_CSV, CLI_GRAPHITE, {0},
};
static const cli_option time_options[] = {TYPE, {0}};
static const cli_option slowest_options[] = {
    TYPE, LAST, {"count", CLI_INTEGER, "N", "print at most N (default 100)"}, CLI_CSV, {0},
};
static const cli_option drop_options[] = {CLI_YES, {0}};

#define QUANTILES "Quantiles are within 1 %; stddev is that of a sample (n - 1)."

static const cli_verb verbs[] = {
    {
        .name = "record",
        .args = "CONTEXT TYPE [VALUE...]",
        .summary = "record values: a page's time, a file's size",
        .options = record_options,
        .details =
            "Values lie between -1e18 and 1e18. Those of an earlier time count in its hour;\n"
            "a time before the last hour is an error, because nothing keeps it.",
        .example = "tackle stats record /cart size 1200 950 1433\n"
                   "tackle stats record /cart size 870 --at '10m ago'\n"
                   "seq 100 | tackle stats record /search size --lines\n"
                   "tackle stats show /cart size",
        .effect = CLI_WRITES,
        .adds = true,
        .run = stats_record,
    },
    {
        .name = "show",
        .args = "CONTEXT TYPE [CONTEXT...]",
        .summary = "mean, deviation and quantiles of this hour, of one or more contexts",
        .options = show_options,
        .details = QUANTILES "\nHours are those of the server's clock, in UTC.",
        .example = "seq 1000 | tackle stats record /cart size --lines\n"
                   "tackle stats show /cart size --both\n"
                   "tackle stats show /cart size --json\n"
                   "tackle stats show /cart size --graphite",
        .effect = CLI_READS,
        .run = stats_show,
    },
    {
        .name = "time",
        .args = "CONTEXT -- COMMAND [ARG...]",
        .summary = "run a command and record the seconds that it takes",
        .options = time_options,
        .details = "The exit code is COMMAND's, 128+N when signal N ended it; 126, 127: COMMAND\n"
                   "cannot be run, or was not found. A context whose mean is above that of all\n"
                   "is written to the log slow:TYPE.",
        .example = "tackle stats time backup -- sleep 0.1\n"
                   "tackle stats slowest --count 3",
        .local = "it runs a command",
        .run = time_verb,
    },
    {
        .name = "slowest",
        .summary = "the contexts with the largest means, their counts and p99",
        .options = slowest_options,
        .example = "tackle stats time backup -- sleep 0.1\n"
                   "tackle stats slowest --count 10\n"
                   "tackle stats slowest --csv\n"
                   "tackle stats slowest --json",
        .effect = CLI_READS,
        .run = stats_slowest,
    },
    {
        .name = "list",
        .summary = "all types with recorded values",
        .options = cli_list_options,
        .example = "tackle stats record /cart size 1200\n"
                   "tackle stats list --json",
        .effect = CLI_READS,
        .run = stats_list,
    },
    {
        .name = "contexts",
        .args = "[TYPE]",
        .summary = "all contexts of a type (default time)",
        .example = "tackle stats record /cart size 1200\n"
                   "tackle stats contexts size --json",
        .effect = CLI_READS,
        .run = stats_contexts,
    },
    {
        .name = "drop",
        .args = "CONTEXT TYPE",
        .summary = "delete the statistics of a context",
        .options = drop_options,
        .example = "tackle stats record tackle-example size 1\n"
                   "tackle stats drop tackle-example size --yes --json",
        .effect = CLI_WRITES,
        .run = stats_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Ten thousand values in a few round trips; quantiles within 1 %.",
     "seq 10000 | tackle stats record /cart size --lines; tackle stats show /cart size", 0},
    {"How long commands take, and which are the slowest.",
     "for s in 0.05 0.2; do tackle stats time \"sleep $s\" -- sleep $s; done; "
     "tackle stats slowest",
     0},
    {0},
};

const cli_component cli_stats = {
    .name = "stats",
    .summary = "means, deviations, quantiles of an hour; timers",
    .verbs = verbs,
    .shared = "statistics",
    .demo = demo,
};
