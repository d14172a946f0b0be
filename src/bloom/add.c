/* SPDX-License-Identifier: MIT
 *
 * Adds items to a Bloom filter: the client computes the positions, and a script sets the bits.
 *
 * A batch is divided among runs of the script, each short enough for the server, and as many runs
 * as fit are sent in one round trip. Items that a run did not reach, or had no room for, stay in
 * the batch.
 */
#include <stdlib.h>
#include <string.h>

#include "bloom/bloom.h"
#include "bloom/scripts.h"
#include "core/error.h"

/* Limits of one run of the script: the server takes about 5 microseconds for a group of bits. */
#define RUN_ITEMS  250
#define RUN_GROUPS 1000
/* Most runs of one round trip. */
#define TRIP_RUNS 20

/* A batch while it is added. */
typedef struct batch {
    const tkl_bytes *items;
    bool *added;     /* NULL: the caller does not ask */
    size_t *waiting; /* indexes of the items that are not added yet */
    size_t count;    /* number of these items */
} batch;

/* One run of the script. */
typedef struct run {
    const tkl_bloom *bloom;
    const tkl__bloom_shape *shape;
    const size_t *chosen;     /* indexes of its items */
    size_t count;             /* number of items */
    tkl__bloom_group *groups; /* groups of all its items, in order */
    int *numbers;             /* number of the key of each part of the filter, from 1; 0: not used
                                 */
    tkl__bloom_keys keys;
    tkl__args args;
} run;

/* ---- Making a run -------------------------------------------------------- */

static size_t groups_each(const tkl__bloom_shape *shape)
{
    size_t groups = 0;
    for (int i = 0; i < shape->count; i++)
        groups += (size_t)tkl__bloom_subfilter_groups(&shape->subs[i]);
    return groups;
}

static size_t all_parts(const tkl__bloom_shape *shape)
{
    size_t parts = 0;
    for (int i = 0; i < shape->count; i++)
        parts += (size_t)tkl__bloom_subfilter_parts(&shape->subs[i]);
    return parts;
}

static size_t items_of_a_run(const tkl__bloom_shape *shape)
{
    size_t most = RUN_GROUPS / groups_each(shape);
    return most < 1 ? 1 : most < RUN_ITEMS ? most : RUN_ITEMS;
}

/* Adds the key and the size of a part when it is first needed. */
static void need_part(run *r, int *number, int sub, int part)
{
    if (*number > 0)
        return;
    tkl__bloom_keys_part(&r->keys, r->bloom, sub, part);
    tkl__args_int(&r->args, tkl__bloom_part_size(&r->shape->subs[sub], part));
    *number = (int)r->keys.count;
}

static void place_items(run *r, const tkl_bytes *items)
{
    tkl__bloom_group *group = r->groups;
    for (size_t n = 0; n < r->count; n++) {
        tkl__bloom_hash hash = tkl__bloom_hash_item(items[r->chosen[n]]);
        int *numbers = r->numbers;
        for (int i = 0; i < r->shape->count; i++) {
            const tkl__bloom_subfilter *sub = &r->shape->subs[i];
            for (int g = 0; g < tkl__bloom_subfilter_groups(sub); g++, group++) {
                tkl__bloom_subfilter_place(sub, hash, g, group);
                need_part(r, &numbers[group->part], i, group->part);
            }
            numbers += tkl__bloom_subfilter_parts(sub);
        }
    }
}

static void put_group(run *r, const tkl__bloom_group *group, int number)
{
    tkl__args_int(&r->args, number);
    for (int j = 0; j < group->count; j++)
        tkl__args_int(&r->args, (int64_t)(8 * group->start + group->bits[j]));
}

/* Adds the number of groups of each sub-filter, and the number of bits of each group: the same for
 * all items. */
static void put_layout(run *r)
{
    const tkl__bloom_group *group = r->groups;
    for (int i = 0; i < r->shape->count; i++) {
        int groups = tkl__bloom_subfilter_groups(&r->shape->subs[i]);
        tkl__args_int(&r->args, groups);
        for (int g = 0; g < groups; g++, group++)
            tkl__args_int(&r->args, group->count);
    }
}

