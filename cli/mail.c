/* SPDX-License-Identifier: MIT
 *
 * Mailboxes from the shell.
 */
#include <inttypes.h>

#include "holders.h"
#include "lines.h"
#include "messages.h"
#include "value.h"

static int open_box(cli_session *cli, tkl_mail **mail)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_mail_open(client, tkl_str(cli->argv[0]), NULL, mail));
}

/* ---- send ---------------------------------------------------------------- */

static int send_letters(void *to, tkl_bytes sender, const tkl_letter *letters, size_t count,
                        int64_t *first_id)
{
    return tkl_mail_send(to, sender, letters, count, first_id);
}

static int mail_send(cli_session *cli)
{
    tkl_mail *mail = NULL;
    int failed = open_box(cli, &mail);
    if (!failed)
        failed = cli_send(cli, 1, tkl_str(cli_text(cli, "from", "")), send_letters, mail);
    tkl_mail_close(mail);
    return failed;
}

/* ---- fetch, ack ---------------------------------------------------------- */

/* Adds "missed" to each message: how many a limit removed unread just before it. */
static json_t *json_mail(const tkl_messages *messages)
{
    json_t *all = cli_json_messages(messages), *message;
    size_t i;
    json_array_foreach(all, i, message) json_object_set_new(
        message, "missed", json_integer(i == 0 ? (json_int_t)messages->missed : 0));
    return all;
}

/* Acknowledges messages only after they were printed. */
static int print_fetched(cli_session *cli, tkl_mail *mail, const tkl_messages *messages)
{
    int failed = CLI_OK;
    if (cli->json)
        failed = cli_print_json(cli, json_mail(messages));
    else if (messages)
        cli_print_messages(cli, messages, 0);
    if (!failed && messages)
        failed = cli_flush(cli);
    if (failed || !messages)
        return failed;
    cli_warn_missed(cli, messages, NULL);
    if (!cli_flag(cli, "ack"))
        return CLI_OK;
    return cli_end(cli, tkl_mail_ack(mail, messages->items[messages->count - 1].id, NULL));
}

static int mail_fetch(cli_session *cli)
{
    tkl_mail *mail = NULL;
    tkl_messages *messages = NULL;
    size_t count;
    int failed = cli_fetch_count(cli, &count);
    if (!failed)
        failed = open_box(cli, &mail);
    if (!failed) {
        int rc = tkl_mail_fetch(mail, count, cli_number(cli, "wait", 0), &messages);
        failed = cli_end(cli, rc);
        if (rc == TKL_OK || rc == TKL_EMPTY) {
            int printed = print_fetched(cli, mail, messages);
            failed = failed ? failed : printed;
        }
    }
    tkl_messages_free(messages);
    tkl_mail_close(mail);
    return failed;
}

static int print_unread(const cli_session *cli, int64_t unread)
{
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                        "unread", (json_int_t)unread));
    printf("%" PRId64 "\n", unread);
    return CLI_OK;
}

static int mail_ack(cli_session *cli)
{
    tkl_mail *mail = NULL;
    int64_t id = 0, unread = 0;
    const char *wrong = cli_parse_integer(cli->argv[1], &id);
    if (wrong)
        return cli_usage(cli, "invalid id '%s': %s", cli->argv[1], wrong);
    int failed = open_box(cli, &mail);
    if (!failed)
        failed = cli_end(cli, tkl_mail_ack(mail, id, &unread));
    tkl_mail_close(mail);
    return failed ? failed : print_unread(cli, unread);
}

/* ---- unread, show, limit, purge, drop ------------------------------------ */

/* Reads the state of a mailbox; one that does not exist is no failure, and *info is NULL. */
static int find_info(cli_session *cli, tkl_mail *mail, tkl_mail_info **info)
{
    int rc = tkl_mail_show(mail, info);
    return rc == TKL_NOTFOUND ? CLI_OK : cli_end(cli, rc);
}

/* Nobody has sent anything to a mailbox that does not exist. */
static int mail_unread(cli_session *cli)
{
    tkl_mail *mail = NULL;
    tkl_mail_info *info = NULL;
    int failed = open_box(cli, &mail);
    if (!failed)
        failed = find_info(cli, mail, &info);
    if (!failed)
        failed = print_unread(cli, info ? info->unread : 0);
    tkl_mail_info_free(info);
    tkl_mail_close(mail);
    return failed;
}

