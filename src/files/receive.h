/* SPDX-License-Identifier: MIT
 *
 * The inside of one call of tkl_files_receive().
 */
#ifndef TKL_FILES_RECEIVE_H
#define TKL_FILES_RECEIVE_H

#include <stdatomic.h>

#include "core/keeper.h"
#include "files/files.h"

/* Hex digits that tell apart what several receivers have in one directory. */
#define TKL__FILES_MARK 16

typedef struct tkl__files_incoming tkl__files_incoming;

typedef struct tkl__files_receiving {
    tkl_files *files;
    tkl_bytes as;
    tkl_files_receive_options options;
    tkl_files_totals totals;
    tkl_files_progress progress;
    int failure; /* the first of a file */
    char message[256];

    tkl__files_token holder;
    int dir;                        /* of the directory */
    char mark[TKL__FILES_MARK + 1]; /* of the channel and the receiver */
    tkl__files_cursor cursor;
    bool look;  /* there may be files that it does not know of */
    bool swept; /* what belongs to no file is removed */
    tkl__files_incoming *
        *active; /* files that are not done, in the order in which they were found */
    size_t count, cap;
    char done[TKL__FILES_BATCH][TKL__FILES_TOKEN + 1]; /* small files to be reported */
    size_t done_count;
    tkl__files_trip trip;

    tkl__waiter ear;
    tkl__kept kept; /* renews the lease */
    tkl__files_ask renewal;
    atomic_bool lost; /* another process receives under this name */
} tkl__files_receiving;

/* A file on its way to this receiver. */
struct tkl__files_incoming {
    tkl__files_receiving *receiving;
    tkl__files_token token;
    tkl_bytes name; /* owned */
    tkl_bytes data; /* of a small file; owned */
    bool small;
    int64_t size;  /* TKL_NONE: not known yet */
    int64_t mtime; /* Unix seconds; TKL_NONE: not known */
    int mode;      /* permissions */
    int64_t chunk; /* bytes of a chunk */
    int64_t sent, freed;
    int64_t hinted; /* `sent`, as a message claims */
    bool complete;  /* all of it was sent */
    char sum[TKL__FILES_SUM + 1];

    bool opened;
    int fd;                  /* of the partial file; -1: closed */
    int64_t position, acked; /* chunks written, and reported; acked -1: never */
    tkl__files_hash *hash;
    bool resumed;
    bool placed; /* an earlier process has put it in place */

    tkl__files_lines lines;
    tkl__files_unpacker *unpacker;
    int64_t saved;          /* bytes of lines that are noted as delivered */
    char unpack_error[128]; /* "": none */
};

/* ---- incoming.c ---------------------------------------------------------- */

/* From the fields that files/look tells. NULL: no memory. */
tkl__files_incoming *tkl__files_incoming_new(tkl__files_receiving *receiving, const char *token,
                                             const tkl_reply *fields);
void tkl__files_incoming_update(tkl__files_incoming *in, const tkl_reply *fields);
void tkl__files_incoming_free(tkl__files_incoming *in);

/* Whether there is something to do. */
bool tkl__files_incoming_ready(const tkl__files_incoming *in);
/* Does some of it, in one round trip. *finished: it is done, in good order or not, and reported. An
 * error concerns the whole call. */
int tkl__files_incoming_step(tkl__files_incoming *in, bool *finished);
/* The same for a small file, whose end is reported later: see tkl__files_receiving_flush(). */
int tkl__files_incoming_small(tkl__files_incoming *in);
/* It is gone from the channel. */
int tkl__files_incoming_given_up(tkl__files_incoming *in);

/* Reports small files to the server. */
int tkl__files_receiving_flush(tkl__files_receiving *r);

/* ---- partial.c: what is on the disk -------------------------------------- */

/* Opens the partial file and finds out how much of it there is. TKL_EDAMAGED: what is missing is
 * not on the server any more. */
int tkl__files_partial_open(tkl__files_incoming *in);
void tkl__files_partial_close(tkl__files_incoming *in);
int tkl__files_partial_write(tkl__files_incoming *in, tkl_bytes data);
/* Bytes to lines, or nowhere. */
int tkl__files_partial_feed(tkl__files_incoming *in, tkl_bytes data);
/* Has the callback write out its lines; TKL_EINTR: it cannot. */
int tkl__files_partial_flush_lines(const tkl__files_incoming *in);
/* The same, and notes how far lines were delivered. */
int tkl__files_partial_save_lines(tkl__files_incoming *in);
int tkl__files_partial_load_lines(tkl__files_incoming *in);
int tkl__files_partial_sync(const tkl__files_incoming *in);
/* Puts the file in place: as it came, or unpacked. `path` gets its path. */
int tkl__files_partial_place(tkl__files_incoming *in, char *path, size_t size);
int tkl__files_partial_unpack(tkl__files_incoming *in, char *path, size_t size);
int tkl__files_partial_place_small(tkl__files_incoming *in, char *path, size_t size);
void tkl__files_partial_remove(const tkl__files_incoming *in);
/* Removes what belongs to no file on the channel. */
int tkl__files_partial_sweep(tkl__files_receiving *r);

#endif
