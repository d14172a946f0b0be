/* SPDX-License-Identifier: MIT
 *
 * Reading logs: recent messages, and how many times each occurred.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "log/log.h"
#include "log/scripts.h"

/* ---- Entries ------------------------------------------------------------- */

/* Takes over one more reply, with room for `more` entries. False: out of memory; the reply is
 * freed. */
static bool extend_found(tkl__log_found *found, tkl_reply *reply, size_t more)
{
    size_t cap = found->cap + more;
    tkl_log_entry *items = realloc(found->items, (cap + 1) * sizeof *items);
    found->items = items ? items : found->items;
    struct tkl__log_order *orders = realloc(found->orders, (cap + 1) * sizeof *orders);
    found->orders = orders ? orders : found->orders;
    tkl_reply **replies = realloc(found->replies, (found->reply_count + 1) * sizeof(tkl_reply *));
    found->replies = replies ? replies : found->replies;
    if (!items || !orders || !replies) {
        tkl_reply_free(reply);
        return false;
    }
    found->replies[found->reply_count++] = reply;
    found->cap = cap;
    return true;
}

tkl__log_found *tkl__log_found_new(tkl_reply *reply, size_t cap)
{
    tkl__log_found *found = calloc(1, sizeof *found);
    if (!found) {
        tkl_reply_free(reply);
        return NULL;
    }
    if (extend_found(found, reply, cap))
        return found;
    tkl_log_entries_free(&found->base);
    return NULL;
}

/* Reads an id such as "1526919030474-55". */
static struct tkl__log_order read_id(const tkl_reply *id)
{
    const char *text = tkl_reply_str(id);
    char *end;
    int64_t ms = strtoll(text, &end, 10);
    return (struct tkl__log_order){ms, *end == '-' ? strtoull(end + 1, NULL, 10) : 0};
}

void tkl__log_found_add(tkl__log_found *found, int severity, const tkl_reply *entries, size_t count)
{
    for (size_t i = 0; i < count && found->base.count < found->cap; i++) {
        const tkl_reply *entry = tkl_reply_at(entries, i);
        tkl_log_entry *item = &found->items[found->base.count];
        const tkl_reply *fields = tkl_reply_at(entry, 1); /* m MESSAGE, perhaps t TIME */
        struct tkl__log_order id = read_id(tkl_reply_at(entry, 0));
        found->orders[found->base.count++] = id;
        *item = (tkl_log_entry){.time_ms = id.ms};
        if (tkl_reply_count(fields) > 3)
            item->time_ms = tkl__reply_number(tkl_reply_at(fields, 3));
        item->severity = (tkl_log_severity)severity;
        item->message = tkl_reply_bytes(tkl_reply_at(fields, 1));
    }
}

typedef struct place {
    struct tkl__log_order id;
    tkl_log_entry item;
} place;

static int by_id(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->id.ms != y->id.ms)
        return x->id.ms < y->id.ms ? -1 : 1;
    if (x->id.number != y->id.number)
        return x->id.number < y->id.number ? -1 : 1;
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
        places[i] = (place){found->orders[i], found->items[i]};
    qsort(places, count, sizeof *places, by_id);
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
    for (size_t i = 0; i < found->reply_count; i++)
        tkl_reply_free(found->replies[i]);
    free(found->replies);
    free(found->orders);
    free(found->items);
    free(found);
}

/* ---- Recent messages ----------------------------------------------------- */

/* Messages are read in pages of at most about a megabyte: the server does nothing else while it
 * replies. */
enum { FIRST_PAGE = 100, LONGEST_PAGE = 1000, BYTES_OF_PAGE = 1 << 20 };

/* State of reading the newest messages of some severities, from new to old. */
typedef struct reading {
    const tkl_log *log;
    const char *since;                /* id of the oldest */
    size_t page;                      /* messages of each severity in the next round trip */
    size_t left[TKL__LOG_SEVERITIES]; /* messages left to read; 0: done */
    tkl__log_id upto[TKL__LOG_SEVERITIES];
} reading;

