/* SPDX-License-Identifier: MIT
 *
 * Statistics and timers.
 *
 * All keys of a type share a slot, so that recording a value changes the statistics of its
 * context, the total of the type and the ranking in one step:
 *
 *   ns:stats:{type}:this:<context>  hash: hour, count, mean, m2, min, max, sum, sumsq, and for each
 *                                   bucket in use its number: how many values are in it (sketch.h)
 *   ns:stats:{type}:last:<context>  the same for the hour before
 *   ns:stats:{type}:total           hash: hour, count, sum of all contexts; last_hour, last_count,
 *                                   last_sum
 *   ns:stats:{type}:rank            sorted set: contexts by their mean in this hour
 *   ns:stats:{type}:rank_last       the same for the hour before
 *
 * The script that records the first value of an hour renames the key of "this" hour to that of the
 * "last" hour; for each context by itself, and for total and ranking together. Reading judges the
 * keys by the clock and changes nothing. When a clock is set back, nothing is lost or counted
 * twice: see shared/hours.inc.lua. All keys expire at the end of the last hour in which they can be
 * asked for.
 *
 * The caller sums up its values before it sends them: count, mean, m2, least, largest, sums and
 * buckets. The script merges two such sums. So a thousand values cost little more than one. The
 * deviation is exact where a sum of squares would lose it: the squares of 1e9 + {1, 2, 3} differ in
 * the last of nineteen digits, and a double has sixteen. Numbers are stored as text of 17 digits,
 * which reads back as the same number.
 *
 * Reading goes through a script, which judges the hours. The client itself reads a hash with more
 * than 2000 fields: HGETALL is five times as fast outside of Lua. If the hour has changed in
 * between, the client asks again.
 *
 * Values of an earlier time (`at_ms`) go to the keys of the last hour; or to the keys of "this"
 * hour when these still belong to the last hour, because nothing was recorded since. So a value is
 * stored where it would be if it had been recorded in time.
 *
 * The ranking keeps a thousand contexts with the largest means, although callers ask for a hundred:
 * a context that has dropped out returns only with its next value.
 */
#include "stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/options.h"
#include "pipeline/pipeline.h"
#include "stats/scripts.h"

#define COMPONENT "stats"
#define RANKED    1000
#define AT_ONCE   1000 /* most values of one script */
#define HOUR_MS   3600000

/* ---- Handles ------------------------------------------------------------- */

static int check_options(const tkl_stats_options *o)
{
    return TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                              {"ranked", o->ranked, 0, TKL_STATS_RANKED_MAX});
}

/* Opens "slow:" and the type, unless the options name another log. */
static int open_slow_log(tkl_stats *stats, tkl_bytes type, const tkl_stats_options *o)
{
    tkl_log_options options = {.timeout_ms = o->timeout_ms};
    if (o->no_slow_log)
        return TKL_OK;
    if (o->slow_log.len > 0)
        return tkl_log_open(stats->client, o->slow_log, &options, &stats->slow_log);
    tkl__buf name;
    tkl__buf_init(&name);
    tkl__buf_addz(&name, "slow:");
    tkl__buf_add(&name, type.data, type.len);
    int rc = name.failed ? tkl__nomem()
                         : tkl_log_open(stats->client, (tkl_bytes){name.data, name.len}, &options,
                                        &stats->slow_log);
    tkl__buf_free(&name);
    return rc;
}

int tkl_stats_open(tkl_client *client, tkl_bytes type, const tkl_stats_options *options,
                   tkl_stats **out)
{
    static const tkl_stats_options defaults;
    static const char *const parts[TKL__STATS_PARTS] = {"total", "rank", "rank_last"};
    const tkl_stats_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_stats *stats = calloc(1, sizeof *stats);
    if (!stats)
        return tkl__nomem();
    stats->client = client;
    stats->timeout_ms = o->timeout_ms;
    stats->ranked = o->ranked ? o->ranked : RANKED;
    rc = tkl__keys_make(client, COMPONENT, type, parts, TKL__STATS_PARTS, &stats->keys);
    if (rc == TKL_OK)
        rc = tkl__base_make(client, COMPONENT, type, &stats->base);
    if (rc == TKL_OK)
        rc = open_slow_log(stats, type, o);
    if (rc == TKL_OK)
        *out = stats;
    else
        tkl_stats_close(stats);
    return rc;
}

void tkl_stats_close(tkl_stats *stats)
{
    if (!stats)
        return;
    tkl_log_close(stats->slow_log);
    tkl__keys_free(&stats->keys);
    if (stats->base.data)
        tkl__base_free(&stats->base);
    free(stats);
}

/* ---- Keys of a context --------------------------------------------------- */

/* Writes "base:part:context"; returns the end, where the next key goes. */
static char *write_key(char *to, const tkl__base *base, const char *part, tkl_bytes context,
                       tkl_bytes *key)
{
    char *start = to;
    memcpy(to, base->data, base->len);
    to += base->len;
    memcpy(to, part, strlen(part));
    to += strlen(part);
    memcpy(to, context.data, context.len);
    to += context.len;
    *key = (tkl_bytes){start, (size_t)(to - start)};
    return to;
}

