/* SPDX-License-Identifier: MIT
 *
 * Pushing: cuts the jobs into chunks, each for one partition and one run of a script, and sends as
 * many chunks together as make a good round trip.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "pipeline/pipeline.h"
#include "queue/partition.h"
#include "queue/record.h"
#include "queue/scripts.h"

/* Limits that keep scripts short and the memory of a round trip small. A job with a unique key keeps
 * a script as busy as UNIQUE_WORK jobs without one, and counts as that many. */
#define CHUNK_JOBS  1000
#define UNIQUE_WORK 4
#define CHUNK_BYTES 1048576
#define BATCH_JOBS  65536
#define BATCH_BYTES 8388608
/* Most dependencies in a flow. */
#define FLOW_EDGES 2500

#define REQUEST_MAX 64

/* ---- Lanes: see "Lost answers" in queue.c -------------------------------- */

struct tkl__queue_lane {
    struct tkl__queue_lane *next;
    char name[17];
    uint64_t number;     /* number of the last push */
    unsigned generation; /* a forked child must not use its parent's lanes */
};

static tkl__queue_lane *new_lane(void)
{
    uint64_t random;
    tkl__queue_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    tkl__random(&random, sizeof random);
    snprintf(lane->name, sizeof lane->name, "%016" PRIx64, random);
    lane->generation = tkl__fork_generation();
    return lane;
}