static size_t next_page(const reading *r, int severity)
{
    return r->left[severity] < r->page ? r->left[severity] : r->page;
}

static bool is_done(const reading *r)
{
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        if (r->left[i] > 0)
            return false;
    return true;
}

/* Runs XREVRANGE for each severity with messages left. *replies: an array of the replies. */
static int fetch_messages(const reading *r, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, r->log->client);
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        char count[24];
        if (r->left[i] == 0)
            continue;
        snprintf(count, sizeof count, "%zu", next_page(r, i));
        TKL__BATCH_WORDS(&batch, tkl_str("XREVRANGE"), tkl__log_key(r->log, i, TKL__LOG_RECENT),
                         tkl_str(r->upto[i]), tkl_str(r->since), tkl_str("COUNT"), tkl_str(count));
    }
    return tkl__batch_end(&batch, tkl__deadline(r->log->client, r->log->timeout_ms), replies);
}

/* Adds a page, and notes where the next page begins. Returns the bytes of its messages. */
static size_t add_page(reading *r, int severity, const tkl_reply *page, tkl__log_found *found)
{
    size_t count = tkl_reply_count(page), first = found->base.count, bytes = 0;
    tkl__log_found_add(found, severity, page, count);
    for (size_t i = first; i < found->base.count; i++)
        bytes += found->items[i].message.len;
    bool more = count > 0 && count >= next_page(r, severity);
    r->left[severity] = more && r->left[severity] > count ? r->left[severity] - count : 0;
    if (more)
        snprintf(r->upto[severity], sizeof r->upto[severity], "(%s",
                 tkl_reply_str(tkl_reply_at(tkl_reply_at(page, count - 1), 0)));
    return bytes;
}

/* Adds the pages. Takes over the replies. */
static int add_pages(reading *r, tkl_reply *replies, tkl__log_found *found)
{
    size_t count = 0, bytes = 0, next = 0;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        count += tkl_reply_count(tkl_reply_at(replies, i));
    if (!extend_found(found, replies, count))
        return tkl__nomem();
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        if (r->left[i] > 0)
            bytes += add_page(r, i, tkl_reply_at(replies, next++), found);
    size_t page = bytes > 0 ? BYTES_OF_PAGE * count / bytes : LONGEST_PAGE;
    r->page = page < 1 ? 1 : page < LONGEST_PAGE ? page : LONGEST_PAGE;
    return TKL_OK;
}

int tkl__log_newest(const tkl_log *log, tkl_log_severity severity, const tkl__log_id *upto,
                    const char *since, size_t max, tkl_log_entries **entries)
{
    size_t most = TKL_LOG_KEEP_MAX * TKL__LOG_SEVERITIES;
    reading r = {.log = log, .since = since, .page = FIRST_PAGE};
    max = max < most ? max : most;
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        bool wanted = severity == TKL_LOG_ANY || (int)severity == i;
        r.left[i] = !wanted ? 0 : max > 0 ? max : 1;
        snprintf(r.upto[i], sizeof r.upto[i], "%s", upto ? upto[i] : "+");
    }
    tkl__log_found *found = tkl__log_found_new(NULL, 0);
    int rc = found ? TKL_OK : tkl__nomem();
    while (rc == TKL_OK && !is_done(&r)) {
        tkl_reply *replies = NULL;
        rc = fetch_messages(&r, &replies);
        if (rc == TKL_OK)
            rc = add_pages(&r, replies, found);
        else
            tkl_reply_free(replies);
    }
    if (rc != TKL_OK) {
        tkl_log_entries_free(found ? &found->base : NULL);
        return rc;
    }
    *entries = tkl__log_found_done(found, max);
    return *entries ? TKL_OK : TKL_ENOMEM;
}

