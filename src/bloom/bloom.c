/* SPDX-License-Identifier: MIT
 *
 * The Bloom filter: adding and asking.
 *
 * Keys of a name, all in one slot (ns:bloom:{name}:...), the user's own data, never expiring:
 *
 *   :meta   hash. version: 32 hex digits, others with every change of shape. error, fixed,
 *           filters: how many sub-filters. For each of them, from 0: i:capacity, i:bytes,
 *           i:hashes (bits for each item), i:count (items added).
 *   :i.p    string: part p of sub-filter i. shape.h tells where an item's bits are. It is made when
 *           the first bit in it is set.
 *
 * Where the bits of an item are is worked out here, so a client must know the shape. It keeps what
 * it has seen; every request names the version, or reads it along, and when the filter has grown or
 * was made anew meanwhile the request is repeated with the new shape. So a batch is one trip, and
 * one more each time that the filter grows.
 *
 * Adding is a script: it sets bits and counts what was new in one step, and when the newest
 * sub-filter is full it says which items were left out. It reads the bytes that an item's bits lie
 * in, sets them and writes them back: two short commands, where a BITFIELD of six bits takes
 * twenty-six arguments and an answer of six numbers (and a quarter more time). Asking needs none:
 * bits are never cleared, so single reads behind a look at the version see all that was added
 * before.
 */
#include "bloom/bloom.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bloom/scripts.h"
#include "core/error.h"
#include "core/reply.h"
#include "core/resp.h"

/* Items in one run of the add script, and in one trip. */
#define RUN_MAX  250
#define TRIP_MAX 5000
/* Items asked for in one trip: a filter that has grown answers each dozens of times. */
#define ASK_MAX 1000
/* Those of them that are sent first: the server begins with them while the others are worked out.
 */
#define ASK_FIRST 10

/* ---- Opening ------------------------------------------------------------- */

int tkl_bloom_open(tkl_client *client, tkl_bytes name, tkl_bloom **out)
{
    *out = NULL;
    tkl_bloom *bloom = calloc(1, sizeof *bloom);
    if (!bloom)
        return tkl__nomem();
    bloom->client = client;
    pthread_mutex_init(&bloom->mutex, NULL);
    int rc = tkl__base_make(client, "bloom", name, &bloom->base);
    if (rc == TKL_OK)
        rc = tkl__key_make(&bloom->base, "meta", &bloom->meta);
    if (rc != TKL_OK) {
        tkl_bloom_close(bloom);
        return rc;
    }
    *out = bloom;
    return TKL_OK;
}

void tkl_bloom_close(tkl_bloom *bloom)
{
    if (!bloom)
        return;
    tkl__base_free(&bloom->base);
    free((char *)bloom->meta.data);
    pthread_mutex_destroy(&bloom->mutex);
    free(bloom);
}

/* ---- Adding -------------------------------------------------------------- */

/* Arguments of one run: texts in one buffer. */
typedef struct arguments {
    tkl__buf text;
    tkl_bytes *items;
    size_t count;
    bool failed;
} arguments;

static void put(arguments *a, const char *text, size_t len)
{
    tkl__buf_add(&a->text, text, len);
    a->items[a->count++].len = len;
}

static void put_number(arguments *a, uint64_t number)
{
    char text[24];
    char *start = text + sizeof text;
    do
        *--start = (char)('0' + number % 10);
    while (number /= 10);
    put(a, start, (size_t)(text + sizeof text - start));
}

/* How many groups each sub-filter has. */
static void put_groups(arguments *a, const tkl__shape *shape)
{
    char text[TKL__SUBS_MAX];
    for (int i = 0; i < shape->count; i++)
        text[i] = (char)('0' + tkl__subfilter_groups(&shape->subs[i]));
    put(a, text, (size_t)shape->count);
}

/* A byte of the window and which bits of it. */
typedef struct place {
    unsigned byte, bits;
} place;

/* The bytes of a group's bits: always GROUP_MAX, so that the script needs no loop. Where bits share
 * a byte, or are fewer, there are some without a bit, near the first. */
