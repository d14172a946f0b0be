/* SPDX-License-Identifier: MIT
 *
 * A mailbag has messages that readers pull. A mailbox is a mailbag with one reader, its owner. A
 * chat is a mailbag with many readers, its members; only they may send.
 *
 * Ids are 1, 2, 3 ... The script that adds messages takes the next ids: scripts run one at a time,
 * so there are no gaps and senders need no lock. A reader's position is the id up to which it has
 * acknowledged. Messages up to the lowest position are removed: all readers have acknowledged them.
 * The lowest position is the first element of a sorted set. So the cost of sending and
 * acknowledging does not depend on the number of readers.
 *
 * The kept messages are always all messages from some id up to the last: acknowledging and limits
 * only ever remove the oldest. A reader whose position is before the first kept message has missed
 * the messages in between. Nothing has to be stored for that. A chat may keep a history: the last
 * messages, or the messages of the last days, stay although all have acknowledged them
 * (history.inc.lua).
 *
 * The keys of one mailbag, in one slot (C is "mail" or "chat"):
 *
 *   ns:C:{name}           state, a hash:
 *                           last          id of the last message
 *                           sent          bytes of all messages ever sent
 *                           max_messages, max_bytes, max_age, ttl, drop_oldest, history,
 *                         history_age     limits; -1 is none, absent the default
 *                           expired       id up to which messages had expired when the limits were
 *                                         changed the last time
 *                           seen          when the owner of a mailbox last fetched
 *                           created, request   of a chat: when, and by which request
 *   ns:C:{name}:messages  stream of the kept messages: the id is "<id>-0", the fields are sender,
 *                         body, and the headers
 *   ns:C:{name}:marks     list with two numbers for each kept message: its time, and the bytes sent
 *                         before it. They tell which messages are too old or too many bytes, and
 *                         how many fit into a reply, without reading bodies.
 *   ns:C:{name}:readers   sorted set of readers by position; the owner of a mailbox is "owner"
 *   ns:C:{name}:recent    list of the last 20,000 requests to send, each with the first id that it
 *                         got and its time, so that a request whose reply was lost is not executed
 *                         twice. It expires: after one to two minutes without a message, or as long
 *                         as the call of a sender may last, up to 20 minutes.
 *   ns:C:{name}:refused   of a chat: hash of strangers, each with the time of an entry in its list
 *                         that was removed; see chat.c. It expires after 20 minutes.
 *   ns:C:{name}:own       of a chat: sorted set of messages that members sent before they had
 *                         acknowledged all earlier ones. They are not unread for their senders:
 *                         see own.inc.lua. An entry goes when its sender acknowledges that far,
 *                         leaves, or sends after a limit has removed the message.
 *
 * The state and the readers always exist together: a chat has members, and a mailbox gets its
 * reader with its first message or limits. So the scripts notice when one of them was evicted.
 *
 * Removal: messages and marks go with the last message; they expire with `max_age`, and `ttl` after
 * the last message. A chat then expires as a whole; otherwise it stays until its last member
 * leaves. A mailbox stays until it is dropped. Fetching creates no mailbox.
 *
 * Waiting: a waiter subscribes to the channel with the name of the state's key, then looks, then
 * sleeps. Scripts publish every change there that could matter to waiters. A small message is
 * published as a whole: a waiter that had nothing unread uses it if it is the next one, without a
 * round trip. Any other notification makes the waiter look again.
 */
#include "post/post.h"

#include <inttypes.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "core/reply.h"
#include "post/scripts.h"

/* ---- Mailbags ------------------------------------------------------------ */

const tkl_bytes tkl__post_owner = TKL_LIT("owner");

int tkl__post_open(tkl_client *client, bool members, tkl_bytes name, int64_t timeout_ms,
                   tkl__post *post)
{
    static const char *const parts[] = {"",       "messages", "marks", "readers",
                                        "recent", "refused",  "own"};
    size_t all = sizeof parts / sizeof *parts, count = members ? all : TKL__MAIL_KEYS;
    *post = (tkl__post){.client = client, .timeout_ms = timeout_ms, .members = members};
    int rc = tkl__check_number("timeout_ms", timeout_ms, 0, TKL__MS_MAX);
    if (rc != TKL_OK)
        return rc;
    return tkl__keys_make(client, members ? "chat" : "mail", name, parts, count, &post->keys);
}

void tkl__post_close(tkl__post *post)
{
    tkl__keys_free(&post->keys);
}

