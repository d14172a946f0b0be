/* SPDX-License-Identifier: MIT
 *
 * Reading logs: recent messages, and how often each occurred.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "core/options.h"
#include "log/log.h"
#include "log/scripts.h"

/* ---- Entries ------------------------------------------------------------- */

tkl__log_found *tkl__log_found_new(tkl_reply *reply, size_t cap)
{
    tkl__log_found *found = calloc(1, sizeof *found);
    tkl_log_entry *items = calloc(cap + 1, sizeof *items);
    uint64_t *orders = calloc(cap + 1, sizeof *orders);
    if (!found || !items || !orders) {
        free(found);
        free(items);
        free(orders);
        tkl_reply_free(reply);
        return NULL;
    }
    *found = (tkl__log_found){.items = items, .orders = orders, .cap = cap, .reply = reply};
    return found;
}

/* "1526919030474-55" */
static void read_id(const tkl_reply *id, int64_t *ms, uint64_t *order)
{
    const char *text = tkl_reply_str(id);
    char *end;
    *ms = strtoll(text, &end, 10);
    *order = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;
}

void tkl__log_found_add(tkl__log_found *found, int severity, const tkl_reply *entries, size_t count)
{
    for (size_t i = 0; i < count && found->base.count < found->cap; i++) {
        const tkl_reply *entry = tkl_reply_at(entries, i);
        tkl_log_entry *item = &found->items[found->base.count];
        read_id(tkl_reply_at(entry, 0), &item->time_ms, &found->orders[found->base.count++]);
        item->severity = (tkl_log_severity)severity;
        item->message = tkl_reply_bytes(tkl_reply_at(tkl_reply_at(entry, 1), 1));
    }
}

typedef struct place {
    int64_t time_ms;
    uint64_t order;
    tkl_log_entry item;
} place;

static int by_time(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->time_ms != y->time_ms)
        return x->time_ms < y->time_ms ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (int)x->item.severity - (int)y->item.severity;
}

tkl_log_entries *tkl__log_found_done(tkl__log_found *found, size_t max)
{
    size_t count = found->base.count, kept = count < max ? count : max;
    place *places = calloc(count + 1, sizeof *places);
    if (!places) {
        tkl_log_entries_free(&found->base);
        tkl__nomem();
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        places[i] = (place){found->items[i].time_ms, found->orders[i], found->items[i]};
    qsort(places, count, sizeof *places, by_time);
    for (size_t i = 0; i < kept; i++)
        found->items[i] = places[count - kept + i].item;
    free(places);
    found->base.items = found->items;
    found->base.count = kept;
    return &found->base;
}

void tkl_log_entries_free(tkl_log_entries *entries)
{
    tkl__log_found *found = (tkl__log_found *)(void *)entries;
    if (!found)
        return;
    tkl_reply_free(found->reply);
    free(found->orders);
    free(found->items);
    free(found);
}

/* ---- Recent messages ----------------------------------------------------- */

static int add_range(tkl_pipeline *pipeline, tkl_bytes key, const char *upto, size_t max)
{
    char count[24];
    int len = snprintf(count, sizeof count, "%zu", max);
    const char *words[] = {"XREVRANGE", key.data, upto, "-", "COUNT", count};
    const size_t lens[] = {9, key.len, strlen(upto), 1, 5, (size_t)len};
    return tkl_pipeline_add(pipeline, 6, words, lens);
}

int tkl__log_check_replies(const tkl_reply *replies)
{
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (tkl_reply_code(reply) != TKL_OK)
            return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    }
    return TKL_OK;
}

/* An array of what XREVRANGE answers. */
static int fetch(const tkl_log *log, tkl_log_severity severity, const tkl__log_id *upto, size_t max,
                 tkl_reply **replies)
{
    tkl_pipeline *pipeline = NULL;
    tkl_call_options how = {.timeout_ms = log->timeout_ms, .retry_safe = true};
    int rc = tkl_pipeline_open(log->client, &pipeline);
    for (int i = 0; rc == TKL_OK && i < TKL__LOG_SEVERITIES; i++)
        if (severity == TKL_LOG_ANY || (int)severity == i)
            rc = add_range(pipeline, tkl__log_key(log, i, TKL__LOG_RECENT), upto ? upto[i] : "+",
                           max);
    if (rc == TKL_OK)
        rc = tkl_pipeline_run(pipeline, &how, replies);
    if (rc == TKL_OK)
        rc = tkl__log_check_replies(*replies);
    tkl_pipeline_close(pipeline);
    return rc;
}