int tkl_log_recent(tkl_log *log, tkl_log_severity severity, size_t max, tkl_log_entries **entries)
{
    *entries = NULL;
    int rc = tkl__log_check_any(severity);
    return rc == TKL_OK ? tkl__log_newest(log, severity, NULL, "-", max, entries) : rc;
}

/* Removes messages that were written later than `since_ms`, but happened before it. */
static void leave_out_older(tkl_log_entries *entries, int64_t since_ms)
{
    tkl_log_entry *items = ((tkl__log_found *)(void *)entries)->items;
    size_t kept = 0;
    for (size_t i = 0; i < entries->count; i++)
        if (items[i].time_ms >= since_ms)
            items[kept++] = items[i];
    entries->count = kept;
}

int tkl_log_since(tkl_log *log, tkl_log_severity severity, int64_t since_ms, size_t max,
                  tkl_log_entries **entries)
{
    tkl__log_id since;
    *entries = NULL;
    int rc = tkl__log_check_any(severity);
    if (rc != TKL_OK)
        return rc;
    snprintf(since, sizeof since, "%" PRId64 "-0", since_ms > 0 ? since_ms : 0);
    rc = tkl__log_newest(log, severity, NULL, since, max, entries);
    if (rc == TKL_OK)
        leave_out_older(*entries, since_ms);
    return rc;
}

/* ---- Common messages ----------------------------------------------------- */

/* One table of one severity. */
typedef struct table {
    const char *which; /* this, last or late: see log/common */
    int severity;
    bool more; /* the table has more messages */
    size_t known;
    int64_t hour, start_ms, bound;
} table;

/* The tables that a call reads, and how many messages of each. */
typedef struct common_query {
    const tkl_log *log;
    bool both;  /* both hours; the tables of a severity are adjacent, this hour's first */
    size_t max; /* most messages of each table */
    table tables[2 * TKL__LOG_SEVERITIES];
    size_t count;
} common_query;

/* A count, and the table that it comes from. */
typedef struct entry {
    tkl_log_count count;
    const table *table;
} entry;

typedef struct counted {
    tkl_log_counts base; /* must be first: callers have a pointer to it */
    tkl_log_count *items;
    entry *entries; /* the counts before items are made of them */
    size_t entry_count, cap;
    tkl_reply **replies; /* own the texts of the messages */
    size_t reply_count;
} counted;

