/* SPDX-License-Identifier: MIT
 *
 * Mailboxes: messages for one receiver, who may be offline. They stay until the owner has
 * acknowledged them.
 *
 *     tkl_mail *box;
 *     tkl_letter letter = {.body = tkl_str("hello")};
 *     TKL_TRY(tkl_mail_open(client, tkl_str("ann"), NULL, &box));
 *     TKL_TRY(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL));
 *
 *     tkl_messages *mail;                                   // in Ann's program
 *     if (tkl_mail_fetch(box, 100, 30000, &mail) == TKL_OK) {
 *         handle(mail);
 *         if (tkl_mail_ack(box, mail->items[mail->count - 1].id, NULL) != TKL_OK)
 *             report(tkl_errmsg());
 *         tkl_messages_free(mail);
 *     }
 *
 * Delivery is at least once: the owner fetches the same messages again until they are acknowledged.
 *
 * Threads: a handle may be used by several threads. Fork: a child may use the handle. There are no
 * callbacks. Keys: see docs/mail.md; a mailbox stays until it is dropped. Fetching does not create
 * keys.
 */
#ifndef TACKLE_MAIL_H
#define TACKLE_MAIL_H

#include <tackle/message.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_mail tkl_mail;

typedef struct tkl_mail_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    TKL_RESERVED(8);
} tkl_mail_options;

/* No I/O. `owner`: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_mail_open(tkl_client *client, tkl_bytes owner, const tkl_mail_options *options,
                          tkl_mail **mail) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_mail_close(tkl_mail *mail); /* NULL is fine */

/* Sends messages in one round trip, all or none. *first_id (may be NULL) is the id of the first;
 * the others follow it without a gap. `sender` may be empty. TKL_FULL: a limit of the mailbox. */
TKL_API int tkl_mail_send(tkl_mail *mail, tkl_bytes sender, const tkl_letter *letters, size_t count,
                          int64_t *first_id) TKL_NONNULL(1) TKL_CHECK;

/* Fetches the oldest messages that are not acknowledged: up to `max` (1 to TKL_MESSAGES_MAX), about
 * 1 MB and 4000 headers, but at least one. `unread` says whether there are more. Waits up to
 * `wait_ms` for a message (0: does not wait, negative: for ever). TKL_EMPTY: no message in time. */
TKL_API int tkl_mail_fetch(tkl_mail *mail, size_t max, int64_t wait_ms, tkl_messages **messages)
    TKL_NONNULL(1, 4) TKL_CHECK;

/* Acknowledges all messages up to `id`: they are removed. *unread (may be NULL) is how many are
 * left. An `id` lower than before changes nothing. TKL_NOTFOUND: no message has this id yet;
 * nothing is acknowledged. */
TKL_API int tkl_mail_ack(tkl_mail *mail, int64_t id, int64_t *unread) TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_mail_info {
    int64_t unread;     /* messages that are not acknowledged */
    int64_t missed;     /* messages removed by a limit before they were acknowledged */
    int64_t bytes;      /* bytes of the unread messages */
    int64_t last_id;    /* id of the last message sent; 0: there was none */
    int64_t acked_id;   /* acknowledged up to here; 0: nothing */
    int64_t oldest_ms;  /* when the oldest unread message was sent (Unix ms); 0: there is none */
    int64_t fetched_ms; /* when the owner last tried to fetch since the mailbox exists (Unix ms); 0:
                           never */
    tkl_message_limits limits;
    TKL_RESERVED(8);
} tkl_mail_info;

/* Shows the state of the mailbox without fetching. TKL_NOTFOUND: nothing was ever sent to it, and
 * it has no limits. */
TKL_API int tkl_mail_show(tkl_mail *mail, tkl_mail_info **info) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_mail_info_free(tkl_mail_info *info); /* NULL is fine */

/* Sets the limits, from the next message on. NULL: the defaults. */
TKL_API int tkl_mail_limit(tkl_mail *mail, const tkl_message_limits *limits)
    TKL_NONNULL(1) TKL_CHECK;

/* Removes all messages. *removed (may be NULL): how many. The limits stay, and ids continue. */
TKL_API int tkl_mail_purge(tkl_mail *mail, int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

/* Removes the mailbox with its limits; ids begin with 1 again. TKL_NOTFOUND: there is no such
 * mailbox. */
TKL_API int tkl_mail_drop(tkl_mail *mail) TKL_NONNULL(1) TKL_CHECK;

/* The owners of all mailboxes. */
TKL_API int tkl_mail_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
