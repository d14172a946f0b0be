/* SPDX-License-Identifier: MIT
 *
 * Channels: publish and subscribe with a history. A follower that was away, or comes late, gets
 * what it missed.
 *
 *     tkl_channel *channel;
 *     tkl_channel_follower *follower;
 *     tkl_channel_messages *messages;
 *     tkl_bytes message = tkl_str("price 42");
 *     TKL_TRY(tkl_channel_open(client, tkl_str("prices"), NULL, &channel));
 *     TKL_TRY(tkl_channel_follow(channel, &(tkl_channel_follow_options){.recent = 10}, &follower));
 *     TKL_TRY(tkl_channel_publish(channel, &message, 1, NULL));
 *     if (tkl_channel_next(follower, 0, 5000, &messages) == TKL_OK)     // waits up to 5 s
 *         use(messages->items[0].data);
 *     tkl_channel_messages_free(messages);
 *     tkl_channel_follower_close(follower);
 *     tkl_channel_close(channel);
 *
 * Every message has a number: 1, 2, 3 and so on. A follower gets all messages in this order, each
 * once, as long as the history has them. When messages were removed before the follower read them,
 * the next result says how many.
 *
 * Threads: a channel may be used by several threads, a follower by one at a time. fork(): a child
 * may go on using both; parent and child then follow independently. Callbacks: none. Keys: the
 * history expires `ttl_ms` after the last message, the numbers a day later.
 */
#ifndef TACKLE_CHANNEL_H
#define TACKLE_CHANNEL_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_channel tkl_channel;
typedef struct tkl_channel_follower tkl_channel_follower;

#define TKL_CHANNEL_MESSAGE_MAX 1048576 /* bytes of a message */
#define TKL_CHANNEL_BATCH_MAX   1000    /* messages of one call */
#define TKL_CHANNEL_BATCH_BYTES 4194304 /* bytes of the messages of one call */
#define TKL_CHANNEL_HISTORY_MAX 1000000 /* messages of a history */
#define TKL_CHANNEL_RECENT_MAX  10000   /* messages that a follower may begin with */

typedef struct tkl_channel_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t ttl_ms;  /* messages that are published stay in the history for this long; 0: a day */
    int64_t history; /* messages that stay when one is published, and up to some 100 more, 1 to
                           TKL_CHANNEL_HISTORY_MAX; 0: 1000 */
    TKL_RESERVED(8);
} tkl_channel_options;

/* No I/O. `name`: any bytes, 1 to TKL_NAME_MAX; copied. `options` may be NULL. */
TKL_API int tkl_channel_open(tkl_client *client, tkl_bytes name, const tkl_channel_options *options,
                             tkl_channel **channel) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the channel. NULL is fine. Close the followers first. */
TKL_API void tkl_channel_close(tkl_channel *channel);

/* The id of a message. It grows from message to message, even if the server's clock is set back.
 * Frozen: it gets no more fields. */
typedef struct tkl_channel_id {
    int64_t time_ms; /* when it was published, in Unix milliseconds by the server's clock */
    int64_t number;  /* 1 for the first message of the channel; 0: no message */
} tkl_channel_id;

/* Ids as text: "1763447400123-42". */
#define TKL_CHANNEL_ID_SIZE 48
TKL_API const char *tkl_channel_id_text(tkl_channel_id id, char text[TKL_CHANNEL_ID_SIZE])
    TKL_NONNULL(2); /* returns `text` */
TKL_API int tkl_channel_id_parse(const char *text, tkl_channel_id *id) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Publishing ---------------------------------------------------------- */

/* Publishes `count` messages in one round trip, all or none. *last (may be NULL) is the id of the
 * last one; earlier ones have the numbers before it. A request that was repeated because its answer
 * was lost publishes nothing twice. TKL_EINVAL: more than TKL_CHANNEL_BATCH_MAX messages, a message
 * or all of them too long. No messages: TKL_OK, without a round trip. */
