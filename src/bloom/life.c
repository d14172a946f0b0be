/* SPDX-License-Identifier: MIT
 *
 * Filters as a whole: made, grown, shown, merged, dropped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bloom/bloom.h"
#include "bloom/scripts.h"
#include "core/error.h"
#include "core/resp.h"
#include "core/token.h"

/* ---- Keys ---------------------------------------------------------------- */

const char *tkl__bloom_field(int sub, const char *what, char field[TKL__FIELD_SIZE])
{
    snprintf(field, TKL__FIELD_SIZE, "%d:%s", sub, what);
    return field;
}

static size_t count_parts(const tkl__shape *shape, int first)
{
    size_t count = 0;
    for (int i = first; i < shape->count; i++)
        count += (size_t)tkl__subfilter_parts(&shape->subs[i]);
    return count;
}

/* All texts first: the buffer moves while it grows. */
static void write_parts(const tkl_bloom *bloom, const tkl__shape *shape, int first, tkl__bloom_key_list *keys)
{
    for (int i = first; i < shape->count; i++)
        for (int part = 0; part < tkl__subfilter_parts(&shape->subs[i]); part++) {
            size_t start = keys->text.len;
            tkl__buf_add(&keys->text, bloom->base.data, bloom->base.len);
            tkl__buf_addf(&keys->text, ":%d.%d", i, part);
            keys->items[keys->count++].len = keys->text.len - start;
        }
}

int tkl__bloom_keys(const tkl_bloom *bloom, const tkl__shape *shape, int first, tkl__bloom_key_list *keys)
{
    tkl__buf_init(&keys->text);
    keys->count = 0;
    keys->items = malloc((1 + count_parts(shape, first)) * sizeof *keys->items);
    if (!keys->items)
        return tkl__nomem();
    keys->items[keys->count++] = bloom->meta;
    write_parts(bloom, shape, first, keys);
    const char *at = keys->text.data;
    for (size_t i = 1; i < keys->count; i++) {
        keys->items[i].data = at;
        at += keys->items[i].len;
    }
    return keys->text.failed ? tkl__nomem() : TKL_OK;
}

void tkl__bloom_key_list_free(tkl__bloom_key_list *keys)
{
    free(keys->items);
    tkl__buf_free(&keys->text);
}

/* ---- The shape ----------------------------------------------------------- */

static const char *find(const tkl_reply *fields, const char *name)
{
    for (size_t i = 0; i + 1 < tkl_reply_count(fields); i += 2)
        if (strcmp(tkl_reply_str(tkl_reply_at(fields, i)), name) == 0)
            return tkl_reply_str(tkl_reply_at(fields, i + 1));
    return "";
}

static int64_t find_number(const tkl_reply *fields, int sub, const char *what)
{
    char field[TKL__FIELD_SIZE];
    return strtoll(find(fields, tkl__bloom_field(sub, what, field)), NULL, 10);
}

static bool read_subfilter(const tkl_reply *fields, int i, tkl__subfilter *sub)
{
    *sub = (tkl__subfilter){
        .capacity = find_number(fields, i, "capacity"),
        .count = find_number(fields, i, "count"),
        .bytes = (uint64_t)find_number(fields, i, "bytes"),
        .hashes = (int)find_number(fields, i, "hashes"),
    };
    return sub->capacity > 0 && sub->bytes > 0 && sub->bytes <= TKL__BYTES_MAX && sub->hashes > 0 &&
           sub->hashes <= 64;
}

static bool read_shape(const tkl_reply *fields, tkl__shape *shape)
{
    const char *version = find(fields, "version");
    shape->error = strtod(find(fields, "error"), NULL);
    shape->fixed = strcmp(find(fields, "fixed"), "1") == 0;
    shape->count = atoi(find(fields, "filters"));
    if (strlen(version) >= sizeof shape->version || shape->count < 1 ||
        shape->count > TKL__SUBS_MAX)
        return false;
    strcpy(shape->version, version);
    for (int i = 0; i < shape->count; i++)
        if (!read_subfilter(fields, i, &shape->subs[i]))
            return false;
    return true;
}

