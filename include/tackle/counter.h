/* SPDX-License-Identifier: MIT
 *
 * Counters over time: how often something happened in each second, minute, hour and day.
 *
 *     tkl_counter *hits;
 *     tkl_counter_series *series;
 *     TKL_TRY(tkl_counter_open(client, tkl_str("hits"), NULL, &hits));
 *     TKL_TRY(tkl_counter_add(hits, 1));                      // every precision, one round trip
 *     TKL_TRY(tkl_counter_read(hits, 60000, 0, 0, &series));  // the last 120 minutes
 *
 * A slice is a period as long as its precision; it begins at a multiple of the precision since
 * 1970, by the server's clock. Each precision keeps its last slices, 120 by default.
 *
 * Threads: all handles may be used by several threads. fork(): a child may use its parent's
 * counters; a buffer belongs to the process that opened it. Callbacks: none. Keys: one hash for
 * each counter. It expires when its last slice leaves the window of the longest precision.
 */
#ifndef TACKLE_COUNTER_H
#define TACKLE_COUNTER_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_counter tkl_counter;

#define TKL_COUNTER_PRECISIONS_MAX 16
#define TKL_COUNTER_SAMPLES_MAX    2000
/* Largest amount, and largest count of a slice: 2^53 - 1. */
#define TKL_COUNTER_MAX INT64_C(9007199254740991)

/* The first add fixes the precisions and samples of a counter. A handle that leaves both 0 accepts
 * any counter. */
typedef struct tkl_counter_options {
    int64_t timeout_ms;      /* time-out of one call; 0: the client's */
    const int64_t *every_ms; /* precisions; NULL: 1 s, 5 s, 1 min, 5 min, 1 h, 5 h, 1 day */
    size_t every_count;      /* how many; at most TKL_COUNTER_PRECISIONS_MAX */
    int64_t samples;         /* slices kept for each; 0: 120 */
    TKL_RESERVED(8);
} tkl_counter_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied, as are the options. */
TKL_API int tkl_counter_open(tkl_client *client, tkl_bytes name, const tkl_counter_options *options,
                             tkl_counter **counter) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not what was counted. NULL is fine. */
TKL_API void tkl_counter_close(tkl_counter *counter);

/* ---- Counting ------------------------------------------------------------ */

/* Adds to the current slice of every precision, in one step. The amount may be negative. The
 * library does not repeat it when the reply is lost: if tkl_is_unknown() is true, it may have been
 * counted or not. TKL_EINVAL: the counter has other precisions or samples than the options say.
 * TKL_EREFUSED: a slice would exceed TKL_COUNTER_MAX. TKL_EDAMAGED: another program has written
 * into the counter. Nothing is counted then. */
TKL_API int tkl_counter_add(tkl_counter *counter, int64_t amount) TKL_NONNULL(1) TKL_CHECK;
/* The same in a pipeline, see tkl_result. */
TKL_API int tkl_counter_add_in(tkl_pipeline *pipeline, tkl_counter *counter, int64_t amount,
                               tkl_result *result) TKL_NONNULL(1, 2);

typedef struct tkl_counter_item {
    tkl_counter *counter;
    int64_t amount;
    int64_t at_ms; /* when it happened, Unix time; 0: now, by the server's clock */
    TKL_RESERVED(1);
} tkl_counter_item;

/* Adds to many counters of one client, ten thousand in one round trip (one for each node of a
 * cluster). Each is its own step: the others still count when one is invalid or refused. `codes`
 * (may be NULL) has room for the result of each. Returns the first error, or else the first "no".
 *
 * An item with `at_ms` adds to the slices of that time, of every precision that still keeps them:
 * for yesterday these are hours and days, but not seconds. TKL_EINVAL: no precision keeps slices so
 * old, or the time is more than a minute ahead of the server's clock. */
TKL_API int tkl_counter_add_each(const tkl_counter_item *items, size_t count, int *codes) TKL_CHECK;

/* ---- Reading ------------------------------------------------------------- */

typedef struct tkl_counter_slice {
    int64_t start_ms; /* Unix time */
    int64_t count;
} tkl_counter_slice; /* frozen */

