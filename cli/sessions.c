/* SPDX-License-Identifier: MIT
 *
 * Sessions of users from the shell. (session.c is the session of this command.)
 */
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "lines.h"
#include "out.h"

enum { COUNT = 10 };

static int open_store(cli_session *cli, tkl_session **sessions)
{
    tkl_client *client = NULL;
    tkl_session_options options = {
        .half_life_ms = cli_number(cli, "half-life", 0),
        .most = cli_number(cli, "most", 0),
        .items = cli_number(cli, "items", 0),
    };
    if (cli_text(cli, "half-life", NULL) != NULL && options.half_life_ms == 0)
        options.half_life_ms = TKL_NONE;
    int failed = cli_connect(cli, &client);
    return failed
               ? failed
               : cli_end(cli, tkl_session_open(client, tkl_str(cli_text(cli, "store", "default")),
                                               &options, sessions));
}

/* --count and --skip. */
static int check_page(const cli_session *cli)
{
    int failed = cli_positive(cli, "count");
    return failed ? failed : cli_not_negative(cli, "skip");
}

/* ---- A session ----------------------------------------------------------- */

static int sessions_create(cli_session *cli)
{
    tkl_session *store = NULL;
    char token[TKL_TOKEN_SIZE] = "";
    int failed = cli_positive(cli, "most");
    if (!failed)
        failed = open_store(cli, &store);
    if (!failed)
        failed = cli_end(cli, tkl_session_create(store, tkl_str(cli->argv[0]),
                                                 cli_number(cli, "ttl", 0), token));
    tkl_session_close(store);
    if (failed)
        return failed;
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:o}", "token", token, "user",
                                             cli_json_bytes(tkl_str(cli->argv[0]))));
    printf("%s\n", token);
    return CLI_OK;
}

static json_t *json_of(const tkl_session_info *session)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "user", cli_json_bytes(session->user), "id",
                     session->id, "created_at", cli_json_time(session->created_ms), "seen_at",
                     cli_json_time(session->seen_ms), "ends_at", cli_json_time(session->ends_ms));
}

/* Returns the session with its data: [{"name": ..., "value": ...}, ...]. */
static json_t *json_with_data(const tkl_session_info *session)
{
    json_t *record = json_of(session), *data = json_array();
    for (size_t i = 0; i < session->field_count; i++)
        json_array_append_new(data, json_pack("{s:o, s:o}", "name",
                                              cli_json_bytes(session->fields[i].name), "value",
                                              cli_json_bytes(session->fields[i].value)));
    json_object_set_new(record, "data", data);
    return record;
}

/* Prints "name = value" for each field, for people. */
static int print_data(const cli_session *cli, const tkl_session_info *session)
{
    for (size_t i = 0; !cli->json && i < session->field_count; i++) {
        cli_print_bytes(session->fields[i].name);
        printf(" = ");
        cli_print_bytes(session->fields[i].value);
        putchar('\n');
    }
    return cli_flush(cli);
}

static const cli_column session_columns[] = {
    {"user", "user"},        {"id", "id"},        {"created_at", "created"},
    {"seen_at", "last use"}, {"ends_at", "ends"}, {0},
};

static int sessions_check(cli_session *cli)
{
    tkl_session *store = NULL;
    tkl_session_info *session = NULL;
    int failed = open_store(cli, &store);
    if (!failed)
        failed = cli_end(cli, tkl_session_check(store, cli->argv[0], &session));
    if (!failed)
        failed = cli_print_record(cli, json_with_data(session), session_columns);
    if (!failed)
        failed = print_data(cli, session);
    tkl_session_info_free(session);
    tkl_session_close(store);
    return failed;
}

