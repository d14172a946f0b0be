/* SPDX-License-Identifier: MIT
 *
 * The state of one call of tkl_files_send().
 */
#ifndef TKL_FILES_SEND_H
#define TKL_FILES_SEND_H

#include <sys/stat.h>

#include "core/keeper.h"
#include "files/files.h"
#include "files/tree.h"

/* Files of up to this many bytes travel in their record. */
#define TKL__FILES_SMALL (16 * 1024)

/* How many times something is sent again because the server has lost it. */
#define TKL__FILES_RESTARTS 5

/* A source that is still to be sent, or a sent file whose receivers the call waits for. */
typedef struct tkl__files_awaited {
    tkl__files_token token; /* first: they are sorted by it */
    const tkl__files_item *item;
    char field[TKL__FILES_SUM + 1]; /* the field in which the server remembers that it was sent */
} tkl__files_awaited;

typedef struct tkl__files_sending {
    tkl_files *files;
    const tkl_bytes *to;
    size_t to_count;
    tkl_files_send_options options;
    bool ended; /* receivers have learned that no more will come */
    tkl_files_totals totals;
    tkl_files_progress progress;
    int failure; /* error of the first source that failed */
    char message[256];

    tkl__wait wait; /* for room or receivers */
    tkl__ear ear, *ears[1];
    int64_t wait_began, wait_next; /* when the wait began, and when to look at receivers next */
    int64_t report_next;           /* when to report the wait next */
    bool for_all;                  /* waits for receivers, not for room */
    bool bytes_lacking;            /* at least one receiver lacks bytes, not only empty files */
    tkl_files_info *seen;          /* the last look at receivers; NULL: none */
    int64_t *gone_since;           /* when each of them left, by our own clock; 0: it is there */

    tkl__files_awaited *awaited; /* all files sent, followed by the sources still to send */
    size_t awaited_count;        /* number of files */
    size_t arrived;              /* number of files, from the first on, that all receivers are done
                                    with */
    bool again;                  /* the call sends again what the server has lost */
    int64_t wait_until;          /* the end of the wait for receivers */

    /* Names the key that remembers what this call has sent; "": the server does not remember it. */
    char call[TKL__FILES_SUM + 1];
    int64_t call_next;  /* when to renew that key */
    int64_t call_until; /* when it expires, in ms of the server's clock; 0: not known */
} tkl__files_sending;

/* One file or stream that is being sent in chunks. */
typedef struct tkl__files_outgoing {
    tkl__files_sending *sending;
    const tkl__files_item *item;
    tkl_bytes name;
    int fd; /* -1: a stream */
    struct stat at_start;
    tkl__files_token token, holder;
    char fingerprint[TKL__FILES_SUM + 1]; /* "": it cannot be resumed */
    tkl__files_hash *hash;                /* hash of all bytes read */
    int64_t chunk;                        /* bytes of a chunk */
    int64_t sent, granted;                /* chunks committed, and further chunks that the server
                                             has reserved */
    int64_t bytes;                        /* bytes read so far */
    bool ended;                           /* the end of the source was read */
    bool resumed;
    bool complete;    /* an earlier attempt of this call has sent all of it */
    bool forgotten;   /* the server has forgotten the file */
    char *buffer;     /* bytes of one chunk */
    tkl__batch batch; /* calls of the round trip */

    tkl__kept kept; /* renews the lease */
    tkl__files_request renewal;
} tkl__files_outgoing;

/* ---- outgoing.c ---------------------------------------------------------- */

/* Sends one file or stream in chunks. `fd` -1: a stream. */
int tkl__files_outgoing_send(tkl__files_sending *sending, const tkl__files_item *item,
                             tkl_bytes name, int fd, const struct stat *st,
                             tkl_files_outcome *outcome);
/* Whether the file has changed since `before`. */
bool tkl__files_outgoing_changed(int fd, const struct stat *before);

/* ---- sent.c -------------------------------------------------------------- */

/* Decides whether the server remembers what this call has sent. If it does, the call can be made
 * again, and files that the server has lost are not mistaken for files that all receivers have.
 * `first`: the path of the caller's first source. */
int tkl__files_sent_begin(tkl__files_sending *sending, const tkl__files_items *items,
                          const char *first);
/* Hashes everything that must be the same when a file is resumed: machine, path, file, name, time
 * to live and receivers. "": the file cannot be resumed. */
int tkl__files_sent_fingerprint(const tkl__files_sending *sending, const tkl__files_item *item,
                                tkl_bytes name, const struct stat *st,
                                char fingerprint[TKL__FILES_SUM + 1]);
/* Adds the argument that says how long the server remembers the call. */
void tkl__files_sent_kept(const tkl__files_sending *sending, tkl__args *args);
/* Adds a file whose receivers the call waits for. */
void tkl__files_sent_await(tkl__files_sending *sending, const tkl__files_token *token,
                           const tkl__files_item *item, const char *fingerprint);
/* TKL_OK: all receivers are done with the file. TKL_EXISTS: not yet. TKL_NOTFOUND: the server has
 * lost it. */
int tkl__files_sent_left(tkl__files_sending *sending, const tkl__files_awaited *file);
/* TKL_DEAD: a receiver could not use a file of the call. */
int tkl__files_sent_failed(tkl__files_sending *sending);
/* Renews the server's memory of the call, when that is due. */
void tkl__files_sent_keep(tkl__files_sending *sending);
int64_t tkl__files_sent_due(const tkl__files_sending *sending);
/* Tells the server that the call is over. `rc` and its text stay. */
void tkl__files_sent_forget(tkl__files_sending *sending, int rc);

/* ---- room.c -------------------------------------------------------------- */

/* Waits until a request that found no room may succeed. Call it after every reply "full", and
 * tkl__files_room_wait_end() after any other reply. `next_end_ms`: in how many ms the next file is
 * overdue; -1: none. */
int tkl__files_room_wait(tkl__files_sending *sending, int64_t next_end_ms);
void tkl__files_room_wait_end(tkl__files_sending *sending);
/* Waits until all receivers have everything that was sent. TKL_NOTFOUND: the server has lost files,
 * but receivers have the first `arrived` ones. */
int tkl__files_room_wait_for_all(tkl__files_sending *sending);
/* Frees the last status of receivers. */
void tkl__files_room_forget(tkl__files_sending *sending);

#endif
