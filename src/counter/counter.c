/* SPDX-License-Identifier: MIT
 *
 * Counters over time.
 *
 * One key for each counter, the hash ns:counter:{name}:
 *
 *   shape         "120 1000 5000 ...": slices kept for each precision, and the precisions in ms
 *   since, until  the period in which no precision changes its slice, in ms
 *   1000          the count of the current slice of the precision 1000
 *   1000:17       "<slice> <count>": an ended slice of that precision, at place 17
 *
 * A slice is numbered by the server's clock: milliseconds since 1970 divided by the precision. As
 * long as the time is between since and until, adding is an HINCRBY for each precision. The first
 * add after that moves the counts of the slices that have ended to their places. The place of a
 * slice is its number modulo the slices kept. So a precision is a ring: a slice takes the place of
 * the slice that has left the window, adding is the same work however old the counter is, and
 * nothing has to be cleaned up. When nothing is counted in a slice, its place keeps the number of
 * an older slice and is read as zero.
 *
 * The hash expires when the last slice has left the window of the longest precision: its expiry
 * is set when a slice of that precision begins, and never to an earlier time.
 *
 * After the clock was set back, adds count in the slices of the time it shows. When the number of a
 * slice occurs again, its count is added to the count in its place. Slices that are in the future
 * now stay, and are added to when their time comes again. Only when the clock was set back by more
 * than a whole window (of the precision of a second: two minutes) do new slices take the places of
 * slices in the future.
 *
 * An event of an earlier time (counter/add_at) is added to the place of its slice directly, in each
 * precision whose window still has that slice. Within a window no two slices share a place.
 *
 * An add carries no id and is never repeated.
 */
#include "counter/counter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "counter/scripts.h"
#include "pipeline/pipeline.h"

#define COMPONENT "counter"
#define SAMPLES   120

static const int64_t usual_ms[] = {1000, 5000, 60000, 300000, 3600000, 18000000, 86400000};

/* ---- Handles ------------------------------------------------------------- */

static int check_precisions(const int64_t *every_ms, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int rc = tkl__check_number("every_ms", every_ms[i], 1, TKL__MS_MAX);
        if (rc != TKL_OK)
            return rc;
        for (size_t j = 0; j < i; j++)
            if (every_ms[j] == every_ms[i])
                return tkl__fail(TKL_EINVAL, "every_ms: %" PRId64 " is there twice", every_ms[i]);
    }
    return TKL_OK;
}

static int check_options(const tkl_counter_options *o)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"samples", o->samples, 0, TKL_COUNTER_SAMPLES_MAX},
                                {"every_count", (int64_t)o->every_count, o->every_ms ? 1 : 0,
                                 o->every_ms ? TKL_COUNTER_PRECISIONS_MAX : 0});
    return rc == TKL_OK ? check_precisions(o->every_ms, o->every_count) : rc;
}

static void write_shape(tkl_counter *counter, const tkl_counter_options *o)
{
    const int64_t *every_ms = o->every_ms ? o->every_ms : usual_ms;
    size_t count = o->every_ms ? o->every_count : sizeof usual_ms / sizeof *usual_ms;
    char *to = counter->shape, *end = to + sizeof counter->shape;
    to += snprintf(to, (size_t)(end - to), "%" PRId64, o->samples ? o->samples : SAMPLES);
    for (size_t i = 0; i < count; i++) {
        int len = snprintf(to, (size_t)(end - to), " %" PRId64, every_ms[i]);
        counter->precisions[i] = (tkl_bytes){to + 1, (size_t)len - 1};
        to += len;
    }
    counter->count = count;
    counter->strict = o->every_ms || o->samples;
}

