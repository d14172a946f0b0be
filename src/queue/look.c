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
#include "core/rounds.h"
#include "queue/all.h"
#include "queue/record.h"
#include "queue/scripts.h"
#include "queue/words.h"
#include "queue/workers.h"

#define PEEK_MAX    1000
#define SKIP_MAX    10000
#define FOUND_PARTS 7 /* fields of a job in the reply of queue/peek */

/* The replies own the bytes that the items point into. */
typedef struct listing {
    tkl_listing list; /* first: the user's pointer points to it */
    tkl_reply *replies;
    tkl_job_info items[];
} listing;

/* A job in a script's answer: id, score, record, history, progress, since when it is claimed, and
 * its worker. */
typedef struct found {
    const tkl__queue_partition *partition;
    tkl_job_state state;
    tkl_bytes id;
    double score;
    const tkl_reply *reply;
    size_t at; /* index of its record in the reply; the other parts follow */
} found;

void tkl_listing_free(tkl_listing *list)
{
    listing *l = (listing *)(void *)list;
    if (!l)
        return;
    tkl_reply_free(l->replies);
    free(l);
}

static tkl_bytes part_of(const found *f, size_t part)
{
    return tkl_reply_bytes(tkl_reply_at(f->reply, f->at + part));
}

/* A time from a score; 0 when another program wrote something else. */
static int64_t time_of(double score)
{
    return score >= 0 && score < 9007199254740992.0 ? (int64_t)score : 0;
}

/* Reads since when a job is claimed, and "worker text". */
static void read_claimant(tkl_job_info *info, const found *f)
{
    tkl_bytes text = part_of(f, 4);
    tkl_queue_worker worker = {.pid = 0};
    tkl__queue_worker_id(tkl__queue_next_word(&text), info->worker);
    tkl__queue_worker_read(text, &worker);
    int64_t since = tkl__reply_number(tkl_reply_at(f->reply, f->at + 3));
    info->since_ms = since > 0 ? since : 0;
    info->host = worker.host;
    info->label = worker.label;
    info->pid = worker.pid;
}

static void read_info(tkl_job_info *info, const found *f)
{
    tkl__queue_record record = {0};
    tkl__queue_history history = tkl__queue_history_read(part_of(f, 1));
    if (part_of(f, 0).len > 0)
        tkl__queue_record_decode(part_of(f, 0), &record);
    *info = (tkl_job_info){.state = f->state,
                           .payload = record.payload,
                           .meta = record.meta,
                           .group = record.group,
                           .kind = record.kind,
                           .unique = record.unique,
                           .error = history.error,
                           .progress = part_of(f, 2),
                           .priority = record.priority,
                           .attempt = history.failures,
                           .retries = record.retries,
                           .pushed_ms = tkl__queue_id_time(f->id.data)};
    tkl__queue_show_id(f->partition, f->id.data, info->id);
    if (f->state == TKL_JOB_STATE_DELAYED || f->state == TKL_JOB_STATE_ACTIVE ||
        f->state == TKL_JOB_STATE_DEAD)
        info->due_ms = time_of(f->score);
    if (f->state == TKL_JOB_STATE_ACTIVE)
        read_claimant(info, f);
}

/* Takes ownership of the replies. */
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

/* The places where jobs of a state are, as peek.lua names them. Held jobs are in two places: parked
 * behind their group, or in a flow. */
static size_t places_of(tkl_job_state state, const char *places[2])
{
    static const char *const of[] = {[TKL_JOB_STATE_READY] = "ready",
                                     [TKL_JOB_STATE_DELAYED] = "delayed",
                                     [TKL_JOB_STATE_HELD] = "parked",
                                     [TKL_JOB_STATE_ACTIVE] = "active",
                                     [TKL_JOB_STATE_DEAD] = "dead"};
    if (state < TKL_JOB_STATE_READY || state > TKL_JOB_STATE_DEAD || state == TKL_JOB_STATE_DONE)
        return 0;
    places[0] = of[state];
    places[1] = "flow";
    return state == TKL_JOB_STATE_HELD ? 2 : 1;
}

static int ask_peek(const tkl_queue *queue, const char *place, size_t skip, size_t max,
                    tkl_reply **replies)
{
    char from[24], most[24];
    snprintf(from, sizeof from, "%zu", skip);
    snprintf(most, sizeof most, "%zu", max);
    tkl_bytes args[] = {tkl_str(place), tkl_str(from), tkl_str(most)};
    return tkl__queue_run_on_all(queue, &tkl__lua_queue_peek, args, 3, replies);
}

/* The answers of all partitions, for both places. */
typedef struct catch
{
    tkl_reply *replies[2];
    found *items;
    size_t count;
}
catch;

static void gather_jobs(const tkl_queue *queue, tkl_job_state state, const tkl_reply *replies,
                        catch *c)
{
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *one = tkl_reply_at(replies, i);
        for (size_t at = 0; at + FOUND_PARTS <= tkl_reply_count(one); at += FOUND_PARTS) {
            tkl_bytes id = tkl_reply_bytes(tkl_reply_at(one, at));
            if (tkl__queue_is_id(id))
                c->items[c->count++] = (found){.partition = &queue->partitions[i],
                                               .state = state,
                                               .id = id,
                                               .score = tkl_reply_double(tkl_reply_at(one, at + 1)),
                                               .reply = one,
                                               .at = at + 2};
        }
    }
}