int tkl__stats_context_make(const tkl_stats *stats, tkl_bytes context, tkl__stats_context *made)
{
    *made = (tkl__stats_context){0};
    if (context.len == 0 || context.len > TKL_NAME_MAX)
        return tkl__fail(TKL_EINVAL, "a context of %zu bytes: 1 to %d", context.len, TKL_NAME_MAX);
    made->block = malloc(2 * (stats->base.len + sizeof TKL__STATS_THIS_PART + context.len));
    if (!made->block)
        return tkl__nomem();
    tkl_bytes *keys = made->keys;
    memcpy(keys, stats->keys.items, TKL__STATS_PARTS * sizeof *keys);
    char *next =
        write_key(made->block, &stats->base, TKL__STATS_THIS_PART, context, &keys[TKL__STATS_THIS]);
    write_key(next, &stats->base, TKL__STATS_LAST_PART, context, &keys[TKL__STATS_LAST]);
    return TKL_OK;
}

void tkl__stats_context_free(tkl__stats_context *made)
{
    free(made->block);
    *made = (tkl__stats_context){0};
}

/* ---- One script ---------------------------------------------------------- */

/* A call of stats/record for values of one context. */
typedef struct sending {
    tkl__stats_context context;
    tkl__args args;
    char (*names)[12]; /* names of the buckets */
} sending;

static void sending_free(sending *s)
{
    tkl__stats_context_free(&s->context);
    tkl__args_free(&s->args);
    free(s->names);
}

static void add_buckets(sending *s, const tkl__stats_sketch *sketch)
{
    for (size_t i = 0; i < sketch->nbuckets; i++) {
        snprintf(s->names[i], sizeof *s->names, "%d", sketch->buckets[i].number);
        tkl__args_str(&s->args, s->names[i]);
        tkl__args_int(&s->args, sketch->buckets[i].count);
    }
}

/* Makes a call for values of the context and hour of `like`. After success the caller frees it.
 * s->args.failed: there was no memory for an argument. */
static int sending_make(const tkl_stats *stats, const tkl_stats_value *like,
                        const tkl__stats_sketch *sketch, sending *s)
{
    *s = (sending){0};
    tkl__args_init(&s->args);
    int rc = tkl__stats_context_make(stats, like->context, &s->context);
    if (rc != TKL_OK)
        return rc;
    s->names = calloc(sketch->nbuckets + 1, sizeof *s->names);
    if (!s->names) {
        sending_free(s);
        return tkl__nomem();
    }
    tkl__args_bytes(&s->args, like->context);
    tkl__args_int(&s->args, stats->ranked);
    if (like->at_ms)
        tkl__args_int(&s->args, like->at_ms);
    else
        tkl__args_str(&s->args, "");
    tkl__args_int(&s->args, sketch->count);
    const double numbers[] = {sketch->mean, sketch->m2,  sketch->min,
                              sketch->max,  sketch->sum, sketch->sumsq};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tkl__args_double(&s->args, numbers[i]);
    add_buckets(s, sketch);
    return TKL_OK;
}

static double number_at(const tkl_reply *reply, size_t index)
{
    double number = 0;
    tkl__double_parse(tkl_reply_bytes(tkl_reply_at(reply, index)), &number);
    return number;
}

/* ---- Recording ----------------------------------------------------------- */

static int check_value(double value)
{
    if (isfinite(value) && fabs(value) <= TKL_STATS_VALUE_MAX)
        return TKL_OK;
    char text[TKL__DOUBLE_SIZE];
    return tkl__fail(TKL_EINVAL, "a value of %s cannot be recorded: -1e18 to 1e18",
                     tkl__double_text(value, text));
}

/* Prepares the recording of one value. */
static int sending_of_one(tkl_stats *stats, const tkl_stats_value *value, sending *s)
{
    tkl__stats_bucket bucket;
    tkl__stats_sketch sketch = {.buckets = &bucket, .cap = 1};
    int rc = check_value(value->value);
    if (rc == TKL_OK)
        rc = tkl__stats_sketch_add(&sketch, value->value); /* into the room for one */
    return rc == TKL_OK ? sending_make(stats, value, &sketch, s) : rc;
}

int tkl__stats_record_one(tkl_stats *stats, const tkl_stats_value *value, tkl__stats_means *means)
{
    tkl_reply *reply = NULL;
    sending s;
    *means = (tkl__stats_means){0};
    int rc = sending_of_one(stats, value, &s);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__eval(stats->client, &tkl__lua_stats_record,
                   &(tkl__keys){s.context.keys, TKL__STATS_KEYS}, &s.args,
                   tkl__deadline(stats->client, stats->timeout_ms), false, &reply);
    if (rc == TKL_OK)
        rc = tkl__at_result(tkl_reply_int(reply));
    *means = (tkl__stats_means){number_at(reply, 0), number_at(reply, 1), number_at(reply, 2),
                                number_at(reply, 3)};
    tkl_reply_free(reply);
    sending_free(&s);
    return rc;
}

