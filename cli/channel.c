/* SPDX-License-Identifier: MIT
 *
 * Channels from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "items.h"
#include "lines.h"
#include "out.h"

static int open_channel(cli_session *cli, const tkl_channel_options *options, tkl_channel **channel)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_channel_open(client, tkl_str(cli->argv[0]), options, channel));
}

static json_t *json_id(tkl_channel_id id)
{
    char text[TKL_CHANNEL_ID_SIZE];
    return id.number > 0 ? json_string(tkl_channel_id_text(id, text)) : json_null();
}

/* ---- publish ------------------------------------------------------------- */

typedef struct publishing {
    tkl_channel *channel;
    tkl_channel_id last;
    int64_t published;
} publishing;

/* Publishes the items, as many in one call as its limit of bytes allows. */
static int publish_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    publishing *p = arg;
    int failed = CLI_OK;
    for (size_t done = 0, some; !failed && done < count; done += some) {
        size_t bytes = items[done].len;
        for (some = 1; done + some < count; some++) {
            bytes += items[done + some].len;
            if (bytes > TKL_CHANNEL_BATCH_BYTES)
                break;
        }
        failed = cli_end_items(cli, tkl_channel_publish(p->channel, items + done, some, &p->last),
                               count);
        p->published += failed ? 0 : (int64_t)some;
    }
    return failed;
}

static int publish_payload(cli_session *cli, publishing *p)
{
    tkl_bytes message;
    int failed = cli_payload(cli, 1, &message);
    if (!failed)
        failed = cli_end(cli, tkl_channel_publish(p->channel, &message, 1, &p->last));
    p->published = !failed;
    return failed;
}

static int channel_publish(cli_session *cli)
{
    static const cli_column columns[] = {{"id", "id"}, {"published", "published"}, {0}};
    tkl_channel_options options = {.history = cli_number(cli, "history", 0),
                                   .ttl_ms = cli_number(cli, "ttl", 0)};
    publishing p = {0};
    if (cli_flag(cli, "history") && cli_positive(cli, "history"))
        return CLI_USAGE;
    int failed = open_channel(cli, &options, &p.channel);
    if (!failed)
        failed =
            cli_flag(cli, "lines") ? cli_items(cli, 1, publish_some, &p) : publish_payload(cli, &p);
    tkl_channel_close(p.channel);
    if (failed)
        return failed;
    return cli_print_record(cli,
                            json_pack("{s:o, s:o, s:I}", "name",
                                      cli_json_bytes(tkl_str(cli->argv[0])), "id", json_id(p.last),
                                      "published", (json_int_t)p.published),
                            columns);
}

/* ---- follow -------------------------------------------------------------- */

static json_t *message_json(const tkl_channel_message *message, int64_t lost, bool reset)
{
    static const tkl_channel_message none;
    if (!message)
        message = &none;
    bool is = message->id.number > 0;
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:b}", "id", json_id(message->id), "number",
                     is ? json_integer(message->id.number) : json_null(), "published_at",
                     cli_json_time(message->id.time_ms), "message",
                     is ? cli_json_bytes(message->data) : json_null(), "lost", (json_int_t)lost,
                     "reset", reset);
}

static int print_messages(const cli_session *cli, const tkl_channel_messages *messages)
{
    int failed = CLI_OK;
    if (cli->json && messages->count == 0)
        failed = cli_print_json(cli, message_json(NULL, messages->lost, messages->reset));
    for (size_t i = 0; !failed && i < messages->count; i++) {
        const tkl_channel_message *message = &messages->items[i];
        if (cli->json) {
            failed = cli_print_json(
                cli, message_json(message, i == 0 ? messages->lost : 0, i == 0 && messages->reset));
            continue;
        }
        cli_print_bytes(message->data);
        putchar('\n');
    }
    if (!failed)
        failed = cli_flush(cli);
    if (!cli->json && messages->lost > 0)
        cli_fail(cli, CLI_OK, "%" PRId64 " messages were removed before they could be read",
                 messages->lost);
    if (!cli->json && messages->reset)
        cli_fail(cli, CLI_OK, "the server has lost messages, or the channel was dropped");
    return failed;
}

