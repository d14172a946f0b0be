/* SPDX-License-Identifier: MIT
 *
 * Logs from the shell.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "holders.h"
#include "lines.h"
#include "out.h"

enum {
    COUNT = 100,
    ALL = 8 * TKL_LOG_KEEP_MAX, /* most messages of all severities */
    SYSLOG_DIGITS = 3,          /* most digits of a priority */
};

/* The log named by the first argument. */
static int open_log(cli_session *cli, const tkl_log_options *options, tkl_log **log)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_log_open(client, tkl_str(cli->argv[0]), options, log));
}

static int read_severity(const cli_session *cli, const char *text, tkl_log_severity *severity)
{
    return tkl_log_severity_parse(text, severity) == TKL_OK
               ? CLI_OK
               : cli_usage(cli,
                           "invalid severity '%s': emergency, alert, critical, error, "
                           "warning, notice, info or debug",
                           text);
}

/* ---- write --------------------------------------------------------------- */

/* The messages of standard input. */
typedef struct feed {
    tkl_log_writer *writer;
    tkl_log_severity severity; /* severity of lines without a priority */
    bool syslog;
    int64_t cut, lost;
} feed;

/* Cuts the priority off "<13>text", and returns the severity in it. */
static tkl_log_severity take_priority(tkl_bytes *text, tkl_log_severity otherwise)
{
    size_t at = 1;
    int priority = 0;
    if (text->len < 3 || text->data[0] != '<')
        return otherwise;
    while (at < text->len && at <= SYSLOG_DIGITS && text->data[at] >= '0' && text->data[at] <= '9')
        priority = priority * 10 + (text->data[at++] - '0');
    if (at == 1 || at >= text->len || text->data[at] != '>' || priority > 191)
        return otherwise;
    text->data += at + 1;
    text->len -= at + 1;
    return (tkl_log_severity)(priority % 8);
}

static void feed_line(feed *f, tkl_bytes text)
{
    tkl_log_severity severity = f->severity;
    if (f->syslog)
        severity = take_priority(&text, severity);
    if (text.len == 0)
        return;
    if (text.len > TKL_LOG_MESSAGE_MAX) {
        text.len = TKL_LOG_MESSAGE_MAX;
        f->cut++;
    }
    int code = tkl_log_writer_write(f->writer, severity, text);
    if (code == TKL_FULL && tkl_log_writer_flush(f->writer) == TKL_OK)
        code = tkl_log_writer_write(f->writer, severity, text);
    f->lost += code != TKL_OK;
}

static int feed_all(cli_session *cli, feed *f)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t len;
    while ((len = getline(&text, &size, stdin)) >= 0) {
        if (len > 0 && text[len - 1] == '\n')
            len--;
        if (len > 0 && text[len - 1] == '\r')
            len--;
        feed_line(f, (tkl_bytes){text, (size_t)len});
    }
    free(text);
    return ferror(stdin)
               ? cli_fail(cli, CLI_FAILURE, "cannot read standard input: %s", strerror(errno))
               : CLI_OK;
}

static int print_written(const cli_session *cli, int64_t count)
{
    return cli->json ? cli_print_json(cli, json_pack("{s:o, s:I}", "name",
                                                     cli_json_bytes(tkl_str(cli->argv[0])),
                                                     "written", (json_int_t)count))
                     : CLI_OK;
}

static int write_lines(cli_session *cli, tkl_log *log, tkl_log_severity severity)
{
    feed f = {.severity = severity, .syslog = cli_flag(cli, "syslog")};
    tkl_log_writer_stats stats = {0};
    int failed = cli_end(cli, tkl_log_writer_open(log, NULL, &f.writer));
    if (failed)
        return failed;
    failed = feed_all(cli, &f);
    int code = tkl_log_writer_close(f.writer, &stats);
    if (f.cut > 0)
        cli_fail(cli, CLI_OK, "%" PRId64 " lines were cut to %d bytes", f.cut, TKL_LOG_MESSAGE_MAX);
    f.lost += stats.pending + stats.lost;
    if (stats.unsure > 0)
        cli_fail(cli, CLI_OK, "%" PRId64 " lines were perhaps not written", stats.unsure);
    code = code != TKL_OK ? code : stats.code != TKL_OK ? stats.code : TKL_EBUG;
    if (f.lost > 0 || stats.unsure > 0)
        return cli_fail_with(cli, code, "%" PRId64 " lines were not written: %s", f.lost,
                             tkl_strerror(code));
    return failed ? failed : print_written(cli, stats.written);
}

