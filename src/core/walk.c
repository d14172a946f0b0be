/* SPDX-License-Identifier: MIT */
#include "core/walk.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/resp.h"

#define STEP "500"

void tkl__glob_escape(tkl__buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("*?[]\\^-", *text))
            tkl__buf_addz(out, "\\");
        tkl__buf_add(out, text, 1);
    }
}

static int scan_step(tkl_client *client, tkl__node *node, const char *cursor, tkl_bytes pattern,
                     const char *type, tkl_reply **reply)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, type ? 8 : 6);
    tkl__resp_argz(&wire, "SCAN");
    tkl__resp_argz(&wire, cursor);
    tkl__resp_argz(&wire, "MATCH");
    tkl__resp_arg(&wire, pattern.data, pattern.len);
    tkl__resp_argz(&wire, "COUNT");
    tkl__resp_argz(&wire, STEP);
    if (type) {
        tkl__resp_argz(&wire, "TYPE");
        tkl__resp_argz(&wire, type);
    }
    tkl__request request = {.wire = {wire.data, wire.len}, .slot = TKL__NO_SLOT};
    int rc = wire.failed ? tkl__nomem()
                         : tkl__exec_on(node, &request, tkl__call_deadline(client, NULL), reply);
    tkl__buf_free(&wire);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

static int visit_all(const tkl_reply *keys, tkl__visit *visit, void *arg)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(keys); i++)
        rc = visit(tkl_reply_bytes(tkl_reply_at(keys, i)), arg);
    return rc;
}

static int walk_node(tkl_client *client, tkl__node *node, tkl_bytes pattern, const char *type,
                     tkl__visit *visit, void *arg)
{
    char cursor[32] = "0";
    do {
        tkl_reply *reply = NULL;
        int rc = scan_step(client, node, cursor, pattern, type, &reply);
        if (rc == TKL_OK)
            rc = visit_all(tkl_reply_at(reply, 1), visit, arg);
        tkl_bytes next = tkl_reply_bytes(tkl_reply_at(reply, 0));
        if (rc == TKL_OK && next.len >= sizeof cursor)
            rc = tkl__fail(TKL_EPROTO, "a cursor of %zu bytes", next.len);
        if (rc == TKL_OK)
            strcpy(cursor, next.data);
        tkl_reply_free(reply);
        if (rc != TKL_OK)
            return rc;
    } while (strcmp(cursor, "0") != 0);
    return TKL_OK;
}

/* A cursor means something to one server only: whoever serves the slot when the walk begins. */
static int walk_shard(tkl_client *client, int slot, tkl_bytes pattern, const char *type,
                      tkl__visit *visit, void *arg)
{
    tkl__node *node;
    int rc = client->route->pick(client, slot, tkl__call_deadline(client, NULL), &node);
    if (rc != TKL_OK)
        return rc;
    rc = walk_node(client, node, pattern, type, visit, arg);
    tkl__node_unref(node);
    return rc;
}

int tkl__walk(tkl_client *client, tkl_bytes pattern, const char *type, tkl__visit *visit, void *arg)
{
    int *slots;
    size_t count;
    int rc = tkl__shards(client, tkl__call_deadline(client, NULL), &slots, &count);
    if (rc != TKL_OK)
        return rc;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = walk_shard(client, slots[i], pattern, type, visit, arg);
    free(slots);
    return rc;
}
