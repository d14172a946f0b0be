/* SPDX-License-Identifier: MIT */
#include "search/pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"

/* Pieces that one round trip reads: the server copies half a megabyte. */
#define TOGETHER 8

/* ---- Cutting ------------------------------------------------------------- */

size_t tkl__search_piece_with(tkl_bytes term, size_t count)
{
    return (size_t)(XXH3_64bits(term.data, term.len) % count);
}

int tkl__search_pieces_cut(tkl_bytes terms, bool positions, tkl__search_pieces *pieces)
{
    *pieces = (tkl__search_pieces){0};
    if (terms.len <= TKL__SEARCH_PIECE)
        return TKL_OK;
    size_t count = 2 * terms.len / TKL__SEARCH_PIECE; /* half full: hashes are not even */
    pieces->items = malloc(count * sizeof *pieces->items);
    if (!pieces->items)
        return tkl__nomem();
    pieces->count = count;
    for (size_t i = 0; i < count; i++)
        tkl__buf_init(&pieces->items[i]);
    tkl__search_entry entry;
    bool damaged = false, failed = false;
    for (const char *start = terms.data;
         tkl__search_entry_next(&terms, positions, &entry, &damaged); start = terms.data) {
        tkl__buf *piece = &pieces->items[tkl__search_piece_with(entry.term, count)];
        tkl__buf_add(piece, start, (size_t)(terms.data - start));
        failed = failed || piece->failed;
    }
    if (failed)
        tkl__search_pieces_free(pieces);
    return failed ? tkl__nomem() : TKL_OK;
}

void tkl__search_pieces_free(tkl__search_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++)
        tkl__buf_free(&pieces->items[i]);
    free(pieces->items);
    *pieces = (tkl__search_pieces){0};
}

tkl_bytes tkl__search_pieces_head(size_t count, char head[TKL__SEARCH_HEAD_SIZE])
{
    head[0] = '\0';
    return (tkl_bytes){head,
                       1 + (size_t)snprintf(head + 1, TKL__SEARCH_HEAD_SIZE - 1, "%zu", count)};
}

size_t tkl__search_pieces_of(tkl_bytes stored)
{
    char digits[TKL__SEARCH_HEAD_SIZE] = "";
    if (stored.len < 2 || stored.len >= sizeof digits || stored.data[0] != '\0')
        return 0;
    memcpy(digits, stored.data + 1, stored.len - 1);
    size_t count = strtoul(digits, NULL, 10);
    return count < TKL_SEARCH_TEXT_MAX ? count : 0;
}

/* ---- Reading ------------------------------------------------------------- */

/* Adds the next wanted pieces to a batch; returns how many. */
static size_t add_pieces(tkl__batch *batch, tkl_bytes hash, tkl_bytes number, size_t count,
                         const bool *wanted, size_t *next)
{
    char field[64];
    size_t added = 0;
    for (; *next < count && added < TOGETHER; ++*next) {
        if (wanted && !wanted[*next])
            continue;
        snprintf(field, sizeof field, TKL_FMT ":%zu", TKL_ARG(number), *next + 1);
        TKL__BATCH_WORDS(batch, tkl_str("HGET"), hash, tkl_str(field));
        added++;
    }
    return added;
}

int tkl__search_pieces_read(tkl_search *search, const tkl__search_shard *shard, tkl__search_key key,
                            tkl_bytes number, size_t count, const bool *wanted, tkl__buf *out,
                            tkl__buf *record)
{
    size_t next = 0, added = 1;
    int rc = TKL_OK;
    while (rc == TKL_OK && added) {
        tkl__batch batch;
        tkl_reply *replies;
        tkl__batch_init(&batch, search->client);
        added = add_pieces(&batch, shard->keys[key], number, count, wanted, &next);
        TKL__BATCH_WORDS(&batch, tkl_str("HGET"), shard->keys[TKL__SEARCH_DOCS], number);
        rc = tkl__batch_end(&batch, tkl__search_deadline(search), &replies);
        bool missing = false;
        for (size_t i = 0; rc == TKL_OK && !missing && i < added; i++) {
            const tkl_reply *piece = tkl_reply_at(replies, i);
            missing = tkl_reply_is_nil(piece);
            tkl__buf_add(out, tkl_reply_bytes(piece).data, tkl_reply_bytes(piece).len);
        }
        if (rc == TKL_OK && record) {
            tkl_bytes now = tkl_reply_bytes(tkl_reply_at(replies, added));
            tkl__buf_clear(record);
            tkl__buf_add(record, now.data, now.len);
        }
        if (rc == TKL_OK && (out->failed || (record && record->failed)))
            rc = tkl__nomem();
        tkl_reply_free(replies);
        if (missing || next >= count)
            break;
    }
    return rc;
}
