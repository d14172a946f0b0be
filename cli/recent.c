/* SPDX-License-Identifier: MIT
 *
 * Recent contacts from the shell.
 */
#include <inttypes.h>
#include <stdio.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"

static int open_recent(cli_session *cli, tkl_recent_options *options, tkl_recent **recent)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_recent_open(client, tkl_str(cli->argv[0]), options, recent));
}

/* A change of all items. */
typedef struct work {
    tkl_recent *recent;
    int64_t count; /* added or removed so far */
} work;

static int add_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    work *w = arg;
    w->count += (int64_t)count;
    return cli_end_items(cli, tkl_recent_add(w->recent, items, count), count);
}

static int recent_add(cli_session *cli)
{
    work w = {NULL, 0};
    tkl_recent_options options = {.keep = cli_number(cli, "keep", 100),
                                  .ttl_ms = cli_number(cli, "ttl", 0)};
    if (options.keep < 1 || options.keep > TKL_RECENT_MAX)
        return cli_usage(cli, "--keep is from 1 to %d", TKL_RECENT_MAX);
    int failed = open_recent(cli, &options, &w.recent);
    if (!failed)
        failed = cli_text_items(cli, 1, add_some, &w);
    tkl_recent_close(w.recent);
    return failed || !cli->json ? failed : cli_print_count(cli, "added", w.count);
}

static int remove_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    work *w = arg;
    int64_t removed = 0;
    int failed = cli_end_items(cli, tkl_recent_remove(w->recent, items, count, &removed), count);
    w->count += removed;
    return failed;
}

static int remove_contacts(cli_session *cli)
{
    work w = {NULL, 0};
    int failed = open_recent(cli, NULL, &w.recent);
    if (!failed)
        failed = cli_text_items(cli, 1, remove_some, &w);
    tkl_recent_close(w.recent);
    return failed ? failed : cli_print_removed(cli, w.count);
}

/* Opens the list for a search with --accents, --pinyin and --count. */
static int open_for_search(cli_session *cli, tkl_recent **recent, size_t *count)
{
    tkl_recent_options options = {.accents = cli_flag(cli, "accents"),
                                  .pinyin = cli_flag(cli, "pinyin")};
    int64_t given = cli_number(cli, "count", TKL_RECENT_MAX);
    if (given < 0 || given > TKL_RECENT_MAX)
        return cli_usage(cli, "--count is from 0 to %d", TKL_RECENT_MAX);
    *count = (size_t)given;
    return open_recent(cli, &options, recent);
}

static int recent_complete(cli_session *cli)
{
    tkl_recent *recent = NULL;
    tkl_names *found = NULL;
    size_t count;
    int failed = open_for_search(cli, &recent, &count);
    if (!failed)
        failed = cli_end(cli, tkl_recent_complete(recent, tkl_str(cli->argv[1]), count, &found));
    if (!failed)
        failed = cli_print_names(cli, found);
    tkl_names_free(found);
    tkl_recent_close(recent);
    return failed;
}

static int recent_find(cli_session *cli)
{
    static const cli_column columns[] = {
        {"contact", "CONTACT"}, {"match", "MATCH"}, {"added_at", "LAST ADDED"}, {0}};
    tkl_recent *recent = NULL;
    tkl_recent_contacts *found = NULL;
    size_t count;
    int failed = open_for_search(cli, &recent, &count);
    if (!failed)
        failed = cli_end(cli, tkl_recent_find(recent, tkl_str(cli->argv[1]), count, &found));
    tkl_recent_close(recent);
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < found->count; i++) {
        const tkl_recent_contact *one = &found->items[i];
        json_array_append_new(
            rows, json_pack("{s:o, s:s, s:o}", "contact", cli_json_bytes(one->contact), "match",
                            tkl_recent_match_name(one->match), "added_at",
                            one->added_ms > 0 ? cli_json_time(one->added_ms) : json_null()));
    }
    tkl_recent_contacts_free(found);
    return cli_print_rows(cli, rows, columns);
}

