/* SPDX-License-Identifier: MIT
 *
 * Requests to the server: each function is one round trip.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/plain.h"
#include "core/waiting.h"
#include "hold/inside.h"
#include "hold/scripts.h"

/* All scripts take the same keys. Scripts that get a token are safe to repeat. The common cases
 * need only the keys that exist. */
tkl__invocation tkl__hold_invoke(const tkl__hold *h, const tkl__script *script,
                                 const tkl_bytes *args, size_t nargs)
{
    return (tkl__invocation){.script = script,
                             .keys = h->keys,
                             .nkeys = NKEYS,
                             .args = args,
                             .nargs = nargs,
                             .retry_safe = true,
                             .sparing = true};
}

int tkl__hold_check_ours(const tkl__hold *h)
{
    if (tkl__hold_is_ours(h))
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "this handle belongs to the parent of this process");
}

int64_t tkl__hold_deadline(const tkl__hold *h)
{
    return tkl__deadline(h->client, h->rules.timeout_ms);
}

/* Runs a script that may hand over, or free what waiters wait for. On a node that is about to get
 * the slot the script finds no waiters: they still listen at the slot's owner. A message there
 * recalls them, and they ask again. */
static int run_and_recall(tkl__hold *h, int64_t deadline, tkl__invocation call, tkl_reply **reply)
{
    bool imported = false;
    call.imported = &imported;
    int rc = tkl__run(h->client, &call, deadline, reply);
    if (rc != TKL_OK || !imported)
        return rc;
    tkl__args words;
    tkl_reply *heard = NULL;
    tkl__args_init(&words);
    tkl__args_str(&words, "SPUBLISH");
    tkl__args_bytes(&words, h->everyone);
    tkl__args_str(&words, " recall");
    if (tkl__plain(h->client, &words, deadline, true, &heard) != TKL_OK)
        tkl__begin(); /* the waiters look by themselves, only later */
    tkl_reply_free(heard);
    tkl__args_free(&words);
    return TKL_OK;
}

int tkl__hold_run(tkl__hold *h, const tkl__script *script, const tkl_bytes *args, size_t nargs,
                  tkl_reply **reply)
{
    *reply = NULL;
    int rc = tkl__hold_check_ours(h);
    if (rc != TKL_OK)
        return rc;
    tkl__invocation call = tkl__hold_invoke(h, script, args, nargs);
    call.retry_safe = script != &tkl__lua_hold_break;
    return script->no_writes ? tkl__run(h->client, &call, tkl__hold_deadline(h), reply)
                             : run_and_recall(h, tkl__hold_deadline(h), call, reply);
}

/* Limits a duration from the server to the range 0 to TKL__HOLD_US_MAX. */
static int64_t bounded(int64_t us)
{
    return us < 0 ? 0 : us > TKL__HOLD_US_MAX ? TKL__HOLD_US_MAX : us;
}

int tkl__hold_read_grant(const tkl_reply *reply, int64_t started, tkl__hold_grant *g)
{
    int64_t code = tkl_reply_int(tkl_reply_at(reply, 0));
    *g = (tkl__hold_grant){.fence = (uint64_t)tkl_reply_int(tkl_reply_at(reply, 1)),
                           .lease_us = bounded(tkl_reply_int(tkl_reply_at(reply, 2))),
                           .started = started};
    if (tkl_reply_count(reply) == 0 || (code != TKL_OK && code != TKL_BUSY && code != TKL_NOTOWNER))
        return tkl__fail(TKL_EPROTO, "an answer that no script of tackle gives");
    return (int)code;
}

static tkl__hold_busy read_busy(const tkl_reply *reply, int64_t started)
{
    int64_t now = tkl_reply_int(tkl_reply_at(reply, 3));
    int64_t role = tkl_reply_int(tkl_reply_at(reply, 4));
    return (tkl__hold_busy){.left_us = bounded(tkl_reply_int(tkl_reply_at(reply, 2))),
                            .server_now = now < 0 ? 0 : now,
                            .looker = role == TKL__HOLD_LOOKER,
                            .placeless = role == TKL__HOLD_PLACELESS,
                            .started = started};
}

