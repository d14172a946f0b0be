/* SPDX-License-Identifier: MIT
 *
 * Chats: each message goes to all members, also to those who are offline. A message stays until
 * every other member has acknowledged it, or longer, as a history.
 *
 *     tkl_chat *chat;
 *     tkl_letter letter = {.body = tkl_str("noodles?")};
 *     tkl_bytes members[] = {tkl_str("ann"), tkl_str("bob")};
 *     TKL_TRY(tkl_chat_open(client, tkl_str("lunch"), NULL, &chat));
 *     TKL_TRY(tkl_chat_create(chat, members, 2, NULL));
 *     TKL_TRY(tkl_chat_send(chat, tkl_str("ann"), &letter, 1, NULL));
 *
 *     tkl_inbox *bob;                              // all chats of one member
 *     tkl_inbox_chats *fetched;
 *     TKL_TRY(tkl_inbox_open(client, tkl_str("bob"), NULL, &bob));
 *     if (tkl_inbox_fetch(bob, 100, 30000, &fetched) == TKL_OK) {
 *         handle(fetched);
 *         if (tkl_inbox_ack_all(bob, fetched) != TKL_OK)
 *             report(tkl_errmsg());
 *         tkl_inbox_chats_free(fetched);
 *     }
 *
 * Delivery is at least once: a member fetches the same messages again until it acknowledges them. A
 * member's own messages are not unread for it, and it does not fetch them.
 *
 * Threads: handles may be used by several threads. Fork: a child may use them. There are no
 * callbacks. Keys: see docs/chat.md; a chat is removed when its last member leaves.
 */
#ifndef TACKLE_CHAT_H
#define TACKLE_CHAT_H

#include <tackle/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most chats of one member. */
#define TKL_CHAT_LISTED_MAX 5000
/* Most members of a chat; most members in one tkl_chat_create(), and most bytes of their names. */
#define TKL_CHAT_MEMBERS_MAX  10000
#define TKL_CHAT_CREATE_MAX   1000
#define TKL_CHAT_CREATE_BYTES (1024 * 1024)

/* ---- One chat ------------------------------------------------------------ */

typedef struct tkl_chat tkl_chat;

typedef struct tkl_chat_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    TKL_RESERVED(8);
} tkl_chat_options;

/* No I/O. `id`: up to TKL_NAME_MAX bytes, copied; empty: a new unique id. */
TKL_API int tkl_chat_open(tkl_client *client, tkl_bytes id, const tkl_chat_options *options,
                          tkl_chat **chat) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_chat_close(tkl_chat *chat); /* NULL is fine */
/* Valid as long as the handle. No I/O. */
TKL_API tkl_bytes tkl_chat_id(const tkl_chat *chat) TKL_NONNULL(1);

/* Creates the chat with 1 to TKL_CHAT_CREATE_MAX members, whose names have at most
 * TKL_CHAT_CREATE_BYTES together. `limits`: NULL for the defaults. TKL_EXISTS: a chat with this id
 * exists. TKL_FULL: a member is in TKL_CHAT_LISTED_MAX chats. */
TKL_API int tkl_chat_create(tkl_chat *chat, const tkl_bytes *members, size_t count,
                            const tkl_message_limits *limits) TKL_NONNULL(1) TKL_CHECK;

/* The same, with first messages (up to TKL_MESSAGES_MAX, as for tkl_chat_send()) of a member:
 * nobody sees the chat without them. TKL_NOTOWNER: the sender is not among the members. TKL_FULL:
 * also when the limits have no room for the messages. */
TKL_API int tkl_chat_create_and_send(tkl_chat *chat, const tkl_bytes *members, size_t count,
                                     const tkl_message_limits *limits, tkl_bytes sender,
                                     const tkl_letter *letters, size_t letter_count)
    TKL_NONNULL(1) TKL_CHECK;

typedef enum tkl_chat_start {
    TKL_CHAT_START_DEFAULT = 0, /* at the end */
    TKL_CHAT_START_END = 1,     /* with messages sent from now on */
    TKL_CHAT_START_OLDEST = 2,  /* with the oldest message that is kept */
} tkl_chat_start;

TKL_API const char *tkl_chat_start_name(tkl_chat_start start); /* "default" */

/* Adds a member. TKL_NOTFOUND: there is no such chat. TKL_EXISTS: already a member; nothing
 * changes. TKL_FULL: the chat has TKL_CHAT_MEMBERS_MAX members, or the member is in
 * TKL_CHAT_LISTED_MAX chats. */
TKL_API int tkl_chat_join(tkl_chat *chat, tkl_bytes member, tkl_chat_start start)
    TKL_NONNULL(1) TKL_CHECK;
/* The last member to leave removes the chat. TKL_NOTFOUND: there is no such chat. TKL_NOTOWNER: not
 * a member. */
TKL_API int tkl_chat_leave(tkl_chat *chat, tkl_bytes member) TKL_NONNULL(1) TKL_CHECK;

/* Sends messages in one round trip, all or none. *first_id (may be NULL) is the id of the first;
 * the others follow it without a gap. TKL_NOTFOUND: there is no such chat. TKL_NOTOWNER: the sender
 * is not a member. TKL_FULL: a limit of the chat. */
TKL_API int tkl_chat_send(tkl_chat *chat, tkl_bytes sender, const tkl_letter *letters, size_t count,
                          int64_t *first_id) TKL_NONNULL(1) TKL_CHECK;

