/* SPDX-License-Identifier: MIT
 *
 * All instances of a component: the names of which there is data.
 */
#ifndef TKL_CORE_INSTANCES_H
#define TKL_CORE_INSTANCES_H

#include "core/client.h"
#include "core/names.h"

/* The names that have this part ("" for the bare key) with a value of this type ("hash"), on every
 * master. Walks over all keys of the servers without blocking them. */
int tkl__instances(tkl_client *client, const char *component, const char *part, const char *type,
                   tkl_names **names);
/* The same as they are found: in any order, some perhaps twice. The caller frees the list, also when
 * this fails. */
int tkl__instances_find(tkl_client *client, const char *component, const char *part,
                        const char *type, tkl__names *names);

#endif
