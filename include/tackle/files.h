/* SPDX-License-Identifier: MIT
 *
 * Files sent through the server to named receivers, under a memory limit: logs, models, builds,
 * without a shared disk. Receivers may come and go; files wait on the server for each of them.
 *
 *     tkl_files *files;
 *     tkl_bytes to[] = {tkl_str("a"), tkl_str("b")};
 *     tkl_files_source source = {.path = "access.log.1.gz"};
 *     TKL_TRY(tkl_files_open(client, tkl_str("logs"), NULL, &files));
 *     if (tkl_files_send(files, to, 2, &source, 1, NULL, NULL) != TKL_OK)
 *         fprintf(stderr, "%s\n", tkl_errmsg());
 *
 * and on another machine
 *
 *     tkl_files_receive_options options = {.dir = "/var/spool/logs"};
 *     TKL_TRY(tkl_files_receive(files, tkl_str("a"), &options, -1, NULL));
 *
 * A file travels in chunks. A chunk is removed from the server once all receivers of the file have
 * it; the sender waits while the limit is reached. A receiver writes a temporary file and renames
 * it to its name once the checksum is verified. Senders and receivers that were interrupted resume
 * where they stopped.
 *
 * Threads: a tkl_files may be used by several threads. tkl_files_send() and tkl_files_receive()
 * keep their thread until they are done; tkl_interrupt() ends them early. fork(): a child may go on
 * using the handle, but not a call under way. Callbacks run in the calling thread, may block, and
 * may use the client. Keys: all keys of a file are removed when its last receiver has it, when it
 * is given up, or when it was not received within ttl_ms; an empty channel expires after 30 days.
 */
#ifndef TACKLE_FILES_H
#define TACKLE_FILES_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_files tkl_files;

/* Most receivers of a file. Their names have 1 to 255 bytes. */
#define TKL_FILES_RECEIVERS_MAX 1000
/* Most bytes in the name under which a file is sent. */
#define TKL_FILES_NAME_MAX 4096
/* The least memory limit of a channel. */
#define TKL_FILES_LIMIT_MIN 4096

typedef struct tkl_files_options {
    int64_t timeout_ms; /* time-out of one call to the server; 0: the client's */
    int64_t ttl_ms;     /* a file that was not received this long after it was sent is given up;
                           0: 7 days */
    int64_t lease_ms;   /* a sender or receiver counts as gone after this long without a sign of
                           life, at least 100; 0: 10000 */
    int64_t resume_ms;  /* how long a sender that is gone may come back and resume; after that its
                           file is given up. 0: 10 minutes. TKL_NONE: it cannot resume */
    int64_t max_bytes;  /* memory limit of the channel for all senders together, at least
                           TKL_FILES_LIMIT_MIN; a sender with a number sets it; 0: the channel's
                           own, 256 MB for a new channel */
    TKL_RESERVED(8);
} tkl_files_options;

/* No I/O. `channel`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_files_open(tkl_client *client, tkl_bytes channel, const tkl_files_options *options,
                           tkl_files **files) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle. NULL is fine. */
TKL_API void tkl_files_close(tkl_files *files);

/* ---- Sending ------------------------------------------------------------- */

/* A file, a directory with everything in it, or a stream. */
typedef struct tkl_files_source {
    const char *path; /* path of a regular file or of a directory; NULL: a stream */
    tkl_bytes name;   /* name under which it is sent; empty: the last part of the path */
    /* Callback that reads a stream: fills the buffer; returns the number of bytes, 0 at the end,
     * negative on failure (errno says why). A stream cannot be resumed. */
    int64_t (*read)(char *buffer, size_t size, void *arg);
    void *arg;
    TKL_RESERVED(4);
} tkl_files_source;

/* Why a sender waits. */
typedef struct tkl_files_waiting {
    const tkl_bytes *receivers; /* receivers that lack something on the server, up to 16 */
    const bool *gone;           /* for each receiver: whether it is gone */
    size_t count;
    int64_t waited_ms; /* so far */
    TKL_RESERVED(4);
} tkl_files_waiting;

