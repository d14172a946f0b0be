/* SPDX-License-Identifier: MIT
 *
 * Files sent through the server to named receivers, under a memory limit: logs, models, builds,
 * without a shared disk. Receivers may come and go; what each of them lacks waits for it.
 *
 *     tkl_files *files;
 *     tkl_bytes to[] = {tkl_str("a"), tkl_str("b")};
 *     tkl_files_source source = {.path = "access.log.1.gz"};
 *     tkl_files_open(client, tkl_str("logs"), NULL, &files);
 *     if (tkl_files_send(files, to, 2, &source, 1, NULL, NULL) != TKL_OK)
 *         fprintf(stderr, "%s\n", tkl_errmsg());
 *
 * and on another machine
 *
 *     tkl_files_receive_options options = {.dir = "/var/spool/logs"};
 *     tkl_files_receive(files, tkl_str("a"), &options, -1, NULL);
 *
 * A file travels in chunks. A chunk is removed from the server once all receivers of the file have
 * it; the sender waits while the limit is reached. A receiver writes beside the target and puts the
 * file in place, by a rename, once its checksum is verified. Senders and receivers that were
 * interrupted go on where they were.
 *
 * Threads: a tkl_files may be used by several threads. tkl_files_send() and tkl_files_receive()
 * keep their thread until they are done; tkl_interrupt() ends them early. fork(): a child may go
 * on using the handle, but not a call under way. Callbacks run in the calling thread, may block,
 * and may use the client. Keys: everything of a file goes when its last receiver has it, when it
 * is given up, or when nobody came for it within ttl_ms; a channel without files is forgotten
 * after 30 days.
 */
#ifndef TACKLE_FILES_H
#define TACKLE_FILES_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_files tkl_files;

/* Receivers of a file at most. Their names: 1 to 255 bytes. */
#define TKL_FILES_RECEIVERS_MAX 1000
/* Bytes in the name of a file at most, as it is sent. */
#define TKL_FILES_NAME_MAX 4096
/* The least memory limit of a channel. */
#define TKL_FILES_LIMIT_MIN 4096

typedef struct tkl_files_options {
    int64_t timeout_ms; /* of one call to the server; 0: the client's */
    int64_t ttl_ms;     /* a file that was not received this long after it was sent is given up;
                           0: 7 days */
    int64_t lease_ms;   /* a sender or receiver not heard of for this long is gone, at least
                           100; 0: 10000 */
    int64_t resume_ms;  /* how long a sender that is gone may come back and go on; then its file
                           is given up. 0: 10 minutes. TKL_NONE: not at all */
    int64_t max_bytes;  /* memory limit of the channel, over all senders: a sender that names one
                           sets it, at least TKL_FILES_LIMIT_MIN; 0: as it is, at first 256 MB */
    TKL_RESERVED(8);
} tkl_files_options;

/* No I/O. `channel`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_files_open(tkl_client *client, tkl_bytes channel, const tkl_files_options *options,
                           tkl_files **files) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle. NULL is fine. */
TKL_API void tkl_files_close(tkl_files *files);

/* ---- Sending ------------------------------------------------------------- */

/* A file, or a stream. */
typedef struct tkl_files_source {
    const char *path; /* of a regular file; NULL: a stream */
    tkl_bytes name;   /* under which it is sent; empty: the last part of the path */
    /* Of a stream: fills the buffer; returns the number of bytes, 0 at the end, negative on failure
     * (errno says why). A stream cannot be resumed. */
    int64_t (*read)(char *buffer, size_t size, void *arg);
    void *arg;
    TKL_RESERVED(4);
} tkl_files_source;

/* Why a sender waits. */
typedef struct tkl_files_waiting {
    const tkl_bytes *receivers; /* those that lack something, up to 16 */
    const bool *gone;           /* whether each of them is gone */
    size_t count;
    int64_t waited_ms; /* so far */
    TKL_RESERVED(4);
} tkl_files_waiting;

