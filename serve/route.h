/* SPDX-License-Identifier: MIT
 *
 * Routes: every verb of the command that is not local, as /v1/COMPONENT/VERB. They are made from
 * the tables of the command, so a new verb needs nothing here.
 */
#ifndef TKL_SERVE_ROUTE_H
#define TKL_SERVE_ROUTE_H

#include "cli.h"

typedef struct serve_route {
    const cli_component *component;
    const cli_verb *verb;
    int number; /* the component's place among all */
} serve_route;

/* Finds the route of a path, "/v1/queue/push" or "/v1/ping". False: there is none, and `why` has
 * the reason. */
enum { SERVE_WHY_SIZE = 160 };
bool serve_route_find(const char *path, serve_route *route, char why[SERVE_WHY_SIZE]);

/* Steps through all routes: begins with a zero route. False at the end. */
bool serve_route_next(serve_route *route);

/* Its path, "/v1/queue/push", to be freed; NULL: out of memory. */
char *serve_route_path(const serve_route *route);

/* Whether GET is allowed: the verb reads, and no secret would be part of the URL. */
bool serve_route_gets(const serve_route *route);

/* The number of a component; -1: there is no such component. */
int serve_component_number(const char *name);

#endif