int tkl_counter_open(tkl_client *client, tkl_bytes name, const tkl_counter_options *options,
                     tkl_counter **out)
{
    static const tkl_counter_options defaults;
    static const char *const parts[] = {""};
    const tkl_counter_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_counter *counter = calloc(1, sizeof *counter);
    if (!counter)
        return tkl__nomem();
    counter->client = client;
    counter->timeout_ms = o->timeout_ms;
    write_shape(counter, o);
    rc = tkl__keys_make(client, COMPONENT, name, parts, 1, &counter->keys);
    if (rc != TKL_OK) {
        free(counter);
        return rc;
    }
    *out = counter;
    return TKL_OK;
}

void tkl_counter_close(tkl_counter *counter)
{
    if (!counter)
        return;
    tkl__keys_free(&counter->keys);
    free(counter);
}

/* ---- Counting ------------------------------------------------------------ */

tkl__invocation tkl__counter_call(const tkl_counter *counter, int64_t amount,
                                  tkl__counter_count *count)
{
    snprintf(count->amount, sizeof count->amount, "%" PRId64, amount);
    count->args[0] = tkl_str(count->amount);
    count->args[1] = tkl_str(counter->shape);
    count->args[2] = tkl_str(counter->strict ? "1" : "0");
    memcpy(count->args + 3, counter->precisions, counter->count * sizeof *counter->precisions);
    return (tkl__invocation){.script = &tkl__lua_counter_add,
                             .keys = counter->keys.items,
                             .nkeys = 1,
                             .args = count->args,
                             .nargs = 3 + counter->count};
}

/* Makes a call that adds at an earlier time. */
static tkl__invocation call_at(const tkl_counter *counter, int64_t amount, int64_t at_ms,
                               tkl__counter_count *count)
{
    tkl__invocation call = tkl__counter_call(counter, amount, count);
    snprintf(count->at, sizeof count->at, "%" PRId64, at_ms);
    count->args[3] = tkl_str(count->at);
    call.script = &tkl__lua_counter_add_at;
    call.nargs = 4;
    return call;
}

int tkl__counter_result(const tkl_reply *reply)
{
    switch (tkl_reply_int(reply)) {
    case 1:
        return TKL_OK;
    case 0:
        return tkl__fail(TKL_EINVAL, "the counter has other precisions or samples");
    case -2:
        return tkl__fail(TKL_EINVAL, "at_ms: the counter keeps no slices of a time so long ago");
    case -3:
        return tkl__fail(TKL_EINVAL, "at_ms: the time is in the future");
    default:
        return tkl__fail(TKL_EREFUSED, "the count of a slice would exceed 2^53 - 1");
    }
}

static int check_amount(int64_t amount)
{
    return tkl__check_number("amount", amount, -TKL_COUNTER_MAX, TKL_COUNTER_MAX);
}

int tkl_counter_add(tkl_counter *counter, int64_t amount)
{
    tkl__counter_count count;
    tkl_reply *reply = NULL;
    int rc = check_amount(amount);
    if (rc != TKL_OK)
        return rc;
    tkl__invocation call = tkl__counter_call(counter, amount, &count);
    rc = tkl__run(counter->client, &call, tkl__deadline(counter->client, counter->timeout_ms),
                  &reply);
    if (rc == TKL_OK)
        rc = tkl__counter_result(reply);
    tkl_reply_free(reply);
    return rc;
}

static int finish_add(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    (void)operation;
    return code == TKL_OK ? tkl__counter_result(reply) : code;
}

int tkl_counter_add_in(tkl_pipeline *pipeline, tkl_counter *counter, int64_t amount,
                       tkl_result *result)
{
    tkl__counter_count count;
    int rc = check_amount(amount);
    if (rc != TKL_OK)
        return tkl__result_set(result, rc);
    tkl__invocation call = tkl__counter_call(counter, amount, &count);
    return tkl__pipeline_operation(
        pipeline, counter->client, &call,
        &(tkl__operation){.finish = finish_add, .handle = counter, .result = result});
}

/* Most adds in one round trip. */
#define TRIP_MAX 10000

