/* SPDX-License-Identifier: MIT
 *
 * For operators: all queues, their partitions and their numbers. The register of names says which
 * queues there are; one batch reads the numbers. A queue exists when it has a meta hash, or schedules
 * that never fired yet.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/names.h"
#include "core/options.h"
#include "core/register.h"
#include "queue/all.h"
#include "queue/overview.h"
#include "queue/scripts.h"

/* A queue while its keys are collected: one key of each partition. */
typedef struct finding {
    tkl_bytes name; /* owned */
    int partitions;
} finding;

typedef struct search {
    tkl_client *client;
    finding *items;
    size_t count;
} search;

/* The public result and what it points into. */
typedef struct overview {
    tkl_queue_overview public; /* first: the user's pointer points to it */
    tkl_queue_summary *items;
} overview;

/* ---- Names --------------------------------------------------------------- */

/* The number behind "%23" in the key of a partition, from 1; 0: the queue has one partition. */
static int number_of_partition(tkl_bytes key, size_t *mark)
{
    const char *end = memchr(key.data, '}', key.len);
    const char *at = end ? memmem(key.data, (size_t)(end - key.data), "%23", 3) : NULL;
    *mark = at ? (size_t)(at - key.data) : 0;
    long number = at ? strtol(at + 3, NULL, 10) : -1;
    return number >= 0 && number < TKL__QUEUE_PARTITIONS_MAX ? (int)number + 1 : 0;
}

static int add_finding(search *s, tkl_bytes name, int partitions)
{
    if (!tkl__grow(&s->items, s->count, sizeof *s->items)) {
        free((char *)(uintptr_t)name.data);
        return tkl__nomem();
    }
    s->items[s->count++] = (finding){name, partitions};
    return TKL_OK;
}

static int visit_partition(tkl_bytes key, void *arg)
{
    search *s = arg;
    size_t mark;
    int number = number_of_partition(key, &mark), rc = TKL_OK;
    tkl__buf whole;
    tkl_bytes name;
    tkl__buf_init(&whole);
    tkl__buf_add(&whole, key.data, mark ? mark : key.len);
    if (mark)
        tkl__buf_addz(&whole, "}");
    if (!whole.failed &&
        tkl__name_of_key(s->client, "queue", (tkl_bytes){whole.data, whole.len}, &name))
        rc = add_finding(s, name, mark && number < 2 ? 2 : number < 1 ? 1 : number);
    tkl__buf_free(&whole);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const finding *x = a, *y = b;
    return tkl__compare_bytes(x->name, y->name);
}

/* Sorts by name, and makes one finding of all partitions of a queue. */
static void merge_findings(search *s)
{
    size_t kept = 0;
    if (s->count > 0)
        qsort(s->items, s->count, sizeof *s->items, by_name);
    for (size_t i = 0; i < s->count; i++) {
        finding *last = kept > 0 ? &s->items[kept - 1] : NULL;
        if (last && by_name(last, &s->items[i]) == 0) {
            if (s->items[i].partitions > last->partitions)
                last->partitions = s->items[i].partitions;
            free((char *)(uintptr_t)s->items[i].name.data);
        } else {
            s->items[kept++] = s->items[i];
        }
    }
    s->count = kept;
}

static void free_findings(search *s)
{
    for (size_t i = 0; i < s->count; i++)
        free((char *)(uintptr_t)s->items[i].name.data);
    free(s->items);
}

static int find_queues(search *s)
{
    static const char *const parts[] = {"meta", "schedules"};
    int rc = tkl__register_visit(s->client, "queue", parts, 2, "hash", visit_partition, s);
    if (rc == TKL_OK)
        merge_findings(s);
    return rc;
}

int tkl_queue_names(tkl_client *client, tkl_names **names)
{
    search s = {.client = client};
    tkl__names found = {0};
    *names = NULL;
    int rc = find_queues(&s);
    for (size_t i = 0; rc == TKL_OK && i < s.count; i++)
        rc = tkl__names_add_copy(&found, s.items[i].name);
    if (rc == TKL_OK)
        rc = tkl__names_result(&found, names);
    tkl__names_free(&found);
    free_findings(&s);
    return rc;
}

/* ---- Partitions ---------------------------------------------------------- */

/* Opens the queue with this many partitions, and finds the last of them that exists. *last: its
 * number, from 1; 0: none exists. */
static int find_last(tkl_client *client, tkl_bytes name, int partitions, int *last)
{
    tkl_queue *queue;
    tkl_reply *replies = NULL;
    *last = 0;
    int rc = tkl_queue_open(client, name, &(tkl_queue_options){.partitions = partitions}, &queue);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_exists, NULL, 0, &replies);
    for (int i = 0; i < partitions; i++)
        if (tkl_reply_int(tkl_reply_at(replies, (size_t)i)) > 0)
            *last = i + 1;
    tkl_reply_free(replies);
    tkl_queue_close(queue);
    return rc;
}

