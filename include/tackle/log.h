/* SPDX-License-Identifier: MIT
 *
 * Logs shared by all programs: the recent messages of each severity, and how often each message
 * occurred in this hour and in the last.
 *
 *     tkl_log *log;
 *     tkl_log_entries *entries;
 *     tkl_log_open(client, tkl_str("shop"), NULL, &log);
 *     tkl_log_print(log, TKL_LOG_WARNING, "disk %d%% full", 91);
 *     tkl_log_recent(log, TKL_LOG_ANY, 20, &entries);
 *
 * Threads: a log and a writer may be used by several threads, a tail by one at a time. fork(): a
 * child may use its parent's logs; a writer belongs to the process that opened it. Callbacks: none.
 * Keys: four for each severity in use; recent messages expire (ttl_ms), tables at the end of the
 * hour after their own.
 */
#ifndef TACKLE_LOG_H
#define TACKLE_LOG_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_log tkl_log;

/* Those of syslog, with its numbers. */
typedef enum tkl_log_severity {
    TKL_LOG_ANY = -1, /* for reading: all of them */
    TKL_LOG_EMERGENCY = 0,
    TKL_LOG_ALERT = 1,
    TKL_LOG_CRITICAL = 2,
    TKL_LOG_ERROR = 3,
    TKL_LOG_WARNING = 4,
    TKL_LOG_NOTICE = 5,
    TKL_LOG_INFO = 6,
    TKL_LOG_DEBUG = 7,
} tkl_log_severity;

/* "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"; "any";
 * "unknown" for another number. */
TKL_API const char *tkl_log_severity_name(tkl_log_severity severity);
/* Also the short forms of syslog (emerg, panic, crit, err, warn), in any case. TKL_EINVAL. */
TKL_API int tkl_log_severity_parse(const char *text, tkl_log_severity *severity)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* By the server's clock, from one full hour (UTC) to the next. */
typedef enum tkl_hour {
    TKL_HOUR_THIS = 0,
    TKL_HOUR_LAST = 1,
    TKL_HOUR_BOTH = 2, /* put together; where that makes sense */
} tkl_hour;

TKL_API const char *tkl_hour_name(tkl_hour hour); /* "this" */

#define TKL_LOG_MESSAGE_MAX  65536 /* bytes */
#define TKL_LOG_KEEP_MAX     5000
#define TKL_LOG_DISTINCT_MAX 2000

typedef struct tkl_log_options {
    int64_t timeout_ms; /* of one call; 0: the client's */
    int64_t ttl_ms;     /* recent messages of a severity expire this long after the last one; 0: 30
                           days; TKL_NONE: they stay */
    int64_t keep;       /* recent messages kept of each severity; 0: 100 */
    int64_t distinct;   /* different messages in a table of an hour; 0: 1000 */
    TKL_RESERVED(8);
} tkl_log_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_log_open(tkl_client *client, tkl_bytes name, const tkl_log_options *options,
                         tkl_log **log) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the log. NULL is fine. */
TKL_API void tkl_log_close(tkl_log *log);

/* ---- Writing ------------------------------------------------------------- */

typedef struct tkl_log_message {
    tkl_log_severity severity;
    tkl_bytes text; /* up to TKL_LOG_MESSAGE_MAX bytes */
    TKL_RESERVED(2);
} tkl_log_message;

/* Writes messages: each becomes the most recent of its severity and counts in this hour's table.
 * Up to 100 messages of 512 KB together are one step: all or none. More take several steps, in
 * their order, a hundred steps in one round trip. Not repeated when the reply is lost: after
 * tkl_is_unknown() they may or may not be there. */
