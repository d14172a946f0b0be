/* SPDX-License-Identifier: MIT
 *
 * Shows a chat: its members, their positions, its limits.
 */
#include <stdlib.h>

#include "chat/chat.h"
#include "core/error.h"
#include "core/plain.h"
#include "post/scripts.h"

/* Members whose own messages are counted by one script. */
#define STEP 500

typedef struct shown {
    tkl_chat_info public;
    tkl_reply *reply, *readers; /* names are views into these; the second may be NULL */
    tkl_chat_member members[];
} shown;

static int64_t between(int64_t least, int64_t number, int64_t most)
{
    return number < least ? least : number > most ? most : number;
}

/* Makes a member from its name and position in the view. The position may be newer than the view.
 * `unread` still includes the member's own messages. */
static tkl_chat_member member_of(const tkl__post_view *view, size_t index)
{
    int64_t acked =
        between(0, tkl_reply_int(tkl_reply_at(view->readers, 2 * index + 1)), view->last);
    int64_t before = view->first - 1; /* messages that are no longer kept */
    return (tkl_chat_member){
        .name = tkl_reply_bytes(tkl_reply_at(view->readers, 2 * index)),
        .acked_id = acked,
        .unread = view->last - (acked > before ? acked : before),
        .missed = before > acked ? before - acked : 0,
    };
}

static shown *make_shown(const tkl__post_view *view)
{
    size_t count = tkl_reply_count(view->readers) / 2;
    shown *s = calloc(1, sizeof *s + count * sizeof *s->members);
    if (!s)
        return NULL;
    for (size_t i = 0; i < count; i++)
        s->members[i] = member_of(view, i);
    s->public = (tkl_chat_info){
        .members = s->members,
        .member_count = count,
        .last_id = view->last,
        .kept = view->last - view->first + 1,
        .bytes = view->bytes,
        .oldest_ms = view->oldest_ms,
        .created_ms = view->created_ms,
        .limits = view->limits,
    };
    return s;
}

/* Subtracts the numbers of own messages from the numbers of unread ones, for members from `first`
 * on. */
static void subtract_own(shown *s, size_t first, const tkl_reply *counts)
{
    for (size_t i = 0; i < tkl_reply_count(counts) && first + i < s->public.member_count; i++) {
        tkl_chat_member *m = &s->members[first + i];
        m->unread = between(0, m->unread - tkl_reply_int(tkl_reply_at(counts, i)), m->unread);
    }
}

/* Counts and subtracts own messages for the members of a large chat, some members in each script:
 * counting for all of them at once would keep the server busy for too long. */
static int count_own_in_steps(const tkl_chat *chat, shown *s, int64_t deadline)
{
    tkl__batch batch;
    tkl__batch_init(&batch, chat->post.client);
    for (size_t first = 0; first < s->public.member_count; first += STEP) {
        tkl__args args;
        tkl__args_init(&args);
        for (size_t i = first; i < s->public.member_count && i < first + STEP; i++) {
            tkl__args_bytes(&args, s->members[i].name);
            tkl__args_int(&args, s->public.last_id - s->members[i].unread + 1);
        }
        tkl__batch_eval(&batch, &tkl__lua_post_owned, &chat->post.keys, &args, true);
        tkl__args_free(&args);
    }
    int rc = tkl__batch_run(&batch, deadline);
    for (size_t i = 0; rc == TKL_OK && i < batch.count; i++)
        subtract_own(s, i * STEP, tkl__batch_reply(&batch, i));
    tkl__batch_free(&batch);
    return rc;
}

int tkl__chat_members(const tkl_chat *chat, bool with_positions, int64_t deadline,
                      tkl_reply **members)
{
    tkl__args words;
    tkl__args_init(&words);
    tkl__args_str(&words, "ZRANGE");
    tkl__args_bytes(&words, chat->post.keys.items[TKL__POST_READERS]);
    tkl__args_str(&words, "0");
    tkl__args_str(&words, "-1");
    if (with_positions)
        tkl__args_str(&words, "WITHSCORES");
    int rc = tkl__plain(chat->post.client, &words, deadline, true, members);
    tkl__args_free(&words);
    return rc;
}

int tkl_chat_show(tkl_chat *chat, tkl_chat_info **info)
{
    int64_t deadline = tkl__post_deadline(&chat->post);
    tkl__post_view view;
    tkl_reply *reply, *readers = NULL;
    *info = NULL;
    int rc = tkl__post_show(&chat->post, &view, &reply);
    bool many = rc == TKL_OK && tkl_reply_count(view.readers) == 0;
    if (many) {
        rc = tkl__chat_members(chat, true, deadline, &readers);
        view.readers = readers;
    }
    shown *s = rc == TKL_OK ? make_shown(&view) : NULL;
    if (!s) {
        tkl_reply_free(reply);
        tkl_reply_free(readers);
        return rc == TKL_OK ? tkl__nomem() : rc;
    }
    s->reply = reply;
    s->readers = readers;
    if (many)
        rc = count_own_in_steps(chat, s, deadline);
    else
        subtract_own(s, 0, view.owned);
    if (rc == TKL_OK)
        *info = &s->public;
    else
        tkl_chat_info_free(&s->public);
    return rc;
}

void tkl_chat_info_free(tkl_chat_info *info)
{
    shown *s = (shown *)info;
    if (!s)
        return;
    tkl_reply_free(s->reply);
    tkl_reply_free(s->readers);
    free(s);
}
