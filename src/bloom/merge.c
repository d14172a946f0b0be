/* SPDX-License-Identifier: MIT
 *
 * Merging filters, a part at a time.
 *
 * On one server a script merges parts with BITOP. In a cluster filters with different names live in
 * different slots: there the client fetches the part, and a script puts it into a key beside the
 * filter, merges it and removes the key. Bits are only ever set, so the order does not matter,
 * other clients may add meanwhile, and a part may be merged twice. In the end the count is
 * estimated from the bits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bloom/bloom.h"
#include "bloom/scripts.h"
#include "core/error.h"
#include "core/resp.h"

typedef struct merging {
    tkl_bloom *bloom, *source;
    tkl__bloom_shape to, from;
} merging;

/* ---- On one server ------------------------------------------------------- */

static bool are_together(const merging *m)
{
    return m->bloom->client == m->source->client &&
           (!m->bloom->client->route->cluster ||
            tkl__slot_of(m->bloom->meta) == tkl__slot_of(m->source->meta));
}

static int merge_part(const merging *m, int sub, int part)
{
    tkl__bloom_keys to, from;
    tkl__args args;
    tkl__args_init(&args);
    tkl__bloom_keys_begin(&to, m->bloom);
    tkl__bloom_keys_begin(&from, m->source);
    tkl__bloom_keys_part(&to, m->bloom, sub, part);
    tkl__bloom_keys_part(&from, m->source, sub, part);
    tkl__args_str(&args, m->to.version);
    tkl__args_str(&args, m->from.version);
    tkl__args_int(&args, tkl__bloom_lifetime(m->bloom));
    int rc = tkl__bloom_keys_end(&to);
    if (rc == TKL_OK)
        rc = tkl__bloom_keys_end(&from);
    if (rc == TKL_OK) {
        tkl_bytes keys[] = {to.items[0], from.items[0], to.items[1], from.items[1]};
        rc = tkl__bloom_run(m->bloom, &tkl__lua_bloom_merge, &(tkl__bloom_keys){keys, .count = 4},
                            &args, true);
    }
    tkl__bloom_keys_free(&to);
    tkl__bloom_keys_free(&from);
    tkl__args_free(&args);
    return rc;
}

/* ---- On different servers ------------------------------------------------ */

/* Fetches the part, and then the version, which proves that the part is of this shape. TKL_BUSY:
 * the version is another one. */
static int fetch_part(const merging *m, tkl_bytes part, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, m->source->client);
    TKL__BATCH_WORDS(&batch, tkl_str("GET"), part);
    TKL__BATCH_WORDS(&batch, tkl_str("HGET"), m->source->meta, tkl_str("version"));
    int rc = tkl__batch_end(&batch, tkl__bloom_deadline(m->source), replies);
    if (rc != TKL_OK)
        return rc;
    bool same = strcmp(tkl_reply_str(tkl_reply_at(*replies, 1)), m->from.version) == 0;
    return same ? TKL_OK : TKL_BUSY;
}

static int absorb_part(const merging *m, int sub, int part, tkl_bytes bytes)
{
    tkl__bloom_keys keys;
    tkl__args args;
    tkl_bytes room;
    int rc = tkl__key_make(&m->bloom->base, "room", &room);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, m->to.version);
    tkl__args_bytes(&args, bytes);
    tkl__args_int(&args, tkl__bloom_lifetime(m->bloom));
    tkl__bloom_keys_begin(&keys, m->bloom);
    tkl__bloom_keys_part(&keys, m->bloom, sub, part);
    rc = tkl__bloom_keys_end(&keys);
    if (rc == TKL_OK) {
        tkl_bytes items[] = {keys.items[0], keys.items[1], room};
        rc = tkl__bloom_run(m->bloom, &tkl__lua_bloom_absorb, &(tkl__bloom_keys){items, .count = 3},
                            &args, true);
    }
    tkl__bloom_keys_free(&keys);
    tkl__args_free(&args);
    free((char *)(uintptr_t)room.data);
    return rc;
}

static int carry_part(const merging *m, int sub, int part)
{
    tkl__bloom_keys keys;
    tkl_reply *replies = NULL;
    tkl__bloom_keys_begin(&keys, m->source);
    tkl__bloom_keys_part(&keys, m->source, sub, part);
    int rc = tkl__bloom_keys_end(&keys);
    if (rc == TKL_OK)
        rc = fetch_part(m, keys.items[1], &replies);
    tkl_bytes bytes = tkl_reply_bytes(tkl_reply_at(replies, 0));
    if (rc == TKL_OK && bytes.len > (size_t)tkl__bloom_part_size(&m->from.subs[sub], part))
        rc = tkl__fail(TKL_EDAMAGED, "a part of the filter is longer than it can be");
    if (rc == TKL_OK && bytes.len > 0)
        rc = absorb_part(m, sub, part, bytes);
    tkl_reply_free(replies);
    tkl__bloom_keys_free(&keys);
    return rc;
}

