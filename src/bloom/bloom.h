/* SPDX-License-Identifier: MIT
 *
 * The handle, and what its files share. The essay is in bloom.c.
 */
#ifndef TKL_BLOOM_BLOOM_H
#define TKL_BLOOM_BLOOM_H

#include <pthread.h>

#include "bloom/shape.h"
#include "core/name.h"
#include "core/script.h"

struct tkl_bloom {
    tkl_client *client;
    tkl__base base;
    tkl_bytes meta;           /* its key; owned */
    int64_t timeout_ms;       /* of one trip; 0: the client's */
    int64_t ttl_ms;           /* 0: it stays */
    tkl__bloom_shape planned; /* of the filter that this handle makes */

    pthread_mutex_t mutex;  /* guards what follows */
    tkl__bloom_shape shape; /* as last seen; without sub-filters: not seen */
    int64_t kept;           /* when its life was last prolonged, local time; 0: never */
};

/* A filter that others change all the time is given up after so many tries in vain. */
#define TKL__BLOOM_TRIES 100
int tkl__bloom_give_up(void);

/* The deadline of one trip. */
int64_t tkl__bloom_deadline(const tkl_bloom *bloom);

/* ---- Keys ---------------------------------------------------------------- */

/* Keys of a filter under construction, meta first. A failed allocation is remembered. */
typedef struct tkl__bloom_keys {
    tkl_bytes *items; /* valid after tkl__bloom_keys_end() */
    size_t count, cap;
    tkl__buf text;
    bool failed;
} tkl__bloom_keys;

void tkl__bloom_keys_begin(tkl__bloom_keys *keys, const tkl_bloom *bloom);
/* A part of a sub-filter. */
void tkl__bloom_keys_part(tkl__bloom_keys *keys, const tkl_bloom *bloom, int sub, int part);
int tkl__bloom_keys_end(tkl__bloom_keys *keys);
void tkl__bloom_keys_free(tkl__bloom_keys *keys);

/* Appends the key of a part. */
void tkl__bloom_part(const tkl_bloom *bloom, int sub, int part, tkl__buf *out);

#define TKL__FIELD_SIZE 24
/* "0:count": a field of a sub-filter in meta. */
const char *tkl__bloom_field(int sub, const char *what, char field[TKL__FIELD_SIZE]);

/* ---- Filters as a whole -------------------------------------------------- */

/* The shape as last seen, or as the server has it when it was not seen yet. TKL_NOTFOUND: no such
 * filter. TKL_ETYPE: it is no filter, or an old one. */
int tkl__bloom_read_shape(tkl_bloom *bloom, tkl__bloom_shape *shape);
/* As the server has it now. */
int tkl__bloom_load(tkl_bloom *bloom, tkl__bloom_shape *shape);
/* Makes the filter that is planned. TKL_EXISTS: there is one. */
int tkl__bloom_make(tkl_bloom *bloom);
/* Adds a sub-filter to the shape that was seen, unless somebody else has. TKL_FULL: there is no
 * room for another. */
int tkl__bloom_grow(tkl_bloom *bloom, const tkl__bloom_shape *seen);
/* Runs a script that answers with a code, which becomes ours. */
int tkl__bloom_run(tkl_bloom *bloom, const tkl__script *script, const tkl__bloom_keys *keys,
                   const tkl__args *args, bool retry_safe);

/* How long keys live that are written now, in milliseconds; 0: for ever. */
int64_t tkl__bloom_lifetime(const tkl_bloom *bloom);
/* After something was added: prolongs the life of all keys, unless that was done lately. */
int tkl__bloom_keep(tkl_bloom *bloom);

#endif
