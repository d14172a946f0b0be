/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of ranges and as one of places, plain or compressed: refused, or read. Any
 * text as a range: refused, or what is written of it reads back to the same. Any bytes as a stored
 * place: refused, or packed to the same. Any bytes as a stored chunk.
 */
#include <tackle/ip.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ip/address.h"
#include "ip/chunk.h"
#include "ip/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_range(tkl_bytes bytes)
{
    tkl__ip_span span, again;
    char text[TKL__IP_NETWORK_SIZE];
    if (tkl__ip_parse_range(bytes, &span))
        return;
    require(memcmp(span.first, span.last, TKL__IP_SIZE) <= 0);
    tkl__ip_format(&span, text);
    require(!tkl__ip_parse_range(tkl_str(text), &again));
    require(memcmp(&span, &again, sizeof span) == 0);
}

static void check_place(tkl_bytes bytes)
{
    tkl_ip_place place;
    if (!tkl__ip_unpack(bytes, &place))
        return;
    tkl__buf packed;
    tkl__buf_init(&packed);
    tkl__ip_pack(&place, &packed);
    require(packed.len <= bytes.len && memcmp(packed.data, bytes.data, packed.len) == 0);
    tkl__buf_free(&packed);
}

/* Checks that a range that is found lies within the chunk, and the address within the range. */
static void check_chunk(tkl_bytes bytes)
{
    unsigned char address[TKL__IP_SIZE];
    tkl__ip_hit hit;
    if (bytes.len < TKL__IP_SIZE)
        return;
    memcpy(address, bytes.data + bytes.len - TKL__IP_SIZE, TKL__IP_SIZE);
    if (!tkl__ip_chunk_find(bytes, address, &hit) || !hit.known)
        return;
    require(memcmp(hit.span.first, address, TKL__IP_SIZE) <= 0);
    require(memcmp(hit.span.last, address, TKL__IP_SIZE) >= 0);
    require(hit.fields.data >= bytes.data);
    require(hit.fields.data + hit.fields.len <= bytes.data + bytes.len);
}

/* Reads the file without sending anything: the client has no server. */
static void check_file(tkl_ip *ip, const char *path)
{
    static int (*const readers[])(tkl_ip_import *, const char *) = {tkl_ip_import_blocks_file,
                                                                    tkl_ip_import_places_file};
    for (int i = 0; i < 2; i++) {
        tkl_ip_import *import;
        tkl_ip_import_options options = {.max_bad = 1};
        require(tkl_ip_import_open(ip, &options, &import) == TKL_OK);
        if (readers[i](import, path) != TKL_OK)
            require(tkl_errmsg()[0]);
        require(tkl_ip_import_commit(import, NULL) != TKL_OK);
        tkl_ip_import_close(import);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tkl_client *client;
    static tkl_ip *ip;
    tkl_bytes bytes = {(const char *)data, size};
    if (!ip) {
        require(tkl_open("unix:///nowhere", NULL, &client) == TKL_OK);
        require(tkl_ip_open(client, tkl_str("fuzz"), NULL, &ip) == TKL_OK);
    }
    check_range(bytes);
    check_place(bytes);
    check_chunk(bytes);
    char path[32];
    int file = memfd_create("fuzz", 0);
    require(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    check_file(ip, path);
    close(file);
    return 0;
}
