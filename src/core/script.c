/* SPDX-License-Identifier: MIT */
#include "core/script.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/number.h"
#include "core/reply.h"
#include "core/resp.h"

void tkl__script_wire(tkl__buf *out, const tkl__invocation *call, bool by_sha)
{
    const tkl__script *script = call->script;
    tkl__resp_head(out, 3 + call->nkeys + call->nargs);
    if (by_sha) {
        tkl__resp_arg(out, "EVALSHA", 7);
        tkl__resp_arg(out, script->sha1, 40);
    } else {
        tkl__resp_arg(out, "EVAL", 4);
        tkl__resp_arg(out, script->source, script->len);
    }
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

/* The header block of the script says how many it takes. */
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

/* Servers tell which script met an error, and in which line. Who calls us has never seen it. */
static void cut_origin(tkl_reply *reply, const tkl__script *script)
{
    static const char origin[] = " script: ";
    tkl_bytes text = tkl_reply_bytes(reply);
    const char *at = strstr(text.data, origin);
    if (at && strncmp(at + sizeof origin - 1, script->sha1, strlen(script->sha1)) == 0)
        tkl__reply_cut(reply, (size_t)(at - text.data));
}

/* The part of the script that has this line. */
static const tkl__origin *origin_of(const tkl__script *script, int line)
{
    const tkl__origin *at = script->origins;
    while (at[1].line > 0 && at[1].line <= line)
        at++;
    return at;
}

/* "user_script:31: ..." becomes "hold/hold.inc.lua:12: ...": a line that its authors know. */
static void name_line(tkl_reply *reply, const tkl__script *script)
{
    static const char mark[] = "user_script:";
    const char *text = tkl_reply_str(reply), *at = strstr(text, mark);
    char *end;
    long line = at ? strtol(at + sizeof mark - 1, &end, 10) : 0;
    if (line < 1 || line > INT_MAX || !script->origins)
        return;
    const tkl__origin *origin = origin_of(script, (int)line);
    tkl__buf said;
    tkl__buf_init(&said);
    tkl__buf_add(&said, text, (size_t)(at - text));
    tkl__buf_addf(&said, "%s:%ld%s", origin->file, line - origin->line + origin->file_line, end);
    if (!said.failed)
        tkl__reply_say(reply, (tkl_bytes){said.data, said.len});
    tkl__buf_free(&said);
}

/* Makes an error reply of a script fit to be read. */
static void explain_error(tkl_reply *reply, const tkl__script *script)
{
    if (tkl_reply_kind(reply) != TKL_REPLY_ERROR)
        return;
    cut_origin(reply, script);
    name_line(reply, script);
}

static int run_once(tkl_client *client, const tkl__invocation *call, bool by_sha, int64_t deadline,
                    tkl_reply **reply)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__script_wire(&wire, call, by_sha);
    tkl__request request = {.wire = {wire.data, wire.len},
                            .slot = slot_of(client, call),
                            .retry_safe = call->retry_safe,
                            .no_tryagain = call->no_tryagain,
                            .crowded = call->crowded};
    int rc = wire.failed ? tkl__nomem() : tkl__exec(client, &request, deadline, reply);
    tkl__buf_free(&wire);
    if (rc != TKL_OK)
        return rc;
    explain_error(*reply, call->script);
    return tkl__check(reply);
}

static int run_known(tkl_client *client, const tkl__invocation *call, int64_t deadline,
                     tkl_reply **reply)
{
    int rc = run_once(client, call, true, deadline, reply);
    return rc == TKL_ENOSCRIPT ? run_once(client, call, false, deadline, reply) : rc;
}

/* With all keys and with the first one, in turns, while the slot moves. */
static int run_first_alone(tkl_client *client, tkl__invocation call, int64_t deadline,
                           tkl_reply **reply)
{
    size_t all = call.nkeys;
    call.no_tryagain = true;
    for (int attempt = 0;; attempt++) {
        call.nkeys = attempt % 2 == 0 ? all : 1;
        int rc = run_known(client, &call, deadline, reply);
        bool moving = rc == TKL_EUNREADY && strncmp(tkl_errmsg(), "TRYAGAIN", 8) == 0;
        if (!moving || (attempt % 2 == 1 && !tkl__pause(attempt, false, deadline)))
            return rc;
    }
}

int tkl__run(tkl_client *client, const tkl__invocation *call, int64_t deadline, tkl_reply **reply)
{
    *reply = NULL;
    int rc = check_counts(call);
    if (rc != TKL_OK)
        return rc;
    return call->first_alone ? run_first_alone(client, *call, deadline, reply)
                             : run_known(client, call, deadline, reply);
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
    tkl_bytes words[]; /* the keys, the arguments, and behind them their bytes */
} errand;

/* How long a thread that came by is kept with the errand of another. */
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

