/* SPDX-License-Identifier: MIT
 *
 * Results. The key of a result is also the name of the channel on which the end of its job is
 * published. A caller that waits listens first and then asks, so it misses nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/reply.h"
#include "core/waiting.h"
#include "queue/all.h"
#include "queue/scripts.h"
#include "queue/words.h"

typedef struct result_query {
    const tkl__queue_partition *partition;
    const char *digits;
    tkl_job_result **result;
} result_query;

void tkl_job_result_free(tkl_job_result *result)
{
    free(result);
}

/* Makes the result in one block: the struct, and the bytes behind it. Returns `code`. */
static int make_result(const result_query *q, int code, tkl_bytes text)
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

static int ended_badly(const result_query *q, tkl_bytes why)
{
    int rc = make_result(q, TKL_DEAD, why);
    return rc == TKL_DEAD ? tkl__fail(rc, "the job is in the dead letters") : rc;
}

static int ask_result(const result_query *q, int64_t deadline)
{
    tkl_bytes keys[TKL__QUEUE_KEYS + 1], args[] = {tkl_str(q->digits)};
    tkl__invocation call = tkl__queue_call(q->partition, &tkl__lua_queue_result, args, 1);
    tkl_reply *reply = NULL;
    call.retry_safe = true;
    int rc = tkl__queue_result_keys(q->partition, q->digits, keys);
    call.keys = keys;
    call.nkeys = TKL__QUEUE_KEYS + 1;
    if (rc == TKL_OK)
        rc = tkl__run(q->partition->queue->client, &call, deadline, &reply);
    free((char *)keys[TKL__QUEUE_KEYS].data);
    if (rc == TKL_OK) {
        rc = tkl__no_or_ok((int)tkl_reply_int(tkl_reply_at(reply, 0)));
        tkl_bytes text = tkl_reply_bytes(tkl_reply_at(reply, 1));
        if (rc == TKL_OK)
            rc = make_result(q, TKL_OK, text);
        else if (rc == TKL_DEAD)
            rc = ended_badly(q, text);
    }
    tkl_reply_free(reply);
    return rc;
}

/* Reads the message about the end of the job: "done RESULT", "dead WHY", or "gone". TKL__NOT_YET:
 * "fetch", because the result is large. */
static int result_from_message(const result_query *q, tkl_bytes message)
{
    tkl_bytes text = message, word = tkl__queue_next_word(&text);
    if (tkl__same_bytes(word, tkl_str("done")))
        return make_result(q, TKL_OK, text);
    if (tkl__same_bytes(word, tkl_str("dead")))
        return ended_badly(q, text);
    if (tkl__same_bytes(word, tkl_str("gone")))
        return tkl__no(TKL_NOTFOUND);
    return TKL__NOT_YET;
}

static int look_for_result(void *arg, tkl__wait *wait, const tkl__news *news)
{
    const result_query *q = arg;
    int rc = news->kind == TKL__NEWS_MESSAGE ? result_from_message(q, news->message) : TKL__NOT_YET;
    if (rc == TKL__NOT_YET)
        rc = ask_result(q, tkl__wait_deadline(wait));
    return rc == TKL_EMPTY ? TKL__NOT_YET : rc;
}

int tkl_queue_result(tkl_queue *queue, const char *id, int64_t wait_ms, tkl_job_result **result)
{
    result_query q = {.result = result};
    tkl__ear ear = {.channel = {NULL, 0}};
    tkl__wait wait = {.client = queue->client,
                      .timeout_ms = queue->timeout_ms,
                      .deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      .ears = TKL__EARS(&ear),
                      .count = 1,
                      .looks_first = true};
    *result = NULL;
    q.partition = tkl__queue_find_id(queue, id, &q.digits);
    if (!q.partition)
        return tkl__no(TKL_NOTFOUND);
    if (wait_ms == 0)
        return ask_result(&q, tkl__queue_deadline(queue));
    int rc = tkl__queue_result_key(q.partition, q.digits, &ear.channel);
    if (rc == TKL_OK)
        rc = tkl__wait_until(&wait, look_for_result, &q);
    tkl__wait_end(&wait);
    free((char *)ear.channel.data);
    return rc == TKL__NOT_YET ? tkl__no(TKL_EMPTY) : rc;
}
