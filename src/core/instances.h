/* SPDX-License-Identifier: MIT
 *
 * All instances of a component: the names that have data on the servers.
 */
#ifndef TKL_CORE_INSTANCES_H
#define TKL_CORE_INSTANCES_H

#include "core/batch.h"
#include "core/client.h"
#include "core/names.h"

/* Lists the names that have a key with this part ("" for the bare key) and a value of this type
 * ("hash"), on every master; see tkl__register_visit(). */
int tkl__instances(tkl_client *client, const char *component, const char *part, const char *type,
                   tkl_names **names);
/* The same with a key of any of these parts. */
int tkl__instances_any(tkl_client *client, const char *component, const char *const *parts,
                       size_t count, const char *type, tkl_names **names);
/* The same list as it is found: in any order, with possible duplicates. The caller frees the list,
 * also on failure. */
int tkl__instances_find(tkl_client *client, const char *component, const char *part,
                        const char *type, tkl__names *names);

/* The names of a component by the replies of its register in a batch, sorted, each once; see
 * tkl__register_heard(). The caller frees the list, also on failure. */
int tkl__instances_heard(const tkl__batch *batch, size_t *at, const char *component,
                         tkl__names *names);

#endif
