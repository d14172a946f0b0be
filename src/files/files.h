/* SPDX-License-Identifier: MIT
 *
 * The private header of files: channels, requests, and what senders and receivers share. The essay
 * is in files.c.
 */
#ifndef TKL_FILES_FILES_H
#define TKL_FILES_FILES_H

#include <tackle/files.h>

#include <time.h>

#include "core/batch.h"
#include "core/waiting.h"

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
    tkl_files_options rules; /* defaults filled in; max_bytes 0: the limit that the channel has */
    /* How long a request is repeated while the server is down; 0: it is not; negative: until the
     * client is interrupted. Senders and receivers set it in a copy of the handle:
     * tkl__files_with_patience(). */
    int64_t patience_ms;
};

/* Returns a copy of the handle for one call, with this patience. */
tkl_files tkl__files_with_patience(const tkl_files *files, int64_t patience_ms);

/* Tokens of files, and of the processes that send or receive. */
#define TKL__FILES_TOKEN 32
typedef struct tkl__files_token {
    char text[TKL__FILES_TOKEN + 1]; /* hex digits */
} tkl__files_token;
tkl__files_token tkl__files_new_token(void);
/* Makes the token of a process that begins to send or receive. Later processes have greater
 * tokens. */
int tkl__files_new_holder(tkl_files *files, tkl__files_token *holder);
/* Whether the text has the form of a token. */
bool tkl__files_is_token(const char *text);
bool tkl__files_read_token(const tkl_reply *reply, tkl__files_token *token);

/* Most files of one request. */
#define TKL__FILES_BATCH 64
/* Most files of a request that takes time for each receiver of each file. */
size_t tkl__files_batch(size_t receivers);
/* Most chunks in one request of a sender, and of a receiver. The server holds the replies to a
 * receiver in memory in addition to what the channel holds. */
#define TKL__FILES_SEND_WINDOW    32
#define TKL__FILES_RECEIVE_WINDOW 12
/* Bytes of a chunk. With the server's overhead it fits into 256 KB, a size class of allocators. */
#define TKL__FILES_CHUNK (256 * 1024 - 64)
/* Most chunks of a file: two petabytes. */
#define TKL__FILES_CHUNKS_MAX ((int64_t)1 << 33)

/* Checks the name of a receiver. */
int tkl__files_check_receiver(tkl_bytes name);

/* ---- Requests (ask.c) ---------------------------------------------------- */

/* A request that runs a script: its keys and arguments, while they are collected. */
typedef struct tkl__files_request {
    tkl_files *files;
    tkl__args keys, args;
} tkl__files_request;

/* Begins a request with the keys of the channel. */
void tkl__files_request_init(tkl__files_request *request, tkl_files *files);
void tkl__files_request_free(tkl__files_request *request);
/* Adds the two keys of a file: its record, and the positions of its receivers. */
void tkl__files_request_add_file(tkl__files_request *request, const char *token);
/* Adds only the key of a file's record. */
void tkl__files_request_add_record(tkl__files_request *request, const char *token);
/* Adds the two keys of each file, and its token as an argument. */
void tkl__files_request_add_files(tkl__files_request *request, const char *const *tokens,
                                  size_t count);
/* Adds the key that remembers what a call has sent. */
void tkl__files_request_add_sent(tkl__files_request *request, const char *call);
/* Adds the key that remembers what a call has sent after the call is over. */
void tkl__files_request_add_over(tkl__files_request *request, const char *call);
/* Adds the keys of these chunks of a file. */
void tkl__files_request_add_chunks(tkl__files_request *request, const char *token, int64_t from,
                                   int64_t to);

/* Runs the script. Returns the error code of the request, else the first element of the reply, or
 * the reply itself if it is a number. Free *reply in any case. If the server was reached before and
 * is down now, the request is repeated as long as the patience of the handle lasts. */
int tkl__files_request_run(tkl__files_request *request, const tkl__script *script,
                           tkl_reply **reply);
/* Runs a script whose reply does not begin with a code. */
int tkl__files_request_plain(tkl__files_request *request, const tkl__script *script,
                             tkl_reply **reply);

/* Runs files/look or files/add_receiver: a script about a receiver and these files. */
int tkl__files_request_for(tkl_files *files, const tkl__script *script, tkl_bytes receiver,
                           const char *const *tokens, size_t count, tkl_reply **reply);

/* Adds a GET or SET of a chunk to a batch. */
void tkl__files_batch_get(tkl__batch *batch, const tkl_files *files, const char *token,
                          int64_t number);
void tkl__files_batch_set(tkl__batch *batch, const tkl_files *files, const char *token,
                          int64_t number, tkl_bytes data, int64_t ttl_ms);
/* Adds the script to the batch and runs it. Returns the code of the script, as
 * tkl__files_request_run() does; its reply is the last one. An error of a command takes precedence
 * over the script's code. */
int tkl__files_batch_run(tkl__batch *batch, tkl__files_request *request, const tkl__script *script);

/* Reads a number in a reply and limits it to 0 to `most`: another program may have written anything
 * there. */
int64_t tkl__files_number(const tkl_reply *reply, int64_t most);
int64_t tkl__files_chunks(const tkl_reply *reply); /* a number of chunks */