/* The words joined by spaces. */
static char *join_words(const char *const *words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    for (size_t i = 0; words[i] != NULL; i++)
        fprintf(to, "%s%s", i > 0 ? " " : "", words[i]);
    fclose(to);
    return text;
}

static int write_words(cli_session *cli, tkl_log *log, tkl_log_severity severity)
{
    char *text = join_words((const char *const *)&cli->argv[2]);
    if (text == NULL)
        return cli_end(cli, TKL_ENOMEM);
    tkl_log_message message = {
        .severity = severity, .text = tkl_str(text), .at_ms = cli_number(cli, "time", 0)};
    int failed = cli_end(cli, tkl_log_write(log, &message, 1));
    free(text);
    return failed ? failed : print_written(cli, 1);
}

/* Whether the last argument stands for standard input. */
static bool is_input(const cli_session *cli, int last)
{
    return cli->sink == NULL && cli->argc == last + 1 && strcmp(cli->argv[last], "-") == 0;
}

/* Reads NAME SEVERITY MESSAGE..., NAME SEVERITY -, or with --syslog NAME -. */
static int read_write(cli_session *cli, tkl_log_severity *severity, bool *lines)
{
    bool bare = is_input(cli, 1);
    *severity = TKL_LOG_NOTICE;
    *lines = bare || is_input(cli, 2);
    if (cli_flag(cli, "syslog") && !*lines)
        return cli_usage(cli, "--syslog reads lines: put - in the place of the message");
    if (*lines && cli_text(cli, "time", NULL) != NULL)
        return cli_usage(cli, "--time is that of one message, not of lines");
    if (bare && !cli_flag(cli, "syslog"))
        return cli_usage(cli, "no severity: name one before -, or --syslog");
    if (!bare && cli->argc < 3)
        return cli_usage(cli, "no message: give one, or - for the lines of standard input");
    int failed = bare ? CLI_OK : read_severity(cli, cli->argv[1], severity);
    if (!failed && *severity == TKL_LOG_ANY)
        failed = cli_usage(cli, "invalid severity 'any': messages have one");
    return failed;
}

static int write_verb(cli_session *cli)
{
    tkl_log_options options = {.keep = cli_number(cli, "keep", 0),
                               .distinct = cli_number(cli, "distinct", 0),
                               .ttl_ms = cli_number(cli, "ttl", 0)};
    tkl_log_severity severity;
    tkl_log *log = NULL;
    bool lines;
    int failed = read_write(cli, &severity, &lines);
    if (!failed)
        failed = cli_positive(cli, "keep");
    if (!failed)
        failed = cli_positive(cli, "distinct");
    if (!failed)
        failed = open_log(cli, &options, &log);
    if (!failed)
        failed = lines ? write_lines(cli, log, severity) : write_words(cli, log, severity);
    tkl_log_close(log);
    return failed;
}

/* ---- recent -------------------------------------------------------------- */

static json_t *entry_json(const tkl_log_entry *entry)
{
    return json_pack("{s:o, s:s, s:o}", "time", cli_json_time(entry->time_ms), "severity",
                     tkl_log_severity_name(entry->severity), "message",
                     cli_json_bytes(entry->message));
}

/* Prints "2026-11-16T12:00:00.123Z  warning    disk nearly full". */
static void print_entry(const tkl_log_entry *entry)
{
    char text[CLI_TIME_SIZE];
    cli_time_text(entry->time_ms, text);
    bool loud = entry->severity <= TKL_LOG_ERROR;
    printf("%s%s%s  %s%-9s%s  ", cli_color(stdout, CLI_DIM), text, cli_color(stdout, CLI_PLAIN),
           loud ? cli_color(stdout, CLI_BOLD) : "", tkl_log_severity_name(entry->severity),
           loud ? cli_color(stdout, CLI_PLAIN) : "");
    cli_print_indented(entry->message, CLI_INDENT);
    putchar('\n');
}

