/* SPDX-License-Identifier: MIT */
#include "core/instances.h"

#include <string.h>

#include "core/error.h"
#include "core/name.h"
#include "core/register.h"

typedef struct search {
    tkl_client *client;
    const char *component;
    tkl__names *names;
} search;

static int visit_key(tkl_bytes key, void *arg)
{
    search *s = arg;
    tkl_bytes name;
    return tkl__name_of_key(s->client, s->component, key, &name) ? tkl__names_add(s->names, name)
                                                                 : TKL_OK;
}

int tkl__instances_find(tkl_client *client, const char *component, const char *part,
                        const char *type, tkl__names *names)
{
    search s = {.client = client, .component = component, .names = names};
    return tkl__register_visit(client, component, &part, 1, type, visit_key, &s);
}

int tkl__instances(tkl_client *client, const char *component, const char *part, const char *type,
                   tkl_names **names)
{
    return tkl__instances_any(client, component, &part, 1, type, names);
}

int tkl__instances_any(tkl_client *client, const char *component, const char *const *parts,
                       size_t count, const char *type, tkl_names **names)
{
    tkl__names found = {0};
    search s = {.client = client, .component = component, .names = &found};
    *names = NULL;
    int rc = tkl__register_visit(client, component, parts, count, type, visit_key, &s);
    if (rc == TKL_OK) {
        tkl__names_tidy(&found, NULL, NULL);
        rc = tkl__names_result(&found, names);
    }
    tkl__names_free(&found);
    return rc;
}

int tkl__instances_heard(const tkl__batch *batch, size_t *at, const char *component,
                         tkl__names *names)
{
    search s = {.client = batch->client, .component = component, .names = names};
    int rc = tkl__register_heard(batch, at, component, visit_key, &s);
    tkl__names_tidy(names, NULL, NULL);
    return rc;
}
