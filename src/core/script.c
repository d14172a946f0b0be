/* SPDX-License-Identifier: MIT */
#include "core/script.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/number.h"
#include "core/reply.h"
#include "core/resp.h"

void tkl__script_wire(tkl__buf *out, const tkl__invocation *call)
{
    const tkl__script *script = call->script;
    tkl__resp_head(out, 3 + call->nkeys + call->nargs);
    tkl__resp_argz(out, script->no_writes ? "FCALL_RO" : "FCALL");
    tkl__resp_argz(out, script->function);
    tkl__resp_int(out, (int64_t)call->nkeys);
    for (size_t i = 0; i < call->nkeys; i++)
        tkl__resp_arg(out, call->keys[i].data, call->keys[i].len);
    for (size_t i = 0; i < call->nargs; i++)
        tkl__resp_arg(out, call->args[i].data, call->args[i].len);
}

static bool fits(size_t given, int declared, bool open)
{
    return open ? given >= (size_t)declared : given == (size_t)declared;
}

/* Checks the numbers of keys and arguments against the script's header block. */
static int check_counts(const tkl__invocation *call)
{
    const tkl__script *script = call->script;
    if (fits(call->nkeys, script->nkeys, script->open_keys) &&
        fits(call->nargs, script->nargs, script->open_args))
        return TKL_OK;
    return tkl__fail(TKL_EBUG, "script %s called with %zu keys and %zu arguments", script->name,
                     call->nkeys, call->nargs);
}

static int slot_of(const tkl_client *client, const tkl__invocation *call)
{
    return client->route->cluster && call->nkeys > 0 ? tkl__slot_of(call->keys[0]) : TKL__NO_SLOT;
}

static tkl__request request_of(const tkl_client *client, const tkl__invocation *call,
                               tkl_bytes wire)
{
    return (tkl__request){.wire = wire,
                          .slot = slot_of(client, call),
                          .retry_safe = call->retry_safe,
                          .doubted = call->doubted,
                          .no_tryagain = call->no_tryagain,
                          .crowded = call->crowded,
                          .imported = call->imported,
                          .script = call->script};
}

/* Sets call->doubted when the call was refused but may have been executed. */
static int run_once(tkl_client *client, tkl__invocation *call, int64_t deadline, tkl_reply **reply)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__script_wire(&wire, call);
    tkl__request request = request_of(client, call, (tkl_bytes){wire.data, wire.len});
    int rc = wire.failed ? tkl__nomem() : tkl__exec(client, &request, deadline, reply);
    tkl__buf_free(&wire);
    if (rc != TKL_OK)
        return rc;
    call->doubted |= tkl__reply_is_doubted(*reply);
    tkl__explain_error(*reply, call->script);
    return tkl__check(reply);
}

/* While the cluster moves the slot, tries all keys, then each choice of them: bit i of `spared`
 * puts the first key in the place of key i + 1. */
static int run_sparing(tkl_client *client, tkl__invocation *call, int64_t deadline,
                       tkl_reply **reply)
{
    const tkl_bytes *all = call->keys;
    tkl_bytes keys[TKL__SPARING_KEYS];
    unsigned choices = 1u << (call->nkeys - 1);
    call->keys = keys;
    call->no_tryagain = true;
    for (int round = 0;; round++) {
        int rc = TKL_OK;
        for (unsigned spared = 0; spared < choices; spared++) {
            for (size_t i = 0; i < call->nkeys; i++)
                keys[i] = i > 0 && (spared >> (i - 1) & 1) ? all[0] : all[i];
            rc = run_once(client, call, deadline, reply);
            bool moving = rc == TKL_EUNREADY && strncmp(tkl_errmsg(), "TRYAGAIN", 8) == 0;
            if (!moving)
                return rc;
        }
        if (!tkl__pause(round, false, deadline))
            return rc;
    }
}