static int check_item(const tkl_counter_item *item, const tkl_client *client)
{
    int rc = TKL__CHECK_RESERVED(item);
    if (rc == TKL_OK && !item->counter)
        rc = tkl__fail(TKL_EINVAL, "an item has no counter");
    if (rc == TKL_OK && item->counter->client != client)
        rc = tkl__fail(TKL_EINVAL, "the counters are of different clients");
    if (rc == TKL_OK)
        rc = tkl__check_number("at_ms", item->at_ms, 0, TKL_COUNTER_MAX);
    return rc == TKL_OK ? check_amount(item->amount) : rc;
}

/* The first counter among the items. All counters have the same client. */
static const tkl_counter *first_counter(const tkl_counter_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].counter)
            return items[i].counter;
    return NULL;
}

/* One round trip. Items that cannot be sent have their own codes. */
static void add_some(tkl__batch *batch, const tkl_counter *first, const tkl_counter_item *items,
                     size_t count, int *codes, tkl_error *failed)
{
    size_t sent = 0;
    tkl__batch_clear(batch);
    for (size_t i = 0; i < count; i++)
        if (check_item(&items[i], first->client) == TKL_OK) {
            const tkl_counter_item *item = &items[i];
            tkl__counter_count room;
            tkl__invocation call = item->at_ms
                                       ? call_at(item->counter, item->amount, item->at_ms, &room)
                                       : tkl__counter_call(item->counter, item->amount, &room);
            tkl__batch_add(batch, &call);
        }
    (void)tkl__batch_run(batch, tkl__deadline(first->client, first->timeout_ms));
    for (size_t i = 0; i < count; i++) {
        int code = check_item(&items[i], first->client);
        if (code == TKL_OK) {
            code = tkl__batch_code(batch, sent);
            if (code == TKL_OK)
                code = tkl__counter_result(tkl__batch_reply(batch, sent));
            sent++;
        }
        tkl__first_note(failed, code);
        if (codes)
            codes[i] = code;
    }
}

int tkl_counter_add_each(const tkl_counter_item *items, size_t count, int *codes)
{
    const tkl_counter *first = first_counter(items, count);
    tkl_error failed = {.code = TKL_OK};
    tkl__batch batch;
    for (size_t i = 0; codes && i < count; i++)
        codes[i] = TKL_EINVAL;
    if (!first)
        return count == 0 ? TKL_OK : tkl__fail(TKL_EINVAL, "no item has a counter");
    tkl__batch_init(&batch, first->client);
    for (size_t from = 0, some; from < count; from += some) {
        some = count - from < TRIP_MAX ? count - from : TRIP_MAX;
        add_some(&batch, first, items + from, some, codes ? codes + from : NULL, &failed);
    }
    tkl__batch_free(&batch);
    return tkl__first_tell(&failed);
}

/* ---- Reading ------------------------------------------------------------- */

/* Makes a series of the reply of counter/read: {samples, first, last, slice, count, ...}. */
static int make_series(const tkl_reply *reply, int64_t every_ms, tkl_counter_series **out)
{
    int64_t first = tkl_reply_int(tkl_reply_at(reply, 1));
    int64_t last = tkl_reply_int(tkl_reply_at(reply, 2));
    int64_t most = TKL_COUNTER_MAX / every_ms;
    if (first < -most || first > most || last < -most || last > most ||
        last - first > TKL_COUNTER_SAMPLES_MAX)
        return tkl__fail(TKL_EPROTO, "the server answers with slices of no counter");
    size_t count = last < first ? 0 : (size_t)(last - first + 1);
    tkl_counter_series *series = calloc(1, sizeof *series + count * sizeof(tkl_counter_slice));
    if (!series)
        return tkl__nomem();
    tkl_counter_slice *slices = (tkl_counter_slice *)(series + 1);
    for (size_t i = 0; i < count; i++)
        slices[i].start_ms = (first + (int64_t)i) * every_ms;
    for (size_t i = 3; i + 1 < tkl_reply_count(reply); i += 2) {
        int64_t slice = tkl_reply_int(tkl_reply_at(reply, i));
        int64_t counted = tkl_reply_int(tkl_reply_at(reply, i + 1));
        if (slice >= first && slice <= last && counted >= -TKL_COUNTER_MAX &&
            counted <= TKL_COUNTER_MAX)
            slices[slice - first].count += counted;
    }
    series->items = slices;
    series->count = count;
    series->every_ms = every_ms;
    series->samples = tkl_reply_int(tkl_reply_at(reply, 0));
    *out = series;
    return TKL_OK;
}