static int recent_drop(cli_session *cli)
{
    tkl_recent *recent = NULL;
    int failed = cli_confirm(cli, "This deletes the recent contacts of '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_recent(cli, NULL, &recent);
    if (!failed)
        failed = cli_end_of(cli, tkl_recent_drop(recent), "list of contacts");
    tkl_recent_close(recent);
    return failed ? failed : cli_print_done(cli, "dropped");
}

static int recent_list(cli_session *cli)
{
    return cli_list(cli, tkl_recent_names);
}

/* ---- The component ------------------------------------------------------- */

static const cli_option add_options[] = {
    {"keep", CLI_INTEGER, "N", "contacts to keep, up to 5000 (default 100)"},
    {"ttl", CLI_PERIOD, "DURATION", "the list expires this long after the last add"},
    CLI_LINES,
    {0},
};

static const cli_option remove_options[] = {
    CLI_LINES,
    {0},
};

static const cli_option complete_options[] = {
    {"count", CLI_INTEGER, "N", "print at most N (default: all)"},
    {"accents", CLI_FLAG, NULL, "jurgen finds Jürgen"},
    {"pinyin", CLI_FLAG, NULL, "zhang and zs find 张三"},
    {0},
};

static const cli_option drop_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "add",
        .args = "USER [CONTACT...]",
        .summary = "put contacts to the front; the last one named is the most recent",
        .options = add_options,
        .example = "tackle recent add ann Bob Jürgen\n"
                   "printf 'Eve\\nBob\\n' | tackle recent add ann --lines --keep 50\n"
                   "tackle recent complete ann",
        .effect = CLI_WRITES,
        .run = recent_add,
    },
    {
        .name = "remove",
        .args = "USER [CONTACT...]",
        .summary = "take contacts from the list; prints how many were there",
        .options = remove_options,
        .example = "tackle recent add ann Bob Eve\n"
                   "tackle recent remove ann Bob",
        .effect = CLI_WRITES,
        .run = remove_contacts,
    },
    {
        .name = "complete",
        .args = "USER [PREFIX]",
        .summary = "contacts that begin with PREFIX, or all; most recent first",
        .options = complete_options,
        .details = "Upper and lower case are the same.",
        .example = "tackle recent add ann Bob Jürgen 张三\n"
                   "tackle recent complete ann ju --accents --json\n"
                   "tackle recent complete ann zs --pinyin",
        .effect = CLI_READS,
        .run = recent_complete,
    },
    {
        .name = "find",
        .args = "USER [TEXT]",
        .summary = "contacts that match TEXT, or all, and when they were added last",
        .options = complete_options,
        .details =
            "First those that are equal to TEXT, then those that begin with it, end with it\n"
            "and contain it; in each group the most recent first. Upper and lower case are\n"
            "the same.",
        .example = "tackle recent add ann Anna Joanna Hannah\n"
                   "tackle recent find ann anna\n"
                   "tackle recent find ann --json",
        .effect = CLI_READS,
        .run = recent_find,
    },
    {
        .name = "list",
        .summary = "all users who have a list",
        .options = cli_list_options,
        .example = "tackle recent add ann Bob\n"
                   "tackle recent list",
        .effect = CLI_READS,
        .run = recent_list,
    },
    {
        .name = "drop",
        .args = "USER",
        .summary = "forget a user's list",
        .options = drop_options,
        .example = "tackle recent add tackle-example Bob\n"
                   "tackle recent drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = recent_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Whom Ann wrote to last, completed while she types.",
     "tackle recent add ann Bob Jürgen 张三; tackle recent complete ann ju --accents --json", 0},
    {0},
};

const cli_component cli_recent = {
    .name = "recent",
    .summary = "recent contacts, completed while typing",
    .verbs = verbs,
    .demo = demo,
};