int tkl__run(tkl_client *client, const tkl__invocation *call, int64_t deadline, tkl_reply **reply)
{
    *reply = NULL;
    int rc = check_counts(call);
    if (rc != TKL_OK)
        return rc;
    tkl__invocation one = *call;
    if (one.sparing && (one.nkeys == 0 || one.nkeys > TKL__SPARING_KEYS))
        return tkl__fail(TKL_EBUG, "script %s spares too many keys", one.script->name);
    rc = one.sparing ? run_sparing(client, &one, deadline, reply)
                     : run_once(client, &one, deadline, reply);
    return one.doubted ? tkl__in_doubt(rc) : rc;
}

int tkl__eval(tkl_client *client, const tkl__script *script, const tkl__keys *keys,
              const tkl__args *args, int64_t deadline, bool retry_safe, tkl_reply **reply)
{
    *reply = NULL;
    if (args->failed)
        return tkl__nomem();
    tkl__invocation call = {.script = script,
                            .keys = keys->items,
                            .nkeys = keys->count,
                            .args = args->items,
                            .nargs = args->count,
                            .retry_safe = retry_safe};
    return tkl__run(client, &call, deadline, reply);
}

int tkl__eval_many(tkl_client *client, const tkl__script *script, const tkl__keys *keys,
                   const tkl__args *args, size_t count, int64_t deadline, bool retry_safe,
                   tkl_reply **replies)
{
    tkl__invocation *calls = calloc(count, sizeof *calls);
    bool failed = !calls;
    *replies = NULL;
    for (size_t i = 0; calls && i < count; i++) {
        failed = failed || args[i].failed;
        calls[i] = (tkl__invocation){.script = script,
                                     .keys = keys->items,
                                     .nkeys = keys->count,
                                     .args = args[i].items,
                                     .nargs = args[i].count,
                                     .retry_safe = retry_safe};
    }
    int rc = failed ? tkl__nomem() : tkl__run_many(client, calls, count, deadline, replies);
    free(calls);
    return rc;
}

int tkl__sum_replies(const tkl_reply *replies, int64_t *sum, const tkl_reply **other)
{
    *other = NULL;
    for (size_t i = 0; !*other && i < tkl_reply_count(replies); i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (tkl_reply_code(reply) != TKL_OK)
            return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
        if (tkl_reply_kind(reply) == TKL_REPLY_STRING)
            *other = reply;
        else
            tkl__add(sum, tkl_reply_int(reply));
    }
    return TKL_OK;
}

/* A script sent without waiting for its reply. */
typedef struct errand {
    tkl__errand base; /* first */
    tkl__invocation call;
    tkl_bytes words[]; /* keys and arguments, followed by their bytes */
} errand;

/* Time-out for a thread that redoes the errand of another thread. */
#define REDO_MS 1000

static void redo(tkl_client *client, tkl__errand *base)
{
    errand *e = (errand *)(void *)base;
    tkl_reply *reply;
    tkl__run(client, &e->call, tkl__deadline_ms(REDO_MS), &reply);
    tkl_reply_free(reply);
    free(e);
}

static char *copy_words(tkl_bytes *to, const tkl_bytes *from, size_t count, char *at)
{
    for (size_t i = 0; i < count; i++) {
        if (from[i].len > 0)
            memcpy(at, from[i].data, from[i].len);
        to[i] = (tkl_bytes){at, from[i].len};
        at += from[i].len;
    }
    return at;
}

static size_t total_len(const tkl_bytes *words, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += words[i].len;
    return len;
}

static tkl__errand *make_errand(const tkl__invocation *call)
{
    size_t count = call->nkeys + call->nargs;
    errand *e = malloc(sizeof *e + count * sizeof *e->words + total_len(call->keys, call->nkeys) +
                       total_len(call->args, call->nargs));
    if (!e)
        return NULL;
    e->base.redo = redo;
    e->call = *call;
    e->call.keys = e->words;
    e->call.args = e->words + call->nkeys;
    char *at = copy_words(e->words, call->keys, call->nkeys, (char *)(e->words + count));
    copy_words(e->words + call->nkeys, call->args, call->nargs, at);
    return &e->base;
}

/* Sends the script without waiting, on a connection where the script is known to work. On others it
 * waits for the reply. */
