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
    int rc = tkl_pipeline_open(log->client, NULL, &pipeline);
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
    tkl_log_count *items;
    size_t cap;
    tkl_reply **replies; /* that the messages are in */
    size_t reply_count;
} counted;

/* What is asked for, and what is known of each severity. */
typedef struct inquiry {
    const tkl_log *log;
    const char *which; /* this or last */
    size_t max;        /* messages of each */
    struct table {
        bool more; /* to be asked for */
        size_t known;
        int64_t start_ms, other;
    } tables[TKL__LOG_SEVERITIES];
} inquiry;

void tkl_log_counts_free(tkl_log_counts *counts)
{
    counted *c = (counted *)(void *)counts;
    if (!c)
        return;
    for (size_t i = 0; i < c->reply_count; i++)
        tkl_reply_free(c->replies[i]);
    free(c->replies);
    free(c->items);
    free(c);
}

static int by_times(const void *a, const void *b)
{
    const tkl_log_count *x = a, *y = b;
    if (x->times != y->times)
        return x->times > y->times ? -1 : 1;
    return (int)x->severity - (int)y->severity;
}

/* Takes over the replies, and makes room for what is in them. */
static int keep_replies(counted *c, tkl_reply *replies)
{
    size_t cap = c->base.count;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        cap += tkl_reply_count(tkl_reply_at(replies, i)) / 2;
    tkl_reply **all = realloc(c->replies, (c->reply_count + 1) * sizeof(tkl_reply *));
    c->replies = all ? all : c->replies;
    tkl_log_count *items = all ? realloc(c->items, (cap + 1) * sizeof *items) : NULL;
    if (!items) {
        tkl_reply_free(replies);
        return tkl__nomem();
    }
    c->items = items;
    c->cap = cap;
    c->replies[c->reply_count++] = replies;
    return TKL_OK;
}

/* Another program may have written them: what is out of bounds counts as 0. */
#define HOUR_MAX  1e12
#define TIMES_MAX 9007199254740992.0 /* 2^53 */

static int64_t number_of(const tkl_reply *reply, double most)
{
    double number = tkl_reply_double(reply);
    return number > 0 && number <= most ? (int64_t)number : 0;
}

/* What log/common answers: {hour, other, more, message, times, ...}. */
enum { HOUR, OTHER, MORE, MESSAGES };

/* Adds an answer for a severity. False: the table is of another hour than before. */
static bool add_counts(counted *c, struct table *table, int severity, const tkl_reply *reply)
{
    int64_t start_ms = number_of(tkl_reply_at(reply, HOUR), HOUR_MAX) * 3600000;
    if (table->known > 0 && table->start_ms != start_ms)
        return false;
    table->start_ms = start_ms;
    table->other = number_of(tkl_reply_at(reply, OTHER), TIMES_MAX);
    table->more = tkl_reply_int(tkl_reply_at(reply, MORE)) == 1;
    for (size_t i = MESSAGES; i + 1 < tkl_reply_count(reply) && c->base.count < c->cap; i += 2) {
        c->items[c->base.count++] =
            (tkl_log_count){.message = tkl_reply_bytes(tkl_reply_at(reply, i)),
                            .severity = (tkl_log_severity)severity,
                            .times = number_of(tkl_reply_at(reply, i + 1), TIMES_MAX)};
        table->known++;
    }
    return true;
}

