/* SPDX-License-Identifier: MIT
 *
 * The state of one call of tkl_files_receive().
 */
#ifndef TKL_FILES_RECEIVE_H
#define TKL_FILES_RECEIVE_H

#include <limits.h>
#include <stdatomic.h>
#include <time.h>

#include "core/keeper.h"
#include "files/files.h"
#include "files/tree.h"

/* Hex digits of the mark that separates files of several receivers in one directory. */
#define TKL__FILES_MARK 16

typedef struct tkl__files_incoming tkl__files_incoming;

/* A file that this process is done with. A server restored with older data offers it again. */
typedef struct tkl__files_delivered {
    char token[TKL__FILES_TOKEN + 1];
    char sum[TKL__FILES_SUM + 1];
} tkl__files_delivered;

/* About the last 4096 delivered files: the last 16 of each group. The group of a file is the first
 * two digits of its token, which are random. */
#define TKL__FILES_GROUPS 256
#define TKL__FILES_GROUP  16
typedef struct tkl__files_memory {
    tkl__files_delivered files[TKL__FILES_GROUPS][TKL__FILES_GROUP];
    unsigned char next[TKL__FILES_GROUPS]; /* index in the group that is overwritten next */
} tkl__files_memory;

typedef struct tkl__files_receiving {
    tkl_files *files;
    tkl_bytes as;
    tkl_files_receive_options options;
    tkl_files_totals totals;
    tkl_files_progress progress;
    int failure; /* error of the first file that failed */
    char message[256];

    tkl__files_token holder;
    int dir;                        /* descriptor of the directory */
    char mark[TKL__FILES_MARK + 1]; /* identifies the channel and the receiver */
    tkl__files_cursor cursor;
    bool look;                    /* there may be files that this receiver does not know */
    bool ended;                   /* a sender has said that no more will come */
    bool swept;                   /* left-over files in the directory are removed */
    tkl__files_incoming **active; /* files that are not done, in the order of their discovery */
    size_t count;
    char done[TKL__FILES_BATCH][TKL__FILES_TOKEN + 1]; /* small files to be reported */
    size_t done_count;
    tkl__files_memory *memory; /* delivered files; NULL: none yet */
    tkl__batch batch;          /* calls of the round trip */

    tkl__wait wait; /* for news */
    tkl__ear ear, *ears[1];
    tkl__kept kept; /* renews the lease of this receiver */
    tkl__files_request renewal;
    atomic_bool lost; /* another process receives under this name */
} tkl__files_receiving;

/* Whether a file was delivered before the server, or this process, came back. */
typedef enum tkl__files_before {
    TKL__FILES_NEW,
    TKL__FILES_IN_PLACE,   /* an earlier process has put it in place */
    TKL__FILES_DONE_BEFORE /* this process has delivered and reported it */
} tkl__files_before;

/* A file on its way to this receiver. */
struct tkl__files_incoming {
    tkl__files_receiving *receiving;
    tkl__files_token token;
    tkl_bytes name; /* owned */
    tkl_bytes data; /* bytes of a small file; owned */
    bool small;     /* all of it travels in its record */
    int64_t size;   /* TKL_NONE: not known yet */
    bool has_mtime;
    struct timespec mtime;
    int mode;                      /* permissions */
    mode_t type;                   /* kind of a member of a directory (S_IFMT); 0: not a member */
    bool last;                     /* the last file of its call: no more will come */
    bool end;                      /* not a file: only says that no more will come */
    char call[TKL__FILES_SUM + 1]; /* the call that sends it; "": not known */
    int64_t chunk;                 /* bytes of a chunk */
    int64_t sent, freed;           /* chunks sent, and chunks that the server has removed */
    int64_t hinted;                /* `sent`, according to the last message */
    bool complete;                 /* all of it was sent */
    char sum[TKL__FILES_SUM + 1];

    bool opened;
    bool blocked;     /* something on the disk blocks its name: this call does not receive it */
    bool held;        /* it is in place, and not reported: it says that no more will come, and the
                         next call must learn that, too */
    int fd;           /* partial file; -1: closed */
    int64_t position; /* chunks written */
    int64_t acked;    /* chunks that the server knows to be written */
    tkl__files_hash *hash;
    bool resumed;
    tkl__files_before before;
    char before_sum[TKL__FILES_SUM + 1]; /* checksum of the file when it was delivered before */