static tkl__queue_lane *borrow_lane(tkl_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    tkl__queue_lane *lane = queue->lanes;
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

static void return_lane(tkl_queue *queue, tkl__queue_lane *lane)
{
    if (!lane)
        return;
    pthread_mutex_lock(&queue->mutex);
    lane->next = queue->lanes;
    queue->lanes = lane;
    pthread_mutex_unlock(&queue->mutex);
}

void tkl__queue_lanes_free(tkl_queue *queue)
{
    for (tkl__queue_lane *lane = queue->lanes, *next; lane; lane = next) {
        next = lane->next;
        free(lane);
    }
}

/* ---- A round trip: some of the jobs of a push ---------------------------- */

/* Jobs of one partition, for one run of push.lua. */
typedef struct chunk {
    tkl__queue_partition *partition;
    size_t count; /* number of jobs */
    size_t work;  /* 1 for a plain job, UNIQUE_WORK for one with a unique key */
    size_t bytes;
    size_t first;  /* index of its first argument in those of the batch */
    size_t before; /* the chunk of this partition that must be pushed before; SIZE_MAX: none */
    char lane[2 * REQUEST_MAX + 32];
} chunk;

/* A job: its chunk, its index there, and the offsets of its arguments in the text. */
typedef struct piece {
    size_t chunk, index;
    size_t when, record, end;
} piece;

typedef struct push_batch {
    tkl_queue *queue;
    const tkl_push *jobs;
    size_t count;
    tkl__queue_partition *flow; /* the partition of a flow, which is one chunk; NULL: no flow */
    const char *number;         /* number of the request in its lane */
    piece *pieces;              /* one for each job */
    chunk *chunks;
    size_t nchunks;
    size_t *open; /* each partition's last chunk; SIZE_MAX: none */
    tkl__buf text;
    tkl_bytes *args;
    tkl__invocation *calls; /* one for each chunk */
    tkl__batch batch;       /* sends these calls */
} push_batch;

static void push_batch_free(push_batch *b)
{
    free(b->pieces);
    free(b->chunks);
    free(b->open);
    free(b->args);
    free(b->calls);
    tkl__batch_free(&b->batch);
    tkl__buf_free(&b->text);
}

static int push_batch_init(push_batch *b, tkl_queue *queue, const tkl_push *jobs, size_t count)
{
    size_t partitions = (size_t)queue->npartitions;
    *b = (push_batch){.queue = queue, .jobs = jobs, .count = count};
    tkl__buf_init(&b->text);
    tkl__batch_init(&b->batch, queue->client);
    b->pieces = malloc(count * sizeof *b->pieces);
    b->open = malloc(partitions * sizeof *b->open);
    if (!b->pieces || !b->open)
        return tkl__nomem();
    memset(b->open, 0xff, partitions * sizeof *b->open);
    return TKL_OK;
}

/* How many of the jobs go into one round trip: at least one. */
static size_t batch_size(const tkl_push *jobs, size_t count)
{
    size_t bytes = 0, n = 0;
    while (n < count && n < BATCH_JOBS && (n == 0 || bytes + jobs[n].payload.len <= BATCH_BYTES))
        bytes += jobs[n++].payload.len;
    return n;
}

/* The partition of a group or unique key, whose jobs belong together. NULL: any. */
static tkl__queue_partition *home_of(const tkl_queue *queue, const tkl_push *job)
{
    tkl_bytes key = job->group.len > 0 ? job->group : job->unique;
    return key.len > 0 ? tkl__queue_partition_of(queue, key) : NULL;
}

/* Chooses the partition of a job. Spreads jobs without a home evenly, neighbours together. */
static tkl__queue_partition *partition_for(const push_batch *b, size_t job, size_t start)
{
    size_t partitions = (size_t)b->queue->npartitions;
    if (b->flow)
        return b->flow;
    if (partitions == 1)
        return &b->queue->partitions[0];
    tkl__queue_partition *home = home_of(b->queue, &b->jobs[job]);
    if (home)
        return home;
    size_t share = (b->count + partitions - 1) / partitions;
    return &b->queue->partitions[(start + job / share) % partitions];
}

static chunk *new_chunk(push_batch *b, tkl__queue_partition *partition)
{
    if (!tkl__grow(&b->chunks, b->nchunks, sizeof *b->chunks))
        return NULL;
    chunk *c = &b->chunks[b->nchunks];
    *c = (chunk){.partition = partition, .before = b->open[partition->index]};
    b->open[partition->index] = b->nchunks++;
    return c;
}

/* Puts a job into the last chunk of its partition, or into a new one. */
static int assign_job(push_batch *b, piece *p, tkl__queue_partition *partition)
{
    size_t last = b->open[partition->index], bytes = p->end - p->record;
    size_t work = b->jobs[p - b->pieces].unique.len > 0 ? UNIQUE_WORK : 1;
    chunk *c = last == SIZE_MAX ? NULL : &b->chunks[last];
    bool fits = c && (b->flow || (c->work + work <= CHUNK_JOBS && c->bytes + bytes <= CHUNK_BYTES));
    if (!fits && !(c = new_chunk(b, partition)))
        return tkl__nomem();
    p->chunk = (size_t)(c - b->chunks);
    p->index = c->count++;
    c->work += work;
    c->bytes += bytes;
    return TKL_OK;
}

/* Adds when a job may start, as an argument of push.lua: nothing for at once. */
static void add_when(tkl__buf *text, const tkl_push *job)
{
    if (job->delay_ms > 0)
        tkl__buf_addf(text, "delay=%" PRId64 " ", job->delay_ms);
    else if (job->at_ms > 0)
        tkl__buf_addf(text, "at=%" PRId64 " ", job->at_ms);
    if (job->after_count > 0)
        tkl__buf_addz(text, "after=");
    for (size_t i = 0; i < job->after_count; i++)
        tkl__buf_addf(text, "%zu,", job->after[i] + 1);
}

/* Writes the arguments of each job into the text, and assigns the job to a chunk. */
static int encode_and_assign(push_batch *b, size_t start)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < b->count; i++) {
        piece *p = &b->pieces[i];
        p->when = b->text.len;
        add_when(&b->text, &b->jobs[i]);
        p->record = b->text.len;
        tkl__queue_record_encode(&b->text, &b->jobs[i], b->flow != NULL);
        p->end = b->text.len;
        rc = b->text.failed ? tkl__nomem() : assign_job(b, p, partition_for(b, i, start));
    }
    return rc;
}

/* ---- The scripts to run -------------------------------------------------- */

/* Index of the argument of push.lua that names the chunk which must be pushed before. */
#define AFTER 2

/* Makes the call of each chunk, in the order in which the calls must run. `before`: number of
 * chunks in earlier batches of this push. */
