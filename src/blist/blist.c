/* SPDX-License-Identifier: MIT
 *
 * The plain blocking queue: a list of the server under ns:blist:{name}, the user's own data. It
 * never expires, unless its options say so; the server removes it with its last item.
 *
 * A pop that does not wait is LMPOP, in the pool like any call. A pop that waits is BLMPOP, on a
 * connection beside the pool: the server keeps the line of waiters, across all clients, and serves
 * the one that has waited longest.
 */
#include <tackle/blist.h>

#include <stdio.h>
#include <stdlib.h>

#include "blist/scripts.h"
#include "core/block.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/onekey.h"
#include "core/options.h"
#include "core/resp.h"
#include "core/script.h"

#define COMPONENT "blist"

struct tkl_blist {
    tkl__onekey key;
    int64_t ttl_ms; /* 0: none */
    bool push_first, pop_last;
};

static int check_options(const tkl_blist_options *o)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX});
    return rc == TKL_OK ? tkl__check_number("ttl_ms", o->ttl_ms, 0, TKL__MS_MAX) : rc;
}

int tkl_blist_open(tkl_client *client, tkl_bytes name, const tkl_blist_options *options,
                   tkl_blist **list)
{
    static const tkl_blist_options defaults;
    const tkl_blist_options *o = options ? options : &defaults;
    void *handle = NULL;
    int rc = check_options(o);
    if (rc == TKL_OK)
        rc = tkl__onekey_open(client, COMPONENT, name, sizeof **list, &handle);
    *list = handle;
    if (rc != TKL_OK)
        return rc;
    (*list)->key.timeout_ms = o->timeout_ms;
    (*list)->ttl_ms = o->ttl_ms;
    (*list)->push_first = o->push_first;
    (*list)->pop_last = o->pop_last;
    return TKL_OK;
}

void tkl_blist_close(tkl_blist *list)
{
    tkl__onekey_close(list);
}

static tkl_bytes key_of(const tkl_blist *list)
{
    return (tkl_bytes){list->key.base.data, list->key.base.len};
}

/* ---- One command --------------------------------------------------------- */

static int push_for_good(tkl_blist *list, const tkl_bytes *items, size_t count, tkl_reply **reply)
{
    tkl__query command;
    const tkl_reply *length;
    tkl__query_begin(&command, &list->key, list->push_first ? "LPUSH" : "RPUSH");
    for (size_t i = 0; i < count; i++)
        tkl__query_bytes(&command, items[i]);
    return tkl__query_write(&command, false, reply, &length);
}

static int push_for_a_while(tkl_blist *list, const tkl_bytes *items, size_t count,
                            tkl_reply **reply)
{
    tkl_bytes key = key_of(list);
    tkl__keys keys = {&key, 1};
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_int(&args, list->ttl_ms);
    tkl__args_str(&args, list->push_first ? "first" : "last");
    for (size_t i = 0; i < count; i++)
        tkl__args_bytes(&args, items[i]);
    int rc = tkl__eval(list->key.client, &tkl__lua_blist_push, &keys, &args,
                       tkl__deadline(list->key.client, list->key.timeout_ms), false, reply);
    tkl__args_free(&args);
    return rc;
}

int tkl_blist_push(tkl_blist *list, const tkl_bytes *items, size_t count, int64_t *length)
{
    tkl_reply *reply;
    if (length)
        *length = 0;
    if (count == 0)
        return length ? tkl_blist_length(list, length) : TKL_OK;
    int rc = list->ttl_ms > 0 ? push_for_a_while(list, items, count, &reply)
                              : push_for_good(list, items, count, &reply);
    if (length)
        *length = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_blist_length(tkl_blist *list, int64_t *length)
{
    tkl__query command;
    tkl_reply *reply;
    tkl__query_begin(&command, &list->key, "LLEN");
    int rc = tkl__query_end(&command, true, &reply);
    *length = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_blist_drop(tkl_blist *list)
{
    return tkl__onekey_drop(&list->key);
}

int tkl_blist_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, COMPONENT, "", "list", names);
}

/* ---- Popping ------------------------------------------------------------- */

/* The lists to pop from, and how much. */
typedef struct choice {
    tkl_blist *const *lists;
    size_t count;
    size_t max;
} choice;

static int check_lists(const choice *from)
{
    if (from->count == 0)
        return tkl__fail(TKL_EINVAL, "no list to pop from");
    for (size_t i = 1; i < from->count; i++) {
        if (from->lists[i]->key.client != from->lists[0]->key.client)
            return tkl__fail(TKL_EINVAL, "the lists are of different clients");
        if (from->lists[i]->pop_last != from->lists[0]->pop_last)
            return tkl__fail(TKL_EINVAL, "pop_last: the lists differ in it");
        if (!tkl__onekey_together(&from->lists[0]->key, &from->lists[i]->key))
            return tkl__fail(TKL_ECROSSSLOT, "the lists live in different slots");
    }
    return tkl__check_number("max", from->max < INT64_MAX ? (int64_t)from->max : INT64_MAX, 1,
                             TKL_BLIST_POP_MAX);
}

