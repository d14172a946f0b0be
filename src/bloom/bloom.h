/* SPDX-License-Identifier: MIT
 *
 * The handle, and what its files share. The essay is in bloom.c.
 */
#ifndef TKL_BLOOM_BLOOM_H
#define TKL_BLOOM_BLOOM_H

#include <pthread.h>

#include "bloom/shape.h"
#include "core/batch.h"
#include "core/name.h"

struct tkl_bloom {
    tkl_client *client;
    tkl__base base;
    tkl_bytes meta;           /* key of the meta hash; owned */
    int64_t timeout_ms;       /* time-out of one round trip; 0: the client's */
    int64_t ttl_ms;           /* 0: it does not expire */
    tkl__bloom_shape planned; /* shape of the filter that this handle creates */

    pthread_mutex_t mutex;  /* guards the following fields */
    tkl__bloom_shape shape; /* as last read; without sub-filters: not read yet */
    int64_t kept;           /* when the expiry was last renewed, local time; 0: never */
};

/* Most attempts on a filter that other clients keep changing. */
#define TKL__BLOOM_TRIES 100
int tkl__bloom_give_up(void);

/* The deadline of one round trip. */
int64_t tkl__bloom_deadline(const tkl_bloom *bloom);

/* ---- Keys ---------------------------------------------------------------- */

/* Keys of a filter under construction, meta first. A failed allocation is noted in it. */
typedef struct tkl__bloom_keys {
    tkl_bytes *items; /* valid after tkl__bloom_keys_end() */
    size_t count;
    tkl__buf text;
    bool failed;
} tkl__bloom_keys;

void tkl__bloom_keys_begin(tkl__bloom_keys *keys, const tkl_bloom *bloom);
/* Adds the key of a part of a sub-filter. */
void tkl__bloom_keys_part(tkl__bloom_keys *keys, const tkl_bloom *bloom, int sub, int part);
int tkl__bloom_keys_end(tkl__bloom_keys *keys);
void tkl__bloom_keys_free(tkl__bloom_keys *keys);

/* Appends the key of a part. */
void tkl__bloom_part(const tkl_bloom *bloom, int sub, int part, tkl__buf *out);

#define TKL__FIELD_SIZE 24
/* Returns the name of a sub-filter's field in meta, such as "0:count". */
const char *tkl__bloom_field(int sub, const char *what, char field[TKL__FIELD_SIZE]);

/* ---- Filters as a whole -------------------------------------------------- */

/* The shape as last read; asks the server if it was not read yet. TKL_NOTFOUND: no such filter.
 * TKL_ETYPE: not a filter, or one of an old format. */
int tkl__bloom_read_shape(tkl_bloom *bloom, tkl__bloom_shape *shape);
/* Reads the current shape from the server. */
int tkl__bloom_load(tkl_bloom *bloom, tkl__bloom_shape *shape);
/* Creates the planned filter. TKL_EXISTS: there is one. */
int tkl__bloom_make(tkl_bloom *bloom);
/* Adds a sub-filter to the shape that was read, unless another client has done so. TKL_FULL: there
 * is no room for another one. */
int tkl__bloom_grow(tkl_bloom *bloom, const tkl__bloom_shape *seen);
/* Runs a script that returns a code, and returns that code. */
int tkl__bloom_run(tkl_bloom *bloom, const tkl__script *script, const tkl__bloom_keys *keys,
                   const tkl__args *args, bool retry_safe);

/* The lifetime of keys that are written now, in milliseconds; 0: for ever. */
int64_t tkl__bloom_lifetime(const tkl_bloom *bloom);
/* Renews the expiry of all keys after something was added, unless that was done recently. */
int tkl__bloom_keep(tkl_bloom *bloom);

#endif
