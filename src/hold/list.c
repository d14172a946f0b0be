/* SPDX-License-Identifier: MIT
 *
 * The names held now: those with a state and a live lease.
 */
#include "core/error.h"
#include "core/name.h"
#include "core/names.h"
#include "core/walk.h"
#include "hold/hold.h"

typedef struct search {
    tkl_client *client;
    const char *component;
    tkl__names names;
} search;

static bool is_held(tkl_bytes name, void *arg)
{
    const search *s = arg;
    tkl__hold_rules rules = {.component = s->component};
    tkl__hold *hold;
    tkl_holders *holders = NULL;
    if (tkl__hold_open(s->client, name, &rules, &hold) != TKL_OK)
        return false;
    bool held = tkl__hold_show(hold, &holders) == TKL_OK && holders->held > 0;
    tkl_holders_free(holders);
    tkl__hold_close(hold);
    return held;
}

static int visit(tkl_bytes key, void *arg)
{
    search *s = arg;
    tkl_bytes name;
    return tkl__name_of_key(s->client, s->component, key, &name) ? tkl__names_add(&s->names, name)
                                                                 : TKL_OK;
}

static int walk(search *s)
{
    tkl__buf pattern;
    tkl__buf_init(&pattern);
    tkl__glob_escape(&pattern, s->client->target.ns);
    tkl__buf_addf(&pattern, ":%s:{*}:state", s->component);
    int rc = pattern.failed
                 ? tkl__nomem()
                 : tkl__walk(s->client, (tkl_bytes){pattern.data, pattern.len}, "hash", visit, s);
    tkl__buf_free(&pattern);
    return rc;
}

int tkl__hold_names(tkl_client *client, const char *component, tkl_names **names)
{
    search s = {.client = client, .component = component};
    *names = NULL;
    int rc = walk(&s);
    if (rc == TKL_OK) {
        tkl__names_tidy(&s.names, is_held, &s);
        rc = tkl__names_result(&s.names, names);
    }
    tkl__names_free(&s.names);
    return rc;
}
