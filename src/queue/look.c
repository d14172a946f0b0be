/* SPDX-License-Identifier: MIT
 *
 * For operators: looking at jobs without touching them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/onekey.h"
#include "core/reply.h"
#include "core/rounds.h"
#include "queue/all.h"
#include "queue/filter.h"
#include "queue/record.h"
#include "queue/scripts.h"
#include "queue/words.h"
#include "queue/workers.h"

#define PEEK_MAX    1000
#define SKIP_MAX    10000
#define FOUND_PARTS 9 /* fields of a job in the reply of queue/peek */

/* The replies own the bytes that the items point into. */
typedef struct listing {
    tkl_listing list; /* first: the user's pointer points to it */
    tkl_reply *replies;
    char *next; /* the text that list.next points to */
    tkl_job_info items[];
} listing;

/* A job in the answer of a script: id, score, record, history, progress, since when it is claimed,
 * its worker, the size of the whole record, and the result. */
typedef struct found {
    const tkl__queue_partition *partition;
    tkl_job_state state;
    tkl_bytes id;
    double score;
    const tkl_reply *reply;
    size_t at;      /* index of its record in the reply; the other parts follow */
    int64_t now_ms; /* by the server's clock; 0: the script has taken time into account */
} found;

void tkl_listing_free(tkl_listing *list)
{
    listing *l = (listing *)(void *)list;
    if (!l)
        return;
    tkl_reply_free(l->replies);
    free(l->next);
    free(l);
}

static tkl_bytes part_of(const found *f, size_t part)
{
    return tkl_reply_bytes(tkl_reply_at(f->reply, f->at + part));
}

/* The size of the whole payload. The record in the answer may have only its beginning. */
static size_t payload_size(const found *f, tkl_bytes payload)
{
    tkl_bytes record = part_of(f, 0);
    int64_t whole = tkl__reply_number(tkl_reply_at(f->reply, f->at + 5));
    bool cut = whole > 0 && (uint64_t)whole > record.len;
    return payload.len + (cut ? (size_t)whole - record.len : 0);
}

/* Reads a time from a score; 0 when another program wrote something else. */
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

/* A delayed job whose time has come is ready, and so is one whose lease has ended, unless that was
 * its last attempt: the next claim makes it so. */
static tkl_job_state state_now(const found *f, bool attempts_left)
{
    bool over = f->now_ms > 0 && f->score <= (double)f->now_ms;
    bool comes_back =
        f->state == TKL_JOB_STATE_DELAYED || (f->state == TKL_JOB_STATE_ACTIVE && attempts_left);
    return over && comes_back ? TKL_JOB_STATE_READY : f->state;
}

/* Cuts off an incomplete character at the end, so that a text that was cut is still UTF-8. */
static tkl_bytes whole_characters(tkl_bytes bytes)
{
    for (size_t behind = 1; behind <= 3 && behind <= bytes.len; behind++) {
        unsigned char byte = (unsigned char)bytes.data[bytes.len - behind];
        size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        if (length > behind)
            return (tkl_bytes){bytes.data, bytes.len - behind};
        if (byte < 0x80 || byte >= 0xC0)
            break;
    }
    return bytes;
}