typedef struct tkl_files_progress {
    tkl_bytes name;      /* of the file under way */
    int64_t file_bytes;  /* of it; TKL_NONE: not known */
    int64_t file_done;   /* of them */
    int64_t files;       /* done in all */
    int64_t total_bytes; /* of all sources; TKL_NONE: not known */
    int64_t bytes;       /* sent or received in all */
    TKL_RESERVED(4);
} tkl_files_progress;

/* What became of one file. */
typedef struct tkl_files_outcome {
    tkl_bytes name;      /* as it was sent */
    const char *path;    /* of the source, or where it was put; "" where there is none */
    int64_t size;        /* bytes as they were sent */
    int64_t lines;       /* delivered to the callback by this call */
    bool resumed;        /* all or part of it was there from an earlier call */
    int code;            /* TKL_OK, or why it failed */
    const char *message; /* the reason in words; "" */
    TKL_RESERVED(4);
} tkl_files_outcome;

typedef struct tkl_files_send_options {
    int64_t wait_ms; /* wait this long for the receivers to have everything; 0: return once it is
                              on the server; negative: for ever */
    int64_t drop_after_ms; /* while waiting, drop receivers that are gone for this long; 0: never */
    void (*on_progress)(const tkl_files_progress *progress, void *arg); /* now and then */
    void (*on_file)(const tkl_files_outcome *outcome, void *arg);       /* once for each source */
    void (*on_waiting)(const tkl_files_waiting *waiting, void *arg); /* after a second, then every 5
                                                                        seconds */
    void *arg;
    int64_t timeout_ms; /* of one request; 0: the handle's */
    TKL_RESERVED(8);
} tkl_files_send_options;

typedef struct tkl_files_totals {
    int64_t files;  /* sent, or received and put in place */
    int64_t bytes;  /* of them */
    int64_t failed; /* files that failed; `on_file` has told of each */
    int64_t lines;  /* delivered to the callback */
    TKL_RESERVED(4);
} tkl_files_totals;

/* Sends all sources, in order, and waits while the channel is full. A source that cannot be read or
 * changes meanwhile fails and the others are still sent; the code of the first failure is returned:
 * TKL_EIO it cannot be read; TKL_CONFLICT it changed while it was sent, and no receiver gets it;
 * TKL_NOTFOUND no receiver was left; TKL_ELOST another process took over sending the same file, or
 * was quicker, or the server has lost something that cannot be sent again. A server that is not
 * reached is waited for. TKL_EINTR: tkl_interrupt(). TKL_BUSY: wait_ms is over. TKL_DEAD: with
 * wait_ms, a receiver could not put a file in place. `options` and `totals` may be NULL.
 *
 * A call that did not come to its end (TKL_EINTR, TKL_BUSY, an error of the server, a process that
 * was killed) may be made again within resume_ms: it goes on with the file that was under way, and
 * files that it had sent and that have not changed since are not sent again. The same call has the
 * same first source and the same receivers, and no streams. A source that a call names twice is
 * sent once. */
TKL_API int tkl_files_send(tkl_files *files, const tkl_bytes *to, size_t to_count,
                           const tkl_files_source *sources, size_t count,
                           const tkl_files_send_options *options, tkl_files_totals *totals)
    TKL_NONNULL(1) TKL_CHECK;

/* ---- Receiving ----------------------------------------------------------- */

typedef struct tkl_files_receive_options {
    const char *dir; /* where files go, and with `on_line` what is under way; NULL: "." */
    bool unpack;     /* gzip files are delivered unpacked, without ".gz" at the end of the name */
    bool sync;       /* have it on the disk, not in the system's memory, before the server may
                            forget it */
    bool exit_when_done; /* return when there is nothing left, once something was received */
    /* Lines instead of files: called for each, without the line feed at its end. Nonzero ends the
     * call with TKL_EINTR; this line and those behind it come again. After a crash the last lines,
     * up to a few megabytes, may come again. */
    int (*on_line)(tkl_bytes line, void *arg);
    /* Called before the lines since the last call count as delivered: writes out what is buffered.
     * Nonzero ends the call with TKL_EINTR, and these lines come again. NULL: nothing is
     * buffered. */
    int (*on_flush)(void *arg);
    void (*on_file)(const tkl_files_outcome *outcome, void *arg);
    void (*on_progress)(const tkl_files_progress *progress, void *arg); /* now and then */
    void *arg;
    int64_t timeout_ms; /* of one request; 0: the handle's */
    TKL_RESERVED(8);
} tkl_files_receive_options;

