/* SPDX-License-Identifier: MIT
 *
 * Pushing: the jobs are cut into chunks, each for one partition and one run of a script, and the
 * chunks are sent together, as many as make a good trip.
 */
#include "queue/push.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "queue/record.h"
#include "queue/scripts.h"

/* A script shall not take long, nor a trip need much memory. */
#define CHUNK_JOBS  1000
#define CHUNK_BYTES 1048576
#define TRIP_JOBS   65536
#define TRIP_BYTES  8388608

#define REQUEST_MAX 64
#define ONE_KEYS    9
#define PUSH_KEYS   10
#define RICH_KEYS   13

/* ---- Lanes: see "Lost answers" in queue.c -------------------------------- */

struct tkl__lane {
    struct tkl__lane *next;
    char name[17];
    uint64_t number;     /* of the last push */
    unsigned generation; /* a forked child's pushes are not its parent's */
};

static tkl__lane *new_lane(void)
{
    uint64_t random;
    tkl__lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    tkl__random(&random, sizeof random);
    snprintf(lane->name, sizeof lane->name, "%016" PRIx64, random);
    lane->generation = tkl__fork_generation();
    return lane;
}

static tkl__lane *borrow_lane(tkl_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    tkl__lane *lane = queue->lanes;
    if (lane)
        queue->lanes = lane->next;
    pthread_mutex_unlock(&queue->mutex);
    if (lane && lane->generation != tkl__fork_generation()) {
        free(lane);
        return borrow_lane(queue);
    }
    if (!lane && !(lane = new_lane()))
        return NULL;
    lane->number++;
    return lane;
}

static void return_lane(tkl_queue *queue, tkl__lane *lane)
{
    if (!lane)
        return;
    pthread_mutex_lock(&queue->mutex);
    lane->next = queue->lanes;
    queue->lanes = lane;
    pthread_mutex_unlock(&queue->mutex);
}

void tkl__lanes_free(tkl_queue *queue)
{
    for (tkl__lane *lane = queue->lanes, *next; lane; lane = next) {
        next = lane->next;
        free(lane);
    }
}

/* ---- A trip: some of the jobs of a push ---------------------------------- */

/* Jobs of one partition, for one run of a script. */
typedef struct chunk {
    tkl__shard *shard;
    bool rich;    /* for push_rich.lua */
    size_t count; /* of jobs */
    size_t bytes;
    size_t first; /* of its arguments, in those of the trip */
    size_t filled;
    tkl_bytes place; /* the last of them */
    char lane[2 * REQUEST_MAX + 32];
    tkl_bytes keys[RICH_KEYS];
    uint64_t first_id; /* out, but for push_rich.lua: of the first job, and ... */
    size_t room;       /* ... how many there was room for */
} chunk;

/* Where the parts of a job are in the text. */
typedef struct piece {
    size_t chunk, place;   /* and its place there */
    size_t spot, spot_end; /* where it goes; the text may be that of the job before */
    size_t record, after, end;
} piece;

typedef struct trip {
    tkl_queue *queue;
    const tkl_push *jobs;
    size_t count;
    tkl__shard *flow;   /* the partition of a flow, which is one chunk; NULL: this is none */
    const char *number; /* of the request in its lane */
    piece *pieces;      /* of each job */
    chunk *chunks;
    size_t nchunks;
    size_t *open; /* each partition's last chunk; SIZE_MAX: none */
    tkl__buf text;
    tkl_bytes *args;
    tkl__invocation *calls; /* one for each chunk */
} trip;

static void trip_free(trip *t)
{
    free(t->pieces);
    free(t->chunks);
    free(t->open);
    free(t->args);
    free(t->calls);
    tkl__buf_free(&t->text);
}