int tkl__log_newest(const tkl_log *log, tkl_log_severity severity, const tkl__log_id *upto,
                    size_t max, tkl_log_entries **entries)
{
    tkl_reply *replies = NULL;
    size_t cap = 0, most = TKL_LOG_KEEP_MAX * TKL__LOG_SEVERITIES;
    max = max < most ? max : most;
    int rc = fetch(log, severity, upto, max > 0 ? max : 1, &replies);
    if (rc != TKL_OK) {
        tkl_reply_free(replies);
        return rc;
    }
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        cap += tkl_reply_count(tkl_reply_at(replies, i));
    tkl__log_found *found = tkl__log_found_new(replies, cap);
    if (!found)
        return tkl__nomem();
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *list = tkl_reply_at(replies, i);
        tkl__log_found_add(found, severity == TKL_LOG_ANY ? (int)i : (int)severity, list,
                           tkl_reply_count(list));
    }
    *entries = tkl__log_found_done(found, max);
    return *entries ? TKL_OK : TKL_ENOMEM;
}

int tkl_log_recent(tkl_log *log, tkl_log_severity severity, size_t max, tkl_log_entries **entries)
{
    *entries = NULL;
    int rc = tkl__log_check_any(severity);
    return rc == TKL_OK ? tkl__log_newest(log, severity, NULL, max, entries) : rc;
}

/* ---- Common messages ----------------------------------------------------- */

typedef struct counted {
    tkl_log_counts base; /* must be first: callers have a pointer to it */
    tkl_reply *replies;
    tkl_log_count items[];
} counted;

static int by_times(const void *a, const void *b)
{
    const tkl_log_count *x = a, *y = b;
    if (x->times != y->times)
        return x->times > y->times ? -1 : 1;
    return (int)x->severity - (int)y->severity;
}

/* What log/common answered for a severity. */
static void add_counts(counted *c, int severity, const tkl_reply *reply)
{
    int64_t start_ms = tkl_reply_int(tkl_reply_at(reply, 0)) * 3600000;
    c->base.start_ms = start_ms > c->base.start_ms ? start_ms : c->base.start_ms;
    c->base.other += tkl_reply_int(tkl_reply_at(reply, 1));
    for (size_t i = 2; i + 1 < tkl_reply_count(reply); i += 2) {
        tkl_log_count *item = &c->items[c->base.count++];
        double times = 0;
        tkl__double_parse(tkl_reply_bytes(tkl_reply_at(reply, i + 1)), &times);
        item->message = tkl_reply_bytes(tkl_reply_at(reply, i));
        item->severity = (tkl_log_severity)severity;
        item->times = (int64_t)times;
    }
}

/* Takes over the replies. */
static int make_counts(tkl_reply *replies, tkl_log_severity severity, size_t max,
                       tkl_log_counts **counts)
{
    size_t cap = 0;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        cap += tkl_reply_count(tkl_reply_at(replies, i)) / 2;
    counted *c = calloc(1, sizeof *c + cap * sizeof *c->items);
    if (!c) {
        tkl_reply_free(replies);
        return tkl__nomem();
    }
    c->replies = replies;
    c->base.items = c->items;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        add_counts(c, severity == TKL_LOG_ANY ? (int)i : (int)severity, tkl_reply_at(replies, i));
    qsort(c->items, c->base.count, sizeof *c->items, by_times);
    c->base.count = c->base.count < max ? c->base.count : max;
    *counts = &c->base;
    return TKL_OK;
}

int tkl_log_common(tkl_log *log, tkl_log_severity severity, tkl_hour hour, size_t max,
                   tkl_log_counts **counts)
{
    tkl__invocation calls[TKL__LOG_SEVERITIES];
    tkl_reply *replies = NULL;
    tkl__args args;
    size_t n = 0;
    *counts = NULL;
    int rc = tkl__log_check_any(severity);
    if (rc == TKL_OK && hour != TKL_HOUR_THIS && hour != TKL_HOUR_LAST)
        rc = tkl__fail(TKL_EINVAL, "hour: this or last");
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, hour == TKL_HOUR_THIS ? "this" : "last");
    tkl__args_int(&args, max < TKL_LOG_DISTINCT_MAX ? (int64_t)max : TKL_LOG_DISTINCT_MAX);
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        if (severity == TKL_LOG_ANY || (int)severity == i)
            calls[n++] = (tkl__invocation){.script = &tkl__lua_log_common,
                                           .keys = &log->keys.items[i * TKL__LOG_PARTS + 1],
                                           .nkeys = TKL__LOG_PARTS - 1,
                                           .args = args.items,
                                           .nargs = args.count,
                                           .retry_safe = true};
    rc = args.failed ? tkl__nomem()
                     : tkl__run_many(log->client, calls, n,
                                     tkl__deadline(log->client, log->timeout_ms), &replies);
    tkl__args_free(&args);
    if (rc == TKL_OK)
        rc = tkl__log_check_replies(replies);
    if (rc == TKL_OK)
        return make_counts(replies, severity, max, counts);
    tkl_reply_free(replies);
    return rc;
}

void tkl_log_counts_free(tkl_log_counts *counts)
{
    counted *c = (counted *)(void *)counts;
    if (!c)
        return;
    tkl_reply_free(c->replies);
    free(c);
}
