/* SPDX-License-Identifier: MIT
 *
 * Statistics and timers: count, least, largest, mean, standard deviation and quantiles of values
 * that all programs record, for this hour and the last; and which contexts are the slowest.
 *
 *     tkl_stats *times;
 *     tkl_stats_summary *summary;
 *     TKL_TRY(tkl_stats_open(client, tkl_str("time"), NULL, &times));
 *     tkl_timer timer = tkl_timer_start(times, tkl_str("/cart"));
 *     serve_cart();
 *     tkl_timer_stop(&timer, NULL);
 *     TKL_TRY(tkl_stats_show(times, &(tkl_bytes)TKL_LIT("/cart"), 1, TKL_HOUR_THIS, &summary));
 *
 * A type is what you measure (time, size, price); each type has a handle. A context is where you
 * measure it (a page, a query, a host); its name is any bytes.
 *
 * Threads: a handle may be used by several threads. fork(): a child may use its parent's handles.
 * Callbacks: none.
 * Keys: two hashes for each context, and three for each type; all expire at the end of the next
 * hour.
 */
#ifndef TACKLE_STATS_H
#define TACKLE_STATS_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_stats tkl_stats;

/* Values are between -1e18 and 1e18. Values closer to 0 than 1e-12 count as 0 in quantiles. */
#define TKL_STATS_VALUE_MAX  1e18
#define TKL_STATS_RANKED_MAX 100000

typedef struct tkl_stats_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t ranked;     /* contexts with the largest means that the ranking of an hour keeps; 0:
                           1000 */
    tkl_bytes slow_log; /* the log that tkl_timer_stop() writes slow contexts to; empty: "slow:" and
                           the type */
    bool no_slow_log;   /* write none */
    TKL_RESERVED(8);
} tkl_stats_options;

/* No I/O. `type`: 1 to TKL_NAME_MAX bytes (5 less with the default slow_log); copied. */
TKL_API int tkl_stats_open(tkl_client *client, tkl_bytes type, const tkl_stats_options *options,
                           tkl_stats **stats) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not what was recorded. NULL is fine. */
TKL_API void tkl_stats_close(tkl_stats *stats);

/* ---- Recording ----------------------------------------------------------- */

typedef struct tkl_stats_value {
    tkl_bytes context; /* 1 to TKL_NAME_MAX bytes */
    double value;
    int64_t at_ms; /* when it was measured, Unix time; 0: now, by the server's clock */
    TKL_RESERVED(1);
} tkl_stats_value;

/* Records values, in one round trip. Up to 1000 values of one context and hour are one step: all or
 * none. A value with `at_ms` counts in the hour of that time, which must be this hour or the last:
 * TKL_EINVAL for older times and for the future (more than a minute ahead); values of other
 * contexts and hours may then be recorded. The library does not repeat it when the reply is lost:
 * if tkl_is_unknown() is true, the values may have been recorded or not. TKL_EINVAL: a value is not
 * a number, infinite or too large; nothing is recorded then. */
TKL_API int tkl_stats_record(tkl_stats *stats, const tkl_stats_value *values, size_t count)
    TKL_NONNULL(1) TKL_CHECK;
/* Records one value in a pipeline, see tkl_result. */
TKL_API int tkl_stats_record_in(tkl_pipeline *pipeline, tkl_stats *stats,
                                const tkl_stats_value *value, tkl_result *result)
    TKL_NONNULL(1, 2, 3);

/* ---- Reading ------------------------------------------------------------- */

typedef struct tkl_stats_summary {
    int64_t count;
    double min, max;
    double sum, sumsq; /* sum of the values, and of their squares */
    double mean;
    double stddev;              /* standard deviation of a sample (n - 1); 0 for a single value */
    double p50, p90, p99, p999; /* within 1 % of a value of that rank; see below */
    int64_t start_ms;           /* start of the earliest hour in it, Unix time */
    TKL_RESERVED(8);
} tkl_stats_summary;

/* Summarises the values of all these contexts together, for this hour, the last, or both.
 * TKL_NOTFOUND: none was recorded. One round trip; another for each hour of a context with values
 * in more than 2000 buckets. */