static int read_start(const cli_session *cli, tkl_channel_follow_options *options)
{
    const char *after = cli_text(cli, "after", NULL);
    *options = (tkl_channel_follow_options){.recent = cli_number(cli, "recent", 0)};
    if (cli_not_negative(cli, "recent"))
        return CLI_USAGE;
    if ((after != NULL) + cli_flag(cli, "recent") + cli_flag(cli, "all") > 1)
        return cli_usage(cli, "--after, --recent and --all exclude each other");
    if (cli_flag(cli, "all"))
        options->recent = TKL_NONE;
    if (after && tkl_channel_id_parse(after, &options->after) != TKL_OK)
        return cli_usage(cli, "invalid --after '%s': an id such as 1763447400123-42", after);
    return CLI_OK;
}

/* Prints messages until there are enough, or none arrives in time. */
static int follow_messages(cli_session *cli, tkl_channel_follower *follower)
{
    int64_t left = cli_number(cli, "max", INT64_MAX), wait_ms = cli_number(cli, "wait", -1);
    bool any = false;
    int failed = CLI_OK;
    while (!failed && left > 0) {
        tkl_channel_messages *messages = NULL;
        int rc = tkl_channel_next(follower, left < 100 ? (size_t)left : 100, wait_ms, &messages);
        if (rc == TKL_EMPTY && any)
            return CLI_OK;
        failed = cli_end(cli, rc);
        if (!failed) {
            left -= (int64_t)messages->count;
            any = true;
            failed = print_messages(cli, messages);
        }
        tkl_channel_messages_free(messages);
    }
    return failed;
}

static int channel_follow(cli_session *cli)
{
    tkl_channel *channel = NULL;
    tkl_channel_follower *follower = NULL;
    tkl_channel_follow_options options;
    int failed = read_start(cli, &options);
    if (!failed && cli_number(cli, "max", 1) < 1)
        failed = cli_usage(cli, "--max is 1 or more");
    if (!failed)
        failed = open_channel(cli, NULL, &channel);
    if (!failed)
        failed = cli_end(cli, tkl_channel_follow(channel, &options, &follower));
    if (!failed)
        failed = follow_messages(cli, follower);
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
    return failed;
}

/* ---- list, show, drop ---------------------------------------------------- */

static int channel_list(cli_session *cli)
{
    return cli_list(cli, tkl_channel_names);
}

static int channel_show(cli_session *cli)
{
    static const cli_column columns[] = {
        {"published", "published"},   {"kept_messages", "kept"},
        {"oldest_id", "oldest kept"}, {"newest_id", "last"},
        {"last_at", "published at"},  {"expires_ms", "expires in"},
        {"followers", "followers"},   {0},
    };
    tkl_channel *channel = NULL;
    tkl_channel_info *info = NULL;
    int failed = open_channel(cli, NULL, &channel);
    if (!failed)
        failed = cli_end_of(cli, tkl_channel_show(channel, &info), "channel");
    tkl_channel_close(channel);
    if (failed)
        return failed;
    json_t *record =
        json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:I}", "name",
                  cli_json_bytes(tkl_str(cli->argv[0])), "published", (json_int_t)info->published,
                  "kept_messages", (json_int_t)info->kept, "oldest_id", json_id(info->oldest),
                  "newest_id", json_id(info->last), "last_at", cli_json_time(info->last.time_ms),
                  "expires_ms", info->expires_ms > 0 ? json_integer(info->expires_ms) : json_null(),
                  "followers", (json_int_t)info->followers);
    tkl_channel_info_free(info);
    return cli_print_record(cli, record, columns);
}

