/* SPDX-License-Identifier: MIT
 *
 * Bloom filters from the shell.
 */
#include <errno.h>
#include <stdlib.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"

/* ---- Opening ------------------------------------------------------------- */

static int read_error(const cli_session *cli, double *error)
{
    char *end;
    const char *text = cli_text(cli, "error", "0.01");
    errno = 0;
    *error = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(*error > 0))
        return cli_usage(cli, "invalid --error '%s': a number like 0.01", text);
    return CLI_OK;
}

/* Reads the options of verbs that may create a filter. */
static int read_options(const cli_session *cli, tkl_bloom_options *options)
{
    options->fixed = cli_flag(cli, "fixed");
    options->capacity = cli_number(cli, "capacity", 0);
    options->ttl_ms = cli_number(cli, "ttl", 0);
    if (cli_flag(cli, "capacity") && options->capacity < 1)
        return cli_usage(cli, "invalid --capacity: 1 or more");
    return read_error(cli, &options->error);
}

/* Opens the filter that the argument names. */
static int open_filter(cli_session *cli, int index, const tkl_bloom_options *options,
                       tkl_bloom **bloom)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    tkl_bytes name = tkl_str(cli->argv[index]);
    return failed ? failed : cli_end(cli, tkl_bloom_open(client, name, options, bloom));
}

/* ---- reserve ------------------------------------------------------------- */

static int bloom_reserve(cli_session *cli)
{
    tkl_bloom *bloom = NULL;
    tkl_bloom_options options = {.error = 0};
    int failed = read_options(cli, &options);
    if (!failed)
        failed = open_filter(cli, 0, &options, &bloom);
    if (!failed)
        failed = cli_end(cli, tkl_bloom_reserve(bloom));
    tkl_bloom_close(bloom);
    return failed ? failed : cli_print_done(cli, "reserved");
}

/* ---- add, exists --------------------------------------------------------- */

/* The output for items, in order. */
typedef struct report {
    tkl_bloom *bloom;
    json_t *rows; /* with --json */
    size_t count, refused, absent;
} report;

static void print_item(const cli_session *cli, report *r, tkl_bytes item, const char *key,
                       json_t *value, const char *text)
{
    r->count++;
    if (cli->json) {
        json_array_append_new(r->rows,
                              json_pack("{s:o, s:o}", "item", cli_json_bytes(item), key, value));
        return;
    }
    json_decref(value);
    char *shown = cli_escape(item, false);
    printf("%-8s%s\n", text, shown ? shown : "");
    free(shown);
}

static int add_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    report *r = arg;
    bool *added = calloc(2 * count, sizeof *added);
    if (!added)
        return cli_end(cli, TKL_ENOMEM);
    bool *present = added + count;
    int code = tkl_bloom_add(r->bloom, items, count, added);
    bool full = code == TKL_FULL;
    if (full) /* items that are not in the filter were refused */
        code = tkl_bloom_exists(r->bloom, items, count, present);
    for (size_t i = 0; code == TKL_OK && i < count; i++) {
        bool refused = full && !present[i];
        const char *result = refused ? "refused" : added[i] ? "new" : "known";
        print_item(cli, r, items[i], "result", json_string(result), result);
        r->refused += refused;
    }
    free(added);
    return cli_end(cli, code);
}

static int ask_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    report *r = arg;
    bool *present = calloc(count, sizeof *present);
    if (!present)
        return cli_end(cli, TKL_ENOMEM);
    int code = tkl_bloom_exists(r->bloom, items, count, present);
    for (size_t i = 0; code == TKL_OK && i < count; i++) {
        print_item(cli, r, items[i], "present", json_boolean(present[i]),
                   present[i] ? "present" : "absent");
        r->absent += !present[i];
    }
    free(present);
    return cli_end_of(cli, code, "filter");
}

