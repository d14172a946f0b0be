/* SPDX-License-Identifier: MIT
 *
 * Filters as a whole: read, created, grown, renewed, shown, dropped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bloom/bloom.h"
#include "bloom/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/number.h"
#include "core/reply.h"
#include "core/token.h"

/* The format of the positions of bits. An earlier format (a hash for each group) had no such
 * field. */
#define FORMAT "2"
/* Most parts of one step. */
#define STEP_PARTS 256
/* Keys live longer than requested by this fraction: an eighth. */
#define SPARE 8

#define COUNT_MAX  (INT64_C(1) << 53)
#define DIGITS_MAX 18 /* more digits may be too large for 64 bits */

/* ---- Reading the shape --------------------------------------------------- */

/* Reads a number; false: not a whole number in the range. */
static bool find_number(const tkl_reply *fields, const char *name, int64_t least, int64_t most,
                        int64_t *number)
{
    tkl_bytes text = tkl_reply_bytes(tkl__reply_field(fields, name));
    *number = tkl_reply_int(tkl__reply_field(fields, name));
    bool digits =
        text.len > 0 && text.len <= DIGITS_MAX && strspn(text.data, "0123456789") == text.len;
    return digits && *number >= least && *number <= most;
}

static bool read_subfilter(const tkl_reply *fields, int i, tkl__bloom_subfilter *sub)
{
    char field[TKL__FIELD_SIZE];
    int64_t bytes = 0, hashes = 0;
    bool sound =
        find_number(fields, tkl__bloom_field(i, "capacity", field), 1, INT64_MAX, &sub->capacity) &&
        find_number(fields, tkl__bloom_field(i, "count", field), 0, COUNT_MAX, &sub->count) &&
        find_number(fields, tkl__bloom_field(i, "bytes", field), 1, (int64_t)TKL__BYTES_MAX,
                    &bytes) &&
        find_number(fields, tkl__bloom_field(i, "hashes", field), 1, TKL__HASHES_MAX, &hashes);
    sub->bytes = (uint64_t)bytes;
    sub->hashes = (int)hashes;
    return sound;
}

static bool read_shape(const tkl_reply *fields, tkl__bloom_shape *shape)
{
    const char *version = tkl_reply_str(tkl__reply_field(fields, "version"));
    int64_t filters;
    if (!tkl__is_token(version) || !find_number(fields, "filters", 1, TKL__SUBS_MAX, &filters))
        return false;
    strcpy(shape->version, version);
    shape->error = tkl_reply_double(tkl__reply_field(fields, "error"));
    shape->fixed = strcmp(tkl_reply_str(tkl__reply_field(fields, "fixed")), "1") == 0;
    shape->count = (int)filters;
    for (int i = 0; i < shape->count; i++)
        if (!read_subfilter(fields, i, &shape->subs[i]))
            return false;
    return true;
}

/* The state of a filter. */
typedef enum condition {
    SOUND,
    MISSING,
    FOREIGN,  /* not a filter */
    OLD,      /* another version of tackle made it: it can only be dropped */
    DROPPING, /* a client has started to drop it */
} condition;

static condition judge_fields(const tkl_reply *fields, tkl__bloom_shape *shape)
{
    if (tkl_reply_count(fields) == 0)
        return MISSING;
    if (!read_shape(fields, shape))
        return FOREIGN;
    if (!tkl_reply_is_nil(tkl__reply_field(fields, "dropping")))
        return DROPPING;
    return strcmp(tkl_reply_str(tkl__reply_field(fields, "format")), FORMAT) == 0 ? SOUND : OLD;
}

static int look_at_meta(const tkl_bloom *bloom, tkl__bloom_shape *shape, condition *found)
{
    const char *argv[] = {"HGETALL", bloom->meta.data};
    const size_t lens[] = {7, bloom->meta.len};
    tkl_call_options options = {.timeout_ms = bloom->timeout_ms, .retry_safe = true};
    tkl_reply *fields;
    *shape = (tkl__bloom_shape){.count = 0};
    int rc = tkl_call(bloom->client, 2, argv, lens, &options, &fields);
    *found = rc == TKL_OK ? judge_fields(fields, shape) : MISSING;
    tkl_reply_free(fields);
    return rc;
}