static const cli_column entry_columns[] = {
    {"time", NULL}, {"severity", NULL}, {"message", NULL}, {0}};

static void print_entry_csv(const tkl_log_entry *entry)
{
    json_t *row = entry_json(entry);
    cli_csv_row(row, entry_columns);
    json_decref(row);
}

/* Prints the entries that are not older than `since_ms`. */
static int print_entries(const cli_session *cli, const tkl_log_entries *entries, int64_t since_ms,
                         bool one_by_one)
{
    bool csv = cli_flag(cli, "csv");
    json_t *all = json_array();
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < entries->count; i++) {
        const tkl_log_entry *entry = &entries->items[i];
        if (entry->time_ms < since_ms)
            continue;
        if (csv)
            print_entry_csv(entry);
        else if (!cli->json)
            print_entry(entry);
        else if (one_by_one)
            failed = cli_print_json(cli, entry_json(entry));
        else
            json_array_append_new(all, entry_json(entry));
    }
    if (cli->json && !one_by_one)
        return cli_print_json(cli, all);
    json_decref(all);
    return failed ? failed : cli_flush(cli);
}

/* The messages to read. */
typedef struct choice {
    tkl_log_severity severity;
    size_t count;
    int64_t since_ms; /* 0: messages of any age */
} choice;

static int follow(cli_session *cli, tkl_log *log, const choice *what)
{
    tkl_log_tail *tail = NULL;
    tkl_log_entries *entries = NULL;
    int failed = cli_end(cli, tkl_log_tail_open(log, what->severity, what->count, NULL, &tail));
    while (!failed) {
        failed = cli_end(cli, tkl_log_tail_next(tail, -1, &entries));
        if (!failed && entries->missed > 0)
            cli_fail(cli, CLI_OK, "%" PRId64 " messages were gone before they could be read",
                     entries->missed);
        if (!failed)
            failed = print_entries(cli, entries, what->since_ms, true);
        tkl_log_entries_free(entries);
    }
    tkl_log_tail_close(tail);
    return failed;
}

static int show_recent(cli_session *cli, tkl_log *log, const choice *what)
{
    tkl_log_entries *entries = NULL;
    int failed =
        cli_end(cli, tkl_log_since(log, what->severity, what->since_ms, what->count, &entries));
    if (!failed)
        failed = print_entries(cli, entries, what->since_ms, false);
    tkl_log_entries_free(entries);
    return failed;
}

/* Reads NAME [SEVERITY], and --count. */
static int read_what(cli_session *cli, int64_t otherwise, choice *what)
{
    *what = (choice){.severity = TKL_LOG_ANY, .count = (size_t)cli_number(cli, "count", otherwise)};
    if (cli_not_negative(cli, "count"))
        return CLI_USAGE;
    return cli->argc > 1 ? read_severity(cli, cli->argv[1], &what->severity) : CLI_OK;
}

static int log_recent(cli_session *cli)
{
    choice what;
    tkl_log *log = NULL;
    int64_t since_ms = cli_number(cli, "since", 0);
    int failed = read_what(cli, since_ms > 0 ? ALL : COUNT, &what);
    what.since_ms = since_ms;
    if (!failed)
        failed = cli_check_csv(cli);
    if (!failed)
        failed = open_log(cli, NULL, &log);
    if (!failed && cli_flag(cli, "csv"))
        cli_csv_names(entry_columns);
    if (!failed)
        failed = cli_flag(cli, "follow") ? follow(cli, log, &what) : show_recent(cli, log, &what);
    tkl_log_close(log);
    return failed;
}

/* ---- common -------------------------------------------------------------- */

