/* SPDX-License-Identifier: MIT */
#include "core/instances.h"

#include <string.h>

#include "core/error.h"
#include "core/name.h"
#include "core/walk.h"

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
    tkl__buf pattern;
    tkl__buf_init(&pattern);
    tkl__glob_escape(&pattern, client->target.ns);
    tkl__buf_addf(&pattern, ":%s:{*}%s%s", component, *part ? ":" : "", part);
    int rc = pattern.failed
                 ? tkl__nomem()
                 : tkl__walk(client, (tkl_bytes){pattern.data, pattern.len}, type, visit_key, &s);
    tkl__buf_free(&pattern);
    return rc;
}

int tkl__instances(tkl_client *client, const char *component, const char *part, const char *type,
                   tkl_names **names)
{
    tkl__names found = {0};
    *names = NULL;
    int rc = tkl__instances_find(client, component, part, type, &found);
    if (rc == TKL_OK) {
        tkl__names_tidy(&found, NULL, NULL);
        rc = tkl__names_result(&found, names);
    }
    tkl__names_free(&found);
    return rc;
}