static void find_places(const tkl__group *group, place places[TKL__GROUP_MAX])
{
    int count = 0;
    for (int j = 0; j < group->count; j++) {
        unsigned byte = group->bits[j] / 8, bit = 0x80U >> group->bits[j] % 8;
        if (count == 0 || places[count - 1].byte != byte)
            places[count++] = (place){byte, 0};
        places[count - 1].bits |= bit;
    }
    for (int i = 1; count < TKL__GROUP_MAX; i++)
        if (i == count || places[i].byte != places[i - 1].byte + 1) {
            memmove(places + i + 1, places + i, (size_t)(count++ - i) * sizeof *places);
            places[i] = (place){places[i - 1].byte + 1, 0};
        }
}

static void put_group(arguments *a, uint64_t key, const tkl__group *group)
{
    place places[TKL__GROUP_MAX];
    char bytes[2 + 2 * TKL__GROUP_MAX - 1] = {(char)(key >> 8), (char)key};
    char *at = bytes + 2;
    find_places(group, places);
    uint64_t start = group->start + places[0].byte;
    for (int i = 1; i < TKL__GROUP_MAX; i++)
        *at++ = (char)(places[i].byte - places[0].byte + 1);
    for (int i = 0; i < TKL__GROUP_MAX; i++)
        *at++ = (char)places[i].bits;
    put_number(a, start);
    put_number(a, group->start + places[TKL__GROUP_MAX - 1].byte);
    put(a, bytes, sizeof bytes);
}

static void put_item(arguments *a, const tkl__shape *shape, tkl_bytes item)
{
    int first_key = 2; /* of the sub-filter: KEYS[1] is meta */
    for (int i = 0; i < shape->count; i++) {
        const tkl__subfilter *sub = &shape->subs[i];
        for (int g = 0; g < tkl__subfilter_groups(sub); g++) {
            tkl__group group;
            tkl__subfilter_place(sub, item, g, &group);
            put_group(a, (uint64_t)(first_key + group.part), &group);
        }
        first_key += tkl__subfilter_parts(sub);
    }
}

static size_t arguments_needed(const tkl__shape *shape, size_t items)
{
    size_t each = 0;
    for (int i = 0; i < shape->count; i++)
        each += 3 * (size_t)tkl__subfilter_groups(&shape->subs[i]);
    return 4 + items * each;
}

static void write_arguments(arguments *a, const tkl__shape *shape, const tkl_bytes *items,
                            const size_t *chosen, size_t count)
{
    char field[TKL__FIELD_SIZE];
    int newest = shape->count - 1;
    tkl__buf_init(&a->text);
    a->count = 0;
    a->items = malloc(arguments_needed(shape, count) * sizeof *a->items);
    a->failed = !a->items;
    if (a->failed)
        return;
    put(a, shape->version, strlen(shape->version));
    tkl__bloom_field(newest, "count", field);
    put(a, field, strlen(field));
    put_number(a, (uint64_t)shape->subs[newest].capacity);
    put_groups(a, shape);
    for (size_t i = 0; i < count; i++)
        put_item(a, shape, items[chosen[i]]);
    a->failed = a->text.failed;
    const char *at = a->text.data;
    for (size_t i = 0; i < a->count; i++) {
        a->items[i].data = at;
        at += a->items[i].len;
    }
}

/* A batch on its way in. */
typedef struct batch {
    const tkl_bytes *items;
    bool *added;     /* NULL: nobody asks */
    size_t *waiting; /* indices of the items not in yet */
    size_t count;    /* of them */
} batch;

/* Reads what became of `count` items; those left out go to the front of the line at *kept. */
static int read_letters(batch *b, const tkl_reply *reply, const size_t *chosen, size_t count,
                        size_t *kept)
{
    tkl_bytes letters = tkl_reply_bytes(reply);
    int rc = tkl_reply_kind(reply) == TKL_REPLY_STRING && letters.len == count
                 ? TKL_OK
                 : (int)tkl_reply_int(reply);
    for (size_t i = 0; i < count; i++) {
        char letter = 'r';
        if (i < letters.len && letters.len == count)
            letter = letters.data[i];
        if (letter == 'r') {
            rc = rc == TKL_OK ? TKL_FULL : rc;
            b->waiting[(*kept)++] = chosen[i];
        } else if (b->added)
            b->added[chosen[i]] = letter == 'n';
    }
    return rc;
}

