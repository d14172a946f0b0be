/* SPDX-License-Identifier: MIT
 *
 * Instances as they are stored: texts in a row, each with a length of four bytes in network order.
 * The first is the address, the second the weight in decimal ("0": none), then come names and
 * values of metadata in turn.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "service/service.h"

enum { WEIGHT_MAX = 1000000, LENGTH = 4, META_MAX = 64 };

struct tkl__service_snapshot {
    atomic_int readers;
    uint64_t change;
    int64_t asked_at; /* time of the request by tkl__lease_now(); leases are counted from then */
    size_t count;
    tkl_service_instance *items;
    tkl_service_meta *meta;
    char *text; /* owns the texts of the items */
};

/* The result for the caller; `instances` must be first. */
typedef struct view {
    tkl_service_instances instances;
    tkl__service_snapshot *snapshot; /* owns the texts of the items */
    tkl_service_instance items[];
} view;

/* ---- Packing ------------------------------------------------------------- */

const char *tkl__service_instance_check(const tkl_service_instance *instance)
{
    size_t size = instance->address.len;
    if (instance->address.len == 0)
        return "the instance has no address";
    if (instance->id.len > TKL_SERVICE_TEXT_MAX)
        return "the id is too long";
    if (instance->weight < TKL_NONE || instance->weight > WEIGHT_MAX)
        return "a weight is from 1 to 1000000";
    if (instance->meta_count > META_MAX)
        return "more than 64 metadata";
    for (size_t i = 0; i < instance->meta_count; i++)
        size += instance->meta[i].name.len + instance->meta[i].value.len;
    return size > TKL_SERVICE_TEXT_MAX ? "address and metadata have more than 1024 bytes" : NULL;
}

static void put_text(tkl__buf *out, tkl_bytes text)
{
    uint32_t length = htonl((uint32_t)text.len);
    tkl__buf_add(out, &length, LENGTH);
    tkl__buf_add(out, text.data, text.len);
}

void tkl__service_instance_pack(const tkl_service_instance *instance, tkl__buf *out)
{
    char weight[24];
    int64_t number = instance->weight == 0          ? 1
                     : instance->weight == TKL_NONE ? 0
                                                    : instance->weight;
    snprintf(weight, sizeof weight, "%lld", (long long)number);
    put_text(out, instance->address);
    put_text(out, tkl_str(weight));
    for (size_t i = 0; i < instance->meta_count; i++) {
        put_text(out, instance->meta[i].name);
        put_text(out, instance->meta[i].value);
    }
}

/* ---- Unpacking ----------------------------------------------------------- */

/* Takes the next text off the front; false: at the end, or the bytes are shorter than its
 * length. */
static bool take_text(tkl_bytes *from, tkl_bytes *text)
{
    uint32_t length;
    if (from->len < LENGTH)
        return false;
    memcpy(&length, from->data, LENGTH);
    length = ntohl(length);
    if (from->len - LENGTH < length)
        return false;
    *text = (tkl_bytes){from->data + LENGTH, length};
    from->data += LENGTH + length;
    from->len -= LENGTH + length;
    return true;
}

/* The number of texts; 0: the bytes are not a row of texts. */
static size_t count_texts(tkl_bytes packed)
{
    size_t count = 0;
    tkl_bytes text;
    while (take_text(&packed, &text))
        count++;
    return packed.len == 0 ? count : 0;
}

/* Reads a weight in decimal, as tkl__service_instance_pack() writes it. */
static int64_t weight_of(tkl_bytes text)
{
    int64_t weight = 0;
    for (size_t i = 0; i < text.len && weight <= WEIGHT_MAX; i++)
        weight = 10 * weight + (text.data[i] - '0');
    return weight == 0 ? TKL_NONE : weight > WEIGHT_MAX || weight < 0 ? 1 : weight;
}