static int sessions_touch(cli_session *cli)
{
    tkl_session *store = NULL;
    tkl_session_view view = {.token = cli->argv[0], .item = tkl_str(cli->argv[1])};
    tkl_session_info *session = NULL;
    int failed = cli_positive(cli, "items");
    if (!failed)
        failed = open_store(cli, &store);
    if (!failed)
        failed = cli_end(cli, tkl_session_use(store, &view, &session));
    if (!failed && cli->json) {
        json_t *record = json_with_data(session);
        json_object_set_new(record, "touched", json_true());
        json_object_set_new(record, "item",
                            view.item.len > 0 ? cli_json_bytes(view.item) : json_null());
        failed = cli_print_json(cli, record);
    }
    tkl_session_info_free(session);
    tkl_session_close(store);
    return failed;
}

/* Reads "NAME=VALUE"; an empty value removes the field. */
static int read_field(const cli_session *cli, const char *text, tkl_session_field *field)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return cli_usage(cli, "invalid field '%s': NAME=VALUE", text);
    *field =
        (tkl_session_field){.name = {text, (size_t)(equals - text)}, .value = tkl_str(equals + 1)};
    return CLI_OK;
}

static int sessions_set(cli_session *cli)
{
    tkl_session *store = NULL;
    size_t count = (size_t)cli->argc - 1;
    tkl_session_field *fields = calloc(count, sizeof *fields);
    int failed = fields != NULL ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < count; i++)
        failed = read_field(cli, cli->argv[1 + i], &fields[i]);
    if (!failed)
        failed = open_store(cli, &store);
    if (!failed)
        failed = cli_end(cli, tkl_session_set(store, cli->argv[0], fields, count));
    tkl_session_close(store);
    free(fields);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli, json_pack("{s:I}", "fields_set", (json_int_t)count));
}

static int end_one(cli_session *cli, tkl_session *store)
{
    int failed = cli_end(cli, tkl_session_end(store, cli->argv[0]));
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli, json_pack("{s:i}", "ended", 1));
}

static int end_all(cli_session *cli, tkl_session *store, const char *user)
{
    int64_t ended = 0;
    int failed = cli_end(cli, tkl_session_end_user(store, tkl_str(user), &ended));
    if (failed)
        return failed;
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:I}", "ended", (json_int_t)ended));
    printf("%lld ended\n", (long long)ended);
    return CLI_OK;
}

static int sessions_end(cli_session *cli)
{
    tkl_session *store = NULL;
    const char *user = cli_text(cli, "user", NULL);
    if ((user != NULL) == (cli->argc > 0))
        return cli_usage(cli, "name a TOKEN or a --user");
    int failed = open_store(cli, &store);
    if (!failed)
        failed = user != NULL ? end_all(cli, store, user) : end_one(cli, store);
    tkl_session_close(store);
    return failed;
}

static int sessions_list(cli_session *cli)
{
    tkl_session *store = NULL;
    tkl_session_list *found = NULL;
    json_t *rows = json_array();
    size_t count = (size_t)cli_number(cli, "count", TKL_SESSION_PAGE_MAX);
    size_t skip = (size_t)cli_number(cli, "skip", 0);
    int failed = check_page(cli);
    if (!failed)
        failed = open_store(cli, &store);
    if (!failed)
        failed =
            cli_end(cli, tkl_session_of_user(store, tkl_str(cli->argv[0]), skip, count, &found));
    for (size_t i = 0; !failed && i < found->count; i++)
        json_array_append_new(rows, json_of(&found->items[i]));
    tkl_session_list_free(found);
    tkl_session_close(store);
    if (!failed)
        return cli_print_rows(cli, rows, session_columns);
    json_decref(rows);
    return failed;
}

/* ---- Items --------------------------------------------------------------- */

static json_t *row_of(const tkl_session_item *item, bool ranking)
{
    if (ranking)
        return json_pack("{s:o, s:f, s:f}", "item", cli_json_bytes(item->item), "views",
                         item->views, "excess", item->excess);
    return json_pack("{s:o, s:o}", "item", cli_json_bytes(item->item), "viewed_at",
                     cli_json_time(item->viewed_ms));
}