static int check_range(int64_t every_ms, int64_t from_ms, int64_t to_ms)
{
    int rc = tkl__check_number("every_ms", every_ms, 1, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("from_ms", from_ms, 0, TKL_COUNTER_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("to_ms", to_ms, 0, TKL_COUNTER_MAX);
    if (rc == TKL_OK && to_ms > 0 && from_ms > to_ms)
        rc = tkl__fail(TKL_EINVAL, "from_ms is after to_ms");
    return rc;
}

/* Reports that the counter has another shape, without the precision or samples of the caller. */
static int other_shape(const tkl_counter *counter, int64_t every_ms, const char *shape)
{
    if (counter->strict && strcmp(counter->shape, shape) != 0)
        return tkl__fail(TKL_EINVAL, "the counter has (samples and precisions in ms) %s, not %s",
                         shape, counter->shape);
    return tkl__fail(TKL_EINVAL,
                     "the counter has no precision of %" PRId64
                     " ms: it has (samples and precisions) %s",
                     every_ms, shape);
}

static int read_series(const tkl_counter *counter, const tkl_reply *reply, int64_t every_ms,
                       tkl_counter_series **series)
{
    if (tkl_reply_count(reply) == 0)
        return tkl__fail(TKL_NOTFOUND, "nothing was counted");
    if (tkl_reply_count(reply) == 1)
        return other_shape(counter, every_ms, tkl_reply_str(tkl_reply_at(reply, 0)));
    return make_series(reply, every_ms, series);
}

static void write_range(tkl__args *args, const tkl_counter *counter, int64_t every_ms,
                        int64_t from_ms, int64_t to_ms)
{
    tkl__args_init(args);
    tkl__args_int(args, every_ms);
    tkl__args_int(args, from_ms);
    tkl__args_int(args, to_ms);
    tkl__args_str(args, counter->strict ? counter->shape : "");
}

int tkl_counter_read(tkl_counter *counter, int64_t every_ms, int64_t from_ms, int64_t to_ms,
                     tkl_counter_series **series)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    *series = NULL;
    int rc = check_range(every_ms, from_ms, to_ms);
    if (rc != TKL_OK)
        return rc;
    write_range(&args, counter, every_ms, from_ms, to_ms);
    rc = tkl__eval(counter->client, &tkl__lua_counter_read, &counter->keys, &args,
                   tkl__deadline(counter->client, counter->timeout_ms), true, &reply);
    if (rc == TKL_OK)
        rc = read_series(counter, reply, every_ms, series);
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

static int finish_read(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    const int64_t *every_ms = operation->own;
    return code == TKL_OK ? read_series(operation->handle, reply, *every_ms, operation->output)
                          : code;
}

int tkl_counter_read_in(tkl_pipeline *pipeline, tkl_counter *counter, int64_t every_ms,
                        int64_t from_ms, int64_t to_ms, tkl_counter_series **series,
                        tkl_result *result)
{
    tkl__args args;
    int64_t *own = malloc(sizeof *own);
    *series = NULL;
    int rc = own ? check_range(every_ms, from_ms, to_ms) : tkl__nomem();
    if (rc != TKL_OK) {
        free(own);
        return tkl__result_set(result, rc);
    }
    *own = every_ms;
    write_range(&args, counter, every_ms, from_ms, to_ms);
    rc = tkl__pipeline_eval(pipeline, counter->client, &tkl__lua_counter_read, &counter->keys,
                            &args, true,
                            &(tkl__operation){.finish = finish_read,
                                              .handle = counter,
                                              .own = own,
                                              .output = series,
                                              .result = result});
    tkl__args_free(&args);
    return rc;
}

void tkl__counter_ask(tkl__batch *batch, tkl_bytes name, int64_t every_ms)
{
    tkl_counter *counter;
    tkl__args args;
    int rc = tkl_counter_open(batch->client, name, NULL, &counter);
    if (rc != TKL_OK) {
        tkl__batch_fail(batch, rc);
        return;
    }
    write_range(&args, counter, every_ms, 0, 0);
    tkl__batch_eval(batch, &tkl__lua_counter_read, &counter->keys, &args, true);
    tkl__args_free(&args);
    tkl_counter_close(counter);
}

int tkl__counter_heard(const tkl_reply *reply, int64_t every_ms, tkl_counter_series **series)
{
    static const tkl_counter any;
    return read_series(&any, reply, every_ms, series);
}

void tkl_counter_series_free(tkl_counter_series *series)
{
    free(series);
}

/* ---- All counters -------------------------------------------------------- */

int tkl_counter_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, COMPONENT, "", "hash", names);
}