TKL_API int tkl_channel_publish(tkl_channel *channel, const tkl_bytes *messages, size_t count,
                                tkl_channel_id *last) TKL_NONNULL(1) TKL_CHECK;
/* Publishes one message in a pipeline, see tkl_result. *id (may be NULL) is filled in by the run.
 * Unlike tkl_channel_publish() it is not repeated when the reply is lost: tkl_is_unknown() is true
 * then. */
TKL_API int tkl_channel_publish_in(tkl_pipeline *pipeline, tkl_channel *channel, tkl_bytes message,
                                   tkl_channel_id *id, tkl_result *result) TKL_NONNULL(1, 2);

/* ---- Following ----------------------------------------------------------- */

typedef struct tkl_channel_follow_options {
    int64_t timeout_ms;   /* time-out of one call; 0: the channel's */
    int64_t recent;       /* begin with the last messages of the history, up to
                             TKL_CHANNEL_RECENT_MAX; TKL_NONE: with all it has; 0: with the first
                             message behind the end */
    tkl_channel_id after; /* begin behind this message; all zero: see `recent` */
    TKL_RESERVED(8);
} tkl_channel_follow_options;

/* No I/O: the follower finds its place in the first call of tkl_channel_next(). `options` may be
 * NULL. */
TKL_API int tkl_channel_follow(tkl_channel *channel, const tkl_channel_follow_options *options,
                               tkl_channel_follower **follower) TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_channel_follower_close(tkl_channel_follower *follower); /* NULL is fine */

typedef struct tkl_channel_message {
    tkl_channel_id id;
    tkl_bytes data;
    TKL_RESERVED(2);
} tkl_channel_message;

/* One object: free it with tkl_channel_messages_free(). */
typedef struct tkl_channel_messages {
    const tkl_channel_message *items; /* in the order of their ids */
    size_t count;                     /* may be 0 when messages were lost */
    int64_t lost; /* messages before these that were removed before this follower read them */
    bool reset;   /* numbers went back before these messages: the channel was dropped, or the server
                     lost data. How many messages are lost is not known */
    TKL_RESERVED(2);
} tkl_channel_messages;

/* Reads the next messages, at most `max` (0: 100; up to 1000) and about 1 MiB, in one round trip; a
 * message that arrives during the wait needs no round trip. TKL_EMPTY: nothing arrived in time.
 * `wait_ms`: 0 does not wait, negative waits for ever; then it survives restarts and failovers of
 * the server. The first call finds the place to begin. */
TKL_API int tkl_channel_next(tkl_channel_follower *follower, size_t max, int64_t wait_ms,
                             tkl_channel_messages **messages) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_channel_messages_free(tkl_channel_messages *messages); /* NULL is fine */

/* ---- For operators ------------------------------------------------------- */

/* One object: free it with tkl_channel_info_free(). */
typedef struct tkl_channel_info {
    int64_t published;     /* messages ever published: the number of the last one */
    int64_t kept;          /* messages in the history */
    tkl_channel_id oldest; /* in the history; all zero: it is empty */
    tkl_channel_id last;   /* the last message, whether the history has it or not */
    int64_t expires_ms;    /* until the history expires unless more is published; 0: it is gone */
    int64_t followers;     /* clients that wait now, or have waited within a minute or so */
    TKL_RESERVED(4);
} tkl_channel_info;

/* TKL_NOTFOUND: nothing was published, or it has expired. */
TKL_API int tkl_channel_show(tkl_channel *channel, tkl_channel_info **info)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_channel_info_free(tkl_channel_info *info); /* NULL is fine */
/* Removes the history and the numbers. Followers go on with what is published next. TKL_NOTFOUND:
 * there is none. */
TKL_API int tkl_channel_drop(tkl_channel *channel) TKL_NONNULL(1) TKL_CHECK;
/* The names of all channels. */
TKL_API int tkl_channel_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