static tkl_bytes mode_of(const tkl__hold *h)
{
    return tkl_str(h->rules.shared ? "s" : "x");
}

/* The first request for a place does not make the server search the line for it, so the client does
 * not repeat that request unchanged. */
int tkl__hold_ask_acquire(tkl__hold *h, bool wait, int64_t deadline, tkl__hold_grant *g,
                          tkl__hold_busy *b)
{
    tkl_bytes args[] = {h->everyone,
                        tkl_str(h->token),
                        mode_of(h),
                        tkl_str(h->lease),
                        tkl_str(h->limit),
                        tkl_str(h->who),
                        tkl_str(h->id),
                        wait ? h->channel : tkl_str(""),
                        tkl_str(h->in_line ? "again" : ""),
                        h->rules.announced ? h->everyone : tkl_str("")};
    tkl_reply *reply;
    tkl__invocation call =
        tkl__hold_invoke(h, &tkl__lua_hold_acquire, args, sizeof args / sizeof *args);
    call.retry_safe = h->in_line || !wait;
    call.crowded = wait;
    bool was_in_line = h->in_line;
    h->in_line |= wait;
    int64_t started = tkl__lease_now();
    int rc = tkl__run(h->client, &call, deadline, &reply);
    if (rc == TKL_OK) {
        rc = tkl__hold_read_grant(reply, started, g);
        *b = read_busy(reply, started);
        if (rc == TKL_BUSY && b->placeless)
            h->in_line = was_in_line;
    }
    tkl_reply_free(reply);
    return rc;
}

int tkl__hold_ask_renew(tkl__hold *h, int64_t lease_ms, bool downgrade, tkl__hold_grant *g)
{
    char lease[24];
    snprintf(lease, sizeof lease, "%" PRId64, tkl__hold_us(lease_ms));
    tkl_bytes args[] = {h->everyone, tkl_str(h->token), tkl_str(lease),
                        tkl_str(downgrade ? "downgrade" : "")};
    tkl_reply *reply;
    int64_t started = tkl__lease_now();
    int rc = tkl__hold_run(h, &tkl__lua_hold_renew, args, 4, &reply);
    if (rc == TKL_OK)
        rc = tkl__hold_read_grant(reply, started, g);
    tkl_reply_free(reply);
    return rc;
}

int tkl__hold_ask_leave(tkl__hold *h, tkl__hold_grant *g)
{
    tkl_bytes args[] = {tkl_str(h->token), mode_of(h),     tkl_str(h->lease),
                        tkl_str(h->who),   tkl_str(h->id), h->channel};
    tkl_reply *reply;
    int64_t started = tkl__lease_now();
    tkl__invocation call = tkl__hold_invoke(h, &tkl__lua_hold_leave, args, 6);
    int64_t deadline = tkl__hold_deadline(h);
    tkl__let_take_turn(deadline);
    /* The wait is over: a server that is down must not prolong it. */
    int rc = run_and_recall(h, tkl__wait_overtime(deadline, 0), call, &reply);
    tkl__let_take_turn(0);
    if (rc == TKL_OK)
        rc = tkl__hold_read_grant(reply, started, g);
    tkl_reply_free(reply);
    return rc;
}

int tkl__hold_ask_release(tkl__hold *h, bool wait_for_reply, bool retry_safe)
{
    tkl_bytes args[] = {h->everyone, tkl_str(h->token)};
    tkl__invocation call = tkl__hold_invoke(h, &tkl__lua_hold_release, args, 2);
    call.retry_safe = retry_safe;
    call.crowded = h->in_line; /* other clients may be waiting */
    int64_t deadline = tkl__hold_deadline(h);
    tkl_reply *reply = NULL;
    int rc = wait_for_reply ? run_and_recall(h, deadline, call, &reply)
                            : tkl__run_nowait(h->client, &call, deadline);
    tkl__hold_grant g;
    if (rc == TKL_OK && wait_for_reply)
        rc = tkl__hold_read_grant(reply, 0, &g);
    tkl_reply_free(reply);
    return rc;
}