static void remember(tkl_bloom *bloom, const tkl__shape *shape)
{
    pthread_mutex_lock(&bloom->mutex);
    bloom->shape = *shape;
    pthread_mutex_unlock(&bloom->mutex);
}

int tkl__bloom_load(tkl_bloom *bloom, tkl__shape *shape)
{
    const char *argv[] = {"HGETALL", bloom->meta.data};
    const size_t lens[] = {7, bloom->meta.len};
    tkl_call_options safe = {.retry_safe = true};
    tkl_reply *fields;
    *shape = (tkl__shape){.count = 0};
    int rc = tkl_call(bloom->client, 2, argv, lens, &safe, &fields);
    if (rc != TKL_OK)
        return rc;
    if (tkl_reply_count(fields) == 0)
        rc = TKL_NOTFOUND;
    else if (!read_shape(fields, shape))
        rc = tkl__fail(TKL_ETYPE, "%s is no filter of this version of tackle", bloom->meta.data);
    if (rc != TKL_OK)
        *shape = (tkl__shape){.count = 0};
    tkl_reply_free(fields);
    remember(bloom, shape);
    return rc;
}

int tkl__bloom_shape(tkl_bloom *bloom, tkl__shape *shape)
{
    pthread_mutex_lock(&bloom->mutex);
    *shape = bloom->shape;
    pthread_mutex_unlock(&bloom->mutex);
    return shape->count > 0 ? TKL_OK : tkl__bloom_load(bloom, shape);
}

/* ---- Making and growing -------------------------------------------------- */

enum { RESERVE_ARGS = 16 };

/* Fields and values, as text: the arguments of a script. */
typedef struct words {
    char text[RESERVE_ARGS][48];
    tkl_bytes args[RESERVE_ARGS];
    size_t count;
} words;

static void put(words *w, const char *format, ...) TKL_PRINTF(2, 3);

static void put(words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->text[w->count], sizeof w->text[0], format, args);
    va_end(args);
    w->args[w->count] = tkl_str(w->text[w->count]);
    w->count++;
}

static void put_subfilter(words *w, int i, const tkl__subfilter *sub)
{
    put(w, "%d:capacity", i);
    put(w, "%" PRId64, sub->capacity);
    put(w, "%d:bytes", i);
    put(w, "%" PRIu64, sub->bytes);
    put(w, "%d:hashes", i);
    put(w, "%d", sub->hashes);
    put(w, "%d:count", i);
    put(w, "0");
}

int tkl__bloom_run(tkl_client *client, const tkl__invocation *call)
{
    tkl_reply *reply;
    int rc = tkl__run(client, call, tkl__call_deadline(client, NULL), &reply);
    if (rc == TKL_OK)
        rc = (int)tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

static int run_code(tkl_client *client, const tkl__script *script, const tkl__bloom_key_list *keys,
                    const words *w, bool retry_safe)
{
    return tkl__bloom_run(client, &(tkl__invocation){.script = script,
                                                     .keys = keys->items,
                                                     .nkeys = keys->count,
                                                     .args = w->args,
                                                     .nargs = w->count,
                                                     .retry_safe = retry_safe});
}

/* Writes down the newest sub-filter of the shape. */
static int run_reserve(tkl_bloom *bloom, const char *before, const tkl__shape *shape)
{
    int newest = shape->count - 1;
    words w = {.count = 0};
    tkl__bloom_key_list keys;
    put(&w, "%s", before);
    put(&w, "%s", shape->version);
    put(&w, "error");
    put(&w, "%.17g", shape->error);
    put(&w, "fixed");
    put(&w, "%d", shape->fixed);
    put(&w, "filters");
    put(&w, "%d", shape->count);
    put_subfilter(&w, newest, &shape->subs[newest]);
    int rc = tkl__bloom_keys(bloom, shape, newest, &keys);
    if (rc == TKL_OK)
        rc = run_code(bloom->client, &tkl__lua_bloom_reserve, &keys, &w, true);
    tkl__bloom_key_list_free(&keys);
    return rc;
}

static int plan(double error, int64_t capacity, const tkl_bloom_options *options, tkl__shape *shape)
{
    *shape = (tkl__shape){.error = error, .fixed = options && options->fixed, .count = 1};
    return tkl__subfilter_make(error, capacity, &shape->subs[0]);
}

static int make(tkl_bloom *bloom, tkl__shape *shape)
{
    tkl__token_new(shape->version);
    int rc = run_reserve(bloom, "", shape);
    if (rc == TKL_OK)
        remember(bloom, shape);
    return rc;
}

int tkl_bloom_reserve(tkl_bloom *bloom, double error, int64_t capacity,
                      const tkl_bloom_options *options)
{
    tkl__shape shape;
    int rc = plan(error, capacity, options, &shape);
    return rc == TKL_OK ? make(bloom, &shape) : rc;
}

int tkl_bloom_reserve_on_add(tkl_bloom *bloom, double error, int64_t capacity,
                             const tkl_bloom_options *options)
{
    tkl__shape shape;
    int rc = plan(error, capacity, options, &shape);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&bloom->mutex);
    bloom->planned = shape;
    pthread_mutex_unlock(&bloom->mutex);
    return TKL_OK;
}

