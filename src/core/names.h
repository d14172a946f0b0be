/* SPDX-License-Identifier: MIT
 *
 * A list of names found on the servers.
 */
#ifndef TKL_CORE_NAMES_H
#define TKL_CORE_NAMES_H

#include <tackle/client.h>

/* All zero is an empty list. */
typedef struct tkl__names {
    tkl_bytes *items; /* owned, with their bytes */
    size_t count;
} tkl__names;

/* Takes over the bytes, even on failure. */
int tkl__names_add(tkl__names *names, tkl_bytes name);
/* Adds a copy of the bytes. */
int tkl__names_add_copy(tkl__names *names, tkl_bytes name);
/* Sorts the names, removes duplicates, and keeps those for which `keep` returns true. NULL keeps
 * all. */
void tkl__names_tidy(tkl__names *names, bool (*keep)(tkl_bytes name, void *arg), void *arg);
/* Turns the list into the public result. On success the list is empty. */
int tkl__names_result(tkl__names *names, tkl_names **result);
void tkl__names_free(tkl__names *names);

#endif
