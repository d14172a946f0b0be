/* SPDX-License-Identifier: MIT
 *
 * For operators: the flow around a job.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "core/reply.h"
#include "queue/all.h"
#include "queue/scripts.h"
#include "queue/words.h"

#define PARTS 5 /* fields of a job in the reply of queue/flow */

/* The public result and what it points into. */
typedef struct flow_list {
    tkl_flow public; /* first: the user's pointer points to it */
    tkl_reply *reply;
    size_t *indices; /* the lists `after` of all jobs, one behind the other */
    tkl_flow_job items[];
} flow_list;

void tkl_flow_free(tkl_flow *public)
{
    flow_list *list = (flow_list *)(void *)public;
    if (!list)
        return;
    tkl_reply_free(list->reply);
    free(list->indices);
    free(list);
}

static tkl_bytes part_of(const flow_list *list, size_t job, size_t part)
{
    return tkl_reply_bytes(tkl_reply_at(list->reply, 1 + job * PARTS + part));
}

/* The position of a job among the first `count`, which are sorted by id; `count`: it is not there. */
static size_t find_job(const flow_list *list, size_t count, tkl_bytes id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = memcmp(part_of(list, middle, 0).data, id.data, TKL__QUEUE_ID_LEN);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return count;
}

/* Reads one job, whose list begins at `indices`. Returns where the next list begins. */
static size_t *read_job(flow_list *list, const tkl__queue_partition *partition, size_t *indices)
{
    size_t at = list->public.count;
    tkl_flow_job *job = &list->items[at];
    tkl_bytes ids = part_of(list, at, 4), id;
    int64_t waits_for = tkl__reply_number(tkl_reply_at(list->reply, 1 + at * PARTS + 3));
    *job = (tkl_flow_job){
        .state = tkl__queue_state_of(tkl_reply_str(tkl_reply_at(list->reply, 2 + at * PARTS))),
        .kind = part_of(list, at, 2),
        .waits_for = waits_for > 0 ? waits_for : 0,
        .after = indices};
    tkl__queue_show_id(partition, part_of(list, at, 0).data, job->id);
    while ((id = tkl__queue_next_word(&ids)).len > 0) {
        size_t child = tkl__queue_is_id(id) ? find_job(list, at, id) : at;
        if (child < at)
            indices[job->after_count++] = child;
    }
    list->public.count++;
    return indices + job->after_count;
}

/* How many jobs the reply has; -1: it is not from queue/flow. */
static int64_t count_jobs(const tkl_reply *reply)
{
    size_t parts = tkl_reply_count(reply), count = parts / PARTS;
    if (parts == 0 || parts % PARTS != 1)
        return parts == 0 ? 0 : -1;
    for (size_t i = 0; i < count; i++)
        if (!tkl__queue_is_id(tkl_reply_bytes(tkl_reply_at(reply, 1 + i * PARTS))))
            return -1;
    return (int64_t)count;
}

/* Takes ownership of the reply. */
static int make_flow(const tkl__queue_partition *partition, tkl_reply *reply, tkl_flow **flow)
{
    int64_t count = count_jobs(reply);
    size_t waits = 0;
    int rc = count > 0    ? TKL_OK
             : count == 0 ? tkl__no(TKL_NOTFOUND)
                          : tkl__fail(TKL_EPROTO, "not an answer of queue/flow");
    for (int64_t i = 0; i < count; i++)
        waits += tkl_reply_bytes(tkl_reply_at(reply, PARTS + (size_t)i * PARTS)).len /
                     (TKL__QUEUE_ID_LEN + 1) +
                 1;
    flow_list *list =
        rc == TKL_OK ? calloc(1, sizeof *list + (size_t)count * sizeof *list->items) : NULL;
    size_t *indices = list ? calloc(waits, sizeof *indices) : NULL;
    if (rc == TKL_OK && !indices)
        rc = tkl__nomem();
    if (rc != TKL_OK) {
        tkl_reply_free(reply);
        free(list);
        return rc;
    }
    list->reply = reply;
    list->indices = indices;
    list->public.items = list->items;
    int64_t more = tkl__reply_number(tkl_reply_at(reply, 0));
    list->public.more = more > 0 ? more : 0;
    for (int64_t i = 0; i < count; i++)
        indices = read_job(list, partition, indices);
    *flow = &list->public;
    return TKL_OK;
}

int tkl_queue_flow(tkl_queue *queue, const char *id, size_t max, tkl_flow **flow)
{
    const char *digits;
    char most[24];
    tkl_reply *reply;
    *flow = NULL;
    int rc = tkl__check_number("max", max <= TKL_FLOW_MAX ? (int64_t)max : -1, 1, TKL_FLOW_MAX);
    const tkl__queue_partition *partition =
        rc == TKL_OK ? tkl__queue_find_id(queue, id, &digits) : NULL;
    if (rc == TKL_OK && !partition)
        rc = tkl__no(TKL_NOTFOUND);
    if (rc != TKL_OK)
        return rc;
    snprintf(most, sizeof most, "%zu", max);
    tkl_bytes args[] = {{digits, TKL__QUEUE_ID_LEN}, tkl_str(most)};
    rc = tkl__queue_run_on(partition, &tkl__lua_queue_flow, args, 2, true, &reply);
    return rc == TKL_OK ? make_flow(partition, reply, flow) : rc;
}
