/* SPDX-License-Identifier: MIT
 *
 * Shows a chat: its members, their positions, its limits.
 */
#include <stdlib.h>

#include "chat/chat.h"
#include "core/error.h"
#include "core/plain.h"

typedef struct shown {
    tkl_chat_info public;
    tkl_reply *reply, *readers; /* names are views into these; the second may be NULL */
    tkl_chat_member members[];
} shown;

static int64_t between(int64_t least, int64_t number, int64_t most)
{
    return number < least ? least : number > most ? most : number;
}

/* A member of the view. Its position may be newer than the view. */
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
    tkl__post_view view;
    tkl_reply *reply, *readers = NULL;
    *info = NULL;
    int rc = tkl__post_show(&chat->post, &view, &reply);
    if (rc == TKL_OK && tkl_reply_count(view.readers) == 0) {
        rc = tkl__chat_members(chat, true, tkl__post_deadline(&chat->post), &readers);
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
    *info = &s->public;
    return TKL_OK;
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