/* The first failure, a "no" only when there is no error. */
static int worse(int a, int b)
{
    return a < 0 || b == TKL_OK ? a : b;
}

static int read_replies(batch *b, const tkl_reply *replies, size_t sent)
{
    int rc = TKL_OK;
    size_t kept = 0;
    for (size_t from = 0, i = 0; from < sent; from += RUN_MAX, i++) {
        size_t count = sent - from < RUN_MAX ? sent - from : RUN_MAX;
        const tkl_reply *reply = tkl_reply_at(replies, i);
        int code = tkl_reply_code(reply);
        if (code != TKL_OK)
            tkl__fail(code, "%s", tkl_reply_str(reply));
        else
            code = read_letters(b, reply, b->waiting + from, count, &kept);
        rc = worse(rc, code);
    }
    memmove(b->waiting + kept, b->waiting + sent, (b->count - sent) * sizeof *b->waiting);
    b->count -= sent - kept;
    return rc;
}

static int run_batch(tkl_bloom *bloom, batch *b, const tkl__shape *shape, const tkl__bloom_key_list *keys)
{
    enum { RUNS = TRIP_MAX / RUN_MAX };
    arguments args[RUNS];
    tkl__invocation calls[RUNS];
    size_t sent = b->count < TRIP_MAX ? b->count : TRIP_MAX, runs = 0;
    tkl_reply *replies = NULL;
    int rc = TKL_OK;
    for (size_t from = 0; from < sent; from += RUN_MAX, runs++) {
        size_t count = sent - from < RUN_MAX ? sent - from : RUN_MAX;
        write_arguments(&args[runs], shape, b->items, b->waiting + from, count);
        rc = args[runs].failed ? tkl__nomem() : rc;
        calls[runs] = (tkl__invocation){.script = &tkl__lua_bloom_add,
                                        .keys = keys->items,
                                        .nkeys = keys->count,
                                        .args = args[runs].items,
                                        .nargs = args[runs].count,
                                        .retry_safe = !b->added};
    }
    if (rc == TKL_OK)
        rc = tkl__run_many(bloom->client, calls, runs, tkl__call_deadline(bloom->client, NULL),
                           &replies);
    if (rc == TKL_OK)
        rc = read_replies(b, replies, sent);
    tkl_reply_free(replies);
    for (size_t i = 0; i < runs; i++) {
        tkl__buf_free(&args[i].text);
        free(args[i].items);
    }
    return rc;
}

/* One trip, and what must be done before the next. TKL_OK: go on. */
static int add_some(tkl_bloom *bloom, batch *b)
{
    tkl__shape shape;
    tkl__bloom_key_list keys;
    int rc = tkl__bloom_shape(bloom, &shape);
    if (rc == TKL_OK) {
        rc = tkl__bloom_keys(bloom, &shape, 0, &keys);
        if (rc == TKL_OK)
            rc = run_batch(bloom, b, &shape, &keys);
        tkl__bloom_key_list_free(&keys);
    }
    if (rc == TKL_BUSY || rc == TKL_NOTFOUND)
        rc = tkl__bloom_load(bloom, &shape);
    if (rc == TKL_NOTFOUND)
        return tkl__bloom_make_planned(bloom);
    return rc == TKL_FULL ? tkl__bloom_grow(bloom, &shape) : rc;
}

int tkl_bloom_add_many(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *added)
{
    batch b = {.items = items, .added = added, .count = count};
    int rc = TKL_OK;
    if (count == 0)
        return TKL_OK;
    if (added)
        memset(added, 0, count * sizeof *added);
    b.waiting = malloc(count * sizeof *b.waiting);
    if (!b.waiting)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        b.waiting[i] = i;
    while (rc == TKL_OK && b.count > 0)
        rc = add_some(bloom, &b);
    free(b.waiting);
    return rc;
}