int tkl_queue_partitions(tkl_client *client, tkl_bytes name, int *partitions)
{
    int rc = find_last(client, name, 1, partitions);
    if (rc != TKL_OK || *partitions > 0)
        return rc;
    rc = find_last(client, name, TKL__QUEUE_PARTITIONS_MAX, partitions);
    if (rc == TKL_OK && *partitions == 0)
        return tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK && *partitions == 1)
        *partitions = 2; /* a queue of one partition has other keys */
    return rc;
}

/* ---- Numbers ------------------------------------------------------------- */

/* Adds a call for each partition. The handle is opened only for its keys. */
static void add_calls(tkl__batch *batch, tkl_client *client, const finding *queue)
{
    tkl_queue *handle;
    tkl_queue_options options = {.partitions = queue->partitions};
    int rc = tkl_queue_open(client, queue->name, &options, &handle);
    if (rc != TKL_OK) {
        tkl__batch_fail(batch, rc);
        return;
    }
    for (int i = 0; i < queue->partitions; i++) {
        tkl__invocation call =
            tkl__queue_call(&handle->partitions[i], &tkl__lua_queue_stats, NULL, 0);
        call.retry_safe = true;
        tkl__batch_add(batch, &call);
    }
    tkl_queue_close(handle);
}

static void read_numbers(const tkl__batch *batch, size_t *at, tkl_queue_summary *item)
{
    for (int i = 0; i < item->partitions; i++) {
        int code = tkl__batch_code(batch, (*at)++);
        if (code == TKL_OK)
            tkl__queue_stats_add(&item->stats, tkl__batch_reply(batch, *at - 1));
        else if (item->code == TKL_OK)
            item->code = code;
    }
}

static overview *make_overview(search *s)
{
    overview *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->items = calloc(s->count + 1, sizeof *o->items);
    if (!o->items) {
        free(o);
        return NULL;
    }
    for (size_t i = 0; i < s->count; i++)
        o->items[i] =
            (tkl_queue_summary){.name = s->items[i].name, .partitions = s->items[i].partitions};
    o->public = (tkl_queue_overview){o->items, s->count};
    s->count = 0; /* the overview has the names */
    return o;
}

void tkl__queue_overview_ask(tkl__batch *batch, const tkl_queue_overview *known)
{
    for (size_t i = 0; known && i < known->count; i++)
        add_calls(batch, batch->client,
                  &(finding){known->items[i].name, known->items[i].partitions});
}

/* Reads the numbers of known queues into the overview; both lists are sorted. */
static void read_known(const tkl__batch *batch, size_t *at, const tkl_queue_overview *known,
                       overview *o)
{
    size_t next = 0;
    for (size_t i = 0; i < o->public.count; i++)
        o->items[i].code = TKL_ENOTSENT;
    for (size_t i = 0; known && i < known->count; i++) {
        tkl_queue_summary numbers = {.partitions = known->items[i].partitions};
        read_numbers(batch, at, &numbers);
        finding wanted = {.name = known->items[i].name};
        while (next < o->public.count &&
               by_name(&(finding){.name = o->items[next].name}, &wanted) < 0)
            next++;
        if (next == o->public.count ||
            by_name(&(finding){.name = o->items[next].name}, &wanted) != 0)
            continue;
        o->items[next].code = numbers.code;
        o->items[next].stats = numbers.stats;
    }
}

int tkl__queue_overview_heard(const tkl__batch *batch, size_t *names_at, size_t *at,
                              const tkl_queue_overview *known, tkl_queue_overview **result)
{
    search s = {.client = batch->client};
    *result = NULL;
    int rc = tkl__register_heard(batch, names_at, "queue", visit_partition, &s);
    merge_findings(&s);
    overview *o = make_overview(&s);
    free_findings(&s);
    if (!o)
        return tkl__nomem();
    read_known(batch, at, known, o); /* also moves *at on */
    if (rc == TKL_OK)
        *result = &o->public;
    else
        tkl_queue_overview_free(&o->public);
    return rc;
}

static int read_queues(tkl_client *client, search *s, tkl_queue_overview **result)
{
    tkl__batch batch;
    size_t at = 0;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < s->count; i++)
        add_calls(&batch, client, &s->items[i]);
    int rc = tkl__batch_run(&batch, tkl__deadline(client, 0));
    if (batch.replies)
        rc = TKL_OK; /* each queue has its own code */
    overview *o = rc == TKL_OK ? make_overview(s) : NULL;
    for (size_t i = 0; o && i < o->public.count; i++)
        read_numbers(&batch, &at, &o->items[i]);
    tkl__batch_free(&batch);
    if (rc == TKL_OK && !o)
        return tkl__nomem();
    *result = o ? &o->public : NULL;
    return rc;
}

int tkl_queue_overview_get(tkl_client *client, tkl_queue_overview **result)
{
    search s = {.client = client};
    *result = NULL;
    int rc = find_queues(&s);
    if (rc == TKL_OK)
        rc = read_queues(client, &s, result);
    free_findings(&s);
    return rc;
}

void tkl_queue_overview_free(tkl_queue_overview *result)
{
    overview *o = (overview *)(void *)result;
    if (!o)
        return;
    for (size_t i = 0; i < o->public.count; i++)
        free((char *)(uintptr_t)o->items[i].name.data);
    free(o->items);
    free(o);
}
