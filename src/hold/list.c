/* SPDX-License-Identifier: MIT
 *
 * Lists the names that are held or waited for now, with their holders: the register of names, then
 * one batch.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/options.h"
#include "hold/inside.h"
#include "hold/scripts.h"

/* Holders and waiters that an overview has of each name. */
#define OVERVIEW_MAX "20"

/* The public result and what it points into. */
typedef struct overview {
    tkl_hold_overview public; /* first: the user's pointer points to it */
    tkl_hold_summary *items;
} overview;

static void add_call(tkl__batch *batch, tkl_client *client, const char *component, tkl_bytes name)
{
    tkl__hold_rules rules = {.component = component};
    tkl__hold *hold;
    int rc = tkl__hold_open(client, name, &rules, &hold);
    if (rc != TKL_OK) {
        tkl__batch_fail(batch, rc);
        return;
    }
    tkl_bytes args[] = {tkl_str(OVERVIEW_MAX)};
    tkl__invocation call = tkl__hold_invoke(hold, &tkl__lua_hold_show, args, 1);
    tkl__batch_add(batch, &call);
    tkl__hold_close(hold);
}

/* Takes over the names that are held, waited for, or cannot be read. */
static int fill_overview(overview *o, tkl__names *names, const tkl__batch *batch)
{
    for (size_t i = 0; i < names->count; i++) {
        tkl_hold_summary item = {.code = tkl__batch_code(batch, i)};
        tkl_holders *holders = NULL;
        if (item.code == TKL_OK)
            item.code = tkl__hold_read(tkl__batch_reply(batch, i), &holders);
        if (item.code == TKL_ENOMEM)
            return item.code;
        if (item.code == TKL_OK && holders->held <= 0 && holders->waiters <= 0) {
            tkl_holders_free(holders);
            continue;
        }
        item.name = names->items[i];
        item.holders = holders;
        names->items[i] = (tkl_bytes){NULL, 0};
        o->items[o->public.count++] = item;
    }
    return TKL_OK;
}

static int read_names(tkl_client *client, const char *component, tkl__names *names,
                      tkl_hold_overview **result)
{
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < names->count; i++)
        add_call(&batch, client, component, names->items[i]);
    int rc = tkl__batch_run(&batch, tkl__deadline(client, 0));
    overview *o = calloc(1, sizeof *o);
    if (o)
        o->items = calloc(names->count + 1, sizeof *o->items);
    if (!o || !o->items)
        rc = tkl__nomem();
    else if (rc == TKL_OK || batch.replies) { /* each name has its own code */
        o->public.items = o->items;
        rc = fill_overview(o, names, &batch);
    }
    tkl__batch_free(&batch);
    if (rc == TKL_OK)
        *result = &o->public;
    else if (o)
        tkl_hold_overview_free(&o->public);
    return rc;
}

int tkl__hold_overview(tkl_client *client, const char *component, tkl_hold_overview **result)
{
    tkl__names found = {0};
    *result = NULL;
    int rc = tkl__instances_find(client, component, "state", "hash", &found);
    if (rc == TKL_OK) {
        tkl__names_tidy(&found, NULL, NULL);
        rc = read_names(client, component, &found, result);
    }
    tkl__names_free(&found);
    return rc;
}

void tkl_hold_overview_free(tkl_hold_overview *result)
{
    overview *o = (overview *)(void *)result;
    if (!o)
        return;
    for (size_t i = 0; i < o->public.count; i++) {
        free((char *)(uintptr_t)o->items[i].name.data);
        tkl_holders_free((tkl_holders *)(uintptr_t)o->items[i].holders);
    }
    free(o->items);
    free(o);
}

/* ---- As part of a larger batch ------------------------------------------- */

void tkl__hold_overview_ask(tkl__batch *batch, const char *component,
                            const tkl_hold_overview *known)
{
    for (size_t i = 0; known && i < known->count; i++)
        add_call(batch, batch->client, component, known->items[i].name);
}

static tkl_hold_summary *find_summary(const overview *o, tkl_bytes name)
{
    for (size_t i = 0; i < o->public.count; i++)
        if (tkl__same_bytes(o->items[i].name, name))
            return &o->items[i];
    return NULL;
}

/* Takes over the holders of known names. */
static int read_known(const tkl__batch *batch, size_t *at, const tkl_hold_overview *known,
                      overview *o)
{
    int rc = TKL_OK;
    for (size_t i = 0; known && i < known->count; i++, (*at)++) {
        tkl_hold_summary *item = find_summary(o, known->items[i].name);
        tkl_holders *holders = NULL;
        if (!item)
            continue;
        item->code = tkl__batch_code(batch, *at);
        if (item->code == TKL_OK)
            item->code = tkl__hold_read(tkl__batch_reply(batch, *at), &holders);
        item->holders = holders;
        if (item->code == TKL_ENOMEM)
            rc = TKL_ENOMEM;
    }
    return rc;
}

int tkl__hold_overview_heard(const tkl__batch *batch, size_t *names_at, size_t *at,
                             const char *component, const tkl_hold_overview *known,
                             tkl_hold_overview **result)
{
    tkl__names names = {0};
    *result = NULL;
    int rc = tkl__instances_heard(batch, names_at, component, &names);
    overview *o = calloc(1, sizeof *o);
    if (o)
        o->items = calloc(names.count + 1, sizeof *o->items);
    if (!o || !o->items) {
        free(o);
        tkl__names_free(&names);
        return tkl__nomem();
    }
    for (size_t i = 0; i < names.count; i++)
        o->items[i] = (tkl_hold_summary){.name = names.items[i], .code = TKL_ENOTSENT};
    o->public = (tkl_hold_overview){o->items, names.count};
    names.count = 0; /* the overview has the names */
    tkl__names_free(&names);
    int known_rc = read_known(batch, at, known, o); /* also moves *at on */
    if (rc == TKL_OK)
        rc = known_rc;
    if (rc == TKL_OK)
        *result = &o->public;
    else
        tkl_hold_overview_free(&o->public);
    return rc;
}

int tkl__hold_names(tkl_client *client, const char *component, tkl_names **names)
{
    tkl_hold_overview *all;
    tkl__names held = {0};
    *names = NULL;
    int rc = tkl__hold_overview(client, component, &all);
    for (size_t i = 0; rc == TKL_OK && i < all->count; i++) {
        overview *o = (overview *)(void *)all;
        if (!all->items[i].holders || all->items[i].holders->held <= 0)
            continue;
        rc = tkl__names_add(&held, o->items[i].name); /* moves the name */
        o->items[i].name = (tkl_bytes){NULL, 0};
    }
    if (rc == TKL_OK)
        rc = tkl__names_result(&held, names);
    tkl__names_free(&held);
    tkl_hold_overview_free(all);
    return rc;
}