    tkl__files_lines lines;
    tkl__files_unpacker *unpacker;
    int64_t saved;          /* bytes of lines that are saved as delivered */
    char unpack_error[128]; /* "": none */
};

/* ---- incoming.c ---------------------------------------------------------- */

/* Makes a file from the fields in a reply of files/look. NULL: out of memory. */
tkl__files_incoming *tkl__files_incoming_new(tkl__files_receiving *receiving, const char *token,
                                             const tkl_reply *fields);
void tkl__files_incoming_update(tkl__files_incoming *in, const tkl_reply *fields);
void tkl__files_incoming_free(tkl__files_incoming *in);

/* Whether there is something to do for this file. */
bool tkl__files_incoming_ready(const tkl__files_incoming *in);
/* Does some of the work, in one round trip. *finished: the file is done, with success or not, and
 * reported. An error ends the whole call. */
int tkl__files_incoming_step(tkl__files_incoming *in, bool *finished);
/* Does all of the work for a small file. tkl__files_receiving_flush() reports it to the server. */
int tkl__files_incoming_small(tkl__files_incoming *in);
/* Reports to the callback that a file is gone from the channel. */
int tkl__files_incoming_given_up(tkl__files_incoming *in);
/* Reports a file whose keys the server has evicted, to the callback and to the server. */
int tkl__files_incoming_lost(tkl__files_incoming *in);

/* Notes a small file as done; many of them are reported in one request. */
int tkl__files_incoming_note_done(const tkl__files_incoming *in);
/* Reports the finished small files to the server. */
int tkl__files_receiving_flush(tkl__files_receiving *r);
/* The file that this process has delivered under a token, or NULL. */
const tkl__files_delivered *tkl__files_receiving_find(const tkl__files_receiving *r,
                                                      const char *token);

/* Room for the path of a received file. */
#define TKL__FILES_PATH (PATH_MAX + TKL_FILES_NAME_MAX + 2)

/* ---- partial.c: what is on the disk -------------------------------------- */

/* Opens the partial file and finds how many chunks it has. TKL_EDAMAGED: the server no longer has
 * the missing part. */
int tkl__files_partial_open(tkl__files_incoming *in);
void tkl__files_partial_close(tkl__files_incoming *in);
int tkl__files_partial_write(tkl__files_incoming *in, tkl_bytes data);
/* Passes bytes to the callback for lines, if there is one. */
int tkl__files_partial_feed(tkl__files_incoming *in, tkl_bytes data);
/* Asks the callback to write out its lines; TKL_EINTR: it cannot. */
int tkl__files_partial_flush_lines(const tkl__files_incoming *in);
/* Flushes the lines, and saves how many bytes of lines were delivered. */
int tkl__files_partial_save_lines(tkl__files_incoming *in);
/* Prepares the delivery of lines behind those that were saved as delivered. */
int tkl__files_partial_load_lines(tkl__files_incoming *in);
int tkl__files_partial_sync(const tkl__files_incoming *in);
/* Writes the path of the file when it is in place, unless it is unpacked. */
void tkl__files_partial_path(const tkl__files_incoming *in, char *path, size_t size);
/* These put the file in place and set `path` to its path: a file as received, unpacked, a small
 * file as the options say, a directory, a symbolic link. */
int tkl__files_partial_place(tkl__files_incoming *in, char *path, size_t size);
int tkl__files_partial_unpack(tkl__files_incoming *in, char *path, size_t size);
int tkl__files_partial_place_small(tkl__files_incoming *in, char *path, size_t size);
int tkl__files_partial_place_dir(tkl__files_incoming *in, char *path, size_t size);
int tkl__files_partial_place_link(tkl__files_incoming *in, char *path, size_t size);
void tkl__files_partial_remove(const tkl__files_incoming *in);
/* Removes partial files that belong to no file on the channel. */
int tkl__files_partial_sweep(tkl__files_receiving *r);

#endif
