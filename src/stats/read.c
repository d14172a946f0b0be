/* SPDX-License-Identifier: MIT
 *
 * Reads statistics: summaries, the ranking, the existing types.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/options.h"
#include "core/walk.h"
#include "stats/scripts.h"
#include "stats/stats.h"

#define COMPONENT "stats"
#define HOUR_MS   INT64_C(3600000)
#define TRIES     3 /* the hour may change between two replies, once an hour */

/* ---- Summaries ----------------------------------------------------------- */

typedef struct summary {
    tkl_stats_summary base; /* must be first: callers have a pointer to it */
    tkl__stats_sketch sketch;
} summary;

static void fill_summary(summary *s)
{
    const tkl__stats_sketch *k = &s->sketch;
    s->base.count = k->count;
    s->base.min = k->min;
    s->base.max = k->max;
    s->base.sum = k->sum;
    s->base.sumsq = k->sumsq;
    s->base.mean = k->mean;
    s->base.stddev = tkl__stats_sketch_stddev(k);
    s->base.p50 = tkl__stats_sketch_quantile(k, 0.5);
    s->base.p90 = tkl__stats_sketch_quantile(k, 0.9);
    s->base.p99 = tkl__stats_sketch_quantile(k, 0.99);
    s->base.p999 = tkl__stats_sketch_quantile(k, 0.999);
}

void tkl_stats_summary_free(tkl_stats_summary *base)
{
    summary *s = (summary *)(void *)base;
    if (!s)
        return;
    tkl__stats_sketch_free(&s->sketch);
    free(s);
}

double tkl_stats_quantile(const tkl_stats_summary *base, double quantile)
{
    return tkl__stats_sketch_quantile(&((const summary *)(const void *)base)->sketch, quantile);
}

static void note_start(tkl_stats_summary *base, int64_t start_ms)
{
    if (start_ms > 0 && (base->start_ms == 0 || start_ms < base->start_ms))
        base->start_ms = start_ms;
}

int tkl_stats_merge(tkl_stats_summary *base, const tkl_stats_summary *other)
{
    summary *s = (summary *)(void *)base;
    const summary *o = (const summary *)(const void *)other;
    tkl__stats_sketch copy = {0}; /* the two sketches may be the same one */
    int rc = tkl__stats_sketch_merge(&copy, &o->sketch);
    if (rc == TKL_OK)
        rc = tkl__stats_sketch_merge(&s->sketch, &copy);
    tkl__stats_sketch_free(&copy);
    if (rc != TKL_OK)
        return rc;
    note_start(base, other->start_ms);
    fill_summary(s);
    return TKL_OK;
}

/* ---- Replies ------------------------------------------------------------- */

static int field_damaged(tkl_bytes field)
{
    return tkl__fail(TKL_EDAMAGED, "the statistics hold a field '" TKL_FMT "' that is not a number",
                     TKL_ARG(field));
}

