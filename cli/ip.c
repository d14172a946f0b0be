/* SPDX-License-Identifier: MIT
 *
 * IP addresses to places from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"
#include "progress.h"

static int open_table(cli_session *cli, tkl_ip **ip)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed : cli_end(cli, tkl_ip_open(client, tkl_str(cli->argv[0]), NULL, ip));
}

/* ---- import -------------------------------------------------------------- */

typedef struct importing {
    cli_session *cli;
    tkl_ip_import *import;
    tkl_ip_import_stats stats;
    cli_progress bar;
    bool sending; /* the bar shows ranges that were sent */
    int64_t started_ms;
} importing;

/* Shows bytes of the file while it is read, or rows when its size is not known; then ranges sent.
 */
static void show_progress(const tkl_ip_progress *progress, void *arg)
{
    importing *i = arg;
    if (progress->sent > 0 && !i->sending) {
        cli_progress_end(&i->bar);
        cli_progress_start(&i->bar, "ranges sent:", 0);
        i->sending = true;
    }
    if (i->sending) {
        cli_progress_update(&i->bar, progress->sent);
        return;
    }
    i->bar.total = progress->file_bytes;
    cli_progress_update(&i->bar, progress->file_bytes ? progress->file_read : progress->rows);
}

typedef int file_reader(tkl_ip_import *import, const char *path);

static int read_file(importing *i, file_reader *reader, const char *path)
{
    cli_progress_start(&i->bar, strcmp(path, "-") == 0 ? "rows read:" : path, 0);
    int rc = reader(i->import, strcmp(path, "-") == 0 ? "/dev/stdin" : path);
    cli_progress_end(&i->bar);
    return cli_end(i->cli, rc);
}

/* Reads the files of all options of this name. */
static int read_files(importing *i, file_reader *reader, const char *option)
{
    int failed = CLI_OK;
    for (size_t g = 0; !failed && g < i->cli->ngiven; g++)
        if (strcmp(i->cli->given[g].option->name, option) == 0)
            failed = read_file(i, reader, i->cli->given[g].text);
    return failed;
}

static json_t *problems_json(const tkl_ip_import *import)
{
    const tkl_ip_problem *problems;
    size_t count;
    json_t *array = json_array();
    tkl_ip_import_problems(import, &problems, &count);
    for (size_t p = 0; p < count; p++)
        json_array_append_new(array, json_pack("{s:o, s:I, s:o}", "file",
                                               cli_json_bytes(tkl_str(problems[p].file)), "row",
                                               (json_int_t)problems[p].line, "message",
                                               cli_json_bytes(tkl_str(problems[p].text))));
    return array;
}

/* Prints "file:line: why it is wrong", as compilers do. */
static void print_problems(const importing *i)
{
    const tkl_ip_problem *problems;
    size_t count;
    tkl_ip_import_problems(i->import, &problems, &count);
    for (size_t p = 0; p < count; p++) {
        char *text = cli_escape(tkl_str(problems[p].text), false);
        char *file = cli_escape(tkl_str(problems[p].file), false);
        fprintf(stderr, "%s:%" PRIu64 ": %s\n", file ? file : "?", problems[p].line,
                text ? text : "");
        free(file);
        free(text);
    }
    if (i->stats.bad > count && count > 0)
        fprintf(stderr, "... and %" PRIu64 " more bad rows\n", i->stats.bad - count);
}

static int commit_import(importing *i)
{
    cli_progress_start(&i->bar, "checking", 0);
    int rc = tkl_ip_import_commit(i->import, &i->stats);
    cli_progress_end(&i->bar);
    if (!i->cli->json)
        print_problems(i);
    return cli_end_with(i->cli, rc, "problems", problems_json(i->import));
}

static int print_import(const importing *i)
{
    static const cli_column columns[] = {
        {"name", "name"},
        {"rows", "rows read"},
        {"ranges", "ranges"},
        {"places", "places"},
        {"without_place", "ranges without a place"},
        {"bad", "bad rows left out"},
        {"took_ms", "duration"},
        {"rows_per_second", "rows per second"},
        {0},
    };
    int64_t took = cli_now_ms() - i->started_ms;
    json_t *result =
        json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "name",
                  cli_json_bytes(tkl_str(i->cli->argv[0])), "rows", (json_int_t)i->stats.rows,
                  "ranges", (json_int_t)i->stats.ranges, "places", (json_int_t)i->stats.places,
                  "without_place", (json_int_t)i->stats.without_place, "bad",
                  (json_int_t)i->stats.bad, "took_ms", (json_int_t)took, "rows_per_second",
                  (json_int_t)(i->stats.rows * 1000 / (uint64_t)(took > 0 ? took : 1)), "problems",
                  problems_json(i->import));
    return cli_print_record(i->cli, result, columns);
}

