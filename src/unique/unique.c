/* SPDX-License-Identifier: MIT
 *
 * Unique counts: the server's HyperLogLog under ns:unique:{name}, the user's own data. It is
 * removed by tkl_unique_drop(), or expires with `ttl_ms`.
 *
 * A command for several HyperLogLogs needs them in one slot, and in a cluster different names live
 * in different slots. There the client fetches all but the first (12 KB each at most), and a script
 * puts them beside the first for its own duration (ns:unique:{name}:0, :1 and so on) and counts or
 * merges there. The estimate is the same.
 */
#include <tackle/unique.h>

#include <stdio.h>
#include <stdlib.h>

#include "core/batch.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/onekey.h"
#include "core/options.h"
#include "core/resp.h"
#include "unique/scripts.h"

#define COMPONENT    "unique"
#define TOGETHER_MAX 1000

struct tkl_unique {
    tkl__onekey key;
};

int tkl_unique_open(tkl_client *client, tkl_bytes name, const tkl_unique_options *options,
                    tkl_unique **unique)
{
    static const tkl_unique_options defaults;
    const tkl_unique_options *o = options ? options : &defaults;
    void *handle = NULL;
    int rc = TKL__CHECK_RESERVED(o);
    if (rc == TKL_OK)
        rc = tkl__onekey_open_with(client, COMPONENT, name, o->timeout_ms, o->ttl_ms,
                                   sizeof **unique, &handle);
    *unique = handle;
    return rc;
}

void tkl_unique_close(tkl_unique *unique)
{
    tkl__onekey_close(unique);
}

int tkl_unique_add(tkl_unique *unique, const tkl_bytes *items, size_t count, bool *changed)
{
    tkl__query command;
    tkl_reply *owner;
    const tkl_reply *reply;
    int64_t is_new;
    if (changed)
        *changed = false;
    if (count == 0)
        return TKL_OK;
    tkl__query_begin(&command, &unique->key, "PFADD");
    for (size_t i = 0; i < count; i++)
        tkl__query_bytes(&command, items[i]);
    int rc = tkl__query_write(&command, !changed, &owner, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_int(reply, 0, 1, &is_new);
    if (rc == TKL_OK && changed)
        *changed = is_new == 1;
    tkl_reply_free(owner);
    return rc;
}

int tkl_unique_drop(tkl_unique *unique)
{
    return tkl__onekey_drop(&unique->key);
}

int tkl_unique_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, COMPONENT, "", "string", names);
}

/* ---- Several ------------------------------------------------------------- */

/* Commands for several: COUNT reads the first as well, MERGE writes it. */
static const char COUNT[] = "PFCOUNT", MERGE[] = "PFMERGE";

/* Runs COUNT or MERGE for the first and the others, which are all in one slot. */
static int run_together(const char *name, tkl_unique *first, tkl_unique *const *others,
                        size_t count, tkl_reply **reply)
{
    const tkl_reply *merged;
    tkl__query command;
    tkl__query_begin(&command, &first->key, name);
    for (size_t i = 0; i < count; i++)
        tkl__query_key(&command, &others[i]->key);
    return name == MERGE ? tkl__query_write(&command, true, reply, &merged)
                         : tkl__query_end(&command, true, reply);
}

/* Fetches copies of the others, in one round trip per node. */
static int fetch_copies(tkl_client *client, tkl_unique *const *others, size_t count,
                        tkl_reply **copies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < count; i++)
        TKL__BATCH_WORDS(&batch, tkl_str("GET"),
                         {others[i]->key.base.data, others[i]->key.base.len});
    return tkl__batch_end(&batch, tkl__deadline(client, others[0]->key.timeout_ms), copies);
}

/* Makes the script's keys and arguments: a temporary key and a copy for each of the others that
 * exists. */
static int lay_out(tkl_unique *first, const tkl_reply *copies, tkl_bytes *keys, tkl_bytes *args,
                   size_t *count)
{
    for (size_t i = 0; i < tkl_reply_count(copies); i++) {
        const tkl_reply *copy = tkl_reply_at(copies, i);
        char part[24];
        if (tkl_reply_is_nil(copy))
            continue;
        snprintf(part, sizeof part, "%zu", i);
        int rc = tkl__key_make(&first->key.base, part, &keys[*count]);
        if (rc != TKL_OK)
            return rc;
        args[(*count)++] = tkl_reply_bytes(copy);
    }
    return TKL_OK;
}

static int run_gathered(const char *name, tkl_unique *first, const tkl_reply *copies,
                        tkl_reply **reply)
{
    tkl_bytes keys[TOGETHER_MAX + 1], args[TOGETHER_MAX + 1];
    size_t count = 1;
    keys[0] = (tkl_bytes){first->key.base.data, first->key.base.len};
    args[0] = tkl_str(name);
    int rc = lay_out(first, copies, keys, args, &count);
    tkl__invocation call = {.script = &tkl__lua_unique_gather,
                            .keys = keys,
                            .nkeys = count,
                            .args = args,
                            .nargs = count,
                            .retry_safe = true};
    if (rc == TKL_OK && count == 1)
        rc = run_together(name, first, NULL, 0, reply);
    else if (rc == TKL_OK)
        rc = tkl__run(first->key.client, &call,
                      tkl__deadline(first->key.client, first->key.timeout_ms), reply);
    for (size_t i = 1; i < count; i++)
        free((char *)keys[i].data);
    return rc;
}

/* Renews the expiry after the script has merged: by a PFMERGE of nothing. */
static int keep_alive(tkl_unique *unique)
{
    tkl__query command;
    tkl_reply *owner;
    const tkl_reply *reply;
    if (unique->key.ttl_ms == 0)
        return TKL_OK;
    tkl__query_begin(&command, &unique->key, MERGE);
    int rc = tkl__query_write(&command, true, &owner, &reply);
    tkl_reply_free(owner);
    return rc;
}

static int run_all(const char *name, tkl_unique *first, tkl_unique *const *others, size_t count,
                   tkl_reply **reply)
{
    tkl_reply *copies = NULL;
    bool together = true;
    *reply = NULL;
    if (count > TOGETHER_MAX)
        return tkl__fail(TKL_EINVAL, "more than %d at once", TOGETHER_MAX);
    for (size_t i = 0; i < count; i++)
        together = together && tkl__onekey_together(&first->key, &others[i]->key);
    if (together)
        return run_together(name, first, others, count, reply);
    int rc = fetch_copies(first->key.client, others, count, &copies);
    if (rc == TKL_OK)
        rc = run_gathered(name, first, copies, reply);
    if (rc == TKL_OK && name == MERGE)
        rc = keep_alive(first);
    tkl_reply_free(copies);
    return rc;
}

int tkl_unique_count(tkl_unique *const *uniques, size_t count, int64_t *different)
{
    tkl_reply *reply;
    *different = 0;
    if (count == 0)
        return TKL_OK;
    int rc = run_all(COUNT, uniques[0], uniques + 1, count - 1, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_int(reply, 0, INT64_MAX, different);
    tkl_reply_free(reply);
    return rc;
}

int tkl_unique_merge(tkl_unique *unique, tkl_unique *const *others, size_t count)
{
    tkl_reply *reply;
    int rc = run_all(MERGE, unique, others, count, &reply);
    tkl_reply_free(reply);
    return rc;
}