typedef struct tkl_files_progress {
    tkl_bytes name;      /* name of the current file */
    int64_t file_bytes;  /* size of the current file; TKL_NONE: not known */
    int64_t file_done;   /* bytes of it that are done */
    int64_t files;       /* files done so far */
    int64_t total_bytes; /* size of all sources; TKL_NONE: not known */
    int64_t bytes;       /* bytes sent or received so far */
    TKL_RESERVED(4);
} tkl_files_progress;

typedef enum tkl_files_type {
    TKL_FILES_TYPE_FILE = 0,
    TKL_FILES_TYPE_DIRECTORY = 1, /* a directory that was sent, or one below it */
    TKL_FILES_TYPE_LINK = 2,      /* a symbolic link in such a directory */
} tkl_files_type;

/* "file", "directory", "link"; never NULL. */
TKL_API const char *tkl_files_type_name(tkl_files_type type);

/* The outcome of one file. */
typedef struct tkl_files_outcome {
    tkl_bytes name;      /* as it was sent; empty: the server has lost it */
    tkl_files_type type; /* type of the source; a file when it cannot be read */
    const char *path;    /* path of the source, or of the received file; "" where there is none */
    int64_t size;        /* bytes as they were sent; TKL_NONE: not known */
    int64_t lines;       /* lines delivered to the callback by this call */
    bool resumed;        /* all or part of it was transferred by an earlier call */
    int code;            /* TKL_OK, or why it failed */
    const char *message; /* the reason in words; "" */
    TKL_RESERVED(4);
} tkl_files_outcome;

typedef struct tkl_files_send_options {
    int64_t wait_ms; /* how long to wait until the receivers have everything; 0: return once it is
                        on the server; negative: for ever */
    int64_t drop_after_ms; /* while waiting, drop receivers that are gone for this long; a receiver
                              that was active before stays for at least half a lease; 0: never */
    void (*on_progress)(const tkl_files_progress *progress, void *arg); /* now and then */
    void (*on_file)(const tkl_files_outcome *outcome, void *arg); /* once for each source, and for
                                                                     each member of a directory */
    void (*on_waiting)(const tkl_files_waiting *waiting, void *arg); /* after a second, then every 5
                                                                        seconds */
    void *arg;
    int64_t timeout_ms; /* time-out of one request; 0: the handle's */
    bool more; /* more files will come by other calls: receivers with `exit_when_done` go on */
    TKL_RESERVED(8);
} tkl_files_send_options;

typedef struct tkl_files_totals {
    int64_t files;  /* files sent, or received and put in place; directories and links count, too */
    int64_t bytes;  /* bytes of these files */
    int64_t failed; /* files that failed; `on_file` was called for each */
    int64_t lines;  /* delivered to the callback */
    TKL_RESERVED(4);
} tkl_files_totals;

/* Sends all sources, in order, and waits while the channel is full. A source that cannot be read or
 * changes meanwhile fails and the others are still sent; the code of the first failure is returned:
 * TKL_EIO: it cannot be read. TKL_CONFLICT: it changed while it was sent, and no receiver gets it.
 * TKL_NOTFOUND: no receiver was left. TKL_ELOST: another process has sent the same file or took
 * over sending it, or the server has lost data that cannot be sent again. The call waits for a
 * server that goes down, but not for a server that this client has never reached. TKL_EINVAL: two
 * different files have the same name. TKL_EINTR: tkl_interrupt(). TKL_BUSY: wait_ms is over.
 * TKL_DEAD: with wait_ms, a receiver could not put a file in place. `options` and `totals` may be
 * NULL.
 *
 * A directory is sent with everything in it, by name: each file, symbolic link and directory is a
 * file of the channel with a name such as "tree/sub/file". The name of the directory itself has no
 * '/'; "." has the name of where it leads. Symbolic links are sent as links, and only if they
 * cannot lead out of the directory: relative, with ".." at the beginning only. Such links, special
 * files and directories that cannot be read are reported (TKL_EIO); the rest is sent.
 *
 * Receivers with `exit_when_done` learn by the last file of a call that no more will come, unless
 * `more` is set. A call without sources says only that.
 *
 * A call that did not finish (TKL_EINTR, TKL_BUSY, an error of the server, a killed process) may be
 * repeated within resume_ms: it resumes the file it was sending, and does not send again files that
 * were sent and have not changed since. A call counts as repeated when it has the same first source
 * and the same receivers, and no streams. A source that is named twice is sent once. */