static const char *end_of(const choice *from)
{
    return from->lists[0]->pop_last ? "RIGHT" : "LEFT";
}

/* Pops from the first list that has items, without waiting. */
static int ask_now(const choice *from, tkl_reply **reply)
{
    tkl__query command;
    tkl__query_begin_at(&command, &from->lists[0]->key, "LMPOP");
    tkl__query_int(&command, (int64_t)from->count);
    for (size_t i = 0; i < from->count; i++)
        tkl__query_key(&command, &from->lists[i]->key);
    tkl__query_word(&command, end_of(from));
    tkl__query_word(&command, "COUNT");
    tkl__query_int(&command, (int64_t)from->max);
    return tkl__query_end(&command, false, reply);
}

/* The server rejects longer time-outs; no caller waits for that long. */
#define WAIT_MAX_MS INT64_C(1000000000000)

/* The server takes 0 as for ever, so the shortest wait is a millisecond. */
static void write_blmpop(tkl__buf *wire, int64_t left_us, const void *arg)
{
    const choice *from = arg;
    char seconds[32] = "0";
    int64_t ms = left_us < 1000 ? 1 : left_us / 1000;
    if (ms < WAIT_MAX_MS)
        snprintf(seconds, sizeof seconds, "%lld.%03d", (long long)(ms / 1000), (int)(ms % 1000));
    tkl__resp_head(wire, from->count + 6);
    tkl__resp_argz(wire, "BLMPOP");
    tkl__resp_argz(wire, seconds);
    tkl__resp_int(wire, (int64_t)from->count);
    for (size_t i = 0; i < from->count; i++)
        tkl__resp_arg(wire, key_of(from->lists[i]).data, key_of(from->lists[i]).len);
    tkl__resp_argz(wire, end_of(from));
    tkl__resp_argz(wire, "COUNT");
    tkl__resp_int(wire, (int64_t)from->max);
}

/* Pops from the first list that has items; waits up to wait_ms. */
static int ask_and_wait(const choice *from, int64_t wait_ms, tkl_reply **reply)
{
    tkl_client *client = from->lists[0]->key.client;
    tkl__blocking command = {.slot = client->route->cluster ? tkl__slot_of(key_of(from->lists[0]))
                                                            : TKL__NO_SLOT,
                             .write = write_blmpop,
                             .arg = from,
                             .timeout_ms = from->lists[0]->key.timeout_ms};
    return tkl__block(client, &command, wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      reply);
}

/* Pops. Items that are already there are returned even when the client is interrupted. */
static int pop_items(const choice *from, int64_t wait_ms, tkl_reply **reply)
{
    bool interrupted = wait_ms != 0 && tkl__is_interrupted(from->lists[0]->key.client);
    if (wait_ms != 0 && !interrupted)
        return ask_and_wait(from, wait_ms, reply);
    int rc = ask_now(from, reply);
    return rc == TKL_OK && tkl_reply_is_nil(*reply) && interrupted ? tkl__interrupted() : rc;
}

/* The result for the caller, and the reply that owns the bytes. */
typedef struct popped {
    tkl_blist_items items; /* first */
    tkl_reply *reply;
    tkl_bytes bytes[];
} popped;

/* Reads [key, [item...]]. The result takes over the reply. */
static int read_items(const choice *from, tkl_reply *reply, tkl_blist_items **items)
{
    const tkl_reply *list = tkl_reply_at(reply, 1);
    tkl_bytes key = tkl_reply_bytes(tkl_reply_at(reply, 0));
    size_t count = tkl_reply_count(list), which = 0;
    while (which < from->count && !tkl__same_bytes(key_of(from->lists[which]), key))
        which++;
    if (count == 0 || count > from->max || which == from->count)
        return tkl__fail(TKL_EPROTO, "a reply to LMPOP that makes no sense");
    popped *p = calloc(1, sizeof *p + count * sizeof *p->bytes);
    if (!p)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        p->bytes[i] = tkl_reply_bytes(tkl_reply_at(list, i));
    p->items = (tkl_blist_items){.which = which, .items = p->bytes, .count = count};
    p->reply = reply;
    *items = &p->items;
    return TKL_OK;
}

int tkl_blist_pop(tkl_blist *const *lists, size_t count, size_t max, int64_t wait_ms,
                  tkl_blist_items **items)
{
    choice from = {lists, count, max};
    tkl_reply *reply = NULL;
    *items = NULL;
    int rc = check_lists(&from);
    if (rc == TKL_OK)
        rc = pop_items(&from, wait_ms, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = tkl__no(TKL_EMPTY);
    if (rc == TKL_OK)
        rc = read_items(&from, reply, items);
    if (rc != TKL_OK)
        tkl_reply_free(reply);
    return rc;
}

void tkl_blist_items_free(tkl_blist_items *items)
{
    popped *p = (popped *)(void *)items;
    if (p)
        tkl_reply_free(p->reply);
    free(p);
}