/* Remembers a shape; NULL: it is unknown. */
static void remember_shape(tkl_bloom *bloom, const tkl__bloom_shape *shape)
{
    pthread_mutex_lock(&bloom->mutex);
    bloom->shape = shape ? *shape : (tkl__bloom_shape){.count = 0};
    pthread_mutex_unlock(&bloom->mutex);
}

int tkl__bloom_load(tkl_bloom *bloom, tkl__bloom_shape *shape)
{
    condition found;
    int rc = look_at_meta(bloom, shape, &found);
    remember_shape(bloom, rc == TKL_OK && found == SOUND ? shape : NULL);
    if (rc != TKL_OK || found == SOUND)
        return rc;
    if (found == OLD)
        return tkl__fail(TKL_ETYPE, "the filter was made by an older version of tackle, whose "
                                    "filters err too often: drop it and add its items again");
    if (found == FOREIGN)
        return tkl__fail(TKL_ETYPE, "%s is not a filter of tackle", bloom->meta.data);
    return tkl__no(TKL_NOTFOUND);
}

int tkl__bloom_read_shape(tkl_bloom *bloom, tkl__bloom_shape *shape)
{
    pthread_mutex_lock(&bloom->mutex);
    *shape = bloom->shape;
    pthread_mutex_unlock(&bloom->mutex);
    return shape->count > 0 ? TKL_OK : tkl__bloom_load(bloom, shape);
}

/* ---- Scripts that answer with a code ------------------------------------- */

int tkl__bloom_run(tkl_bloom *bloom, const tkl__script *script, const tkl__bloom_keys *keys,
                   const tkl__args *args, bool retry_safe)
{
    tkl__keys list = {keys->items, keys->count};
    tkl_reply *reply;
    int rc = tkl__eval(bloom->client, script, &list, args, tkl__bloom_deadline(bloom), retry_safe,
                       &reply);
    if (rc == TKL_OK)
        rc = (int)tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc > 0 ? tkl__no(rc) : rc;
}

/* Runs a script on meta and the parts of a sub-filter from `first` to before `end`. */
static int run_on_parts(tkl_bloom *bloom, const tkl__script *script, int sub, int first, int end,
                        const tkl__args *args, bool retry_safe)
{
    tkl__bloom_keys keys;
    tkl__bloom_keys_begin(&keys, bloom);
    for (int part = first; part < end; part++)
        tkl__bloom_keys_part(&keys, bloom, sub, part);
    int rc = tkl__bloom_keys_end(&keys);
    if (rc == TKL_OK)
        rc = tkl__bloom_run(bloom, script, &keys, args, retry_safe);
    tkl__bloom_keys_free(&keys);
    return rc;
}

/* Runs a script on all parts of a sub-filter, in steps. */
static int run_in_steps(tkl_bloom *bloom, const tkl__script *script, const tkl__bloom_shape *shape,
                        int sub, const tkl__args *args)
{
    int parts = tkl__bloom_subfilter_parts(&shape->subs[sub]), rc = TKL_OK;
    for (int first = 0; rc == TKL_OK && first < parts; first += STEP_PARTS) {
        int end = parts - first < STEP_PARTS ? parts : first + STEP_PARTS;
        rc = run_on_parts(bloom, script, sub, first, end, args, true);
    }
    return rc;
}

/* ---- Lifetimes ----------------------------------------------------------- */

int64_t tkl__bloom_lifetime(const tkl_bloom *bloom)
{
    return bloom->ttl_ms == 0 ? 0 : bloom->ttl_ms + bloom->ttl_ms / SPARE + 1;
}

static bool is_due(tkl_bloom *bloom, int64_t now)
{
    pthread_mutex_lock(&bloom->mutex);
    bool due = bloom->kept == 0 || now - bloom->kept >= bloom->ttl_ms / SPARE * 1000;
    if (due)
        bloom->kept = now;
    pthread_mutex_unlock(&bloom->mutex);
    return due;
}

