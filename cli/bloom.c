/* SPDX-License-Identifier: MIT
 *
 * Bloom filters from the shell.
 */
#include <errno.h>
#include <stdlib.h>

#include "holders.h"
#include "items.h"
#include "out.h"

/* The filter named by the argument. */
static int open_filter(cli_session *cli, int index, tkl_bloom **bloom)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed : cli_end(cli, tkl_bloom_open(client, tkl_str(cli->argv[index]), bloom));
}

/* ---- reserve ------------------------------------------------------------- */

static int read_error(const cli_session *cli, double *error)
{
    char *end;
    const char *text = cli_text(cli, "error", "0.01");
    errno = 0;
    *error = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0)
        return cli_usage(cli, "invalid --error '%s': a number like 0.01", text);
    return CLI_OK;
}

typedef int reserving(tkl_bloom *bloom, double error, int64_t capacity,
                      const tkl_bloom_options *options);

/* With what the options of reserve say, and those of add for a filter that is not there. */
static int reserve_by(cli_session *cli, reserving *function, tkl_bloom *bloom)
{
    double error;
    tkl_bloom_options options = {.fixed = cli_flag(cli, "fixed")};
    int failed = read_error(cli, &error);
    return failed
               ? failed
               : cli_end(cli, function(bloom, error, cli_number(cli, "capacity", 10000), &options));
}

static int reserve(cli_session *cli)
{
    tkl_bloom *bloom = NULL;
    if (!cli_flag(cli, "capacity"))
        return cli_usage(cli, "missing --capacity N: how many items it is meant for");
    int failed = open_filter(cli, 0, &bloom);
    if (!failed)
        failed = reserve_by(cli, tkl_bloom_reserve, bloom);
    tkl_bloom_close(bloom);
    return failed ? failed : cli_print_done(cli, "reserved");
}

/* ---- add, exists --------------------------------------------------------- */

/* What is told about items: one flag each, in order, or that it was refused. */
typedef struct telling {
    tkl_bloom *bloom;
    int (*ask)(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *flags);
    const char *yes, *no; /* for people */
    json_t *flags;        /* with --json */
    bool makes;           /* the filter when there is none */
    bool all;             /* every flag was set */
    size_t count, refused;
} telling;

static void tell(const cli_session *cli, telling *t, tkl_bytes item, bool flag, bool refused)
{
    t->count++;
    t->refused += refused;
    t->all = t->all && flag;
    if (cli->json) {
        json_array_append_new(t->flags, refused ? json_null() : json_boolean(flag));
        return;
    }
    char *text = cli_escape(item, false);
    printf("%-8s%s\n", refused ? "refused" : flag ? t->yes : t->no, text ? text : "");
    free(text);
}

static int tell_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    telling *t = arg;
    bool *flags = calloc(2 * count, sizeof *flags);
    if (!flags)
        return cli_end(cli, TKL_ENOMEM);
    bool *present = flags + count;
    int code = t->ask(t->bloom, items, count, flags);
    bool full = code == TKL_FULL;
    if (full) /* what is not in it was refused */
        code = tkl_bloom_exists_many(t->bloom, items, count, present);
    for (size_t i = 0; code == TKL_OK && i < count; i++)
        tell(cli, t, items[i], flags[i], full && !present[i]);
    free(flags);
    return cli_end(cli, code);
}

static int tell_all(cli_session *cli, telling *t)
{
    int failed = open_filter(cli, 0, &t->bloom);
    t->flags = json_array();
    t->all = true;
    if (!failed && t->makes)
        failed = reserve_by(cli, tkl_bloom_reserve_on_add, t->bloom);
    if (!failed)
        failed = cli_items(cli, 1, tell_some, t);
    tkl_bloom_close(t->bloom);
    if (!failed && cli->json)
        failed = cli_print_json(cli, t->flags);
    else
        json_decref(t->flags);
    if (!failed && t->refused > 0)
        failed = cli_fail(cli, CLI_NO, "the filter is full: %zu of %zu were refused", t->refused,
                          t->count);
    return failed;
}

static int add(cli_session *cli)
{
    telling t = {.ask = tkl_bloom_add_many, .yes = "new", .no = "known", .makes = true};
    return tell_all(cli, &t);
}

static int exists(cli_session *cli)
{
    telling t = {.ask = tkl_bloom_exists_many, .yes = "present", .no = "absent"};
    int failed = tell_all(cli, &t);
    return failed || t.all ? failed : CLI_NO;
}

/* ---- info, merge, drop --------------------------------------------------- */

static const cli_column fields[] = {
    {"name", "name"},         {"error", "error rate"},
    {"capacity", "capacity"}, {"count", "items"},
    {"bytes", "bytes"},       {"bits", "bits an item"},
    {"hashes", "hashes"},     {"filters", "sub-filters"},
    {"fixed", "fixed"},       {0},
};