TKL_API int tkl_stats_show(tkl_stats *stats, const tkl_bytes *contexts, size_t count, tkl_hour hour,
                           tkl_stats_summary **summary) TKL_NONNULL(1, 5) TKL_CHECK;
TKL_API void tkl_stats_summary_free(tkl_stats_summary *summary); /* NULL is fine */

/* The value of the rank `ceil(quantile x count)`, for 0 <= quantile <= 1, within 1 % of it; the
 * least and the largest are exact. 0 for another quantile. */
TKL_API double tkl_stats_quantile(const tkl_stats_summary *summary, double quantile) TKL_NONNULL(1);

/* Adds the values of another summary, of whatever context, type or server. No I/O. */
TKL_API int tkl_stats_merge(tkl_stats_summary *summary, const tkl_stats_summary *other)
    TKL_NONNULL(1, 2) TKL_CHECK;

typedef struct tkl_stats_rank {
    tkl_bytes context;
    double mean;   /* mean of the hour */
    int64_t count; /* number of values in the hour; 0: the context was dropped meanwhile */
    double p99;    /* 99th percentile of the hour */
    TKL_RESERVED(2);
} tkl_stats_rank;

/* The largest mean first. */
typedef struct tkl_stats_ranking {
    const tkl_stats_rank *items;
    size_t count;
    double mean;         /* mean of all values of the type in the hour */
    int64_t value_count; /* number of these values */
    int64_t start_ms;    /* start of the hour, Unix time */
    TKL_RESERVED(4);
} tkl_stats_ranking;

/* Lists the contexts with the largest means of this hour, or of the last: up to 1000. TKL_OK and a
 * count of 0 when nothing was recorded. Two round trips: the second reads the counts and quantiles,
 * which may include values recorded in between. */
TKL_API int tkl_stats_slowest(tkl_stats *stats, tkl_hour hour, size_t max,
                              tkl_stats_ranking **ranking) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_stats_ranking_free(tkl_stats_ranking *ranking); /* NULL is fine */

/* All types of the client's namespace. */
TKL_API int tkl_stats_names(tkl_client *client, tkl_names **types) TKL_NONNULL(1, 2) TKL_CHECK;

/* All contexts that have values in this hour or the last. Walks over all keys of the servers
 * without blocking them. */
TKL_API int tkl_stats_contexts(tkl_stats *stats, tkl_names **contexts) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes a context; its values still count in the mean of the type. TKL_NOTFOUND: nothing was
 * recorded. */
TKL_API int tkl_stats_drop(tkl_stats *stats, tkl_bytes context) TKL_NONNULL(1) TKL_CHECK;

/* ---- Timers -------------------------------------------------------------- */

/* A running timer. It lives on the caller's stack; nothing has to be freed. */
typedef struct tkl_timer {
    tkl_stats *stats;
    tkl_bytes context;  /* the caller's */
    int64_t started_ns; /* on the monotonic clock */
    TKL_RESERVED(4);
} tkl_timer;

typedef struct tkl_timer_result {
    double seconds;      /* measured, and recorded */
    double mean;         /* mean of the context in this hour */
    double overall_mean; /* mean of the type in this hour */
    bool slow;           /* mean > overall_mean */
    int log_code;        /* result of writing to slow_log; TKL_OK when not slow */
    TKL_RESERVED(4);
} tkl_timer_result;

/* No I/O. */
TKL_API tkl_timer tkl_timer_start(tkl_stats *stats, tkl_bytes context) TKL_NONNULL(1);

/* Records the seconds since the start, in one step. If the mean of the context is then above that
 * of the type, it also writes the context as a warning to slow_log: a second step and round trip,
 * because the log may be on another server of a cluster. A failure of the second step does not
 * change the result of this call. A timer can be stopped once. `result` may be NULL. */
TKL_API int tkl_timer_stop(tkl_timer *timer, tkl_timer_result *result) TKL_NONNULL(1);

#ifdef __cplusplus
}
#endif
#endif
