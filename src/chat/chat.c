/* SPDX-License-Identifier: MIT
 *
 * Chats: mailbags (src/post, with the essay on their keys) that many readers pull. The readers are
 * the members; only they may send.
 *
 * A chat and its members' lists of chats have different names, so that in a cluster they live in
 * different slots, and no script can change both. The chat decides: its readers are its members.
 * That is one key in one slot, so that creating, joining and leaving are one atomic step each. The
 * lists say where to look:
 *
 *   ns:chats:{member}   sorted set of the chats in which the member is or may be, by the server's
 *                       time at which each was put there last
 *
 * The rule: a member's list has every chat of which it is a member; it may have others. Fetching
 * asks each chat on the list, and chats where it is not a member say so.
 *
 *   create, join   first the list, then the chat, then the list once more. When the chat refuses,
 *                  the list is as before.
 *   leave, drop    the times of the entries are read; then the chat, then the lists: an entry is
 *                  removed unless its time is another one by now (chat/unlist).
 *
 * All steps can be repeated, and a program that dies in between leaves a surplus entry. When a
 * member joins and leaves at the same time: a join writes a new time into the entry before and
 * after, and no two times are alike. So if a leave removes the entry of a join that is under way,
 * the last step of the join puts it back. (It takes a join and a leave or drop at once, and the
 * death of the joining program between its last two steps, to lose an entry.)
 *
 * Surplus entries, left by a program that died or by a chat that expired, are removed by every
 * fetch that finds one, and by every join that finds a list full. But while a member is being
 * added, the chat is already on its list and the member not yet in the chat, and the program that
 * adds it may die between its last two steps. So post/refuse tells the chat first, with the time of
 * the entry: from then on the chat does not accept the member by this entry, and the program that
 * adds it begins again with the list. The chat remembers that for twenty minutes, and accepts a
 * member only within ten minutes of the time of its entry. This holds as long as the clocks of the
 * servers differ by less than ten minutes.
 *
 * Waiting: an inbox listens to the channel of its list (a new entry) and to the channels of its
 * chats (new messages, new members). A message is one publication, however many members there are.
 */
#include "chat/chat.h"

#include <stdio.h>
#include <stdlib.h>

#include "chat/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/token.h"
#include "post/scripts.h"

/* Most attempts to add members: an attempt that took too long is made again. */
#define ATTEMPTS 3

/* ---- Handles ------------------------------------------------------------- */

int tkl__chat_post(tkl_client *client, tkl_bytes id, int64_t timeout_ms, tkl__post *post)
{
    return tkl__post_open(client, true, id, timeout_ms, post);
}

static int open_chat(tkl_chat *chat, tkl_client *client, tkl_bytes id, int64_t timeout_ms)
{
    int rc = tkl__chat_post(client, id, timeout_ms, &chat->post);
    if (rc != TKL_OK)
        return rc;
    chat->id = tkl__copy_bytes(id);
    chat->id_len = id.len;
    return chat->id ? TKL_OK : tkl__nomem();
}

int tkl_chat_open(tkl_client *client, tkl_bytes id, const tkl_chat_options *options,
                  tkl_chat **chat)
{
    char assigned[TKL_TOKEN_SIZE];
    *chat = NULL;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc != TKL_OK)
        return rc;
    if (id.len == 0) {
        tkl__token_new(assigned);
        id = tkl_str(assigned);
    }
    tkl_chat *c = calloc(1, sizeof *c);
    if (!c)
        return tkl__nomem();
    rc = open_chat(c, client, id, options ? options->timeout_ms : 0);
    if (rc == TKL_OK)
        *chat = c;
    else
        tkl_chat_close(c);
    return rc;
}

void tkl_chat_close(tkl_chat *chat)
{
    if (!chat)
        return;
    tkl__post_close(&chat->post);
    free(chat->id);
    free(chat);
}

tkl_bytes tkl_chat_id(const tkl_chat *chat)
{
    return (tkl_bytes){chat->id, chat->id_len};
}

/* ---- Members ------------------------------------------------------------- */

static int check_member(tkl_bytes member)
{
    if (member.len >= 1 && member.len <= TKL_NAME_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the name of a member has 1 to %d bytes, not %zu", TKL_NAME_MAX,
                     member.len);
}

static int check_members(const tkl_bytes *members, size_t count)
{
    size_t bytes = 0;
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = check_member(members[i]);
        bytes += members[i].len;
    }
    if (rc == TKL_OK && bytes > TKL_CHAT_CREATE_BYTES)
        rc = tkl__fail(TKL_EINVAL, "the names of the members have more than %d bytes in all",
                       TKL_CHAT_CREATE_BYTES);
    return rc;
}

/* The second step of adding members: the step on the chat. */
typedef int add_step(const tkl_chat *chat, const tkl__chat_lists *lists, int64_t deadline,
                     const void *arg);