static int channel_drop(cli_session *cli)
{
    tkl_channel *channel = NULL;
    int failed = cli_confirm(cli, "This deletes the channel '%s' with its history.", cli->argv[0]);
    if (!failed)
        failed = open_channel(cli, NULL, &channel);
    if (!failed)
        failed = cli_end_of(cli, tkl_channel_drop(channel), "channel");
    tkl_channel_close(channel);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(
        cli, json_pack("{s:o, s:b}", "name", cli_json_bytes(tkl_str(cli->argv[0])), "dropped", 1));
}

/* ---- The component ------------------------------------------------------- */

static const cli_option publish_options[] = {
    {"lines", CLI_LOCAL_FLAG, NULL,
     "each line of standard input is a message, a thousand at a time"},
    {"history", CLI_INTEGER, "N", "messages to keep, 1 to 1000000 (default 1000)"},
    {"ttl", CLI_PERIOD, "DURATION", "how long messages are kept (default 1d)"},
    {0},
};
static const cli_option follow_options[] = {
    {"recent", CLI_INTEGER, "N", "begin with the last N messages, up to 10000 (default 0)"},
    {"all", CLI_FLAG, NULL, "begin with all messages that are kept"},
    {"after", CLI_TEXT, "ID", "begin behind this message"},
    {"max", CLI_INTEGER, "N", "end after N messages (default: no limit)"},
    {"wait", CLI_WAIT, "DURATION", "end after this long without a message (default forever)"},
    {0},
};
static const cli_option drop_options[] = {CLI_YES, {0}};

static const cli_verb verbs[] = {
    {
        .name = "publish",
        .args = "NAME [MESSAGE]",
        .summary = "publish a message; without MESSAGE, or with -, from standard input",
        .options = publish_options,
        .details = "All followers get it at once. It stays in the history, for those that come\n"
                   "later.",
        .example = "tackle channel publish prices 'apples 42' --json\n"
                   "seq 3 | tackle channel publish prices --lines\n"
                   "tackle channel follow prices --all --wait 0",
        .effect = CLI_WRITES,
        .adds = true,
        .binary = "MESSAGE",
        .run = channel_publish,
    },
    {
        .name = "follow",
        .args = "NAME",
        .summary = "print messages as they are published, a line each",
        .options = follow_options,
        .details = "Messages come in their order, each once, also when the server restarts or\n"
                   "the connection breaks. Messages that were removed before they could be read\n"
                   "are counted on stderr; with --json as \"lost\" of the next message.\n"
                   "\n"
                   "Ends with 0 after --max messages. When none came for --wait: with 0 if some\n"
                   "were printed, else with 1.",
        .example = "tackle channel publish prices 'apples 42'\n"
                   "tackle channel follow prices --recent 10 --max 1 --json",
        .effect = CLI_READS,
        .follows = true,
        .run = channel_follow,
    },
    {
        .name = "list",
        .summary = "all channels",
        .options = cli_list_options,
        .example = "tackle channel publish prices 'apples 42'\n"
                   "tackle channel list",
        .effect = CLI_READS,
        .run = channel_list,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "what a channel keeps, and how many clients follow it",
        .example = "tackle channel publish prices 'apples 42'\n"
                   "tackle channel show prices",
        .effect = CLI_READS,
        .run = channel_show,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete a channel and its history",
        .options = drop_options,
        .example = "tackle channel publish tackle-example 'apples 42'\n"
                   "tackle channel drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = channel_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Messages to all that follow, kept for those that come later.",
     "tackle channel publish prices 'apples 42'", 0},
    {"A late follower gets what it missed, and then what comes.",
     "(sleep 0.2; tackle channel publish prices 'apples 43' >/dev/null) & "
     "tackle channel follow prices --recent 1 --max 2; wait",
     0},
    {0},
};

const cli_component cli_channel = {
    .name = "channel",
    .summary = "publish and subscribe, with a history for late followers",
    .verbs = verbs,
    .shared = "channels",
    .demo = demo,
};