static int report_all(cli_session *cli, const tkl_bloom_options *options, cli_items_fn *work,
                      report *r)
{
    int failed = open_filter(cli, 0, options, &r->bloom);
    r->rows = json_array();
    if (!failed)
        failed = cli_items(cli, 1, work, r);
    tkl_bloom_close(r->bloom);
    if (!failed && cli->json)
        return cli_print_json(cli, r->rows);
    json_decref(r->rows);
    return failed;
}

static int bloom_add(cli_session *cli)
{
    report r = {.count = 0};
    tkl_bloom_options options = {.error = 0};
    int failed = read_options(cli, &options);
    if (!failed)
        failed = report_all(cli, &options, add_some, &r);
    if (!failed && r.refused > 0)
        failed = cli_no(cli, TKL_FULL, "the filter is full: %zu of %zu were refused", r.refused,
                        r.count);
    return failed;
}

static int bloom_exists(cli_session *cli)
{
    report r = {.count = 0};
    int failed = report_all(cli, NULL, ask_some, &r);
    return failed || r.absent == 0
               ? failed
               : cli_answered_no(cli, TKL_NOTFOUND, "not all items are present");
}

/* ---- show, merge, drop --------------------------------------------------- */

static const cli_column fields[] = {
    {"name", "name"},         {"error_rate", "error rate"},
    {"capacity", "capacity"}, {"count", "items"},
    {"bytes", "bytes"},       {"bits", "bits an item"},
    {"hashes", "hashes"},     {"filters", "sub-filters"},
    {"fixed", "fixed"},       {0},
};

static int bloom_show(cli_session *cli)
{
    tkl_bloom *bloom = NULL;
    tkl_bloom_info *i = NULL;
    int failed = open_filter(cli, 0, NULL, &bloom);
    if (!failed)
        failed = cli_end_of(cli, tkl_bloom_show(bloom, &i), "filter");
    tkl_bloom_close(bloom);
    if (failed)
        return failed;
    json_t *record =
        json_pack("{s:o, s:f, s:I, s:I, s:I, s:f, s:i, s:i, s:b}", "name",
                  cli_json_bytes(tkl_str(cli->argv[0])), "error_rate", i->error, "capacity",
                  (json_int_t)i->capacity, "count", (json_int_t)i->count, "bytes",
                  (json_int_t)i->bytes, "bits", 8 * (double)i->bytes / (double)i->capacity,
                  "hashes", i->hashes, "filters", i->filters, "fixed", i->fixed);
    tkl_bloom_info_free(i);
    return cli_print_record(cli, record, fields);
}

static int bloom_merge(cli_session *cli)
{
    tkl_bloom *bloom = NULL, *source = NULL;
    int failed = open_filter(cli, 0, NULL, &bloom);
    for (int i = 1; !failed && i < cli->argc; i++) {
        failed = open_filter(cli, i, NULL, &source);
        if (!failed)
            failed = cli_end(cli, tkl_bloom_merge(bloom, source));
        tkl_bloom_close(source);
        source = NULL;
    }
    tkl_bloom_close(bloom);
    return failed ? failed : cli_print_done(cli, "merged");
}

static int bloom_list(cli_session *cli)
{
    return cli_list(cli, tkl_bloom_names);
}

