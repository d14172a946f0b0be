/* SPDX-License-Identifier: MIT
 *
 * What the files about inboxes share. The essays are in inbox.c and await.c.
 */
#ifndef TKL_CHAT_INBOX_H
#define TKL_CHAT_INBOX_H

#include "chat/chat.h"
#include "core/wait.h"

/* ---- places.c: the chats on the list of a member ------------------------- */

/* A channel that a wait listens to. */
typedef struct tkl__chat_ear {
    tkl__waiter waiter;
    int64_t rests_until; /* its server did not answer, and is left alone until then */
    bool asked_ahead;    /* its subscription was sent with those of others */
} tkl__chat_ear;

/* One chat on the list. */
typedef struct tkl__chat_place {
    char *id; /* owned */
    size_t id_len;
    tkl__post post;
    tkl__chat_ear ear;
    int64_t listed_ms; /* when it was put into the list */
    bool listed;       /* it is on the list that came last */
    bool stranger;     /* the member is not one of this chat */
    int code;          /* TKL_OK, or why it could not be read the last time */
    tkl__post_caught_up caught_up;
} tkl__chat_place;

typedef struct tkl__chat_places {
    tkl__chat_place **items; /* each stays where it is: its waiter is known elsewhere */
    size_t count;
    tkl__chat_ear list; /* of the list itself */
    int64_t now_ms;     /* the server's, when the list came */
} tkl__chat_places;

tkl_bytes tkl__chat_place_id(const tkl__chat_place *place);
void tkl__chat_places_free(tkl__chat_places *all);
/* From the reply of chat/list. New places come behind the others. */
int tkl__chat_places_update(const tkl_inbox *inbox, const tkl_reply *list, tkl__chat_places *all);
/* Forgets the places that are not on the list any more. */
void tkl__chat_places_drop_unlisted(tkl__chat_places *all);
/* A copy with a NUL behind it; NULL when there is no memory. */
char *tkl__chat_copy_of(tkl_bytes bytes);

/* ---- inbox.c: looking at them -------------------------------------------- */

struct tkl_inbox {
    tkl_client *client;
    tkl__keys list; /* its key is also a channel */
    char *member;
    size_t member_len;
    int64_t timeout_ms;
    tkl__chat_places known; /* the chats on the list that came last; guarded by the client's lock */
};

/* What a look is about, and how it went. */
typedef struct tkl__chat_look {
    tkl_inbox *inbox;
    tkl__chat_places *all;
    const tkl__args *args; /* of post/fetch */
    int64_t until;         /* it ends not long after */
    bool waiting;          /* servers that rest are not asked */
    int64_t patience_us;   /* of a wait: how long a look may take */
    bool silence;          /* some server did not answer */
    int list_code;         /* TKL_OK, or why the list could not be read */
    bool answered;         /* by any server, whatever it said */
} tkl__chat_look;

#define TKL__ALL_PLACES SIZE_MAX

/* Looks at one place, or at all. TKL_OK when there is something (or with `empty_too`), TKL_EMPTY
 * when there is nothing; else why nothing could be read, with the name of the chat. */
int tkl__chat_inbox_look(tkl__chat_look *look, size_t which, bool empty_too,
                         tkl_inbox_chats **chats);
/* What a notification of this place brought; TKL_EMPTY: nothing, and it is worth a look. */
int tkl__chat_inbox_notified(tkl__chat_look *look, size_t which, tkl_bytes note,
                             tkl_inbox_chats **chats);
/* TKL_EMPTY, or why nothing could be read. */
int tkl__chat_inbox_nothing(const tkl__chat_look *look);
/* When a call that begins now has to end. */
int64_t tkl__chat_inbox_deadline(const tkl__chat_look *look);

/* ---- await.c: waiting ---------------------------------------------------- */

bool tkl__chat_rests(const tkl__chat_look *look, const tkl__chat_ear *ear);
/* Its server did not answer a call that began then: it is left alone for a moment. */
void tkl__chat_rest(tkl__chat_ear *ear, int64_t began);

/* Looks until there is something, or until the time of the look is over. */
int tkl__chat_inbox_await(tkl__chat_look *look, tkl_inbox_chats **chats);

#endif
