/* SPDX-License-Identifier: MIT
 *
 * For operators: statistics, settings and limits of a queue as a whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/onekey.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/walk.h"
#include "queue/all.h"
#include "queue/record.h"
#include "queue/scripts.h"

/* ---- Statistics ---------------------------------------------------------- */

/* Reads a number of a script, from 0 to 2^53. Any other number is not from a script and counts as
 * 0. */
static int64_t number_of(const tkl_reply *reply)
{
    int64_t number = tkl_reply_int(reply);
    return number >= 0 && number <= INT64_C(1) << 53 ? number : 0;
}

void tkl__queue_stats_add(tkl_queue_stats *sum, const tkl_reply *one)
{
    int64_t v[16];
    for (size_t i = 0; i < 16; i++)
        v[i] = number_of(tkl_reply_at(one, i));
    /* Jobs that are in no other set are delayed. Schedules and timers are in that set, too. */
    int64_t delayed = v[0] - v[1] - v[2] - v[3] - v[4] - v[5];
    sum->delayed += delayed > 0 ? delayed : 0; /* another program may have written members */
    sum->ready += v[1];
    sum->active += v[2];
    sum->dead += v[3];
    sum->held += v[4] + v[5];
    sum->waiters += v[6];
    sum->schedules += v[7];
    sum->oldest_ms = v[8] > sum->oldest_ms ? v[8] : sum->oldest_ms;
    sum->paused = sum->paused || v[9] != 0;
    sum->pushed += v[10];
    sum->done += v[11];
    sum->failed += v[12];
    sum->bytes += v[13];
    sum->kept_jobs += v[14];
    sum->exists = sum->exists || v[15] != 0;
}

int tkl_queue_stats_get(tkl_queue *queue, tkl_queue_stats *stats)
{
    tkl_reply *replies;
    *stats = (tkl_queue_stats){0};
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_stats, NULL, 0, &replies);
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        tkl__queue_stats_add(stats, tkl_reply_at(replies, i));
    tkl_reply_free(replies);
    return rc;
}

#define LEVELS (TKL_PRIORITY_MAX - TKL_PRIORITY_MIN + 1)

typedef struct level_list {
    tkl_queue_level_list public; /* first: the user's pointer points to it */
    tkl_queue_level items[LEVELS];
} level_list;

void tkl_queue_level_list_free(tkl_queue_level_list *levels)
{
    free(levels);
}

/* The answer is a list of pairs: priority, number. */
static void add_levels(int64_t ready[LEVELS], const tkl_reply *one)
{
    for (size_t k = 0; k + 1 < tkl_reply_count(one); k += 2) {
        int64_t level = tkl__reply_number(tkl_reply_at(one, k)) - TKL_PRIORITY_MIN;
        int64_t more = tkl_reply_int(tkl_reply_at(one, k + 1));
        if (level >= 0 && level < LEVELS && more > 0 && more < INT64_C(1) << 53)
            ready[level] += more;
    }
}

