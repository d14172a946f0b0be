/* SPDX-License-Identifier: MIT
 *
 * Queues of jobs.
 *
 * Keys of a queue, all in one slot: ns:queue:{name}:... A queue of several partitions has them for
 * each, in a slot of its own: ns:queue:{name%23i}:...
 *
 *   :m  meta     hash. last: the last id. pushed, done, failed: totals. bytes: of all records.
 *                paused: 1. big: 1 when there ever was a record over 64 KB. The limits: max_jobs,
 *                max_bytes, concurrency, rate, rate_period, group_concurrency, group_rate,
 *                group_rate_period, dead_max, dead_ms; full_at: until when the rate is used up.
 *                held: 1 when paused or with one of the first four, which pushes heed. look,
 *                looker: which waiter looks, and when.
 *   :j  jobs     hash id -> record (record.h) of every job, in whichever state, dead ones too.
 *   :q  ready    zset of ids. Score = priority * 2^42 + region * 2^40 + t. Region 0: came back, to
 *                the front; 1: was delayed and is due, t = due time - 1577836800000; 2: as pushed.
 *                Equal scores sort by id, so by push: first in, first out.
 *   :d  delayed  zset by due time of ids; of "@schedule"; of "=group", a timer of its rate.
 *   :a  active   zset of id .. token by the end of the lease: an old token finds nothing.
 *   :x  extras   hash. id -> "failures error" of those that were started before: always of those
 *                that failed, of the released only when they have a group. "p" .. id -> progress.
 *                "c" .. id -> the parents that wait for it. "d" .. parent -> its score, and when it
 *                is due.
 *   :z  dead     zset of ids by time of death; records and extras stay. Trimmed at each burial, to
 *                dead_max and dead_ms.
 *   :u  unique   hash key -> "id" of the job that has it, "id till" when it is held for a time.
 *   :v  till     zset of the latter by till, pruned by those who push unique jobs.
 *   :g  groups   hash group -> how many of its jobs are started and not ended.
 *   :y  parked   zset of the jobs of groups that may not start, all with score 0: length of the
 *                group (4 digits), group, priority + 1000 (4 digits), id.
 *   :t  rates    zset of groups by the time until which their rate is used up; expires.
 *   :k  flow     zset of the jobs that wait for others, by the number of those.
 *   :r0 :r1      requests: hash of what pushes came to, in windows of ten minutes by turns. They
 *                expire by themselves.
 *   :w  waiters  zset of "token lease channel" by arrival; expires a quarter of an hour after the
 *                last sign of life.
 *   :s  schedules hash id -> times, expression and record: see schedule.h, and fire.c.
 *   :o:ID        result of a job, string; expires. Also the channel on which its end is told.
 *
 * All times are milliseconds of the server's clock. Everything but requests, waiters and results is
 * the user's own data and stays until it is worked off, trimmed or destroyed.
 *
 * Ids are 13 hex digits of a number that is max(last + 1, time * 1024): they sort by push and
 * tell its time.
 *
 * States. A job is in :j and, by its state, in :q (ready), :d (delayed), :a (claimed), :z (dead),
 * :y or :k (held). Each script moves it from one to the other as a whole, so there is no
 * moment at which anybody's death loses it.
 *
 * Claims. A claim takes the first of :q into :a, with a token that is made for this one request.
 * Whoever reports, extends or gives back names id and token. Leases that ended are taken back by
 * whoever claims next: to the front, with a failure counted, or to the dead.
 *
 * Waiting. One who finds nothing is put into :w. Whatever makes a job ready (push, release,
 * promotion) hands it, in the same script, to the first who waits: takes it into :a and
 * publishes it on the channel of that client. So waking up is owning. Nobody heard it: that
 * process is gone, the next one's turn. A message that was lost on a broken connection is found in
 * :a, by the token, as soon as the waiter asks again.
 *
 * Groups. The claim looks at the jobs that it is about to take: one whose group has as many
 * started as it may have, or started them too fast, is parked, and the next is looked at. Whatever
 * ends a job of a group puts the first one parked back into the queue, where the next claim judges
 * it anew; so does, for the rate, a timer in :d; and a change of the limits puts all back. A group
 * with parked jobs has one that is started or ready, or a timer: nobody is forgotten. A job that
 * comes back (failed, released, its worker lost) keeps its place in the group, which is what
 * makes a group with one place keep its order.
 *
 * Flows. A parent is in :k until the last of its children is over: done, cancelled, or trimmed
 * from the dead letters. A dead child keeps it waiting, and may be retried.
 *
 * Looking. Delayed jobs and ended leases need somebody to look at the right moment. Each who begins
 * to wait is told the first such moment and looks then. When an earlier one comes up later, the
 * script that causes it tells a few of those who wait, unless one of them has promised to look
 * in time (look, looker). They look one after the other, in case the first is gone. So nobody asks
 * while nothing is delayed or leased.
 *
 * Lost answers. A push has a lane and a number (or the user's request id), and the last number and
 * its ids stand in :r0 or :r1: a repetition finds them. A lane is used by one push at a time, so a
 * program that pushes for ever leaves as many fields as it has threads. A claim that is repeated
 * has the same token and is given what that token got. A report that is repeated may
 * find nothing to report on: while the lease would have lasted that is no loss.
 *
 * Out of memory. Pushing begins with a write that the server refuses then; claiming and reporting
 * begin with one that it does not refuse.
 */
#include "queue/push.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define PARTITIONS_MAX 256

static int copy_name(tkl_queue *queue, tkl_bytes name)
{
    if (name.len == 0 || name.len > TKL_NAME_MAX)
        return tkl__fail(TKL_EINVAL, "a queue's name has 1 to %d bytes", TKL_NAME_MAX);
    char *copy = malloc(name.len);
    if (!copy)
        return tkl__nomem();
    memcpy(copy, name.data, name.len);
    queue->name.data = copy;
    queue->name.len = name.len;
    return TKL_OK;
}

static int open_shards(tkl_queue *queue, int partitions)
{
    if (partitions < 0 || partitions > PARTITIONS_MAX)
        return tkl__fail(TKL_EINVAL, "a queue has 1 to %d partitions", PARTITIONS_MAX);
    queue->partitions = partitions == 0 ? 1 : partitions;
    queue->shards = calloc((size_t)queue->partitions, sizeof *queue->shards);
    int rc = queue->shards ? TKL_OK : tkl__nomem();
    for (int i = 0; rc == TKL_OK && i < queue->partitions; i++)
        rc = tkl__shard_open(&queue->shards[i], queue, i);
    return rc;
}

int tkl_queue_open(tkl_client *client, tkl_bytes name, const tkl_queue_options *options,
                   tkl_queue **queue)
{
    *queue = NULL;
    tkl_queue *q = calloc(1, sizeof *q);
    if (!q)
        return tkl__nomem();
    q->client = client;
    pthread_mutex_init(&q->mutex, NULL);
    int rc = copy_name(q, name);
    if (rc == TKL_OK)
        rc = open_shards(q, options ? options->partitions : 0);
    if (rc != TKL_OK) {
        tkl_queue_close(q);
        return rc;
    }
    *queue = q;
    return TKL_OK;
}

void tkl_queue_close(tkl_queue *queue)
{
    if (!queue)
        return;
    for (int i = 0; queue->shards && i < queue->partitions; i++)
        tkl__shard_close(&queue->shards[i]);
    free(queue->shards);
    tkl__lanes_free(queue);
    free((char *)queue->name.data);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}