static void put_items(run *r)
{
    const tkl__bloom_group *group = r->groups;
    for (size_t n = 0; n < r->count; n++) {
        const int *numbers = r->numbers;
        for (int i = 0; i < r->shape->count; i++) {
            const tkl__bloom_subfilter *sub = &r->shape->subs[i];
            for (int g = 0; g < tkl__bloom_subfilter_groups(sub); g++, group++)
                put_group(r, group, numbers[group->part]);
            numbers += tkl__bloom_subfilter_parts(sub);
        }
    }
}

static int run_make(run *r, const batch *b, const char *count_field)
{
    const tkl__bloom_shape *shape = r->shape;
    tkl__bloom_keys_begin(&r->keys, r->bloom);
    tkl__args_init(&r->args);
    r->groups = malloc(r->count * groups_each(shape) * sizeof *r->groups);
    r->numbers = calloc(all_parts(shape), sizeof *r->numbers);
    if (!r->groups || !r->numbers)
        return tkl__nomem();
    tkl__args_str(&r->args, shape->version);
    tkl__args_str(&r->args, count_field);
    tkl__args_int(&r->args, shape->subs[shape->count - 1].capacity);
    tkl__args_int(&r->args, shape->count);
    tkl__args_int(&r->args, tkl__bloom_lifetime(r->bloom));
    place_items(r, b->items);
    put_layout(r);
    put_items(r);
    return r->args.failed ? tkl__nomem() : tkl__bloom_keys_end(&r->keys);
}

static void run_free(run *r)
{
    tkl__bloom_keys_free(&r->keys);
    tkl__args_free(&r->args);
    free(r->groups);
    free(r->numbers);
}

/* ---- Results ------------------------------------------------------------- */

static bool is_in(int64_t code)
{
    return code == TKL_OK || code == TKL_EXISTS;
}

/* Reads the codes of a run. Items that are not added move to the front of `waiting`, at *kept. */
static int read_codes(batch *b, const run *r, const tkl_reply *reply, size_t *kept)
{
    int rc = TKL_OK;
    if (tkl_reply_count(reply) > r->count)
        return tkl__fail(TKL_EPROTO, "%zu answers for %zu items", tkl_reply_count(reply), r->count);
    for (size_t i = 0; i < r->count; i++) {
        const tkl_reply *one = tkl_reply_at(reply, i); /* nil: the script did not reach the item */
        int64_t code = tkl_reply_is_nil(one) ? TKL_BUSY : tkl_reply_int(one);
        size_t index = r->chosen[i];
        if (!is_in(code))
            b->waiting[(*kept)++] = index;
        else if (b->added)
            b->added[index] = code == TKL_OK;
        if (code == TKL_FULL)
            rc = TKL_FULL;
    }
    return rc;
}

static int keep_all(batch *b, const run *r, size_t *kept, int rc)
{
    for (size_t i = 0; i < r->count; i++)
        b->waiting[(*kept)++] = r->chosen[i];
    return rc;
}

static int read_run(batch *b, const run *r, const tkl__batch *calls, size_t index, size_t *kept)
{
    const tkl_reply *reply = tkl__batch_reply(calls, index);
    int code = tkl__batch_code(calls, index);
    if (code != TKL_OK)
        return keep_all(b, r, kept, code);
    if (tkl_reply_type_of(reply) == TKL_REPLY_ARRAY)
        return read_codes(b, r, reply, kept);
    code = (int)tkl_reply_int(reply);
    if (code != TKL_NOTFOUND && code != TKL_BUSY)
        code = tkl__fail(TKL_EPROTO, "the server answered %d to an add", code);
    return keep_all(b, r, kept, code);
}

/* ---- A round trip -------------------------------------------------------- */

/* Reads the replies of the runs, whose items are adjacent at the front of `waiting`. Items that
 * were not added stay there. */
