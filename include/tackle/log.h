/* SPDX-License-Identifier: MIT
 *
 * Logs shared by all programs: the recent messages of each severity, and how often each message
 * occurred in this hour, in the last, and in the last 60 minutes.
 *
 *     tkl_log *log;
 *     tkl_log_entries *entries;
 *     TKL_TRY(tkl_log_open(client, tkl_str("shop"), NULL, &log));
 *     tkl_log_print(log, TKL_LOG_WARNING, "disk %d%% full", 91);
 *     TKL_TRY(tkl_log_recent(log, TKL_LOG_ANY, 20, &entries));
 *
 * Threads: a log and a writer may be used by several threads, a tail by one at a time. fork(): a
 * child may use its parent's logs; a writer belongs to the process that opened it. Callbacks: none.
 * Keys: five for each severity in use; recent messages expire after ttl_ms, tables at the end of
 * the next hour.
 */
#ifndef TACKLE_LOG_H
#define TACKLE_LOG_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_log tkl_log;

/* The severities of syslog, with the same numbers. */
typedef enum tkl_log_severity {
    TKL_LOG_ANY = -1, /* for reading: all severities */
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

#define TKL_LOG_MESSAGE_MAX  65536 /* bytes */
#define TKL_LOG_KEEP_MAX     5000
#define TKL_LOG_DISTINCT_MAX 2000

typedef struct tkl_log_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
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
    int64_t at_ms;  /* when it happened, Unix time; 0: now, by the server's clock */
    TKL_RESERVED(1);
} tkl_log_message;

/* Writes messages: each becomes the most recent of its severity and counts in this hour's table. Up
 * to 100 messages of 64 KB together are one step: all or none. More take several steps, in their
 * order, a hundred steps in one round trip. A message with `at_ms` counts in the hour of that time,
 * which must be this hour or the last: TKL_EINVAL for older times and for the future (more than a
 * minute ahead). Messages of different times are different steps, of which others may then be
 * written. The library does not repeat it when the reply is lost:
 * if tkl_is_unknown() is true, the messages may have been written or not. */
TKL_API int tkl_log_write(tkl_log *log, const tkl_log_message *messages, size_t count)
    TKL_NONNULL(1) TKL_CHECK;
/* Writes one message in a pipeline, see tkl_result. */
TKL_API int tkl_log_write_in(tkl_pipeline *pipeline, tkl_log *log, const tkl_log_message *message,
                             tkl_result *result) TKL_NONNULL(1, 2, 3);

/* Writes one message, formatted as by printf(). */
TKL_API int tkl_log_print(tkl_log *log, tkl_log_severity severity, const char *format, ...)
    TKL_NONNULL(1, 3) TKL_PRINTF(3, 4);

/* ---- Reading ------------------------------------------------------------- */

typedef struct tkl_log_entry {
    int64_t time_ms; /* by the server's clock, or the message's `at_ms`; Unix time */
    tkl_log_severity severity;
    tkl_bytes message;
    TKL_RESERVED(4);
} tkl_log_entry;

/* In the order of writing, the oldest first. */
typedef struct tkl_log_entries {
    const tkl_log_entry *items;
    size_t count;
    int64_t missed; /* for a tail: messages that were removed before the tail read them */
    TKL_RESERVED(3);
} tkl_log_entries;

/* Reads the last `max` messages of the severity, or of all severities. An empty log: TKL_OK and a
 * count of 0. One round trip for each 100 messages of a severity. */
TKL_API int tkl_log_recent(tkl_log *log, tkl_log_severity severity, size_t max,
                           tkl_log_entries **entries) TKL_NONNULL(1, 4) TKL_CHECK;
/* The same, without messages older than `since_ms`, a Unix time by the server's clock. */
TKL_API int tkl_log_since(tkl_log *log, tkl_log_severity severity, int64_t since_ms, size_t max,
                          tkl_log_entries **entries) TKL_NONNULL(1, 5) TKL_CHECK;
TKL_API void tkl_log_entries_free(tkl_log_entries *entries); /* NULL is fine */

typedef struct tkl_log_count {
    int64_t times; /* exact, or too high by at most `excess` */
    tkl_log_severity severity;
    tkl_bytes message;
    int64_t excess; /* `times` is too high by this at most; 0: exact */
    TKL_RESERVED(3);
} tkl_log_count;