static int print_items(cli_session *cli, const tkl_session_items *items, bool ranking)
{
    static const cli_column viewed[] = {{"item", "item"}, {"viewed_at", "viewed"}, {0}};
    static const cli_column most[] = {{"item", "item"}, {"views", "views"}, {0}};
    json_t *rows = json_array();
    double excess = 0;
    for (size_t i = 0; i < items->count; i++) {
        json_array_append_new(rows, row_of(&items->items[i], ranking));
        excess = items->items[i].excess > excess ? items->items[i].excess : excess;
    }
    int failed = cli_print_rows(cli, rows, ranking ? most : viewed);
    if (!failed && !cli->json && excess >= 0.01)
        printf("The ranking is full: views are at most %.2f too high.\n", excess);
    return failed;
}

static int print_page(cli_session *cli, bool ranking)
{
    tkl_session *store = NULL;
    tkl_session_items *items = NULL;
    size_t count = (size_t)cli_number(cli, "count", ranking ? COUNT : 25);
    size_t skip = (size_t)cli_number(cli, "skip", 0);
    int failed = check_page(cli);
    if (!failed)
        failed = open_store(cli, &store);
    if (!failed)
        failed =
            cli_end(cli, ranking ? tkl_session_top(store, skip, count, &items)
                                 : tkl_session_recent(store, cli->argv[0], skip, count, &items));
    if (!failed)
        failed = print_items(cli, items, ranking);
    tkl_session_items_free(items);
    tkl_session_close(store);
    return failed;
}

static int sessions_recent(cli_session *cli)
{
    return print_page(cli, false);
}

static int sessions_top(cli_session *cli)
{
    return print_page(cli, true);
}

static int sessions_view(cli_session *cli)
{
    tkl_session *store = NULL;
    size_t count = (size_t)cli->argc;
    tkl_bytes *items = calloc(count, sizeof *items);
    if (items == NULL)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; i < count; i++)
        items[i] = tkl_str(cli->argv[i]);
    int failed = open_store(cli, &store);
    if (!failed)
        failed = cli_end(cli, tkl_session_view_items(store, items, count));
    tkl_session_close(store);
    free(items);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli, json_pack("{s:I}", "viewed", (json_int_t)count));
}

/* Renames or drops one item of the ranking. */
static int change_item(cli_session *cli, bool rename)
{
    tkl_session *store = NULL;
    tkl_bytes item = tkl_str(cli->argv[0]);
    int failed = open_store(cli, &store);
    if (!failed)
        failed = cli_end(cli, rename ? tkl_session_rename_item(store, item, tkl_str(cli->argv[1]))
                                     : tkl_session_drop_item(store, item));
    tkl_session_close(store);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli, json_pack("{s:o, s:b}", "item", cli_json_bytes(item),
                                         rename ? "renamed" : "unranked", true));
}

static int rename_item(cli_session *cli)
{
    return change_item(cli, true);
}

static int drop_ranking(cli_session *cli)
{
    tkl_session *store = NULL;
    int failed = cli_confirm(cli, "This deletes the ranking of the store '%s'.",
                             cli_text(cli, "store", "default"));
    if (!failed)
        failed = open_store(cli, &store);
    if (!failed)
        failed = cli_end(cli, tkl_session_drop_ranking(store));
    tkl_session_close(store);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli, json_pack("{s:n, s:b}", "item", "unranked", true));
}

static int forget_item(cli_session *cli)
{
    bool all = cli_flag(cli, "all");
    if (all == (cli->argc > 0))
        return cli_usage(cli, "name an ITEM, or --all");
    return all ? drop_ranking(cli) : change_item(cli, false);
}

static int sessions_stores(cli_session *cli)
{
    return cli_list(cli, tkl_session_names);
}

/* Ends a call about the store as a whole. */
static int end_of_store(const cli_session *cli, int code)
{
    if (code != TKL_NOTFOUND)
        return cli_end(cli, code);
    return cli_no(cli, code, "there is no store '%s'", cli_text(cli, "store", "default"));
}

static int sessions_drop(cli_session *cli)
{
    tkl_session *store = NULL;
    const char *name = cli_text(cli, "store", "default");
    int failed = cli_confirm(cli, "This ends all sessions of the store '%s'.", name);
    if (!failed)
        failed = open_store(cli, &store);
    if (!failed)
        failed = end_of_store(cli, tkl_session_drop(store));
    tkl_session_close(store);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(
        cli, json_pack("{s:o, s:b}", "name", cli_json_bytes(tkl_str(name)), "dropped", true));
}