/* One trip: log/common for each severity of which there is more. */
static int ask_tables(const inquiry *q, tkl_reply **replies)
{
    tkl__invocation calls[TKL__LOG_SEVERITIES];
    tkl__args args[TKL__LOG_SEVERITIES];
    tkl_client *client = q->log->client;
    bool failed = false;
    size_t n = 0;
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        if (!q->tables[i].more)
            continue;
        tkl__args_init(&args[n]);
        tkl__args_str(&args[n], q->which);
        tkl__args_int(&args[n], (int64_t)q->tables[i].known);
        tkl__args_int(&args[n], (int64_t)(q->max - q->tables[i].known));
        failed |= args[n].failed;
        calls[n] = (tkl__invocation){.script = &tkl__lua_log_common,
                                     .keys = &q->log->keys.items[i * TKL__LOG_PARTS],
                                     .nkeys = TKL__LOG_PARTS,
                                     .args = args[n].items,
                                     .nargs = args[n].count,
                                     .retry_safe = true};
        n++;
    }
    int rc = failed ? tkl__nomem()
                    : tkl__run_many(client, calls, n, tkl__deadline(client, q->log->timeout_ms),
                                    replies);
    for (size_t i = 0; i < n; i++)
        tkl__args_free(&args[i]);
    return rc == TKL_OK ? tkl__log_check_replies(*replies) : rc;
}

static bool has_more(const inquiry *q)
{
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        if (q->tables[i].more)
            return true;
    return false;
}

/* Reads the tables, half a megabyte of each at a time. *fits: no hour has changed meanwhile. */
static int read_tables(inquiry *q, counted *c, bool *fits)
{
    int rc = TKL_OK;
    *fits = true;
    while (rc == TKL_OK && *fits && has_more(q)) {
        tkl_reply *replies = NULL;
        size_t at = 0;
        rc = ask_tables(q, &replies);
        if (rc != TKL_OK)
            tkl_reply_free(replies);
        else
            rc = keep_replies(c, replies);
        for (int i = 0; rc == TKL_OK && i < TKL__LOG_SEVERITIES; i++)
            if (q->tables[i].more)
                *fits &= add_counts(c, &q->tables[i], i, tkl_reply_at(replies, at++));
    }
    return rc;
}

/* All severities together. */
static void finish_counts(const inquiry *q, counted *c, size_t max)
{
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        const struct table *table = &q->tables[i];
        c->base.other += table->other;
        if (table->start_ms > c->base.start_ms)
            c->base.start_ms = table->start_ms;
    }
    if (c->base.count > 0)
        qsort(c->items, c->base.count, sizeof *c->items, by_times);
    c->base.items = c->items;
    c->base.count = c->base.count < max ? c->base.count : max;
}

/* One attempt. *fits: as of read_tables(). */
static int count_common(const tkl_log *log, tkl_log_severity severity, const char *which,
                        size_t max, bool *fits, tkl_log_counts **counts)
{
    inquiry q = {
        .log = log, .which = which, .max = max < TKL_LOG_DISTINCT_MAX ? max : TKL_LOG_DISTINCT_MAX};
    counted *c = calloc(1, sizeof *c);
    if (!c)
        return tkl__nomem();
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        q.tables[i].more = severity == TKL_LOG_ANY || (int)severity == i;
    int rc = read_tables(&q, c, fits);
    if (rc != TKL_OK || !*fits) {
        tkl_log_counts_free(&c->base);
        return rc;
    }
    finish_counts(&q, c, max);
    *counts = &c->base;
    return TKL_OK;
}

int tkl_log_common(tkl_log *log, tkl_log_severity severity, tkl_hour hour, size_t max,
                   tkl_log_counts **counts)
{
    enum { TRIES = 3 };
    bool fits = false;
    *counts = NULL;
    int rc = tkl__log_check_any(severity);
    if (rc == TKL_OK && hour != TKL_HOUR_THIS && hour != TKL_HOUR_LAST)
        rc = tkl__fail(TKL_EINVAL, "hour: this or last");
    for (int try = 0; rc == TKL_OK && !fits && try < TRIES; try++)
        rc = count_common(log, severity, hour == TKL_HOUR_THIS ? "this" : "last", max, &fits,
                          counts);
    return rc == TKL_OK && !fits
               ? tkl__fail(TKL_EREFUSED, "the server's clock does not stand still")
               : rc;
}

const char *tkl_hour_name(tkl_hour hour)
{
    static const char *const names[] = {"this", "last", "both"};
    return TKL__ENUM_NAME((int)hour, names);
}