int tkl_bloom_add(tkl_bloom *bloom, tkl_bytes item, bool *added)
{
    return tkl_bloom_add_many(bloom, &item, 1, added);
}

/* ---- Asking -------------------------------------------------------------- */

/* The commands of one trip: the version, then some bytes for each group of each item. */
typedef struct questions {
    const tkl__shape *shape;
    const tkl_bytes *items;
    size_t nitems, asked; /* how many there are, and are asked for already */
    tkl__bloom_key_list keys;
    tkl__buf wire; /* has room for all from the beginning */
    tkl__request *requests;
    tkl__group *groups; /* what the request after it asks for */
    size_t count;       /* of requests */
    tkl_bytes head;     /* of the last GETRANGE, in the wire: mostly the next has the same */
    int head_key;       /* the number of its key */
    int slot;
} questions;

static size_t groups_each(const tkl__shape *shape)
{
    size_t groups = 0;
    for (int i = 0; i < shape->count; i++)
        groups += (size_t)tkl__subfilter_groups(&shape->subs[i]);
    return groups;
}

static int questions_make(questions *q, const tkl_bloom *bloom)
{
    size_t groups = q->nitems * groups_each(q->shape);
    tkl__buf_init(&q->wire);
    q->slot = bloom->client->route->cluster ? tkl__slot_of(bloom->meta) : TKL__NO_SLOT;
    q->requests = malloc((1 + groups) * sizeof *q->requests);
    q->groups = malloc(groups * sizeof *q->groups);
    int rc = tkl__bloom_keys(bloom, q->shape, 0, &q->keys);
    size_t most = 192 + bloom->meta.len; /* of one; the other keys are not much longer */
    bool room = q->requests && q->groups && tkl__buf_reserve(&q->wire, (1 + groups) * most);
    return rc == TKL_OK && !room ? tkl__nomem() : rc;
}

static void questions_free(questions *q)
{
    tkl__bloom_key_list_free(&q->keys);
    tkl__buf_free(&q->wire);
    free(q->requests);
    free(q->groups);
}

static void question_ends(questions *q, size_t start)
{
    q->requests[q->count++] = (tkl__request){
        .wire = {q->wire.data + start, q->wire.len - start}, .slot = q->slot, .retry_safe = true};
}

static void ask_version(questions *q)
{
    size_t start = q->wire.len;
    tkl__resp_head(&q->wire, 3);
    tkl__resp_arg(&q->wire, "HGET", 4);
    tkl__resp_arg(&q->wire, q->keys.items[0].data, q->keys.items[0].len);
    tkl__resp_arg(&q->wire, "version", 7);
    question_ends(q, start);
}

static void write_head(questions *q, int key)
{
    const char *start = q->wire.data + q->wire.len;
    if (key == q->head_key) {
        tkl__buf_add(&q->wire, q->head.data, q->head.len);
        return;
    }
    tkl__resp_head(&q->wire, 4);
    tkl__resp_arg(&q->wire, "GETRANGE", 8);
    tkl__resp_arg(&q->wire, q->keys.items[key].data, q->keys.items[key].len);
    q->head_key = key;
    q->head = (tkl_bytes){start, (size_t)(q->wire.data + q->wire.len - start)};
}

/* From the first byte with a bit of the group to the last. */
static void ask_bytes(questions *q, int key, const tkl__group *group)
{
    size_t start = q->wire.len;
    write_head(q, key);
    tkl__resp_int(&q->wire, (int64_t)(group->start + group->bits[0] / 8));
    tkl__resp_int(&q->wire, (int64_t)(group->start + group->bits[group->count - 1] / 8));
    question_ends(q, start);
}

static void ask_item(questions *q, tkl_bytes item)
{
    int first_key = 1;
    for (int i = 0; i < q->shape->count; i++) {
        const tkl__subfilter *sub = &q->shape->subs[i];
        for (int g = 0; g < tkl__subfilter_groups(sub); g++) {
            tkl__group *group = &q->groups[q->count - 1];
            tkl__subfilter_place(sub, item, g, group);
            ask_bytes(q, first_key + group->part, group);
        }
        first_key += tkl__subfilter_parts(sub);
    }
}

