/* SPDX-License-Identifier: MIT
 *
 * The inside of one call of tkl_files_send().
 */
#ifndef TKL_FILES_SEND_H
#define TKL_FILES_SEND_H

#include <sys/stat.h>

#include "core/keeper.h"
#include "files/files.h"

/* Files of up to this many bytes travel in their record. */
#define TKL__FILES_SMALL (16 * 1024)

/* How often something is sent again because the server has forgotten it. */
#define TKL__FILES_RESTARTS 5

/* A source; and when it was sent, the file whose receivers are waited for. */
typedef struct tkl__files_awaited {
    tkl__files_token token; /* first: they are sorted by it */
    const tkl_files_source *source;
    char field[TKL__FILES_SUM + 1]; /* under which the server remembers that it was sent */
} tkl__files_awaited;

typedef struct tkl__files_sending {
    tkl_files *files;
    const tkl_bytes *to;
    size_t to_count;
    tkl_files_send_options options;
    tkl_files_totals totals;
    tkl_files_progress progress;
    int failure; /* the first */
    char message[256];

    tkl__waiter ear;               /* listens for room while it waits */
    int64_t wait_began, wait_next; /* when the wait began, and its next report is due */
    bool doubted;                  /* the last report has found receivers that are gone too long */

    tkl__files_awaited *awaited; /* all files sent; behind them, sources to be sent */
    size_t awaited_count;        /* files */
    size_t arrived;              /* of them, from the first on: all receivers are done with these */
    bool again;                  /* what the server has lost is sent again */
    int64_t wait_until;          /* the end of the wait for receivers */

    char call[TKL__FILES_SUM +
              1];       /* under which the server remembers what is sent; "": it does not */
    int64_t call_next;  /* when that is to be renewed */
    int64_t call_until; /* the server remembers it for so long, ms of its clock; 0: not known */
} tkl__files_sending;

/* One file or stream that is being sent in chunks. */
typedef struct tkl__files_outgoing {
    tkl__files_sending *sending;
    const tkl_files_source *source;
    tkl_bytes name;
    int fd; /* -1: a stream */
    struct stat at_start;
    tkl__files_token token, holder;
    char fingerprint[TKL__FILES_SUM + 1]; /* "": it cannot be resumed */
    tkl__files_hash *hash;                /* of all bytes read */
    int64_t chunk;                        /* bytes of a chunk */
    int64_t sent, granted;                /* chunks: committed, and how many more may be */
    int64_t bytes;                        /* read so far */
    bool ended;                           /* there is no more to read */
    bool resumed;
    bool complete;  /* it was sent before the call was interrupted */
    bool forgotten; /* by the server */
    char *buffer;   /* of one chunk */
    tkl__files_trip trip;

    tkl__kept kept; /* renews the lease */
    tkl__files_ask renewal;
} tkl__files_outgoing;

/* ---- outgoing.c ---------------------------------------------------------- */

/* Sends one file or stream in chunks. `fd` -1: a stream. */
int tkl__files_outgoing_send(tkl__files_sending *sending, const tkl_files_source *source,
                             tkl_bytes name, int fd, const struct stat *st,
                             tkl_files_outcome *outcome);
/* Whether the file is another one now than it was. */
bool tkl__files_outgoing_changed(int fd, const struct stat *before);

/* ---- sent.c -------------------------------------------------------------- */

/* Decides whether the server is to remember what this call has sent: so that it can be made again,
 * and that files the server has lost are not taken for files that all receivers have. */
int tkl__files_sent_begin(tkl__files_sending *sending, const tkl_files_source *sources,
                          size_t count);
/* What must be the same for a file to be resumed: the machine, the path, the file as it is, its name
 * and its receivers. "": it cannot be resumed. */
int tkl__files_sent_fingerprint(const tkl__files_sending *sending, const tkl_files_source *source,
                                tkl_bytes name, const struct stat *st,
                                char fingerprint[TKL__FILES_SUM + 1]);
/* Adds the argument of scripts: for how long it is remembered. */
void tkl__files_sent_kept(const tkl__files_sending *sending, tkl__args *args);
/* The receivers of a file are to be waited for. */
void tkl__files_sent_await(tkl__files_sending *sending, const tkl__files_token *token,
                           const tkl_files_source *source, const char *fingerprint);
/* TKL_OK: all receivers are done with the file. TKL_EXISTS: not yet. TKL_NOTFOUND: the server has
 * lost it. */
int tkl__files_sent_left(tkl__files_sending *sending, const tkl__files_awaited *file);
/* A sender that waits renews it, and when that is due. */
void tkl__files_sent_keep(tkl__files_sending *sending);
int64_t tkl__files_sent_due(const tkl__files_sending *sending);
/* The call is over. `rc` and its text stay. */
void tkl__files_sent_forget(tkl__files_sending *sending, int rc);

/* ---- room.c -------------------------------------------------------------- */

/* Waits until it is worth asking again. Call it after every answer "full", and
 * tkl__files_room_had() after any other. `next_end_ms`: when the next file is overdue; -1: none. */
int tkl__files_room_wait(tkl__files_sending *sending, int64_t next_end_ms);
void tkl__files_room_had(tkl__files_sending *sending);
/* Waits until all receivers have everything that was sent. TKL_NOTFOUND: the server has lost files;
 * `arrived` of them have arrived for sure. */
int tkl__files_room_wait_for_all(tkl__files_sending *sending);

#endif