static int trip_init(trip *t, tkl_queue *queue, const tkl_push *jobs, size_t count)
{
    size_t partitions = (size_t)queue->partitions;
    *t = (trip){.queue = queue, .jobs = jobs, .count = count};
    tkl__buf_init(&t->text);
    t->pieces = malloc(count * sizeof *t->pieces);
    t->open = malloc(partitions * sizeof *t->open);
    if (!t->pieces || !t->open)
        return tkl__nomem();
    memset(t->open, 0xff, partitions * sizeof *t->open);
    return TKL_OK;
}

/* How many of the jobs make a good trip: at least one. */
static size_t trip_size(const tkl_push *jobs, size_t count)
{
    size_t bytes = 0, n = 0;
    while (n < count && n < TRIP_JOBS && (n == 0 || bytes + jobs[n].payload.len <= TRIP_BYTES))
        bytes += jobs[n++].payload.len;
    return n;
}

/* What belongs together goes to one partition. NULL: to any. */
static tkl__shard *home_of(const tkl_queue *queue, const tkl_push *job)
{
    tkl_bytes key = job->group.len > 0 ? job->group : job->unique;
    return key.len > 0 ? tkl__shard_of(queue, key) : NULL;
}

/* What has no home is spread evenly, neighbours together. */
static tkl__shard *partition_for(const trip *t, size_t job, size_t start)
{
    size_t partitions = (size_t)t->queue->partitions;
    if (partitions == 1)
        return &t->queue->shards[0];
    tkl__shard *home = home_of(t->queue, &t->jobs[job]);
    if (home)
        return home;
    size_t share = (t->count + partitions - 1) / partitions;
    return &t->queue->shards[(start + job / share) % partitions];
}

static chunk *new_chunk(trip *t, tkl__shard *shard, bool rich)
{
    if ((t->nchunks & (t->nchunks - 1)) == 0) { /* 0 or a power of two: full */
        size_t cap = t->nchunks ? 2 * t->nchunks : 1;
        chunk *more = realloc(t->chunks, cap * sizeof *more);
        if (!more)
            return NULL;
        t->chunks = more;
    }
    t->open[shard->index] = t->nchunks;
    chunk *c = &t->chunks[t->nchunks++];
    *c = (chunk){.shard = shard, .rich = rich};
    return c;
}

/* Puts a job into the last chunk of its partition, or into a new one. */
static int assign(trip *t, size_t job, tkl__shard *shard, bool rich)
{
    piece *p = &t->pieces[job];
    size_t last = t->open[shard->index];
    chunk *c = last == SIZE_MAX ? NULL : &t->chunks[last];
    bool fits = c && c->rich == rich && c->count < CHUNK_JOBS &&
                (t->flow || c->bytes + (p->end - p->record) <= CHUNK_BYTES);
    if (!fits && !(c = new_chunk(t, shard, rich)))
        return tkl__nomem();
    p->chunk = (size_t)(c - t->chunks);
    p->place = c->count++;
    c->bytes += p->end - p->record;
    return TKL_OK;
}

/* Where a job goes: its score among those that are ready, or its time. */
static void add_place(tkl__buf *text, const tkl_push *job)
{
    if (job->delay_ms > 0)
        tkl__buf_addf(text, "+%" PRId64, job->delay_ms);
    else if (job->at_ms > 0)
        tkl__buf_addf(text, "@%" PRId64, job->at_ms);
    else
        tkl__buf_addf(text, "%" PRId64, TKL__SCORE_PUSHED(job->priority));
}

static bool is_same_place(const tkl_push *a, const tkl_push *b)
{
    return a->priority == b->priority && a->delay_ms == b->delay_ms && a->at_ms == b->at_ms;
}

/* The places of those that a job of a flow waits for, from 1. */
static void add_after(tkl__buf *text, const tkl_push *job)
{
    for (size_t i = 0; i < job->after_count; i++)
        tkl__buf_addf(text, "%zu ", job->after[i] + 1);
}

