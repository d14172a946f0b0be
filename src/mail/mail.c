/* SPDX-License-Identifier: MIT
 *
 * Mailboxes: mailbags (src/post, with the essay on their keys) that one reader, their owner, pulls,
 * and to which everybody may send.
 */
#include <tackle/mail.h>

#include <stdlib.h>

#include "core/error.h"
#include "core/options.h"
#include "core/reply.h"
#include "post/post.h"

struct tkl_mail {
    tkl__post post;
};

int tkl_mail_open(tkl_client *client, tkl_bytes owner, const tkl_mail_options *options,
                  tkl_mail **mail)
{
    *mail = NULL;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc != TKL_OK)
        return rc;
    tkl_mail *m = calloc(1, sizeof *m);
    if (!m)
        return tkl__nomem();
    rc = tkl__post_open(client, false, owner, options ? options->timeout_ms : 0, &m->post);
    if (rc == TKL_OK)
        *mail = m;
    else
        free(m);
    return rc;
}

void tkl_mail_close(tkl_mail *mail)
{
    if (mail)
        tkl__post_close(&mail->post);
    free(mail);
}

int tkl_mail_send(tkl_mail *mail, tkl_bytes sender, const tkl_letter *letters, size_t count,
                  int64_t *first_id)
{
    return tkl__post_send(&mail->post, sender, letters, count, first_id);
}

int tkl_mail_fetch(tkl_mail *mail, size_t max, int64_t wait_ms, tkl_messages **messages)
{
    return tkl__post_fetch(&mail->post, tkl__post_owner, max, wait_ms, messages);
}

int tkl_mail_ack(tkl_mail *mail, int64_t id, int64_t *unread)
{
    if (unread)
        *unread = 0;
    int rc = tkl__check_number("an id", id, 1, TKL__POST_ID_MAX);
    return rc == TKL_OK ? tkl__post_ack(&mail->post, tkl__post_owner, id, unread, NULL) : rc;
}

int tkl_mail_purge(tkl_mail *mail, int64_t *removed)
{
    return tkl__post_ack(&mail->post, tkl__post_owner, 0, NULL, removed);
}

int tkl_mail_limit(tkl_mail *mail, const tkl_message_limits *limits)
{
    if (limits && (limits->history_messages > 0 || limits->history_ms > 0))
        return tkl__fail(TKL_EINVAL, "a mailbox has no history: its messages have one reader");
    return tkl__post_limit(&mail->post, limits);
}

int tkl_mail_drop(tkl_mail *mail)
{
    return tkl__post_drop(&mail->post, tkl__post_deadline(&mail->post));
}

static tkl_mail_info info_of(const tkl__post_view *view)
{
    int64_t acked = tkl__reply_number(tkl_reply_at(view->readers, 1));
    int64_t before = view->first - 1; /* acknowledged, or removed by a limit */
    return (tkl_mail_info){
        .unread = view->last - before,
        .missed = before - acked,
        .bytes = view->bytes,
        .last_id = view->last,
        .acked_id = acked,
        .oldest_ms = view->oldest_ms,
        .fetched_ms = view->fetched_ms,
        .limits = view->limits,
    };
}

int tkl_mail_show(tkl_mail *mail, tkl_mail_info **info)
{
    tkl__post_view view;
    tkl_reply *reply;
    *info = NULL;
    int rc = tkl__post_show(&mail->post, &view, &reply);
    if (rc == TKL_OK && !(*info = malloc(sizeof **info)))
        rc = tkl__nomem();
    if (rc == TKL_OK)
        **info = info_of(&view);
    tkl_reply_free(reply);
    return rc;
}

void tkl_mail_info_free(tkl_mail_info *info)
{
    free(info);
}

int tkl_mail_names(tkl_client *client, tkl_names **names)
{
    return tkl__post_names(client, "mail", names);
}