static int prepare_calls(push_batch *b, const char *lane, size_t before)
{
    enum { FIRST_JOB = 3 };
    b->args = malloc((FIRST_JOB * b->nchunks + 2 * b->count) * sizeof *b->args);
    b->calls = malloc(b->nchunks * sizeof *b->calls);
    if (!b->args || !b->calls)
        return tkl__nomem();
    for (size_t i = 0, first = 0; i < b->nchunks; i++) {
        chunk *c = &b->chunks[i];
        size_t nargs = FIRST_JOB + 2 * c->count;
        tkl_bytes *args = &b->args[first];
        snprintf(c->lane, sizeof c->lane, "%s.%zu", lane, before + i);
        args[0] = tkl_str(c->lane);
        args[1] = tkl_str(b->number);
        args[AFTER] = tkl_str(c->before == SIZE_MAX ? "" : b->chunks[c->before].lane);
        b->calls[i] = tkl__queue_call(c->partition, &tkl__lua_queue_push, args, nargs);
        b->calls[i].retry_safe = true;
        c->first = first;
        first += nargs;
    }
    for (size_t i = 0; i < b->count; i++) {
        const piece *p = &b->pieces[i];
        tkl_bytes *args = &b->args[b->chunks[p->chunk].first + FIRST_JOB + 2 * p->index];
        args[0] = (tkl_bytes){b->text.data + p->when, p->record - p->when};
        args[1] = (tkl_bytes){b->text.data + p->record, p->end - p->record};
    }
    return TKL_OK;
}

/* ---- The answers --------------------------------------------------------- */

/* The answer of a chunk while it is read. */
typedef struct answer {
    const char *at;   /* the next word */
    uint64_t next_id; /* in a run of new jobs */
    size_t left;      /* jobs left in that run */
} answer;

static bool is_id_word(const char *word, size_t len, char digits[TKL__QUEUE_ID_LEN + 1])
{
    snprintf(digits, TKL__QUEUE_ID_LEN + 1, "%.*s", (int)len, word);
    return tkl__queue_is_id((tkl_bytes){word, len});
}

/* Takes the next id of a run of new jobs. */
static int next_of_run(const tkl__queue_partition *partition, answer *a, char id[TKL_JOB_ID_SIZE])
{
    char digits[TKL__QUEUE_ID_LEN + 1];
    snprintf(digits, sizeof digits, "%013" PRIx64, a->next_id++ & UINT64_C(0xfffffffffffff));
    a->left--;
    tkl__queue_show_id(partition, digits, id);
    return TKL_OK;
}

/* Takes the outcome of the next job. A word of the answer is "id*n" for n new jobs, "=id" of the
 * job that already has the unique key, or "-". */
static int next_answer(const tkl__queue_partition *partition, answer *a, char id[TKL_JOB_ID_SIZE])
{
    char digits[TKL__QUEUE_ID_LEN + 1];
    const char *word = a->at;
    size_t len = strcspn(word, " "), star = strcspn(word, "* ");
    if (a->left > 0)
        return next_of_run(partition, a, id);
    a->at = word + len + (word[len] == ' ');
    if (star < len && is_id_word(word, star, digits)) {
        a->next_id = strtoull(digits, NULL, 16);
        a->left = strtoull(word + star + 1, NULL, 10);
        return a->left > 0 ? next_of_run(partition, a, id) : tkl__no(TKL_FULL);
    }
    if (*word != '=' || !is_id_word(word + 1, len - 1, digits))
        return tkl__no(TKL_FULL);
    tkl__queue_show_id(partition, digits, id);
    return TKL_EXISTS;
}

/* Reports the outcome of each job; returns the first failure. Jobs and answers of a chunk have the
 * same order: each job takes the next part. */
static int read_answers(const push_batch *b, tkl_pushed *pushed)
{
    char unwanted[TKL_JOB_ID_SIZE];
    tkl_error first = {.code = TKL_OK};
    answer *answers = calloc(b->nchunks + 1, sizeof *answers);
    if (!answers)
        return tkl__nomem();
    for (size_t i = 0; i < b->nchunks; i++)
        answers[i].at = tkl_reply_str(tkl__batch_reply(&b->batch, i));
    for (size_t i = 0; i < b->count; i++) {
        const piece *p = &b->pieces[i];
        int code = tkl__batch_code(&b->batch, p->chunk);
        if (code == TKL_OK)
            code = next_answer(b->chunks[p->chunk].partition, &answers[p->chunk],
                               pushed ? pushed[i].id : unwanted);
        if (pushed)
            pushed[i].code = code;
        if (code != TKL_EXISTS)
            tkl__first_note(&first, code);
    }
    free(answers);
    return tkl__first_tell(&first);
}