int tkl__bloom_make_planned(tkl_bloom *bloom)
{
    pthread_mutex_lock(&bloom->mutex);
    tkl__shape shape = bloom->planned;
    pthread_mutex_unlock(&bloom->mutex);
    if (shape.count == 0)
        return TKL_NOTFOUND;
    int rc = make(bloom, &shape);
    return rc == TKL_EXISTS ? TKL_OK : rc;
}

/* The new version: every client that sees another loads the shape again. */
int tkl__bloom_grow(tkl_bloom *bloom, const tkl__shape *seen)
{
    tkl__shape shape = *seen;
    int rc = seen->fixed ? TKL_FULL : tkl__shape_next(seen, &shape.subs[seen->count]);
    if (rc != TKL_OK)
        return rc;
    shape.count++;
    tkl__token_new(shape.version);
    rc = run_reserve(bloom, seen->version, &shape);
    return rc == TKL_OK || rc == TKL_EXISTS ? tkl__bloom_load(bloom, &shape) : rc;
}

/* ---- Showing ------------------------------------------------------------- */

int tkl_bloom_show(tkl_bloom *bloom, tkl_bloom_info *info)
{
    tkl__shape shape;
    *info = (tkl_bloom_info){.filters = 0};
    int rc = tkl__bloom_load(bloom, &shape);
    if (rc != TKL_OK)
        return rc;
    *info = (tkl_bloom_info){.error = shape.error,
                             .filters = shape.count,
                             .hashes = shape.subs[0].hashes,
                             .fixed = shape.fixed};
    for (int i = 0; i < shape.count; i++) {
        info->capacity += shape.subs[i].capacity;
        info->count += shape.subs[i].count;
        info->bytes += tkl__subfilter_size(&shape.subs[i]);
    }
    return TKL_OK;
}

/* ---- Merging ------------------------------------------------------------- */

static bool are_together(const tkl_bloom *a, const tkl_bloom *b)
{
    return !a->client->route->cluster || tkl__slot_of(a->meta) == tkl__slot_of(b->meta);
}

/* All sub-filters that both have: another version of tackle may have chosen others. */
static int check_equal(const tkl__shape *a, const tkl__shape *b)
{
    bool equal = a->error == b->error && a->fixed == b->fixed;
    for (int i = 0; i < a->count && i < b->count; i++)
        equal = equal && tkl__subfilter_equal(&a->subs[i], &b->subs[i]);
    if (equal)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the filters were reserved with other error, capacity or kind");
}

/* Both shapes as they are now, the first grown until it has as many sub-filters as the second. */
static int make_alike(tkl_bloom *bloom, tkl_bloom *source, tkl__shape *to, tkl__shape *from)
{
    int rc = tkl__bloom_load(source, from);
    if (rc == TKL_OK)
        rc = tkl__bloom_load(bloom, to);
    if (rc == TKL_OK)
        rc = check_equal(to, from);
    while (rc == TKL_OK && to->count < from->count) {
        rc = tkl__bloom_grow(bloom, to);
        if (rc == TKL_OK)
            rc = tkl__bloom_shape(bloom, to);
    }
    return rc == TKL_OK ? check_equal(to, from) : rc;
}

