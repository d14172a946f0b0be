/* SPDX-License-Identifier: MIT */
#include "ip/chunk.h"

#include <string.h>

enum { SHARED_AT = TKL__IP_SIZE, COUNT_AT, RANGES_AT, LENGTH = 2 };

/* ---- Writing ------------------------------------------------------------- */

static size_t shared_bytes(const tkl__ip_span *first, const tkl__ip_span *last)
{
    size_t shared = 0;
    while (shared < TKL__IP_SIZE && first->first[shared] == last->last[shared])
        shared++;
    return shared;
}

/* The number of a place in the chunk; a new place is added to the list. */
static unsigned char number_in_chunk(uint32_t place, uint32_t *places, size_t *count)
{
    size_t i = 0;
    while (i < *count && places[i] != place)
        i++;
    places[i] = place;
    *count += i == *count;
    return (unsigned char)i;
}

static void write_place(tkl__ip_chunk_pack *pack, void *arg, uint32_t place, tkl__buf *out)
{
    size_t at = out->len;
    unsigned char length[LENGTH] = {0};
    tkl__buf_add(out, length, LENGTH);
    pack(arg, place, out);
    if (out->failed)
        return;
    size_t size = out->len - at - LENGTH;
    out->data[at] = (char)(size >> 8);
    out->data[at + 1] = (char)size;
}

void tkl__ip_chunk_write(const tkl__ip_chunk_range *ranges, size_t count, tkl__ip_chunk_pack *pack,
                         void *arg, tkl__buf *out)
{
    size_t shared = shared_bytes(ranges[0].span, ranges[count - 1].span);
    size_t rest = TKL__IP_SIZE - shared, nplaces = 0;
    unsigned char head[] = {(unsigned char)shared, (unsigned char)count};
    uint32_t places[TKL__CHUNK_RANGES];
    tkl__buf_add(out, ranges[0].span->first, TKL__IP_SIZE);
    tkl__buf_add(out, head, sizeof head);
    for (size_t i = 0; i < count; i++) {
        unsigned char number = number_in_chunk(ranges[i].place, places, &nplaces);
        tkl__buf_add(out, ranges[i].span->first + shared, rest);
        tkl__buf_add(out, ranges[i].span->last + shared, rest);
        tkl__buf_add(out, &number, 1);
    }
    for (size_t i = 0; i < nplaces; i++)
        write_place(pack, arg, places[i], out);
}

/* ---- Reading ------------------------------------------------------------- */

/* Finds the fields of the place with this number; false: no such place. */
static bool find_place(const unsigned char *at, size_t left, unsigned number, tkl_bytes *fields)
{
    for (;; number--) {
        if (left < LENGTH)
            return false;
        size_t length = (size_t)at[0] << 8 | at[1];
        if (left - LENGTH < length)
            return false;
        if (number == 0) {
            *fields = (tkl_bytes){(const char *)at + LENGTH, length};
            return true;
        }
        at += LENGTH + length;
        left -= LENGTH + length;
    }
}

bool tkl__ip_chunk_find(tkl_bytes chunk, const unsigned char address[TKL__IP_SIZE],
                        tkl__ip_hit *hit)
{
    const unsigned char *data = (const unsigned char *)chunk.data;
    *hit = (tkl__ip_hit){.known = false};
    if (chunk.len < RANGES_AT || data[SHARED_AT] > TKL__IP_SIZE || data[COUNT_AT] == 0)
        return false;
    size_t shared = data[SHARED_AT], rest = TKL__IP_SIZE - shared, count = data[COUNT_AT];
    size_t size = 2 * rest + 1, places_at = RANGES_AT + count * size;
    if (chunk.len < places_at)
        return false;
    if (memcmp(data, address, shared) != 0)
        return true; /* the address is behind all ranges */
    const unsigned char *range = data + RANGES_AT, *wanted = address + shared;
    for (size_t i = 1; i < count && memcmp(range + size, wanted, rest) <= 0; i++)
        range += size;
    if (memcmp(range, wanted, rest) > 0 || memcmp(range + rest, wanted, rest) < 0)
        return true;
    memcpy(hit->span.first, data, shared);
    memcpy(hit->span.first + shared, range, rest);
    memcpy(hit->span.last, data, shared);
    memcpy(hit->span.last + shared, range + rest, rest);
    hit->known = true;
    return find_place(data + places_at, chunk.len - places_at, range[2 * rest], &hit->fields);
}
