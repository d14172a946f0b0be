/* SPDX-License-Identifier: MIT
 *
 * Merging filters that live in different slots of a cluster.
 *
 * The source is read a piece at a time, and each piece is added to the other filter by a script,
 * with the server's BITOP, for which the script puts it into a key beside the filter
 * (ns:bloom:{name}:room.0 and :room.1) and removes it again. As bits are only ever set, the order
 * does not matter, nor that others add meanwhile, nor that a piece is added twice. At the end the
 * count is estimated, as for filters of one slot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bloom/bloom.h"
#include "bloom/scripts.h"
#include "core/error.h"

#define PIECE_BYTES (INT64_C(1) << 20)

typedef struct merging {
    tkl_bloom *bloom, *source;
    const tkl__shape *to, *from;
    tkl_bytes rooms[2]; /* keys; owned */
} merging;

/* ---- Pieces -------------------------------------------------------------- */

static int check_version(const merging *m, const tkl_reply *reply)
{
    tkl_bytes version = tkl_reply_bytes(reply);
    size_t len = strlen(m->from->version);
    bool same = version.len == len && memcmp(version.data, m->from->version, len) == 0;
    return same ? TKL_OK : TKL_BUSY;
}

/* The piece, and behind it the version, which it is of then. */
static int fetch(const merging *m, tkl_bytes part, int64_t at, tkl_reply **replies)
{
    char from[24], to[24];
    tkl_call_options safe = {.retry_safe = true};
    tkl_pipeline *pipeline;
    tkl_bytes meta = m->source->meta;
    snprintf(from, sizeof from, "%" PRId64, at);
    snprintf(to, sizeof to, "%" PRId64, at + PIECE_BYTES - 1);
    const char *read[] = {"GETRANGE", part.data, from, to};
    const char *look[] = {"HGET", meta.data, "version"};
    *replies = NULL;
    int rc = tkl_pipeline_open(m->source->client, &pipeline);
    if (rc == TKL_OK)
        rc = tkl_pipeline_add(pipeline, 4, read, (size_t[]){8, part.len, strlen(from), strlen(to)});
    if (rc == TKL_OK)
        rc = tkl_pipeline_add(pipeline, 3, look, (size_t[]){4, meta.len, 7});
    if (rc == TKL_OK)
        rc = tkl_pipeline_run(pipeline, &safe, replies);
    tkl_pipeline_close(pipeline);
    for (size_t i = 0; rc == TKL_OK && i < 2; i++) {
        const tkl_reply *reply = tkl_reply_at(*replies, i);
        if (tkl_reply_code(reply) != TKL_OK)
            rc = tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    }
    return rc == TKL_OK ? check_version(m, tkl_reply_at(*replies, 1)) : rc;
}

static bool is_blank(tkl_bytes piece)
{
    return piece.len == 0 ||
           (piece.data[0] == 0 && memcmp(piece.data, piece.data + 1, piece.len - 1) == 0);
}

static int absorb(const merging *m, tkl_bytes part, int64_t at, tkl_bytes piece)
{
    char start[24];
    snprintf(start, sizeof start, "%" PRId64, at);
    tkl_bytes keys[] = {m->bloom->meta, part, m->rooms[0], m->rooms[1]};
    tkl_bytes args[] = {tkl_str(m->to->version), tkl_str(start), piece};
    return tkl__bloom_run(m->bloom->client, &(tkl__invocation){.script = &tkl__lua_bloom_absorb,
                                                               .keys = keys,
                                                               .nkeys = 4,
                                                               .args = args,
                                                               .nargs = 3,
                                                               .retry_safe = true});
}

static int merge_part(const merging *m, tkl_bytes to, tkl_bytes from)
{
    size_t got = PIECE_BYTES;
    int rc = TKL_OK;
    for (int64_t at = 0; rc == TKL_OK && got == PIECE_BYTES; at += PIECE_BYTES) {
        tkl_reply *replies;
        rc = fetch(m, from, at, &replies);
        tkl_bytes piece = tkl_reply_bytes(tkl_reply_at(replies, 0));
        if (rc == TKL_OK && !is_blank(piece))
            rc = absorb(m, to, at, piece);
        got = piece.len;
        tkl_reply_free(replies);
    }
    return rc;
}

/* ---- Sub-filters --------------------------------------------------------- */

/* `parts`: of the sub-filter. */
static int recount(const merging *m, int i, const tkl_bytes *parts)
{
    const tkl__subfilter *sub = &m->to->subs[i];
    size_t count = (size_t)tkl__subfilter_parts(sub);
    char field[TKL__FIELD_SIZE], bits[24], hashes[24], least[24];
    snprintf(bits, sizeof bits, "%" PRIu64, sub->bytes * 8);
    snprintf(hashes, sizeof hashes, "%d", sub->hashes);
    snprintf(least, sizeof least, "%" PRId64, m->from->subs[i].count);
    tkl_bytes args[] = {tkl_str(m->to->version), tkl_str(tkl__bloom_field(i, "count", field)),
                        tkl_str(bits), tkl_str(hashes), tkl_str(least)};
    tkl_bytes *keys = malloc((1 + count) * sizeof *keys);
    if (!keys)
        return tkl__nomem();
    keys[0] = m->bloom->meta;
    memcpy(keys + 1, parts, count * sizeof *keys);
    int rc = tkl__bloom_run(m->bloom->client, &(tkl__invocation){.script = &tkl__lua_bloom_recount,
                                                                 .keys = keys,
                                                                 .nkeys = 1 + count,
                                                                 .args = args,
                                                                 .nargs = 5,
                                                                 .retry_safe = true});
    free(keys);
    return rc;
}

static int merge_subfilters(const merging *m, const tkl_bytes *to, const tkl_bytes *from)
{
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < m->from->count; i++) {
        int parts = tkl__subfilter_parts(&m->to->subs[i]);
        for (int p = 0; rc == TKL_OK && p < parts; p++)
            rc = merge_part(m, to[p], from[p]);
        if (rc == TKL_OK)
            rc = recount(m, i, to);
        to += parts;
        from += parts;
    }
    return rc;
}

int tkl__bloom_merge_apart(tkl_bloom *bloom, tkl_bloom *source, const tkl__shape *to,
                           const tkl__shape *from, const tkl__bloom_key_list *to_keys,
                           const tkl__bloom_key_list *from_keys)
{
    merging m = {.bloom = bloom, .source = source, .to = to, .from = from};
    int rc = tkl__key_make(&bloom->base, "room.0", &m.rooms[0]);
    if (rc == TKL_OK)
        rc = tkl__key_make(&bloom->base, "room.1", &m.rooms[1]);
    if (rc == TKL_OK) /* the first key is meta */
        rc = merge_subfilters(&m, to_keys->items + 1, from_keys->items + 1);
    free((char *)m.rooms[0].data);
    free((char *)m.rooms[1].data);
    return rc;
}