int tkl__bloom_keep(tkl_bloom *bloom)
{
    tkl__bloom_shape shape;
    tkl__args args;
    if (bloom->ttl_ms == 0 || !is_due(bloom, tkl__now()))
        return TKL_OK;
    int rc = tkl__bloom_read_shape(bloom, &shape);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, shape.version);
    tkl__args_int(&args, tkl__bloom_lifetime(bloom));
    for (int i = 0; rc == TKL_OK && i < shape.count; i++)
        rc = run_in_steps(bloom, &tkl__lua_bloom_keep, &shape, i, &args);
    tkl__args_free(&args);
    if (rc != TKL_OK) { /* another client has changed the filter: the next call will notice */
        pthread_mutex_lock(&bloom->mutex);
        bloom->kept = 0;
        pthread_mutex_unlock(&bloom->mutex);
    }
    return rc;
}

/* ---- Making and growing -------------------------------------------------- */

static int clear_parts(tkl_bloom *bloom, const char *before, const tkl__bloom_shape *shape)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, before);
    int rc = run_in_steps(bloom, &tkl__lua_bloom_clear, shape, shape->count - 1, &args);
    tkl__args_free(&args);
    return rc;
}

typedef struct fields {
    char names[4][TKL__FIELD_SIZE];
} fields;

static void put_subfilter(tkl__args *args, fields *f, int i, const tkl__bloom_subfilter *sub)
{
    tkl__args_str(args, tkl__bloom_field(i, "capacity", f->names[0]));
    tkl__args_int(args, sub->capacity);
    tkl__args_str(args, tkl__bloom_field(i, "bytes", f->names[1]));
    tkl__args_int(args, (int64_t)sub->bytes);
    tkl__args_str(args, tkl__bloom_field(i, "hashes", f->names[2]));
    tkl__args_int(args, sub->hashes);
    tkl__args_str(args, tkl__bloom_field(i, "count", f->names[3]));
    tkl__args_int(args, 0);
}

/* Stores the newest sub-filter of the shape. */
static int write_shape(tkl_bloom *bloom, const char *before, const tkl__bloom_shape *shape)
{
    int newest = shape->count - 1;
    fields f;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, before);
    tkl__args_str(&args, shape->version);
    tkl__args_int(&args, tkl__bloom_lifetime(bloom));
    tkl__args_str(&args, "format");
    tkl__args_str(&args, FORMAT);
    tkl__args_str(&args, "error");
    tkl__args_double(&args, shape->error);
    tkl__args_str(&args, "fixed");
    tkl__args_int(&args, shape->fixed);
    tkl__args_str(&args, "filters");
    tkl__args_int(&args, shape->count);
    put_subfilter(&args, &f, newest, &shape->subs[newest]);
    int rc = run_on_parts(bloom, &tkl__lua_bloom_reserve, newest, 0, 0, &args, true);
    tkl__args_free(&args);
    return rc;
}

static int reserve_shape(tkl_bloom *bloom, const char *before, const tkl__bloom_shape *shape)
{
    int rc = clear_parts(bloom, before, shape);
    return rc == TKL_OK ? write_shape(bloom, before, shape) : rc;
}

static int finish_drop(tkl_bloom *bloom);

int tkl__bloom_make(tkl_bloom *bloom)
{
    tkl__bloom_shape shape = bloom->planned;
    tkl__token_new(shape.version);
    int rc = reserve_shape(bloom, "", &shape);
    if (rc == TKL_EXISTS) { /* it may be one that is being dropped */
        int dropped = finish_drop(bloom);
        rc = dropped == TKL_OK ? reserve_shape(bloom, "", &shape) : dropped < 0 ? dropped : rc;
    }
    if (rc == TKL_OK)
        remember_shape(bloom, &shape);
    return rc;
}

int tkl_bloom_reserve(tkl_bloom *bloom)
{
    return tkl__bloom_make(bloom);
}