/* Fetches the oldest messages of others that the member has not acknowledged: up to `max` (1 to
 * TKL_MESSAGES_MAX), about 1 MB and 4000 headers, but at least one. `unread` says whether there are
 * more. Waits up to `wait_ms` for a message (0: does not wait, negative: for ever). TKL_EMPTY: no
 * message in time. TKL_NOTFOUND: there is no such chat. TKL_NOTOWNER: not a member. */
TKL_API int tkl_chat_fetch(tkl_chat *chat, tkl_bytes member, size_t max, int64_t wait_ms,
                           tkl_messages **messages) TKL_NONNULL(1, 5) TKL_CHECK;

/* Reads the newest messages that are kept, oldest first, also those that are acknowledged or the
 * member's own: up to `max` (1 to TKL_MESSAGES_MAX), about 1 MB and 4000 headers, but at least one.
 * `before_id`: only messages with lower ids, for the page before; 0: from the last one. How long
 * messages are kept: see history_messages and history_ms of tkl_message_limits. Acknowledges
 * nothing. TKL_EMPTY: there is none. TKL_NOTFOUND: there is no such chat. TKL_NOTOWNER: not a
 * member. */
TKL_API int tkl_chat_history(tkl_chat *chat, tkl_bytes member, int64_t before_id, size_t max,
                             tkl_messages **messages) TKL_NONNULL(1, 5) TKL_CHECK;

/* The member acknowledges all messages up to `id`. *unread (may be NULL) is how many of others are
 * left for the member. An `id` lower than before changes nothing. TKL_NOTFOUND: there is no such
 * chat, or no message has this id yet; nothing is acknowledged. TKL_NOTOWNER: not a member. */
TKL_API int tkl_chat_ack(tkl_chat *chat, tkl_bytes member, int64_t id, int64_t *unread)
    TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_chat_member {
    tkl_bytes name;
    int64_t acked_id; /* acknowledged up to here, or its own; 0: nothing */
    int64_t unread;   /* kept messages of others that it has not acknowledged */
    int64_t missed;   /* messages removed by a limit before it acknowledged them */
    TKL_RESERVED(4);
} tkl_chat_member;

typedef struct tkl_chat_info {
    const tkl_chat_member *members; /* the member that has acknowledged least first */
    size_t member_count;
    int64_t last_id;    /* id of the last message sent; 0: there was none */
    int64_t kept;       /* messages that are kept */
    int64_t bytes;      /* bytes of the kept messages */
    int64_t oldest_ms;  /* when the oldest kept message was sent (Unix ms); 0: there is none */
    int64_t created_ms; /* Unix ms */
    tkl_message_limits limits;
    TKL_RESERVED(8);
} tkl_chat_info;

/* TKL_NOTFOUND. */
TKL_API int tkl_chat_show(tkl_chat *chat, tkl_chat_info **info) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_chat_info_free(tkl_chat_info *info); /* NULL is fine */

/* Sets the limits, from the next message on. NULL: the defaults. TKL_NOTFOUND. */
TKL_API int tkl_chat_limit(tkl_chat *chat, const tkl_message_limits *limits)
    TKL_NONNULL(1) TKL_CHECK;

/* Removes the chat, and takes it off the lists of its members. TKL_NOTFOUND. */
TKL_API int tkl_chat_drop(tkl_chat *chat) TKL_NONNULL(1) TKL_CHECK;

/* The ids of all chats. */
TKL_API int tkl_chat_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- All chats of one member --------------------------------------------- */

typedef struct tkl_inbox tkl_inbox;

typedef struct tkl_inbox_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    TKL_RESERVED(8);
} tkl_inbox_options;

/* No I/O. `member`: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_inbox_open(tkl_client *client, tkl_bytes member, const tkl_inbox_options *options,
                           tkl_inbox **inbox) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_inbox_close(tkl_inbox *inbox); /* NULL is fine */

typedef struct tkl_inbox_chat {
    tkl_bytes id;
    int code;                     /* TKL_OK, or why this chat could not be read */
    const tkl_messages *messages; /* NULL unless TKL_OK */
    TKL_RESERVED(4);
} tkl_inbox_chat;

typedef struct tkl_inbox_chats {
    const tkl_inbox_chat *items;
    size_t count;
    TKL_RESERVED(4);
} tkl_inbox_chats;

TKL_API void tkl_inbox_chats_free(tkl_inbox_chats *chats); /* NULL is fine */

/* Fetches the messages that the member has not acknowledged, from all its chats that have some:
 * from each chat up to `max` (1 to TKL_MESSAGES_MAX), about 1 MB and 4000 headers, but at least
 * one. One round trip (in a cluster, one for each node); one more for the first fetch of a handle
 * and for chats that are new to it. Waits up to `wait_ms` for a message (0: does not wait,
 * negative: for ever). TKL_EMPTY: no message in time. A chat that cannot be read, because it is
 * damaged or its server is down, is in the result with its code. The other chats are still read,
 * and the wait goes on. If no chat has messages, the call returns that code at the end, and
 * tkl_errmsg() names the chat. */
TKL_API int tkl_inbox_fetch(tkl_inbox *inbox, size_t max, int64_t wait_ms, tkl_inbox_chats **chats)
    TKL_NONNULL(1, 4) TKL_CHECK;

/* Acknowledges all fetched messages, in one round trip (in a cluster, one for each node). Returns
 * the first failure; the other chats are still acknowledged. */
TKL_API int tkl_inbox_ack_all(tkl_inbox *inbox, const tkl_inbox_chats *chats)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* Lists all chats of the member with their numbers of unread and missed messages, without the
 * messages. No chats: TKL_OK and a count of 0. As many round trips as tkl_inbox_fetch(). */
TKL_API int tkl_inbox_show(tkl_inbox *inbox, tkl_inbox_chats **chats) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