static void ask_items(questions *q, size_t until)
{
    for (; q->asked < until && q->asked < q->nitems; q->asked++)
        ask_item(q, q->items[q->asked]);
}

static void ask_others(void *arg)
{
    questions *q = arg;
    ask_items(q, q->nitems);
}

static bool all_set(tkl_bytes bytes, const tkl__group *group)
{
    unsigned first = group->bits[0] / 8;
    for (int j = 0; j < group->count; j++) {
        size_t byte = group->bits[j] / 8 - first;
        if (byte >= bytes.len || !(bytes.data[byte] & 0x80 >> group->bits[j] % 8))
            return false;
    }
    return true;
}

/* Whether one of the sub-filters has all bits of the item; *at: the first group of it. */
static bool is_present(const tkl__shape *shape, const questions *q, const tkl_reply *replies,
                       size_t *at)
{
    bool present = false;
    for (int i = 0; i < shape->count; i++) {
        bool here = true;
        for (int g = 0; g < tkl__subfilter_groups(&shape->subs[i]); g++, ++*at)
            here =
                here && all_set(tkl_reply_bytes(tkl_reply_at(replies, 1 + *at)), &q->groups[*at]);
        present = present || here;
    }
    return present;
}

static int first_error(const tkl_reply *replies)
{
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (tkl_reply_code(reply) != TKL_OK)
            return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    }
    return TKL_OK;
}

/* TKL_BUSY: the shape is another. */
static int read_answers(const tkl__shape *shape, const questions *q, const tkl_reply *replies,
                        size_t count, bool *present)
{
    size_t at = 0;
    int rc = first_error(replies);
    if (rc != TKL_OK)
        return rc;
    if (strcmp(tkl_reply_str(tkl_reply_at(replies, 0)), shape->version) != 0)
        return TKL_BUSY;
    for (size_t i = 0; i < count; i++)
        present[i] = is_present(shape, q, replies, &at);
    return TKL_OK;
}

static int ask_trip(tkl_bloom *bloom, const tkl__shape *shape, const tkl_bytes *items, size_t count,
                    bool *present)
{
    questions q = {.shape = shape, .items = items, .nitems = count};
    tkl_reply *replies = NULL;
    int rc = questions_make(&q, bloom);
    if (rc == TKL_OK) {
        ask_version(&q);
        ask_items(&q, ASK_FIRST);
        tkl__ahead ahead = {.ready = q.count, .make = ask_others, .arg = &q};
        rc = tkl__exec_many_ahead(bloom->client, q.requests, 1 + count * groups_each(shape), &ahead,
                                  tkl__call_deadline(bloom->client, NULL), &replies);
    }
    if (rc == TKL_OK)
        rc = read_answers(shape, &q, replies, count, present);
    tkl_reply_free(replies);
    questions_free(&q);
    return rc;
}

static int ask_some(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *present)
{
    tkl__shape shape;
    int rc = tkl__bloom_shape(bloom, &shape);
    while (rc == TKL_OK) {
        rc = ask_trip(bloom, &shape, items, count, present);
        if (rc != TKL_BUSY)
            return rc;
        rc = tkl__bloom_load(bloom, &shape);
    }
    return rc;
}

int tkl_bloom_exists_many(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *present)
{
    int rc = TKL_OK;
    if (count > 0)
        memset(present, 0, count * sizeof *present);
    for (size_t from = 0; rc == TKL_OK && from < count; from += ASK_MAX) {
        size_t some = count - from < ASK_MAX ? count - from : ASK_MAX;
        rc = ask_some(bloom, items + from, some, present + from);
    }
    return rc;
}

int tkl_bloom_exists(tkl_bloom *bloom, tkl_bytes item, bool *present)
{
    return tkl_bloom_exists_many(bloom, &item, 1, present);
}
