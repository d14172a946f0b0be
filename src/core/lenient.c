/* SPDX-License-Identifier: MIT
 *
 * A view that reads all masters of a cluster would fail, or wait for its whole time-out, when one
 * of them hangs. Between tkl_lenient_begin() and tkl_lenient_end() a thread gives each master a
 * bounded time, once. When a master does not answer in that time, later requests to it fail at
 * once, and lists leave out its keys.
 *
 * A node notes when it last let a view wait in vain. A view does without the nodes that have done
 * so since it began; it keeps no other state.
 */
#include "core/lenient.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/names.h"
#include "core/own.h"
#include "core/resp.h"

#define PATIENCE_US 2000000 /* half of it is for the first node that does not answer */
#define MOMENT_US   100000  /* at least, for each further one */
#define RECENT_US   10000000

void tkl_lenient_begin(void)
{
    tkl__own *own = tkl__own_now();
    if (own->lenient.depth++ > 0)
        return;
    own->lenient.since = tkl__now();
    own->lenient.patience_us = PATIENCE_US;
}

bool tkl__lenient_is_on(const tkl_client *client)
{
    return tkl__own_now()->lenient.depth > 0 && client->route->cluster;
}

static int64_t patience_for(const tkl__node *node)
{
    int64_t silent = tkl__node_silent_at(node);
    int64_t share = tkl__own_now()->lenient.patience_us / 2;
    bool was_silent = silent > 0 && tkl__now() - silent < RECENT_US;
    return was_silent || share < MOMENT_US ? MOMENT_US : share;
}

int64_t tkl__lenient_deadline(const tkl_client *client, const tkl__node *node, int64_t deadline)
{
    if (!tkl__lenient_is_on(client))
        return deadline;
    int64_t until = tkl__now() + patience_for(node);
    return until < deadline ? until : deadline;
}

bool tkl__lenient_gives_up(const tkl_client *client, tkl__node *node, int64_t until)
{
    if (!tkl__lenient_is_on(client) || (tkl__left(until) > 0 && !tkl__node_is_refused(node)))
        return false;
    if (tkl__left(until) == 0)
        tkl__own_now()->lenient.patience_us -= patience_for(node);
    tkl__node_note_silence(node);
    return true;
}

bool tkl__lenient_skips(const tkl__node *node)
{
    const tkl__own *own = tkl__own_now();
    return own->lenient.depth > 0 && tkl__node_silent_at(node) >= own->lenient.since;
}

int tkl__lenient_fail(const tkl__node *node)
{
    const tkl__addr *addr = tkl__node_addr(node);
    return tkl__fail(TKL_ETIMEOUT, "%s:%d does not answer", addr->host, addr->port);
}

bool tkl__lenient_lacks(const tkl_client *client, int code)
{
    return tkl__lenient_is_on(client) && tkl__may_pass(code);
}

/* ---- The end of a view --------------------------------------------------- */

/* The nodes that the view did without, with references; NULL: out of memory. */
static tkl__node **skipped_nodes(tkl_client *client, size_t *count)
{
    size_t all = 0;
    *count = 0;
    tkl__client_lock(client);
    for (const tkl__node *node = client->nodes; node; node = tkl__node_next(node))
        all++;
    tkl__node **nodes = calloc(all + 1, sizeof(tkl__node *));
    for (tkl__node *node = client->nodes; nodes && node; node = tkl__node_next(node))
        if (tkl__lenient_skips(node))
            nodes[(*count)++] = tkl__node_ref(node);
    tkl__client_unlock(client);
    return nodes;
}

/* Adds the address of a node, "host:port". */
static int add_missing(tkl__names *missing, const tkl__node *node)
{
    const tkl__addr *addr = tkl__node_addr(node);
    tkl__buf text;
    tkl__buf_init(&text);
    tkl__buf_addf(&text, "%s:%d", addr->host, addr->port);
    tkl_bytes name = {text.failed ? NULL : strndup(text.data, text.len), text.len};
    tkl__buf_free(&text);
    return name.data ? tkl__names_add(missing, name) : tkl__nomem();
}

/* Lists the masters: a replica that did not answer when it was asked for the map is not missed. */
static int list_missing(tkl_client *client, tkl_names **missing)
{
    size_t count;
    tkl__names found = {0};
    tkl__node **nodes = skipped_nodes(client, &count);
    int rc = nodes ? TKL_OK : tkl__nomem();
    for (size_t i = 0; nodes && i < count; i++) {
        if (rc == TKL_OK && client->route->serves(client, TKL__NO_SLOT, nodes[i]))
            rc = add_missing(&found, nodes[i]);
        tkl__node_unref(nodes[i]);
    }
    free(nodes);
    tkl__names_tidy(&found, NULL, NULL);
    if (rc == TKL_OK)
        rc = tkl__names_result(&found, missing);
    tkl__names_free(&found);
    return rc;
}

int tkl_lenient_end(tkl_client *client, tkl_names **missing)
{
    tkl__own *own = tkl__own_now();
    *missing = NULL;
    if (own->lenient.depth == 0)
        return tkl__fail(TKL_EINVAL, "tkl_lenient_end() without tkl_lenient_begin()");
    int rc = list_missing(client, missing);
    own->lenient.depth--;
    return rc;
}