TKL_API int tkl_files_send(tkl_files *files, const tkl_bytes *to, size_t to_count,
                           const tkl_files_source *sources, size_t count,
                           const tkl_files_send_options *options, tkl_files_totals *totals)
    TKL_NONNULL(1) TKL_CHECK;

/* ---- Receiving ----------------------------------------------------------- */

typedef struct tkl_files_receive_options {
    const char *dir; /* directory for received files, or with `on_line` for the file in transfer;
                        NULL: "." */
    bool unpack;     /* unpack gzip files and drop the ".gz" at the end of the name */
    bool sync;       /* flush files to disk (fsync) before the server may remove them */
    bool exit_when_done; /* return when a sender has said that no more will come, and nothing is
                            left; see `more` of the sender */
    /* Delivers lines instead of files: called for each line, without its line feed, and with the
     * name, as sent, of the file that it is from. Nonzero ends the call with TKL_EINTR; this line
     * and later ones come again. After a crash the last lines, up to a few megabytes, may come
     * again. */
    int (*on_line)(tkl_bytes file, tkl_bytes line, void *arg);
    /* Called before the lines since the last flush count as delivered: the callback writes out its
     * buffer. Nonzero ends the call with TKL_EINTR, and these lines come again. NULL: the callback
     * does not buffer. */
    int (*on_flush)(void *arg);
    /* Called for every file when it is in place, its lines are delivered or it failed, before the
     * server removes it. After a crash the last files come again. */
    void (*on_file)(const tkl_files_outcome *outcome, void *arg);
    void (*on_progress)(const tkl_files_progress *progress, void *arg); /* now and then */
    void *arg;
    int64_t timeout_ms; /* time-out of one request; 0: the handle's */
    TKL_RESERVED(8);
} tkl_files_receive_options;

/* Receives files that were sent to `as`, and waits `wait_ms` for more (0: does not wait; negative:
 * for ever), or for a server that is down. When several processes receive under one name, the last
 * one to start gets everything; earlier ones end with TKL_ELOST.
 *
 * When a file fails, the others are still received; the sender and tkl_files_status() report the
 * failure. TKL_EPROTO: its checksum does not match. TKL_EDAMAGED: its gzip data are corrupt or end
 * early (the file is put in place still packed), or part of it is not on the server any more.
 * TKL_CONFLICT: its sender gave it up. TKL_EIO: it cannot be put in place, for example because a
 * directory has its name; it waits on the server for the next call. TKL_EIO also ends the call when
 * the directory is full, read-only or the like; nothing is lost, call again. TKL_EMPTY: nothing
 * arrived in time. Returns the code of the first failure.
 *
 * Names are not trusted: tkl_files_safe_name() makes the name under which a file is put in place.
 * It replaces a file that had this name. Members of a directory keep their names below `dir`, byte
 * by byte; directories are made as needed, symbolic links in the way are not followed (TKL_EIO). A
 * name or a link that leads out of the directory is refused (TKL_EPROTO). With `exit_when_done`
 * TKL_OK: also when a sender had nothing to send. */
TKL_API int tkl_files_receive(tkl_files *files, tkl_bytes as,
                              const tkl_files_receive_options *options, int64_t wait_ms,
                              tkl_files_totals *totals) TKL_NONNULL(1) TKL_CHECK;

/* Makes the NUL-terminated name of a file in the directory of a receiver: '/', control characters
 * and NUL become %XX; the first dot of ".", ".." and names that begin with ".tackle-" becomes %2E;
 * names of more than 255 bytes become their beginning, "~" and a checksum of the whole name. No
 * I/O. */
#define TKL_FILES_SAFE_SIZE 256
TKL_API void tkl_files_safe_name(tkl_bytes name, char safe[TKL_FILES_SAFE_SIZE]) TKL_NONNULL(2);

/* ---- Reading what was received ------------------------------------------- */

/* A received file that is read like a stream. One thread at a time; no server is needed. */
typedef struct tkl_files_reader tkl_files_reader;

/* How a received file is read. */
typedef struct tkl_files_reading {
    bool unpack; /* unpack gzip data; other data are read as they are */
    TKL_RESERVED(8);
} tkl_files_reading;

