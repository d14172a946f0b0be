/* SPDX-License-Identifier: MIT
 *
 * Plain blocking queues from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"

static int open_list(cli_session *cli, int argument, const tkl_blist_options *options,
                     tkl_blist **list)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_blist_open(client, tkl_str(cli->argv[argument]), options, list));
}

static int print_length(const cli_session *cli, int64_t length)
{
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                        "length", (json_int_t)length));
    printf("%" PRId64 "\n", length);
    return CLI_OK;
}

/* ---- push ---------------------------------------------------------------- */

typedef struct pushing {
    tkl_blist *list;
    int64_t length; /* -1: nothing was pushed */
} pushing;

static int push_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    pushing *p = arg;
    return cli_end(cli, tkl_blist_push(p->list, items, count, &p->length));
}

static int push_one(cli_session *cli, pushing *p)
{
    tkl_bytes item;
    int failed = cli_payload(cli, 1, &item);
    return failed ? failed : push_some(cli, &item, 1, p);
}

static int blist_push(cli_session *cli)
{
    pushing p = {.length = -1};
    tkl_blist_options options = {.ttl_ms = cli_number(cli, "ttl", 0),
                                 .push_first = cli_flag(cli, "first")};
    int failed = open_list(cli, 0, &options, &p.list);
    if (!failed)
        failed = cli->argc > 2 || cli_flag(cli, "lines") ? cli_items(cli, 1, push_some, &p)
                                                         : push_one(cli, &p);
    if (!failed && p.length < 0)
        failed = push_some(cli, NULL, 0, &p);
    tkl_blist_close(p.list);
    return failed ? failed : print_length(cli, p.length);
}

/* ---- pop ----------------------------------------------------------------- */

static int print_json_items(const cli_session *cli, const tkl_blist_items *items)
{
    json_t *array = json_array();
    for (size_t i = 0; i < items->count; i++)
        json_array_append_new(array, cli_json_bytes(items->items[i]));
    return cli_print_json(cli, json_pack("{s:o, s:o}", "name",
                                         cli_json_bytes(tkl_str(cli->argv[items->which])), "items",
                                         array));
}

static int print_items(const cli_session *cli, const tkl_blist_items *items)
{
    if (cli->json)
        return print_json_items(cli, items);
    for (size_t i = 0; i < items->count; i++) {
        cli_print_bytes(items->items[i]);
        putchar('\n');
    }
    return CLI_OK;
}

static int pop_from(cli_session *cli, tkl_blist *const *lists)
{
    tkl_blist_items *items = NULL;
    int64_t max = cli_number(cli, "max", 1);
    if (max < 1 || max > TKL_BLIST_POP_MAX)
        return cli_usage(cli, "--max is from 1 to %d", TKL_BLIST_POP_MAX);
    int failed = cli_end(cli, tkl_blist_pop(lists, (size_t)cli->argc, (size_t)max,
                                            cli_number(cli, "wait", 0), &items));
    if (!failed)
        failed = print_items(cli, items);
    tkl_blist_items_free(items);
    return failed;
}

static int blist_pop(cli_session *cli)
{
    tkl_blist_options options = {.pop_last = cli_flag(cli, "last")};
    tkl_blist **lists = calloc((size_t)cli->argc, sizeof *lists);
    int failed = lists ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (int i = 0; !failed && i < cli->argc; i++)
        failed = open_list(cli, i, &options, &lists[i]);
    if (!failed)
        failed = pop_from(cli, lists);
    for (int i = 0; lists && i < cli->argc; i++)
        tkl_blist_close(lists[i]);
    free(lists);
    return failed;
}

/* ---- length, names, drop ------------------------------------------------- */

static int blist_length(cli_session *cli)
{
    tkl_blist *list = NULL;
    int64_t number = 0;
    int failed = open_list(cli, 0, NULL, &list);
    if (!failed)
        failed = cli_end(cli, tkl_blist_length(list, &number));
    tkl_blist_close(list);
    return failed ? failed : print_length(cli, number);
}

static int blist_list(cli_session *cli)
{
    return cli_list(cli, tkl_blist_names);
}

static int blist_drop(cli_session *cli)
{
    tkl_blist *list = NULL;
    int failed = cli_confirm(cli, "This deletes all items of the list '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_list(cli, 0, NULL, &list);
    if (!failed)
        failed = cli_end_of(cli, tkl_blist_drop(list), "list");
    tkl_blist_close(list);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option push_options[] = {
    CLI_LINES,
    {"ttl", CLI_PERIOD, "DURATION", "the list expires this long after the last push"},
    {"first", CLI_FLAG, NULL, "before all others; the last item named comes first"},
    {0},
};

static const cli_option pop_options[] = {
    {"wait", CLI_WAIT, "DURATION", "wait this long for an item, or forever (default 0)"},
    {"max", CLI_INTEGER, "N", "take up to N items (default 1)"},
    {"last", CLI_FLAG, NULL, "take from the end, the last item first"},
    {0},
};

static const cli_option drop_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "push",
        .args = "NAME [ITEM...]",
        .summary = "append items; prints how many there are now",
        .options = push_options,
        .details = "Without an item, or for -, standard input is one, to its end.",
        .example = "tackle blist push events opened closed\n"
                   "tackle blist push events urgent --first\n"
                   "printf 'first\\nsecond\\n' | tackle blist push events --lines",
        .effect = CLI_WRITES,
        .adds = true,
        .binary = "ITEM",
        .run = blist_push,
    },
    {
        .name = "pop",
        .args = "NAME...",
        .summary = "take the first items of the first list that has any",
        .options = pop_options,
        .details =
            "Does not wait, unless --wait says otherwise. The waiter that has waited longest is\n"
            "served first. What is popped is gone: for jobs that must not be lost, see queue.\n"
            "Exit code 1 when there was none in time.",
        .example = "tackle blist push normal report\n"
                   "tackle blist pop urgent normal --wait 5s --json\n"
                   "tackle blist push stack one two\n"
                   "tackle blist pop stack --last --wait forever",
        .effect = CLI_WRITES,
        .run = blist_pop,
    },
    {
        .name = "length",
        .args = "NAME",
        .summary = "how many items there are",
        .example = "tackle blist length events",
        .effect = CLI_READS,
        .run = blist_length,
    },
    {
        .name = "list",
        .summary = "all lists that have items",
        .options = cli_list_options,
        .example = "tackle blist push events opened\n"
                   "tackle blist list",
        .effect = CLI_READS,
        .run = blist_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "remove all items",
        .options = drop_options,
        .example = "tackle blist push tackle-example opened\n"
                   "tackle blist drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = blist_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"First in, first out; from the first list that has an item.",
     "tackle blist push normal tidy up; tackle blist push urgent fire; "
     "tackle blist pop urgent normal; tackle blist pop urgent normal",
     0},
    {"A waiter is served when the item comes.",
     "tackle blist drop normal --yes; (sleep 0.2; tackle blist push normal hello >/dev/null) & "
     "tackle blist pop normal --wait 10s; wait",
     0},
    {0},
};

const cli_component cli_blist = {
    .name = "blist",
    .summary = "plain blocking queues: what is popped is gone",
    .verbs = verbs,
    .shared = "lists",
    .demo = demo,
};