/* ---- The component ------------------------------------------------------- */

#define STORE                                                                       \
    {"store", CLI_TEXT, "NAME", "the store of the sessions (default \"default\")"}, \
        {"most", CLI_INTEGER, "N", NULL}, {"items", CLI_INTEGER, "N", NULL},        \
    {                                                                               \
        "half-life", CLI_DURATION, "DURATION", NULL                                 \
    }

#define HALF_LIFE                                                \
    {                                                            \
        "half-life", CLI_DURATION, "DURATION",                   \
            "views count half after this; 0: never (default 1d)" \
    }

static const cli_option create_options[] = {
    {"ttl", CLI_PERIOD, "DURATION", "the session ends this long after its last use (default 1d)"},
    {"most", CLI_INTEGER, "N", "sessions that the store keeps (default 10 million)"},
    STORE,
    {0},
};
static const cli_option store_options[] = {STORE, {0}};
static const cli_option touch_options[] = {
    {"items", CLI_INTEGER, "N", "items that a session remembers, up to 1000 (default 25)"},
    HALF_LIFE,
    STORE,
    {0},
};
static const cli_option view_options[] = {HALF_LIFE, STORE, {0}};
static const cli_option unrank_options[] = {
    {"all", CLI_FLAG, NULL, "delete the whole ranking; the next view may have another half-life"},
    CLI_YES,
    STORE,
    {0},
};
static const cli_option top_options[] = {
    {"count", CLI_INTEGER, "N", "print at most N (default 10)"},
    {"skip", CLI_INTEGER, "N", "leave out the first N (default 0)"},
    STORE,
    {0},
};
static const cli_option recent_options[] = {
    {"count", CLI_INTEGER, "N", "print at most N (default 25)"},
    {"skip", CLI_INTEGER, "N", "leave out the first N (default 0)"},
    STORE,
    {0},
};
static const cli_option list_options[] = {
    {"count", CLI_INTEGER, "N", "print at most N (default 1000)"},
    {"skip", CLI_INTEGER, "N", "leave out the first N (default 0)"},
    STORE,
    {0},
};
static const cli_option end_options[] = {
    {"user", CLI_TEXT, "USER", "end all sessions of this user"},
    STORE,
    {0},
};
static const cli_option drop_options[] = {CLI_YES, STORE, {0}};

