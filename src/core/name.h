/* SPDX-License-Identifier: MIT
 *
 * Keys of components: "ns:component:{name}:part". The braces put all keys of one name into the same
 * slot. '%', '{' and '}' in a name are written %25, %7B and %7D, so that no name can reach
 * another's keys.
 */
#ifndef TKL_CORE_NAME_H
#define TKL_CORE_NAME_H

#include "core/buf.h"
#include "core/client.h"

/* The beginning of a key: the base "ns:component:{name}" and room for parts. Owned. */
typedef struct tkl__base {
    char *data;
    size_t len;
} tkl__base;

/* TKL_EINVAL for an empty or too long name. */
int tkl__base_make(const tkl_client *client, const char *component, tkl_bytes name,
                   tkl__base *base);
void tkl__base_free(tkl__base *base);
/* Checks the name as tkl__base_make() does, and copies it, malloc'ed. */
int tkl__name_keep(const tkl_client *client, const char *component, tkl_bytes name,
                   tkl_bytes *copy);

/* Appends a name with '%', '{' and '}' escaped. */
void tkl__name_escape(tkl__buf *out, tkl_bytes name);

/* Makes "base:part", malloc'ed. */
int tkl__key_make(const tkl__base *base, const char *part, tkl_bytes *key);
/* Turns an escaped name into the name, malloc'ed. False: no name is written so, or no memory. */
bool tkl__name_unescape(tkl_bytes escaped, tkl_bytes *name);
/* Extracts the name from a key of this component, unescaped and malloc'ed. False: not such a
 * key. */
bool tkl__name_of_key(const tkl_client *client, const char *component, tkl_bytes key,
                      tkl_bytes *name);

#endif