/* Grows the filter. The new version makes every client load the shape again. */
int tkl__bloom_grow(tkl_bloom *bloom, const tkl__bloom_shape *seen)
{
    tkl__bloom_shape shape = *seen;
    int rc = seen->fixed ? TKL_FULL : tkl__bloom_shape_next(seen, &shape.subs[seen->count]);
    if (rc != TKL_OK)
        return tkl__fail(rc, "the filter has as many items as it was made for");
    shape.count++;
    tkl__token_new(shape.version);
    rc = reserve_shape(bloom, seen->version, &shape);
    if (rc < 0)
        return rc;
    rc = tkl__bloom_load(bloom, &shape);
    return rc == TKL_NOTFOUND ? TKL_OK : rc; /* dropped in the meantime: the next attempt creates it
                                                */
}

/* ---- Showing ------------------------------------------------------------- */

int tkl_bloom_show(tkl_bloom *bloom, tkl_bloom_info **info)
{
    tkl__bloom_shape shape;
    *info = NULL;
    int rc = tkl__bloom_load(bloom, &shape);
    if (rc != TKL_OK)
        return rc;
    tkl_bloom_info *shown = calloc(1, sizeof *shown);
    if (!shown)
        return tkl__nomem();
    shown->error = shape.error;
    shown->filters = shape.count;
    shown->hashes = shape.subs[0].hashes;
    shown->fixed = shape.fixed;
    for (int i = 0; i < shape.count; i++) {
        shown->capacity += shape.subs[i].capacity;
        shown->count += shape.subs[i].count;
        shown->bytes += tkl__bloom_subfilter_size(&shape.subs[i]);
    }
    *info = shown;
    return TKL_OK;
}

void tkl_bloom_info_free(tkl_bloom_info *info)
{
    free(info);
}

/* ---- Dropping ------------------------------------------------------------ */

static int drop_step(tkl_bloom *bloom, const tkl__bloom_shape *shape, int sub, int first, int end,
                     bool last)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, shape->version);
    tkl__args_int(&args, last);
    int rc = run_on_parts(bloom, &tkl__lua_bloom_drop, sub, first, end, &args, !last);
    tkl__args_free(&args);
    return rc;
}

/* Drops all parts: the oldest sub-filter last, and its first parts at the very end. */
static int drop_all(tkl_bloom *bloom, const tkl__bloom_shape *shape)
{
    int rc = TKL_OK;
    for (int i = shape->count - 1; rc == TKL_OK && i >= 0; i--)
        for (int end = tkl__bloom_subfilter_parts(&shape->subs[i]); rc == TKL_OK && end > 0;) {
            int first = end > STEP_PARTS ? end - STEP_PARTS : 0;
            rc = drop_step(bloom, shape, i, first, end, i == 0 && first == 0);
            end = first;
        }
    remember_shape(bloom, NULL);
    return rc;
}

/* TKL_OK: nothing is left. TKL_EXISTS: there is a filter that is not being dropped. */
static int finish_drop(tkl_bloom *bloom)
{
    tkl__bloom_shape shape;
    condition found;
    int rc = look_at_meta(bloom, &shape, &found);
    if (rc != TKL_OK || found == MISSING)
        return rc;
    if (found != DROPPING)
        return tkl__no(TKL_EXISTS);
    rc = drop_all(bloom, &shape);
    return rc == TKL_NOTFOUND ? TKL_OK : rc;
}

static int try_drop(tkl_bloom *bloom)
{
    tkl__bloom_shape shape;
    condition found;
    int rc = look_at_meta(bloom, &shape, &found);
    if (rc != TKL_OK)
        return rc;
    if (found == FOREIGN)
        return tkl__fail(TKL_ETYPE, "%s is not a filter of tackle", bloom->meta.data);
    if (found == MISSING)
        return tkl__no(TKL_NOTFOUND);
    rc = drop_all(bloom, &shape);
    return found == DROPPING && rc == TKL_OK ? tkl__no(TKL_NOTFOUND) : rc;
}

int tkl_bloom_drop(tkl_bloom *bloom)
{
    int rc = TKL_BUSY;
    for (int tries = 0; rc == TKL_BUSY && tries < TKL__BLOOM_TRIES; tries++)
        rc = try_drop(bloom);
    return rc == TKL_BUSY ? tkl__bloom_give_up() : rc;
}