static int send_primed(tkl__conn *conn, const tkl__invocation *call, int64_t deadline)
{
    tkl__buf wire;
    tkl_reply *reply = NULL;
    tkl__buf_init(&wire);
    tkl__script_wire(&wire, call);
    int rc = wire.failed ? tkl__nomem()
                         : tkl__conn_send(conn, (tkl_bytes){wire.data, wire.len}, deadline, NULL);
    tkl__buf_free(&wire);
    bool alone = conn->owed == 0;
    if (rc == TKL_OK && conn->primed && alone && (conn->errand = make_errand(call))) {
        conn->owed++;
        return TKL_OK;
    }
    if (rc == TKL_OK)
        rc = tkl__conn_receive(conn, deadline, &reply);
    if (rc == TKL_OK)
        rc = tkl__check(&reply);
    conn->primed = rc == TKL_OK;
    tkl_reply_free(reply);
    return rc;
}

int tkl__run_nowait(tkl_client *client, const tkl__invocation *call, int64_t deadline)
{
    tkl__node *node;
    tkl__conn *conn;
    int rc = check_counts(call);
    if (rc == TKL_OK)
        rc = client->route->pick(client, slot_of(client, call), deadline, &node);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__node_borrow(node, deadline, &conn);
    if (rc == TKL_OK) {
        rc = send_primed(conn, call, deadline);
        tkl__node_return(node, conn);
    }
    tkl__node_unref(node);
    if (rc == TKL_OK)
        return TKL_OK;
    tkl_reply *reply;
    tkl__invocation again = *call;
    again.doubted |= tkl_is_unknown(rc);
    rc = tkl__run(client, &again, deadline, &reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl__run_many(tkl_client *client, const tkl__invocation *calls, size_t count, int64_t deadline,
                  tkl_reply **replies)
{
    tkl__buf wire;
    *replies = NULL;
    tkl__buf_init(&wire);
    tkl__request *requests = malloc((count + 1) * sizeof *requests);
    size_t *ends = malloc((count + 1) * sizeof *ends);
    int rc = requests && ends ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = check_counts(&calls[i]);
        tkl__script_wire(&wire, &calls[i]);
        ends[i] = wire.len;
    }
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        size_t start = i ? ends[i - 1] : 0;
        requests[i] =
            request_of(client, &calls[i], (tkl_bytes){wire.data + start, ends[i] - start});
    }
    if (rc == TKL_OK)
        rc =
            wire.failed ? tkl__nomem() : tkl__exec_many(client, requests, count, deadline, replies);
    for (size_t i = 0; *replies && i < count; i++)
        tkl__explain_error((tkl_reply *)tkl_reply_at(*replies, i), calls[i].script);
    tkl__buf_free(&wire);
    free(requests);
    free(ends);
    return rc;
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

static bool are_together(const tkl__invocation *a, const tkl__invocation *b)
{
    return a->keys[0].len == b->keys[0].len &&
           memcmp(a->keys[0].data, b->keys[0].data, a->keys[0].len) == 0;
}

/* The reply to the call before this one, of those with the same first key. NULL: it is the first. */
static const tkl_reply *reply_before(const tkl__invocation *calls, size_t index,
                                     const tkl_reply *replies)
{
    for (size_t i = index; i > 0; i--)
        if (are_together(&calls[i - 1], &calls[index]))
            return tkl_reply_at(replies, i - 1);
    return NULL;
}

int tkl__run_in_order(tkl_client *client, const tkl__invocation *calls, size_t count,
                      size_t condition, int64_t deadline, tkl_reply **replies)
{
    int rc = tkl__run_many(client, calls, count, deadline, replies);
    for (size_t i = 0; *replies && i < count; i++) {
        const tkl_reply *own = tkl_reply_at(*replies, i);
        if (!own || tkl_reply_kind(own) != TKL_REPLY_NIL)
            continue;
        const tkl_reply *before = reply_before(calls, i, *replies);
        tkl_reply *reply =
            tkl_reply_code(before) == TKL_OK
                ? run_unconditionally(client, &calls[i], condition, deadline)
                : tkl__reply_new_error(tkl_reply_code(before), tkl_reply_str(before));
        if (!reply) {
            tkl_reply_free(*replies);
            *replies = NULL;
            return tkl__nomem();
        }
        tkl__reply_put(*replies, i, reply);
    }
    return rc;
}