/* ---- Pushing ------------------------------------------------------------- */

/* The parts of a request that all batches of a push share. */
typedef struct request {
    tkl_queue *queue;
    char lane[2 * REQUEST_MAX + 8];
    char number[24];
    size_t start;               /* partition to begin with */
    tkl__queue_partition *flow; /* the partition of a flow; NULL: no flow */
    size_t chunks;              /* so far */
    int64_t deadline;
} request;

static int make_calls(const request *r, push_batch *b)
{
    b->number = r->number;
    b->flow = r->flow;
    int rc = encode_and_assign(b, r->start);
    return rc == TKL_OK ? prepare_calls(b, r->lane, r->chunks) : rc;
}

static int run_push_batch(request *r, push_batch *b, tkl_pushed *pushed)
{
    int rc = make_calls(r, b);
    if (rc != TKL_OK)
        return rc;
    r->chunks += b->nchunks;
    for (size_t i = 0; i < b->nchunks; i++)
        tkl__batch_add(&b->batch, &b->calls[i]);
    (void)tkl__batch_run_in_order(&b->batch, b->calls, AFTER,
                                  r->deadline); /* each answer has its code */
    return read_answers(b, pushed);
}

/* Sends one batch after the other. After an error, the rest is not sent. */
static int push_all(request *r, const tkl_push *jobs, size_t count, tkl_pushed *pushed)
{
    tkl_error first = {.code = TKL_OK};
    for (size_t done = 0, n; done < count && first.code >= 0; done += n) {
        push_batch b;
        n = r->flow ? count : batch_size(jobs + done, count - done);
        int rc = push_batch_init(&b, r->queue, jobs + done, n);
        if (rc == TKL_OK)
            rc = run_push_batch(r, &b, pushed ? pushed + done : NULL);
        push_batch_free(&b);
        tkl__first_note(&first, rc);
    }
    return tkl__first_tell(&first);
}

/* Names the request: by the caller's request id, or by a lane. A request id also chooses the first
 * partition, so that a repeat goes to the same partitions. */
static int make_request(request *r, tkl_bytes given, tkl__queue_lane **lane)
{
    *lane = NULL;
    if (given.len > REQUEST_MAX)
        return tkl__fail(TKL_EINVAL, "a request id has at most %d bytes", REQUEST_MAX);
    if (given.len > 0) {
        char *at = r->lane + sprintf(r->lane, "u:");
        for (size_t i = 0; i < given.len; i++)
            at += sprintf(at, "%02x", (unsigned char)given.data[i]);
        r->start = (size_t)tkl__queue_partition_of(r->queue, given)->index;
        snprintf(r->number, sizeof r->number, "0");
        return TKL_OK;
    }
    if (!(*lane = borrow_lane(r->queue)))
        return tkl__nomem();
    snprintf(r->lane, sizeof r->lane, "%s", (*lane)->name);
    snprintf(r->number, sizeof r->number, "%" PRIu64, (*lane)->number);
    r->start = atomic_fetch_add(&r->queue->pushes, 1) % (size_t)r->queue->npartitions;
    return TKL_OK;
}

static int check_all(const tkl_push *jobs, size_t count, tkl_pushed *pushed)
{
    tkl_error first = {.code = TKL_OK};
    for (size_t i = 0; i < count; i++) {
        int rc = tkl__queue_check_job(&jobs[i]);
        if (pushed)
            pushed[i] = (tkl_pushed){.code = rc == TKL_OK ? TKL_ENOTSENT : rc};
        tkl__first_note(&first, rc);
    }
    return tkl__first_tell(&first);
}

/* Finds the partition of a flow. A flow goes into one partition, in one script: jobs, and the jobs
 * that wait for them. */