/* Unpacks an instance. Metadata go to *meta, which is advanced. */
static void unpack_instance(tkl_bytes packed, tkl_service_instance *instance,
                            tkl_service_meta **meta)
{
    tkl_bytes text = {0};
    take_text(&packed, &instance->address);
    take_text(&packed, &text);
    instance->weight = weight_of(text);
    instance->meta = *meta;
    while (take_text(&packed, &(*meta)->name) && take_text(&packed, &(*meta)->value)) {
        instance->meta_count++;
        ++*meta;
    }
}

/* ---- Snapshots ----------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const tkl_service_instance *one = a, *two = b;
    return tkl__compare_bytes(one->id, two->id);
}

/* The reply of one step of service/list: the time, ids and ends of leases in turn, infos. */
typedef struct listing {
    int64_t time;
    const tkl_reply *ends, *infos;
    size_t count;
} listing;

static listing read_listing(const tkl_reply *reply)
{
    const tkl_reply *ends = tkl_reply_at(reply, TKL__SERVICE_ENDS);
    return (listing){.time = tkl_reply_int(tkl_reply_at(reply, TKL__SERVICE_TIME)),
                     .ends = ends,
                     .infos = tkl_reply_at(reply, TKL__SERVICE_INFOS),
                     .count = tkl_reply_count(ends) / 2};
}

static tkl_bytes id_at(const listing *l, size_t i)
{
    return tkl_reply_bytes(tkl_reply_at(l->ends, 2 * i));
}

/* The info of an instance; nil: it is missing, and the instance is left out. */
static const tkl_reply *info_at(const listing *l, size_t i)
{
    return tkl_reply_at(l->infos, i);
}

/* The remaining time of a lease. A lease longer than the longest one was given before the clock was
 * set back. */
static int64_t left_at(const listing *l, size_t i)
{
    double end = tkl_reply_double(tkl_reply_at(l->ends, 2 * i + 1)), left = end - (double)l->time;
    return left < 0                           ? 0
           : left < TKL__SERVICE_LEASE_MAX_MS ? (int64_t)left
                                              : TKL__SERVICE_LEASE_MAX_MS;
}

/* The room that the instances of all steps need. */
typedef struct room {
    size_t instances, bytes, metas;
} room;

/* Adds the instances of a step. TKL_EDAMAGED: an info is damaged. */
static int measure_step(const listing *l, room *needed)
{
    needed->instances += l->count;
    for (size_t i = 0; i < l->count; i++) {
        tkl_bytes info = tkl_reply_bytes(info_at(l, i));
        size_t texts = count_texts(info);
        if (tkl_reply_is_nil(info_at(l, i)))
            continue;
        if (texts < 2 || texts % 2 != 0)
            return tkl__fail(TKL_EDAMAGED, "an instance was not written by tackle");
        needed->bytes += id_at(l, i).len + info.len;
        needed->metas += texts / 2; /* one more than needed: room for a name that is tried for */
    }
    return TKL_OK;
}

static tkl_bytes copy_text(tkl_bytes from, char **at)
{
    tkl_bytes copy = {*at, from.len};
    if (from.len > 0)
        memcpy(*at, from.data, from.len);
    *at += from.len;
    return copy;
}

/* Adds the instances of a step; *meta and *at are advanced. */
static void fill_step(tkl__service_snapshot *s, const listing *l, tkl_service_meta **meta,
                      char **at)
{
    for (size_t i = 0; i < l->count; i++) {
        if (tkl_reply_is_nil(info_at(l, i)))
            continue;
        tkl_service_instance *instance = &s->items[s->count++];
        tkl_bytes info = copy_text(tkl_reply_bytes(info_at(l, i)), at);
        unpack_instance(info, instance, meta);
        instance->id = copy_text(id_at(l, i), at);
        instance->left_ms = left_at(l, i);
    }
}

/* Sorts the instances by id; those that came in two steps stay once. */
static void sort_once(tkl__service_snapshot *s)
{
    size_t kept = 0;
    qsort(s->items, s->count, sizeof *s->items, by_id);
    for (size_t i = 0; i < s->count; i++)
        if (kept == 0 || by_id(&s->items[kept - 1], &s->items[i]) != 0)
            s->items[kept++] = s->items[i];
    s->count = kept;
}