/* In a flow any job may be awaited. */
static int encode_and_assign(trip *t, size_t start)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < t->count; i++) {
        const tkl_push *job = &t->jobs[i];
        piece *p = &t->pieces[i];
        bool same = i > 0 && is_same_place(job, job - 1);
        p->spot = same ? p[-1].spot : t->text.len;
        if (!same)
            add_place(&t->text, job);
        p->spot_end = same ? p[-1].spot_end : t->text.len;
        p->record = t->text.len;
        tkl__record_encode(&t->text, job, tkl__push_kind(job, t->flow != NULL));
        p->after = t->text.len;
        add_after(&t->text, job);
        p->end = t->text.len;
        rc = t->text.failed ? tkl__nomem()
                            : assign(t, i, t->flow ? t->flow : partition_for(t, i, start),
                                     t->flow || job->unique.len > 0);
    }
    return rc;
}

/* ---- The scripts to run -------------------------------------------------- */

/* Adds the arguments of a job. Those of push.lua have a place only where it changes. */
static void add_args(trip *t, const piece *p)
{
    chunk *c = &t->chunks[p->chunk];
    tkl_bytes *args = &t->args[c->first];
    tkl_bytes place = {t->text.data + p->spot, p->spot_end - p->spot};
    bool same = c->place.len == place.len && memcmp(c->place.data, place.data, place.len) == 0;
    if (c->rich || !same)
        args[c->filled++] = c->place = place;
    args[c->filled++] = (tkl_bytes){t->text.data + p->record, p->after - p->record};
    if (c->rich)
        args[c->filled++] = (tkl_bytes){t->text.data + p->after, p->end - p->after};
}

/* For push_one.lua: one job, due at once, with no more to its start. */
static bool is_plain_one(const trip *t, const chunk *c)
{
    const tkl_bytes *args = &t->args[c->first];
    return !c->rich && c->count == 1 && args[2].data[0] != '+' && args[2].data[0] != '@' &&
           args[3].data[0] != TKL__RICH_STARTED;
}

static void prepare_chunk(trip *t, chunk *c, tkl__invocation *call)
{
    static const tkl__part parts[RICH_KEYS] = {
        TKL__META,   TKL__JOBS,        TKL__READY,      TKL__DELAYED,    TKL__ACTIVE,
        TKL__EXTRAS, TKL__WAITERS,     TKL__REQUESTS_0, TKL__REQUESTS_1, TKL__DEAD,
        TKL__UNIQUE, TKL__UNIQUE_TILL, TKL__FLOW};
    static const tkl__part parts_of_one[] = {
        TKL__META,   TKL__JOBS,    TKL__READY,      TKL__DEAD,       TKL__ACTIVE,
        TKL__EXTRAS, TKL__WAITERS, TKL__REQUESTS_0, TKL__REQUESTS_1,
    };
    bool alone = is_plain_one(t, c);
    size_t nkeys = c->rich ? RICH_KEYS : alone ? ONE_KEYS : PUSH_KEYS;
    tkl__shard_keys(c->shard, alone ? parts_of_one : parts, nkeys, c->keys);
    *call = (tkl__invocation){.script = c->rich ? &tkl__lua_queue_push_rich
                                        : alone ? &tkl__lua_queue_push_one
                                                : &tkl__lua_queue_push,
                              .keys = c->keys,
                              .nkeys = nkeys,
                              .args = &t->args[c->first],
                              .nargs = c->filled,
                              .retry_safe = true,
                              .wakes = alone};
}

/* `before`: chunks of earlier trips. */
static int prepare(trip *t, const char *lane, size_t before)
{
    t->args = malloc((2 * t->nchunks + 3 * t->count) * sizeof *t->args);
    t->calls = malloc(t->nchunks * sizeof *t->calls);
    if (!t->args || !t->calls)
        return tkl__nomem();
    for (size_t i = 0, first = 0; i < t->nchunks; i++) {
        chunk *c = &t->chunks[i];
        c->first = first;
        first += 2 + 3 * c->count;
        snprintf(c->lane, sizeof c->lane, "%s.%zu", lane, before + i);
        t->args[c->first] = tkl_str(c->lane);
        t->args[c->first + 1] = tkl_str(t->number);
        c->filled = 2;
    }
    for (size_t i = 0; i < t->count; i++)
        add_args(t, &t->pieces[i]);
    for (size_t i = 0; i < t->nchunks; i++)
        prepare_chunk(t, &t->chunks[i], &t->calls[i]);
    return TKL_OK;
}