static int run_import(importing *i, tkl_ip *ip)
{
    tkl_ip_import_options options = {.max_bad = cli_number(i->cli, "max-bad", 0),
                                     .max_reports = cli_number(i->cli, "max-reports", 100),
                                     .progress = show_progress,
                                     .arg = i,
                                     .columns = cli_text(i->cli, "columns", NULL),
                                     .place_columns = cli_text(i->cli, "place-columns", NULL)};
    int failed = cli_end(i->cli, tkl_ip_import_open(ip, &options, &i->import));
    if (!failed)
        failed = read_files(i, tkl_ip_import_places_file, "places");
    if (!failed)
        failed = read_files(i, tkl_ip_import_blocks_file, "blocks");
    for (int file = 1; !failed && file < i->cli->argc; file++)
        failed = read_file(i, tkl_ip_import_blocks_file, i->cli->argv[file]);
    if (!failed)
        failed = commit_import(i);
    if (!failed)
        failed = print_import(i);
    tkl_ip_import_close(i->import);
    return failed;
}

static int ip_import(cli_session *cli)
{
    importing i = {.cli = cli, .started_ms = cli_now_ms()};
    tkl_ip *ip = NULL;
    if (!cli_text(cli, "blocks", NULL) && cli->argc < 2)
        return cli_usage(cli, "no file of ranges: name some, or --blocks -");
    if (cli_number(cli, "max-bad", 0) < 0 || cli_number(cli, "max-reports", 100) < 1)
        return cli_usage(cli, "--max-bad is 0 or more, --max-reports 1 or more");
    int failed = open_table(cli, &ip);
    if (!failed)
        failed = run_import(&i, ip);
    tkl_ip_close(ip);
    return failed;
}

/* ---- lookup -------------------------------------------------------------- */

typedef struct looking {
    tkl_ip *ip;
    json_t *rows;
    bool unknown; /* one of the addresses is unknown */
} looking;

/* Returns a decimal number; null for other text. */
static json_t *number_json(tkl_bytes text)
{
    json_t *number = text.len > 0 ? json_loadb(text.data, text.len, JSON_DECODE_ANY, NULL) : NULL;
    if (json_is_number(number)) {
        json_t *real = json_real(json_number_value(number));
        json_decref(number);
        return real;
    }
    json_decref(number);
    return json_null();
}

static json_t *answer_json(const tkl_ip_answer *a)
{
    const tkl_ip_place *p = &a->place;
    return json_pack(
        "{s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "address",
        cli_json_bytes(a->address), "known", a->known, "network", cli_json_present(a->network),
        "city", cli_json_present(p->city), "region", cli_json_present(p->region), "country",
        cli_json_present(p->country), "country_code", cli_json_present(p->country_code),
        "continent", cli_json_present(p->continent), "time_zone", cli_json_present(p->time_zone),
        "postal_code", cli_json_present(p->postal_code), "latitude", number_json(p->latitude),
        "longitude", number_json(p->longitude), "place", cli_json_present(p->id));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts off the blanks around a text. */
static tkl_bytes trimmed(tkl_bytes text)
{
    while (text.len > 0 && is_blank(text.data[text.len - 1]))
        text.len--;
    for (; text.len > 0 && is_blank(*text.data); text.len--)
        text.data++;
    return text;
}

static int look_some_up(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    looking *l = arg;
    tkl_ip_answers *answers;
    tkl_bytes *addresses = calloc(count, sizeof *addresses);
    if (!addresses)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; i < count; i++)
        addresses[i] = trimmed(items[i]);
    int failed = cli_end_items(cli, tkl_ip_lookup(l->ip, addresses, count, &answers), count);
    for (size_t i = 0; !failed && i < answers->count; i++) {
        json_array_append_new(l->rows, answer_json(&answers->items[i]));
        l->unknown |= !answers->items[i].known;
    }
    tkl_ip_answers_free(answers);
    free(addresses);
    return failed;
}

static int ip_lookup(cli_session *cli)
{
    static const cli_column columns[] = {
        {"address", "ADDRESS"},
        {"network", "NETWORK"},
        {"city", "CITY"},
        {"region", "REGION"},
        {"country", "COUNTRY"},
        {"place", "PLACE"},
        {0},
    };
    looking l = {.rows = json_array()};
    int failed = open_table(cli, &l.ip);
    if (!failed)
        failed = cli_text_items(cli, 1, look_some_up, &l);
    tkl_ip_close(l.ip);
    if (failed) {
        json_decref(l.rows);
        return failed;
    }
    failed = cli_print_rows(cli, l.rows, columns);
    return !failed && l.unknown ? cli_answered_no(cli, TKL_NOTFOUND, "not all addresses are known")
                                : failed;
}

/* ---- show, list, drop ---------------------------------------------------- */