static int find_flow(request *r, const tkl_push *jobs, size_t count)
{
    size_t edges = 0;
    tkl__queue_partition *home = NULL;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < jobs[i].after_count; k++, edges++)
            if (jobs[i].after[k] >= i)
                return tkl__fail(TKL_EINVAL, "a job can only wait for those before it in the push");
    if (edges > 0 && (count > CHUNK_JOBS || edges > FLOW_EDGES))
        return tkl__fail(TKL_EINVAL,
                         "a push with a flow has at most %d jobs, which wait for others %d times",
                         CHUNK_JOBS, FLOW_EDGES);
    for (size_t i = 0; edges > 0 && i < count; i++) {
        tkl__queue_partition *other = home_of(r->queue, &jobs[i]);
        if (home && other && other != home)
            return tkl__fail(TKL_EINVAL,
                             "groups and unique keys of a flow must be in one partition");
        home = home ? home : other;
    }
    if (edges > 0)
        r->flow = home ? home : &r->queue->partitions[r->start];
    return TKL_OK;
}

int tkl_queue_push(tkl_queue *queue, const tkl_push *jobs, size_t count,
                   const tkl_push_options *options, tkl_pushed *pushed)
{
    request r = {.queue = queue, .deadline = tkl__queue_deadline(queue)};
    tkl__queue_lane *lane = NULL;
    if (options && options->timeout_ms > 0)
        r.deadline = tkl__deadline(queue->client, options->timeout_ms);
    int rc = check_all(jobs, count, pushed);
    if (rc == TKL_OK)
        rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = make_request(&r, options ? options->request : (tkl_bytes){NULL, 0}, &lane);
    if (rc == TKL_OK)
        rc = find_flow(&r, jobs, count);
    if (rc == TKL_OK)
        rc = push_all(&r, jobs, count, pushed);
    return_lane(queue, lane);
    return rc;
}

int tkl_queue_push_one(tkl_queue *queue, tkl_bytes payload, char id[TKL_JOB_ID_SIZE])
{
    tkl_pushed pushed;
    int rc = tkl_queue_push(queue, &(tkl_push){.payload = payload}, 1, NULL, &pushed);
    if (id)
        memcpy(id, pushed.id, sizeof pushed.id);
    return rc;
}

/* ---- Pushing in a pipeline ----------------------------------------------- */

/* A push under way. It keeps its lane until its outcome is known. */
typedef struct pushing {
    tkl__queue_lane *lane;
    tkl__queue_partition *partition;
} pushing;

static int finish_push(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    char unwanted[TKL_JOB_ID_SIZE];
    const pushing *p = operation->own;
    if (code == TKL_OK)
        code = next_answer(p->partition, &(answer){.at = tkl_reply_str(reply)},
                           operation->output ? operation->output : unwanted);
    return_lane(operation->handle, p->lane);
    return code == TKL_EXISTS ? tkl__no(TKL_EXISTS) : code;
}

static int check_single(const tkl_push *job)
{
    int rc = tkl__queue_check_job(job);
    if (rc == TKL_OK && job->after_count > 0)
        rc = tkl__fail(TKL_EINVAL, "a job can only wait for those before it in the push");
    return rc;
}

int tkl_queue_push_in(tkl_pipeline *pipeline, tkl_queue *queue, const tkl_push *job,
                      char id[TKL_JOB_ID_SIZE], tkl_result *result)
{
    request r = {.queue = queue};
    push_batch b;
    pushing *own = NULL;
    tkl__queue_lane *lane = NULL;
    if (id)
        id[0] = '\0';
    int rc = check_single(job);
    if (rc == TKL_OK)
        rc = make_request(&r, (tkl_bytes){NULL, 0}, &lane);
    if (rc != TKL_OK)
        return tkl__result_set(result, rc);
    rc = push_batch_init(&b, queue, job, 1);
    if (rc == TKL_OK)
        rc = make_calls(&r, &b);
    if (rc == TKL_OK && !(own = malloc(sizeof *own)))
        rc = tkl__nomem();
    if (rc == TKL_OK) {
        *own = (pushing){lane, b.chunks[0].partition};
        rc = tkl__pipeline_operation(pipeline, queue->client, &b.calls[0],
                                     &(tkl__operation){finish_push, queue, own, id, result});
    }
    push_batch_free(&b);
    if (rc == TKL_OK)
        return TKL_OK;
    return_lane(queue, lane);
    return tkl__result_set(result, rc);
}

const char *tkl_unique_mode_name(tkl_unique_mode mode)
{
    static const char *const names[] = {"until finished", "until started", "for a time"};
    return TKL__ENUM_NAME((int)mode, names);
}
