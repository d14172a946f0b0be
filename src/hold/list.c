/* SPDX-License-Identifier: MIT
 *
 * Lists the names that are held now: a name counts when it has a state and a live lease.
 */
#include "core/instances.h"
#include "hold/hold.h"

typedef struct search {
    tkl_client *client;
    const char *component;
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

int tkl__hold_names(tkl_client *client, const char *component, tkl_names **names)
{
    search s = {.client = client, .component = component};
    tkl__names found = {0};
    *names = NULL;
    int rc = tkl__instances_find(client, component, "state", "hash", &found);
    if (rc == TKL_OK) {
        tkl__names_tidy(&found, is_held, &s);
        rc = tkl__names_result(&found, names);
    }
    tkl__names_free(&found);
    return rc;
}