int64_t tkl__post_deadline(const tkl__post *post)
{
    return tkl__deadline(post->client, post->timeout_ms);
}

int tkl__post_run(const tkl__post *post, const tkl__script *script, tkl__args *args,
                  int64_t deadline, tkl_reply **reply)
{
    int rc = tkl__eval(post->client, script, &post->keys, args, deadline, true, reply);
    tkl__args_free(args);
    if (rc != TKL_OK)
        return rc;
    const tkl_reply *code = tkl_reply_at(*reply, 0);
    return tkl__no_or_ok((int)tkl_reply_int(code ? code : *reply));
}

/* Returns the owner as an argument of scripts: empty for a chat. */
static tkl_bytes owner_of(const tkl__post *post)
{
    return post->members ? tkl_str("") : tkl__post_owner;
}

int tkl__post_explain(const tkl__post *post, int rc)
{
    if (rc == TKL_NOTOWNER)
        return tkl__fail(rc, "not a member of this chat");
    if (rc == TKL_NOTFOUND)
        return tkl__fail(rc, "there is no such %s", post->members ? "chat" : "mailbox");
    if (rc == TKL_FULL)
        return tkl__fail(rc, "a limit of this %s is reached", post->members ? "chat" : "mailbox");
    return rc > 0 ? tkl__no(rc) : rc;
}

/* ---- Sending ------------------------------------------------------------- */

/* Bytes of the random name of a request. */
#define REQUEST_SIZE 12
/* How long a request may be repeated; the server remembers it for as long. */
#define REPEAT_MAX_MS 600000

static int check_headers(const tkl_letter *letter, size_t *headers, size_t *bytes)
{
    int rc = tkl__check_number("the number of headers", (int64_t)letter->header_count, 0,
                               TKL_HEADERS_MAX);
    *headers += letter->header_count;
    if (rc == TKL_OK && *headers > TKL_CALL_HEADERS_MAX)
        rc = tkl__fail(TKL_EINVAL, "more than %d headers in one call", TKL_CALL_HEADERS_MAX);
    for (size_t i = 0; rc == TKL_OK && i < letter->header_count; i++) {
        const tkl_header *header = &letter->headers[i];
        rc = TKL__CHECK_RESERVED(header);
        if (rc == TKL_OK && header->name.len == 0)
            rc = tkl__fail(TKL_EINVAL, "the name of a header is empty");
        *bytes += header->name.len + header->value.len;
    }
    return rc;
}

int tkl__post_letters_check(tkl_bytes sender, const tkl_letter *letters, size_t count)
{
    size_t bytes = 0, headers = 0;
    int rc = tkl__check_number("the number of messages", (int64_t)count, 0, TKL_MESSAGES_MAX);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        bytes += sender.len + letters[i].body.len;
        rc = TKL__CHECK_RESERVED(&letters[i]);
        if (rc == TKL_OK)
            rc = check_headers(&letters[i], &headers, &bytes);
        if (rc == TKL_OK && bytes > TKL_MESSAGE_MAX)
            rc = tkl__fail(TKL_EINVAL, "more than %d bytes in one call", TKL_MESSAGE_MAX);
    }
    return rc;
}

static void add_letter(tkl__args *args, const tkl_letter *letter)
{
    tkl__args_bytes(args, letter->body);
    tkl__args_int(args, (int64_t)(2 * letter->header_count));
    for (size_t i = 0; i < letter->header_count; i++) {
        tkl__args_bytes(args, letter->headers[i].name);
        tkl__args_bytes(args, letter->headers[i].value);
    }
}

void tkl__post_letters_args(const tkl_letter *letters, size_t count, tkl__args *args)
{
    for (size_t i = 0; i < count; i++)
        add_letter(args, &letters[i]);
}

/* How long a call with this deadline may repeat its request. */
static int64_t repeat_window_ms(int64_t deadline)
{
    int64_t left = tkl__left(deadline);
    return left < REPEAT_MAX_MS * INT64_C(1000) ? left / 1000 + 1 : REPEAT_MAX_MS;
}

/* A request whose outcome is unknown is repeated with "again": the script then checks whether it
 * was executed. If the repeat fails, the outcome of the first request stays unknown. */
static int run_send(const tkl__post *post, tkl__args *args, int64_t deadline, tkl_reply **reply)
{
    int64_t last = tkl__now() + REPEAT_MAX_MS * INT64_C(1000);
    int first =
        tkl__eval(post->client, &tkl__lua_post_send, &post->keys, args, deadline, false, reply);
    last = last < deadline ? last : deadline;
    if (!tkl_is_unknown(first) || tkl__left(last) == 0)
        return first;
    args->items[1] = tkl_str("1");
    int rc = tkl__eval(post->client, &tkl__lua_post_send, &post->keys, args, last, true, reply);
    return rc == TKL_OK ? rc : tkl__fail_in(first, "sent, and the answer was lost");
}

