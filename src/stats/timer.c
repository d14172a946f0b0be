/* SPDX-License-Identifier: MIT
 *
 * Timers: they record a value in seconds, and write slow contexts to a log.
 *
 * Recording is one step, and writing to the log another: the log may live in another slot of a
 * cluster. Between the two, or when the log cannot be written, a slow context is in the ranking and
 * not in the log.
 */
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "stats/stats.h"

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

tkl_timer tkl_timer_start(tkl_stats *stats, tkl_bytes context)
{
    return (tkl_timer){.stats = stats, .context = context, .started_ns = now_ns()};
}

int tkl_timer_stop(tkl_timer *timer, tkl_timer_result *result)
{
    tkl_timer_result unread;
    tkl__stats_means means;
    int64_t stopped_ns = now_ns();
    tkl_timer_result *r = result ? result : &unread;
    *r = (tkl_timer_result){0};
    if (!timer->stats)
        return tkl__fail(TKL_EINVAL, "the timer was not started, or has been stopped");
    tkl_stats *stats = timer->stats;
    timer->stats = NULL;
    r->seconds = (double)(stopped_ns - timer->started_ns) / 1e9;
    int rc = tkl__stats_record_one(
        stats, &(tkl_stats_value){.context = timer->context, .value = r->seconds}, &means);
    if (rc != TKL_OK)
        return rc;
    r->mean = means.count > 0 ? means.sum / means.count : 0;
    r->overall_mean = means.all_count > 0 ? means.all_sum / means.all_count : 0;
    r->slow = r->mean > r->overall_mean;
    if (r->slow && stats->slow_log) {
        tkl_log_message message = {.severity = TKL_LOG_WARNING, .text = timer->context};
        r->log_code = tkl_log_write(stats->slow_log, &message, 1);
    }
    return TKL_OK;
}
