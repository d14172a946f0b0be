/* SPDX-License-Identifier: MIT
 *
 * Fetches messages, and waits for them.
 */
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/options.h"
#include "core/wait.h"
#include "post/post.h"
#include "post/scripts.h"

/* A waiter looks at least this often, however long it waits, in case a notification does not
 * arrive. */
#define LOOK_US INT64_C(60000000)
/* How long a server may take to begin its answer after the wait is over: it may be down. Once it
 * has begun, it has the time of a call. */
#define OVERTIME_US 500000
/* The longest pause between two attempts to reach a server that is down. */
#define PAUSE_MAX_US 250000

/* ---- Fetching ------------------------------------------------------------ */

int64_t tkl__post_attempt(const tkl__post *post, int64_t until)
{
    int64_t call = tkl__post_deadline(post);
    return until < call - OVERTIME_US ? until + OVERTIME_US : call;
}

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

/* One attempt. It ends within the time of a call, and not long after `until` if the server does not
 * answer. Sets *caught_up for TKL_EMPTY. */
static int fetch_once(const tkl__post *post, tkl_bytes reader, size_t max, int64_t until,
                      tkl_messages **messages, tkl__post_caught_up *caught_up)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__post_fetch_args(post, reader, max, &args);
    tkl__let_finish(tkl__post_deadline(post));
    int rc =
        tkl__post_run(post, &tkl__lua_post_fetch, &args, tkl__post_attempt(post, until), &reply);
    tkl__let_finish(0);
    if (rc == TKL_OK && tkl_reply_count(tkl_reply_at(reply, 4)) == 0) {
        *caught_up = tkl__post_read_caught_up(reply);
        rc = TKL_EMPTY;
    }
    if (rc == TKL_OK)
        rc = tkl__post_messages_make(reply, true, messages);
    if (rc != TKL_OK)
        tkl_reply_free(reply);
    return tkl__post_explain(post, rc);
}

/* ---- Waiting ------------------------------------------------------------- */

int tkl__post_pause(tkl_client *client, int64_t deadline)
{
    int64_t again = tkl__now() + tkl__backoff(8, PAUSE_MAX_US);
    return tkl__sleep(client, again < deadline ? again : deadline);
}

/* Sleeps until a message comes, or until it is time to look again. TKL_EMPTY: look; TKL_EUNKNOWN:
 * listen again and look. */
static int sleep_once(tkl__waiter *waiter, int64_t deadline, const tkl__post_caught_up *caught_up,
                      tkl_messages **messages)
{
    tkl_bytes note;
    int64_t look = tkl__now() + LOOK_US;
    switch (tkl__await(waiter, look < deadline ? look : deadline, &note)) {
    case TKL__MESSAGE:
        return tkl__post_notified(caught_up, note, messages);
    case TKL__CUT:
        return TKL_EUNKNOWN;
    case TKL__INTERRUPTED:
        return tkl__interrupted();
    default:
        return TKL_EMPTY;
    }
}

static int listen(const tkl__post *post, int64_t until, tkl__waiter *waiter)
{
    tkl__unlisten(waiter);
    return tkl__listen(post->client, post->keys.items[0], tkl_str(""),
                       tkl__post_attempt(post, until), waiter);
}

/* One attempt; an interrupt ends it. */
static int fetch_in_wait(const tkl__post *post, tkl_bytes reader, size_t max, int64_t until,
                         tkl_messages **messages, tkl__post_caught_up *caught_up)
{
    tkl__begin_request(post->client);
    return tkl__end_request(post->client,
                            fetch_once(post, reader, max, until, messages, caught_up));
}

/* Listens before it looks, so that no message is missed in between. */
static int wait_and_fetch(const tkl__post *post, tkl_bytes reader, size_t max, int64_t deadline,
                          tkl_messages **messages)
{
    tkl__waiter waiter = {.hub = NULL};
    tkl__post_caught_up caught_up;
    int rc = listen(post, deadline, &waiter);
    if (rc == TKL_OK)
        rc = fetch_in_wait(post, reader, max, deadline, messages, &caught_up);
    while (tkl__left(deadline) > 0 && (rc == TKL_EMPTY || tkl__may_pass(rc))) {
        if (rc == TKL_EMPTY) {
            rc = sleep_once(&waiter, deadline, &caught_up, messages);
        } else {
            rc = tkl__post_pause(post->client, deadline);
            if (rc == TKL_OK)
                rc = listen(post, deadline, &waiter);
        }
        if (!*messages && (rc == TKL_EMPTY || rc == TKL_OK))
            rc = fetch_in_wait(post, reader, max, deadline, messages, &caught_up);
    }
    tkl__unlisten(&waiter);
    return rc;
}

/* A client that already listens to the channel skips the look before listening. An error at the
 * start is returned at once; a transient one during the wait is retried. */
int tkl__post_fetch(const tkl__post *post, tkl_bytes reader, size_t max, int64_t wait_ms,
                    tkl_messages **messages)
{
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    tkl__post_caught_up caught_up;
    *messages = NULL;
    int rc = tkl__post_fetch_check(max);
    if (rc != TKL_OK)
        return rc;
    if (wait_ms == 0)
        return fetch_once(post, reader, max, TKL__FOREVER, messages, &caught_up);
    rc = tkl__hears(post->client, post->keys.items[0])
             ? TKL_EMPTY
             : fetch_in_wait(post, reader, max, deadline, messages, &caught_up);
    return rc == TKL_EMPTY ? wait_and_fetch(post, reader, max, deadline, messages) : rc;
}