/* ---- Removing ------------------------------------------------------------ */

int tkl_counter_drop(tkl_counter *counter)
{
    const char *words[] = {"UNLINK", counter->keys.items[0].data};
    const size_t lens[] = {6, counter->keys.items[0].len};
    tkl_call_options how = {.timeout_ms = counter->timeout_ms, .retry_safe = true};
    tkl_reply *reply = NULL;
    int rc = tkl_call(counter->client, 2, words, lens, &how, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    return rc;
}

/* Cleans one precision in steps; *is_there becomes false when there is no such precision. */
static int clean_precision(const tkl_counter *counter, int number, int64_t *sum, bool *is_there)
{
    int64_t place = 0, before;
    int rc;
    do {
        tkl__args args;
        tkl_reply *reply = NULL;
        before = place;
        tkl__args_init(&args);
        tkl__args_int(&args, number);
        tkl__args_int(&args, place);
        rc = tkl__eval(counter->client, &tkl__lua_counter_clean, &counter->keys, &args,
                       tkl__deadline(counter->client, 0), true, &reply);
        *is_there = rc == TKL_OK && tkl_reply_count(reply) > 0;
        int64_t removed = tkl_reply_int(tkl_reply_at(reply, 0));
        *sum += removed > 0 ? removed : 0;
        place = tkl_reply_int(tkl_reply_at(reply, 1));
        tkl__args_free(&args);
        tkl_reply_free(reply);
    } while (*is_there && place > before && place < TKL_COUNTER_SAMPLES_MAX);
    return rc;
}

static int clean_counter(tkl_client *client, tkl_bytes name, int64_t *sum)
{
    tkl_counter *counter;
    bool is_there = true;
    int rc = tkl_counter_open(client, name, NULL, &counter);
    for (int i = 1; rc == TKL_OK && is_there && i <= TKL_COUNTER_PRECISIONS_MAX; i++)
        rc = clean_precision(counter, i, sum, &is_there);
    tkl_counter_close(counter);
    return rc == TKL_ETYPE || rc == TKL_EDAMAGED ? TKL_OK : rc; /* another program's key: not ours
                                                                   to clean */
}

int tkl_counter_clean(tkl_client *client, int64_t *removed)
{
    tkl_names *names = NULL;
    int64_t sum = 0;
    int rc = tkl_counter_names(client, &names);
    for (size_t i = 0; rc == TKL_OK && i < names->count; i++)
        rc = clean_counter(client, names->items[i], &sum);
    tkl_names_free(names);
    if (removed)
        *removed = sum;
    return rc;
}
