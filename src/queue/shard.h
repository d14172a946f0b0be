/* SPDX-License-Identifier: MIT
 *
 * Queues and their partitions, for the files of this folder. The essay is in queue.c.
 */
#ifndef TKL_QUEUE_SHARD_H
#define TKL_QUEUE_SHARD_H

#include <stdatomic.h>

#include <tackle/queue.h>

#include "core/name.h"
#include "core/script.h"

/* The keys of a partition, in the order of the essay. */
typedef enum tkl__part {
    TKL__META,
    TKL__JOBS,
    TKL__READY,
    TKL__DELAYED,
    TKL__ACTIVE,
    TKL__EXTRAS,
    TKL__DEAD,
    TKL__UNIQUE,
    TKL__UNIQUE_TILL,
    TKL__GROUPS,
    TKL__PARKED,
    TKL__GROUP_TIMES,
    TKL__FLOW,
    TKL__REQUESTS_0,
    TKL__REQUESTS_1,
    TKL__WAITERS,
    TKL__SCHEDULES,
    TKL__PARTS,
} tkl__part;

typedef struct tkl__shard {
    tkl_queue *queue;
    int index; /* of the partition */
    tkl__base base;
    tkl_bytes keys[TKL__PARTS];
    tkl_bytes channel; /* where this client's waiters are told things */
} tkl__shard;

struct tkl_queue {
    tkl_client *client;
    tkl_bytes name; /* owned */
    int partitions;
    tkl__shard *shards;      /* as many */
    atomic_uint turn;        /* counts pushes: spreads them over the partitions */
    pthread_mutex_t mutex;   /* guards lanes */
    struct tkl__lane *lanes; /* those not in use; see push.c */
};

int tkl__shard_open(tkl__shard *shard, tkl_queue *queue, int index);
void tkl__shard_close(tkl__shard *shard);

/* Copies the keys of these parts, for a script that takes them in this order. */
void tkl__shard_keys(const tkl__shard *shard, const tkl__part *parts, size_t count,
                     tkl_bytes *keys);

/* ---- Ids: 13 hex digits, and "partition." before them when there are several ---- */

#define TKL__ID_LEN 13

/* The 13 digits as users see them. */
void tkl__id_show(const tkl__shard *shard, const char *digits, char id[TKL_JOB_ID_SIZE]);
/* The partition of an id and its 13 digits; NULL: it cannot be one of this queue. */
tkl__shard *tkl__id_find(const tkl_queue *queue, const char *id, const char **digits);
/* When the job was pushed: Unix time in milliseconds of the server's clock. */
int64_t tkl__id_time(const char *digits);

/* The partition for what belongs together: a group, a unique key, a request. */
tkl__shard *tkl__shard_of(const tkl_queue *queue, tkl_bytes key);

#endif