/* The hour of a value, for sorting; 0: now. */
static int64_t hour_of(const tkl_stats_value *value)
{
    return value->at_ms / HOUR_MS;
}

static int by_context_and_hour(const void *a, const void *b)
{
    const tkl_stats_value *x = *(const tkl_stats_value *const *)a;
    const tkl_stats_value *y = *(const tkl_stats_value *const *)b;
    int order = tkl__compare_bytes(x->context, y->context);
    if (order == 0)
        order = (hour_of(x) > hour_of(y)) - (hour_of(x) < hour_of(y));
    if (order == 0) /* the latest first: it says whether one is in the future */
        order = (x->at_ms < y->at_ms) - (x->at_ms > y->at_ms);
    return order ? order : (x > y) - (x < y);
}

static bool same_context_and_hour(const tkl_stats_value *a, const tkl_stats_value *b)
{
    return hour_of(a) == hour_of(b) && tkl__same_bytes(a->context, b->context);
}

/* Returns how many of the sorted values, from the first on, fit into one script. */
static size_t group_of(const tkl_stats_value *const *sorted, size_t count)
{
    size_t n = 1;
    while (n < count && n < AT_ONCE && same_context_and_hour(sorted[0], sorted[n]))
        n++;
    return n;
}

/* Sends a script for each context and hour, all in one round trip. */
static int record_sorted(tkl_stats *stats, const tkl_stats_value *const *sorted, size_t count)
{
    tkl__stats_sketch sketch = {0};
    tkl__batch batch;
    int rc = TKL_OK;
    tkl__batch_init(&batch, stats->client);
    for (size_t at = 0, n; rc == TKL_OK && at < count; at += n) {
        sending s;
        tkl__keys keys = {s.context.keys, TKL__STATS_KEYS};
        n = group_of(sorted + at, count - at);
        tkl__stats_sketch_clear(&sketch);
        for (size_t i = at; rc == TKL_OK && i < at + n; i++)
            rc = tkl__stats_sketch_add(&sketch, sorted[i]->value);
        if (rc == TKL_OK)
            rc = sending_make(stats, sorted[at], &sketch, &s);
        if (rc == TKL_OK) {
            tkl__batch_eval(&batch, &tkl__lua_stats_record, &keys, &s.args, false);
            sending_free(&s);
        }
    }
    tkl__stats_sketch_free(&sketch);
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__deadline(stats->client, stats->timeout_ms));
    for (size_t i = 0; rc == TKL_OK && i < batch.count; i++)
        rc = tkl__at_result(tkl_reply_int(tkl__batch_reply(&batch, i)));
    tkl__batch_free(&batch);
    return rc;
}

static int record_many(tkl_stats *stats, const tkl_stats_value *values, size_t count)
{
    const tkl_stats_value **sorted = calloc(count, sizeof *sorted);
    if (!sorted)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        sorted[i] = &values[i];
    qsort(sorted, count, sizeof *sorted, by_context_and_hour);
    int rc = record_sorted(stats, sorted, count);
    free(sorted);
    return rc;
}

static int check_values(const tkl_stats_value *values, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = TKL__CHECK_RESERVED(&values[i]);
        if (rc == TKL_OK)
            rc = check_value(values[i].value);
        if (rc == TKL_OK)
            rc = tkl__check_number("at_ms", values[i].at_ms, 0, TKL__AT_MAX);
        if (rc == TKL_OK && (values[i].context.len == 0 || values[i].context.len > TKL_NAME_MAX))
            rc = tkl__fail(TKL_EINVAL, "a context of %zu bytes: 1 to %d", values[i].context.len,
                           TKL_NAME_MAX);
    }
    return rc;
}

int tkl_stats_record(tkl_stats *stats, const tkl_stats_value *values, size_t count)
{
    tkl__stats_means means;
    int rc = check_values(values, count);
    if (rc != TKL_OK || count == 0)
        return rc;
    return count == 1 ? tkl__stats_record_one(stats, values, &means)
                      : record_many(stats, values, count);
}

static int finish_record(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    (void)operation;
    return code == TKL_OK ? tkl__at_result(tkl_reply_int(reply)) : code;
}

int tkl_stats_record_in(tkl_pipeline *pipeline, tkl_stats *stats, const tkl_stats_value *value,
                        tkl_result *result)
{
    sending s;
    int rc = check_values(value, 1);
    if (rc == TKL_OK)
        rc = sending_of_one(stats, value, &s);
    if (rc != TKL_OK)
        return tkl__result_set(result, rc);
    rc = tkl__pipeline_eval(
        pipeline, stats->client, &tkl__lua_stats_record,
        &(tkl__keys){s.context.keys, TKL__STATS_KEYS}, &s.args, false,
        &(tkl__operation){.finish = finish_record, .handle = stats, .result = result});
    sending_free(&s);
    return rc;
}
