/* SPDX-License-Identifier: MIT
 *
 * The keys of one instance of a component, all in one slot: "ns:component:{name}:part".
 */
#ifndef TKL_CORE_KEYS_H
#define TKL_CORE_KEYS_H

#include "core/name.h"

/* The keys, in the order in which the component's scripts use them. */
typedef struct tkl__keys {
    tkl_bytes *items; /* owned, one block with the bytes */
    size_t count;
} tkl__keys;

/* Makes a key for each part; "" is the bare "ns:component:{name}". TKL_EINVAL for a name that is
 * empty or too long. On failure there is nothing to free. */
int tkl__keys_make(const tkl_client *client, const char *component, tkl_bytes name,
                   const char *const *parts, size_t count, tkl__keys *keys);
void tkl__keys_free(tkl__keys *keys);

#endif
