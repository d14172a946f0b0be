/* SPDX-License-Identifier: MIT
 *
 * For operators: what a queue as a whole does, and its settings.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/reply.h"
#include "core/walk.h"
#include "queue/all.h"
#include "queue/scripts.h"

/* ---- Statistics ---------------------------------------------------------- */

static void add_stats(tkl_queue_stats *sum, const tkl_reply *one)
{
    int64_t v[14];
    for (size_t i = 0; i < 14; i++)
        v[i] = tkl_reply_int(tkl_reply_at(one, i));
    /* What is nowhere else is delayed: schedules and timers stand among them. */
    sum->delayed += v[0] - v[1] - v[2] - v[3] - v[4] - v[5];
    sum->ready += v[1];
    sum->active += v[2];
    sum->dead += v[3];
    sum->held += v[4] + v[5];
    sum->waiting += v[6];
    sum->schedules += v[7];
    sum->oldest_ms = v[8] > sum->oldest_ms ? v[8] : sum->oldest_ms;
    sum->paused = sum->paused || v[9] != 0;
    sum->pushed += v[10];
    sum->done += v[11];
    sum->failed += v[12];
    sum->bytes += v[13];
}

int tkl_queue_stats_get(tkl_queue *queue, tkl_queue_stats *stats)
{
    tkl_reply *replies;
    *stats = (tkl_queue_stats){0};
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_stats, NULL, 0, &replies);
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        add_stats(stats, tkl_reply_at(replies, i));
    tkl_reply_free(replies);
    return rc;
}

#define LEVELS (TKL_PRIORITY_MAX - TKL_PRIORITY_MIN + 1)

int tkl_queue_levels(tkl_queue *queue, tkl_queue_level *levels, size_t max, size_t *count)
{
    tkl_reply *replies;
    int64_t *ready = calloc(LEVELS, sizeof *ready);
    *count = 0;
    if (!ready)
        return tkl__nomem();
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_levels, NULL, 0, &replies);
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *one = tkl_reply_at(replies, i);
        for (size_t k = 0; k + 1 < tkl_reply_count(one); k += 2) {
            int64_t level = tkl_reply_int(tkl_reply_at(one, k)) - TKL_PRIORITY_MIN;
            if (level >= 0 && level < LEVELS)
                ready[level] += tkl_reply_int(tkl_reply_at(one, k + 1));
        }
    }
    for (int i = 0; i < LEVELS; i++)
        if (ready[i] > 0 && (*count)++ < max)
            levels[*count - 1] = (tkl_queue_level){i + TKL_PRIORITY_MIN, ready[i]};
    tkl_reply_free(replies);
    free(ready);
    return rc;
}

/* ---- Pausing ------------------------------------------------------------- */

int tkl_queue_pause(tkl_queue *queue)
{
    tkl_reply *replies;
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_pause, NULL, 0, &replies);
    tkl_reply_free(replies);
    return rc;
}

int tkl_queue_resume(tkl_queue *queue)
{
    tkl_reply *replies;
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_resume, NULL, 0, &replies);
    tkl_reply_free(replies);
    return rc;
}

/* ---- Limits -------------------------------------------------------------- */

#define NLIMITS 10

static const char *const limit_names[NLIMITS] = {
    "max_jobs",          "max_bytes",  "concurrency",       "rate",     "rate_period",
    "group_concurrency", "group_rate", "group_rate_period", "dead_max", "dead_ms"};

static int64_t *limit_at(tkl_queue_limits *limits, int i)
{
    int64_t *const all[NLIMITS] = {&limits->max_jobs,       &limits->max_bytes,
                                   &limits->concurrency,    &limits->rate,
                                   &limits->rate_period_ms, &limits->group_concurrency,
                                   &limits->group_rate,     &limits->group_rate_period_ms,
                                   &limits->dead_max,       &limits->dead_ms};
    return all[i];
}

/* A rate and its period: both or none, both or neither kept. The shortest step between two is a
 * microsecond. */
static bool is_rate(int64_t count, int64_t period_ms)
{
    if (count <= 0 || period_ms <= 0)
        return count == period_ms;
    return period_ms <= INT64_C(315360000000) && count / 1000 <= period_ms;
}

static int check_limits(tkl_queue_limits *limits)
{
    for (int i = 0; i < NLIMITS; i++)
        if (*limit_at(limits, i) < TKL_LIMIT_KEEP || *limit_at(limits, i) > INT64_C(1) << 52)
            return tkl__fail(TKL_EINVAL, "%s is from 0 to 2^52", limit_names[i]);
    if (!is_rate(limits->rate, limits->rate_period_ms) ||
        !is_rate(limits->group_rate, limits->group_rate_period_ms))
        return tkl__fail(TKL_EINVAL, "a rate needs a period, of ten years at most, and is at most "
                                     "a million in a second");
    return TKL_OK;
}

/* All are set in the first step. Jobs that were parked under others come back in further ones, each
 * behind the last. */
static int set_limits(tkl__queue_shard *shard, tkl_bytes args[1 + 2 * NLIMITS], size_t n)
{
    tkl_reply *last = NULL;
    int rc = TKL_OK;
    args[0] = tkl_str("");
    do {
        tkl_reply *reply;
        rc = tkl__queue_run_on(shard, &tkl__lua_queue_limit, args, n, true, &reply);
        tkl_reply_free(last);
        last = reply;
        args[0] = tkl_reply_bytes(reply);
        n = 1;
    } while (rc == TKL_OK && args[0].len > 0);
    tkl_reply_free(last);
    return rc;
}

int tkl_queue_limit(tkl_queue *queue, const tkl_queue_limits *limits)
{
    tkl_queue_limits all = *limits;
    tkl_bytes args[1 + 2 * NLIMITS];
    char numbers[NLIMITS][24];
    size_t n = 1;
    int rc = check_limits(&all);
    for (int i = 0; i < NLIMITS; i++) {
        if (*limit_at(&all, i) == TKL_LIMIT_KEEP)
            continue;
        snprintf(numbers[i], sizeof numbers[i], "%" PRId64, *limit_at(&all, i));
        args[n++] = tkl_str(limit_names[i]);
        args[n++] = tkl_str(numbers[i]);
    }
    for (int i = 0; rc == TKL_OK && i < queue->partitions; i++)
        rc = set_limits(&queue->shards[i], args, n);
    return rc;
}

int tkl_queue_limits_get(tkl_queue *queue, tkl_queue_limits *limits)
{
    tkl_bytes args[NLIMITS];
    tkl_reply *reply;
    *limits = (tkl_queue_limits){0};
    for (int i = 0; i < NLIMITS; i++)
        args[i] = tkl_str(limit_names[i]);
    int rc =
        tkl__queue_run_on(&queue->shards[0], &tkl__lua_queue_limits, args, NLIMITS, true, &reply);
    for (int i = 0; rc == TKL_OK && i < NLIMITS; i++)
        *limit_at(limits, i) = tkl_reply_int(tkl_reply_at(reply, (size_t)i));
    tkl_reply_free(reply);
    return rc;
}

/* ---- The end of a queue -------------------------------------------------- */

/* A run for each partition: they differ in the names of their channels. */
int tkl_queue_destroy(tkl_queue *queue)
{
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < queue->partitions; i++) {
        const tkl__queue_shard *shard = &queue->shards[i];
        tkl_reply *reply;
        rc = tkl__queue_run_on(shard, &tkl__lua_queue_drop, &shard->results, 1, true, &reply);
        tkl_reply_free(reply);
    }
    return rc;
}