/* The most frequent first. */
typedef struct tkl_log_counts {
    const tkl_log_count *items;
    size_t count;
    int64_t bound;    /* no message that is missing from a full table occurred more often than this;
                         0: no message is missing */
    int64_t start_ms; /* Unix time at which the first hour begins, or the 60 minutes; the latest of
                         all severities */
    TKL_RESERVED(4);
} tkl_log_counts;

/* How often each message occurred in this hour, in the last, in both together, or in the last 60
 * minutes. When a table is full, a new message replaces the least frequent one and takes over its
 * count: `excess` says how much too high a count may be for this reason. Every message that
 * occurred more often than `bound` is in the table. For one hour and severity, `bound` is at most
 * the number of messages written divided by `distinct`.
 *
 * The last 60 minutes include all of the ten minutes in which they begin (at 13:17 from 12:10 on);
 * `excess` includes how often each message occurred in these ten minutes.
 *
 * One round trip; another for each 512 KB of messages. TKL_HOUR_BOTH and TKL_HOUR_SLIDING read
 * their tables in full; TKL_HOUR_SLIDING takes another round trip for each 500 messages of the last
 * hour. */
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
    int64_t timeout_ms; /* time-out of one request; 0: the log's */
    TKL_RESERVED(8);
} tkl_log_tail_options;

/* No I/O. The first tkl_log_tail_next() begins with the last `recent` messages (0: with later
 * messages). The log must stay open until the tail is closed. */
TKL_API int tkl_log_tail_open(tkl_log *log, tkl_log_severity severity, size_t recent,
                              const tkl_log_tail_options *options, tkl_log_tail **tail)
    TKL_NONNULL(1, 5) TKL_CHECK;
/* Waits for the next messages; `wait_ms`: 0 does not wait, negative waits for ever. TKL_EMPTY: no
 * message in time. The server wakes the tail, which does not poll. The tail keeps working through
 * restarts and failovers. A tail that falls behind by more than the messages kept misses some;
 * `missed` says how many. */
TKL_API int tkl_log_tail_next(tkl_log_tail *tail, int64_t wait_ms, tkl_log_entries **entries)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_log_tail_close(tkl_log_tail *tail); /* NULL is fine */

/* ---- A writer for hot paths ---------------------------------------------- */

/* Collects messages in memory and sends them in order. The caller that writes the last message of a
 * `batch`, or of 64 KB, sends them; otherwise a background thread of the client sends them once
 * per interval. A process that dies loses its pending messages, at most `most`. */
typedef struct tkl_log_writer tkl_log_writer;

typedef struct tkl_log_writer_options {
    int64_t interval_ms; /* 0: 200 */
    int64_t batch;       /* 1 to 100; 0: 100 */
    int64_t most;        /* pending at most; 0: 10000 */
    int64_t timeout_ms;  /* time-out of one request of a caller; 0: the log's */
    TKL_RESERVED(8);
} tkl_log_writer_options;

/* Every accepted message counts in one of the first four. */
typedef struct tkl_log_writer_stats {
    int64_t pending;
    int64_t written; /* confirmed by the server */
    int64_t unsure;  /* sent, but the reply was lost: written or not; never sent again */
    int64_t lost;    /* refused by the server for good */
    int64_t refused; /* not accepted, because too many were pending */
    int code;        /* result of the last attempt to send */
    TKL_RESERVED(4);
} tkl_log_writer_stats;

/* No I/O. The log must stay open until the writer is closed. */
TKL_API int tkl_log_writer_open(tkl_log *log, const tkl_log_writer_options *options,
                                tkl_log_writer **writer) TKL_NONNULL(1, 3) TKL_CHECK;
/* TKL_FULL: `most` messages are pending, this one is not accepted. When sending fails, this call
 * succeeds and the message is pending. TKL_EINVAL in a forked child. */
TKL_API int tkl_log_writer_write(tkl_log_writer *writer, tkl_log_severity severity,
                                 tkl_bytes message) TKL_NONNULL(1) TKL_CHECK;
/* Sends all pending messages. Messages that could not be sent stay pending. */
TKL_API int tkl_log_writer_flush(tkl_log_writer *writer) TKL_NONNULL(1) TKL_CHECK;
/* No I/O. */
TKL_API void tkl_log_writer_stats_get(tkl_log_writer *writer, tkl_log_writer_stats *stats)
    TKL_NONNULL(1, 2);
/* Sends the pending messages and frees the writer, even if sending fails: then the code says so,
 * and *stats (may be NULL) says how many are lost (pending) or unsure. NULL is fine. In a forked
 * child it only frees. */
TKL_API int tkl_log_writer_close(tkl_log_writer *writer, tkl_log_writer_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
