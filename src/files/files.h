/* SPDX-License-Identifier: MIT
 *
 * The inside of files: channels, requests, and what senders and receivers share. The essay is in
 * files.c.
 */
#ifndef TKL_FILES_FILES_H
#define TKL_FILES_FILES_H

#include <tackle/files.h>

#include "core/script.h"
#include "core/wait.h"

/* ---- Channels ------------------------------------------------------------ */

/* The keys of a channel, in the order of its `keys`, in which every script gets them. */
typedef enum tkl__files_part {
    TKL__FILES_STATE,
    TKL__FILES_FILES,
    TKL__FILES_ENDS,
    TKL__FILES_BYTES,
    TKL__FILES_RESUME,
    TKL__FILES_RECEIVERS,
    TKL__FILES_HOLDERS,
    TKL__FILES_TROUBLE,
    TKL__FILES_ROOM, /* a channel of sharded pub/sub, no key */
    TKL__FILES_PARTS,
} tkl__files_part;

struct tkl_files {
    tkl_client *client;
    tkl__keys keys;
    tkl_files_options rules; /* defaults filled in; max_bytes 0: as it is */
    int64_t patience_ms; /* requests are repeated so long while the server is away: 0: not. Senders
                            and receivers have a copy of the handle: tkl__files_with_patience() */
};

/* A copy for one call; negative: it waits for ever. */
tkl_files tkl__files_with_patience(const tkl_files *files, int64_t patience_ms);

/* Tokens of files, and of the processes that send or receive. */
#define TKL__FILES_TOKEN 32
typedef struct tkl__files_token {
    char text[TKL__FILES_TOKEN + 1]; /* hex digits */
} tkl__files_token;
tkl__files_token tkl__files_new_token(void);
/* Of a process that begins to send or receive: in the order in which they begin. */
int tkl__files_new_holder(tkl_files *files, tkl__files_token *holder);
/* False unless it looks like one. */
bool tkl__files_is_token(const char *text);
bool tkl__files_read_token(const tkl_reply *reply, tkl__files_token *token);

/* Files of one request at most. */
#define TKL__FILES_BATCH 64
/* The same, of requests that take time for each receiver of each file. */
size_t tkl__files_batch(size_t receivers);
/* Chunks of one request at most: of a sender, and of a receiver, whose replies the server holds in
 * memory beside what the channel holds. */
#define TKL__FILES_SEND_WINDOW    32
#define TKL__FILES_RECEIVE_WINDOW 12
/* Bytes of a chunk: with what the server adds it fits into 256 KB, where allocators have a
 * class. */
#define TKL__FILES_CHUNK (256 * 1024 - 64)
/* No file is longer: two petabytes. */
#define TKL__FILES_CHUNKS_MAX ((int64_t)1 << 33)

/* Names of receivers. */
int tkl__files_check_receiver(tkl_bytes name);

/* ---- Requests (ask.c) ---------------------------------------------------- */

/* A script under construction. */
typedef struct tkl__files_ask {
    tkl_files *files;
    tkl__args keys, args;
} tkl__files_ask;

/* Its first keys are those of the channel. */
void tkl__files_ask_init(tkl__files_ask *ask, tkl_files *files);
void tkl__files_ask_free(tkl__files_ask *ask);
/* The two keys of a file behind them. */
void tkl__files_ask_file(tkl__files_ask *ask, const char *token);
/* Only its record. */
void tkl__files_ask_record(tkl__files_ask *ask, const char *token);
/* The key of what a call has sent. */
void tkl__files_ask_sent(tkl__files_ask *ask, const char *call);
/* The same when the call is over. */
void tkl__files_ask_over(tkl__files_ask *ask, const char *call);
/* The keys of these chunks of a file. */
void tkl__files_ask_chunks(tkl__files_ask *ask, const char *token, int64_t from, int64_t to);

/* Runs it. The result is the code of the request, or the first element of the reply, or the reply
 * itself if it is a number; *reply is to be freed in any case. A server that was reached before and
 * is not now is waited for, until the client is interrupted. */
int tkl__files_ask_run(tkl__files_ask *ask, const tkl__script *script, tkl_reply **reply);
/* The same for replies that do not begin with a code. */
int tkl__files_ask_plain(tkl__files_ask *ask, const tkl__script *script, tkl_reply **reply);

/* Commands on chunks, and a script behind them, in one round trip. */
typedef struct tkl__files_trip {
    tkl_files *files;
    tkl__buf wire;
    size_t ends[TKL__FILES_SEND_WINDOW + 1]; /* and a script */
    size_t count;
} tkl__files_trip;

void tkl__files_trip_init(tkl__files_trip *trip, tkl_files *files);
void tkl__files_trip_free(tkl__files_trip *trip);
void tkl__files_trip_clear(tkl__files_trip *trip);
void tkl__files_trip_get(tkl__files_trip *trip, const char *token, int64_t number);
void tkl__files_trip_set(tkl__files_trip *trip, const char *token, int64_t number, tkl_bytes data,
                         int64_t ttl_ms);
