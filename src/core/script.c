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

static bool count_fits(size_t given, int declared, bool open)
{
    return open ? given >= (size_t)declared : given == (size_t)declared;
}

int tkl__script_check(const tkl__invocation *call)
{
    const tkl__script *script = call->script;
    if (count_fits(call->nkeys, script->nkeys, script->open_keys) &&
        count_fits(call->nargs, script->nargs, script->open_args))
        return TKL_OK;
    return tkl__fail(TKL_EBUG, "script %s called with %zu keys and %zu arguments", script->name,
                     call->nkeys, call->nargs);
}

static int slot_of(const tkl_client *client, const tkl__invocation *call)
{
    return client->route->cluster && call->nkeys > 0 ? tkl__slot_of(call->keys[0]) : TKL__NO_SLOT;
}

tkl__request tkl__script_request(const tkl_client *client, const tkl__invocation *call)
{
    return (tkl__request){.slot = slot_of(client, call),
                          .retry_safe = call->retry_safe,
                          .doubted = call->doubted,
                          .no_tryagain = call->no_tryagain,
                          .crowded = call->crowded,
                          .imported = call->imported,
                          .names_word = call->script->no_writes || call->nkeys == 0 ? 0 : 3,
                          .script = call->script};
}

/* Sets call->doubted when the call was refused but may have been executed. */
static int run_once(tkl_client *client, tkl__invocation *call, int64_t deadline, tkl_reply **reply)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__script_wire(&wire, call);
    tkl__request request = tkl__script_request(client, call);
    request.wire = (tkl_bytes){wire.data, wire.len};
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
    int rc = tkl__script_check(call);
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

/* A script sent without waiting for its reply. */
typedef struct errand {
    tkl__errand base; /* first */
    tkl__invocation call;
    tkl_bytes words[]; /* keys and arguments, followed by their bytes */
} errand;

/* Time-out for a thread that redoes the errand of another thread. */
#define REDO_MS 1000

static void redo_errand(tkl_client *client, tkl__errand *base)
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
    e->base.redo = redo_errand;
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
    int rc = tkl__script_check(call);
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