static int read_runs(batch *b, const run *runs, const tkl__batch *calls)
{
    tkl_error first = {.code = TKL_OK};
    size_t sent = 0, kept = 0;
    for (size_t i = 0; i < calls->count; i++) {
        sent += runs[i].count;
        tkl__first_note(&first, read_run(b, &runs[i], calls, i, &kept));
    }
    memmove(b->waiting + kept, b->waiting + sent, (b->count - sent) * sizeof *b->waiting);
    b->count -= sent - kept;
    return tkl__first_tell(&first);
}

static int send_runs(tkl_bloom *bloom, batch *b, run *runs, size_t count)
{
    tkl__batch calls;
    tkl__batch_init(&calls, bloom->client);
    for (size_t i = 0; i < count; i++)
        tkl__batch_eval(&calls, &tkl__lua_bloom_add,
                        &(tkl__keys){runs[i].keys.items, runs[i].keys.count}, &runs[i].args,
                        !b->added);
    int rc = tkl__batch_run(&calls, tkl__bloom_deadline(bloom));
    if (calls.replies)
        rc = read_runs(b, runs, &calls);
    tkl__batch_free(&calls);
    return rc;
}

static int run_batch(tkl_bloom *bloom, batch *b, const tkl__bloom_shape *shape)
{
    run runs[TRIP_RUNS];
    char count_field[TKL__FIELD_SIZE];
    size_t most = items_of_a_run(shape), made = 0;
    int rc = TKL_OK;
    tkl__bloom_field(shape->count - 1, "count", count_field);
    for (size_t from = 0; rc == TKL_OK && from < b->count && made < TRIP_RUNS; from += most) {
        run *r = &runs[made++];
        *r = (run){.bloom = bloom, .shape = shape, .chosen = b->waiting + from};
        r->count = b->count - from < most ? b->count - from : most;
        rc = run_make(r, b, count_field);
    }
    if (rc == TKL_OK)
        rc = send_runs(bloom, b, runs, made);
    for (size_t i = 0; i < made; i++)
        run_free(&runs[i]);
    return rc;
}

/* ---- Batches ------------------------------------------------------------- */

/* One round trip. When the filter does not exist, is full or has another shape, also prepares the
 * next one. TKL_OK: go on. */
static int add_some(tkl_bloom *bloom, batch *b)
{
    tkl__bloom_shape shape;
    int rc = tkl__bloom_read_shape(bloom, &shape);
    if (rc == TKL_OK)
        rc = run_batch(bloom, b, &shape);
    if (rc == TKL_BUSY || rc == TKL_NOTFOUND)
        rc = tkl__bloom_load(bloom, &shape);
    if (rc == TKL_NOTFOUND) {
        rc = tkl__bloom_make(bloom);
        return rc == TKL_EXISTS ? TKL_OK : rc;
    }
    return rc == TKL_FULL ? tkl__bloom_grow(bloom, &shape) : rc;
}

static int add_all(tkl_bloom *bloom, batch *b)
{
    int rc = TKL_OK;
    for (int vain = 0; rc == TKL_OK && b->count > 0; vain++) {
        size_t before = b->count;
        rc = vain < TKL__BLOOM_TRIES ? add_some(bloom, b) : tkl__bloom_give_up();
        if (b->count < before)
            vain = 0;
    }
    return rc;
}

int tkl_bloom_add(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *added)
{
    batch b = {.items = items, .added = added, .count = count};
    if (count == 0)
        return TKL_OK;
    if (added)
        memset(added, 0, count * sizeof *added);
    b.waiting = malloc(count * sizeof *b.waiting);
    if (!b.waiting)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        b.waiting[i] = i;
    int rc = add_all(bloom, &b);
    if (rc == TKL_OK || rc == TKL_FULL) {
        int kept = tkl__bloom_keep(bloom);
        rc = kept < 0 ? kept : rc;
    }
    free(b.waiting);
    return rc;
}
