/* SPDX-License-Identifier: MIT */
#include "core/batch.h"
#include "core/letters.h"

#include <stdlib.h>
#include <string.h>

#include "core/lenient.h"
#include "core/number.h"
#include "core/reply.h"
#include "core/resp.h"

/* ---- Adding -------------------------------------------------------------- */

void tkl__batch_init(tkl__batch *batch, tkl_client *client)
{
    batch->client = client;
    tkl__buf_init(&batch->wire);
    batch->requests = batch->small;
    batch->count = 0;
    batch->cap = TKL__BATCH_SMALL;
    batch->failure.code = TKL_OK;
    batch->replies = NULL;
}

void tkl__batch_free(tkl__batch *batch)
{
    if (batch->requests != batch->small)
        free(batch->requests);
    tkl__buf_free(&batch->wire);
    tkl_reply_free(batch->replies);
    batch->replies = NULL;
}

void tkl__batch_clear(tkl__batch *batch)
{
    tkl__buf_clear(&batch->wire);
    tkl_reply_free(batch->replies);
    batch->replies = NULL;
    batch->count = 0;
    batch->failure.code = TKL_OK;
}

static bool grow_batch(tkl__batch *batch)
{
    bool small = batch->requests == batch->small;
    tkl__request *requests =
        realloc(small ? NULL : batch->requests, 2 * batch->cap * sizeof *requests);
    if (!requests)
        return false;
    if (small)
        memcpy(requests, batch->small, sizeof batch->small);
    batch->requests = requests;
    batch->cap *= 2;
    return true;
}

void tkl__batch_fail(tkl__batch *batch, int code)
{
    tkl__first_note(&batch->failure, code);
}

/* Adds the request whose bytes begin at `start` of the wire. */
static void put_request(tkl__batch *batch, tkl__request request, size_t start)
{
    request.wire = (tkl_bytes){NULL, batch->wire.len - start};
    if (batch->wire.failed || (batch->count == batch->cap && !grow_batch(batch)))
        tkl__batch_fail(batch, tkl__nomem());
    else
        batch->requests[batch->count++] = request;
}

void tkl__batch_add(tkl__batch *batch, const tkl__invocation *call)
{
    size_t start = batch->wire.len;
    tkl__batch_fail(batch, tkl__script_check(call));
    tkl__script_wire(&batch->wire, call);
    put_request(batch, tkl__script_request(batch->client, call), start);
}

void tkl__batch_eval(tkl__batch *batch, const tkl__script *script, const tkl__keys *keys,
                     const tkl__args *args, bool retry_safe)
{
    if (args->failed)
        tkl__batch_fail(batch, tkl__nomem());
    else
        tkl__batch_add(batch, &(tkl__invocation){.script = script,
                                                 .keys = keys->items,
                                                 .nkeys = keys->count,
                                                 .args = args->items,
                                                 .nargs = args->count,
                                                 .retry_safe = retry_safe});
}

static void put_plain(tkl__batch *batch, tkl_bytes key, bool retry_safe, size_t start)
{
    bool cluster = batch->client->route->cluster;
    put_request(batch,
                (tkl__request){.slot = cluster ? tkl__slot_of(key) : TKL__NO_SLOT,
                               .retry_safe = retry_safe},
                start);
}

void tkl__batch_words(tkl__batch *batch, const tkl_bytes *words, size_t count, bool retry_safe)
{
    size_t start = batch->wire.len;
    tkl__resp_head(&batch->wire, count);
    for (size_t i = 0; i < count; i++)
        tkl__resp_arg(&batch->wire, words[i].data, words[i].len);
    put_plain(batch, words[1], retry_safe, start);
}

void tkl__batch_body(tkl__batch *batch, size_t words, const tkl__buf *body, tkl_bytes key,
                     bool retry_safe)
{
    size_t start = batch->wire.len;
    tkl__resp_head(&batch->wire, words);
    tkl__buf_add(&batch->wire, body->data, body->len);
    tkl__batch_fail(batch, body->failed ? tkl__nomem() : TKL_OK);
    put_plain(batch, key, retry_safe, start);
}

void tkl__batch_names(tkl__batch *batch, int word)
{
    if (batch->count > 0)
        batch->requests[batch->count - 1].names_word = word;
}

void tkl__batch_plain(tkl__batch *batch, const tkl__args *words, bool retry_safe)
{
    if (words->failed)
        tkl__batch_fail(batch, tkl__nomem());
    else
        tkl__batch_words(batch, words->items, words->count, retry_safe);
}

/* ---- Running ------------------------------------------------------------- */

/* Returns the first failure among the replies, else `rc`. */
static int first_failure(const tkl__batch *batch, int rc)
{
    for (size_t i = 0; batch->replies && i < batch->count; i++) {
        tkl_reply *reply = (tkl_reply *)(uintptr_t)tkl_reply_at(batch->replies, i);
        if (tkl_reply_code(reply) != TKL_OK && batch->requests[i].script)
            tkl__explain_error(reply, batch->requests[i].script);
    }
    for (size_t i = 0; batch->replies && i < batch->count; i++) {
        int code = tkl__batch_code(batch, i);
        if (code != TKL_OK)
            return code;
    }
    return rc;
}

