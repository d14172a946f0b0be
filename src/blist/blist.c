/* SPDX-License-Identifier: MIT
 *
 * The plain blocking queue: a list of the server under ns:blist:{name}, the user's own data. It
 * never expires; the server removes it with its last item.
 *
 * Who does not want to wait asks LPOP or LMPOP, in the pool like any call. Who waits asks BLPOP, on
 * a connection beside the pool: the server keeps the line of those who wait, across all
 * clients, and serves the oldest first.
 */
#include <tackle/blist.h>

#include <stdio.h>
#include <string.h>

#include "core/block.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/onekey.h"
#include "core/reply.h"
#include "core/resp.h"

struct tkl_blist {
    tkl__onekey key;
};

int tkl_blist_open(tkl_client *client, tkl_bytes name, tkl_blist **list)
{
    void *handle;
    int rc = tkl__onekey_open(client, "blist", name, sizeof **list, &handle);
    *list = handle;
    return rc;
}

void tkl_blist_close(tkl_blist *list)
{
    tkl__onekey_close(list);
}

/* ---- One command --------------------------------------------------------- */

int tkl_blist_push(tkl_blist *list, const tkl_bytes *items, size_t count, int64_t *length)
{
    tkl__query command;
    tkl_reply *reply;
    if (length)
        *length = 0;
    if (count == 0)
        return length ? tkl_blist_length(list, length) : TKL_OK;
    tkl__query_begin(&command, &list->key, "RPUSH");
    tkl__query_key(&command, &list->key);
    for (size_t i = 0; i < count; i++)
        tkl__query_bytes(&command, items[i]);
    int rc = tkl__query_end(&command, false, &reply);
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
    tkl__query_key(&command, &list->key);
    int rc = tkl__query_end(&command, true, &reply);
    *length = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_blist_clear(tkl_blist *list)
{
    return tkl__onekey_drop(&list->key);
}

/* ---- Popping ------------------------------------------------------------- */

/* Those to pop from. */
typedef struct choice {
    tkl_blist *const *lists;
    size_t count;
} choice;

static int check(const choice *from)
{
    if (from->count == 0)
        return tkl__fail(TKL_EINVAL, "no list to pop from");
    for (size_t i = 1; i < from->count; i++) {
        if (from->lists[i]->key.client != from->lists[0]->key.client)
            return tkl__fail(TKL_EINVAL, "the lists are of different clients");
        if (!tkl__onekey_together(&from->lists[0]->key, &from->lists[i]->key))
            return tkl__fail(TKL_ECROSSSLOT, "the lists live in different slots");
    }
    return TKL_OK;
}

static tkl_bytes key_of(const tkl_blist *list)
{
    return (tkl_bytes){list->key.base.data, list->key.base.len};
}

static size_t index_of(const choice *from, tkl_bytes key)
{
    for (size_t i = 0; i < from->count; i++)
        if (key_of(from->lists[i]).len == key.len &&
            memcmp(key_of(from->lists[i]).data, key.data, key.len) == 0)
            return i;
    return 0;
}

/* The first that has one, at once: nil, or the key and an array of one item. */
static int ask_now(const choice *from, tkl_reply **reply)
{
    tkl__query command;
    const tkl__onekey *first = &from->lists[0]->key;
    tkl__query_begin(&command, first, "LMPOP");
    tkl__query_int(&command, (int64_t)from->count);
    for (size_t i = 0; i < from->count; i++)
        tkl__query_key(&command, &from->lists[i]->key);
    tkl__query_word(&command, "LEFT");
    return tkl__query_end(&command, false, reply);
}

/* The server takes no longer times; nobody is there any more when it ends. */
#define WAIT_MAX_MS INT64_C(1000000000000)

/* To the server 0 is for ever, so the shortest wait is a millisecond. */
static void write_blpop(tkl__buf *wire, int64_t left_us, const void *arg)
{
    const choice *from = arg;
    char seconds[32] = "0";
    int64_t ms = left_us < 1000 ? 1 : left_us / 1000;
    if (ms < WAIT_MAX_MS)
        snprintf(seconds, sizeof seconds, "%lld.%03d", (long long)(ms / 1000), (int)(ms % 1000));
    tkl__resp_head(wire, from->count + 2);
    tkl__resp_argz(wire, "BLPOP");
    for (size_t i = 0; i < from->count; i++)
        tkl__resp_arg(wire, key_of(from->lists[i]).data, key_of(from->lists[i]).len);
    tkl__resp_argz(wire, seconds);
}

/* The first that has one, in time: nil, or the key and the item. */
static int ask_and_wait(const choice *from, int64_t wait_ms, tkl_reply **reply)
{
    tkl_client *client = from->lists[0]->key.client;
    tkl__blocking command = {.slot = client->route->cluster ? tkl__slot_of(key_of(from->lists[0]))
                                                            : TKL__NO_SLOT,
                             .write = write_blpop,
                             .arg = from};
    return tkl__block(client, &command, wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      reply);
}

int tkl_blist_pop(tkl_blist *const *lists, size_t count, int64_t wait_ms, size_t *which,
                  tkl_reply **item)
{
    choice from = {lists, count};
    tkl_reply *reply = NULL;
    *item = NULL;
    if (which)
        *which = 0;
    int rc = check(&from);
    if (rc == TKL_OK)
        rc = wait_ms == 0 ? ask_now(&from, &reply) : ask_and_wait(&from, wait_ms, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = TKL_EMPTY;
    if (rc == TKL_OK) {
        const tkl_reply *value = tkl_reply_at(reply, 1);
        const tkl_reply *bytes = wait_ms == 0 ? tkl_reply_at(value, 0) : value;
        if (which)
            *which = index_of(&from, tkl_reply_bytes(tkl_reply_at(reply, 0)));
        *item = tkl__reply_new_bytes(tkl_reply_bytes(bytes));
        rc = *item ? TKL_OK : tkl__nomem();
    }
    tkl_reply_free(reply);
    return rc;
}
