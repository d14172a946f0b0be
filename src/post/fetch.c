/* SPDX-License-Identifier: MIT
 *
 * Fetches messages, waits for them, and looks back at earlier ones.
 */
#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/waiting.h"
#include "post/post.h"
#include "post/scripts.h"

int tkl__post_fetch_check(size_t max)
{
    return tkl__check_number("the number of messages", max > INT64_MAX ? -1 : (int64_t)max, 1,
                             TKL_MESSAGES_MAX);
}

void tkl__post_fetch_args(const tkl__post *post, tkl_bytes reader, size_t max, tkl__args *args)
{
    tkl__args_bytes(args, reader);
    tkl__args_str(args, post->members ? "0" : "1");
    tkl__args_int(args, (int64_t)max);
    tkl__args_int(args, TKL__FETCH_BYTES);
}

/* A fetch: its parameters, and its results. */
typedef struct fetch {
    const tkl__post *post;
    tkl_bytes reader;
    size_t max;
    tkl_messages **messages;
    tkl__post_caught_up caught_up; /* after TKL_EMPTY */
} fetch;

/* Makes messages of a reply with the code `rc`. Frees the reply unless the messages need it.
 * `caught_up` (may be NULL): set to the state of a reader that has nothing to fetch. */
static int take_messages(const tkl__post *post, int rc, tkl_reply *reply,
                         tkl__post_caught_up *caught_up, tkl_messages **messages)
{
    if (rc == TKL_OK && tkl_reply_count(tkl_reply_at(reply, TKL__FETCHED_ENTRIES)) == 0) {
        if (caught_up)
            *caught_up = tkl__post_read_caught_up(reply);
        rc = TKL_EMPTY;
    }
    if (rc == TKL_OK)
        rc = tkl__post_messages_make(reply, true, messages);
    if (rc != TKL_OK)
        tkl_reply_free(reply);
    return tkl__post_explain(post, rc);
}

static int fetch_once(fetch *f, int64_t deadline)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__post_fetch_args(f->post, f->reader, f->max, &args);
    int rc = tkl__post_run(f->post, &tkl__lua_post_fetch, &args, deadline, &reply);
    return take_messages(f->post, rc, reply, &f->caught_up, f->messages);
}

/* Takes the message out of the notification, or fetches. */
static int look_for_messages(void *arg, tkl__wait *wait, const tkl__news *news)
{
    fetch *f = arg;
    int rc = TKL_EMPTY;
    if (news->kind == TKL__NEWS_MESSAGE)
        rc = tkl__post_notified(&f->caught_up, f->post->members ? &f->reader : NULL, news->message,
                                f->messages);
    if (rc == TKL_EMPTY)
        rc = fetch_once(f, tkl__wait_deadline(wait));
    return rc == TKL_EMPTY ? TKL__NOT_YET : rc;
}

int tkl__post_fetch(const tkl__post *post, tkl_bytes reader, size_t max, int64_t wait_ms,
                    tkl_messages **messages)
{
    fetch f = {.post = post, .reader = reader, .max = max, .messages = messages};
    tkl__ear ear = {.channel = post->keys.items[0]};
    tkl__wait wait = {.client = post->client,
                      .timeout_ms = post->timeout_ms,
                      .deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      .ears = TKL__EARS(&ear),
                      .count = 1,
                      .looks_first = true};
    *messages = NULL;
    int rc = tkl__post_fetch_check(max);
    if (rc != TKL_OK)
        return rc;
    if (wait_ms == 0)
        return fetch_once(&f, tkl__post_deadline(post));
    rc = tkl__wait_until(&wait, look_for_messages, &f);
    tkl__wait_end(&wait);
    return rc == TKL__NOT_YET ? tkl__post_explain(post, TKL_EMPTY) : rc;
}

int tkl__post_history(const tkl__post *post, tkl_bytes reader, int64_t before, size_t max,
                      tkl_messages **messages)
{
    tkl__args args;
    tkl_reply *reply;
    *messages = NULL;
    int rc = tkl__post_fetch_check(max);
    if (rc == TKL_OK)
        rc = tkl__check_number("an id", before, 0, TKL__POST_ID_MAX);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_bytes(&args, reader);
    if (before > 0)
        tkl__args_int(&args, before);
    else
        tkl__args_str(&args, "");
    tkl__args_int(&args, (int64_t)max);
    tkl__args_int(&args, TKL__FETCH_BYTES);
    rc = tkl__post_run(post, &tkl__lua_post_history, &args, tkl__post_deadline(post), &reply);
    return take_messages(post, rc, reply, NULL, messages);
}
