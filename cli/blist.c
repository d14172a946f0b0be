/* SPDX-License-Identifier: MIT
 *
 * Plain blocking queues from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "holders.h"
#include "items.h"
#include "out.h"

static int open_list(cli_session *cli, int argument, tkl_blist **list)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_blist_open(client, tkl_str(cli->argv[argument]), list));
}

static int print_length(const cli_session *cli, int64_t length)
{
    if (cli->json)
        return cli_print_json(cli, json_integer((json_int_t)length));
    printf("%" PRId64 "\n", length);
    return CLI_OK;
}

/* ---- push ---------------------------------------------------------------- */

typedef struct pushing {
    tkl_blist *list;
    int64_t length;
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

static int push(cli_session *cli)
{
    pushing p = {0};
    int failed = open_list(cli, 0, &p.list);
    if (!failed)
        failed = cli->argc > 2 || cli_flag(cli, "lines") ? cli_items(cli, 1, push_some, &p)
                                                         : push_one(cli, &p);
    tkl_blist_close(p.list);
    return failed ? failed : print_length(cli, p.length);
}

/* ---- pop ----------------------------------------------------------------- */

static int print_item(const cli_session *cli, size_t which, tkl_bytes item)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:o, s:o}", "name",
                                             cli_json_bytes(tkl_str(cli->argv[which])), "item",
                                             cli_json_bytes(item)));
    cli_print_bytes(item);
    putchar('\n');
    return CLI_OK;
}

static int pop_from(cli_session *cli, tkl_blist *const *lists)
{
    size_t which;
    tkl_reply *item;
    int failed = cli_end(
        cli, tkl_blist_pop(lists, (size_t)cli->argc, cli_number(cli, "wait", 0), &which, &item));
    if (!failed)
        failed = print_item(cli, which, tkl_reply_bytes(item));
    tkl_reply_free(item);
    return failed;
}

static int pop(cli_session *cli)
{
    tkl_blist **lists = calloc((size_t)cli->argc, sizeof *lists);
    int failed = lists ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (int i = 0; !failed && i < cli->argc; i++)
        failed = open_list(cli, i, &lists[i]);
    if (!failed)
        failed = pop_from(cli, lists);
    for (int i = 0; lists && i < cli->argc; i++)
        tkl_blist_close(lists[i]);
    free(lists);
    return failed;
}

/* ---- length, clear ------------------------------------------------------- */

static int length(cli_session *cli)
{
    tkl_blist *list = NULL;
    int64_t number = 0;
    int failed = open_list(cli, 0, &list);
    if (!failed)
        failed = cli_end(cli, tkl_blist_length(list, &number));
    tkl_blist_close(list);
    return failed ? failed : print_length(cli, number);
}

static int clear(cli_session *cli)
{
    tkl_blist *list = NULL;
    int failed = open_list(cli, 0, &list);
    if (!failed)
        failed = cli_end(cli, tkl_blist_clear(list));
    tkl_blist_close(list);
    return failed ? failed : cli_print_done(cli, "cleared");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option push_options[] = {
    CLI_LINES,
    {0},
};

static const cli_option pop_options[] = {
    {"wait", CLI_DURATION, "DURATION", "wait so long for an item"},
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
                   "printf 'first\\nsecond\\n' | tackle blist push events --lines",
        .run = push,
    },
    {
        .name = "pop",
        .args = "NAME...",
        .summary = "take the oldest item of the first list that has one",
        .options = pop_options,
        .details =
            "Does not wait, unless --wait says otherwise. Of all who wait the oldest is served\n"
            "first. What is popped is gone: for jobs that must not be lost, see queue.\n"
            "Exit code 1 when there was none in time.",
        .example = "tackle blist push normal report\n"
                   "tackle blist pop urgent normal --wait 5s --json",
        .run = pop,
    },
    {
        .name = "length",
        .args = "NAME",
        .summary = "how many items there are",
        .example = "tackle blist length events",
        .run = length,
    },
    {
        .name = "clear",
        .args = "NAME",
        .summary = "remove all items",
        .example = "tackle blist push tackle-example opened\n"
                   "tackle blist clear tackle-example --json",
        .run = clear,
    },
    {0},
};

static const cli_step demo[] = {
    {"First in, first out; from the first list that has an item.",
     "tackle blist push normal tidy up; tackle blist push urgent fire; "
     "tackle blist pop urgent normal; tackle blist pop urgent normal",
     0},
    {"Who waits is served when the item comes.",
     "tackle blist clear normal; (sleep 0.2; tackle blist push normal hello >/dev/null) & "
     "tackle blist pop normal --wait 10s; wait",
     0},
    {0},
};

const cli_component cli_blist = {
    .name = "blist",
    .summary = "plain blocking queues: what is popped is gone",
    .verbs = verbs,
    .demo = demo,
};