/* Receives what was sent to `as`, and waits `wait_ms` for more (0: no; negative: for ever), and as
 * long for a server that is away. The process that receives under a name last gets everything: an
 * earlier one ends with TKL_ELOST.
 *
 * A file that is of no use fails, and the others are still received; its sender
 * and tkl_files_status() report it: TKL_EPROTO its checksum does not match; TKL_EDAMAGED its gzip
 * data are corrupt or end early (it is put in place as it came), or part of it is not on the
 * server any more; TKL_CONFLICT its sender gave it up. TKL_EIO: the directory is full or
 * read-only, or the like; nothing is lost, call again. TKL_EMPTY: nothing came in time. The code
 * of the first failure is returned.
 *
 * Names are not trusted: tkl_files_safe_name() says under which name a file is put in place. What
 * had that name before is replaced. */
TKL_API int tkl_files_receive(tkl_files *files, tkl_bytes as,
                              const tkl_files_receive_options *options, int64_t wait_ms,
                              tkl_files_totals *totals) TKL_NONNULL(1) TKL_CHECK;

/* The name of a file in the directory of a receiver, NUL-terminated: '/', control characters and
 * NUL as %XX; "." and ".." and names that begin with ".tackle-" with %2E for the first dot; of
 * names of more than 255 bytes the beginning, "~", and a checksum of the whole. No I/O. */
#define TKL_FILES_SAFE_SIZE 256
TKL_API void tkl_files_safe_name(tkl_bytes name, char safe[TKL_FILES_SAFE_SIZE]) TKL_NONNULL(2);

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
    bool seen;       /* one has, ever */
    int64_t gone_ms; /* for how long it is gone, or was named and never came; 0: it is there */
    int64_t files;   /* that it lacks */
    int64_t bytes;   /* of them, as far as they are sent */
    TKL_RESERVED(4);
} tkl_files_receiver;

typedef struct tkl_files_file {
    tkl_bytes name;
    tkl_files_state state;
    int64_t size;       /* TKL_NONE: not known yet */
    int64_t sent;       /* bytes */
    tkl_bytes *waiting; /* names of receivers that lack something of it */
    size_t waiting_count;
    TKL_RESERVED(4);
} tkl_files_file;

/* What went wrong. */
typedef struct tkl_files_trouble {
    int64_t time_ms;    /* Unix milliseconds, by the server's clock */
    tkl_bytes receiver; /* empty: all of them */
    tkl_bytes name;     /* of the file; empty: several of them */
    tkl_bytes reason;
    TKL_RESERVED(4);
} tkl_files_trouble;

/* One object: free it with tkl_files_info_free(). */
typedef struct tkl_files_info {
    int64_t bytes;     /* of memory that the channel holds, about */
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
TKL_API int tkl_files_status(tkl_files *files, tkl_files_info **status) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_files_info_free(tkl_files_info *status); /* NULL is fine */

/* Nothing on the channel is for this receiver any more: what only it lacked is removed. `count`, if
 * not NULL, tells how many files it lacked. TKL_NOTFOUND: the channel knows no such receiver. */
TKL_API int tkl_files_drop(tkl_files *files, tkl_bytes receiver, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* One more receiver for the files on the channel of which no chunk is removed yet; `count`, if not
 * NULL, tells how many. */
TKL_API int tkl_files_add(tkl_files *files, tkl_bytes receiver, int64_t *count)
    TKL_NONNULL(1) TKL_CHECK;
/* Names of all channels. */
TKL_API int tkl_files_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
