/* SPDX-License-Identifier: MIT
 *
 * Messages that stay until they are acknowledged: the types that mail.h and chat.h share.
 */
#ifndef TACKLE_MESSAGE_H
#define TACKLE_MESSAGE_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes of one message, and of all messages of one call: sender, body and headers. */
#define TKL_MESSAGE_MAX (16 * 1024 * 1024)
/* Most messages of one call, sent or fetched. */
#define TKL_MESSAGES_MAX 1000
/* Most headers of one message, and of all messages of one call. */
#define TKL_HEADERS_MAX      32
#define TKL_CALL_HEADERS_MAX 4000

/* Any bytes; the name is not empty. The same name may come more than once. */
typedef struct tkl_header {
    tkl_bytes name;
    tkl_bytes value;
    TKL_RESERVED(2);
} tkl_header;

/* A message to be sent. */
typedef struct tkl_letter {
    tkl_bytes body; /* any bytes, also none */
    const tkl_header *headers;
    size_t header_count;
    TKL_RESERVED(4);
} tkl_letter;

/* A message received. */
typedef struct tkl_message {
    int64_t id;      /* 1, 2, 3 ... in the order of sending, without gaps */
    int64_t time_ms; /* when the server got it, by the server's clock: Unix milliseconds */
    tkl_bytes sender;
    tkl_bytes body;
    const tkl_header *headers; /* in the order given */
    size_t header_count;
    TKL_RESERVED(4);
} tkl_message;

/* Messages of one mailbox or chat, oldest first. */
typedef struct tkl_messages {
    const tkl_message *items;
    size_t count;
    int64_t missed; /* messages removed by a limit before the reader acknowledged them */
    int64_t unread; /* kept messages that are not acknowledged: these and later ones */
    TKL_RESERVED(4);
} tkl_messages;

TKL_API void tkl_messages_free(tkl_messages *messages); /* NULL is fine */

typedef enum tkl_when_full {
    TKL_WHEN_FULL_DEFAULT = 0,     /* mailboxes refuse, chats drop the oldest */
    TKL_WHEN_FULL_REFUSE = 1,      /* sending is TKL_FULL */
    TKL_WHEN_FULL_DROP_OLDEST = 2, /* removes the oldest; readers that had not acknowledged them get
                                      `missed` */
} tkl_when_full;

TKL_API const char *tkl_when_full_name(tkl_when_full when_full); /* "default" */

/* How much is kept, and in chats for how long after all have read it. The limits are stored with
 * the mailbox or chat and hold for all senders. */
typedef struct tkl_message_limits {
    int64_t max_messages; /* 0: 10,000; TKL_NONE: no limit */
    int64_t max_bytes;    /* senders, bodies and headers; 0: 100 MB; TKL_NONE: no limit */
    int64_t max_age_ms;   /* older messages are removed; 0: they stay */
    int64_t ttl_ms;       /* all messages are removed this long after the last one; a mailbox keeps
                             its limits and ids, a chat is removed as a whole. 0: they stay */
    int64_t history_messages; /* chats only: number of last messages that stay after all members
                                 have acknowledged them, to be read with tkl_chat_history(); 0: see
                                 history_ms */
    int64_t history_ms; /* chats only: messages stay for this long after they were sent, also when
                           all have acknowledged them. With history_messages: only if they are
                           among the last ones. Both 0: they are removed */
    tkl_when_full when_full;
    TKL_RESERVED(8);
} tkl_message_limits;

#ifdef __cplusplus
}
#endif
#endif
