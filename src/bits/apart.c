/* SPDX-License-Identifier: MIT
 *
 * Combining bitmaps that live in different slots of a cluster.
 *
 * The client computes the new value, a few megabytes at a time, and writes it to a draft beside the
 * bitmap: ns:bits:{name}:<token>, with a new token for each attempt. With its last piece the draft
 * replaces the bitmap, in one step. So readers of the bitmap see the old value or the new one; only
 * the sources are not read at the same time. A draft that no client continues expires after a
 * minute.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits/bits.h"
#include "bits/scripts.h"
#include "core/batch.h"
#include "core/error.h"
#include "core/options.h"
#include "core/token.h"

#define SOURCES_MAX 1000
#define BYTES_MAX   (INT64_C(1) << 29)
#define TRIES       3
#define TRIP_BYTES  (INT64_C(4) << 20) /* bytes of all sources together */

typedef struct sources {
    tkl_bits *const *items;
    size_t count;
    int64_t size; /* bytes of the longest source */
} sources;

/* ---- Reading ------------------------------------------------------------- */

/* Runs one command on each source, in one round trip per node. The key is followed by two numbers,
 * or nothing. */
static int ask_all(const sources *s, const char *name, const int64_t *range, tkl_reply **replies)
{
    const tkl__onekey *first = &s->items[0]->key;
    tkl__batch batch;
    tkl__batch_init(&batch, first->client);
    for (size_t i = 0; i < s->count; i++) {
        const tkl__base *key = &s->items[i]->key.base;
        tkl__args words;
        tkl__args_init(&words);
        tkl__args_str(&words, name);
        tkl__args_bytes(&words, (tkl_bytes){key->data, key->len});
        for (size_t k = 0; range && k < 2; k++)
            tkl__args_int(&words, range[k]);
        tkl__batch_plain(&batch, &words, true);
        tkl__args_free(&words);
    }
    return tkl__batch_end(&batch, tkl__deadline(first->client, first->timeout_ms), replies);
}

static int measure_sources(sources *s)
{
    tkl_reply *sizes;
    int rc = ask_all(s, "STRLEN", NULL, &sizes);
    for (size_t i = 0; rc == TKL_OK && i < s->count; i++) {
        int64_t size;
        rc = tkl__expect_int(tkl_reply_at(sizes, i), 0, BYTES_MAX, &size);
        s->size = size > s->size ? size : s->size;
    }
    tkl_reply_free(sizes);
    return rc;
}

/* ---- Combining ----------------------------------------------------------- */

static char combine_bytes(tkl_bits_op op, char a, char b)
{
    return (char)(op == TKL_BITS_AND ? a & b : op == TKL_BITS_OR ? a | b : a ^ b);
}

/* Combines pieces of the sources. A piece that is shorter than the longest ends with zeros. */
static void combine_pieces(tkl_bits_op op, const tkl_reply *pieces, char *piece, size_t len)
{
    for (size_t i = 0; i < tkl_reply_count(pieces); i++) {
        tkl_bytes source = tkl_reply_bytes(tkl_reply_at(pieces, i));
        for (size_t at = 0; at < len; at++) {
            char byte = at < source.len ? source.data[at] : 0;
            piece[at] = i == 0 ? byte : combine_bytes(op, piece[at], byte);
        }
    }
    for (size_t at = 0; op == TKL_BITS_NOT && at < len; at++)
        piece[at] = (char)~piece[at];
}

/* ---- Writing ------------------------------------------------------------- */

/* Writes a piece. TKL_BUSY: the draft is gone, because its time was over or its server failed. */
static int put_piece(tkl_bits *bits, tkl_bytes draft, int64_t at, tkl_bytes piece, bool last)
{
    tkl_bytes keys[] = {{bits->key.base.data, bits->key.base.len}, draft};
    tkl_client *client = bits->key.client;
    tkl_reply *reply;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_int(&args, at);
    tkl__args_bytes(&args, piece);
    tkl__args_int(&args, last);
    tkl__args_int(&args, bits->key.ttl_ms);
    int rc = tkl__eval(client, &tkl__lua_bits_build, &(tkl__keys){keys, 2}, &args,
                       tkl__deadline(client, bits->key.timeout_ms), !last, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) < 0)
        rc = TKL_BUSY;
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return rc;
}

static int build_draft(tkl_bits *bits, tkl_bits_op op, const sources *s, tkl_bytes draft)
{
    int64_t most = TRIP_BYTES / (int64_t)s->count;
    char *piece = malloc((size_t)most);
    int rc = piece ? TKL_OK : tkl__nomem();
    for (int64_t at = 0; rc == TKL_OK && at < s->size; at += most) {
        int64_t len = s->size - at < most ? s->size - at : most;
        tkl_reply *replies;
        rc = ask_all(s, "GETRANGE", (int64_t[]){at, at + len - 1}, &replies);
        if (rc == TKL_OK) {
            combine_pieces(op, replies, piece, (size_t)len);
            rc = put_piece(bits, draft, at, (tkl_bytes){piece, (size_t)len}, at + len == s->size);
        }
        tkl_reply_free(replies);
    }
    free(piece);
    return rc;
}

static int try_combine(tkl_bits *bits, tkl_bits_op op, const sources *s)
{
    char token[TKL_TOKEN_SIZE];
    tkl_bytes draft;
    tkl__token_new(token);
    int rc = tkl__key_make(&bits->key.base, token, &draft);
    if (rc != TKL_OK)
        return rc;
    rc = build_draft(bits, op, s, draft);
    free((char *)draft.data);
    return rc;
}

int tkl__bits_combine_apart(tkl_bits *bits, tkl_bits_op op, tkl_bits *const *items, size_t count,
                            int64_t *bytes)
{
    sources s = {.items = items, .count = count};
    if (count > SOURCES_MAX)
        return tkl__fail(TKL_EINVAL, "more than %d at once", SOURCES_MAX);
    int rc = measure_sources(&s);
    if (rc == TKL_OK && s.size == 0) {
        rc = tkl__onekey_drop(&bits->key);
        return rc == TKL_NOTFOUND ? TKL_OK : rc;
    }
    if (rc == TKL_OK)
        rc = TKL_BUSY;
    for (int i = 0; rc == TKL_BUSY && i < TRIES; i++)
        rc = try_combine(bits, op, &s);
    if (rc == TKL_BUSY)
        return tkl__fail(TKL_EUNREADY, "the new bitmap was lost %d times while it was made", TRIES);
    if (rc == TKL_OK)
        *bytes = s.size;
    return rc;
}
