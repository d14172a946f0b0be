/* SPDX-License-Identifier: MIT
 *
 * A line of messages that readers pull: what mailboxes and chats are made of. The essay is in
 * post.c.
 */
#ifndef TKL_POST_POST_H
#define TKL_POST_POST_H

#include <tackle/message.h>

#include "core/script.h"

/* How many bytes a fetch returns at most, but for the message that exceeds it. */
#define TKL__FETCH_BYTES (1024 * 1024)

/* The key of the readers among those of a line. */
#define TKL__POST_READERS 3

typedef struct tkl__post {
    tkl_client *client;
    tkl__keys keys;     /* state (its name is also the channel), messages, marks, readers, recent */
    int64_t timeout_ms; /* of one call; 0: the client's */
    bool members;       /* a chat: only readers may send, and reading begins with joining */
} tkl__post;

/* The one reader of a mailbox; whose it is says the name of the keys. */
extern const tkl_bytes tkl__post_owner;

/* Nothing to free on failure. */
int tkl__post_open(tkl_client *client, const char *component, tkl_bytes name, int64_t timeout_ms,
                   tkl__post *post);
void tkl__post_close(tkl__post *post);

int64_t tkl__post_deadline(const tkl__post *post);
/* Runs a script; the arguments are freed. Its result is the code: the first element of the reply, or
 * the reply itself. */
int tkl__post_run(const tkl__post *post, const tkl__script *script, tkl__args *args,
                  int64_t deadline, tkl_reply **reply);

int tkl__post_send(const tkl__post *post, tkl_bytes sender, const tkl_letter *letters, size_t count,
                   int64_t *first_id);
/* Beyond this, numbers of scripts are not exact. */
#define TKL__POST_ID_MAX (INT64_C(1) << 53)
/* `id` 0: of the last message. The counts may be NULL. */
int tkl__post_ack(const tkl__post *post, tkl_bytes reader, int64_t id, int64_t *unread,
                  int64_t *acked);
int tkl__post_limit(const tkl__post *post, const tkl_message_limits *limits);
int tkl__post_drop(const tkl__post *post);

/* NULL is fine. */
int tkl__post_limits_check(const tkl_message_limits *limits);
/* Pairs of a field and a value, for post/limit and post/create. `otherwise`: what to do when full
 * if the limits do not say. */
void tkl__post_limits_args(const tkl_message_limits *limits, tkl_when_full otherwise,
                           tkl__args *args);

/* The reply of post/show; views into it die with it. */
typedef struct tkl__post_view {
    int64_t first, last, bytes, oldest_ms;
    int64_t fetched_ms, created_ms; /* 0: never */
    tkl_message_limits limits;
    const tkl_reply *readers; /* names and positions in turn */
} tkl__post_view;
/* The view of a line that does not exist. */
tkl__post_view tkl__post_view_of_nothing(void);
int tkl__post_show(const tkl__post *post, tkl__post_view *view, tkl_reply **reply);

/* The names of all lines of a component. */
int tkl__post_names(tkl_client *client, const char *component, tkl_names **names);

/* Explains a "no" about members, and passes everything else on. */
int tkl__post_explain(const tkl__post *post, int rc);

/* ---- messages.c ---- */

/* The messages in a reply of post/fetch, whose code is TKL_OK. They are views into the reply, which
 * is freed with them if it is `owned`. */
int tkl__post_messages_make(tkl_reply *reply, bool owned, tkl_messages **messages);

/* Of a reader that has nothing to fetch, from the reply of post/fetch: the next message may come
 * with the notification, and need not be asked for. */
typedef struct tkl__post_caught_up {
    bool is_so;
    int64_t last;   /* id of the last message */
    int64_t missed; /* removed by a limit before the reader acknowledged them */
} tkl__post_caught_up;
tkl__post_caught_up tkl__post_read_caught_up(const tkl_reply *reply);
/* The message in a notification, if it is the next one: else TKL_EMPTY, and it is worth asking. */
int tkl__post_notified(const tkl__post_caught_up *reader, tkl_bytes note, tkl_messages **messages);

/* ---- fetch.c ---- */

int tkl__post_fetch(const tkl__post *post, tkl_bytes reader, size_t max, int64_t wait_ms,
                    tkl_messages **messages);
/* Whether so many messages may be fetched. */
int tkl__post_fetch_check(size_t max);
/* The arguments of post/fetch, for callers that run many. `max` 0 only counts. */
void tkl__post_fetch_args(const tkl__post *post, tkl_bytes reader, size_t max, tkl__args *args);
/* The deadline of one call of a wait that lasts until then. */
int64_t tkl__post_attempt(const tkl__post *post, int64_t until);
/* Sleeps a little before the next attempt, not beyond the deadline. TKL_EINTR. */
int tkl__post_pause(tkl_client *client, int64_t deadline);

#endif