/* By score, then by id. All parked jobs have score 0, so they come before jobs of a flow. */
static int by_turn(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->score != y->score)
        return (x->score > y->score) - (x->score < y->score);
    return memcmp(x->id.data, y->id.data, TKL__QUEUE_ID_LEN);
}

static int newest_first(const void *a, const void *b)
{
    return by_turn(b, a);
}

static int peek_all(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max, catch *c)
{
    const char *places[2];
    size_t n = places_of(state, places), total = 0;
    bool many = n > 1 || queue->npartitions > 1; /* merge first, then skip */
    int rc = n > 0 ? TKL_OK : tkl__fail(TKL_EINVAL, "jobs of this state cannot be listed");
    if (rc == TKL_OK && (max > PEEK_MAX || (many && skip > SKIP_MAX)))
        rc = tkl__fail(TKL_EINVAL, "at most %d jobs at a time, behind %d", PEEK_MAX, SKIP_MAX);
    for (size_t i = 0; rc == TKL_OK && i < n; i++) {
        rc = ask_peek(queue, places[i], many ? 0 : skip, many ? skip + max : max, &c->replies[i]);
        for (size_t k = 0; k < tkl_reply_count(c->replies[i]); k++)
            total += tkl_reply_count(tkl_reply_at(c->replies[i], k)) / FOUND_PARTS;
    }
    c->items = rc == TKL_OK ? calloc(total + 1, sizeof *c->items) : NULL;
    if (rc == TKL_OK && !c->items)
        rc = tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < n; i++)
        gather_jobs(queue, state, c->replies[i], c);
    if (rc == TKL_OK && many)
        qsort(c->items, c->count, sizeof *c->items,
              state == TKL_JOB_STATE_DEAD ? newest_first : by_turn);
    return rc;
}

int tkl_queue_peek(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max,
                   tkl_listing **list)
{
    catch c = {.count = 0};
    *list = NULL;
    int rc = peek_all(queue, state, skip, max, &c);
    bool many = queue->npartitions > 1 || state == TKL_JOB_STATE_HELD;
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

static const char *const state_names[] = {
    [TKL_JOB_STATE_UNKNOWN] = "unknown", [TKL_JOB_STATE_READY] = "ready",
    [TKL_JOB_STATE_DELAYED] = "delayed", [TKL_JOB_STATE_HELD] = "held",
    [TKL_JOB_STATE_ACTIVE] = "active",   [TKL_JOB_STATE_DONE] = "done",
    [TKL_JOB_STATE_DEAD] = "dead",
};

const char *tkl_job_state_name(tkl_job_state state)
{
    bool known = (unsigned)state <= TKL_JOB_STATE_DEAD;
    return state_names[known ? state : TKL_JOB_STATE_UNKNOWN];
}

tkl_job_state tkl__queue_state_of(const char *word)
{
    size_t i = 0, count = sizeof state_names / sizeof *state_names;
    while (i < count && strcmp(word, state_names[i]) != 0)
        i++;
    return i < count ? (tkl_job_state)i : TKL_JOB_STATE_UNKNOWN;
}

/* Searches for an active job in steps, until the deadline. */
static int show_on(const tkl__queue_partition *partition, const char *digits, tkl_reply **reply)
{
    tkl_bytes keys[TKL__QUEUE_KEYS + 1];
    char cursor[32] = "0";
    tkl__circle circle = {.steps = 0};
    int64_t deadline = tkl__queue_deadline(partition->queue);
    tkl_bytes args[] = {tkl_str(digits), {cursor, 1}};
    tkl__invocation call = tkl__queue_call(partition, &tkl__lua_queue_show, args, 2);
    call.retry_safe = true;
    int rc = tkl__queue_result_keys(partition, digits, keys);
    call.keys = keys;
    call.nkeys = TKL__QUEUE_KEYS + 1;
    for (bool ended = false; rc == TKL_OK && !ended;) {
        rc = tkl__run(partition->queue->client, &call, deadline, reply);
        ended = tkl_reply_count(*reply) != 1;
        if (rc == TKL_OK && !ended)
            rc = tkl__circle_next(&circle, tkl_reply_bytes(tkl_reply_at(*reply, 0)));
        if (rc == TKL_OK && !ended) {
            snprintf(cursor, sizeof cursor, "%s", tkl_reply_str(tkl_reply_at(*reply, 0)));
            args[1] = tkl_str(cursor);
            tkl_reply_free(*reply);
            *reply = NULL;
        }
    }
    free((char *)keys[TKL__QUEUE_KEYS].data);
    return rc;
}

int tkl_queue_show(tkl_queue *queue, const char *id, tkl_listing **list)
{
    const char *digits;
    tkl_reply *reply = NULL;
    found one = {.at = 2};
    *list = NULL;
    one.partition = tkl__queue_find_id(queue, id, &digits);
    int rc = one.partition ? show_on(one.partition, digits, &reply) : tkl__no(TKL_NOTFOUND);
    if (rc != TKL_OK)
        return rc;
    const char *word = tkl_reply_str(tkl_reply_at(reply, 0));
    one.state = tkl__queue_state_of(word);
    if (strcmp(word, tkl_job_state_name(one.state)) != 0) {
        tkl_reply_free(reply);
        return tkl__no(TKL_NOTFOUND);
    }
    one.id = (tkl_bytes){digits, TKL__QUEUE_ID_LEN};
    one.score = tkl_reply_double(tkl_reply_at(reply, 1));
    one.reply = reply;
    return make_listing(reply, &one, 1, list);
}