/* Both metas, then the parts of sub-filter `i`, in turns. */
static int pair_keys(const tkl__bloom_key_list *to, const tkl__bloom_key_list *from, int first, int parts,
                     tkl__bloom_key_list *pairs)
{
    *pairs = (tkl__bloom_key_list){.items = malloc((2 + 2 * (size_t)parts) * sizeof(tkl_bytes))};
    tkl__buf_init(&pairs->text);
    if (!pairs->items)
        return tkl__nomem();
    pairs->items[pairs->count++] = to->items[0];
    pairs->items[pairs->count++] = from->items[0];
    for (int p = first; p < first + parts; p++) {
        pairs->items[pairs->count++] = to->items[1 + p];
        pairs->items[pairs->count++] = from->items[1 + p];
    }
    return TKL_OK;
}

static int merge_subfilters(tkl_client *client, const tkl__shape *to, const tkl__shape *from,
                            const tkl__bloom_key_list *to_keys, const tkl__bloom_key_list *from_keys)
{
    int rc = TKL_OK;
    for (int i = 0, first = 0; rc == TKL_OK && i < from->count; i++) {
        const tkl__subfilter *sub = &to->subs[i];
        int parts = tkl__subfilter_parts(sub);
        words w = {.count = 0};
        tkl__bloom_key_list pairs;
        put(&w, "%s", to->version);
        put(&w, "%s", from->version);
        put(&w, "%d:count", i);
        put(&w, "%" PRIu64, sub->bytes * 8);
        put(&w, "%d", sub->hashes);
        rc = pair_keys(to_keys, from_keys, first, parts, &pairs);
        if (rc == TKL_OK)
            rc = run_code(client, &tkl__lua_bloom_merge, &pairs, &w, true);
        tkl__bloom_key_list_free(&pairs);
        first += parts;
    }
    return rc;
}

static int try_merge(tkl_bloom *bloom, tkl_bloom *source)
{
    tkl__shape to, from;
    tkl__bloom_key_list to_keys, from_keys;
    int rc = make_alike(bloom, source, &to, &from);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__bloom_keys(bloom, &to, 0, &to_keys);
    int other = tkl__bloom_keys(source, &from, 0, &from_keys);
    if (rc == TKL_OK)
        rc = other;
    if (rc == TKL_OK)
        rc = are_together(bloom, source)
                 ? merge_subfilters(bloom->client, &to, &from, &to_keys, &from_keys)
                 : tkl__bloom_merge_apart(bloom, source, &to, &from, &to_keys, &from_keys);
    tkl__bloom_key_list_free(&to_keys);
    tkl__bloom_key_list_free(&from_keys);
    return rc;
}

/* Begun anew when one of them has grown meanwhile: merging twice does no harm. */
int tkl_bloom_merge(tkl_bloom *bloom, tkl_bloom *source)
{
    int rc;
    do
        rc = try_merge(bloom, source);
    while (rc == TKL_BUSY);
    return rc;
}

/* ---- Dropping ------------------------------------------------------------ */

static int try_drop(tkl_bloom *bloom)
{
    tkl__shape shape;
    tkl__bloom_key_list keys;
    words w = {.count = 0};
    int rc = tkl__bloom_load(bloom, &shape);
    if (rc != TKL_OK)
        return rc;
    put(&w, "%s", shape.version);
    rc = tkl__bloom_keys(bloom, &shape, 0, &keys);
    if (rc == TKL_OK)
        rc = run_code(bloom->client, &tkl__lua_bloom_drop, &keys, &w, false);
    tkl__bloom_key_list_free(&keys);
    return rc;
}

int tkl_bloom_drop(tkl_bloom *bloom)
{
    int rc;
    do
        rc = try_drop(bloom);
    while (rc == TKL_BUSY);
    return rc;
}
