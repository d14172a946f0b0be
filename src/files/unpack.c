/* SPDX-License-Identifier: MIT
 *
 * Unpacks gzip data as they arrive: any number of members, one after the other.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/error.h"
#include "files/files.h"

#define OUT_BYTES (256 * 1024)
/* inflateInit2(): the largest window, and gzip headers only. */
#define GZIP_BITS (15 + 16)

typedef enum phase {
    UNDECIDED, /* fewer than two bytes have been added */
    PLAIN,     /* not gzip: passed on unchanged */
    INSIDE,    /* inside a member */
    BETWEEN,   /* behind the end of a member */
    PADDING,   /* zeros behind the last member */
} phase;

struct tkl__files_unpacker {
    tkl__files_sink *sink;
    void *arg;
    phase phase;
    bool begun; /* inflateEnd() must be called */
    unsigned char first;
    bool has_first; /* a single first byte is held back */
    z_stream stream;
    char out[OUT_BYTES];
};

tkl__files_unpacker *tkl__files_unpack_new(tkl__files_sink *sink, void *arg)
{
    tkl__files_unpacker *u = malloc(sizeof *u);
    if (!u)
        return NULL;
    memset(u, 0, offsetof(tkl__files_unpacker, out));
    u->sink = sink;
    u->arg = arg;
    return u;
}

void tkl__files_unpack_free(tkl__files_unpacker *u)
{
    if (u && u->begun)
        inflateEnd(&u->stream);
    free(u);
}

bool tkl__files_unpack_packed(const tkl__files_unpacker *u)
{
    return u->phase > PLAIN;
}

static int gzip_damaged(const tkl__files_unpacker *u)
{
    return tkl__fail(TKL_EDAMAGED, "the gzip data are corrupt: %s",
                     u->stream.msg ? u->stream.msg : "no gzip member where one should begin");
}

static int begin_member(tkl__files_unpacker *u)
{
    int rc = u->begun ? inflateReset(&u->stream) : inflateInit2(&u->stream, GZIP_BITS);
    if (rc != Z_OK)
        return tkl__nomem();
    u->begun = true;
    u->phase = INSIDE;
    return TKL_OK;
}

static int inflate_some(tkl__files_unpacker *u)
{
    u->stream.next_out = (unsigned char *)u->out;
    u->stream.avail_out = OUT_BYTES;
    int z = inflate(&u->stream, Z_NO_FLUSH);
    if (z == Z_MEM_ERROR)
        return tkl__nomem();
    if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
        return gzip_damaged(u);
    size_t len = OUT_BYTES - u->stream.avail_out;
    if (z == Z_STREAM_END)
        u->phase = BETWEEN;
    return len > 0 ? u->sink(u->arg, (tkl_bytes){u->out, len}) : TKL_OK;
}

/* Handles bytes behind a member: another member, or zeros until the end. */
static int handle_between(tkl__files_unpacker *u)
{
    if (*u->stream.next_in != 0 && u->phase == BETWEEN)
        return begin_member(u);
    u->phase = PADDING;
    for (; u->stream.avail_in > 0; u->stream.avail_in--)
        if (*u->stream.next_in++ != 0) {
            u->stream.msg = NULL;
            return gzip_damaged(u);
        }
    return TKL_OK;
}

static int unpack_bytes(tkl__files_unpacker *u, tkl_bytes bytes)
{
    int rc = TKL_OK;
    u->stream.next_in = (unsigned char *)(uintptr_t)bytes.data;
    u->stream.avail_in = (unsigned)bytes.len;
    do {
        rc = u->phase == INSIDE       ? inflate_some(u)
             : u->stream.avail_in > 0 ? handle_between(u)
                                      : TKL_OK;
    } while (rc == TKL_OK &&
             (u->stream.avail_in > 0 || (u->phase == INSIDE && u->stream.avail_out == 0)));
    return rc;
}

/* Decides by the first two bytes whether the data are gzip. */
static int decide_format(tkl__files_unpacker *u, tkl_bytes *bytes)
{
    static const char magic[] = "\x1f\x8b";
    if (bytes->len == 0)
        return TKL_OK;
    if (!u->has_first && bytes->len == 1) {
        u->first = (unsigned char)bytes->data[0];
        u->has_first = true;
        bytes->len = 0;
        return TKL_OK;
    }
    const char start[2] = {u->has_first ? (char)u->first : bytes->data[0],
                           bytes->data[u->has_first ? 0 : 1]};
    bool packed = memcmp(start, magic, 2) == 0;
    int rc = TKL_OK;
    if (packed)
        rc = begin_member(u);
    else
        u->phase = PLAIN;
    if (rc == TKL_OK && u->has_first)
        rc = packed ? unpack_bytes(u, (tkl_bytes){start, 1})
                    : u->sink(u->arg, (tkl_bytes){start, 1});
    return rc;
}

/* zlib counts in `unsigned`: no piece is larger than a chunk. */
int tkl__files_unpack_add(tkl__files_unpacker *u, tkl_bytes bytes)
{
    int rc = u->phase == UNDECIDED ? decide_format(u, &bytes) : TKL_OK;
    if (rc != TKL_OK || bytes.len == 0)
        return rc;
    return u->phase == PLAIN ? u->sink(u->arg, bytes) : unpack_bytes(u, bytes);
}

int tkl__files_unpack_end(tkl__files_unpacker *u)
{
    if (u->phase == INSIDE)
        return tkl__fail(TKL_EDAMAGED, "the gzip data end early");
    if (u->phase == UNDECIDED && u->has_first)
        return u->sink(u->arg, (tkl_bytes){(const char *)&u->first, 1});
    return TKL_OK;
}
