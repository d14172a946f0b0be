/* SPDX-License-Identifier: MIT
 *
 * Results. The key of a result is also the name of the channel on which the end of its job is
 * published. A waiter listens first and then asks, so it misses nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/reply.h"
#include "core/wait.h"
#include "queue/all.h"
#include "queue/scripts.h"

/* How often a waiter asks, however long it waits: the server may have been replaced by an older
 * copy of itself. */
#define LOOK_US   INT64_C(30000000)
#define REPEAT_US 100000

typedef struct inquiry {
    const tkl__queue_shard *shard;
    const char *digits;
    tkl_bytes key; /* owned */
    int64_t deadline;
    tkl_job_result **result;
} inquiry;

void tkl_job_result_free(tkl_job_result *result)
{
    free(result);
}

/* Makes the result, in one block: the struct, and the bytes behind it. */
static int answer(const inquiry *q, int code, tkl_bytes text)
{
    tkl_job_result *result = malloc(sizeof *result + text.len + 1);
    if (!result)
        return tkl__nomem();
    char *copy = (char *)(result + 1);
    if (text.len > 0)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    result->text = (tkl_bytes){copy, text.len};
    *q->result = result;
    return code;
}

static int ended_badly(const inquiry *q, tkl_bytes why)
{
    int rc = answer(q, TKL_DEAD, why);
    return rc == TKL_DEAD ? tkl__fail(rc, "the job is in the dead letters") : rc;
}

static int ask(const inquiry *q)
{
    tkl_bytes keys[TKL__QUEUE_KEYS + 1], args[] = {tkl_str(q->digits)};
    tkl__invocation call = tkl__queue_call(q->shard, &tkl__lua_queue_result, args, 1);
    tkl_reply *reply = NULL;
    call.retry_safe = true;
    int rc = tkl__queue_add_result_key(q->shard, q->digits, keys, &call);
    if (rc == TKL_OK)
        rc = tkl__run(q->shard->queue->client, &call, tkl__queue_deadline(q->shard->queue), &reply);
    free((char *)keys[TKL__QUEUE_KEYS].data);
    if (rc == TKL_OK) {
        rc = tkl__no_or_ok((int)tkl_reply_int(tkl_reply_at(reply, 0)));
        tkl_bytes text = tkl_reply_bytes(tkl_reply_at(reply, 1));
        if (rc == TKL_OK)
            rc = answer(q, TKL_OK, text);
        else if (rc == TKL_DEAD)
            rc = ended_badly(q, text);
    }
    tkl_reply_free(reply);
    return rc;
}

/* One request of a wait; an interrupt ends it. */
static int ask_in_wait(const inquiry *q)
{
    tkl_client *client = q->shard->queue->client;
    tkl__begin_request(client);
    return tkl__end_request(client, ask(q));
}

/* "done RESULT", "dead WHY", "gone", or "fetch" when the result is large. */
static int heard(const inquiry *q, tkl_bytes message)
{
    const char *space = message.len > 0 ? memchr(message.data, ' ', message.len) : NULL;
    size_t word = space ? (size_t)(space - message.data) : message.len;
    tkl_bytes text = {message.data + word + (space != NULL), message.len - word - (space != NULL)};
    if (word == 4 && memcmp(message.data, "done", 4) == 0)
        return answer(q, TKL_OK, text);
    if (word == 4 && memcmp(message.data, "dead", 4) == 0)
        return ended_badly(q, text);
    if (word == 4 && memcmp(message.data, "gone", 4) == 0)
        return tkl__no(TKL_NOTFOUND);
    return ask_in_wait(q);
}

/* Listens, and asks. */
static int enter(const inquiry *q, tkl__waiter *w)
{
    tkl_client *client = q->shard->queue->client;
    int64_t deadline = tkl__queue_deadline(q->shard->queue);
    tkl__unlisten(w);
    int rc = tkl__listen(client, q->key, tkl_str(""),
                         q->deadline < deadline ? q->deadline : deadline, w);
    return rc == TKL_OK ? ask_in_wait(q) : rc;
}

/* One step of waiting. TKL_EMPTY: go on. */
static int wait_step(const inquiry *q, tkl__waiter *w)
{
    tkl_bytes message;
    tkl__look_at(w, tkl__now() + LOOK_US);
    switch (tkl__await(w, q->deadline, &message)) {
    case TKL__MESSAGE:
        return heard(q, message);
    case TKL__LOOK:
        return ask_in_wait(q);
    case TKL__CUT:
        return TKL_EUNKNOWN;
    case TKL__INTERRUPTED:
        return tkl__interrupted();
    case TKL__TIME_UP:
        break;
    }
    return TKL_EMPTY;
}

static int wait_for_end(const inquiry *q)
{
    tkl__waiter w = {.hub = NULL};
    int rc = enter(q, &w);
    while (tkl__left(q->deadline) > 0) {
        if (rc == TKL_EMPTY)
            rc = wait_step(q, &w);
        else if (tkl_is_transient(rc)) {
            int64_t again = tkl__now() + tkl__backoff(6, REPEAT_US);
            rc = tkl__sleep(q->shard->queue->client, again < q->deadline ? again : q->deadline);
            if (rc == TKL_OK)
                rc = enter(q, &w);
        } else
            break;
    }
    tkl__unlisten(&w);
    return rc;
}

int tkl_queue_result(tkl_queue *queue, const char *id, int64_t wait_ms, tkl_job_result **result)
{
    inquiry q = {.deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                 .result = result};
    *result = NULL;
    q.shard = tkl__queue_find_id(queue, id, &q.digits);
    if (!q.shard)
        return tkl__no(TKL_NOTFOUND);
    int rc = tkl__queue_result_key(q.shard, q.digits, &q.key);
    if (rc != TKL_OK)
        return rc;
    rc = wait_ms == 0 ? ask(&q) : ask_in_wait(&q);
    if (rc == TKL_EMPTY && wait_ms != 0)
        rc = wait_for_end(&q);
    free((char *)q.key.data);
    return rc == TKL_EMPTY ? tkl__no(rc) : rc;
}
