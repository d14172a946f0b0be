/* SPDX-License-Identifier: MIT
 *
 * The Bloom filter: handles and keys.
 *
 * Keys of a name, all in one slot (ns:bloom:{name}:...), the user's own data. They are removed by
 * tkl_bloom_drop(), or expire with `ttl_ms`:
 *
 *   :meta   hash. format: version of the positions of bits; filters with another format are
 *           refused. version: 32 hex digits, which change with the shape. error, fixed, filters
 *           (number of sub-filters). For each sub-filter, from 0: i:capacity, i:bytes, i:hashes
 *           (bits for each item), i:count (items added). dropping: the parts of the filter are
 *           being removed, and clients treat it as gone.
 *   :i.p    string: part p of sub-filter i. shape.h explains where an item's bits are. It is made
 *           when the first bit in it is set.
 *   :room   exists while a script merges a part from another server; clients never see it.
 *
 * The client computes the positions of an item's bits, so it must know the shape. It keeps the
 * shape that it has read. Every request names the version, or reads it as well; when the filter has
 * grown or was created again in the meantime, the request is repeated with the new shape. So a
 * batch is one round trip, and one more each time that the filter grows.
 *
 * Adding (add.c) is a script: it sets bits and counts new items in one step, and when the newest
 * sub-filter is full it says which items were left out. Asking (ask.c) needs no script: bits are
 * never cleared, so single reads that follow a read of the version see all items added before.
 *
 * No step of the server takes long, however large the filter is: an add names only the parts that
 * it needs and makes only a few of them, and merging, dropping and growing go over the parts in
 * small steps, each of which checks the version. Parts are removed before meta, so that none is
 * left behind. Before a sub-filter is made, its parts are removed: another program may have removed
 * meta alone.
 *
 * All keys share a lifetime (`ttl_ms`): if a part expired before the others, the filter would
 * forget. Prolonging all of them with every add would cost too much. So keys get an eighth more,
 * and a handle that adds prolongs them when it has not done so for an eighth of the lifetime.
 */
#include "bloom/bloom.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"

#define DEFAULT_ERROR    0.01
#define DEFAULT_CAPACITY 10000

/* ---- Handles ------------------------------------------------------------- */

static int read_options(const tkl_bloom_options *o, tkl_bloom *bloom)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"ttl_ms", o->ttl_ms, 0, TKL__MS_MAX});
    if (rc != TKL_OK)
        return rc;
    double error = o->error == 0 ? DEFAULT_ERROR : o->error;
    int64_t capacity = o->capacity == 0 ? DEFAULT_CAPACITY : o->capacity;
    bloom->timeout_ms = o->timeout_ms;
    bloom->ttl_ms = o->ttl_ms;
    bloom->planned = (tkl__bloom_shape){.error = error, .fixed = o->fixed, .count = 1};
    return tkl__bloom_subfilter_make(error, capacity, &bloom->planned.subs[0]);
}

int tkl_bloom_open(tkl_client *client, tkl_bytes name, const tkl_bloom_options *options,
                   tkl_bloom **out)
{
    static const tkl_bloom_options defaults;
    *out = NULL;
    tkl_bloom *bloom = calloc(1, sizeof *bloom);
    if (!bloom)
        return tkl__nomem();
    bloom->client = client;
    pthread_mutex_init(&bloom->mutex, NULL);
    int rc = tkl__base_make(client, "bloom", name, &bloom->base);
    if (rc == TKL_OK)
        rc = tkl__key_make(&bloom->base, "meta", &bloom->meta);
    if (rc == TKL_OK)
        rc = read_options(options ? options : &defaults, bloom);
    if (rc == TKL_OK)
        *out = bloom;
    else
        tkl_bloom_close(bloom);
    return rc;
}

void tkl_bloom_close(tkl_bloom *bloom)
{
    if (!bloom)
        return;
    tkl__base_free(&bloom->base);
    free((char *)(uintptr_t)bloom->meta.data);
    pthread_mutex_destroy(&bloom->mutex);
    free(bloom);
}

int tkl_bloom_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "bloom", "meta", "hash", names);
}

int64_t tkl__bloom_deadline(const tkl_bloom *bloom)
{
    return tkl__deadline(bloom->client, bloom->timeout_ms);
}

int tkl__bloom_give_up(void)
{
    return tkl__fail(TKL_EUNREADY, "other programs change the filter all the time");
}

/* ---- Keys ---------------------------------------------------------------- */

void tkl__bloom_part(const tkl_bloom *bloom, int sub, int part, tkl__buf *out)
{
    tkl__buf_add(out, bloom->base.data, bloom->base.len);
    tkl__buf_addf(out, ":%d.%d", sub, part);
}

const char *tkl__bloom_field(int sub, const char *what, char field[TKL__FIELD_SIZE])
{
    snprintf(field, TKL__FIELD_SIZE, "%d:%s", sub, what);
    return field;
}

/* Notes the length of a key. The text may move while it grows, so pointers are set at the end. */
static void add_length(tkl__bloom_keys *keys, size_t len)
{
    if (!tkl__grow(&keys->items, keys->count, sizeof *keys->items)) {
        keys->failed = true;
        return;
    }
    keys->items[keys->count++] = (tkl_bytes){NULL, len};
}

void tkl__bloom_keys_begin(tkl__bloom_keys *keys, const tkl_bloom *bloom)
{
    *keys = (tkl__bloom_keys){.count = 0};
    tkl__buf_init(&keys->text);
    tkl__buf_add(&keys->text, bloom->meta.data, bloom->meta.len);
    add_length(keys, bloom->meta.len);
}

void tkl__bloom_keys_part(tkl__bloom_keys *keys, const tkl_bloom *bloom, int sub, int part)
{
    size_t start = keys->text.len;
    tkl__bloom_part(bloom, sub, part, &keys->text);
    add_length(keys, keys->text.len - start);
}

int tkl__bloom_keys_end(tkl__bloom_keys *keys)
{
    if (keys->failed || keys->text.failed)
        return tkl__nomem();
    const char *at = keys->text.data;
    for (size_t i = 0; i < keys->count; i++) {
        keys->items[i].data = at;
        at += keys->items[i].len;
    }
    return TKL_OK;
}

void tkl__bloom_keys_free(tkl__bloom_keys *keys)
{
    free(keys->items);
    tkl__buf_free(&keys->text);
}
