/* SPDX-License-Identifier: MIT
 *
 * What the files of this folder share. The essay is in chat.c.
 */
#ifndef TKL_CHAT_CHAT_H
#define TKL_CHAT_CHAT_H

#include <tackle/chat.h>

#include "post/post.h"

struct tkl_chat {
    tkl__post post;
    char *id;
    size_t id_len;
};

/* The line of messages of a chat. Nothing to free on failure. */
int tkl__chat_post(tkl_client *client, tkl_bytes id, int64_t timeout_ms, tkl__post *post);

/* ---- lists.c: the lists of chats that members have ---- */

/* The key of a member's list. */
int tkl__chat_list_key(const tkl_client *client, tkl_bytes member, tkl__keys *list);

/* The list of a member that is being added to a chat. */
typedef struct tkl__chat_list {
    tkl__keys key;
    int64_t listed_ms; /* when the chat was put there */
    bool added;        /* it was not there before */
} tkl__chat_list;

typedef struct tkl__chat_lists {
    tkl_client *client;
    tkl_bytes id; /* of the chat */
    tkl__chat_list *items;
    size_t count;
} tkl__chat_lists;

/* Nothing to close on failure. No I/O. */
int tkl__chat_lists_open(tkl_client *client, tkl_bytes id, const tkl_bytes *members, size_t count,
                         tkl__chat_lists *lists);
void tkl__chat_lists_close(tkl__chat_lists *lists);
/* Puts the chat into all of them, in one trip for each node. */
int tkl__chat_lists_add(tkl__chat_lists *lists, int64_t deadline);
/* The earliest of the times at which it was put there. */
int64_t tkl__chat_lists_earliest(const tkl__chat_lists *lists);
/* Removes it from those where it was not before, unless it was put there anew. Best effort. */
void tkl__chat_lists_undo(tkl__chat_lists *lists, int64_t deadline);

/* When the chat was put into the list, for tkl__chat_list_remove(), which does nothing if it was
 * put there anew since. Removing is best effort. */
int tkl__chat_list_time(tkl_client *client, const tkl__keys *list, tkl_bytes id, int64_t deadline,
                        tkl_reply **time);
void tkl__chat_list_remove(tkl_client *client, const tkl__keys *list, tkl_bytes id,
                           const tkl_reply *time, int64_t deadline);

/* Removes the chat from the list, if the entry is old. Best effort. */
void tkl__chat_forget(tkl_client *client, const tkl__keys *list, tkl_bytes id, int64_t deadline);

#endif
