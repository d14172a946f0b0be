/* SPDX-License-Identifier: MIT
 *
 * For operators: looking at jobs without touching them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/reply.h"
#include "queue/all.h"
#include "queue/record.h"
#include "queue/scripts.h"

#define PEEK_MAX 1000
#define SKIP_MAX 10000

/* The replies own the bytes that the items point into. */
typedef struct listing {
    tkl_listing list; /* first: what the user has is a pointer to it */
    tkl_reply *replies;
    tkl_job_info items[];
} listing;

/* A job as the scripts tell it: member, score, record, extra, progress. */
typedef struct found {
    const tkl__shard *shard;
    tkl_job_state state;
    double score;
    tkl_bytes member;
    const tkl_reply *reply;
    size_t at; /* where it begins in the reply */
} found;

void tkl_listing_free(tkl_listing *list)
{
    listing *l = (listing *)(void *)list;
    if (!l)
        return;
    tkl_reply_free(l->replies);
    free(l);
}

static const char *digits_of(const found *f)
{
    return f->state == TKL_JOB_HELD ? f->member.data + f->member.len - TKL__ID_LEN : f->member.data;
}

/* "failures error" */
static void read_extra(tkl_job_info *info, tkl_bytes extra)
{
    size_t at = 0;
    for (; at < extra.len && extra.data[at] >= '0' && extra.data[at] <= '9'; at++)
        info->attempt = info->attempt * 10 + (extra.data[at] - '0');
    if (at < extra.len)
        info->error = (tkl_bytes){extra.data + at + 1, extra.len - at - 1};
}

static tkl_bytes part_of(const found *f, size_t part)
{
    return tkl_reply_bytes(tkl_reply_at(f->reply, f->at + part));
}

static void read_info(tkl_job_info *info, const found *f)
{
    tkl__record record = {0};
    const char *digits = digits_of(f);
    if (part_of(f, 2).len > 0)
        tkl__record_decode(part_of(f, 2), &record);
    *info = (tkl_job_info){.state = f->state,
                           .payload = record.payload,
                           .meta = record.meta,
                           .group = record.group,
                           .unique = record.unique,
                           .progress = part_of(f, 4),
                           .priority = record.priority,
                           .retries = record.retries,
                           .pushed_ms = tkl__id_time(digits)};
    read_extra(info, part_of(f, 3));
    tkl__id_show(f->shard, digits, info->id);
    if (f->state == TKL_JOB_DELAYED || f->state == TKL_JOB_ACTIVE || f->state == TKL_JOB_BURIED)
        info->due_ms = (int64_t)f->score;
}

/* Takes over the replies. */
static int make_listing(tkl_reply *replies, const found *all, size_t count, tkl_listing **list)
{
    listing *l = calloc(1, sizeof *l + count * sizeof l->items[0]);
    if (!l) {
        tkl_reply_free(replies);
        return tkl__nomem();
    }
    l->replies = replies;
    l->list = (tkl_listing){.items = l->items, .count = count};
    for (size_t i = 0; i < count; i++)
        read_info(&l->items[i], &all[i]);
    *list = &l->list;
    return TKL_OK;
}

/* ---- Many ---------------------------------------------------------------- */

/* Where the jobs of a state are. Those held are in two places: behind their group, or a flow. */
typedef struct place {
    tkl__part part;
    const char *order, *at, *due; /* see peek.lua */
} place;

static size_t places_of(tkl_job_state state, place places[2])
{
    static const place of[] = {[TKL_JOB_READY] = {TKL__READY, "", "1", "with"},
                               [TKL_JOB_DELAYED] = {TKL__DELAYED, "", "1", "without"},
                               [TKL_JOB_HELD] = {TKL__PARKED, "", "-13", ""},
                               [TKL_JOB_ACTIVE] = {TKL__ACTIVE, "", "1", ""},
                               [TKL_JOB_BURIED] = {TKL__DEAD, "REV", "1", ""}};
    if (state < TKL_JOB_READY || state > TKL_JOB_BURIED || state == TKL_JOB_FINISHED)
        return 0;
    places[0] = of[state];
    places[1] = (place){TKL__FLOW, "", "1", ""};
    return state == TKL_JOB_HELD ? 2 : 1;
}

static int ask(const tkl_queue *queue, const place *where, size_t skip, size_t max,
               tkl_reply **replies)
{
    char from[24], most[24];
    const tkl__part parts[] = {where->part, TKL__JOBS, TKL__EXTRAS, TKL__DELAYED};
    snprintf(from, sizeof from, "%zu", skip);
    snprintf(most, sizeof most, "%zu", max);
    tkl_bytes args[] = {tkl_str(from), tkl_str(most), tkl_str(where->order), tkl_str(where->at),
                        tkl_str(where->due)};
    return tkl__run_on_all(queue, &(tkl__operation){&tkl__lua_queue_peek, parts}, args, 5, replies);
}

/* All that the partitions told, of both places. */
typedef struct catch
{
    tkl_reply *replies[2];
    found *items;
    size_t count;
}
catch;

static void gather(const tkl_queue *queue, tkl_job_state state, const tkl_reply *replies, catch *c)
{
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *one = tkl_reply_at(replies, i);
        for (size_t at = 0; at + 4 < tkl_reply_count(one); at += 5)
            c->items[c->count++] = (found){.shard = &queue->shards[i],
                                           .state = state,
                                           .score = tkl_reply_double(tkl_reply_at(one, at + 1)),
                                           .member = tkl_reply_bytes(tkl_reply_at(one, at)),
                                           .reply = one,
                                           .at = at};
    }
}