static json_t *counts_json(const tkl_log_counts *counts)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < counts->count; i++)
        json_array_append_new(rows, json_pack("{s:I, s:I, s:s, s:o}", "times",
                                              (json_int_t)counts->items[i].times, "excess",
                                              (json_int_t)counts->items[i].excess, "severity",
                                              tkl_log_severity_name(counts->items[i].severity),
                                              "message", cli_json_bytes(counts->items[i].message)));
    return rows;
}

static bool is_exact(const tkl_log_counts *counts)
{
    for (size_t i = 0; i < counts->count; i++)
        if (counts->items[i].excess > 0)
            return false;
    return true;
}

static int print_counts(const cli_session *cli, const tkl_log_counts *counts)
{
    static const cli_column columns[] = {
        {"times", "TIMES"}, {"severity", "SEVERITY"}, {"message", "MESSAGE"}, {0}};
    static const cli_column unsure[] = {{"times", "TIMES"},
                                        {"excess", "EXCESS"},
                                        {"severity", "SEVERITY"},
                                        {"message", "MESSAGE"},
                                        {0}};
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:o, s:I, s:o}", "hour", cli_json_time(counts->start_ms), "bound",
                           (json_int_t)counts->bound, "messages", counts_json(counts)));
    if (cli_flag(cli, "csv"))
        return cli_print_csv(cli, counts_json(counts), unsure);
    int failed = cli_print_rows(cli, counts_json(counts), is_exact(counts) ? columns : unsure);
    if (!failed && counts->bound > 0)
        printf("The table is full: counts are at most %" PRId64
               " too high, and messages that have no room in it\noccurred at most %" PRId64
               " times.\n",
               counts->bound, counts->bound);
    return failed;
}

static int log_common(cli_session *cli)
{
    choice what;
    tkl_log *log = NULL;
    tkl_log_counts *counts = NULL;
    bool last = cli_flag(cli, "last"), both = cli_flag(cli, "both");
    bool sliding = cli_flag(cli, "sliding");
    tkl_hour hour = sliding ? TKL_HOUR_SLIDING
                    : both  ? TKL_HOUR_BOTH
                    : last  ? TKL_HOUR_LAST
                            : TKL_HOUR_THIS;
    if (last + both + sliding > 1)
        return cli_usage(cli, "only one of --last, --both and --sliding");
    int failed = read_what(cli, COUNT, &what);
    if (!failed)
        failed = cli_check_csv(cli);
    if (!failed)
        failed = open_log(cli, NULL, &log);
    if (!failed)
        failed = cli_end(cli, tkl_log_common(log, what.severity, hour, what.count, &counts));
    if (!failed)
        failed = print_counts(cli, counts);
    tkl_log_counts_free(counts);
    tkl_log_close(log);
    return failed;
}

/* ---- list, drop ---------------------------------------------------------- */

static int log_list(cli_session *cli)
{
    return cli_list(cli, tkl_log_names);
}

