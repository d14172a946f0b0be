/* SPDX-License-Identifier: MIT
 *
 * The description of all routes as OpenAPI 3.1, made from the tables of the command.
 */
#ifndef TKL_SERVE_OPENAPI_H
#define TKL_SERVE_OPENAPI_H

#include "access.h"

/* The routes that these rights allow. To be freed; NULL: out of memory. */
char *serve_openapi(const serve_rights *rights);

/* An example of a request's fields: the first use of the verb in its help. A new object; NULL: out
 * of memory. */
json_t *serve_example(const serve_route *route);

#endif