/* Opens a file that was put in place in `dir` (NULL: "."), by the name that `on_file` reports. A
 * name with '/' is a path below `dir`, or else the safe name of a file that was sent alone. No part
 * of it may be a symbolic link. TKL_NOTFOUND: there is no such file. TKL_EIO: it cannot be read, or
 * is not a regular file. `how` may be NULL. */
TKL_API int tkl_files_reader_open(const char *dir, tkl_bytes name, const tkl_files_reading *how,
                                  tkl_files_reader **reader) TKL_NONNULL(4) TKL_CHECK;
/* Frees the reader. NULL is fine. */
TKL_API void tkl_files_reader_close(tkl_files_reader *reader);
/* Reads up to `size` bytes; *len is how many, at least one unless `size` is 0. TKL_EMPTY: the end.
 * TKL_EIO. TKL_EDAMAGED: the gzip data are corrupt, or end early. */
TKL_API int tkl_files_reader_read(tkl_files_reader *reader, char *buffer, size_t size, size_t *len)
    TKL_NONNULL(1, 4) TKL_CHECK;
/* Reads the next line, of any length, without its line feed. *line stays valid until the next call.
 * Codes as of tkl_files_reader_read(). */
TKL_API int tkl_files_reader_line(tkl_files_reader *reader, tkl_bytes *line)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Channels ------------------------------------------------------------ */

typedef enum tkl_files_state {
    TKL_FILES_OPEN = 1,     /* its sender has not sent all of it */
    TKL_FILES_COMPLETE = 2, /* all of it was sent */
    TKL_FILES_REMOVING = 3, /* it was given up */
} tkl_files_state;

/* "open", "complete", "removing"; never NULL. */
TKL_API const char *tkl_files_state_name(tkl_files_state state);

typedef struct tkl_files_receiver {
    tkl_bytes name;
    bool gone;       /* no process receives under this name just now */
    bool seen;       /* a process has received under this name before */
    int64_t gone_ms; /* how long it has been gone, or known without ever receiving; 0: it is
                        there */
    int64_t files;   /* number of files that it still has to receive */
    int64_t bytes;   /* bytes of these files that are on the server */
    TKL_RESERVED(4);
} tkl_files_receiver;

typedef struct tkl_files_file {
    tkl_bytes name;
    tkl_files_state state;
    int64_t size;       /* TKL_NONE: not known yet */
    int64_t sent;       /* bytes */
    tkl_bytes *waiting; /* names of receivers that do not have all of it yet */
    size_t waiting_count;
    TKL_RESERVED(4);
} tkl_files_file;

/* A reported failure. */
typedef struct tkl_files_trouble {
    int64_t time_ms;    /* Unix milliseconds, by the server's clock */
    tkl_bytes receiver; /* empty: all of them */
    tkl_bytes name;     /* name of the file; empty: several files */
    tkl_bytes reason;
    TKL_RESERVED(4);
} tkl_files_trouble;

/* One object: free it with tkl_files_info_free(). */
typedef struct tkl_files_info {
    int64_t bytes;     /* approximate memory of the channel */
    int64_t max_bytes; /* its limit */
    int64_t file_count;
    const tkl_files_file *files; /* the first 1000 of them, by their last change */
    size_t count;
    const tkl_files_receiver *receivers; /* by name */
    size_t receiver_count;
    const tkl_files_trouble *troubles; /* the last 100, the oldest first */
    size_t trouble_count;
    TKL_RESERVED(4);
} tkl_files_info;

/* TKL_NOTFOUND: there is no such channel. */
TKL_API int tkl_files_status(tkl_files *files, tkl_files_info **info) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_files_info_free(tkl_files_info *info); /* NULL is fine */

/* Drops a receiver from all files of the channel; files that only it still had to receive are
 * removed. *count (may be NULL): how many files it still had to receive. TKL_NOTFOUND: the channel
 * knows no such receiver. */
TKL_API int tkl_files_drop_receiver(tkl_files *files, tkl_bytes receiver, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* Adds a receiver to all files of the channel that have lost no chunk yet. *count (may be NULL):
 * how many files. */
TKL_API int tkl_files_add_receiver(tkl_files *files, tkl_bytes receiver, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* Names of all channels. */
TKL_API int tkl_files_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