int tkl_queue_levels(tkl_queue *queue, tkl_queue_level_list **levels)
{
    tkl_reply *replies = NULL;
    int64_t *ready = calloc(LEVELS, sizeof *ready);
    level_list *list = calloc(1, sizeof *list);
    *levels = NULL;
    int rc = ready && list ? tkl__queue_run_on_all(queue, &tkl__lua_queue_levels, NULL, 0, &replies)
                           : tkl__nomem();
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        add_levels(ready, tkl_reply_at(replies, i));
    tkl_reply_free(replies);
    for (int i = 0; rc == TKL_OK && i < LEVELS; i++)
        if (ready[i] > 0)
            list->items[list->public.count++] =
                (tkl_queue_level){.priority = i + TKL_PRIORITY_MIN, .ready = ready[i]};
    free(ready);
    if (rc != TKL_OK) {
        free(list);
        return rc;
    }
    list->public.items = list->items;
    *levels = &list->public;
    return TKL_OK;
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

#define NLIMITS 13

static const char *const limit_names[NLIMITS] = {
    "max_jobs",          "max_bytes",  "concurrency",       "rate",     "rate_period",
    "group_concurrency", "group_rate", "group_rate_period", "dead_max", "dead_ms",
    "keep_ms",           "keep_max",   "keep_bytes"};

static int64_t *limit_at(tkl_queue_limits *limits, int i)
{
    int64_t *const all[NLIMITS] = {&limits->max_jobs,       &limits->max_bytes,
                                   &limits->concurrency,    &limits->rate,
                                   &limits->rate_period_ms, &limits->group_concurrency,
                                   &limits->group_rate,     &limits->group_rate_period_ms,
                                   &limits->dead_max,       &limits->dead_ms,
                                   &limits->keep_ms,        &limits->keep_max,
                                   &limits->keep_bytes};
    return all[i];
}

/* A rate and its period are set, removed or left together. The shortest step between two claims is
 * a microsecond. */
static bool is_rate(int64_t count, int64_t period_ms)
{
    if (count <= 0 || period_ms <= 0)
        return count == period_ms;
    return period_ms <= TKL__QUEUE_DELAY_MAX_MS && count / 1000 <= period_ms;
}

static int check_limits(tkl_queue_limits *limits)
{
    int rc = TKL__CHECK_RESERVED(limits);
    for (int i = 0; rc == TKL_OK && i < NLIMITS; i++)
        rc = tkl__check_number(limit_names[i], *limit_at(limits, i), TKL_NONE, INT64_C(1) << 52);
    if (rc == TKL_OK && (!is_rate(limits->rate, limits->rate_period_ms) ||
                         !is_rate(limits->group_rate, limits->group_rate_period_ms)))
        rc = tkl__fail(TKL_EINVAL, "a rate needs a period, of ten years at most, and is at most "
                                   "a million in a second");
    return rc;
}

/* Number of jobs in a step; the last step may have fewer. */
#define STEP_JOBS 200

/* The first step sets all limits. The next steps put jobs back that were parked under the old
 * limits, each step going on behind the last, and remove surplus dead letters and kept jobs. */
static int set_limits(tkl__queue_partition *partition, tkl_bytes args[1 + 2 * NLIMITS], size_t n)
{
    tkl_reply *last = NULL;
    tkl__rounds rounds = {.idle = 0};
    bool more = true;
    int rc = TKL_OK;
    args[0] = tkl_str("");
    while (rc == TKL_OK && more) {
        tkl_reply *reply;
        rc = tkl__queue_run_on(partition, &tkl__lua_queue_limit, args, n, true, &reply);
        tkl_bytes from = tkl_reply_bytes(tkl_reply_at(reply, 0));
        bool further = from.len > 0 && !tkl__same_bytes(from, args[0]);
        bool trimmed = tkl_reply_int(tkl_reply_at(reply, 1)) == 1;
        if (rc == TKL_OK && (tkl__expect_array(reply, 2) != TKL_OK || (from.len > 0 && !further)))
            rc = tkl__fail(TKL_EPROTO, "not an answer of queue/limit");
        tkl_reply_free(last);
        last = reply;
        args[0] = from;
        n = 1;
        more = further || trimmed;
        if (rc == TKL_OK && more)
            rc = tkl__queue_next_step(partition, &rounds, STEP_JOBS);
    }
    tkl_reply_free(last);
    return rc;
}

int tkl_queue_limits_set(tkl_queue *queue, const tkl_queue_limits *limits)
{
    tkl_queue_limits all = *limits;
    tkl_bytes args[1 + 2 * NLIMITS];
    char numbers[NLIMITS][24];
    size_t n = 1;
    int rc = check_limits(&all);
    for (int i = 0; i < NLIMITS; i++) {
        int64_t value = *limit_at(&all, i);
        if (value == 0)
            continue;
        snprintf(numbers[i], sizeof numbers[i], "%" PRId64, value == TKL_NONE ? 0 : value);
        args[n++] = tkl_str(limit_names[i]);
        args[n++] = tkl_str(numbers[i]);
    }
    for (int i = 0; rc == TKL_OK && i < queue->npartitions; i++)
        rc = set_limits(&queue->partitions[i], args, n);
    return rc;
}

int tkl_queue_limits_get(tkl_queue *queue, tkl_queue_limits *limits)
{
    tkl_bytes args[NLIMITS];
    tkl_reply *reply;
    *limits = (tkl_queue_limits){0};
    for (int i = 0; i < NLIMITS; i++)
        args[i] = tkl_str(limit_names[i]);
    int rc = tkl__queue_run_on(&queue->partitions[0], &tkl__lua_queue_limits, args, NLIMITS, true,
                               &reply);
    for (int i = 0; rc == TKL_OK && i < NLIMITS; i++) {
        int64_t value = tkl_reply_int(tkl_reply_at(reply, (size_t)i));
        *limit_at(limits, i) = value > 0 ? value : TKL_NONE;
    }
    if (rc == TKL_OK && limits->dead_max == TKL_NONE)
        limits->dead_max = TKL__QUEUE_DEAD_MAX;
    if (rc == TKL_OK && limits->dead_ms == TKL_NONE)
        limits->dead_ms = TKL__QUEUE_DEAD_MS;
    if (rc == TKL_OK && limits->keep_max == TKL_NONE)
        limits->keep_max = TKL__QUEUE_KEEP_MAX;
    if (rc == TKL_OK && limits->keep_bytes == TKL_NONE)
        limits->keep_bytes = TKL__QUEUE_KEEP_BYTES;
    tkl_reply_free(reply);
    return rc;
}

/* ---- The end of a queue -------------------------------------------------- */

/* Runs the script on one partition after the other, because their channels have different names. */
int tkl_queue_drop(tkl_queue *queue)
{
    int64_t keys = 0;
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < queue->npartitions; i++) {
        const tkl__queue_partition *partition = &queue->partitions[i];
        tkl_reply *reply;
        rc = tkl__queue_run_on(partition, &tkl__lua_queue_drop, &partition->results, 1, true,
                               &reply);
        tkl__add(&keys, tkl_reply_int(reply));
        tkl_reply_free(reply);
    }
    return rc == TKL_OK && keys == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}