static int log_drop(cli_session *cli)
{
    tkl_log *log = NULL;
    int failed = cli_confirm(cli, "This deletes the log '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_log(cli, NULL, &log);
    if (!failed)
        failed = cli_end_of(cli, tkl_log_drop(log), "log");
    tkl_log_close(log);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option write_options[] = {
    {"syslog", CLI_LOCAL_FLAG, NULL, "take the severity from each line's priority: <13>text"},
    {"keep", CLI_INTEGER, "N", "recent messages kept of each severity (default 100)"},
    {"distinct", CLI_INTEGER, "N", "different messages in the table of an hour (default 1000)"},
    {"ttl", CLI_PERIOD, "DURATION",
     "recent messages expire this long after the last one (default 30d)"},
    {"time", CLI_PAST, "TIME", "when it happened, in this hour or the last (default now)"},
    {0},
};

static const cli_option recent_options[] = {
    {"count", CLI_INTEGER, "N", "print at most N (default 100; with --since all)"},
    {"since", CLI_PAST, "TIME", "leave out messages from before this time, by the server's clock"},
    {"follow", CLI_LOCAL_FLAG, NULL, "go on with new messages until interrupted"},
    CLI_CSV,
    {0},
};

static const cli_option common_options[] = {
    {"last", CLI_FLAG, NULL, "show the last hour instead of this one"},
    {"both", CLI_FLAG, NULL, "show both hours together: the last 60 to 120 minutes"},
    {"sliding", CLI_FLAG, NULL, "show the last 60 minutes"},
    {"count", CLI_INTEGER, "N", "print at most N (default 100)"},
    CLI_CSV,
    {0},
};

static const cli_option drop_options[] = {
    CLI_YES,
    {0},
};

#define SEVERITIES "SEVERITY: emergency, alert, critical, error, warning, notice, info, debug."

static const cli_verb verbs[] = {
    {
        .name = "write",
        .args = "NAME SEVERITY|- [MESSAGE...]",
        .summary = "write a message, or with - the lines of standard input",
        .options = write_options,
        .details = SEVERITIES
        "\n\nNAME SEVERITY - writes each line of standard input, many in one round trip.\n"
        "NAME - --syslog takes the severity from the lines, which makes it a program\n"
        "destination for syslog-ng or rsyslog. Lines without a priority are notices, or of\n"
        "the SEVERITY that stands before the -.\n"
        "Empty lines are left out. Lines that could not be written are reported at the end.\n\n"
        "A message of an earlier time counts in its hour; a time before the last hour is an\n"
        "error, because nothing counts it. `recent` keeps the order of writing.",
        .example =
            "tackle log write shop warning disk nearly full\n"
            "tackle log write shop error no such order --time '10m ago'\n"
            "printf '<11>no such order\\n<14>shipped\\n' | tackle log write shop - --syslog\n"
            "tackle log recent shop --count 3",
        .effect = CLI_WRITES,
        .adds = true,
        .run = write_verb,
    },
    {
        .name = "recent",
        .args = "NAME [SEVERITY]",
        .summary = "the last messages, of a severity or of all; the newest at the end",
        .options = recent_options,
        .details = SEVERITIES "\n\nWith --follow and --json one object for each message.",
        .example = "tackle log write shop info started\n"
                   "tackle log recent shop info --count 5\n"
                   "tackle log recent shop --since 2026-11-16T12:00Z\n"
                   "tackle log recent shop --csv\n"
                   "tackle log recent shop --json",
        .effect = CLI_READS,
        .run = log_recent,
    },
    {
        .name = "common",
        .args = "NAME [SEVERITY]",
        .summary = "how often each message occurred in this hour",
        .options = common_options,
        .details = SEVERITIES
        "\n\nHours are those of the server's clock, in UTC.\n"
        "With --sliding, messages of the ten minutes in which the 60 begin are counted as well;\n"
        "`excess` says how many of each.\n"
        "Where more different messages occurred than a table has room for, counts may be too\n"
        "high: `excess` says by how much at most. Messages that are not in the\n"
        "table occurred at most `bound` times.",
        .example = "for i in 1 2 3; do tackle log write shop error no such order; done\n"
                   "tackle log common shop error\n"
                   "tackle log common shop --sliding\n"
                   "tackle log common shop --csv\n"
                   "tackle log common shop --last --json",
        .effect = CLI_READS,
        .run = log_common,
    },
    {
        .name = "list",
        .summary = "the names of all logs",
        .options = cli_list_options,
        .example = "tackle log write shop info started\n"
                   "tackle log list --json",
        .effect = CLI_READS,
        .run = log_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete a log with all its severities",
        .options = drop_options,
        .example = "tackle log write tackle-example info started\n"
                   "tackle log drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = log_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Messages of all programs in one place, a hundred of each severity.",
     "tackle log write shop info started; tackle log write shop warning disk nearly full; "
     "tackle log recent shop",
     0},
    {"A syslog can feed it; this hour's most frequent messages.",
     "for i in 1 2 3 4 5; do printf '<11>no such order\\n<12>slow query\\n<11>no such order\\n'; "
     "done | tackle log write shop - --syslog; tackle log common shop",
     0},
    {0},
};

const cli_component cli_log = {
    .name = "log",
    .summary = "recent messages, and how often each occurred in an hour",
    .verbs = verbs,
    .shared = "logs",
    .demo = demo,
};
