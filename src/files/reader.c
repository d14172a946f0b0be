/* SPDX-License-Identifier: MIT
 *
 * Reading a received file like a stream: its bytes or its lines, unpacked if the caller wants that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/options.h"
#include "files/files.h"
#include "files/tree.h"

#define READ_BYTES (64 * 1024)

struct tkl_files_reader {
    int fd;
    bool ended;                    /* the end of the file was read */
    tkl__files_unpacker *unpacker; /* NULL: the bytes are delivered as they are */
    tkl__buf ready;                /* bytes that were read and not delivered, from `at` on */
    size_t at;
    size_t searched; /* bytes behind `at` that have no line feed */
    char input[READ_BYTES];
};

/* Opens a file below a directory, by its path or else under its safe name. */
static int open_received(int dir, tkl_bytes name)
{
    enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
    char text[TKL_FILES_NAME_MAX + 1];
    int fd = -1;
    errno = ENOENT;
    if (tkl__files_tree_is_path(name)) {
        const char *leaf;
        memcpy(text, name.data, name.len);
        text[name.len] = '\0';
        int parent = tkl__files_tree_parent(dir, text, false, false, &leaf);
        if (parent >= 0) {
            fd = openat(parent, leaf, FLAGS);
            int saved = errno;
            close(parent);
            errno = saved;
        }
    }
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        tkl_files_safe_name(name, text);
        fd = openat(dir, text, FLAGS);
    }
    return fd;
}

static int take_bytes(void *arg, tkl_bytes bytes)
{
    tkl_files_reader *reader = arg;
    tkl__buf_add(&reader->ready, bytes.data, bytes.len);
    return reader->ready.failed ? tkl__nomem() : TKL_OK;
}

static int start_reader(const char *dir, tkl_bytes name, bool unpack, tkl_files_reader *reader)
{
    struct stat st;
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return tkl__fail_errno(TKL_EIO, "%s", dir);
    reader->fd = open_received(at, name);
    int saved = errno;
    close(at);
    if (reader->fd < 0 && saved == ENOENT)
        return tkl__fail(TKL_NOTFOUND, "%s has no file " TKL_FMT, dir, TKL_ARG(name));
    if (reader->fd < 0)
        return tkl__fail(TKL_EIO, TKL_FMT ": %s", TKL_ARG(name), strerror(saved));
    if (fstat(reader->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return tkl__fail(TKL_EIO, TKL_FMT ": it is not a regular file", TKL_ARG(name));
    if (unpack)
        reader->unpacker = tkl__files_unpack_new(take_bytes, reader);
    return unpack && !reader->unpacker ? tkl__nomem() : TKL_OK;
}

int tkl_files_reader_open(const char *dir, tkl_bytes name, const tkl_files_reading *how,
                          tkl_files_reader **reader)
{
    *reader = NULL;
    int rc = TKL__CHECK_RESERVED(how);
    if (rc == TKL_OK && (name.len == 0 || name.len > TKL_FILES_NAME_MAX))
        rc = tkl__fail(TKL_EINVAL, "the name of a file has 1 to %d bytes", TKL_FILES_NAME_MAX);
    if (rc != TKL_OK)
        return rc;
    tkl_files_reader *r = calloc(1, sizeof *r);
    if (!r)
        return tkl__nomem();
    r->fd = -1;
    tkl__buf_init(&r->ready);
    rc = start_reader(dir ? dir : ".", name, how && how->unpack, r);
    if (rc == TKL_OK)
        *reader = r;
    else
        tkl_files_reader_close(r);
    return rc;
}

void tkl_files_reader_close(tkl_files_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    tkl__files_unpack_free(reader->unpacker);
    tkl__buf_free(&reader->ready);
    free(reader);
}

/* Reads once from the file. */
static int read_more(tkl_files_reader *reader)
{
    if (reader->at > 0) {
        size_t left = reader->ready.len - reader->at;
        memmove(reader->ready.data, reader->ready.data + reader->at, left);
        reader->ready.len = left;
        reader->at = 0;
    }
    ssize_t got;
    while ((got = read(reader->fd, reader->input, sizeof reader->input)) < 0 && errno == EINTR)
        ;
    if (got < 0)
        return tkl__fail_errno(TKL_EIO, "reading it");
    reader->ended = got == 0;
    if (got == 0)
        return reader->unpacker ? tkl__files_unpack_end(reader->unpacker) : TKL_OK;
    tkl_bytes bytes = {reader->input, (size_t)got};
    return reader->unpacker ? tkl__files_unpack_add(reader->unpacker, bytes)
                            : take_bytes(reader, bytes);
}

static size_t bytes_ready(const tkl_files_reader *reader)
{
    return reader->ready.len - reader->at;
}

static tkl_bytes take_ready(tkl_files_reader *reader, size_t len, size_t more)
{
    tkl_bytes taken = {reader->ready.data + reader->at, len};
    reader->at += len + more;
    reader->searched = 0;
    return taken;
}

int tkl_files_reader_read(tkl_files_reader *reader, char *buffer, size_t size, size_t *len)
{
    int rc = TKL_OK;
    *len = 0;
    while (rc == TKL_OK && size > 0 && bytes_ready(reader) == 0 && !reader->ended)
        rc = read_more(reader);
    if (rc != TKL_OK || size == 0)
        return rc;
    if (bytes_ready(reader) == 0)
        return tkl__no(TKL_EMPTY);
    size_t most = bytes_ready(reader);
    tkl_bytes bytes = take_ready(reader, size < most ? size : most, 0);
    memcpy(buffer, bytes.data, bytes.len);
    *len = bytes.len;
    return TKL_OK;
}

int tkl_files_reader_line(tkl_files_reader *reader, tkl_bytes *line)
{
    *line = (tkl_bytes){"", 0};
    for (;;) {
        const char *from = reader->ready.data + reader->at + reader->searched;
        size_t left = bytes_ready(reader) - reader->searched;
        const char *feed = left > 0 ? memchr(from, '\n', left) : NULL;
        if (feed) {
            *line = take_ready(reader, (size_t)(feed - reader->ready.data) - reader->at, 1);
            return TKL_OK;
        }
        reader->searched = bytes_ready(reader);
        if (reader->ended)
            break;
        int rc = read_more(reader);
        if (rc != TKL_OK)
            return rc;
    }
    if (bytes_ready(reader) == 0)
        return tkl__no(TKL_EMPTY);
    *line = take_ready(reader, bytes_ready(reader), 0); /* the last line may have no line feed */
    return TKL_OK;
}
