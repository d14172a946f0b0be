/* SPDX-License-Identifier: MIT */
#include "queue/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"
#include "core/options.h"

static const char *const parts[TKL__QUEUE_KEYS] = {
    [TKL__QUEUE_META] = "meta",
    [TKL__QUEUE_JOBS] = "jobs",
    [TKL__QUEUE_READY] = "ready",
    [TKL__QUEUE_DELAYED] = "delayed",
    [TKL__QUEUE_ACTIVE] = "active",
    [TKL__QUEUE_WAITERS] = "waiters",
    [TKL__QUEUE_LINE] = "line",
    [TKL__QUEUE_HISTORY] = "history",
    [TKL__QUEUE_PROGRESS] = "progress",
    [TKL__QUEUE_DEAD] = "dead",
    [TKL__QUEUE_UNIQUE] = "unique",
    [TKL__QUEUE_UNIQUE_ENDS] = "unique_ends",
    [TKL__QUEUE_GROUPS] = "groups",
    [TKL__QUEUE_PARKED] = "parked",
    [TKL__QUEUE_RATES] = "rates",
    [TKL__QUEUE_FLOW] = "flow",
    [TKL__QUEUE_FLOW_PLACES] = "flow_places",
    [TKL__QUEUE_PARENTS] = "parents",
    [TKL__QUEUE_SCHEDULES] = "schedules",
    [TKL__QUEUE_REQUESTS_EVEN] = "requests_even",
    [TKL__QUEUE_REQUESTS_ODD] = "requests_odd",
    [TKL__QUEUE_WORKERS] = "workers",
    [TKL__QUEUE_SINCE] = "since",
    [TKL__QUEUE_TIMES] = "times",
    [TKL__QUEUE_HEADS] = "heads",
    [TKL__QUEUE_DONE] = "done",
    [TKL__QUEUE_DONE_JOBS] = "done_jobs",
};

/* Makes "ns:queue:{name}", or "ns:queue:{name%233}" for number 3 of several partitions. No name
 * collides with that, since a '%' in a name becomes "%25". */
static int make_base(tkl__queue_partition *partition, const tkl_queue *queue)
{
    char number[16];
    int rc = tkl__base_make(queue->client, "queue", queue->name, &partition->base);
    if (rc != TKL_OK || queue->npartitions == 1)
        return rc;
    size_t more = (size_t)snprintf(number, sizeof number, "%%23%d}", partition->index);
    char *longer = realloc(partition->base.data, partition->base.len + more);
    if (!longer)
        return tkl__nomem();
    memcpy(longer + partition->base.len - 1, number, more + 1);
    partition->base.data = longer;
    partition->base.len += more - 1;
    return TKL_OK;
}

/* The id of the client is in the name: a forked child has its own id, and so its own channel. */
static int make_channel(tkl__queue_partition *partition, tkl_client *client)
{
    char part[48];
    unsigned char id[16];
    tkl__client_lock(client);
    memcpy(id, client->id, sizeof id);
    tkl__client_unlock(client);
    char *at = part + sprintf(part, "waiter:");
    for (size_t i = 0; i < sizeof id; i++)
        at += sprintf(at, "%02x", id[i]);
    return tkl__key_make(&partition->base, part, &partition->channel);
}

int tkl__queue_partition_open(tkl__queue_partition *partition, tkl_queue *queue, int index)
{
    partition->queue = queue;
    partition->index = index;
    int rc = make_base(partition, queue);
    for (int i = 0; rc == TKL_OK && i < TKL__QUEUE_KEYS; i++)
        rc = tkl__key_make(&partition->base, parts[i], &partition->keys[i]);
    if (rc == TKL_OK)
        rc = tkl__key_make(&partition->base, "result:", &partition->results);
    return rc == TKL_OK ? make_channel(partition, queue->client) : rc;
}

void tkl__queue_partition_close(tkl__queue_partition *partition)
{
    for (int i = 0; i < TKL__QUEUE_KEYS; i++)
        free((char *)partition->keys[i].data);
    free((char *)partition->results.data);
    free((char *)partition->channel.data);
    tkl__base_free(&partition->base);
}

int64_t tkl__queue_deadline(const tkl_queue *queue)
{
    return tkl__deadline(queue->client, queue->timeout_ms);
}

tkl__invocation tkl__queue_call(const tkl__queue_partition *partition, const tkl__script *script,
                                const tkl_bytes *args, size_t nargs)
{
    return (tkl__invocation){.script = script,
                             .keys = partition->keys,
                             .nkeys = TKL__QUEUE_KEYS,
                             .args = args,
                             .nargs = nargs};
}

/* ---- Ids ----------------------------------------------------------------- */

void tkl__queue_show_id(const tkl__queue_partition *partition, const char *digits,
                        char id[TKL_JOB_ID_SIZE])
{
    char *at = id;
    if (partition->queue->npartitions > 1)
        at += sprintf(id, "%d.", partition->index % 1000);
    memcpy(at, digits, TKL__QUEUE_ID_LEN);
    at[TKL__QUEUE_ID_LEN] = '\0';
}

bool tkl__queue_is_id(tkl_bytes digits)
{
    bool is = digits.len == TKL__QUEUE_ID_LEN;
    for (size_t i = 0; is && i < digits.len; i++)
        is = digits.data[i] && strchr("0123456789abcdef", digits.data[i]);
    return is;
}

tkl__queue_partition *tkl__queue_find_id(const tkl_queue *queue, const char *id,
                                         const char **digits)
{
    char *rest = (char *)id;
    long index = 0;
    if (queue->npartitions > 1) {
        index = strspn(id, "0123456789") < 4 ? strtol(id, &rest, 10) : -1;
        if (rest == id || *rest++ != '.')
            return NULL;
    }
    *digits = rest;
    bool good = tkl__queue_is_id(tkl_str(rest)) && index >= 0 && index < queue->npartitions;
    return good ? &queue->partitions[index] : NULL;
}

int64_t tkl__queue_id_time(const char *digits)
{
    int64_t number = 0;
    for (int i = 0; i < TKL__QUEUE_ID_LEN; i++) {
        char c = digits[i];
        number = number * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return number / 1024;
}

tkl__queue_partition *tkl__queue_partition_of(const tkl_queue *queue, tkl_bytes key)
{
    return &queue->partitions[XXH64(key.data, key.len, 0) % (uint64_t)queue->npartitions];
}