void tkl_log_counts_free(tkl_log_counts *counts)
{
    counted *c = (counted *)(void *)counts;
    if (!c)
        return;
    for (size_t i = 0; i < c->reply_count; i++)
        tkl_reply_free(c->replies[i]);
    free(c->replies);
    free(c->entries);
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

/* Sorts equal messages of a severity next to each other. */
static int by_message(const void *a, const void *b)
{
    const tkl_log_count *x = &((const entry *)a)->count, *y = &((const entry *)b)->count;
    if (x->severity != y->severity)
        return (int)x->severity - (int)y->severity;
    return tkl__compare_bytes(x->message, y->message);
}

/* The reply of log/common: {hour, start, bound, more, and message, times, excess of each}. */
enum { HOUR, START, BOUND, MORE, MESSAGES, COUNT_SIZE = 3 };

/* Takes over the replies, and allocates room for their entries. */
static int keep_replies(counted *c, tkl_reply *replies)
{
    size_t cap = c->entry_count;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        cap += tkl_reply_count(tkl_reply_at(replies, i)) / COUNT_SIZE;
    tkl_reply **all = realloc(c->replies, (c->reply_count + 1) * sizeof(tkl_reply *));
    c->replies = all ? all : c->replies;
    entry *entries = all ? realloc(c->entries, (cap + 1) * sizeof *entries) : NULL;
    if (!entries) {
        tkl_reply_free(replies);
        return tkl__nomem();
    }
    c->entries = entries;
    c->cap = cap;
    c->replies[c->reply_count++] = replies;
    return TKL_OK;
}

/* Limits of numbers that another program may have written: numbers beyond them count as 0. */
#define START_MAX 1e15               /* seconds */
#define TIMES_MAX 9007199254740992.0 /* 2^53 */

static int64_t number_of(const tkl_reply *reply, double most)
{
    double number = tkl_reply_double(reply);
    return number > 0 && number <= most ? (int64_t)number : 0;
}

/* Whether a reply contains messages when it says that there are more. */
static bool is_sensible(const tkl_reply *reply)
{
    bool more = tkl_reply_int(tkl_reply_at(reply, MORE)) == 1;
    return !more || tkl_reply_count(reply) >= MESSAGES + COUNT_SIZE;
}

/* Adds the reply for a table. False: the table belongs to another hour than before. */
static bool add_counts(const common_query *q, counted *c, table *t, const tkl_reply *reply)
{
    int64_t hour = number_of(tkl_reply_at(reply, HOUR), START_MAX);
    if (t->known > 0 && t->hour != hour)
        return false;
    t->hour = hour;
    t->start_ms = number_of(tkl_reply_at(reply, START), START_MAX) * 1000;
    t->bound = number_of(tkl_reply_at(reply, BOUND), TIMES_MAX);
    size_t before = t->known, end = tkl_reply_count(reply);
    for (size_t i = MESSAGES; i + COUNT_SIZE <= end && c->entry_count < c->cap; i += COUNT_SIZE) {
        tkl_log_count count = {.message = tkl_reply_bytes(tkl_reply_at(reply, i)),
                               .severity = (tkl_log_severity)t->severity,
                               .times = number_of(tkl_reply_at(reply, i + 1), TIMES_MAX),
                               .excess = number_of(tkl_reply_at(reply, i + 2), TIMES_MAX)};
        if (count.times > 0)
            c->entries[c->entry_count++] = (entry){count, t};
        t->known++;
    }
    t->more =
        tkl_reply_int(tkl_reply_at(reply, MORE)) == 1 && t->known > before && t->known < q->max;
    return true;
}

/* One round trip: log/common for each table that has more messages. */
static int ask_tables(const common_query *q, tkl_reply **replies)
{
    tkl_client *client = q->log->client;
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < q->count; i++) {
        const table *t = &q->tables[i];
        tkl__keys keys = {&q->log->keys.items[t->severity * (int)TKL__LOG_PARTS], TKL__LOG_PARTS};
        tkl__args args;
        if (!t->more)
            continue;
        tkl__args_init(&args);
        tkl__args_str(&args, t->which);
        tkl__args_int(&args, (int64_t)t->known);
        tkl__args_int(&args, (int64_t)(q->max - t->known));
        tkl__batch_eval(&batch, &tkl__lua_log_common, &keys, &args, true);
        tkl__args_free(&args);
    }
    return tkl__batch_end(&batch, tkl__deadline(client, q->log->timeout_ms), replies);
}

static bool has_more(const common_query *q)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->tables[i].more)
            return true;
    return false;
}

/* Whether the two tables of each severity belong to different hours: the hour may have changed
 * after the first was read. */
static bool hours_differ(const common_query *q)
{
    for (size_t i = 0; q->both && i + 1 < q->count; i += 2)
        if (q->tables[i].hour == q->tables[i + 1].hour)
            return false;
    return true;
}

/* Reads the tables, half a megabyte of each at a time. *fits: no hour has changed in the
 * meantime. */
static int read_tables(common_query *q, counted *c, bool *fits)
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
        for (size_t i = 0; rc == TKL_OK && i < q->count; i++) {
            const tkl_reply *reply = q->tables[i].more ? tkl_reply_at(replies, at++) : NULL;
            if (reply && !is_sensible(reply))
                rc = tkl__fail(TKL_EPROTO, "not an answer of log/common");
            else if (reply)
                *fits &= add_counts(q, c, &q->tables[i], reply);
        }
    }
    *fits &= hours_differ(q);
    return rc;
}

