/* SPDX-License-Identifier: MIT
 *
 * The names held now: those with a record and a live lease.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/name.h"
#include "core/reply.h"
#include "core/walk.h"
#include "hold/hold.h"

typedef struct names {
    tkl_client *client;
    const char *component;
    tkl_bytes *items; /* owned */
    size_t count, cap;
} names;

static bool is_held(names *n, tkl_bytes name)
{
    tkl__hold_rules rules = {.component = n->component};
    tkl__hold *hold;
    tkl_holders *holders = NULL;
    if (tkl__hold_open(n->client, name, &rules, &hold) != TKL_OK)
        return false;
    bool held = tkl__hold_show(hold, &holders) == TKL_OK && holders->held > 0;
    tkl_holders_free(holders);
    tkl__hold_close(hold);
    return held;
}

static int add(names *n, tkl_bytes name)
{
    if (n->count == n->cap) {
        size_t cap = n->cap ? 2 * n->cap : 64;
        tkl_bytes *items = realloc(n->items, cap * sizeof *items);
        if (!items) {
            free((char *)name.data);
            return tkl__nomem();
        }
        n->items = items;
        n->cap = cap;
    }
    n->items[n->count++] = name;
    return TKL_OK;
}

static int visit(tkl_bytes key, void *arg)
{
    names *n = arg;
    tkl_bytes name;
    return tkl__name_of_key(n->client, n->component, key, &name) ? add(n, name) : TKL_OK;
}

static int by_bytes(const void *a, const void *b)
{
    const tkl_bytes *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Sorted, each once, and only those with a live lease. */
static void tidy(names *n)
{
    size_t kept = 0;
    if (n->count > 0)
        qsort(n->items, n->count, sizeof *n->items, by_bytes);
    for (size_t i = 0; i < n->count; i++) {
        bool repeated = kept > 0 && by_bytes(&n->items[kept - 1], &n->items[i]) == 0;
        if (!repeated && is_held(n, n->items[i]))
            n->items[kept++] = n->items[i];
        else
            free((char *)n->items[i].data);
    }
    n->count = kept;
}

static tkl_reply *as_reply(const names *n)
{
    tkl_reply *all = tkl__reply_new_array(n->count);
    for (size_t i = 0; all && i < n->count; i++) {
        tkl_reply *one = tkl__reply_new_bytes(n->items[i]);
        if (!one) {
            tkl_reply_free(all);
            return NULL;
        }
        tkl__reply_put(all, i, one);
    }
    return all;
}

static int walk(names *n)
{
    tkl__buf pattern;
    tkl__buf_init(&pattern);
    tkl__glob_escape(&pattern, n->client->target.ns);
    tkl__buf_addf(&pattern, ":%s:{*}:r", n->component);
    int rc = pattern.failed
                 ? tkl__nomem()
                 : tkl__walk(n->client, (tkl_bytes){pattern.data, pattern.len}, "string", visit, n);
    tkl__buf_free(&pattern);
    return rc;
}

int tkl__hold_list(tkl_client *client, const char *component, tkl_reply **reply)
{
    names n = {.client = client, .component = component};
    *reply = NULL;
    int rc = walk(&n);
    if (rc == TKL_OK) {
        tidy(&n);
        *reply = as_reply(&n);
        rc = *reply ? TKL_OK : tkl__nomem();
    }
    for (size_t i = 0; i < n.count; i++)
        free((char *)n.items[i].data);
    free(n.items);
    return rc;
}