static void send_args(const tkl__post *post, tkl_bytes sender, const tkl_letter *letters,
                      size_t count, int64_t deadline, tkl__args *args)
{
    tkl__args_str(args, "0");
    tkl__args_int(args, repeat_window_ms(deadline));
    tkl__args_bytes(args, owner_of(post));
    tkl__args_bytes(args, sender);
    tkl__post_letters_args(letters, count, args);
}

int tkl__post_send(const tkl__post *post, tkl_bytes sender, const tkl_letter *letters, size_t count,
                   int64_t *first_id)
{
    char request[REQUEST_SIZE];
    tkl__args args;
    tkl_reply *reply = NULL;
    if (first_id)
        *first_id = 0;
    int rc = tkl__post_letters_check(sender, letters, count);
    if (rc != TKL_OK || count == 0)
        return rc;
    int64_t deadline = tkl__post_deadline(post);
    tkl__random(request, sizeof request);
    tkl__args_init(&args);
    tkl__args_bytes(&args, (tkl_bytes){request, sizeof request});
    send_args(post, sender, letters, count, deadline, &args);
    rc = run_send(post, &args, deadline, &reply);
    tkl__args_free(&args);
    if (rc == TKL_OK)
        rc = (int)tkl_reply_int(tkl_reply_at(reply, 0));
    if (rc == TKL_OK && first_id)
        *first_id = tkl_reply_int(tkl_reply_at(reply, 1));
    tkl_reply_free(reply);
    if (rc == TKL_EUNKNOWN && reply)
        return tkl__fail(rc, "sent, the answer was lost, and many have sent since");
    return tkl__post_explain(post, rc);
}

/* ---- Acknowledging ------------------------------------------------------- */

int tkl__post_ack(const tkl__post *post, tkl_bytes reader, int64_t id, int64_t *unread,
                  int64_t *acked)
{
    tkl__args args;
    tkl_reply *reply;
    if (unread)
        *unread = 0;
    if (acked)
        *acked = 0;
    int rc = tkl__check_number("an id", id, 0, TKL__POST_ID_MAX);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_bytes(&args, reader);
    tkl__args_str(&args, post->members ? "0" : "1");
    if (id > 0)
        tkl__args_int(&args, id);
    else
        tkl__args_str(&args, "");
    rc = tkl__post_run(post, &tkl__lua_post_ack, &args, tkl__post_deadline(post), &reply);
    if (rc == TKL_OK && unread)
        *unread = tkl_reply_int(tkl_reply_at(reply, 1));
    if (rc == TKL_OK && acked)
        *acked = tkl_reply_int(tkl_reply_at(reply, 2));
    bool ahead = rc == TKL_NOTFOUND && tkl_reply_count(reply) > 1;
    tkl_reply_free(reply);
    if (ahead)
        return tkl__fail(rc, "no message has the id %" PRId64 " yet", id);
    return tkl__post_explain(post, rc);
}

/* ---- Limits -------------------------------------------------------------- */

#define COUNT_MAX (INT64_C(1) << 50)

int tkl__post_limits_check(const tkl_message_limits *limits)
{
    if (!limits)
        return TKL_OK;
    return TKL__CHECK_OPTIONS(
        limits, {"max_messages", limits->max_messages, TKL_NONE, COUNT_MAX},
        {"max_bytes", limits->max_bytes, TKL_NONE, COUNT_MAX},
        {"max_age_ms", limits->max_age_ms, TKL_NONE, TKL__MS_MAX},
        {"ttl_ms", limits->ttl_ms, TKL_NONE, TKL__MS_MAX},
        {"history_messages", limits->history_messages, TKL_NONE, COUNT_MAX},
        {"history_ms", limits->history_ms, TKL_NONE, TKL__MS_MAX},
        {"when_full", (int64_t)limits->when_full, 0, TKL_WHEN_FULL_DROP_OLDEST});
}