/* Adds the chat to the lists, then the members to the chat; starts again when too much time passed
 * in between. */
static int add_to_both(const tkl_chat *chat, tkl__chat_lists *lists, int64_t deadline,
                       add_step *step, const void *arg)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        int rc = tkl__chat_lists_add(lists, deadline);
        if (rc != TKL_OK)
            return rc;
        rc = step(chat, lists, deadline, arg);
        if (rc != TKL_CONFLICT)
            return tkl__post_explain(&chat->post, rc);
    }
    return tkl__fail(TKL_EUNREADY, "the clocks of the servers differ by more than ten minutes");
}

/* The last step of adding members: puts the chat into the lists again, or takes it out of them
 * after a refusal. It is best effort: the result, and its error text, are known already. */
static int settle_lists(tkl__chat_lists *lists, int rc, int kept, int64_t deadline)
{
    tkl_error before;
    tkl_error_last(rc, &before);
    if (rc == TKL_OK)
        (void)tkl__chat_lists_add(lists, deadline);
    else if (rc != kept && !tkl__may_pass(rc))
        tkl__chat_lists_remove(lists, true, deadline);
    tkl__begin();
    return tkl__first_tell(&before);
}

/* Adds members by `step`. `kept`: the "no" after which the chat stays in the lists. A leave at the
 * same time may have removed the chat from a list after the first step, so the last step puts it
 * there again. */
static int add_members(const tkl_chat *chat, const tkl_bytes *members, size_t count, add_step *step,
                       const void *arg, int kept)
{
    int64_t deadline = tkl__post_deadline(&chat->post);
    tkl__chat_lists lists;
    int rc = check_members(members, count);
    if (rc == TKL_OK)
        rc = tkl__chat_lists_open(chat->post.client, tkl_chat_id(chat), members, count, &lists);
    if (rc != TKL_OK)
        return rc;
    rc = add_to_both(chat, &lists, deadline, step, arg);
    rc = settle_lists(&lists, rc, kept, deadline);
    tkl__chat_lists_close(&lists);
    return rc;
}

typedef struct creation {
    char request[TKL_TOKEN_SIZE];
    const tkl_message_limits *limits;
    tkl_bytes sender; /* the member that sends the letters */
    const tkl_letter *letters;
    size_t letter_count;
} creation;

