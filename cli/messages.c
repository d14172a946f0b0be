/* SPDX-License-Identifier: MIT
 *
 * Messages and their limits, shown and given.
 */
#include "messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "items.h"

/* ---- Messages ------------------------------------------------------------ */

static json_t *json_headers(const tkl_message *message)
{
    json_t *all = json_array();
    for (size_t i = 0; i < message->header_count; i++)
        json_array_append_new(all, json_pack("{s:o, s:o}", "name",
                                             cli_json_bytes(message->headers[i].name), "value",
                                             cli_json_bytes(message->headers[i].value)));
    return all;
}

json_t *cli_json_message(const tkl_message *message)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "id", (json_int_t)message->id, "sender",
                     cli_json_present(message->sender), "time", cli_json_time(message->time_ms),
                     "body", cli_json_bytes(message->body), "headers", json_headers(message));
}

json_t *cli_json_messages(const tkl_messages *messages)
{
    json_t *all = json_array();
    for (size_t i = 0; messages && i < messages->count; i++)
        json_array_append_new(all, cli_json_message(&messages->items[i]));
    return all;
}

static void indent(int blanks)
{
    printf("%*s", blanks, "");
}

/* Indents each line of the body. A body that ends with a newline has an empty last line. */
static void print_body(tkl_bytes body, int blanks)
{
    indent(blanks);
    cli_print_indented(body, blanks);
    putchar('\n');
}

static void print_message(const tkl_message *message, int blanks)
{
    json_t *time = cli_json_time(message->time_ms);
    char *sender = cli_escape(message->sender, false);
    indent(blanks);
    printf("%s%" PRId64 "  %s  %s%s\n", cli_color(stdout, CLI_DIM), message->id,
           time ? json_string_value(time) : "", sender ? sender : "", cli_color(stdout, CLI_PLAIN));
    print_body(message->body, blanks + CLI_INDENT);
    free(sender);
    json_decref(time);
}

void cli_print_messages(const cli_session *cli, const tkl_messages *messages, int blanks)
{
    bool raw = cli_flag(cli, "raw");
    for (size_t i = 0; i < messages->count; i++) {
        if (!raw) {
            print_message(&messages->items[i], blanks);
            continue;
        }
        cli_print_bytes(messages->items[i].body);
        putchar('\n');
    }
}

int cli_fetch_count(const cli_session *cli, size_t *count)
{
    int64_t given = cli_number(cli, "count", 100);
    *count = (size_t)given;
    if (given < 1 || given > TKL_MESSAGES_MAX)
        return cli_usage(cli, "--count is from 1 to %d", TKL_MESSAGES_MAX);
    if (cli->json && cli_flag(cli, "raw"))
        return cli_usage(cli, "--raw does not go with --json");
    return CLI_OK;
}

void cli_warn_missed(const cli_session *cli, const tkl_messages *messages, const char *where)
{
    if (messages->missed > 0 && !cli->json)
        fprintf(stderr, "tackle: %s%s%" PRId64 " messages were removed unread by a limit\n",
                where ? where : "", where ? ": " : "", messages->missed);
}

/* ---- Limits -------------------------------------------------------------- */

/* Fields of chats stand behind the fields of all messages. */
static const char *const limit_options[] = {"max-messages", "max-bytes", "max-age",
                                            "ttl",          "history",   "history-for"};
enum { LIMITS_OF_ALL = 4, LIMITS_OF_CHATS = sizeof limit_options / sizeof *limit_options };

int cli_limits(const cli_session *cli, bool of_chat, tkl_message_limits *limits)
{
    int64_t *const all[] = {&limits->max_messages, &limits->max_bytes,        &limits->max_age_ms,
                            &limits->ttl_ms,       &limits->history_messages, &limits->history_ms};
    const char *when = cli_text(cli, "when-full", NULL);
    for (int i = 0; i < (of_chat ? LIMITS_OF_CHATS : LIMITS_OF_ALL); i++) {
        int64_t limit = cli_number(cli, limit_options[i], 0);
        if (limit < 0)
            return cli_usage(cli, "--%s must not be negative", limit_options[i]);
        if (cli_flag(cli, limit_options[i]))
            *all[i] = limit > 0 ? limit : TKL_NONE;
    }
    if (when)
        limits->when_full =
            strcmp(when, "drop") == 0 ? TKL_WHEN_FULL_DROP_OLDEST : TKL_WHEN_FULL_REFUSE;
    return CLI_OK;
}

bool cli_limits_given(const cli_session *cli, bool of_chat)
{
    bool given = cli_flag(cli, "when-full");
    for (int i = 0; i < (of_chat ? LIMITS_OF_CHATS : LIMITS_OF_ALL); i++)
        given = given || cli_flag(cli, limit_options[i]);
    return given;
}

static void set_limit(json_t *object, const char *name, int64_t limit)
{
    json_object_set_new(object, name,
                        limit == TKL_NONE ? json_null() : json_integer((json_int_t)limit));
}