/* ---- Counting ------------------------------------------------------------ */

static int count_bits(tkl_bloom *bloom, int sub, int part, double *bits)
{
    tkl__buf key;
    tkl_reply *reply = NULL;
    tkl__buf_init(&key);
    tkl__bloom_part(bloom, sub, part, &key);
    const char *argv[] = {"BITCOUNT", key.data};
    const size_t lens[] = {8, key.len};
    tkl_call_options options = {.timeout_ms = bloom->timeout_ms, .retry_safe = true};
    int rc = key.failed ? tkl__nomem() : tkl_call(bloom->client, 2, argv, lens, &options, &reply);
    *bits += (double)tkl_reply_int(reply);
    tkl_reply_free(reply);
    tkl__buf_free(&key);
    return rc;
}

/* Estimates how many items have set this many bits. */
static int64_t estimate_items(const tkl__bloom_subfilter *sub, double set)
{
    double bits = 8 * (double)sub->bytes;
    double share = fmin(fmax(set, 0), bits - 1) / bits;
    return llround(-bits / sub->hashes * log1p(-share));
}

static int write_count(const merging *m, int sub, int64_t least)
{
    char field[TKL__FIELD_SIZE];
    tkl__bloom_keys keys;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, m->to.version);
    tkl__args_str(&args, tkl__bloom_field(sub, "count", field));
    tkl__args_int(&args, least);
    tkl__bloom_keys_begin(&keys, m->bloom);
    int rc = tkl__bloom_keys_end(&keys);
    if (rc == TKL_OK)
        rc = tkl__bloom_run(m->bloom, &tkl__lua_bloom_count, &keys, &args, true);
    tkl__bloom_keys_free(&keys);
    tkl__args_free(&args);
    return rc;
}

static int recount_bits(const merging *m, int sub)
{
    const tkl__bloom_subfilter *to = &m->to.subs[sub];
    double bits = 0;
    int rc = TKL_OK;
    for (int part = 0; rc == TKL_OK && part < tkl__bloom_subfilter_parts(to); part++)
        rc = count_bits(m->bloom, sub, part, &bits);
    if (rc != TKL_OK)
        return rc;
    int64_t items = estimate_items(to, bits), least = m->from.subs[sub].count;
    return write_count(m, sub, items > least ? items : least);
}

/* ---- All ----------------------------------------------------------------- */

static int merge_all(const merging *m)
{
    bool together = are_together(m);
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < m->from.count; i++) {
        int parts = tkl__bloom_subfilter_parts(&m->to.subs[i]);
        for (int part = 0; rc == TKL_OK && part < parts; part++)
            rc = together ? merge_part(m, i, part) : carry_part(m, i, part);
        if (rc == TKL_OK)
            rc = recount_bits(m, i);
    }
    return rc;
}

/* Checks that the sub-filters of both shapes are equal, as far as both have them: another version
 * of tackle may have chosen others. */
static int check_equal(const tkl__bloom_shape *a, const tkl__bloom_shape *b)
{
    bool equal = a->error == b->error && a->fixed == b->fixed;
    for (int i = 0; i < a->count && i < b->count; i++)
        equal = equal && tkl__bloom_subfilter_equal(&a->subs[i], &b->subs[i]);
    if (equal)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the filters were made with other error, capacity or kind");
}

/* Reads both shapes, and grows the first filter until it has as many sub-filters as the second. */
static int make_alike(merging *m)
{
    int rc = tkl__bloom_load(m->source, &m->from);
    if (rc == TKL_OK)
        rc = tkl__bloom_load(m->bloom, &m->to);
    if (rc == TKL_OK)
        rc = check_equal(&m->to, &m->from);
    for (int i = 0; rc == TKL_OK && m->to.count < m->from.count && i < TKL__SUBS_MAX; i++) {
        rc = tkl__bloom_grow(m->bloom, &m->to);
        if (rc == TKL_OK)
            rc = tkl__bloom_read_shape(m->bloom, &m->to);
    }
    if (rc == TKL_OK && m->to.count < m->from.count)
        return TKL_BUSY;
    return rc == TKL_OK ? check_equal(&m->to, &m->from) : rc;
}

/* Starts over when one of the filters has grown in the meantime: merging twice does no harm. */
int tkl_bloom_merge(tkl_bloom *bloom, tkl_bloom *source)
{
    merging m = {.bloom = bloom, .source = source};
    int rc = TKL_BUSY;
    for (int tries = 0; rc == TKL_BUSY && tries < TKL__BLOOM_TRIES; tries++) {
        rc = make_alike(&m);
        if (rc == TKL_OK)
            rc = merge_all(&m);
    }
    if (rc == TKL_BUSY)
        return tkl__bloom_give_up();
    return rc == TKL_OK ? tkl__bloom_keep(bloom) : rc;
}