/* Returns the number of the sketch that is stored in the hash under this name; NULL: none. */
static double *place_of(tkl__stats_sketch *s, double *count, double *hour, tkl_bytes field)
{
    const struct {
        const char *name;
        double *place;
    } places[] = {{"hour", hour},   {"count", count}, {"mean", &s->mean}, {"m2", &s->m2},
                  {"min", &s->min}, {"max", &s->max}, {"sum", &s->sum},   {"sumsq", &s->sumsq}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (tkl__same_bytes(field, tkl_str(places[i].name)))
            return places[i].place;
    return NULL;
}

/* Reads {field, value, ...}. */
static int read_hash(const tkl_reply *hash, tkl__stats_sketch *s, int64_t *start_ms)
{
    double count = 0, hour = 0, number, bucket;
    for (size_t i = 0; i + 1 < tkl_reply_count(hash); i += 2) {
        tkl_bytes field = tkl_reply_bytes(tkl_reply_at(hash, i));
        double *place = place_of(s, &count, &hour, field);
        if (!tkl__double_parse(tkl_reply_bytes(tkl_reply_at(hash, i + 1)), &number) ||
            !isfinite(number))
            return field_damaged(field);
        if (place) {
            *place = number;
            continue;
        }
        if (!tkl__double_parse(field, &bucket) || fabs(bucket) > 100000 || fabs(number) > 1e18)
            return field_damaged(field);
        if (tkl__stats_sketch_count(s, (int)bucket, (int64_t)number) != TKL_OK)
            return TKL_ENOMEM;
    }
    if (fabs(count) > 1e18 || fabs(hour) > 1e12)
        return field_damaged(tkl_str("count"));
    s->count = (int64_t)count;
    *start_ms = (int64_t)hour * HOUR_MS;
    return TKL_OK;
}

/* ---- Putting hashes together --------------------------------------------- */

/* Reads a hash that stats/show left to the client. *fits: it is still the hash of that hour. */
static int read_large(const tkl_stats *stats, tkl_bytes key, int64_t start_ms,
                      tkl__stats_sketch *sketch, bool *fits)
{
    const char *words[] = {"HGETALL", key.data};
    const size_t lens[] = {7, key.len};
    tkl_call_options how = {.timeout_ms = stats->timeout_ms, .retry_safe = true};
    tkl_reply *reply = NULL;
    int64_t found_ms = 0;
    int rc = tkl_call(stats->client, 2, words, lens, &how, &reply);
    if (rc == TKL_OK)
        rc = read_hash(reply, sketch, &found_ms);
    *fits = found_ms == start_ms;
    tkl_reply_free(reply);
    return rc;
}

/* The elements of a hash in a reply of stats/show. */
enum { WHICH, HOUR, FIELDS };

static int add_hash(summary *s, const tkl_stats *stats, const tkl__stats_context *context,
                    const tkl_reply *hash, bool *fits)
{
    tkl__stats_sketch one = {0};
    double hour = 0;
    int64_t start_ms = 0;
    const tkl_reply *fields = tkl_reply_at(hash, FIELDS);
    bool is_last = strcmp(tkl_reply_str(tkl_reply_at(hash, WHICH)), "last") == 0;
    tkl_bytes key = context->keys[is_last ? TKL__STATS_LAST : TKL__STATS_THIS];
    tkl__double_parse(tkl_reply_bytes(tkl_reply_at(hash, HOUR)), &hour);
    bool is_large = tkl_reply_count(fields) == 0 && hour > 0 && hour < 1e12;
    int rc = is_large ? read_large(stats, key, start_ms = (int64_t)hour * HOUR_MS, &one, fits)
                      : read_hash(fields, &one, &start_ms);
    if (rc == TKL_OK && one.count > 0) {
        rc = tkl__stats_sketch_merge(&s->sketch, &one);
        note_start(&s->base, start_ms);
    }
    tkl__stats_sketch_free(&one);
    return rc;
}

/* Adds the hashes in the reply of stats/show for a context. */
static int add_hashes(summary *s, const tkl_stats *stats, const tkl__stats_context *context,
                      const tkl_reply *hashes, bool *fits)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && *fits && i < tkl_reply_count(hashes); i++)
        rc = add_hash(s, stats, context, tkl_reply_at(hashes, i), fits);
    return rc;
}

/* Adds up the replies of stats/show for contexts. *fits: no hour has changed in the meantime. */
static int add_contexts(summary *s, const tkl_stats *stats, const tkl__stats_context *contexts,
                        const tkl_reply *replies, bool *fits)
{
    int rc = TKL_OK;
    *fits = true;
    for (size_t i = 0; rc == TKL_OK && *fits && i < tkl_reply_count(replies); i++)
        rc = add_hashes(s, stats, &contexts[i], tkl_reply_at(replies, i), fits);
    return rc;
}

static int make_summary(const tkl_stats *stats, const tkl__stats_context *contexts,
                        const tkl_reply *replies, bool *fits, tkl_stats_summary **out)
{
    summary *s = calloc(1, sizeof *s);
    if (!s)
        return tkl__nomem();
    int rc = add_contexts(s, stats, contexts, replies, fits);
    if (rc == TKL_OK && *fits && s->sketch.count == 0)
        rc = tkl__fail(TKL_NOTFOUND, "nothing was recorded");
    if (rc != TKL_OK || !*fits) {
        tkl_stats_summary_free(&s->base);
        return rc;
    }
    fill_summary(s);
    *out = &s->base;
    return TKL_OK;
}

/* ---- show ---------------------------------------------------------------- */

/* Makes the keys of contexts. The caller frees `count` of them. */
static int make_contexts(const tkl_stats *stats, const tkl_bytes *names,
                         tkl__stats_context *contexts, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__stats_context_make(stats, names[i], &contexts[i]);
    return rc;
}

static int run_shows(tkl_stats *stats, const tkl__stats_context *contexts, size_t count,
                     tkl_bytes which, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, stats->client);
    for (size_t i = 0; i < count; i++)
        tkl__batch_add(&batch, &(tkl__invocation){.script = &tkl__lua_stats_show,
                                                  .keys = contexts[i].keys,
                                                  .nkeys = TKL__STATS_KEYS,
                                                  .args = &which,
                                                  .nargs = 1,
                                                  .retry_safe = true});
    return tkl__batch_end(&batch, tkl__deadline(stats->client, stats->timeout_ms), replies);
}

static int clock_moves(void)
{
    return tkl__fail(TKL_EREFUSED, "the server's clock does not stand still");
}