static int info(cli_session *cli)
{
    tkl_bloom *bloom = NULL;
    tkl_bloom_info i;
    int failed = open_filter(cli, 0, &bloom);
    if (!failed)
        failed = cli_end(cli, tkl_bloom_show(bloom, &i));
    tkl_bloom_close(bloom);
    if (failed)
        return failed;
    return cli_print_record(cli,
                            json_pack("{s:o, s:f, s:I, s:I, s:I, s:f, s:i, s:i, s:b}", "name",
                                      cli_json_bytes(tkl_str(cli->argv[0])), "error", i.error,
                                      "capacity", (json_int_t)i.capacity, "count",
                                      (json_int_t)i.count, "bytes", (json_int_t)i.bytes, "bits",
                                      8 * (double)i.bytes / (double)i.capacity, "hashes", i.hashes,
                                      "filters", i.filters, "fixed", i.fixed),
                            fields);
}

static int merge(cli_session *cli)
{
    tkl_bloom *bloom = NULL, *source = NULL;
    int failed = open_filter(cli, 0, &bloom);
    for (int i = 1; !failed && i < cli->argc; i++) {
        failed = open_filter(cli, i, &source);
        if (!failed)
            failed = cli_end(cli, tkl_bloom_merge(bloom, source));
        tkl_bloom_close(source);
        source = NULL;
    }
    tkl_bloom_close(bloom);
    return failed ? failed : cli_print_done(cli, "merged");
}

static int drop(cli_session *cli)
{
    tkl_bloom *bloom = NULL;
    int failed = open_filter(cli, 0, &bloom);
    if (!failed)
        failed = cli_end(cli, tkl_bloom_drop(bloom));
    tkl_bloom_close(bloom);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option reserve_options[] = {
    {"error", CLI_TEXT, "RATE", "share of absent items taken for present when full (0.01)"},
    {"capacity", CLI_INTEGER, "N", "how many items it is meant for"},
    {"fixed", CLI_FLAG, NULL, "refuse more than that instead of growing"},
    {0},
};

static const cli_option add_options[] = {
    CLI_LINES,
    {"error", CLI_TEXT, "RATE", "error rate of a filter that it has to make (0.01)"},
    {"capacity", CLI_INTEGER, "N", "how many items that one is meant for (10000)"},
    {"fixed", CLI_FLAG, NULL, "that one refuses more instead of growing"},
    {0},
};

static const cli_option exists_options[] = {
    CLI_LINES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "reserve",
        .args = "NAME",
        .summary = "make a filter",
        .options = reserve_options,
        .details = "Exit code 1 when there is one of that name already.",
        .example = "tackle bloom reserve tackle-example --error 0.01 --capacity 1000000\n"
                   "tackle bloom info tackle-example\n"
                   "tackle bloom drop tackle-example",
        .run = reserve,
    },
    {
        .name = "add",
        .args = "NAME [ITEM...]",
        .summary = "add items; tells which were certainly new",
        .options = add_options,
        .details =
            "When there is no such filter it is made; reserve one when you know how many items\n"
            "to expect: growing costs time and memory. Nothing\n"
            "can be taken out again. Exit code 1 when a fixed filter is full: what still fits is\n"
            "added, what does not is refused (null in JSON).",
        .example = "tackle bloom add tackle-example apple pear --capacity 1000\n"
                   "printf 'plum\\nfig\\n' | tackle bloom add tackle-example --lines --json\n"
                   "tackle bloom drop tackle-example",
        .run = add,
    },
    {
        .name = "exists",
        .args = "NAME [ITEM...]",
        .summary = "whether items were added: absent is certain, present nearly so",
        .options = exists_options,
        .details = "Exit code 1 when one of them is absent, or when there is no such filter.",
        .example =
            "tackle bloom reserve tackle-example --capacity 1000\n"
            "tackle bloom add tackle-example apple\n"
            "tackle bloom exists tackle-example apple pear --json || echo 'not all of them'\n"
            "tackle bloom drop tackle-example",
        .run = exists,
    },
    {
        .name = "info",
        .args = "NAME",
        .summary = "its size, how many items it has and can have",
        .example = "tackle bloom reserve tackle-example --capacity 1000\n"
                   "tackle bloom info tackle-example\n"
                   "tackle bloom drop tackle-example",
        .run = info,
    },
    {
        .name = "merge",
        .args = "NAME SOURCE...",
        .summary = "add all that is in other filters, reserved with the same numbers",
        .example = "tackle bloom reserve tackle-example --capacity 1000\n"
                   "tackle bloom reserve tackle-example-2 --capacity 1000\n"
                   "tackle bloom add tackle-example-2 apple\n"
                   "tackle bloom merge tackle-example tackle-example-2\n"
                   "tackle bloom exists tackle-example apple\n"
                   "tackle bloom drop tackle-example; tackle bloom drop tackle-example-2",
        .run = merge,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "remove a filter with all that is in it",
        .example = "tackle bloom reserve tackle-example --capacity 1000\n"
                   "tackle bloom drop tackle-example --json",
        .run = drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"A filter for a million items that errs once in a hundred: ten bits an item.",
     "tackle bloom reserve seen --error 0.01 --capacity 1000000; tackle bloom info seen", 0},
    {"What was new? Thousands in one trip.", "seq 1 5 | tackle bloom add seen --lines", 0},
    {"\"Absent\" is certain: exit code 1.", "tackle bloom exists seen 3 77", 1},
    {0},
};

const cli_component cli_bloom = {
    .name = "bloom",
    .summary = "Bloom filters: was this seen before, in ten bits an item",
    .verbs = verbs,
    .demo = demo,
};
