/* SPDX-License-Identifier: MIT
 *
 * Queues and their partitions, for the files of this folder. The essay is in queue.c.
 */
#ifndef TKL_QUEUE_PARTITION_H
#define TKL_QUEUE_PARTITION_H

#include <stdatomic.h>

#include <tackle/queue.h>

#include "core/batch.h"
#include "core/name.h"

#define TKL__QUEUE_PARTITIONS_MAX 256

/* The keys of a partition, in the order of keys.inc.lua: every script gets all of them. */
typedef enum tkl__queue_key {
    TKL__QUEUE_META,
    TKL__QUEUE_JOBS,
    TKL__QUEUE_READY,
    TKL__QUEUE_DELAYED,
    TKL__QUEUE_ACTIVE,
    TKL__QUEUE_WAITERS,
    TKL__QUEUE_LINE,
    TKL__QUEUE_HISTORY,
    TKL__QUEUE_PROGRESS,
    TKL__QUEUE_DEAD,
    TKL__QUEUE_UNIQUE,
    TKL__QUEUE_UNIQUE_ENDS,
    TKL__QUEUE_GROUPS,
    TKL__QUEUE_PARKED,
    TKL__QUEUE_RATES,
    TKL__QUEUE_FLOW,
    TKL__QUEUE_FLOW_PLACES,
    TKL__QUEUE_PARENTS,
    TKL__QUEUE_SCHEDULES,
    TKL__QUEUE_REQUESTS_EVEN,
    TKL__QUEUE_REQUESTS_ODD,
    TKL__QUEUE_WORKERS,
    TKL__QUEUE_SINCE,
    TKL__QUEUE_TIMES,
    TKL__QUEUE_HEADS,
    TKL__QUEUE_DONE,
    TKL__QUEUE_DONE_JOBS,
    TKL__QUEUE_KEYS,
} tkl__queue_key;

typedef struct tkl__queue_partition {
    tkl_queue *queue;
    int index; /* number of the partition, from 0 */
    tkl__base base;
    tkl_bytes keys[TKL__QUEUE_KEYS];
    tkl_bytes results; /* followed by an id: key of a result, and channel of its end */
    tkl_bytes channel; /* messages to this client's waiters */
} tkl__queue_partition;

/* A lane: a pusher's name and the number of its last push. The server recognises a repeated push by
 * them. */
typedef struct tkl__queue_lane tkl__queue_lane;
void tkl__queue_lanes_free(tkl_queue *queue);

struct tkl_queue {
    tkl_client *client;
    tkl_bytes name; /* owned */
    int npartitions;
    int64_t timeout_ms;               /* time-out of one call; 0: the client's time-out */
    tkl__queue_partition *partitions; /* one for each partition */
    atomic_uint pushes;               /* counts pushes, to spread them over the partitions */
    pthread_mutex_t mutex;            /* guards lanes */
    tkl__queue_lane *lanes;           /* lanes not in use; see push.c */
};

int tkl__queue_partition_open(tkl__queue_partition *partition, tkl_queue *queue, int index);
void tkl__queue_partition_close(tkl__queue_partition *partition);

/* The deadline of a call that begins now. */
int64_t tkl__queue_deadline(const tkl_queue *queue);

/* Prepares a run of a script on a partition. The arguments are borrowed. */
tkl__invocation tkl__queue_call(const tkl__queue_partition *partition, const tkl__script *script,
                                const tkl_bytes *args, size_t nargs);

/* ---- Ids: 13 hex digits, and "partition." before them when there are several ---- */

#define TKL__QUEUE_ID_LEN 13

/* Writes the 13 digits as users see them. */
void tkl__queue_show_id(const tkl__queue_partition *partition, const char *digits,
                        char id[TKL_JOB_ID_SIZE]);
/* Returns the partition, and points *digits to the 13 digits of the id. NULL: not an id of this
 * queue. */
tkl__queue_partition *tkl__queue_find_id(const tkl_queue *queue, const char *id,
                                         const char **digits);
/* Whether these bytes are the 13 digits of an id. */
bool tkl__queue_is_id(tkl_bytes digits);
/* When the job was pushed: Unix time in milliseconds of the server's clock. */
int64_t tkl__queue_id_time(const char *digits);

/* The partition for jobs that belong together: a group, a unique key, a request. */
tkl__queue_partition *tkl__queue_partition_of(const tkl_queue *queue, tkl_bytes key);

/* The first digits of a token name the worker that claims with it. */
#define TKL__QUEUE_WORKER_LEN 10

/* Bounds of the buckets in which times are counted: 1 ms, 3 ms, 10 ms, 30 ms, ... */
#define TKL__QUEUE_BOUNDS 14

/* How many dead letters are kept, and for how long (30 days), unless other limits are set. */
#define TKL__QUEUE_DEAD_MAX 10000
#define TKL__QUEUE_DEAD_MS  INT64_C(2592000000)
/* How many done jobs are kept, and how many bytes of them, unless other limits are set. */
#define TKL__QUEUE_KEEP_MAX   10000
#define TKL__QUEUE_KEEP_BYTES 16777216

#endif