/* On a connection where the script is known to work, only sends it; else awaits the reply. */
static int send_primed(tkl__conn *conn, const tkl__invocation *call, int64_t deadline)
{
    tkl__buf wire;
    tkl_reply *reply = NULL;
    tkl__buf_init(&wire);
    tkl__script_wire(&wire, call, true);
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
    rc = tkl__run(client, call, deadline, &reply);
    tkl_reply_free(reply);
    return rc;
}

/* All in one trip, by SHA1, unless they are to be sent whole. */
static int run_all(tkl_client *client, const tkl__invocation *calls, size_t count, int64_t deadline,
                   tkl_reply **replies)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__request *requests = malloc((count + 1) * sizeof *requests);
    size_t *ends = malloc((count + 1) * sizeof *ends);
    int rc = requests && ends ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = check_counts(&calls[i]);
        tkl__script_wire(&wire, &calls[i], !calls[i].whole);
        ends[i] = wire.len;
    }
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        size_t start = i ? ends[i - 1] : 0;
        requests[i] = (tkl__request){.wire = {wire.data + start, ends[i] - start},
                                     .slot = slot_of(client, &calls[i]),
                                     .retry_safe = calls[i].retry_safe};
    }
    if (rc == TKL_OK)
        rc =
            wire.failed ? tkl__nomem() : tkl__exec_many(client, requests, count, deadline, replies);
    tkl__buf_free(&wire);
    free(requests);
    free(ends);
    return rc;
}

/* Repeats with its source what a server did not know. */
static int run_unknown(tkl_client *client, const tkl__invocation *call, int64_t deadline,
                       tkl_reply *replies, size_t index)
{
    tkl_reply *reply;
    int rc = run_once(client, call, false, deadline, &reply);
    if (rc != TKL_OK)
        reply = tkl__reply_new_error(rc, tkl_errmsg());
    if (reply)
        tkl__reply_put(replies, index, reply);
    bool unanswered = rc == TKL_ENOTSENT || rc == TKL_EUNKNOWN || rc == TKL_ETIMEOUT;
    return unanswered ? rc : TKL_OK;
}

static bool is_unknown(const tkl_reply *replies, size_t index)
{
    return tkl_reply_code(tkl_reply_at(replies, index)) == TKL_ENOSCRIPT;
}

static void explain_known(const tkl__invocation *calls, size_t count, tkl_reply *replies)
{
    for (size_t i = 0; i < count; i++)
        if (!is_unknown(replies, i))
            explain_error((tkl_reply *)tkl_reply_at(replies, i), calls[i].script);
}

/* Calls whose scripts a server did not know, and where their replies belong. */
typedef struct unknowns {
    tkl__invocation *calls;
    size_t *places;
    size_t count;
} unknowns;

static void collect_unknown(const tkl__invocation *calls, size_t count, const tkl_reply *replies,
                            unknowns *u)
{
    u->count = 0;
    for (size_t i = 0; i < count; i++)
        if (is_unknown(replies, i)) {
            u->places[u->count] = i;
            u->calls[u->count++] = calls[i];
        }
}

/* The first with its source; then its server knows it, and the others follow in one trip. */
static int run_unknowns(tkl_client *client, const unknowns *u, int64_t deadline, tkl_reply *replies)
{
    tkl_reply *others = NULL;
    int rc = run_unknown(client, &u->calls[0], deadline, replies, u->places[0]);
    if (u->count == 1)
        return rc;
    int again = run_all(client, u->calls + 1, u->count - 1, deadline, &others);
    if (others) {
        explain_known(u->calls + 1, u->count - 1, others);
        tkl__reply_place(replies, u->places + 1, others);
    }
    return rc == TKL_OK ? again : rc;
}

/* Once for each script and server; more often only when a server forgets what it was told. */
static int repeat_unknown(tkl_client *client, const tkl__invocation *calls, size_t count,
                          int64_t deadline, tkl_reply *replies)
{
    unknowns u = {malloc((count + 1) * sizeof *u.calls), malloc((count + 1) * sizeof *u.places), 0};
    int rc = u.calls && u.places ? TKL_OK : tkl__nomem();
    for (size_t i = 0; u.calls && u.places && i < count; i++) {
        collect_unknown(calls, count, replies, &u);
        if (u.count == 0)
            break;
        int again = run_unknowns(client, &u, deadline, replies);
        rc = rc == TKL_OK ? again : rc;
    }
    free(u.calls);
    free(u.places);
    return rc;
}

int tkl__run_many(tkl_client *client, const tkl__invocation *calls, size_t count, int64_t deadline,
                  tkl_reply **replies)
{
    *replies = NULL;
    int rc = run_all(client, calls, count, deadline, replies);
    if (!*replies)
        return rc;
    explain_known(calls, count, *replies);
    bool all_known = true;
    for (size_t i = 0; i < count; i++)
        all_known &= !is_unknown(*replies, i);
    int again = all_known ? TKL_OK : repeat_unknown(client, calls, count, deadline, *replies);
    return rc == TKL_OK ? again : rc;
}
