/* SPDX-License-Identifier: MIT
 *
 * A chunk: some ranges that follow each other, with their places, in one string.
 *
 *     16 bytes   the first address
 *      1 byte    how many leading bytes all its addresses share
 *      1 byte    how many ranges there are
 *     for each range, in order: the rest of its first address, the rest of its last address, and
 *                the number of its place in the chunk (1 byte)
 *     for each place: its length (2 bytes, the high one first) and its fields (place.h)
 */
#ifndef TKL_IP_CHUNK_H
#define TKL_IP_CHUNK_H

#include "core/buf.h"
#include "ip/address.h"
#include "ip/cache.h"

enum { TKL__CHUNK_RANGES = 16 };

/* A range and its packed place. Equal numbers in `place` mean equal places. */
typedef struct tkl__ip_chunk_range {
    const tkl__ip_span *span;
    uint32_t place;
} tkl__ip_chunk_range;

/* Writes the packed fields of a place. */
typedef void tkl__ip_chunk_pack(void *arg, uint32_t place, tkl__buf *out);

/* Appends a chunk of `count` ranges, 1 to TKL__CHUNK_RANGES, sorted and without overlaps. */
void tkl__ip_chunk_write(const tkl__ip_chunk_range *ranges, size_t count, tkl__ip_chunk_pack *pack,
                         void *arg, tkl__buf *out);

/* Looks up an address that is not before the first one of the chunk. The fields of a hit are a view
 * into the chunk. False: not a valid chunk. */
bool tkl__ip_chunk_find(tkl_bytes chunk, const unsigned char address[TKL__IP_SIZE],
                        tkl__ip_hit *hit);

#endif