/* In order of time, without gaps: where nothing was counted the count is 0. */
typedef struct tkl_counter_series {
    const tkl_counter_slice *items;
    size_t count;
    int64_t every_ms;
    int64_t samples; /* slices that the counter keeps */
    TKL_RESERVED(4);
} tkl_counter_series;

/* Reads the slices of one precision that hold the times from `from_ms` (0: the oldest slice) to
 * `to_ms` (0: now, by the server's clock). Slices that are older than the samples kept, and slices
 * in the future, are left out. TKL_NOTFOUND: nothing was counted. TKL_EINVAL: the counter has no
 * such precision, or other precisions or samples than the options say. */
TKL_API int tkl_counter_read(tkl_counter *counter, int64_t every_ms, int64_t from_ms, int64_t to_ms,
                             tkl_counter_series **series) TKL_NONNULL(1, 5) TKL_CHECK;
/* The same in a pipeline, see tkl_result: many counters in one round trip. */
TKL_API int tkl_counter_read_in(tkl_pipeline *pipeline, tkl_counter *counter, int64_t every_ms,
                                int64_t from_ms, int64_t to_ms, tkl_counter_series **series,
                                tkl_result *result) TKL_NONNULL(1, 2, 6);
TKL_API void tkl_counter_series_free(tkl_counter_series *series); /* NULL is fine */

/* All counters of the client's namespace. */
TKL_API int tkl_counter_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Removing ------------------------------------------------------------ */

/* Removes the counter. TKL_NOTFOUND: there was none. */
TKL_API int tkl_counter_drop(tkl_counter *counter) TKL_NONNULL(1) TKL_CHECK;

/* Removes, from all counters, the slices that have left the window. Never needed: new slices take
 * the place of old ones, and idle counters expire. *removed (may be NULL): how many slices. */
TKL_API int tkl_counter_clean(tkl_client *client, int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

/* ---- Very hot counters --------------------------------------------------- */

/* Adds up amounts in memory. A background thread of the client sends the sum once per interval, if
 * there is anything to send. The amounts are counted when they arrive at the server. A process that
 * dies loses what is pending. */
typedef struct tkl_counter_buffer tkl_counter_buffer;

typedef struct tkl_counter_buffer_options {
    int64_t interval_ms; /* 0: 1000 */
    int64_t timeout_ms;  /* time-out of one request of a caller; 0: the counter's */
    TKL_RESERVED(8);
} tkl_counter_buffer_options;

typedef struct tkl_counter_buffer_stats {
    int64_t pending; /* added and not sent yet */
    int64_t counted; /* confirmed by the server */
    int64_t unsure;  /* sent, but the reply was lost: counted or not; never sent again */
    int64_t lost;    /* refused by the server for good */
    int code;        /* result of the last attempt to send */
    TKL_RESERVED(4);
} tkl_counter_buffer_stats;

/* No I/O. The counter must stay open until the buffer is closed. */
TKL_API int tkl_counter_buffer_open(tkl_counter *counter, const tkl_counter_buffer_options *options,
                                    tkl_counter_buffer **buffer) TKL_NONNULL(1, 3) TKL_CHECK;
/* No I/O. TKL_EINVAL in a forked child. */
TKL_API int tkl_counter_buffer_add(tkl_counter_buffer *buffer, int64_t amount)
    TKL_NONNULL(1) TKL_CHECK;
/* Sends the pending amount now. If that fails, it stays pending. */
TKL_API int tkl_counter_buffer_flush(tkl_counter_buffer *buffer) TKL_NONNULL(1) TKL_CHECK;
/* No I/O. */
TKL_API void tkl_counter_buffer_stats_get(tkl_counter_buffer *buffer,
                                          tkl_counter_buffer_stats *stats) TKL_NONNULL(1, 2);
/* Sends the pending amount and frees the buffer, even if sending fails: then the code says so, and
 * *stats (may be NULL) says how much was pending or unsure. NULL is fine. In a forked child it only
 * frees. */
TKL_API int tkl_counter_buffer_close(tkl_counter_buffer *buffer, tkl_counter_buffer_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
