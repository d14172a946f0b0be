/* SPDX-License-Identifier: MIT
 *
 * The handle, and what its files share.
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
    tkl_bytes meta; /* its key; owned */
    pthread_mutex_t mutex;
    /* Guarded by the mutex. */
    tkl__shape shape; /* as last seen */
    tkl__shape
        planned; /* what adding makes when there is no filter; without sub-filters: nothing */
};

/* The shape as last seen, or as the server has it when it was not seen yet. TKL_NOTFOUND: no such
 * filter. */
int tkl__bloom_shape(tkl_bloom *bloom, tkl__shape *shape);
/* As the server has it now. */
int tkl__bloom_load(tkl_bloom *bloom, tkl__shape *shape);
/* Makes the filter that is planned, unless somebody else has made one. TKL_NOTFOUND: none is. */
int tkl__bloom_make_planned(tkl_bloom *bloom);
/* Adds a sub-filter to the shape that was seen, unless somebody else has. TKL_FULL: there is no
 * room for another. */
int tkl__bloom_grow(tkl_bloom *bloom, const tkl__shape *seen);

/* Keys of a filter; see tkl__bloom_keys. */
typedef struct tkl__bloom_key_list {
    tkl_bytes *items;
    size_t count;
    tkl__buf text;
} tkl__bloom_key_list;

/* meta, and the parts of all sub-filters from `first` on. */
int tkl__bloom_keys(const tkl_bloom *bloom, const tkl__shape *shape, int first, tkl__bloom_key_list *keys);
void tkl__bloom_key_list_free(tkl__bloom_key_list *keys);

/* Runs a script that answers with a code, which becomes ours. */
int tkl__bloom_run(tkl_client *client, const tkl__invocation *call);

/* Adds what is in `source` to `bloom`, which live in different slots. `to` and `from` are their
 * shapes, the first with as many sub-filters as the second or more, and the keys are all of them.
 * TKL_BUSY: one of them has another shape by now. */
int tkl__bloom_merge_apart(tkl_bloom *bloom, tkl_bloom *source, const tkl__shape *to,
                           const tkl__shape *from, const tkl__bloom_key_list *to_keys,
                           const tkl__bloom_key_list *from_keys);

#define TKL__FIELD_SIZE 24
/* "0:count": a field of a sub-filter in meta. */
const char *tkl__bloom_field(int sub, const char *what, char field[TKL__FIELD_SIZE]);

#endif