void tkl__post_limits_args(const tkl_message_limits *limits, tkl_when_full otherwise,
                           tkl__args *args)
{
    static const tkl_message_limits defaults = {0};
    if (!limits)
        limits = &defaults;
    tkl_when_full when = limits->when_full ? limits->when_full : otherwise;
    const struct {
        const char *field;
        int64_t value;
    } pairs[] = {
        {"max_messages", limits->max_messages},
        {"max_bytes", limits->max_bytes},
        {"max_age", limits->max_age_ms},
        {"ttl", limits->ttl_ms},
        {"history", limits->history_messages},
        {"history_age", limits->history_ms},
        {"drop_oldest", when == TKL_WHEN_FULL_DROP_OLDEST},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        tkl__args_str(args, pairs[i].field);
        tkl__args_int(args, pairs[i].value);
    }
}

int tkl__post_limit(const tkl__post *post, const tkl_message_limits *limits)
{
    tkl__args args;
    tkl_reply *reply;
    int rc = tkl__post_limits_check(limits);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_bytes(&args, owner_of(post));
    tkl__post_limits_args(limits, post->members ? TKL_WHEN_FULL_DROP_OLDEST : TKL_WHEN_FULL_REFUSE,
                          &args);
    rc = tkl__post_run(post, &tkl__lua_post_limit, &args, tkl__post_deadline(post), &reply);
    tkl_reply_free(reply);
    return tkl__post_explain(post, rc);
}

/* ---- Looking ------------------------------------------------------------- */

/* Reads a field in a reply of HGETALL as a number; `otherwise`: the number of a missing field. */
static int64_t field_of(const tkl_reply *fields, const char *name, int64_t otherwise)
{
    for (size_t i = 0; i + 1 < tkl_reply_count(fields); i += 2)
        if (strcmp(tkl_reply_str(tkl_reply_at(fields, i)), name) == 0)
            return tkl_reply_int(tkl_reply_at(fields, i + 1));
    return otherwise;
}

static tkl_message_limits limits_of(const tkl_reply *fields)
{
    bool drops = field_of(fields, "drop_oldest", 0) == 1;
    return (tkl_message_limits){
        .max_messages = field_of(fields, "max_messages", TKL__POST_MESSAGES),
        .max_bytes = field_of(fields, "max_bytes", TKL__POST_BYTES),
        .max_age_ms = field_of(fields, "max_age", TKL_NONE),
        .ttl_ms = field_of(fields, "ttl", TKL_NONE),
        .history_messages = field_of(fields, "history", TKL_NONE),
        .history_ms = field_of(fields, "history_age", TKL_NONE),
        .when_full = drops ? TKL_WHEN_FULL_DROP_OLDEST : TKL_WHEN_FULL_REFUSE,
    };
}

/* The elements of a reply of post/show behind the code. */
enum { FIRST = 1, LAST, BYTES, OLDEST, FIELDS, READERS, OWNED };

static void read_view(const tkl_reply *reply, tkl__post_view *view)
{
    const tkl_reply *fields = tkl_reply_at(reply, FIELDS);
    *view = (tkl__post_view){
        .first = tkl__reply_number(tkl_reply_at(reply, FIRST)),
        .last = tkl__reply_number(tkl_reply_at(reply, LAST)),
        .bytes = tkl_reply_int(tkl_reply_at(reply, BYTES)),
        .oldest_ms = tkl_reply_int(tkl_reply_at(reply, OLDEST)),
        .fetched_ms = field_of(fields, "seen", 0),
        .created_ms = field_of(fields, "created", 0),
        .limits = limits_of(fields),
        .readers = tkl_reply_at(reply, READERS),
        .owned = tkl_reply_at(reply, OWNED),
    };
}

int tkl__post_show(const tkl__post *post, tkl__post_view *view, tkl_reply **reply)
{
    tkl__args args;
    tkl__args_init(&args);
    int rc = tkl__post_run(post, &tkl__lua_post_show, &args, tkl__post_deadline(post), reply);
    if (rc == TKL_OK)
        read_view(*reply, view);
    return tkl__post_explain(post, rc);
}

int tkl__post_drop(const tkl__post *post, int64_t deadline)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    int rc = tkl__post_run(post, &tkl__lua_post_drop, &args, deadline, &reply);
    tkl_reply_free(reply);
    return tkl__post_explain(post, rc);
}

/* ---- Names --------------------------------------------------------------- */

/* Each mailbag has a state, whose key ends with the brace. */
int tkl__post_names(tkl_client *client, const char *component, tkl_names **names)
{
    return tkl__instances(client, component, "", "hash", names);
}

const char *tkl_when_full_name(tkl_when_full when_full)
{
    static const char *const names[] = {"default", "refuse", "drop oldest"};
    return TKL__ENUM_NAME((int)when_full, names);
}