static void read_info(tkl_job_info *info, const found *f)
{
    tkl__queue_record record = {0};
    tkl__queue_history history = tkl__queue_history_read(part_of(f, 1));
    if (part_of(f, 0).len > 0)
        tkl__queue_record_decode(part_of(f, 0), &record);
    *info = (tkl_job_info){.state = state_now(f, history.failures < record.retries),
                           .payload = record.payload,
                           .payload_size = payload_size(f, record.payload),
                           .meta = record.meta,
                           .group = record.group,
                           .kind = record.kind,
                           .unique = record.unique,
                           .error = history.error,
                           .progress = part_of(f, 2),
                           .result = part_of(f, 6),
                           .priority = record.priority,
                           .attempt = history.failures,
                           .retries = record.retries,
                           .pushed_ms = tkl__queue_id_time(f->id.data)};
    if (info->payload_size > info->payload.len)
        info->payload = whole_characters(info->payload);
    tkl__queue_show_id(f->partition, f->id.data, info->id);
    if (info->state == TKL_JOB_STATE_DELAYED || info->state == TKL_JOB_STATE_ACTIVE ||
        info->state == TKL_JOB_STATE_DEAD || info->state == TKL_JOB_STATE_DONE)
        info->due_ms = time_of(f->score);
    if (f->state == TKL_JOB_STATE_ACTIVE || part_of(f, 4).len > 0)
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

/* The sets that jobs are in, as the scripts name them. Held jobs are in one of two: parked behind
 * their group, or in a flow. */
static const struct {
    const char *name;
    tkl_job_state state;
} sets[] = {
    {"ready", TKL_JOB_STATE_READY},   {"delayed", TKL_JOB_STATE_DELAYED},
    {"parked", TKL_JOB_STATE_HELD},   {"flow", TKL_JOB_STATE_HELD},
    {"active", TKL_JOB_STATE_ACTIVE}, {"dead", TKL_JOB_STATE_DEAD},
    {"done", TKL_JOB_STATE_DONE},
};
enum { NSETS = sizeof sets / sizeof *sets };

/* Finds the names of the sets of a state. Returns how many; 0: jobs of this state are in no set. */
static size_t sets_of(tkl_job_state state, const char *names[2])
{
    size_t n = 0;
    for (int i = 0; i < NSETS; i++)
        if (sets[i].state == state)
            names[n++] = sets[i].name;
    return n;
}

static int ask_peek(const tkl_queue *queue, const char *set, size_t skip, size_t max, size_t cut,
                    tkl_reply **replies)
{
    char from[24], most[24], bytes[24];
    snprintf(from, sizeof from, "%zu", skip);
    snprintf(most, sizeof most, "%zu", max);
    snprintf(bytes, sizeof bytes, "%zu", cut);
    tkl_bytes args[] = {tkl_str(set), tkl_str(from), tkl_str(most), tkl_str(bytes)};
    return tkl__queue_run_on_all(queue, &tkl__lua_queue_peek, args, 4, replies);
}

/* The answers of all partitions, for the one or two sets of a state. */
typedef struct peeked {
    tkl_reply *replies[2];
    found *items;
    size_t count;
} peeked;

/* Adds the jobs in the answer of a partition, at most `max`. */
static void gather_jobs(const tkl__queue_partition *partition, tkl_job_state state, int64_t now_ms,
                        const tkl_reply *answer, size_t max, found *items, size_t *count)
{
    size_t end = *count + max;
    for (size_t at = 0; at + FOUND_PARTS <= tkl_reply_count(answer); at += FOUND_PARTS) {
        tkl_bytes id = tkl_reply_bytes(tkl_reply_at(answer, at));
        if (*count < end && tkl__queue_is_id(id))
            items[(*count)++] = (found){.partition = partition,
                                        .state = state,
                                        .id = id,
                                        .score = tkl_reply_double(tkl_reply_at(answer, at + 1)),
                                        .reply = answer,
                                        .at = at + 2,
                                        .now_ms = now_ms};
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

static int peek_all(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max, size_t cut,
                    peeked *c)
{
    const char *names[2];
    size_t n = sets_of(state, names), total = 0;
    bool many = n > 1 || queue->npartitions > 1; /* merge first, then skip */
    int rc = n > 0 ? TKL_OK : tkl__fail(TKL_EINVAL, "jobs of this state cannot be listed");
    if (rc == TKL_OK && (max > PEEK_MAX || (many && skip > SKIP_MAX)))
        rc = tkl__fail(TKL_EINVAL, "at most %d jobs at a time, behind %d", PEEK_MAX, SKIP_MAX);
    for (size_t i = 0; rc == TKL_OK && i < n; i++) {
        rc = ask_peek(queue, names[i], many ? 0 : skip, many ? skip + max : max, cut,
                      &c->replies[i]);
        for (size_t k = 0; k < tkl_reply_count(c->replies[i]); k++)
            total += tkl_reply_count(tkl_reply_at(c->replies[i], k)) / FOUND_PARTS;
    }
    c->items = rc == TKL_OK ? calloc(total + 1, sizeof *c->items) : NULL;
    if (rc == TKL_OK && !c->items)
        rc = tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < n; i++)
        for (size_t k = 0; k < tkl_reply_count(c->replies[i]); k++)
            gather_jobs(&queue->partitions[k], state, 0, tkl_reply_at(c->replies[i], k), total,
                        c->items, &c->count);
    if (rc == TKL_OK && many)
        qsort(c->items, c->count, sizeof *c->items,
              state == TKL_JOB_STATE_DEAD || state == TKL_JOB_STATE_DONE ? newest_first : by_turn);
    return rc;
}

int tkl_queue_peek(tkl_queue *queue, tkl_job_state state, size_t skip, size_t max, size_t cut,
                   tkl_listing **list)
{
    peeked c = {.count = 0};
    *list = NULL;
    int rc = peek_all(queue, state, skip, max, cut, &c);
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

/* ---- Searching ----------------------------------------------------------- */

/* A search under way. */
typedef struct search {
    const tkl_queue *queue;
    tkl_job_state state; /* TKL_JOB_STATE_UNKNOWN: any */
    tkl__queue_filter filter;
    size_t max;
    char cut[24];       /* bytes of each payload in the answer; 0: all of it */
    int partition, set; /* where it is */
    char *cursor;       /* where it is in that set; "": at its beginning. Owned */
    found *items;       /* `max` of them */
    size_t count;
    tkl_reply *replies; /* owns the answers that the items point into */
    size_t nreplies;
} search;

/* Goes on to the next set that has jobs of the state, if this one has none. False: that was the
 * last. */
static bool search_has_set(search *s)
{
    while (s->partition < s->queue->npartitions) {
        for (; s->set < NSETS; s->set++)
            if (s->state == TKL_JOB_STATE_UNKNOWN || sets[s->set].state == s->state)
                return true;
        s->set = 0;
        s->partition++;
    }
    return false;
}

/* Reads "partition.set.cursor", as end_search() writes it. */
static int begin_search(search *s, const char *after)
{
    int used = 0;
    if (!after) {
        s->cursor = strdup("");
        return s->cursor ? TKL_OK : tkl__nomem();
    }
    if (sscanf(after, "%3d.%1d.%n", &s->partition, &s->set, &used) != 2 || used == 0 ||
        s->partition < 0 || s->partition >= s->queue->npartitions || s->set < 0 ||
        s->set >= NSETS || strspn(after + used, "0123456789abcdef:.+-") != strlen(after + used))
        return tkl__fail(TKL_EINVAL, "this is not where a search of this queue ended");
    s->cursor = strdup(after + used);
    return s->cursor ? TKL_OK : tkl__nomem();
}

/* One step: adds what it finds, and moves on. */
static int search_step(search *s, tkl__rounds *rounds)
{
    enum { NOW, LOOKED_AT, CURSOR, FOUND, PARTS };
    char most[24];
    tkl_reply *reply;
    const tkl__queue_partition *partition = &s->queue->partitions[s->partition];
    snprintf(most, sizeof most, "%zu", s->max - s->count);
    tkl_bytes args[] = {
        tkl_str(sets[s->set].name), tkl_str(s->cursor), tkl_str(most),   s->filter.kind,
        s->filter.reason,           s->filter.text,     s->filter.older, tkl_str(s->cut)};
    int rc = tkl__queue_run_on(partition, &tkl__lua_queue_find, args, 8, true, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_array(reply, PARTS);
    char *cursor = rc == TKL_OK ? strdup(tkl_reply_str(tkl_reply_at(reply, CURSOR))) : NULL;
    if (rc == TKL_OK && !cursor)
        rc = tkl__nomem();
    if (rc != TKL_OK) {
        tkl_reply_free(reply);
        return rc;
    }
    free(s->cursor);
    s->cursor = cursor;
    size_t before = s->count;
    gather_jobs(partition, sets[s->set].state, tkl_reply_int(tkl_reply_at(reply, NOW)),
                tkl_reply_at(reply, FOUND), s->max - s->count, s->items, &s->count);
    s->set += *cursor == '\0';
    int64_t looked_at = tkl_reply_int(tkl_reply_at(reply, LOOKED_AT));
    if (s->count > before)
        tkl__reply_put(s->replies, s->nreplies++, reply);
    else
        tkl_reply_free(reply);
    return *cursor == '\0' ? TKL_OK : tkl__queue_next_step(partition, rounds, looked_at);
}

/* Makes the listing, which takes over the replies, and notes where a later search goes on. */
static int end_search(search *s, bool more, tkl_listing **list)
{
    char *next = NULL;
    if (more && asprintf(&next, "%d.%d.%s", s->partition, s->set, s->cursor) < 0)
        return tkl__nomem();
    int rc = make_listing(s->replies, s->items, s->count, list);
    s->replies = NULL;
    if (rc != TKL_OK) {
        free(next);
        return rc;
    }
    ((listing *)(void *)*list)->next = next;
    (*list)->next = next;
    return TKL_OK;
}

static int check_search(tkl_job_state state, size_t max)
{
    const char *unused[2];
    if (state != TKL_JOB_STATE_UNKNOWN && sets_of(state, unused) == 0)
        return tkl__fail(TKL_EINVAL, "jobs of this state cannot be listed");
    if (max < 1 || max > PEEK_MAX)
        return tkl__fail(TKL_EINVAL, "from 1 to %d jobs at a time", PEEK_MAX);
    return TKL_OK;
}

int tkl_queue_find(tkl_queue *queue, tkl_job_state state, const tkl_job_filter *filter,
                   const char *after, size_t max, size_t cut, tkl_listing **list)
{
    search s = {.queue = queue, .state = state, .max = max};
    tkl__rounds rounds = {.idle = 0};
    int64_t deadline = tkl__queue_deadline(queue);
    bool more = true;
    *list = NULL;
    snprintf(s.cut, sizeof s.cut, "%zu", cut);
    int rc = check_search(state, max);
    if (rc == TKL_OK)
        rc = tkl__queue_filter_read(filter, &s.filter);
    if (rc == TKL_OK && filter && filter->id)
        rc = tkl__fail(TKL_EINVAL, "tkl_queue_show() finds a job by its id");
    if (rc == TKL_OK && filter && filter->within_ms > 0)
        deadline = tkl__now() + filter->within_ms * 1000;
    if (rc == TKL_OK)
        rc = begin_search(&s, after);
    if (rc != TKL_OK)
        return rc;
    s.items = calloc(max, sizeof *s.items);
    s.replies = tkl__reply_new_array(max);
    if (!s.items || !s.replies)
        rc = tkl__nomem();
    for (int steps = 0; rc == TKL_OK && (more = search_has_set(&s)) && s.count < max &&
                        (steps == 0 || tkl__left(deadline) > 0);
         steps = 1)
        rc = search_step(&s, &rounds);
    if (rc == TKL_OK)
        rc = end_search(&s, more, list);
    tkl_reply_free(s.replies);
    free(s.items);
    free(s.cursor);
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

static int show_on(const tkl__queue_partition *partition, const char *digits, size_t cut,
                   tkl_reply **reply)
{
    tkl_bytes keys[TKL__QUEUE_KEYS + 1];
    char bytes[24];
    snprintf(bytes, sizeof bytes, "%zu", cut);
    tkl_bytes args[] = {tkl_str(digits), tkl_str(""), tkl_str(bytes)};
    tkl__invocation call = tkl__queue_call(partition, &tkl__lua_queue_show, args, 3);
    int rc = tkl__queue_result_keys(partition, digits, keys);
    call.keys = keys;
    call.nkeys = TKL__QUEUE_KEYS + 1;
    call.retry_safe = true;
    if (rc == TKL_OK)
        rc = tkl__queue_run_search(partition->queue, &call, &args[1], reply);
    free((char *)keys[TKL__QUEUE_KEYS].data);
    return rc;
}

int tkl_queue_show(tkl_queue *queue, const char *id, size_t cut, tkl_listing **list)
{
    const char *digits;
    tkl_reply *reply = NULL;
    found one = {.at = 2};
    *list = NULL;
    one.partition = tkl__queue_find_id(queue, id, &digits);
    int rc = one.partition ? show_on(one.partition, digits, cut, &reply) : tkl__no(TKL_NOTFOUND);
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