/* ---- What became of them ------------------------------------------------- */

/* For each job "id", "=id" of the one that has its key, or "-". */
static int read_rich_answer(const tkl__shard *shard, const char *text, size_t place, char *id)
{
    for (; place > 0 && text; place--)
        text = (text = strchr(text, ' ')) ? text + 1 : NULL;
    bool exists = text && *text == '=';
    if (exists)
        text++;
    if (!text || strspn(text, "0123456789abcdef") != TKL__ID_LEN)
        return TKL_FULL;
    tkl__id_show(shard, text, id);
    return exists ? TKL_EXISTS : TKL_OK;
}

static int read_answer(const chunk *c, const tkl_reply *reply, size_t place, char *id)
{
    char digits[TKL__ID_LEN];
    int code = tkl_reply_code(reply);
    if (code != TKL_OK)
        return tkl__fail(code, "%s", tkl_reply_str(reply));
    if (c->rich)
        return read_rich_answer(c->shard, tkl_reply_str(reply), place, id);
    if (place >= c->room)
        return TKL_FULL;
    uint64_t number = c->first_id + place;
    for (int i = TKL__ID_LEN; i-- > 0; number /= 16)
        digits[i] = "0123456789abcdef"[number % 16];
    tkl__id_show(c->shard, digits, id);
    return TKL_OK;
}

/* "first-id how-many" */
static void read_answers(trip *t, const tkl_reply *replies)
{
    for (size_t i = 0; replies && i < t->nchunks; i++) {
        char *at;
        chunk *c = &t->chunks[i];
        c->first_id = strtoull(tkl_reply_str(tkl_reply_at(replies, i)), &at, 16);
        c->room = strtoull(at, NULL, 10);
    }
}

/* Tells each job's fate; the first failure is returned. */
static int tell(trip *t, const tkl_reply *replies, int rc, tkl_pushed *pushed)
{
    int first = TKL_OK;
    read_answers(t, replies);
    char none[TKL_JOB_ID_SIZE] = "";
    for (size_t i = 0; i < t->count; i++) {
        const piece *p = &t->pieces[i];
        const tkl_reply *reply = tkl_reply_at(replies, p->chunk);
        char *id = pushed ? pushed[i].id : none;
        int code = reply ? read_answer(&t->chunks[p->chunk], reply, p->place, id) : rc;
        if (pushed)
            pushed[i].code = code;
        if (first == TKL_OK && code != TKL_EXISTS)
            first = code;
    }
    return first;
}

/* ---- Pushing ------------------------------------------------------------- */

/* The request as all trips of a push share it. */
typedef struct request {
    tkl_queue *queue;
    char lane[2 * REQUEST_MAX + 8];
    char number[24];
    size_t start;     /* partition to begin with */
    tkl__shard *flow; /* the partition of a flow; NULL: this is none */
    size_t chunks;    /* so far */
    int64_t deadline;
} request;

static int run_trip(request *r, trip *t, tkl_pushed *pushed)
{
    tkl_reply *replies = NULL;
    t->number = r->number;
    t->flow = r->flow;
    int rc = encode_and_assign(t, r->start);
    if (rc == TKL_OK)
        rc = prepare(t, r->lane, r->chunks);
    if (rc != TKL_OK)
        return rc;
    r->chunks += t->nchunks;
    rc = tkl__run_many(r->queue->client, t->calls, t->nchunks, r->deadline, &replies);
    rc = tell(t, replies, rc, pushed);
    tkl_reply_free(replies);
    return rc;
}