/* Reads the contexts, again when the hour has changed between two replies. */
static int show_contexts(tkl_stats *stats, const tkl__stats_context *contexts, size_t count,
                         tkl_bytes which, tkl_stats_summary **out)
{
    bool fits = false;
    int rc = TKL_OK;
    for (int try = 0; rc == TKL_OK && !fits && try < TRIES; try++) {
        tkl_reply *replies = NULL;
        rc = run_shows(stats, contexts, count, which, &replies);
        if (rc == TKL_OK)
            rc = make_summary(stats, contexts, replies, &fits, out);
        tkl_reply_free(replies);
    }
    return rc == TKL_OK && !fits ? clock_moves() : rc;
}

int tkl_stats_show(tkl_stats *stats, const tkl_bytes *contexts, size_t count, tkl_hour hour,
                   tkl_stats_summary **out)
{
    static const char *const words[] = {"this", "last", "both"};
    *out = NULL;
    int rc = tkl__check_number("hour", hour, TKL_HOUR_THIS, TKL_HOUR_BOTH);
    if (rc == TKL_OK && count == 0)
        rc = tkl__fail(TKL_NOTFOUND, "no context is named");
    if (rc != TKL_OK)
        return rc;
    tkl__stats_context *made = calloc(count, sizeof *made);
    rc = made ? make_contexts(stats, contexts, made, count) : tkl__nomem();
    if (rc == TKL_OK)
        rc = show_contexts(stats, made, count, tkl_str(words[hour]), out);
    for (size_t i = 0; made && i < count; i++)
        tkl__stats_context_free(&made[i]);
    free(made);
    return rc;
}

/* ---- The ranking --------------------------------------------------------- */

typedef struct ranking {
    tkl_stats_ranking base; /* must be first: callers have a pointer to it */
    tkl_reply *reply;
    tkl_stats_rank items[];
} ranking;

static double number_at(const tkl_reply *reply, size_t index)
{
    double number = 0;
    tkl__double_parse(tkl_reply_bytes(tkl_reply_at(reply, index)), &number);
    return number;
}

/* Makes a ranking of {hour, count, sum, context, mean, ...}. Takes over the reply. */
static int make_ranking(tkl_reply *reply, tkl_stats_ranking **out)
{
    size_t count = tkl_reply_count(reply) > 3 ? (tkl_reply_count(reply) - 3) / 2 : 0;
    ranking *r = calloc(1, sizeof *r + count * sizeof *r->items);
    if (!r) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    double values = number_at(reply, 1), hour = number_at(reply, 0);
    r->reply = reply;
    r->base =
        (tkl_stats_ranking){.items = r->items,
                            .count = count,
                            .mean = values > 0 ? number_at(reply, 2) / values : 0,
                            .value_count = (int64_t)fmin(fmax(values, 0), 1e18),
                            .start_ms = hour > 0 && hour < 1e12 ? (int64_t)hour * HOUR_MS : 0};
    for (size_t i = 0; i < count; i++) {
        r->items[i].context = tkl_reply_bytes(tkl_reply_at(reply, 3 + 2 * i));
        r->items[i].mean = number_at(reply, 4 + 2 * i);
    }
    *out = &r->base;
    return TKL_OK;
}

/* Adds count and quantile of each context. *fits: see add_contexts(); also, all numbers belong to
 * the ranking's hour. */
static int add_details(const tkl_stats *stats, const tkl__stats_context *contexts,
                       const tkl_reply *replies, ranking *r, bool *fits)
{
    int rc = TKL_OK;
    *fits = true;
    for (size_t i = 0; rc == TKL_OK && *fits && i < r->base.count; i++) {
        summary s = {0};
        rc = add_hashes(&s, stats, &contexts[i], tkl_reply_at(replies, i), fits);
        if (rc == TKL_OK && s.sketch.count > 0) {
            *fits &= s.base.start_ms == r->base.start_ms;
            r->items[i].count = s.sketch.count;
            r->items[i].p99 = tkl__stats_sketch_quantile(&s.sketch, 0.99);
        }
        tkl__stats_sketch_free(&s.sketch);
    }
    return rc;
}

/* Reads the contexts of the ranking, one after the other. */
static int detail_ranking(tkl_stats *stats, tkl_bytes which, ranking *r, bool *fits)
{
    size_t count = r->base.count;
    tkl_reply *replies = NULL;
    *fits = true;
    if (count == 0)
        return TKL_OK;
    tkl__stats_context *contexts = calloc(count, sizeof *contexts);
    int rc = contexts ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__stats_context_make(stats, r->items[i].context, &contexts[i]);
    if (rc == TKL_OK)
        rc = run_shows(stats, contexts, count, which, &replies);
    if (rc == TKL_OK)
        rc = add_details(stats, contexts, replies, r, fits);
    for (size_t i = 0; contexts && i < count; i++)
        tkl__stats_context_free(&contexts[i]);
    free(contexts);
    tkl_reply_free(replies);
    return rc;
}

