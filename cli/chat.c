/* SPDX-License-Identifier: MIT
 *
 * Chats from the shell.
 */
#include "chat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "lines.h"
#include "messages.h"
#include "value.h"

int cli_chat_open(cli_session *cli, int index, tkl_chat **chat)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    if (*cli->argv[index] == '\0')
        return cli_usage(cli, "the id of a chat is empty");
    return cli_end(cli, tkl_chat_open(client, tkl_str(cli->argv[index]), NULL, chat));
}

/* ---- create -------------------------------------------------------------- */

/* "-": the library makes a new id. */
static int open_new(cli_session *cli, tkl_chat **chat)
{
    tkl_client *client = NULL;
    if (strcmp(cli->argv[0], "-") != 0)
        return cli_chat_open(cli, 0, chat);
    int failed = cli_connect(cli, &client);
    return failed ? failed : cli_end(cli, tkl_chat_open(client, tkl_str(""), NULL, chat));
}

static int create_with(cli_session *cli, tkl_chat *chat, const tkl_message_limits *limits)
{
    size_t count = (size_t)cli->argc - 1;
    tkl_bytes *members = calloc(count + 1, sizeof *members);
    if (!members)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; i < count; i++)
        members[i] = tkl_str(cli->argv[i + 1]);
    tkl_letter letter = {.body = tkl_str(cli_text(cli, "message", ""))};
    tkl_bytes sender = tkl_str(cli_text(cli, "from", cli->argv[1]));
    int failed = cli_end(cli, tkl_chat_create_and_send(chat, members, count, limits, sender,
                                                       &letter, cli_flag(cli, "message") ? 1 : 0));
    free(members);
    return failed;
}

static int print_created(const cli_session *cli, tkl_bytes id)
{
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:o, s:b}", "name", cli_json_bytes(id), "created", true));
    cli_print_bytes(id);
    putchar('\n');
    return CLI_OK;
}

static int chat_create(cli_session *cli)
{
    tkl_chat *chat = NULL;
    tkl_message_limits limits = {0};
    if (cli_flag(cli, "from") && !cli_flag(cli, "message"))
        return cli_usage(cli, "--from goes with --message");
    int failed = cli_limits(cli, true, &limits);
    if (!failed)
        failed = open_new(cli, &chat);
    if (!failed)
        failed = create_with(cli, chat, &limits);
    if (!failed)
        failed = print_created(cli, tkl_chat_id(chat));
    tkl_chat_close(chat);
    return failed;
}

/* ---- send ---------------------------------------------------------------- */

static int send_letters(void *to, tkl_bytes sender, const tkl_letter *letters, size_t count,
                        int64_t *first_id)
{
    return tkl_chat_send(to, sender, letters, count, first_id);
}

static int chat_send(cli_session *cli)
{
    tkl_chat *chat = NULL;
    int failed = cli_chat_open(cli, 0, &chat);
    if (!failed)
        failed = cli_send(cli, 2, tkl_str(cli->argv[1]), send_letters, chat);
    tkl_chat_close(chat);
    return failed;
}

/* ---- fetch --------------------------------------------------------------- */

static int open_inbox(cli_session *cli, tkl_inbox **inbox)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_inbox_open(client, tkl_str(cli->argv[0]), NULL, inbox));
}

static json_t *json_chat(const tkl_inbox_chat *chat)
{
    return json_pack("{s:o, s:o, s:I, s:I}", "chat", cli_json_bytes(chat->id), "messages",
                     cli_json_messages(chat->messages), "missed",
                     (json_int_t)chat->messages->missed, "unread",
                     (json_int_t)chat->messages->unread);
}

static int print_json_chats(const cli_session *cli, const tkl_inbox_chats *chats)
{
    json_t *all = json_array();
    for (size_t i = 0; chats && i < chats->count; i++)
        if (chats->items[i].messages)
            json_array_append_new(all, json_chat(&chats->items[i]));
    return cli_print_json(cli, all);
}

static void print_chats(const cli_session *cli, const tkl_inbox_chats *chats)
{
    for (size_t i = 0; chats && i < chats->count; i++) {
        const tkl_inbox_chat *chat = &chats->items[i];
        char *id = cli_escape(chat->id, false);
        if (chat->messages) {
            if (!cli_flag(cli, "raw"))
                printf("%s%s%s\n", cli_color(stdout, CLI_BOLD), id ? id : "",
                       cli_color(stdout, CLI_PLAIN));
            cli_print_messages(cli, chat->messages, CLI_INDENT);
            cli_warn_missed(cli, chat->messages, id);
        }
        free(id);
    }
}

