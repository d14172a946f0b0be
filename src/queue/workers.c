/* SPDX-License-Identifier: MIT
 *
 * For operators: the workers of queues, and the jobs that they have. A worker claims from several
 * partitions, and perhaps from several queues: their answers are merged by its id.
 */
#include "queue/workers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/onekey.h"
#include "core/reply.h"
#include "queue/all.h"
#include "queue/scripts.h"
#include "queue/words.h"

#define ANSWER 3 /* parts of an answer of workers.lua */
#define ROW    5 /* parts of a worker, and of a claim, in it */

/* A claim, and the worker that has it. */
typedef struct claim {
    char worker[TKL_WORKER_ID_SIZE];
    tkl_queue_run run;
} claim;

/* The public result and what it points into. */
typedef struct worker_list {
    tkl_queue_worker_list public; /* first: the user's pointer points to it */
    tkl_queue_worker *workers;
    tkl_queue_run *runs;
    char *names; /* names of the queues */
    tkl_reply *replies;
} worker_list;

/* The answers while they are merged. */
typedef struct census {
    tkl_queue_worker *workers; /* one for each sighting of a worker, until they are merged */
    size_t worker_count;
    claim *claims;
    size_t claim_count;
    int64_t now_ms;
} census;

/* ---- Texts --------------------------------------------------------------- */

void tkl__queue_worker_id(tkl_bytes digits, char id[TKL_WORKER_ID_SIZE])
{
    memset(id, 0, TKL_WORKER_ID_SIZE);
    if (digits.len == TKL_WORKER_ID_SIZE - 1)
        memcpy(id, digits.data, digits.len);
}

void tkl__queue_worker_read(tkl_bytes text, tkl_queue_worker *worker)
{
    int64_t numbers[4];
    for (int i = 0; i < 4; i++)
        if ((numbers[i] = tkl__queue_word_number(tkl__queue_next_word(&text))) < 0)
            return;
    worker->threads = numbers[0] < INT_MAX ? (int)numbers[0] : INT_MAX;
    worker->done = numbers[1];
    worker->failed = numbers[2];
    worker->pid = numbers[3];
    worker->host = tkl__queue_next_word(&text);
    worker->program = tkl__queue_next_word(&text);
    worker->label = text;
}

/* ---- Answers ------------------------------------------------------------- */

static tkl_bytes bytes_at(const tkl_reply *list, size_t index)
{
    return tkl_reply_bytes(tkl_reply_at(list, index));
}

static int64_t time_at(const tkl_reply *list, size_t index)
{
    int64_t time = tkl__reply_number(tkl_reply_at(list, index));
    return time > 0 ? time : 0;
}

static void read_workers(census *c, const tkl_reply *rows)
{
    for (size_t at = 0; at + ROW <= tkl_reply_count(rows); at += ROW) {
        tkl_queue_worker *worker = &c->workers[c->worker_count++];
        *worker = (tkl_queue_worker){.seen_ms = time_at(rows, at + 1),
                                     .lease_ms = time_at(rows, at + 2),
                                     .waiting = time_at(rows, at + 3) != 0};
        tkl__queue_worker_id(bytes_at(rows, at), worker->id);
        tkl__queue_worker_read(bytes_at(rows, at + 4), worker);
    }
}

/* Finds workers by their claims, too: there may be nothing else about them. */
static void read_claims(census *c, const tkl__queue_partition *partition, tkl_bytes queue,
                        const tkl_reply *rows)
{
    for (size_t at = 0; at + ROW <= tkl_reply_count(rows); at += ROW) {
        claim *one = &c->claims[c->claim_count];
        tkl_bytes id = bytes_at(rows, at + 1);
        *one = (claim){.run = {.queue = queue,
                               .since_ms = time_at(rows, at + 2),
                               .until_ms = time_at(rows, at + 3),
                               .kind = bytes_at(rows, at + 4)}};
        tkl__queue_worker_id(bytes_at(rows, at), one->worker);
        if (!*one->worker || !tkl__queue_is_id(id))
            continue;
        tkl__queue_show_id(partition, id.data, one->run.id);
        tkl_queue_worker *worker = &c->workers[c->worker_count++];
        *worker = (tkl_queue_worker){.seen_ms = 0};
        memcpy(worker->id, one->worker, sizeof worker->id);
        c->claim_count++;
    }
}

/* Sightings of the same worker: the latest first. */
static int by_id(const void *a, const void *b)
{
    const tkl_queue_worker *x = a, *y = b;
    int order = memcmp(x->id, y->id, sizeof x->id);
    return order ? order : (x->seen_ms < y->seen_ms) - (x->seen_ms > y->seen_ms);
}

/* The longest runs of a worker first. */
static int by_worker(const void *a, const void *b)
{
    const claim *x = a, *y = b;
    int order = memcmp(x->worker, y->worker, sizeof x->worker);
    if (order)
        return order;
    if (x->run.since_ms != y->run.since_ms)
        return x->run.since_ms < y->run.since_ms ? -1 : 1;
    return strcmp(x->run.id, y->run.id);
}

