/* SPDX-License-Identifier: MIT */
#include "route.h"

#include <stdio.h>
#include <string.h>

#include "args.h"
#include "token.h"

static const char prefix[] = "/v1/";

int serve_component_number(const char *name)
{
    for (int i = 0; cli_components[i] != NULL; i++)
        if (strcmp(cli_components[i]->name, name) == 0)
            return i;
    return -1;
}

/* Finds the verb of a component by its name, "" for a component that is a verb itself; NULL:
 * none. */
static const cli_verb *verb_of(const cli_component *component, const char *name)
{
    if (*name == '\0')
        return component->verbs[0].name == NULL ? &component->verbs[0] : NULL;
    return cli_find_verb(component, name);
}

bool serve_route_find(const char *path, serve_route *route, char why[SERVE_WHY_SIZE])
{
    char component[32];
    *route = (serve_route){0};
    snprintf(why, SERVE_WHY_SIZE, "no such path: /openapi.json lists them all");
    if (strncmp(path, prefix, strlen(prefix)) != 0)
        return false;
    path += strlen(prefix);
    size_t len = strcspn(path, "/");
    if (len == 0 || len >= sizeof component || (path[len] == '/' && path[len + 1] == '\0'))
        return false;
    memcpy(component, path, len);
    component[len] = '\0';
    route->number = serve_component_number(component);
    if (route->number < 0)
        return false;
    route->component = cli_components[route->number];
    route->verb = verb_of(route->component, path + len + (path[len] == '/'));
    if (route->verb != NULL && route->verb->local != NULL)
        snprintf(why, SERVE_WHY_SIZE, "not over HTTP: %s", route->verb->local);
    return route->verb != NULL && route->verb->local == NULL;
}

bool serve_route_next(serve_route *route)
{
    do {
        if (route->verb == NULL)
            route->verb = cli_components[route->number]->verbs;
        else
            route->verb++;
        while (route->verb->run == NULL) {
            if (cli_components[++route->number] == NULL)
                return false;
            route->verb = cli_components[route->number]->verbs;
        }
    } while (route->verb->local != NULL);
    route->component = cli_components[route->number];
    return true;
}

char *serve_route_path(const serve_route *route)
{
    char *path = NULL;
    const char *verb = route->verb->name;
    int len = asprintf(&path, "%s%s%s%s", prefix, route->component->name, verb != NULL ? "/" : "",
                       verb != NULL ? verb : "");
    return len >= 0 ? path : NULL;
}

bool serve_route_gets(const serve_route *route)
{
    return route->verb->effect == CLI_READS && !cli_takes_token(route->verb);
}