/* By score, then by id. Of those parked all scores are equal, and so they come before a flow's. */
static int by_turn(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->score != y->score)
        return (x->score > y->score) - (x->score < y->score);
    size_t len = x->member.len < y->member.len ? x->member.len : y->member.len;
    return memcmp(x->member.data, y->member.data, len);
}

static int newest_first(const void *a, const void *b)
{
    return by_turn(b, a);
}

static int peek_all(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max, catch *c)
{
    place places[2];
    size_t n = places_of(state, places), total = 0;
    bool many = n > 1 || queue->partitions > 1; /* to be merged before the first are skipped */
    int rc = n > 0 ? TKL_OK : tkl__fail(TKL_EINVAL, "jobs of this state cannot be listed");
    if (rc == TKL_OK && (max > PEEK_MAX || (many && skip > SKIP_MAX)))
        rc = tkl__fail(TKL_EINVAL, "at most %d jobs at a time, behind %d", PEEK_MAX, SKIP_MAX);
    for (size_t i = 0; rc == TKL_OK && i < n; i++) {
        rc = ask(queue, &places[i], many ? 0 : skip, many ? skip + max : max, &c->replies[i]);
        for (size_t k = 0; k < tkl_reply_count(c->replies[i]); k++)
            total += tkl_reply_count(tkl_reply_at(c->replies[i], k)) / 5;
    }
    c->items = rc == TKL_OK ? calloc(total + 1, sizeof *c->items) : NULL;
    if (rc == TKL_OK && !c->items)
        rc = tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < n; i++)
        gather(queue, state, c->replies[i], c);
    if (rc == TKL_OK && many)
        qsort(c->items, c->count, sizeof *c->items,
              state == TKL_JOB_BURIED ? newest_first : by_turn);
    return rc;
}

int tkl_queue_peek(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max,
                   tkl_listing **list)
{
    catch c = {.count = 0};
    *list = NULL;
    int rc = peek_all(queue, state, skip, max, &c);
    bool many = queue->partitions > 1 || state == TKL_JOB_HELD;
    size_t first = many && skip < c.count ? skip : many ? c.count : 0;
    size_t count = c.count - first < max ? c.count - first : max;
    tkl_reply *owner = rc == TKL_OK ? tkl__reply_new_array(2) : NULL;
    if (rc == TKL_OK && !owner)
        rc = tkl__nomem();
    for (size_t i = 0; i < 2; i++)
        if (owner && c.replies[i])
            tkl__reply_put(owner, i, c.replies[i]);
        else
            tkl_reply_free(c.replies[i]);
    if (rc == TKL_OK)
        rc = make_listing(owner, c.items + first, count, list);
    free(c.items);
    return rc;
}

/* ---- One ----------------------------------------------------------------- */

static int show_on(const tkl__shard *shard, const char *digits, tkl_bytes result, tkl_reply **reply)
{
    static const tkl__part parts[] = {TKL__JOBS,   TKL__EXTRAS, TKL__READY,  TKL__DELAYED,
                                      TKL__ACTIVE, TKL__DEAD,   TKL__PARKED, TKL__FLOW};
    tkl_bytes keys[9], args[] = {tkl_str(digits), tkl_str("0")};
    tkl_client *client = shard->queue->client;
    tkl_reply *last = NULL;
    int rc;
    tkl__shard_keys(shard, parts, 8, keys);
    keys[8] = result;
    tkl__invocation call = {.script = &tkl__lua_queue_show,
                            .keys = keys,
                            .nkeys = 9,
                            .args = args,
                            .nargs = 2,
                            .retry_safe = true};
    do { /* an active one is looked for in steps */
        rc = tkl__run(client, &call, tkl__call_deadline(client, NULL), reply);
        tkl_reply_free(last);
        last = *reply;
        args[1] = tkl_reply_bytes(*reply);
    } while (rc == TKL_OK && tkl_reply_kind(*reply) == TKL_REPLY_STRING);
    return rc;
}

int tkl_queue_show(tkl_queue *queue, const char *id, tkl_listing **list)
{
    const char *digits;
    tkl_bytes key;
    tkl_reply *reply = NULL;
    *list = NULL;
    const tkl__shard *shard = tkl__id_find(queue, id, &digits);
    if (!shard)
        return TKL_NOTFOUND;
    int rc = tkl__result_key(shard, digits, &key);
    if (rc != TKL_OK)
        return rc;
    rc = show_on(shard, digits, key, &reply);
    free((char *)key.data);
    if (rc == TKL_OK && tkl_reply_count(reply) < 6) {
        tkl_reply_free(reply);
        return TKL_NOTFOUND;
    }
    if (rc != TKL_OK)
        return rc;
    found one = {.shard = shard,
                 .state = (tkl_job_state)tkl_reply_int(tkl_reply_at(reply, 0)),
                 .score = tkl_reply_double(tkl_reply_at(reply, 2)),
                 .member = tkl_reply_bytes(tkl_reply_at(reply, 1)),
                 .reply = reply,
                 .at = 1};
    return make_listing(reply, &one, 1, list);
}
