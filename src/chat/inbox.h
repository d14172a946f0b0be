/* SPDX-License-Identifier: MIT
 *
 * Declarations for the files about inboxes. The essays are in inbox.c and await.c.
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
    bool asked;        /* the last look has read it */
    int code;          /* TKL_OK, or why the last read failed */
    tkl__post_caught_up caught_up;
} tkl__chat_place;

typedef struct tkl__chat_places {
    tkl__chat_place **items; /* pointers: the waiters must not move */
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

/* ---- inbox.c: looking at the chats --------------------------------------- */

struct tkl_inbox {
    tkl_client *client;
    tkl__keys list; /* its key is also a channel */
    char *member;
    size_t member_len;
    int64_t timeout_ms;
    tkl__chat_places known; /* the chats on the latest list; guarded by the client's lock */
};

/* A look: its parameters, and its outcome. */
typedef struct tkl__chat_look {
    tkl_inbox *inbox;
    tkl__chat_places *all;
    const tkl__args *args; /* arguments of post/fetch */
    tkl__wait *wait;       /* the look is part of it, and does not ask servers that rest; or NULL */
    int list_code;         /* TKL_OK, or why the list could not be read */
    bool answered;         /* out: at least one server answered, even with an error */
} tkl__chat_look;

#define TKL__ALL_PLACES SIZE_MAX

/* Looks at one place, or at all. TKL_OK when there are messages (or with `empty_too`), TKL_EMPTY
 * when there are none; else why nothing could be read, with the name of the chat. */
int tkl__chat_inbox_look(tkl__chat_look *look, size_t which, bool empty_too,
                         tkl_inbox_chats **chats);
/* Takes the message out of a notification of this place; TKL_EMPTY: look instead. */
int tkl__chat_inbox_notified(tkl__chat_look *look, size_t which, tkl_bytes note,
                             tkl_inbox_chats **chats);
/* TKL_EMPTY, or why nothing could be read. */
int tkl__chat_inbox_nothing(const tkl__chat_look *look);

/* ---- await.c: waiting ---------------------------------------------------- */

/* Looks until there are messages, or until the deadline. */
int tkl__chat_inbox_await(tkl__chat_look *look, int64_t deadline, tkl_inbox_chats **chats);

#endif