static int by_host(const void *a, const void *b)
{
    const tkl_queue_worker *x = a, *y = b;
    int order = tkl__compare_bytes(x->host, y->host);
    if (!order)
        order = tkl__compare_bytes(x->program, y->program);
    if (!order)
        order = (x->pid > y->pid) - (x->pid < y->pid);
    return order ? order : memcmp(x->id, y->id, sizeof x->id);
}

/* Merges all sightings of a worker. It waits if any of them says so. */
static void merge_workers(census *c)
{
    size_t kept = 0;
    if (c->worker_count > 0)
        qsort(c->workers, c->worker_count, sizeof *c->workers, by_id);
    for (size_t i = 0; i < c->worker_count; i++) {
        tkl_queue_worker *last = kept > 0 ? &c->workers[kept - 1] : NULL, *one = &c->workers[i];
        if (last && strcmp(last->id, one->id) == 0)
            last->waiting = last->waiting || one->waiting;
        else
            c->workers[kept++] = *one;
    }
    c->worker_count = kept;
}

/* Gives each worker its claims: both are sorted by worker. */
static void assign_runs(census *c, tkl_queue_run *runs)
{
    size_t next = 0;
    if (c->claim_count > 0)
        qsort(c->claims, c->claim_count, sizeof *c->claims, by_worker);
    for (size_t i = 0; i < c->worker_count; i++) {
        tkl_queue_worker *worker = &c->workers[i];
        worker->runs = &runs[next];
        for (; next < c->claim_count && strcmp(c->claims[next].worker, worker->id) == 0; next++) {
            runs[next] = c->claims[next].run;
            worker->run_count++;
        }
    }
    if (c->worker_count > 0)
        qsort(c->workers, c->worker_count, sizeof *c->workers, by_host);
}

/* ---- The call ------------------------------------------------------------ */

void tkl_queue_worker_list_free(tkl_queue_worker_list *public)
{
    worker_list *list = (worker_list *)(void *)public;
    if (!list)
        return;
    free(list->workers);
    free(list->runs);
    free(list->names);
    tkl_reply_free(list->replies);
    free(list);
}

static size_t rows_of(const tkl_reply *replies, size_t part)
{
    size_t rows = 0;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        rows += tkl_reply_count(tkl_reply_at(tkl_reply_at(replies, i), part)) / ROW;
    return rows;
}

/* Reads the answers of all partitions, in order. */
static int read_answers(census *c, tkl_queue *const *queues, size_t count, worker_list *list)
{
    size_t at = 0;
    char *name = list->names;
    for (size_t q = 0; q < count; q++) {
        tkl_bytes queue = {name, queues[q]->name.len};
        name = (char *)memcpy(name, queues[q]->name.data, queue.len) + queue.len;
        for (int p = 0; p < queues[q]->npartitions; p++) {
            const tkl_reply *answer = tkl_reply_at(list->replies, at++);
            int rc = tkl__expect_array(answer, ANSWER);
            if (rc != TKL_OK)
                return rc;
            int64_t now = time_at(answer, 0);
            c->now_ms = now > c->now_ms ? now : c->now_ms;
            read_workers(c, tkl_reply_at(answer, 1));
            read_claims(c, &queues[q]->partitions[p], queue, tkl_reply_at(answer, 2));
        }
    }
    return TKL_OK;
}

/* Takes ownership of the replies. */
static int make_list(tkl_queue *const *queues, size_t count, tkl_reply *replies,
                     tkl_queue_worker_list **workers)
{
    size_t names = 0, claims = rows_of(replies, 2), rows = rows_of(replies, 1) + claims;
    for (size_t i = 0; i < count; i++)
        names += queues[i]->name.len;
    worker_list *list = calloc(1, sizeof *list);
    census c = {.claims = calloc(claims + 1, sizeof *c.claims)};
    if (!list || !c.claims) {
        tkl_reply_free(replies);
        free(list);
        free(c.claims);
        return tkl__nomem();
    }
    list->replies = replies;
    list->names = malloc(names + 1);
    list->runs = calloc(claims + 1, sizeof *list->runs);
    c.workers = list->workers = calloc(rows + 1, sizeof *list->workers);
    int rc = list->names && list->runs && list->workers ? read_answers(&c, queues, count, list)
                                                        : tkl__nomem();
    if (rc == TKL_OK) {
        merge_workers(&c);
        assign_runs(&c, list->runs);
        list->public = (tkl_queue_worker_list){list->workers, c.worker_count, c.now_ms};
        *workers = &list->public;
    } else {
        tkl_queue_worker_list_free(&list->public);
    }
    free(c.claims);
    return rc;
}

int tkl_queue_workers(tkl_queue *const *queues, size_t count, tkl_queue_worker_list **workers)
{
    tkl_reply *replies = NULL;
    *workers = NULL;
    int rc = tkl__queue_run_on_queues(queues, count, &tkl__lua_queue_workers, &replies);
    return rc == TKL_OK ? make_list(queues, count, replies, workers) : rc;
}