/* Prepares a run; false: there is nothing to send, for the reason in `failure`. */
static bool begin_run(tkl__batch *batch)
{
    const char *at = batch->wire.data;
    tkl_reply_free(batch->replies);
    batch->replies = NULL;
    for (size_t i = 0; i < batch->count; i++) {
        batch->requests[i].wire.data = at;
        at += batch->requests[i].wire.len;
    }
    return batch->failure.code == TKL_OK && batch->count > 0;
}

int tkl__batch_run(tkl__batch *batch, int64_t deadline)
{
    if (!begin_run(batch))
        return tkl__first_tell(&batch->failure);
    int rc =
        tkl__exec_many(batch->client, batch->requests, batch->count, deadline, &batch->replies);
    if (!batch->replies)
        tkl__batch_fail(batch, rc);
    return first_failure(batch, rc);
}

int tkl__batch_run_lenient(tkl__batch *batch, int64_t deadline)
{
    int rc = tkl__batch_run(batch, deadline);
    if (rc == TKL_OK || !batch->replies)
        return rc;
    for (size_t i = 0; i < batch->count; i++) {
        int code = tkl__batch_code(batch, i);
        if (code != TKL_OK && !tkl__lenient_lacks(batch->client, code))
            return code;
    }
    return TKL_OK;
}

/* Runs a call without its condition. NULL: out of memory. */
static tkl_reply *run_unconditionally(tkl_client *client, const tkl__invocation *call,
                                      size_t condition, int64_t deadline)
{
    tkl_reply *reply = NULL;
    tkl_bytes *args = malloc((call->nargs + 1) * sizeof *args);
    if (!args)
        return NULL;
    memcpy(args, call->args, call->nargs * sizeof *args);
    args[condition] = (tkl_bytes){"", 0};
    tkl__invocation free_call = *call;
    free_call.args = args;
    int rc = tkl__run(client, &free_call, deadline, &reply);
    free(args);
    return rc == TKL_OK ? reply : tkl__reply_new_error(rc, tkl_errmsg());
}

/* The reply to the call before this one, of those with the same first key. NULL: it is the first. */
static const tkl_reply *reply_before(const tkl__batch *batch, const tkl__invocation *calls,
                                     size_t index)
{
    for (size_t i = index; i > 0; i--)
        if (tkl__same_bytes(calls[i - 1].keys[0], calls[index].keys[0]))
            return tkl__batch_reply(batch, i - 1);
    return NULL;
}

int tkl__batch_run_in_order(tkl__batch *batch, const tkl__invocation *calls, size_t condition,
                            int64_t deadline)
{
    int rc = tkl__batch_run(batch, deadline);
    for (size_t i = 0; batch->replies && i < batch->count; i++) {
        const tkl_reply *own = tkl__batch_reply(batch, i);
        if (!own || tkl_reply_type_of(own) != TKL_REPLY_NIL)
            continue;
        const tkl_reply *before = reply_before(batch, calls, i);
        tkl_reply *reply =
            tkl_reply_code(before) == TKL_OK
                ? run_unconditionally(batch->client, &calls[i], condition, deadline)
                : tkl__reply_new_error(tkl_reply_code(before), tkl_reply_str(before));
        if (!reply) {
            tkl_reply_free(tkl__batch_take(batch));
            tkl__batch_fail(batch, tkl__nomem());
            return TKL_ENOMEM;
        }
        tkl__reply_put(batch->replies, i, reply);
    }
    return first_failure(batch, rc);
}

int tkl__batch_end(tkl__batch *batch, int64_t deadline, tkl_reply **replies)
{
    int rc = tkl__batch_run(batch, deadline);
    *replies = rc == TKL_OK ? tkl__batch_take(batch) : NULL;
    tkl__batch_free(batch);
    return rc;
}

/* ---- Replies ------------------------------------------------------------- */

const tkl_reply *tkl__batch_reply(const tkl__batch *batch, size_t index)
{
    return tkl_reply_at(batch->replies, index);
}

int tkl__batch_code(const tkl__batch *batch, size_t index)
{
    const tkl_reply *reply = tkl__batch_reply(batch, index);
    if (!reply)
        return tkl__first_tell(&batch->failure);
    int code = tkl_reply_code(reply);
    return code == TKL_OK ? TKL_OK : tkl__fail(code, "%s", tkl_reply_str(reply));
}

tkl_reply *tkl__batch_take(tkl__batch *batch)
{
    tkl_reply *replies = batch->replies;
    batch->replies = NULL;
    return replies;
}

void tkl__batch_sum(const tkl__batch *batch, int64_t *sum, const tkl_reply **other)
{
    *other = NULL;
    for (size_t i = 0; !*other && i < batch->count; i++) {
        const tkl_reply *reply = tkl__batch_reply(batch, i);
        if (tkl_reply_type_of(reply) == TKL_REPLY_STRING)
            *other = reply;
        else
            tkl__add(sum, tkl_reply_int(reply));
    }
}
