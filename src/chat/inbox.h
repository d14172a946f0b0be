/* SPDX-License-Identifier: MIT
 *
 * Inboxes: all chats of one member. The essay is in inbox.c.
 */
#ifndef TKL_CHAT_INBOX_H
#define TKL_CHAT_INBOX_H

#include "chat/chat.h"
#include "core/waiting.h"

/* ---- places.c: the chats on the list of a member ------------------------- */

/* One chat on the list. */
typedef struct tkl__chat_place {
    char *id; /* owned */
    size_t id_len;
    tkl__post post;
    tkl__ear ear;
    int64_t listed_us; /* when it was put into the list */
    bool listed;       /* it is on the latest list */
    bool stranger;     /* the chat does not know the member */
    bool asked;        /* the last look has fetched from it */
    int code;          /* TKL_OK, or why the last read failed */
    tkl__post_caught_up caught_up;
} tkl__chat_place;

typedef struct tkl__chat_places {
    tkl__chat_place **items; /* pointers: the ears must not move */
    size_t count;
    tkl__ear list;  /* for the channel of the list itself */
    int64_t now_ms; /* the server's time of the latest list */
} tkl__chat_places;

tkl_bytes tkl__chat_place_id(const tkl__chat_place *place);
void tkl__chat_places_free(tkl__chat_places *all);
/* Updates the places from a reply of chat/list. New places come last. */
int tkl__chat_places_update(const tkl_inbox *inbox, const tkl_reply *list, tkl__chat_places *all);
/* Removes the places that are no longer on the list. */
void tkl__chat_places_drop_unlisted(tkl__chat_places *all);

/* ---- inbox.c ------------------------------------------------------------- */

struct tkl_inbox {
    tkl_client *client;
    tkl__keys list; /* its key is also a channel */
    char *member;
    size_t member_len;
    int64_t timeout_ms;
    tkl__chat_places known; /* the chats on the latest list; guarded by the client's lock */
};

#endif