/* The other table of a severity, when both hours are read. */
static const table *other_table(const common_query *q, const table *t)
{
    return &q->tables[(size_t)(t - q->tables) ^ 1];
}

/* Joins the counts of each message. With both hours: a table that lacks a message may have counted
 * it up to the table's bound. */
static void join_counts(const common_query *q, counted *c)
{
    if (q->both && c->entry_count > 0)
        qsort(c->entries, c->entry_count, sizeof *c->entries, by_message);
    for (size_t i = 0; i < c->entry_count; i++) {
        const entry *e = &c->entries[i], *next = i + 1 < c->entry_count ? e + 1 : NULL;
        tkl_log_count *count = &c->items[c->base.count++];
        *count = e->count;
        if (q->both && next && by_message(e, next) == 0) {
            count->times += next->count.times;
            count->excess += next->count.excess;
            i++;
        } else if (q->both) {
            count->times += other_table(q, e->table)->bound;
            count->excess += other_table(q, e->table)->bound;
        }
    }
}

/* Makes the result from all tables. */
static int finish_counts(const common_query *q, counted *c, size_t max)
{
    c->items = calloc(c->entry_count + 1, sizeof *c->items);
    if (!c->items)
        return tkl__nomem();
    join_counts(q, c);
    for (size_t i = 0; i < q->count; i++) {
        const table *t = &q->tables[i];
        int64_t bound = t->bound + (q->both ? other_table(q, t)->bound : 0);
        bool is_first_hour = !q->both || i % 2 == 1;
        if (bound > c->base.bound)
            c->base.bound = bound;
        if (is_first_hour && t->start_ms > c->base.start_ms)
            c->base.start_ms = t->start_ms;
    }
    qsort(c->items, c->base.count, sizeof *c->items, by_times);
    c->base.items = c->items;
    c->base.count = c->base.count < max ? c->base.count : max;
    return TKL_OK;
}

/* The tables of one severity, or of all. */
static common_query make_common_query(const tkl_log *log, tkl_log_severity severity, tkl_hour hour,
                                      size_t max)
{
    common_query q = {.log = log, .both = hour == TKL_HOUR_BOTH || hour == TKL_HOUR_SLIDING};
    const char *before = hour == TKL_HOUR_SLIDING ? "late" : "last";
    q.max = q.both || max > TKL_LOG_DISTINCT_MAX ? TKL_LOG_DISTINCT_MAX : max;
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        if (severity != TKL_LOG_ANY && (int)severity != i)
            continue;
        if (hour != TKL_HOUR_LAST)
            q.tables[q.count++] = (table){.which = "this", .severity = i, .more = true};
        if (hour != TKL_HOUR_THIS)
            q.tables[q.count++] = (table){.which = before, .severity = i, .more = true};
    }
    return q;
}

/* One attempt. *fits: see read_tables(). */
static int count_common(const tkl_log *log, tkl_log_severity severity, tkl_hour hour, size_t max,
                        bool *fits, tkl_log_counts **counts)
{
    common_query q = make_common_query(log, severity, hour, max);
    counted *c = calloc(1, sizeof *c);
    if (!c)
        return tkl__nomem();
    int rc = read_tables(&q, c, fits);
    if (rc == TKL_OK && *fits)
        rc = finish_counts(&q, c, max);
    if (rc != TKL_OK || !*fits) {
        tkl_log_counts_free(&c->base);
        return rc;
    }
    free(c->entries); /* they point to the tables */
    c->entries = NULL;
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
    if (rc == TKL_OK)
        rc = tkl__check_number("hour", hour, TKL_HOUR_THIS, TKL_HOUR_SLIDING);
    for (int try = 0; rc == TKL_OK && !fits && try < TRIES; try++)
        rc = count_common(log, severity, hour, max, &fits, counts);
    return rc == TKL_OK && !fits
               ? tkl__fail(TKL_EREFUSED, "the server's clock does not stand still")
               : rc;
}
