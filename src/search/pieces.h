/* SPDX-License-Identifier: MIT
 *
 * Pieces: a long text, and the terms of a long text, are stored in several fields of their hash, so
 * that no command reads or writes all of them. Piece i of number N is the field "N:i", from 1.
 */
#ifndef TKL_SEARCH_PIECES_H
#define TKL_SEARCH_PIECES_H

#include "search/record.h"

/* Most bytes of a text in one field, and of the terms of a document. */
#define TKL__SEARCH_PIECE (64 << 10)
/* Most times that a text may have one word, in an index with positions: they are in one piece. */
#define TKL__SEARCH_TIMES_MAX 500000

/* The terms of a document, cut into pieces by the hashes of the terms. */
typedef struct tkl__search_pieces {
    tkl__buf *items;
    size_t count; /* 0: they are short enough for one field */
} tkl__search_pieces;

int tkl__search_pieces_cut(tkl_bytes terms, bool positions, tkl__search_pieces *pieces);
void tkl__search_pieces_free(tkl__search_pieces *pieces);

/* Writes the head, which the number's field has in place of long terms: a zero byte, with which no
 * terms begin, and the number of pieces. */
#define TKL__SEARCH_HEAD_SIZE 24
tkl_bytes tkl__search_pieces_head(size_t count, char head[TKL__SEARCH_HEAD_SIZE]);
/* The number of pieces that a stored field announces; 0: it has the terms themselves. */
size_t tkl__search_pieces_of(tkl_bytes stored);
/* The index of the piece that has a term, from 0. */
size_t tkl__search_piece_with(tkl_bytes term, size_t count);

/* Appends pieces of a number from the hash `key`: the `wanted` ones (NULL: all), up to the first
 * that is missing. Then appends the number's record to `record` (may be NULL): another record means
 * that the document was replaced while the pieces were read. */
int tkl__search_pieces_read(tkl_search *search, const tkl__search_shard *shard, tkl__search_key key,
                            tkl_bytes number, size_t count, const bool *wanted, tkl__buf *out,
                            tkl__buf *record);

#endif
