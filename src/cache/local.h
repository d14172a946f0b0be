/* SPDX-License-Identifier: MIT
 *
 * The local copy of a cache: values in the memory of this process, which the server invalidates.
 */
#ifndef TKL_CACHE_LOCAL_H
#define TKL_CACHE_LOCAL_H

#include <tackle/cache.h>

#include "core/client.h"

typedef struct tkl__local tkl__local;

/* The bytes of a value, shared by the copy and all callers that have got them. */
typedef struct tkl__shared {
    atomic_uint users;
    bool none; /* there is none: no bytes */
    size_t len;
    char data[];
} tkl__shared;

/* NULL: no memory. */
tkl__shared *tkl__shared_new(tkl_bytes data, bool none);
void tkl__shared_release(tkl__shared *shared); /* NULL is fine */

/* A value as it was found. */
typedef struct tkl__found {
    tkl__shared *shared; /* the caller has a reference, and releases it */
    int64_t fresh_us;    /* how long it stays fresh */
} tkl__found;

/* The state of the copy before a value is read from the server. */
typedef struct tkl__moment {
    uint64_t tracking, changes;
    int64_t at;
} tkl__moment;

/* No I/O, no thread yet. `prefix`: the keys of all values on the server begin with it. */
int tkl__local_open(tkl_client *client, tkl_bytes prefix, int64_t bytes, tkl__local **local);
void tkl__local_close(tkl__local *local); /* NULL is fine */

/* Finds a value that is fresh for more than `early_ms`, or a fresh "there is none". No I/O. */
bool tkl__local_find(tkl__local *local, tkl_bytes key, int64_t early_ms, tkl__found *found);

/* A value is stored in two steps: the moment is noted before the server is asked. A value that may
 * have changed since is not stored. `name`: the key on the server. */
tkl__moment tkl__local_note(tkl__local *local, tkl_bytes name);
void tkl__local_store(tkl__local *local, const tkl__moment *moment, tkl_bytes key, tkl_bytes name,
                      tkl__shared *shared, int64_t fresh_ms);

/* Drops the value of a key on the server, or everything. */
void tkl__local_drop(tkl__local *local, tkl_bytes name);
void tkl__local_drop_all(tkl__local *local);

void tkl__local_stats(tkl__local *local, tkl_cache_local_stats *stats);

#endif