static const cli_column fields[] = {
    {"name", "mailbox of"},
    {"unread", "unread"},
    {"missed", "missed"},
    {"bytes", "bytes"},
    {"last_id", "last id"},
    {"acked_id", "acknowledged id"},
    {"oldest_at", "oldest unread"},
    {"fetched_at", "last fetched"},
    CLI_LIMIT_FIELDS,
    {0},
};

static int mail_show(cli_session *cli)
{
    tkl_mail *mail = NULL;
    tkl_mail_info *info = NULL;
    int failed = open_box(cli, &mail);
    if (!failed)
        failed = cli_end_of(cli, tkl_mail_show(mail, &info), "mailbox");
    tkl_mail_close(mail);
    if (failed)
        return failed;
    json_t *object = json_pack(
        "{s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
        "unread", (json_int_t)info->unread, "missed", (json_int_t)info->missed, "bytes",
        (json_int_t)info->bytes, "last_id", cli_json_known(info->last_id), "acked_id",
        cli_json_known(info->acked_id), "oldest_at", cli_json_time(info->oldest_ms), "fetched_at",
        cli_json_time(info->fetched_ms));
    if (object)
        cli_set_limits(object, &info->limits, false);
    tkl_mail_info_free(info);
    return cli_print_record(cli, object, fields);
}

/* Changes the limits that are given; the others stay. A mailbox that does not exist gets them. */
static int change_limits(cli_session *cli, tkl_mail *mail)
{
    tkl_mail_info *before = NULL;
    tkl_message_limits limits = {0};
    int failed = find_info(cli, mail, &before);
    if (before)
        limits = before->limits;
    tkl_mail_info_free(before);
    if (!failed)
        failed = cli_limits(cli, false, &limits);
    return failed ? failed : cli_end(cli, tkl_mail_limit(mail, &limits));
}

static int mail_limit(cli_session *cli)
{
    tkl_mail *mail = NULL;
    tkl_mail_info *info = NULL;
    int failed = open_box(cli, &mail);
    if (!failed && cli_limits_given(cli, false))
        failed = change_limits(cli, mail);
    if (!failed)
        failed = cli_end_of(cli, tkl_mail_show(mail, &info), "mailbox");
    if (!failed)
        failed = cli_print_limits(cli, &info->limits, false);
    tkl_mail_info_free(info);
    tkl_mail_close(mail);
    return failed;
}

static int print_purged(const cli_session *cli, int64_t removed)
{
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                        "removed", (json_int_t)removed));
    printf("%" PRId64 "\n", removed);
    return CLI_OK;
}

