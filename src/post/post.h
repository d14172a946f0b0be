/* SPDX-License-Identifier: MIT
 *
 * A mailbag has messages that readers pull: the common part of mailboxes and chats. The essay is in
 * post.c.
 */
#ifndef TKL_POST_POST_H
#define TKL_POST_POST_H

#include <tackle/message.h>

#include "core/batch.h"

/* Most bytes that a fetch returns; only the last message may exceed it. */
#define TKL__FETCH_BYTES (1024 * 1024)

/* Index of the readers' key in the keys of a mailbag. */
#define TKL__POST_READERS 3
/* The number of keys of a mailbox; a chat has more. */
#define TKL__MAIL_KEYS 5

typedef struct tkl__post {
    tkl_client *client;
    tkl__keys keys;     /* state (its name is also the channel), messages, marks, readers, recent;
                         * for a chat also refused, own */
    int64_t timeout_ms; /* time-out of one call; 0: the client's time-out */
    bool members;       /* a chat: only members may send and read */
} tkl__post;

/* The name of a mailbox's only reader; the name in the keys says whose mailbox it is. */
extern const tkl_bytes tkl__post_owner;

/* Opens a chat (`members`) or a mailbox. Nothing to free on failure. */
int tkl__post_open(tkl_client *client, bool members, tkl_bytes name, int64_t timeout_ms,
                   tkl__post *post);
void tkl__post_close(tkl__post *post);

int64_t tkl__post_deadline(const tkl__post *post);
/* Runs a script and frees the arguments. Returns the script's code: the first element of the reply,
 * or the reply itself. */
int tkl__post_run(const tkl__post *post, const tkl__script *script, tkl__args *args,
                  int64_t deadline, tkl_reply **reply);

int tkl__post_send(const tkl__post *post, tkl_bytes sender, const tkl_letter *letters, size_t count,
                   int64_t *first_id);
/* The largest id: scripts count exactly up to here. */
#define TKL__POST_ID_MAX (INT64_C(1) << 53)
/* Acknowledges all messages up to `id`; 0: up to the last one. The counts may be NULL. */
int tkl__post_ack(const tkl__post *post, tkl_bytes reader, int64_t id, int64_t *unread,
                  int64_t *acked);
int tkl__post_limit(const tkl__post *post, const tkl_message_limits *limits);
int tkl__post_drop(const tkl__post *post, int64_t deadline);

/* Checks the letters of one call, and adds them to the arguments of post/send or post/create. */
int tkl__post_letters_check(tkl_bytes sender, const tkl_letter *letters, size_t count);
void tkl__post_letters_args(const tkl_letter *letters, size_t count, tkl__args *args);

/* Checks limits; NULL is fine. */
int tkl__post_limits_check(const tkl_message_limits *limits);
/* Adds pairs of a field and a value, for post/limit and post/create. `otherwise`: used when the
 * limits do not say what to do when full. */
void tkl__post_limits_args(const tkl_message_limits *limits, tkl_when_full otherwise,
                           tkl__args *args);

/* The reply of post/show; views into it die with it. */
typedef struct tkl__post_view {
    int64_t first, last, bytes, oldest_ms;
    int64_t fetched_ms, created_ms; /* 0: never */
    tkl_message_limits limits;
    const tkl_reply *readers; /* names and positions, alternating */
    const tkl_reply *owned;   /* for each reader, how many of its own messages are behind its
                               * position */
} tkl__post_view;
int tkl__post_show(const tkl__post *post, tkl__post_view *view, tkl_reply **reply);

/* Lists the names of all mailbags of a component. */
int tkl__post_names(tkl_client *client, const char *component, tkl_names **names);

/* Sets the error text for a "no", and passes everything else on. */
int tkl__post_explain(const tkl__post *post, int rc);

/* The elements of a reply of post/fetch and post/history. */
enum {
    TKL__FETCHED_CODE,
    TKL__FETCHED_MISSED,
    TKL__FETCHED_UNREAD,
    TKL__FETCHED_MARKS,
    TKL__FETCHED_ENTRIES,
    TKL__FETCHED_LAST,
};

/* ---- messages.c ---- */

/* Makes messages from a reply of post/fetch whose code is TKL_OK. They are views into the reply,
 * which is freed with them if it is `owned`. */
int tkl__post_messages_make(tkl_reply *reply, bool owned, tkl_messages **messages);

/* State of a reader, from the reply of post/fetch. When the reader has nothing to fetch, the next
 * message may come with the notification, without a round trip. */
typedef struct tkl__post_caught_up {
    bool is_so;
    int64_t last;   /* id of the last message */
    int64_t missed; /* removed by a limit before the reader acknowledged them */
} tkl__post_caught_up;
tkl__post_caught_up tkl__post_read_caught_up(const tkl_reply *reply);
/* Takes the message out of a notification, if it is the next one; else TKL_EMPTY: fetch instead.
 * `member`: the reader in a chat, who does not fetch its own messages; NULL: the owner of a
 * mailbox. */
int tkl__post_notified(const tkl__post_caught_up *reader, const tkl_bytes *member, tkl_bytes note,
                       tkl_messages **messages);

/* ---- fetch.c ---- */

int tkl__post_fetch(const tkl__post *post, tkl_bytes reader, size_t max, int64_t wait_ms,
                    tkl_messages **messages);
/* Reads the newest messages before the id `before` (0: before none), oldest first. TKL_EMPTY. */
int tkl__post_history(const tkl__post *post, tkl_bytes reader, int64_t before, size_t max,
                      tkl_messages **messages);
/* Checks the number of messages to fetch. */
int tkl__post_fetch_check(size_t max);
/* Adds the arguments of post/fetch, for callers that run many. `max` 0 only counts. */
void tkl__post_fetch_args(const tkl__post *post, tkl_bytes reader, size_t max, tkl__args *args);

/* Default limits of messages. */
#define TKL__POST_MESSAGES 10000
#define TKL__POST_BYTES    104857600

#endif