/* Reports chats that could not be read; the other chats are printed. */
static int warn_unread(const cli_session *cli, const tkl_inbox_chats *chats)
{
    int failed = CLI_OK;
    for (size_t i = 0; chats && i < chats->count; i++)
        if (!chats->items[i].messages)
            failed = cli_fail_with(cli, chats->items[i].code, "chat " TKL_FMT ": %s",
                                   TKL_ARG(chats->items[i].id), tkl_strerror(chats->items[i].code));
    return failed;
}

/* Acknowledges messages only after they were printed. */
static int print_fetched(cli_session *cli, tkl_inbox *inbox, const tkl_inbox_chats *chats)
{
    int failed = CLI_OK;
    if (cli->json)
        failed = print_json_chats(cli, chats);
    else
        print_chats(cli, chats);
    if (!failed)
        failed = cli_flush(cli);
    if (!failed && chats && cli_flag(cli, "ack"))
        failed = cli_end(cli, tkl_inbox_ack_all(inbox, chats));
    return failed ? failed : warn_unread(cli, chats);
}

static int chat_fetch(cli_session *cli)
{
    tkl_inbox *inbox = NULL;
    tkl_inbox_chats *chats = NULL;
    size_t count;
    int failed = cli_fetch_count(cli, &count);
    if (!failed)
        failed = open_inbox(cli, &inbox);
    if (!failed) {
        int rc = tkl_inbox_fetch(inbox, count, cli_number(cli, "wait", 0), &chats);
        failed = cli_end(cli, rc);
        if (rc == TKL_OK || rc == TKL_EMPTY) {
            int printed = print_fetched(cli, inbox, chats);
            failed = failed ? failed : printed;
        }
    }
    tkl_inbox_chats_free(chats);
    tkl_inbox_close(inbox);
    return failed;
}

/* ---- ack, join, leave ---------------------------------------------------- */

static int print_unread(const cli_session *cli, int64_t unread)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:o, s:o, s:I}", "name",
                                             cli_json_bytes(tkl_str(cli->argv[0])), "member",
                                             cli_json_bytes(tkl_str(cli->argv[1])), "unread",
                                             (json_int_t)unread));
    printf("%" PRId64 "\n", unread);
    return CLI_OK;
}

static int chat_ack(cli_session *cli)
{
    tkl_chat *chat = NULL;
    int64_t id = 0, unread = 0;
    const char *wrong = cli_parse_integer(cli->argv[2], &id);
    if (wrong)
        return cli_usage(cli, "invalid id '%s': %s", cli->argv[2], wrong);
    int failed = cli_chat_open(cli, 0, &chat);
    if (!failed)
        failed = cli_end(cli, tkl_chat_ack(chat, tkl_str(cli->argv[1]), id, &unread));
    tkl_chat_close(chat);
    return failed ? failed : print_unread(cli, unread);
}

static int chat_history(cli_session *cli)
{
    tkl_chat *chat = NULL;
    tkl_messages *messages = NULL;
    int64_t before = cli_number(cli, "before", 0);
    size_t count;
    int failed = cli_fetch_count(cli, &count);
    if (!failed && cli_flag(cli, "before") && before < 1)
        failed = cli_usage(cli, "--before is the id of a message");
    if (!failed)
        failed = cli_chat_open(cli, 0, &chat);
    if (!failed) {
        int rc = tkl_chat_history(chat, tkl_str(cli->argv[1]), before, count, &messages);
        failed = cli_end(cli, rc);
        if (cli->json && (rc == TKL_OK || rc == TKL_EMPTY))
            cli_print_json(cli, cli_json_messages(messages));
        else if (!failed)
            cli_print_messages(cli, messages, 0);
    }
    tkl_messages_free(messages);
    tkl_chat_close(chat);
    return failed;
}

static int chat_join(cli_session *cli)
{
    tkl_chat *chat = NULL;
    tkl_chat_start start = cli_flag(cli, "oldest") ? TKL_CHAT_START_OLDEST : TKL_CHAT_START_END;
    int failed = cli_chat_open(cli, 0, &chat);
    if (!failed)
        failed = cli_end(cli, tkl_chat_join(chat, tkl_str(cli->argv[1]), start));
    tkl_chat_close(chat);
    return failed ? failed : cli_print_done(cli, "joined");
}