static int mail_purge(cli_session *cli)
{
    tkl_mail *mail = NULL;
    int64_t removed = 0;
    int failed = cli_confirm(cli, "This deletes all messages to '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_box(cli, &mail);
    if (!failed)
        failed = cli_end(cli, tkl_mail_purge(mail, &removed));
    tkl_mail_close(mail);
    return failed ? failed : print_purged(cli, removed);
}

static int mail_drop(cli_session *cli)
{
    tkl_mail *mail = NULL;
    int failed = cli_confirm(cli, "This deletes the mailbox of '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_box(cli, &mail);
    if (!failed)
        failed = cli_end_of(cli, tkl_mail_drop(mail), "mailbox");
    tkl_mail_close(mail);
    return failed ? failed : cli_print_done(cli, "dropped");
}

static int mail_list(cli_session *cli)
{
    return cli_list(cli, tkl_mail_names);
}

/* ---- The component ------------------------------------------------------- */

static const cli_option send_options[] = {
    {"from", CLI_TEXT, "NAME", "the sender"},
    CLI_SEND_OPTIONS,
    {0},
};

static const cli_option fetch_options[] = {
    CLI_FETCH_OPTIONS(""),
    {0},
};

static const cli_option limit_options[] = {
    CLI_LIMITS,
    {0},
};

static const cli_option yes_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "send",
        .args = "NAME [BODY]",
        .summary = "send a message; prints its id",
        .options = send_options,
        .details =
            "Without a body, or for -, standard input is the body, to its end. With --lines\n"
            "each line is a message, and the id of the first is printed. A thousand lines or\n"
            "fewer are one call: when one fails, those before it were sent, and it says so.\n"
            "Exit code 1 when a limit of the mailbox is reached.",
        .example = "tackle mail send ann --from bob 'lunch at noon?'\n"
                   "echo 'see attachment' | tackle mail send ann --from bob --header type=text",
        .effect = CLI_WRITES,
        .adds = true,
        .binary = "BODY",
        .run = mail_send,
    },
    {
        .name = "fetch",
        .args = "NAME",
        .summary = "print the messages that are not acknowledged, oldest first",
        .options = fetch_options,
        .details =
            "A line with id, time and sender, then the body, each line of it behind two blanks.\n"
            "Until they are acknowledged, the same messages are fetched again. \"missed\" in JSON\n"
            "is how many were removed unread by a limit just before a message.\n"
            "Exit code 1 when there is none.",
        .example = "tackle mail send ann --from bob hello\n"
                   "tackle mail fetch ann --wait 5s --ack --json",
        .effect = CLI_WRITES,
        .run = mail_fetch,
    },
    {
        .name = "ack",
        .args = "NAME ID",
        .summary = "acknowledge all messages up to an id; prints how many are left",
        .details =
            "Acknowledging less than before changes nothing. Exit code 1 when no message has\n"
            "this id yet.",
        .example = "tackle mail ack ann \"$(tackle mail send ann hello)\"",
        .effect = CLI_WRITES,
        .run = mail_ack,
    },
    {
        .name = "unread",
        .args = "NAME",
        .summary = "how many messages are not acknowledged",
        .example = "tackle mail unread ann",
        .effect = CLI_READS,
        .run = mail_unread,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "unread, missed, when the owner last fetched, limits",
        .details = "Exit code 1 when there is no such mailbox.",
        .example = "tackle mail send ann hello\n"
                   "tackle mail show ann --json",
        .effect = CLI_READS,
        .run = mail_show,
    },
    {
        .name = "limit",
        .args = "NAME",
        .summary = "show how much is kept, or change some of the limits",
        .options = limit_options,
        .details =
            "Options that are not given change nothing; 0 removes a limit. Without options, exit\n"
            "code 1 when there is no such mailbox.",
        .example = "tackle mail limit ann --max-messages 1000 --max-age 30d --json",
        .effect = CLI_WRITES,
        .run = mail_limit,
    },
    {
        .name = "purge",
        .args = "NAME",
        .summary = "remove all messages; prints how many",
        .options = yes_options,
        .details = "Limits stay, and ids go on.",
        .example = "tackle mail send tackle-example hello\n"
                   "tackle mail purge tackle-example --yes",
        .effect = CLI_WRITES,
        .run = mail_purge,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "remove a mailbox",
        .options = yes_options,
        .example = "tackle mail send tackle-example hello\n"
                   "tackle mail drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = mail_drop,
    },
    {
        .name = "list",
        .summary = "the owners of all mailboxes",
        .options = cli_list_options,
        .example = "tackle mail list",
        .effect = CLI_READS,
        .run = mail_list,
    },
    {0},
};

static const cli_step demo[] = {
    {"Ann is offline. Her mail waits for her.",
     "tackle mail send ann --from bob 'lunch at noon?'; "
     "tackle mail send ann --from eve 'the build is red'; tackle mail unread ann",
     0},
    {"What is not acknowledged comes again: a crash between the two loses nothing.",
     "tackle mail fetch ann --count 1; tackle mail fetch ann --ack", 0},
    {"Waiting sends nothing, and ends when a message comes.",
     "(sleep 0.2; tackle mail send ann --from bob hello >/dev/null) & "
     "tackle mail fetch ann --wait 10s --ack; wait",
     0},
    {0},
};

const cli_component cli_mail = {
    .name = "mail",
    .summary = "mailboxes: messages that stay until they are acknowledged",
    .verbs = verbs,
    .shared = "mailboxes",
    .demo = demo,
};