/* Returns the code of the script, as tkl__files_ask_run(). *replies has the replies of the commands
 * and that of the script behind them. An error of a command comes before the script's code. */
int tkl__files_trip_run(tkl__files_trip *trip, tkl__files_ask *ask, const tkl__script *script,
                        tkl_reply **replies);

/* A number in a reply, which another program may have spoiled: whole, from 0 to `most`. */
int64_t tkl__files_number(const tkl_reply *reply, int64_t most);
int64_t tkl__files_chunks(const tkl_reply *reply); /* a number of chunks */

/* ---- Removing (remove.c) ------------------------------------------------- */

/* Gives a file up. `holder`: of its sender; "": only if its time is over. */
int tkl__files_remove(tkl_files *files, const char *token, const char *holder, const char *reason);
/* Removes a file that a reply calls overdue, if it names one. */
int tkl__files_reap(tkl_files *files, const tkl_reply *token);
/* Removes the chunks of a file that all of its receivers have. */
int tkl__files_free_chunks(tkl_files *files, const char *token);
/* A receiver is done with files. `holder` "": whoever it is; `reason` "": it has them. */
int tkl__files_done(tkl_files *files, tkl_bytes receiver, const char *holder, const char *reason,
                    const char *const *tokens, size_t count);

/* What a reader of the channel knows of it: all zero is nothing. */
typedef struct tkl__files_cursor {
    char epoch[TKL__FILES_TOKEN + 1];
    int64_t number; /* of the last change */
} tkl__files_cursor;

/* Files that have changed since, oldest change first. */
typedef struct tkl__files_page {
    tkl__files_token tokens[TKL__FILES_BATCH];
    const char *texts[TKL__FILES_BATCH]; /* of the tokens */
    size_t count;
    bool more;           /* there may be more behind them */
    int64_t next_end_ms; /* in how many ms the next file is overdue; -1: none */
} tkl__files_page;

/* Moves the cursor. Removes a file that is overdue, if there is one. */
int tkl__files_news(tkl_files *files, tkl__files_cursor *cursor, tkl__files_page *page);

/* All files on the channel, in pages. */
typedef int tkl__files_visit(tkl_files *files, const char *const *tokens, size_t count, void *arg);
int tkl__files_walk(tkl_files *files, tkl__files_visit *visit, void *arg);

/* ---- Checksums (sum.c) --------------------------------------------------- */

typedef struct XXH3_state_s tkl__files_hash;
#define TKL__FILES_SUM 32
typedef struct tkl__files_sum {
    char text[TKL__FILES_SUM + 1]; /* hex digits */
} tkl__files_sum;

tkl__files_hash *tkl__files_hash_new(void); /* NULL: no memory */
void tkl__files_hash_free(tkl__files_hash *hash);
void tkl__files_hash_reset(tkl__files_hash *hash);
void tkl__files_hash_add(tkl__files_hash *hash, const void *data, size_t len);
tkl__files_sum tkl__files_hash_sum(const tkl__files_hash *hash);
tkl__files_sum tkl__files_sum_of(tkl_bytes bytes);
/* The sum of the first `len` bytes of a file goes into `hash`. TKL_EIO; TKL_CONFLICT: it is
 * shorter. */
int tkl__files_hash_file(tkl__files_hash *hash, int fd, int64_t len);

/* ---- Unpacking (unpack.c) and lines (lines.c) ---------------------------- */

/* Takes bytes; not TKL_OK ends the work. */
typedef int tkl__files_sink(void *arg, tkl_bytes bytes);

typedef struct tkl__files_unpacker tkl__files_unpacker;
/* NULL: no memory. What does not begin as gzip does is passed on as it is. */
tkl__files_unpacker *tkl__files_unpack_new(tkl__files_sink *sink, void *arg);
void tkl__files_unpack_free(tkl__files_unpacker *unpacker);
/* TKL_EDAMAGED: the data are corrupt, or at the end: cut off. */
int tkl__files_unpack_add(tkl__files_unpacker *unpacker, tkl_bytes bytes);
int tkl__files_unpack_end(tkl__files_unpacker *unpacker);
/* Whether it was gzip. */
bool tkl__files_unpack_packed(const tkl__files_unpacker *unpacker);

/* Bytes into lines. */
typedef struct tkl__files_lines {
    int (*on_line)(tkl_bytes line, void *arg);
    void *arg;
    tkl__buf rest;     /* a line whose end has not come */
    int64_t skip;      /* bytes that were delivered by an earlier process */
    int64_t delivered; /* bytes of all lines delivered */
    int64_t count;     /* lines */
} tkl__files_lines;

void tkl__files_lines_init(tkl__files_lines *lines, int (*on_line)(tkl_bytes line, void *arg),
                           void *arg, int64_t skip);
void tkl__files_lines_free(tkl__files_lines *lines);
/* A sink. TKL_EINTR: the callback wants no more. */
int tkl__files_lines_add(void *lines, tkl_bytes bytes);
int tkl__files_lines_end(tkl__files_lines *lines);

#endif