static int bloom_drop(cli_session *cli)
{
    tkl_bloom *bloom = NULL;
    int failed = cli_confirm(cli, "This deletes the filter '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_filter(cli, 0, NULL, &bloom);
    if (!failed)
        failed = cli_end_of(cli, tkl_bloom_drop(bloom), "filter");
    tkl_bloom_close(bloom);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

#define FILTER_OPTIONS                                                                            \
    {"error", CLI_TEXT, "RATE", "share of absent items called present when full (default 0.01)"}, \
        {"capacity", CLI_INTEGER, "N", "how many items the filter is for (default 10000)"},       \
        {"fixed", CLI_FLAG, NULL, "refuse more items instead of growing"},                        \
    {                                                                                             \
        "ttl", CLI_PERIOD, "DURATION", "the filter expires this long after the last add"          \
    }

static const cli_option reserve_options[] = {FILTER_OPTIONS, {0}};
static const cli_option add_options[] = {CLI_LINES, FILTER_OPTIONS, {0}};
static const cli_option exists_options[] = {CLI_LINES, {0}};
static const cli_option drop_options[] = {CLI_YES, {0}};

static const cli_verb verbs[] = {
    {
        .name = "reserve",
        .args = "NAME",
        .summary = "make a filter",
        .options = reserve_options,
        .details = "Exit code 1 when there is one of that name already.",
        .example = "tackle bloom reserve tackle-example --error 0.01 --capacity 1000000\n"
                   "tackle bloom show tackle-example\n"
                   "tackle bloom drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = bloom_reserve,
    },
    {
        .name = "add",
        .args = "NAME [ITEM...]",
        .summary = "add items; prints which were certainly new",
        .options = add_options,
        .details =
            "Makes the filter with these options when there is none; a filter that exists keeps\n"
            "its own. Name the capacity that you expect: growing costs time and memory. Nothing\n"
            "can be taken out again. Exit code 1 when a fixed filter is full: items that still\n"
            "fit are added, the others are refused.",
        .example = "tackle bloom add tackle-example apple pear --capacity 1000\n"
                   "printf 'plum\\nfig\\n' | tackle bloom add tackle-example --lines --json\n"
                   "tackle bloom drop tackle-example --yes",
        .effect = CLI_WRITES,
        .binary = "ITEM",
        .run = bloom_add,
    },
    {
        .name = "exists",
        .args = "NAME [ITEM...]",
        .summary = "whether items were added; absent is certain, present nearly",
        .options = exists_options,
        .details = "Exit code 1 when one of them is absent, or when there is no such filter.",
        .example =
            "tackle bloom reserve tackle-example --capacity 1000\n"
            "tackle bloom add tackle-example apple\n"
            "tackle bloom exists tackle-example apple pear --json || echo 'not all of them'\n"
            "tackle bloom drop tackle-example --yes",
        .effect = CLI_READS,
        .binary = "ITEM",
        .run = bloom_exists,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "size, capacity and number of items of a filter",
        .example = "tackle bloom reserve tackle-example --capacity 1000\n"
                   "tackle bloom show tackle-example\n"
                   "tackle bloom drop tackle-example --yes",
        .effect = CLI_READS,
        .run = bloom_show,
    },
    {
        .name = "merge",
        .args = "NAME SOURCE...",
        .summary = "add everything from other filters of the same error rate and capacity",
        .details = "The merged filter may hold more items than its capacity; it errs more often "
                   "then.",
        .example =
            "tackle bloom reserve tackle-example --capacity 1000\n"
            "tackle bloom reserve tackle-example-2 --capacity 1000\n"
            "tackle bloom add tackle-example-2 apple\n"
            "tackle bloom merge tackle-example tackle-example-2\n"
            "tackle bloom exists tackle-example apple\n"
            "tackle bloom drop tackle-example --yes; tackle bloom drop tackle-example-2 --yes",
        .effect = CLI_WRITES,
        .run = bloom_merge,
    },
    {
        .name = "list",
        .summary = "the names of all filters",
        .options = cli_list_options,
        .example = "tackle bloom add seen apple\n"
                   "tackle bloom list",
        .effect = CLI_READS,
        .run = bloom_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete a filter with all that is in it",
        .options = drop_options,
        .example = "tackle bloom reserve tackle-example --capacity 1000\n"
                   "tackle bloom drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = bloom_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"A filter for a million items that errs once in a hundred: ten bits an item.",
     "tackle bloom reserve seen --error 0.01 --capacity 1000000; tackle bloom show seen", 0},
    {"What was new? Thousands in one round trip.", "seq 1 5 | tackle bloom add seen --lines", 0},
    {"\"Absent\" is certain: exit code 1.", "tackle bloom exists seen 3 77", 1},
    {0},
};

const cli_component cli_bloom = {
    .name = "bloom",
    .summary = "Bloom filters: was this seen before, in ten bits an item",
    .verbs = verbs,
    .demo = demo,
};