TKL_API int tkl_log_write(tkl_log *log, const tkl_log_message *messages, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* The same for one message, made as printf() does. */
TKL_API int tkl_log_print(tkl_log *log, tkl_log_severity severity, const char *format, ...)
    TKL_NONNULL(1, 3) TKL_PRINTF(3, 4);

/* ---- Reading ------------------------------------------------------------- */

typedef struct tkl_log_entry {
    int64_t time_ms; /* by the server's clock, Unix time */
    tkl_log_severity severity;
    tkl_bytes message;
    TKL_RESERVED(4);
} tkl_log_entry;

/* The oldest first. */
typedef struct tkl_log_entries {
    const tkl_log_entry *items;
    size_t count;
    int64_t missed; /* of a tail: messages that were gone before it came to read them */
    TKL_RESERVED(3);
} tkl_log_entries;

/* The last `max` messages of the severity, or of all. An empty log: TKL_OK and none. */
TKL_API int tkl_log_recent(tkl_log *log, tkl_log_severity severity, size_t max,
                           tkl_log_entries **entries) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_log_entries_free(tkl_log_entries *entries); /* NULL is fine */

typedef struct tkl_log_count {
    int64_t times;
    tkl_log_severity severity;
    tkl_bytes message;
    TKL_RESERVED(4);
} tkl_log_count;

/* The most frequent first. */
typedef struct tkl_log_counts {
    const tkl_log_count *items;
    size_t count;
    int64_t other;    /* how often messages occurred that had no room in the table */
    int64_t start_ms; /* of the hour, Unix time; of several severities the latest */
    TKL_RESERVED(4);
} tkl_log_counts;

/* How often each message occurred in this hour, or in the last. When a table is full, a new message
 * takes the place of the least frequent one, whose count goes to `other`: counts are then "at
 * least", and all counts with `other` are exactly what was written. One round trip; another for
 * each 512 KB of messages. */
TKL_API int tkl_log_common(tkl_log *log, tkl_log_severity severity, tkl_hour hour, size_t max,
                           tkl_log_counts **counts) TKL_NONNULL(1, 5) TKL_CHECK;
TKL_API void tkl_log_counts_free(tkl_log_counts *counts); /* NULL is fine */

/* All logs of the client's namespace. */
TKL_API int tkl_log_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes the log with all its severities. TKL_NOTFOUND: there was none. */
TKL_API int tkl_log_drop(tkl_log *log) TKL_NONNULL(1) TKL_CHECK;

/* ---- Following, like tail -f --------------------------------------------- */

typedef struct tkl_log_tail tkl_log_tail;

typedef struct tkl_log_tail_options {
    int64_t timeout_ms; /* of one request; 0: the log's */
    TKL_RESERVED(8);
} tkl_log_tail_options;

/* No I/O. The first tkl_log_tail_next() begins with the last `recent` messages (0: with what comes
 * from then on). The log must stay open as long. */
TKL_API int tkl_log_tail_open(tkl_log *log, tkl_log_severity severity, size_t recent,
                              const tkl_log_tail_options *options, tkl_log_tail **tail)
    TKL_NONNULL(1, 5) TKL_CHECK;
/* Waits for the next messages; wait_ms: 0 no, negative for ever. TKL_EMPTY: none came in time. The
 * server wakes it: nothing is polled. It goes on through restarts and failovers. A tail that
 * falls behind by more than the messages kept misses some, and `missed` says how many. */
TKL_API int tkl_log_tail_next(tkl_log_tail *tail, int64_t wait_ms, tkl_log_entries **entries)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_log_tail_close(tkl_log_tail *tail); /* NULL is fine */

/* ---- A writer for hot paths ---------------------------------------------- */

/* Collects messages in memory. They are sent, in their order, when `batch` of them, or 512 KB, are
 * there (by the caller that wrote the last of them) and otherwise once an interval (by a background
 * thread of the client). A process that dies loses what is pending: `most` messages at most. */
typedef struct tkl_log_writer tkl_log_writer;

typedef struct tkl_log_writer_options {
    int64_t interval_ms; /* 0: 200 */
    int64_t batch;       /* 1 to 100; 0: 100 */
    int64_t most;        /* pending at most; 0: 10000 */
    int64_t timeout_ms;  /* of one request of a caller; 0: the log's */
    TKL_RESERVED(8);
} tkl_log_writer_options;

/* All that was accepted is in one of the first four. */
typedef struct tkl_log_writer_stats {
    int64_t pending;
    int64_t written; /* confirmed by the server */
    int64_t unsure;  /* sent, and the reply was lost: there or not; never sent again */
    int64_t lost;    /* refused by the server for good */
    int64_t refused; /* not accepted, because too many were pending */
    int code;        /* of the last attempt to send */
    TKL_RESERVED(4);
} tkl_log_writer_stats;

/* No I/O. The log must stay open as long. */
TKL_API int tkl_log_writer_open(tkl_log *log, const tkl_log_writer_options *options,
                                tkl_log_writer **writer) TKL_NONNULL(1, 3) TKL_CHECK;
/* TKL_FULL: `most` messages are pending, this one is not accepted. A failure to send is no failure
 * of this call: the message is pending. TKL_EINVAL in a forked child. */
TKL_API int tkl_log_writer_write(tkl_log_writer *writer, tkl_log_severity severity,
                                 tkl_bytes message) TKL_NONNULL(1) TKL_CHECK;
/* Sends all that is pending. What could not be sent stays pending. */
TKL_API int tkl_log_writer_flush(tkl_log_writer *writer) TKL_NONNULL(1) TKL_CHECK;
/* No I/O. */
TKL_API void tkl_log_writer_stats_get(tkl_log_writer *writer, tkl_log_writer_stats *stats)
    TKL_NONNULL(1, 2);
/* Sends what is pending and frees the writer, also when that fails: the code says so, and *stats
 * (may be NULL) how many are lost (pending) or unsure. NULL is fine. In a forked child it only
 * frees. */
TKL_API int tkl_log_writer_close(tkl_log_writer *writer, tkl_log_writer_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