static int chat_leave(cli_session *cli)
{
    tkl_chat *chat = NULL;
    int failed = cli_chat_open(cli, 0, &chat);
    if (!failed)
        failed = cli_end(cli, tkl_chat_leave(chat, tkl_str(cli->argv[1])));
    tkl_chat_close(chat);
    return failed ? failed : cli_print_done(cli, "left");
}

/* ---- show, list ---------------------------------------------------------- */

static const cli_column fields[] = {
    {"name", "chat"},   {"last_id", "last id"},  {"message_count", "kept messages"},
    {"bytes", "bytes"}, {"oldest_at", "oldest"}, {"created_at", "created"},
    CLI_LIMIT_FIELDS,   CLI_HISTORY_FIELDS,      {0},
};

static const cli_column member_columns[] = {
    {"name", "MEMBER"},
    {"acked_id", "ACKNOWLEDGED"},
    {"unread", "UNREAD"},
    {"missed", "MISSED"},
    {0},
};

static json_t *json_members(const tkl_chat_info *info)
{
    json_t *all = json_array();
    for (size_t i = 0; i < info->member_count; i++) {
        const tkl_chat_member *m = &info->members[i];
        json_array_append_new(all,
                              json_pack("{s:o, s:o, s:I, s:I}", "name", cli_json_bytes(m->name),
                                        "acked_id", cli_json_known(m->acked_id), "unread",
                                        (json_int_t)m->unread, "missed", (json_int_t)m->missed));
    }
    return all;
}

static json_t *json_info(const cli_session *cli, const tkl_chat_info *info)
{
    json_t *object = json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
        "last_id", cli_json_known(info->last_id), "message_count", (json_int_t)info->kept, "bytes",
        (json_int_t)info->bytes, "oldest_at", cli_json_time(info->oldest_ms), "created_at",
        cli_json_time(info->created_ms), "members", json_members(info));
    if (object)
        cli_set_limits(object, &info->limits, true);
    return object;
}

/* For people: the fields, then a table of the members. */
static int print_info(const cli_session *cli, json_t *object)
{
    if (cli->json || !object)
        return cli_print_json(cli, object);
    json_t *members = json_incref(json_object_get(object, "members"));
    int failed = cli_print_record(cli, object, fields);
    if (failed) {
        json_decref(members);
        return failed;
    }
    putchar('\n');
    return cli_print_rows(cli, members, member_columns);
}

static int chat_show(cli_session *cli)
{
    tkl_chat *chat = NULL;
    tkl_chat_info *info = NULL;
    int failed = cli_chat_open(cli, 0, &chat);
    if (!failed)
        failed = cli_end_of(cli, tkl_chat_show(chat, &info), "chat");
    if (!failed)
        failed = print_info(cli, json_info(cli, info));
    tkl_chat_info_free(info);
    tkl_chat_close(chat);
    return failed;
}

static const cli_column unread_columns[] = {
    {"name", "CHAT"},
    {"unread", "UNREAD"},
    {"missed", "MISSED"},
    {0},
};

static void add_row(json_t *rows, const tkl_inbox_chat *chat)
{
    if (chat->messages)
        json_array_append_new(rows, json_pack("{s:o, s:I, s:I}", "name", cli_json_bytes(chat->id),
                                              "unread", (json_int_t)chat->messages->unread,
                                              "missed", (json_int_t)chat->messages->missed));
}

static int print_unread_counts(cli_session *cli, const tkl_inbox_chats *chats)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < chats->count; i++)
        add_row(rows, &chats->items[i]);
    int failed = cli_print_rows(cli, rows, unread_columns);
    return failed ? failed : warn_unread(cli, chats);
}

static int list_of_member(cli_session *cli)
{
    tkl_inbox *inbox = NULL;
    tkl_inbox_chats *chats = NULL;
    int failed = open_inbox(cli, &inbox);
    if (!failed)
        failed = cli_end(cli, tkl_inbox_show(inbox, &chats));
    if (!failed)
        failed = print_unread_counts(cli, chats);
    tkl_inbox_chats_free(chats);
    tkl_inbox_close(inbox);
    return failed;
}

static int chat_list(cli_session *cli)
{
    return cli->argc > 0 ? list_of_member(cli) : cli_list(cli, tkl_chat_names);
}

/* ---- limit, drop --------------------------------------------------------- */

