/* SPDX-License-Identifier: MIT
 *
 * Tests items of a Bloom filter: one round trip reads the version, then some bytes for each group
 * of each item.
 */
#include <stdlib.h>
#include <string.h>

#include "bloom/bloom.h"
#include "core/error.h"
#include "core/resp.h"

/* Most items tested in one round trip: a filter that has grown needs dozens of replies for each. */
#define ASK_MAX 1000
/* Items that are sent first: the server starts with them while the client prepares the others. */
#define ASK_FIRST 10
/* Most bytes of one request, without the key. */
#define REQUEST_SIZE 256

/* The requests of one round trip. */
typedef struct questions {
    const tkl_bloom *bloom;
    const tkl__bloom_shape *shape;
    const tkl_bytes *items;
    size_t nitems, asked; /* number of items, and of items already sent */
    tkl__buf wire;        /* has room for all requests from the beginning */
    tkl__buf key;         /* key of the last part: the next request mostly uses the same one */
    int key_sub, key_part;
    tkl__request *requests;
    tkl__bloom_group *groups; /* groups that the requests after the version ask for */
    size_t count;             /* number of requests */
    int slot;
} questions;

static size_t groups_each(const tkl__bloom_shape *shape)
{
    size_t groups = 0;
    for (int i = 0; i < shape->count; i++)
        groups += (size_t)tkl__bloom_subfilter_groups(&shape->subs[i]);
    return groups;
}

static int questions_make(questions *q)
{
    const tkl_bloom *bloom = q->bloom;
    size_t groups = q->nitems * groups_each(q->shape);
    tkl__buf_init(&q->wire);
    tkl__buf_init(&q->key);
    q->key_sub = -1;
    q->slot = bloom->client->route->cluster ? tkl__slot_of(bloom->meta) : TKL__NO_SLOT;
    q->requests = malloc((1 + groups) * sizeof *q->requests);
    q->groups = malloc(groups * sizeof *q->groups);
    size_t most = REQUEST_SIZE + bloom->meta.len;
    bool room = q->requests && q->groups && tkl__buf_reserve(&q->wire, (1 + groups) * most);
    return room ? TKL_OK : tkl__nomem();
}

static void questions_free(questions *q)
{
    tkl__buf_free(&q->wire);
    tkl__buf_free(&q->key);
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
    tkl__resp_argz(&q->wire, "HGET");
    tkl__resp_arg(&q->wire, q->bloom->meta.data, q->bloom->meta.len);
    tkl__resp_argz(&q->wire, "version");
    question_ends(q, start);
}

static void find_key(questions *q, int sub, int part)
{
    if (q->key_sub == sub && q->key_part == part)
        return;
    q->key.len = 0;
    tkl__bloom_part(q->bloom, sub, part, &q->key);
    q->key_sub = sub;
    q->key_part = part;
}

/* Requests the bytes from the first to the last one with a bit of the group. */
static void ask_bytes(questions *q, int sub, const tkl__bloom_group *group)
{
    size_t start = q->wire.len;
    find_key(q, sub, group->part);
    tkl__resp_head(&q->wire, 4);
    tkl__resp_argz(&q->wire, "GETRANGE");
    tkl__resp_arg(&q->wire, q->key.data, q->key.len);
    tkl__resp_int(&q->wire, (int64_t)(group->start + group->bits[0] / 8));
    tkl__resp_int(&q->wire, (int64_t)(group->start + group->bits[group->count - 1] / 8));
    question_ends(q, start);
}

static void ask_item(questions *q, tkl_bytes item)
{
    tkl__bloom_hash hash = tkl__bloom_hash_item(item);
    for (int i = 0; i < q->shape->count; i++) {
        const tkl__bloom_subfilter *sub = &q->shape->subs[i];
        for (int g = 0; g < tkl__bloom_subfilter_groups(sub); g++) {
            tkl__bloom_group *group = &q->groups[q->count - 1];
            tkl__bloom_subfilter_place(sub, hash, g, group);
            ask_bytes(q, i, group);
        }
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

/* ---- Answers ------------------------------------------------------------- */

static bool all_set(tkl_bytes bytes, const tkl__bloom_group *group)
{
    unsigned first = group->bits[0] / 8;
    for (int j = 0; j < group->count; j++) {
        size_t byte = group->bits[j] / 8 - first;
        if (byte >= bytes.len || !(bytes.data[byte] & 0x80 >> group->bits[j] % 8))
            return false;
    }
    return true;
}

/* Whether one of the sub-filters has all bits of the item. *at: index of the item's first group;
 * moved behind the item. */
static bool is_present(const questions *q, const tkl_reply *replies, size_t *at)
{
    bool present = false;
    for (int i = 0; i < q->shape->count; i++) {
        bool here = true;
        for (int g = 0; g < tkl__bloom_subfilter_groups(&q->shape->subs[i]); g++, ++*at)
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
        if (i > 0 && tkl_reply_type_of(reply) != TKL_REPLY_STRING)
            return tkl__fail(TKL_EPROTO, "the server answered GETRANGE with something else");
    }
    return TKL_OK;
}

/* TKL_BUSY: the shape has changed. */
static int read_answers(const questions *q, const tkl_reply *replies, bool *present)
{
    size_t at = 0;
    int rc = first_error(replies);
    if (rc != TKL_OK)
        return rc;
    if (strcmp(tkl_reply_str(tkl_reply_at(replies, 0)), q->shape->version) != 0)
        return TKL_BUSY;
    for (size_t i = 0; i < q->nitems; i++)
        present[i] = is_present(q, replies, &at);
    return TKL_OK;
}

static int ask_batch(tkl_bloom *bloom, const tkl__bloom_shape *shape, const tkl_bytes *items,
                     size_t count, bool *present)
{
    questions q = {.bloom = bloom, .shape = shape, .items = items, .nitems = count};
    tkl_reply *replies = NULL;
    int rc = questions_make(&q);
    if (rc == TKL_OK) {
        ask_version(&q);
        ask_items(&q, ASK_FIRST);
        tkl__ahead ahead = {.ready = q.count, .make = ask_others, .arg = &q};
        rc = tkl__exec_many_ahead(bloom->client, q.requests, 1 + count * groups_each(shape), &ahead,
                                  tkl__bloom_deadline(bloom), &replies);
    }
    if (rc == TKL_OK)
        rc = read_answers(&q, replies, present);
    tkl_reply_free(replies);
    questions_free(&q);
    return rc;
}

static int ask_some(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *present)
{
    tkl__bloom_shape shape;
    int rc = tkl__bloom_read_shape(bloom, &shape);
    for (int tries = 0; rc == TKL_OK; tries++) {
        rc = ask_batch(bloom, &shape, items, count, present);
        if (rc != TKL_BUSY)
            return rc;
        rc = tries < TKL__BLOOM_TRIES ? tkl__bloom_load(bloom, &shape) : tkl__bloom_give_up();
    }
    return rc;
}

int tkl_bloom_exists(tkl_bloom *bloom, const tkl_bytes *items, size_t count, bool *present)
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