static int ask_ranking(tkl_stats *stats, const char *which, size_t max, tkl_stats_ranking **out)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, which);
    tkl__args_int(&args, max < 1000 ? (int64_t)max : 1000);
    int rc = tkl__eval(stats->client, &tkl__lua_stats_slowest, &stats->keys, &args,
                       tkl__deadline(stats->client, stats->timeout_ms), true, &reply);
    tkl__args_free(&args);
    return rc == TKL_OK ? make_ranking(reply, out) : rc;
}

int tkl_stats_slowest(tkl_stats *stats, tkl_hour hour, size_t max, tkl_stats_ranking **out)
{
    const char *which = hour == TKL_HOUR_THIS ? "this" : "last";
    bool fits = false;
    *out = NULL;
    int rc = tkl__check_number("hour", hour, TKL_HOUR_THIS, TKL_HOUR_LAST);
    for (int try = 0; rc == TKL_OK && !fits && try < TRIES; try++) {
        tkl_stats_ranking_free(*out);
        *out = NULL;
        rc = ask_ranking(stats, which, max, out);
        if (rc == TKL_OK)
            rc = detail_ranking(stats, tkl_str(which), (ranking *)(void *)*out, &fits);
    }
    if (rc != TKL_OK) { /* a ranking of another hour is kept: the clock may have been set back */
        tkl_stats_ranking_free(*out);
        *out = NULL;
    }
    return rc;
}

void tkl_stats_ranking_free(tkl_stats_ranking *base)
{
    ranking *r = (ranking *)(void *)base;
    if (!r)
        return;
    tkl_reply_free(r->reply);
    free(r);
}

/* ---- Types and contexts -------------------------------------------------- */

int tkl_stats_names(tkl_client *client, tkl_names **types)
{
    return tkl__instances(client, COMPONENT, "total", "hash", types);
}

/* A search for contexts among the keys of a type. */
typedef struct search {
    tkl_bytes start; /* start of their keys: "base:this:" */
    tkl__names found;
} search;

static int visit_key(tkl_bytes key, void *arg)
{
    search *s = arg;
    if (key.len == s->start.len || !tkl__begins_with(key, s->start))
        return TKL_OK;
    return tkl__names_add_copy(&s->found,
                               (tkl_bytes){key.data + s->start.len, key.len - s->start.len});
}

/* Finds the contexts that have a key of this part. A pattern ends at a NUL, so it has "?" where the
 * type has a NUL, and the start of each key is compared. */
static int find_contexts(const tkl_stats *stats, const char *part, search *s)
{
    tkl__buf start, pattern;
    tkl__buf_init(&start);
    tkl__buf_init(&pattern);
    tkl__buf_add(&start, stats->base.data, stats->base.len);
    tkl__buf_addz(&start, part);
    for (size_t i = 0; i < start.len; i++) {
        const char one[2] = {start.data[i], '\0'};
        if (*one)
            tkl__glob_escape(&pattern, one);
        else
            tkl__buf_addz(&pattern, "?");
    }
    tkl__buf_addz(&pattern, "*");
    s->start = (tkl_bytes){start.data, start.len};
    int rc = start.failed || pattern.failed
                 ? tkl__nomem()
                 : tkl__walk(stats->client, (tkl_bytes){pattern.data, pattern.len}, "hash",
                             visit_key, s);
    tkl__buf_free(&start);
    tkl__buf_free(&pattern);
    return rc;
}

int tkl_stats_contexts(tkl_stats *stats, tkl_names **contexts)
{
    search s = {0};
    *contexts = NULL;
    int rc = find_contexts(stats, TKL__STATS_THIS_PART, &s);
    if (rc == TKL_OK)
        rc = find_contexts(stats, TKL__STATS_LAST_PART, &s);
    if (rc == TKL_OK) {
        tkl__names_tidy(&s.found, NULL, NULL);
        rc = tkl__names_result(&s.found, contexts);
    }
    tkl__names_free(&s.found);
    return rc;
}

int tkl_stats_drop(tkl_stats *stats, tkl_bytes context)
{
    tkl__stats_context made;
    tkl_reply *reply = NULL;
    int rc = tkl__stats_context_make(stats, context, &made);
    if (rc != TKL_OK)
        return rc;
    tkl__invocation call = {.script = &tkl__lua_stats_drop,
                            .keys = made.keys,
                            .nkeys = TKL__STATS_KEYS,
                            .args = &context,
                            .nargs = 1,
                            .retry_safe = true};
    rc = tkl__run(stats->client, &call, tkl__deadline(stats->client, stats->timeout_ms), &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    tkl__stats_context_free(&made);
    return rc;
}