static int create_step(const tkl_chat *chat, const tkl__chat_lists *lists, int64_t deadline,
                       const void *arg)
{
    const creation *c = arg;
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__args_str(&args, c->request);
    tkl__args_bytes(&args, c->sender);
    tkl__args_int(&args, (int64_t)lists->count);
    tkl__post_limits_args(c->limits, TKL_WHEN_FULL_DROP_OLDEST, &args);
    for (size_t i = 0; i < lists->count; i++) {
        tkl__args_bytes(&args, lists->items[i].member);
        tkl__args_int(&args, lists->items[i].listed_us);
    }
    tkl__post_letters_args(c->letters, c->letter_count, &args);
    int rc = tkl__post_run(&chat->post, &tkl__lua_post_create, &args, deadline, &reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_chat_create(tkl_chat *chat, const tkl_bytes *members, size_t count,
                    const tkl_message_limits *limits)
{
    return tkl_chat_create_and_send(chat, members, count, limits, tkl_str(""), NULL, 0);
}

int tkl_chat_create_and_send(tkl_chat *chat, const tkl_bytes *members, size_t count,
                             const tkl_message_limits *limits, tkl_bytes sender,
                             const tkl_letter *letters, size_t letter_count)
{
    creation c = {
        .limits = limits, .sender = sender, .letters = letters, .letter_count = letter_count};
    int rc = tkl__check_number("the number of members", (int64_t)count, 1, TKL_CHAT_CREATE_MAX);
    if (rc == TKL_OK)
        rc = tkl__post_limits_check(limits);
    if (rc == TKL_OK)
        rc = tkl__post_letters_check(sender, letters, letter_count);
    if (rc != TKL_OK)
        return rc;
    tkl__token_new(c.request);
    return add_members(chat, members, count, create_step, &c, TKL_OK);
}

static int join_step(const tkl_chat *chat, const tkl__chat_lists *lists, int64_t deadline,
                     const void *arg)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__args_bytes(&args, lists->items[0].member);
    tkl__args_int(&args, lists->items[0].listed_us);
    tkl__args_int(&args, TKL_CHAT_MEMBERS_MAX);
    tkl__args_str(&args, arg);
    int rc = tkl__post_run(&chat->post, &tkl__lua_post_join, &args, deadline, &reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_chat_join(tkl_chat *chat, tkl_bytes member, tkl_chat_start start)
{
    const char *from = start == TKL_CHAT_START_OLDEST ? "start" : "end";
    int rc = tkl__check_number("start", (int64_t)start, 0, TKL_CHAT_START_OLDEST);
    if (rc != TKL_OK)
        return rc;
    return add_members(chat, &member, 1, join_step, from, TKL_EXISTS);
}

static int leave_step(const tkl_chat *chat, tkl_bytes member, int64_t deadline)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__args_bytes(&args, member);
    int rc = tkl__post_run(&chat->post, &tkl__lua_post_leave, &args, deadline, &reply);
    tkl_reply_free(reply);
    return rc;
}

/* Removes the entry of the list even when the chat says "not a member": an earlier attempt may have
 * removed the member and then failed. */
int tkl_chat_leave(tkl_chat *chat, tkl_bytes member)
{
    int64_t deadline = tkl__post_deadline(&chat->post);
    tkl__chat_lists lists;
    int rc = check_member(member);
    if (rc == TKL_OK)
        rc = tkl__chat_lists_open(chat->post.client, tkl_chat_id(chat), &member, 1, &lists);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__chat_lists_look(&lists, deadline);
    if (rc == TKL_OK)
        rc = leave_step(chat, member, deadline);
    if (rc >= TKL_OK) {
        tkl__chat_lists_remove(&lists, false, deadline);
        tkl__begin();
    }
    tkl__chat_lists_close(&lists);
    return tkl__post_explain(&chat->post, rc);
}

/* ---- Messages ------------------------------------------------------------ */

int tkl_chat_send(tkl_chat *chat, tkl_bytes sender, const tkl_letter *letters, size_t count,
                  int64_t *first_id)
{
    if (first_id)
        *first_id = 0;
    int rc = check_member(sender);
    return rc == TKL_OK ? tkl__post_send(&chat->post, sender, letters, count, first_id) : rc;
}

int tkl_chat_fetch(tkl_chat *chat, tkl_bytes member, size_t max, int64_t wait_ms,
                   tkl_messages **messages)
{
    *messages = NULL;
    int rc = check_member(member);
    return rc == TKL_OK ? tkl__post_fetch(&chat->post, member, max, wait_ms, messages) : rc;
}

int tkl_chat_history(tkl_chat *chat, tkl_bytes member, int64_t before_id, size_t max,
                     tkl_messages **messages)
{
    *messages = NULL;
    int rc = check_member(member);
    return rc == TKL_OK ? tkl__post_history(&chat->post, member, before_id, max, messages) : rc;
}

int tkl_chat_ack(tkl_chat *chat, tkl_bytes member, int64_t id, int64_t *unread)
{
    if (unread)
        *unread = 0;
    int rc = check_member(member);
    if (rc == TKL_OK)
        rc = tkl__check_number("an id", id, 1, TKL__POST_ID_MAX);
    return rc == TKL_OK ? tkl__post_ack(&chat->post, member, id, unread, NULL) : rc;
}

/* ---- Limits, removing ---------------------------------------------------- */

int tkl_chat_limit(tkl_chat *chat, const tkl_message_limits *limits)
{
    return tkl__post_limit(&chat->post, limits);
}

/* Opens the lists of all members and reads the times of the entries. Nothing to close on
 * failure. */
static int look_at_lists(const tkl_chat *chat, const tkl_reply *members, int64_t deadline,
                         tkl__chat_lists *lists)
{
    size_t count = tkl_reply_count(members);
    tkl_bytes *names = calloc(count + 1, sizeof *names);
    if (!names)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        names[i] = tkl_reply_bytes(tkl_reply_at(members, i));
    int rc = tkl__chat_lists_open(chat->post.client, tkl_chat_id(chat), names, count, lists);
    free(names);
    if (rc == TKL_OK)
        (void)tkl__chat_lists_look(lists, deadline);
    return rc;
}

/* Also removes the entries in the lists of the members, as best effort: a fetch removes the rest.
 * Reading the lists gets half of the time: a list that cannot be reached does not prevent that the
 * chat is dropped. */
int tkl_chat_drop(tkl_chat *chat)
{
    int64_t deadline = tkl__post_deadline(&chat->post);
    int64_t half = tkl__now() + tkl__left(deadline) / 2;
    tkl__chat_lists lists = {0};
    tkl_reply *members = NULL;
    if (tkl__chat_members(chat, false, half, &members) == TKL_OK)
        (void)look_at_lists(chat, members, half, &lists);
    int rc = tkl__post_drop(&chat->post, deadline);
    if (rc >= TKL_OK) {
        tkl__chat_lists_remove(&lists, false, deadline);
        tkl__begin();
    }
    tkl__chat_lists_close(&lists);
    tkl_reply_free(members);
    return tkl__post_explain(&chat->post, rc);
}

int tkl_chat_names(tkl_client *client, tkl_names **names)
{
    return tkl__post_names(client, "chat", names);
}

const char *tkl_chat_start_name(tkl_chat_start start)
{
    static const char *const names[] = {"default", "end", "oldest"};
    return TKL__ENUM_NAME((int)start, names);
}