void cli_set_limits(json_t *object, const tkl_message_limits *limits, bool of_chat)
{
    bool drops = limits->when_full == TKL_WHEN_FULL_DROP_OLDEST;
    set_limit(object, "max_messages", limits->max_messages);
    set_limit(object, "max_bytes", limits->max_bytes);
    set_limit(object, "max_age_ms", limits->max_age_ms);
    set_limit(object, "ttl_ms", limits->ttl_ms);
    json_object_set_new(object, "when_full", json_string(drops ? "drop" : "refuse"));
    if (!of_chat)
        return;
    set_limit(object, "history_messages", limits->history_messages);
    set_limit(object, "history_ms", limits->history_ms);
}

int cli_print_limits(const cli_session *cli, const tkl_message_limits *limits, bool of_chat)
{
    static const cli_column of_mail[] = {{"name", "name"}, CLI_LIMIT_FIELDS, {0}};
    static const cli_column of_chats[] = {
        {"name", "name"}, CLI_LIMIT_FIELDS, CLI_HISTORY_FIELDS, {0}};
    json_t *object = json_pack("{s:o}", "name", cli_json_bytes(tkl_str(cli->argv[0])));
    if (object)
        cli_set_limits(object, limits, of_chat);
    return cli_print_record(cli, object, of_chat ? of_chats : of_mail);
}

/* ---- Sending ------------------------------------------------------------- */

typedef struct sending {
    cli_send_fn *send;
    void *to;
    tkl_bytes sender;
    tkl_header headers[TKL_HEADERS_MAX];
    size_t header_count;
    int64_t first_id; /* 0: nothing was sent yet */
    int64_t count;
} sending;

static int read_headers(const cli_session *cli, sending *s)
{
    for (size_t i = 0; i < cli->ngiven; i++) {
        const char *text = cli->given[i].text;
        if (strcmp(cli->given[i].option->name, "header") != 0)
            continue;
        const char *equals = strchr(text, '=');
        if (!equals || equals == text)
            return cli_usage(cli, "invalid --header '%s': NAME=VALUE is expected", text);
        if (s->header_count == TKL_HEADERS_MAX)
            return cli_usage(cli, "more than %d headers", TKL_HEADERS_MAX);
        s->headers[s->header_count++] = (tkl_header){
            .name = {text, (size_t)(equals - text)},
            .value = tkl_str(equals + 1),
        };
    }
    return CLI_OK;
}

static size_t header_bytes(const sending *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->header_count; i++)
        bytes += s->headers[i].name.len + s->headers[i].value.len;
    return bytes;
}

/* Returns how many of the items fit into one call, each with its sender and all headers; at least
 * one. */
static size_t fitting(const sending *s, const tkl_bytes *items, size_t count)
{
    size_t each = s->sender.len + header_bytes(s), bytes = 0, n = 0;
    size_t most = TKL_CALL_HEADERS_MAX / (s->header_count > 0 ? s->header_count : 1);
    for (; n < count && n < most; n++) {
        bytes += each + items[n].len;
        if (bytes > TKL_MESSAGE_MAX)
            break;
    }
    return n > 0 ? n : 1;
}

static int send_call(cli_session *cli, const tkl_bytes *items, size_t count, sending *s)
{
    tkl_letter *letters = calloc(count, sizeof *letters);
    int64_t id = 0;
    if (!letters)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; i < count; i++) {
        letters[i].body = items[i];
        letters[i].headers = s->headers;
        letters[i].header_count = s->header_count;
    }
    int failed = cli_end(cli, s->send(s->to, s->sender, letters, count, &id));
    free(letters);
    if (failed)
        return failed;
    if (s->first_id == 0)
        s->first_id = id;
    s->count += (int64_t)count;
    return CLI_OK;
}

static int send_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    sending *s = arg;
    int failed = CLI_OK;
    for (size_t sent = 0; !failed && sent < count;) {
        size_t n = fitting(s, items + sent, count - sent);
        failed = send_call(cli, items + sent, n, s);
        sent += n;
    }
    return failed;
}

static int send_payload(cli_session *cli, int index, sending *s)
{
    tkl_bytes body;
    int failed = cli_payload(cli, index, &body);
    return failed ? failed : send_some(cli, &body, 1, s);
}

/* Prints the id of the first message; there is none when --lines has read no line. */
static int print_sent(const cli_session *cli, const sending *s)
{
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:o, s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])), "id",
                           s->first_id > 0 ? json_integer((json_int_t)s->first_id) : json_null(),
                           "count", (json_int_t)s->count));
    if (s->first_id > 0)
        printf("%" PRId64 "\n", s->first_id);
    return CLI_OK;
}

/* Reports the messages that were sent before the failure. */
static int end_failed(const cli_session *cli, const sending *s, int failed)
{
    if (s->count > 0 && cli->json)
        (void)print_sent(cli, s);
    else if (s->count > 0)
        fprintf(stderr, "tackle: the first %" PRId64 " messages were sent\n", s->count);
    return failed;
}

int cli_send(cli_session *cli, int index, tkl_bytes sender, cli_send_fn *send, void *to)
{
    sending s = {.send = send, .to = to, .sender = sender};
    int failed = read_headers(cli, &s);
    if (!failed)
        failed = cli_flag(cli, "lines") ? cli_items(cli, index, send_some, &s)
                                        : send_payload(cli, index, &s);
    return failed ? end_failed(cli, &s, failed) : print_sent(cli, &s);
}