/* The elements of a reply of files/ack. */
enum {
    TKL__FILES_ACK_CODE,
    TKL__FILES_ACK_SENT,
    TKL__FILES_ACK_COMPLETE,
    TKL__FILES_ACK_FREED,
    TKL__FILES_ACK_LOWEST,
    TKL__FILES_ACK_SUM,
    TKL__FILES_ACK_SIZE,
};

/* The values in an entry of the stream of troubles; the name of its field stands before each. */
enum {
    TKL__FILES_TROUBLE_TOKEN = 1,
    TKL__FILES_TROUBLE_RECEIVER = 3,
    TKL__FILES_TROUBLE_NAME = 5,
    TKL__FILES_TROUBLE_REASON = 7,
};

/* Adds the time of a file to a request: seconds and nanoseconds. */
void tkl__files_add_time(tkl__args *args, const struct timespec *time);
/* Reads the time of a file; false: the text is none. */
bool tkl__files_read_time(const char *text, struct timespec *time);

/* ---- Removing (remove.c) ------------------------------------------------- */

/* Gives a file up. `holder`: the token of its sender; "": gives it up only if its time is over. */
int tkl__files_remove(tkl_files *files, const char *token, const char *holder, const char *reason);
/* Removes the overdue file that a reply names, if it names one. */
int tkl__files_reap(tkl_files *files, const tkl_reply *token);
/* Removes the chunks that all receivers of a file have. */
int tkl__files_free_chunks(tkl_files *files, const char *token);
/* Reports that a receiver is done with files. `holder` "": the receiver is dropped. `reason` "":
 * the receiver has the files; else why it cannot use them, which a waiting sender finds. `call`:
 * the call that sent the files; "": not known. */
int tkl__files_done(tkl_files *files, tkl_bytes receiver, const char *holder, const char *reason,
                    const char *call, const char *const *tokens, size_t count);

/* How far a reader knows the changes of a channel; all zero: nothing yet. */
typedef struct tkl__files_cursor {
    char epoch[TKL__FILES_TOKEN + 1];
    int64_t number; /* number of the last change that the reader knows */
    int mended;     /* how many times the server has rebuilt its list of files */
} tkl__files_cursor;

/* Files that have changed since the cursor, oldest change first. */
typedef struct tkl__files_page {
    tkl__files_token tokens[TKL__FILES_BATCH];
    const char *texts[TKL__FILES_BATCH]; /* texts of the tokens */
    size_t count;
    bool more;           /* there may be more changes behind these */
    int64_t next_end_ms; /* in how many ms the next file is overdue; -1: none */
} tkl__files_page;

/* Reads the next page and moves the cursor. Removes a file that is overdue, if there is one. */
int tkl__files_news(tkl_files *files, tkl__files_cursor *cursor, tkl__files_page *page);

/* Visits all files of the channel, in pages. */
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
/* Adds the first `len` bytes of a file to `hash`. TKL_EIO: it cannot be read; TKL_CONFLICT: it is
 * shorter. */
int tkl__files_hash_file(tkl__files_hash *hash, int fd, int64_t len);

/* ---- Unpacking (unpack.c) and lines (lines.c) ---------------------------- */

/* Receives bytes; any result but TKL_OK stops the work. */
typedef int tkl__files_sink(void *arg, tkl_bytes bytes);

typedef struct tkl__files_unpacker tkl__files_unpacker;
/* NULL: out of memory. Data that do not begin like gzip are passed on unchanged. */
tkl__files_unpacker *tkl__files_unpack_new(tkl__files_sink *sink, void *arg);
void tkl__files_unpack_free(tkl__files_unpacker *unpacker);
/* TKL_EDAMAGED: the data are corrupt, or, at the end, incomplete. */
int tkl__files_unpack_add(tkl__files_unpacker *unpacker, tkl_bytes bytes);
int tkl__files_unpack_end(tkl__files_unpacker *unpacker);
/* Whether the data were gzip. */
bool tkl__files_unpack_packed(const tkl__files_unpacker *unpacker);

/* Splits bytes into lines. */
typedef struct tkl__files_lines {
    int (*on_line)(tkl_bytes file, tkl_bytes text, void *arg);
    void *arg;
    tkl_bytes file;    /* its name; belongs to the caller */
    tkl__buf rest;     /* a line whose end has not been received */
    int64_t skip;      /* bytes that an earlier process has delivered */
    int64_t delivered; /* bytes of all lines delivered */
    int64_t count;     /* number of lines */
} tkl__files_lines;

void tkl__files_lines_init(tkl__files_lines *lines,
                           int (*on_line)(tkl_bytes file, tkl_bytes text, void *arg), void *arg,
                           tkl_bytes file, int64_t skip);
void tkl__files_lines_free(tkl__files_lines *lines);
/* A sink for bytes of lines. TKL_EINTR: the callback asked to stop. */
int tkl__files_lines_add(void *lines, tkl_bytes bytes);
int tkl__files_lines_end(tkl__files_lines *lines);

/* Bytes that a channel may hold by default. */
#define TKL__FILES_LIMIT (INT64_C(256) * 1024 * 1024)

#endif
