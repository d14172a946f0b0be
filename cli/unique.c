/* SPDX-License-Identifier: MIT
 *
 * Unique counts from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"

/* Opens a count for each name among the arguments; close them with close_all(). */
static int open_all(cli_session *cli, int64_t ttl_ms, tkl_unique ***uniques)
{
    tkl_client *client = NULL;
    tkl_unique_options options = {.ttl_ms = ttl_ms};
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    *uniques = calloc((size_t)cli->argc + 1, sizeof **uniques);
    if (!*uniques)
        return cli_end(cli, TKL_ENOMEM);
    for (int i = 0; !failed && i < cli->argc; i++)
        failed =
            cli_end(cli, tkl_unique_open(client, tkl_str(cli->argv[i]), &options, &(*uniques)[i]));
    return failed;
}

static void close_all(tkl_unique **uniques)
{
    for (tkl_unique **u = uniques; u && *u; u++)
        tkl_unique_close(*u);
    free(uniques);
}

/* Prints {"count": 3}, or the number. */
static int print_count(const cli_session *cli, int64_t count)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:I}", "count", (json_int_t)count));
    printf("%" PRId64 "\n", count);
    return CLI_OK;
}

static int add_some(cli_session *cli, const tkl_bytes *items, size_t count, void *unique)
{
    return cli_end(cli, tkl_unique_add(unique, items, count, NULL));
}

static int unique_add(cli_session *cli)
{
    tkl_client *client = NULL;
    tkl_unique *unique = NULL;
    tkl_unique_options options = {.ttl_ms = cli_number(cli, "ttl", 0)};
    int64_t count = 0;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_unique_open(client, tkl_str(cli->argv[0]), &options, &unique));
    if (!failed)
        failed = cli_items(cli, 1, add_some, unique);
    if (!failed)
        failed = cli_end(cli, tkl_unique_count(&unique, 1, &count));
    tkl_unique_close(unique);
    return failed ? failed : print_count(cli, count);
}

static int unique_count(cli_session *cli)
{
    tkl_unique **uniques = NULL;
    int64_t number = 0;
    int failed = open_all(cli, 0, &uniques);
    if (!failed)
        failed = cli_end(cli, tkl_unique_count(uniques, (size_t)cli->argc, &number));
    close_all(uniques);
    return failed ? failed : print_count(cli, number);
}

static int unique_merge(cli_session *cli)
{
    tkl_unique **uniques = NULL;
    int failed = open_all(cli, cli_number(cli, "ttl", 0), &uniques);
    if (!failed)
        failed = cli_end(cli, tkl_unique_merge(uniques[0], uniques + 1, (size_t)cli->argc - 1));
    close_all(uniques);
    return failed ? failed : cli_print_done(cli, "merged");
}

static int unique_list(cli_session *cli)
{
    return cli_list(cli, tkl_unique_names);
}

static int unique_drop(cli_session *cli)
{
    tkl_unique **uniques = NULL;
    int failed = cli_confirm(cli, "This deletes the count '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_all(cli, 0, &uniques);
    if (!failed)
        failed = cli_end_of(cli, tkl_unique_drop(uniques[0]), "count");
    close_all(uniques);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

#define TTL                                                                             \
    {                                                                                   \
        "ttl", CLI_PERIOD, "DURATION", "the count expires this long after the last add" \
    }

static const cli_option add_options[] = {CLI_LINES, TTL, {0}};
static const cli_option merge_options[] = {TTL, {0}};
static const cli_option drop_options[] = {CLI_YES, {0}};

static const cli_verb verbs[] = {
    {
        .name = "add",
        .args = "NAME [ITEM...]",
        .summary = "add items; prints how many different ones there are now",
        .options = add_options,
        .details = "The number is an estimate, with a standard error of 0.81 %.",
        .example = "tackle unique add visitors ann bob ann\n"
                   "printf 'bob\\neve\\n' | tackle unique add visitors --lines --ttl 30d",
        .effect = CLI_WRITES,
        .binary = "ITEM",
        .run = unique_add,
    },
    {
        .name = "count",
        .args = "NAME...",
        .summary = "how many different items were added to any of these",
        .example = "tackle unique add monday ann bob\n"
                   "tackle unique add tuesday bob eve\n"
                   "tackle unique count monday tuesday",
        .effect = CLI_READS,
        .run = unique_count,
    },
    {
        .name = "merge",
        .args = "NAME SOURCE...",
        .summary = "add all that was added to others",
        .options = merge_options,
        .example = "tackle unique add monday ann bob\n"
                   "tackle unique merge week monday --json\n"
                   "tackle unique count week",
        .effect = CLI_WRITES,
        .run = unique_merge,
    },
    {
        .name = "list",
        .summary = "the names of all counts",
        .options = cli_list_options,
        .example = "tackle unique add visitors ann\n"
                   "tackle unique list",
        .effect = CLI_READS,
        .run = unique_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete the count",
        .options = drop_options,
        .example = "tackle unique add tackle-example ann\n"
                   "tackle unique drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = unique_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"A hundred thousand visitors in 12 KB.", "seq 100000 | tackle unique add monday --lines", 0},
    {"Those of two days together, each once.",
     "seq 50000 150000 | tackle unique add tuesday --lines; tackle unique count monday tuesday", 0},
    {0},
};

const cli_component cli_unique = {
    .name = "unique",
    .summary = "how many different items, in 12 KB (HyperLogLog)",
    .verbs = verbs,
    .demo = demo,
};