/* Trip after trip. What comes after an error is not sent. */
static int push_all(request *r, const tkl_push *jobs, size_t count, tkl_pushed *pushed)
{
    int first = TKL_OK;
    for (size_t done = 0, n; done < count && first >= 0; done += n) {
        trip t;
        n = r->flow ? count : trip_size(jobs + done, count - done);
        int rc = trip_init(&t, r->queue, jobs + done, n);
        if (rc == TKL_OK)
            rc = run_trip(r, &t, pushed ? pushed + done : NULL);
        trip_free(&t);
        first = first == TKL_OK || rc < 0 ? rc : first;
    }
    return first;
}

/* A request id of the user's names its partitions as well, so that a repetition goes there. */
static int make_request(request *r, tkl_bytes given, tkl__lane **lane)
{
    *lane = NULL;
    if (given.len > REQUEST_MAX)
        return tkl__fail(TKL_EINVAL, "a request id has at most %d bytes", REQUEST_MAX);
    if (given.len > 0) {
        char *at = r->lane + sprintf(r->lane, "u:");
        for (size_t i = 0; i < given.len; i++)
            at += sprintf(at, "%02x", (unsigned char)given.data[i]);
        r->start = (size_t)tkl__shard_of(r->queue, given)->index;
        snprintf(r->number, sizeof r->number, "0");
        return TKL_OK;
    }
    if (!(*lane = borrow_lane(r->queue)))
        return tkl__nomem();
    snprintf(r->lane, sizeof r->lane, "%s", (*lane)->name);
    snprintf(r->number, sizeof r->number, "%" PRIu64, (*lane)->number);
    r->start = atomic_fetch_add(&r->queue->turn, 1) % (size_t)r->queue->partitions;
    return TKL_OK;
}

static int check_all(const tkl_push *jobs, size_t count, tkl_pushed *pushed)
{
    int first = TKL_OK;
    for (size_t i = 0; i < count; i++) {
        int rc = tkl__push_check(&jobs[i]);
        if (pushed)
            pushed[i] = (tkl_pushed){.code = rc == TKL_OK ? TKL_ENOTSENT : rc};
        first = first == TKL_OK ? rc : first;
    }
    return first;
}

/* Jobs that wait for others are pushed with them in one go, into one partition. */
static int find_flow(request *r, const tkl_push *jobs, size_t count)
{
    bool flow = false;
    tkl__shard *home = NULL;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < jobs[i].after_count; k++, flow = true)
            if (jobs[i].after[k] >= i)
                return tkl__fail(TKL_EINVAL, "a job can only wait for those before it in the push");
    if (flow && count > CHUNK_JOBS)
        return tkl__fail(TKL_EINVAL, "a push with a flow has at most %d jobs", CHUNK_JOBS);
    for (size_t i = 0; flow && i < count; i++) {
        tkl__shard *other = home_of(r->queue, &jobs[i]);
        if (home && other && other != home)
            return tkl__fail(TKL_EINVAL,
                             "groups and unique keys of a flow must be in one partition");
        home = home ? home : other;
    }
    if (flow)
        r->flow = home ? home : &r->queue->shards[r->start];
    return TKL_OK;
}

int tkl_queue_push(tkl_queue *queue, const tkl_push *jobs, size_t count,
                   const tkl_push_options *options, tkl_pushed *pushed)
{
    request r = {.queue = queue, .deadline = tkl__call_deadline(queue->client, NULL)};
    tkl__lane *lane = NULL;
    int rc = check_all(jobs, count, pushed);
    if (rc == TKL_OK)
        rc = make_request(&r, options ? options->request : (tkl_bytes){NULL, 0}, &lane);
    if (rc == TKL_OK)
        rc = find_flow(&r, jobs, count);
    if (rc == TKL_OK)
        rc = push_all(&r, jobs, count, pushed);
    return_lane(queue, lane);
    return rc;
}