/* Reads the limits, changes the limits that are given, and prints the result. */
static int chat_limit(cli_session *cli)
{
    tkl_chat *chat = NULL;
    tkl_chat_info *info = NULL;
    tkl_message_limits limits = {0};
    int failed = cli_chat_open(cli, 0, &chat);
    if (!failed)
        failed = cli_end_of(cli, tkl_chat_show(chat, &info), "chat");
    if (!failed) {
        limits = info->limits;
        failed = cli_limits(cli, true, &limits);
    }
    if (!failed && cli_limits_given(cli, true))
        failed = cli_end(cli, tkl_chat_limit(chat, &limits));
    tkl_chat_info_free(info);
    tkl_chat_close(chat);
    return failed ? failed : cli_print_limits(cli, &limits, true);
}

static int chat_drop(cli_session *cli)
{
    tkl_chat *chat = NULL;
    int failed =
        cli_confirm(cli, "This deletes the chat '%s' with all its messages.", cli->argv[0]);
    if (!failed)
        failed = cli_chat_open(cli, 0, &chat);
    if (!failed)
        failed = cli_end_of(cli, tkl_chat_drop(chat), "chat");
    tkl_chat_close(chat);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option create_options[] = {
    {"message", CLI_TEXT, "BODY", "a first message, which nobody sees the chat without"},
    {"from", CLI_TEXT, "MEMBER", "who sends it (default: the first member)"},
    CLI_LIMITS,
    CLI_HISTORY,
    {0},
};

static const cli_option limit_options[] = {
    CLI_LIMITS,
    CLI_HISTORY,
    {0},
};

static const cli_option history_options[] = {
    {"count", CLI_INTEGER, "N", "at most N messages (default 100)"},
    {"before", CLI_INTEGER, "ID", "messages older than this one, for the page before"},
    {"raw", CLI_FLAG, NULL, "print the bodies alone, a newline behind each"},
    {0},
};

static const cli_option send_options[] = {
    CLI_SEND_OPTIONS,
    {0},
};

static const cli_option fetch_options[] = {
    CLI_FETCH_OPTIONS(" of each chat"),
    {0},
};

static const cli_option join_options[] = {
    {"oldest", CLI_FLAG, NULL, "start with the oldest message that is kept, not at the end"},
    {0},
};

static const cli_option yes_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "create",
        .args = "NAME MEMBER...",
        .summary = "make a chat with these members; prints its name",
        .options = create_options,
        .details =
            "For - as the name, one is assigned. When full, a chat drops its oldest messages\n"
            "unless --when-full says otherwise. A message that all have acknowledged is removed,\n"
            "unless --history or --history-for keeps it; with both, it must be among the last N\n"
            "and that young. Exit code 1 when the chat exists, or the sender is not a member.",
        .example = "tackle chat create - ann bob",
        .effect = CLI_WRITES,
        .adds = true,
        .run = chat_create,
    },
    {
        .name = "send",
        .args = "NAME SENDER [BODY]",
        .summary = "send a message to all members; prints its id",
        .options = send_options,
        .details =
            "Without a body, or for -, standard input is the body, to its end. With --lines\n"
            "each line is a message, and the id of the first is printed. A thousand lines or\n"
            "fewer are one call: when one fails, those before it were sent, and it says so.\n"
            "Exit code 1 when the sender is not a member.",
        .example = "chat=$(tackle chat create - ann bob)\n"
                   "tackle chat send \"$chat\" ann 'lunch at noon?'",
        .effect = CLI_WRITES,
        .adds = true,
        .binary = "BODY",
        .run = chat_send,
    },
    {
        .name = "fetch",
        .args = "MEMBER",
        .summary = "print the messages of all its chats that a member has not acknowledged",
        .options = fetch_options,
        .details =
            "The name of each chat, and behind two blanks its messages: a line with id, time and\n"
            "sender, then the body, each line of it behind four blanks. Messages of its own are\n"
            "not unread and not printed.\n"
            "Until they are acknowledged, the same messages are fetched again. \"missed\" in JSON\n"
            "is how many were removed unread by a limit. Exit code 1 when there is none. A chat\n"
            "that cannot be read is named on standard error; the others are printed all the same.",
        .example = "chat=$(tackle chat create - ann bob)\n"
                   "tackle chat send \"$chat\" ann 'lunch at noon?'\n"
                   "tackle chat fetch bob --wait 5s --ack --json",
        .effect = CLI_WRITES,
        .run = chat_fetch,
    },
    {
        .name = "ack",
        .args = "NAME MEMBER ID",
        .summary = "acknowledge all messages of a chat up to an id; prints how many are left",
        .details =
            "Acknowledging less than before changes nothing. Exit code 1 when no message has\n"
            "this id yet.",
        .example = "chat=$(tackle chat create - ann bob)\n"
                   "tackle chat ack \"$chat\" bob \"$(tackle chat send \"$chat\" ann hello)\"",
        .effect = CLI_WRITES,
        .run = chat_ack,
    },
    {
        .name = "history",
        .args = "NAME MEMBER",
        .summary = "print the newest messages that are kept, also read ones",
        .options = history_options,
        .details = "Oldest first, also the member's own; nothing is acknowledged. How long "
                   "messages stay:\n"
                   "--history and --history-for of `chat create` and `chat limit`. Exit code 1 "
                   "when there\n"
                   "is none.",
        .example = "chat=$(tackle chat create - ann bob --history 100 --message 'welcome!')\n"
                   "tackle chat fetch bob --ack\n"
                   "tackle chat history \"$chat\" bob --json",
        .effect = CLI_READS,
        .run = chat_history,
    },
    {
        .name = "join",
        .args = "NAME MEMBER",
        .summary = "add a member to a chat",
        .options = join_options,
        .details =
            "It gets what is sent from then on. Exit code 1 when it is a member already, or\n"
            "when there is no such chat.",
        .example = "chat=$(tackle chat create - ann bob)\n"
                   "tackle chat join \"$chat\" eve --json",
        .effect = CLI_WRITES,
        .run = chat_join,
    },
    {
        .name = "leave",
        .args = "NAME MEMBER",
        .summary = "remove a member from a chat; the last one removes the chat",
        .example = "chat=$(tackle chat create - ann bob)\n"
                   "tackle chat leave \"$chat\" bob --json",
        .effect = CLI_WRITES,
        .run = chat_leave,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "members and how far they have acknowledged, limits",
        .example = "tackle chat show \"$(tackle chat create - ann bob)\"",
        .effect = CLI_READS,
        .run = chat_show,
    },
    {
        .name = "list",
        .args = "[MEMBER]",
        .summary = "all chats, or those of a member with the number of unread messages",
        .options = cli_list_options,
        .example = "tackle chat list ann",
        .effect = CLI_READS,
        .run = chat_list,
    },
    {
        .name = "limit",
        .args = "NAME",
        .summary = "show how much is kept, or change some of the limits",
        .options = limit_options,
        .details = "Options that are not given change nothing; 0 removes a limit.",
        .example =
            "tackle chat limit \"$(tackle chat create - ann bob)\" --max-messages 500 --json",
        .effect = CLI_WRITES,
        .run = chat_limit,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "remove a chat with all its messages",
        .options = yes_options,
        .example = "tackle chat create tackle-example ann\n"
                   "tackle chat drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = chat_drop,
    },
    {
        .name = "talk",
        .args = "NAME MEMBER",
        .summary = "an interactive session: lines typed are sent, messages are printed",
        .details =
            "Messages are acknowledged when they are printed. Those of the member itself are\n"
            "not shown. Ends with the end of standard input (Ctrl-D); the member stays one.\n"
            "On a terminal it goes on when the server is away, and says what was not sent;\n"
            "otherwise it ends then.",
        .example = "chat=$(tackle chat create - ann bob)\n"
                   "tackle chat send \"$chat\" ann 'lunch at noon?'\n"
                   "echo 'make it one' | tackle chat talk \"$chat\" bob",
        .local = "it is a conversation on a terminal",
        .run = cli_chat_talk,
    },
    {0},
};

static const cli_step demo[] = {
    {"A chat of three. A message stays until all of them have acknowledged it.",
     "tackle chat create lunch ann bob eve; tackle chat send lunch ann 'noon?'; "
     "tackle chat fetch bob --ack; tackle chat show lunch",
     0},
    {"Who joins gets what is sent from then on; who is not a member cannot send.",
     "tackle chat join lunch zoe; tackle chat send lunch zoe 'me too'; tackle chat fetch eve; "
     "tackle chat send lunch mallory hello",
     1},
    {"Waiting ends when a message comes, in whichever chat.",
     "(sleep 0.2; tackle chat send lunch eve 'one o clock' >/dev/null) & "
     "tackle chat fetch bob --ack; tackle chat fetch bob --wait 10s --ack; wait",
     0},
    {0},
};

const cli_component cli_chat = {
    .name = "chat",
    .summary = "chats: messages that stay until all members have acknowledged them",
    .verbs = verbs,
    .shared = "chats",
    .demo = demo,
};
