/* SPDX-License-Identifier: MIT
 *
 * Declarations for the files of this folder. The essay is in chat.c.
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

/* The mailbag of a chat. Nothing to free on failure. */
int tkl__chat_post(tkl_client *client, tkl_bytes id, int64_t timeout_ms, tkl__post *post);

/* Reads the members: names, or names and positions, alternating. Uses a plain command: a script
 * would copy many names twice, and keep the server busy. */
int tkl__chat_members(const tkl_chat *chat, bool with_positions, int64_t deadline,
                      tkl_reply **members);

/* ---- lists.c: the members' lists of chats ---- */

/* Makes the key of a member's list. */
int tkl__chat_list_key(const tkl_client *client, tkl_bytes member, tkl__keys *list);

/* The list of a member, or of a member that is being added. */
typedef struct tkl__chat_list {
    tkl__keys key;
    tkl_bytes member;
    int64_t listed_us; /* when the chat was put there; 0: it is not there */
    bool added;        /* the chat was not there before */
    bool full;
} tkl__chat_list;

typedef struct tkl__chat_lists {
    tkl_client *client;
    tkl_bytes id; /* id of the chat */
    tkl__chat_list *items;
    size_t count;
} tkl__chat_lists;

/* The names are borrowed. Nothing to close on failure. No I/O. */
int tkl__chat_lists_open(tkl_client *client, tkl_bytes id, const tkl_bytes *members, size_t count,
                         tkl__chat_lists *lists);
void tkl__chat_lists_close(tkl__chat_lists *lists);
/* Puts the chat into all of the lists, in one round trip for each node. TKL_FULL. */
int tkl__chat_lists_add(tkl__chat_lists *lists, int64_t deadline);
/* Reads when the chat was put into each list. */
int tkl__chat_lists_look(tkl__chat_lists *lists, int64_t deadline);
/* Removes the chat from all of the lists (`added`: only from lists that did not have it before),
 * unless it was put there again since. Best effort. */
void tkl__chat_lists_remove(const tkl__chat_lists *lists, bool added, int64_t deadline);

/* An entry of a member's list. */
typedef struct tkl__chat_entry {
    const tkl__post *post; /* the chat */
    tkl_bytes id;
    int64_t listed_us;
} tkl__chat_entry;

/* Removes entries of chats that do not know the member from its list, unless they were put there
 * again. Best effort. */
void tkl__chat_forget(tkl_client *client, const tkl__keys *list, tkl_bytes member,
                      const tkl__chat_entry *entries, size_t count, int64_t deadline);

#endif