int tkl__service_snapshot_make(tkl_reply *const *steps, size_t count, int64_t asked_at,
                               tkl__service_snapshot **snapshot)
{
    room needed = {.bytes = 1, .metas = 1}; /* at least 1, for malloc() */
    int rc = TKL_OK;
    *snapshot = NULL;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        listing l = read_listing(steps[i]);
        rc = measure_step(&l, &needed);
    }
    if (rc != TKL_OK)
        return rc;
    tkl__service_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return tkl__nomem();
    atomic_init(&s->readers, 1);
    s->asked_at = asked_at;
    s->items = calloc(needed.instances + 1, sizeof *s->items);
    s->meta = calloc(needed.metas, sizeof *s->meta);
    s->text = malloc(needed.bytes);
    if (!s->items || !s->meta || !s->text) {
        tkl__service_snapshot_free(s);
        return tkl__nomem();
    }
    tkl_service_meta *meta = s->meta;
    char *at = s->text;
    for (size_t i = 0; i < count; i++) {
        listing l = read_listing(steps[i]);
        fill_step(s, &l, &meta, &at);
    }
    sort_once(s);
    *snapshot = s;
    return TKL_OK;
}

void tkl__service_snapshot_free(tkl__service_snapshot *s)
{
    if (!s || atomic_fetch_sub(&s->readers, 1) != 1)
        return;
    free(s->items);
    free(s->meta);
    free(s->text);
    free(s);
}

size_t tkl__service_snapshot_count(const tkl__service_snapshot *s)
{
    return s->count;
}

const tkl_service_instance *tkl__service_snapshot_at(const tkl__service_snapshot *s, size_t index)
{
    return &s->items[index];
}

uint64_t tkl__service_snapshot_change(const tkl__service_snapshot *s)
{
    return s ? s->change : 0;
}

void tkl__service_snapshot_set_change(tkl__service_snapshot *s, uint64_t change)
{
    s->change = change;
}

static bool same_instance(const tkl_service_instance *a, const tkl_service_instance *b)
{
    if (!tkl__same_bytes(a->id, b->id) || !tkl__same_bytes(a->address, b->address) ||
        a->weight != b->weight || a->meta_count != b->meta_count)
        return false;
    for (size_t i = 0; i < a->meta_count; i++)
        if (!tkl__same_bytes(a->meta[i].name, b->meta[i].name) ||
            !tkl__same_bytes(a->meta[i].value, b->meta[i].value))
            return false;
    return true;
}

bool tkl__service_snapshot_same(const tkl__service_snapshot *a, const tkl__service_snapshot *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_instance(&a->items[i], &b->items[i]))
            return false;
    return true;
}

/* ---- Views --------------------------------------------------------------- */

/* The leases of the view are shorter by the time that the snapshot was kept. */
int tkl__service_snapshot_view(tkl__service_snapshot *s, int64_t index, int64_t age_ms,
                               tkl_service_instances **out)
{
    size_t first = index < 0 ? 0 : (size_t)index, count = index < 0 ? s->count : 1;
    int64_t passed = (tkl__lease_now() - s->asked_at) / 1000;
    view *v = malloc(sizeof *v + count * sizeof *v->items);
    if (!v)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        v->items[i] = s->items[first + i];
        int64_t left = v->items[i].left_ms - passed;
        v->items[i].left_ms = left > 0 ? left : 0;
    }
    atomic_fetch_add(&s->readers, 1);
    v->snapshot = s;
    v->instances = (tkl_service_instances){
        .items = v->items, .count = count, .change = s->change, .age_ms = age_ms};
    *out = &v->instances;
    return TKL_OK;
}

void tkl_service_instances_free(tkl_service_instances *instances)
{
    if (instances)
        tkl__service_snapshot_free(((view *)instances)->snapshot);
    free(instances);
}