static int ip_show(cli_session *cli)
{
    static const cli_column columns[] = {
        {"name", "name"},
        {"ranges", "ranges"},
        {"places", "places"},
        {"imported_at", "imported"},
        {0},
    };
    tkl_ip *ip = NULL;
    tkl_ip_stats stats;
    int failed = open_table(cli, &ip);
    if (!failed)
        failed = cli_end_of(cli, tkl_ip_stats_get(ip, &stats), "table");
    tkl_ip_close(ip);
    if (failed)
        return failed;
    return cli_print_record(cli,
                            json_pack("{s:o, s:I, s:I, s:o}", "name",
                                      cli_json_bytes(tkl_str(cli->argv[0])), "ranges",
                                      (json_int_t)stats.ranges, "places", (json_int_t)stats.places,
                                      "imported_at", cli_json_time(stats.imported_ms)),
                            columns);
}

static int ip_list(cli_session *cli)
{
    return cli_list(cli, tkl_ip_names);
}

static int ip_drop(cli_session *cli)
{
    tkl_ip *ip = NULL;
    int failed = cli_confirm(cli, "This deletes the table '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_table(cli, &ip);
    if (!failed)
        failed = cli_end_of(cli, tkl_ip_drop(ip), "table");
    tkl_ip_close(ip);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option import_options[] = {
    {"blocks", CLI_TEXT, "FILE", "ranges: CSV, or CSV and gzip; - for standard input"},
    {"places", CLI_TEXT, "FILE", "places that the ranges name by their ids"},
    {"columns", CLI_TEXT, "NAMES", "columns of ranges, for files without a row of names"},
    {"place-columns", CLI_TEXT, "NAMES", "the same of places"},
    {"max-bad", CLI_INTEGER, "N", "bad rows to skip; with more nothing is imported (default 0)"},
    {"max-reports", CLI_INTEGER, "N", "bad rows to describe (default 100)"},
    {0},
};

static const cli_option lookup_options[] = {CLI_LINES, {0}};
static const cli_option drop_options[] = {CLI_YES, {0}};

#define EXAMPLE_TABLE                                     \
    "printf 'network,geoname_id\\n192.0.2.0/24,1\\n' |\n" \
    "  tackle ip import tackle-example --blocks -\n"

static const cli_verb verbs[] = {
    {
        .name = "import",
        .args = "TABLE [FILE...]",
        .summary = "replace a table by the ranges of some files, in one step",
        .options = import_options,
        .details = "FILE: ranges, as with --blocks. Options may be repeated. Columns are found by\n"
                   "the names in the first rows: network, geoname_id; or startIpNum, endIpNum,\n"
                   "locId. For files without names, --columns has them, in order and separated by\n"
                   "commas; columns without a name are ignored: start_ip,end_ip,,locId.\n\n"
                   "Bad rows (unparsable, reversed, overlapping, with an unknown place) are\n"
                   "reported with their lines. Until the last moment, and when anything fails,\n"
                   "lookups are answered by the old table.",
        .example = EXAMPLE_TABLE "echo 192.0.2.0,192.0.2.255,x,1 | tackle ip import tackle-example "
                                 "\\\n  --blocks - --columns start_ip,end_ip,,locId\n"
                                 "tackle ip lookup tackle-example 192.0.2.7",
        .local = "it reads files of this machine",
        .run = ip_import,
    },
    {
        .name = "lookup",
        .args = "TABLE [ADDRESS...]",
        .summary = "where these addresses are; exit code 1 when one of them is unknown",
        .options = lookup_options,
        .example = EXAMPLE_TABLE "tackle ip lookup tackle-example 192.0.2.7 --json",
        .effect = CLI_READS,
        .run = ip_lookup,
    },
    {
        .name = "show",
        .args = "TABLE",
        .summary = "how many ranges a table has, and since when",
        .example = EXAMPLE_TABLE "tackle ip show tackle-example",
        .effect = CLI_READS,
        .run = ip_show,
    },
    {
        .name = "list",
        .summary = "the names of all tables",
        .options = cli_list_options,
        .example = "tackle ip list --json",
        .effect = CLI_READS,
        .run = ip_list,
    },
    {
        .name = "drop",
        .args = "TABLE",
        .summary = "delete a table",
        .options = drop_options,
        .example = EXAMPLE_TABLE "tackle ip drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = ip_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Places, and networks that name them by their ids.",
     "printf 'geoname_id,city_name,country_name\\n1,Paris,France\\n2,Berlin,Germany\\n' "
     ">\"$DIR/places.csv\"; "
     "printf 'network,geoname_id\\n192.0.2.0/24,1\\n2001:db8::/32,2\\n' >\"$DIR/blocks.csv\"; "
     "tackle ip import tour --places \"$DIR/places.csv\" --blocks \"$DIR/blocks.csv\"",
     0},
    {"IPv4 and IPv6 in one table, many addresses in one round trip.",
     "tackle ip lookup tour 192.0.2.7 2001:db8::1 198.51.100.1", 1},
    {0},
};

const cli_component cli_ip = {
    .name = "ip",
    .summary = "from IP addresses to places",
    .verbs = verbs,
    .demo = demo,
};