static const cli_verb verbs[] = {
    {
        .name = "create",
        .args = "USER",
        .summary = "begin a session of a user; prints its token",
        .options = create_options,
        .details =
            "The token opens the session, so keep it secret. The server keeps only a hash of it.",
        .example = "tackle session create alice --ttl 2h",
        .effect = CLI_WRITES,
        .run = sessions_create,
    },
    {
        .name = "check",
        .args = "TOKEN",
        .summary = "whose session it is, when it was last used, and its data",
        .options = store_options,
        .details = "Does not count as a use. Exit code 1 when the session has ended.",
        .example = "tackle session check \"$(tackle session create alice)\"",
        .effect = CLI_READS,
        .run = sessions_check,
    },
    {
        .name = "touch",
        .args = "TOKEN [ITEM]",
        .summary = "note a use of a session, and the item viewed",
        .options = touch_options,
        .details =
            "The item becomes the most recent one of the session and counts in the ranking.\n"
            "The first view fixes the half-life of a ranking; another one is refused.\n"
            "With --json prints whose session it is, and its data. Exit code 1 when the session\n"
            "has ended.",
        .example = "tackle session touch \"$(tackle session create alice)\" teapot --json",
        .effect = CLI_WRITES,
        .run = sessions_touch,
    },
    {
        .name = "set",
        .args = "TOKEN NAME=VALUE...",
        .summary = "set fields of a session's data, or remove those with an empty value",
        .options = store_options,
        .details = "The data ends with the session: up to 100 fields, 16 KB together. Exit code 1\n"
                   "when the session has ended, or the data would be too much.",
        .example = "token=$(tackle session create alice)\n"
                   "tackle session set \"$token\" language=de cart='{\"teapot\": 2}'\n"
                   "tackle session check \"$token\" --json",
        .effect = CLI_WRITES,
        .run = sessions_set,
    },
    {
        .name = "recent",
        .args = "TOKEN",
        .summary = "what a session viewed, the most recent first",
        .options = recent_options,
        .example = "token=$(tackle session create alice)\n"
                   "tackle session touch \"$token\" teapot\n"
                   "tackle session touch \"$token\" kettle\n"
                   "tackle session recent \"$token\"",
        .effect = CLI_READS,
        .run = sessions_recent,
    },
    {
        .name = "view",
        .args = "ITEM...",
        .summary = "count views of items without a session",
        .options = view_options,
        .details = "The first view fixes the half-life of a ranking; another one is refused.",
        .example = "tackle session view teapot kettle teapot\n"
                   "tackle session top --count 3 --json",
        .effect = CLI_WRITES,
        .run = sessions_view,
    },
    {
        .name = "top",
        .summary = "what all sessions viewed, the most viewed first",
        .options = top_options,
        .details = "Once more items were viewed than the ranking has room for, views may be too\n"
                   "high: `excess` (with --json) says by how much at most.",
        .example = "tackle session touch \"$(tackle session create alice)\" teapot\n"
                   "tackle session top --count 3",
        .effect = CLI_READS,
        .run = sessions_top,
    },
    {
        .name = "end",
        .args = "[TOKEN]",
        .summary = "end a session, or all sessions of a user",
        .options = end_options,
        .details = "Exit code 1 when the session of the token had already ended.",
        .example = "tackle session end \"$(tackle session create alice)\" --json\n"
                   "tackle session end --user alice",
        .effect = CLI_WRITES,
        .run = sessions_end,
    },
    {
        .name = "list",
        .args = "USER",
        .summary = "the sessions of a user",
        .options = list_options,
        .details = "Shows their ids. An id does not reveal the token.",
        .example = "tackle session create alice\n"
                   "tackle session list alice",
        .effect = CLI_READS,
        .run = sessions_list,
    },
    {
        .name = "rename",
        .args = "ITEM NAME",
        .summary = "give an item of the ranking another name",
        .options = store_options,
        .example = "tackle session touch \"$(tackle session create alice)\" teapot\n"
                   "tackle session rename teapot pot --json",
        .effect = CLI_WRITES,
        .run = rename_item,
    },
    {
        .name = "unrank",
        .args = "[ITEM]",
        .summary = "take an item out of the ranking, or delete the ranking",
        .options = unrank_options,
        .example = "tackle session touch \"$(tackle session create alice)\" teapot\n"
                   "tackle session unrank teapot --json",
        .effect = CLI_WRITES,
        .run = forget_item,
    },
    {
        .name = "stores",
        .summary = "the names of all stores that have sessions",
        .options = cli_list_options,
        .example = "tackle session create alice\n"
                   "tackle session stores --json",
        .effect = CLI_READS,
        .run = sessions_stores,
    },
    {
        .name = "drop",
        .summary = "end all sessions of a store and forget its ranking",
        .options = drop_options,
        .example = "tackle session create alice --store tackle-example\n"
                   "tackle session drop --store tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = sessions_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Two users log in and look at things.",
     "alice=$(tackle session create alice); bob=$(tackle session create bob); "
     "for item in teapot kettle teapot; do tackle session touch $alice $item; done; "
     "tackle session touch $bob teapot; tackle session recent $alice",
     0},
    {"What everybody looks at, newer views counting more.", "tackle session top --count 3", 0},
    {"Log out everywhere.", "tackle session end --user alice; tackle session list bob", 0},
    {0},
};

const cli_component cli_sessions = {
    .name = "session",
    .summary = "tokens of logged-in users, what they viewed, what is viewed most",
    .verbs = verbs,
    .shared = "sessions",
    .demo = demo,
};
