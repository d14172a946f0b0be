/* SPDX-License-Identifier: MIT
 *
 * Queues of jobs.
 *
 * Keys of a queue, all in one slot: ns:queue:{name}:... A queue of several partitions has them for
 * each, in a slot of its own: ns:queue:{name%23i}:... Every script gets all of them, in this order
 * (keys.inc.lua).
 *
 *   :meta      hash. last: the last id, as a number. pushed, done, failed: totals. bytes: of all
 *              records. paused: 1. large: 1 when there ever was a record over 64 KB. The limits:
 *              max_jobs, max_bytes, concurrency, rate, rate_period, group_concurrency, group_rate,
 *              group_rate_period, dead_max, dead_ms, keep_ms, keep_max, keep_bytes. full_at: until
 *              when the rate is used up.
 *   :jobs      hash id -> record (record.h) of every job, in whichever state, dead ones too.
 *   :ready     zset of ids. The score is made of priority, region and time: see jobs.inc.lua. Equal
 *              scores sort by id, so by push: first in, first out.
 *   :delayed   zset by due time of ids; of "schedule:id"; of "group:name", a timer of its rate; of
 *              "ended:id", a job that ended and whose parents are not released yet.
 *   :active    zset of "id:token" by the end of the lease: an old token finds nothing. A hand-over
 *              that was not confirmed ends half a millisecond before a whole one.
 *   :waiters   zset of "token lease channel" by arrival; expires a day after a waiter last asked.
 *   :line      hash. look, looker: when a waiter looks, and which. told: the moment announced to
 *              all of them. recalled: when they were recalled. Expires like
 *              :waiters. Also the name of a channel that all waiters listen to.
 *   :history   hash id -> "failures since started error" of jobs that are not as they were pushed:
 *              since when they are ready, and whether they have a place in their group.
 *   :progress  hash id -> progress of a job.
 *   :dead      zset of ids by time of death; records and histories stay. Trimmed to dead_max and
 *              dead_ms whenever a job dies, and when the limits are set.
 *   :unique    hash key -> "id" of the job that has it, "id end" when it is held for a time.
 *   :unique_ends  zset of the latter by end. Pushes and claims prune it; both expire when all that
 *              is in them is held for a time.
 *   :groups    hash group -> how many of its jobs are started and not over.
 *   :parked    zset of the jobs of groups that may not start, all with score 0, sorted by group,
 *              priority and id.
 *   :rates     zset of groups by the time until which their rate is used up; expires.
 *   :flow      zset of the jobs that wait for others, by the number of those.
 *   :flow_places  hash id -> "priority due" of the same jobs.
 *   :parents   hash id -> ids of the jobs that wait for it.
 *   :schedules hash id -> times, expression and record: see schedule.h, and fire.c.
 *   :requests_even, :requests_odd   hashes of the answers to pushes, in windows of ten minutes by
 *              turns. They expire.
 *   :workers   hash worker -> "seen lease until text": see workers.inc.lua and introduce.c. Rows are
 *              removed when they are over; the key expires a day after a worker was last seen.
 *   :since     hash id -> "token time" of claims that were renewed: when they began.
 *   :times     hash of counts: see times.inc.lua and tally.c.
 *   :heads     hash id -> beginning of a record of more than 64 KB, so that a list of jobs need not
 *              read all of it.
 *   :done      zset of the ids of done jobs that are kept, by the time when they were done. Trimmed
 *              to keep_max, keep_bytes and keep_ms whenever a job is done, and when the limits are
 *              set; expires keep_ms after the last one was done.
 *   :done_jobs hash id -> row of the same jobs: see keeping.inc.lua; "bytes": of all rows. Expires
 *              like :done.
 *   :result:ID result of a job, string; expires. Also the channel on which its end is published.
 *
 * All times are milliseconds of the server's clock. Everything that does not expire is the user's
 * own data and stays until it is worked off, trimmed or dropped.
 *
 * Ids are 13 hex digits of a number that is max(last + 1, time * 1024): they sort by push and
 * contain its time.
 *
 * States. A job is in :jobs and, by its state, in :ready, :delayed, :active (claimed), :dead,
 * :parked or :flow (held). Each script moves a job from one to the other as a whole, so no job is
 * lost when a process dies.
 *
 * Claims. A claim takes the first of :ready into :active, with a token that is made for this one
 * request. A report, a renewal and a release name id and token. Leases that ended are taken
 * back by the next claim: to the front, with a failure counted, or to the dead letters.
 *
 * Waiting. A consumer that finds nothing is put into :waiters. A script that makes a job ready
 * (push, release, promotion) also hands it to the first waiter whose client listens at this server:
 * it moves the job to :active and publishes it on the channel of that client. So a waiter that is
 * woken owns the job. A waiter that does not listen here loses its place: its process is gone, or
 * it listens at a server that was the master before a failover, and is recalled (hold.c: "Handing
 * over"). A message that was lost on a broken connection is found in :active, by the token, as soon
 * as the waiter asks again.
 *
 * Silence. A worker that hangs hears nothing and answers nothing. So a hand-over is for four
 * seconds at most, until the keeper of the receiver renews it to the whole lease, half a second
 * after it came. A hand-over that was not renewed is taken back without counting a failure, but
 * only once: a job that makes its workers hang must not go round for ever. A job at its last
 * attempt is not handed over: the waiter is recalled, and claims it. If it does not come, the
 * waiter that looks gets the job.
 *
 * Lost places. A script that finds the line empty, and a waiter that stands in it alone, say so on
 * the channel :line, at most once a second. Waiters whose places were lost (FLUSHALL, eviction, a
 * clock that jumped) hear it and stand in line again.
 *
 * Done jobs. The end of a job removes all that there is of it. If the queue keeps done jobs, the
 * same script writes a row for operators before. For producers and workers the job is gone: only
 * reports for operators read these two keys, so work goes on when one of them is lost, damaged or
 * another program's.
 *
 * Groups. A claim checks each job that it is about to take. If the group of the job has as many
 * started jobs as it may have, or started them too fast, the claim parks the job and checks the
 * next one. When a job of a group ends, the first parked one goes back into the queue, and the next
 * claim checks it again. A timer in :delayed does the same for the rate, and a change of the limits
 * puts all parked jobs back. A group with parked jobs has one that is started or ready, or a timer:
 * none is forgotten. A job that comes back (failed, released, its worker lost) keeps its place in
 * the group; so a group with one place keeps its order.
 *
 * Flows. A parent is in :flow until the last of its children is over: done, cancelled, or trimmed
 * from the dead letters. A dead child keeps the parent waiting; an operator may retry the child.
 *
 * Operators. A token begins with the id of its consumer, so a claim shows its consumer, and nothing
 * is stored for that. When it began is known from the end of its lease; a renewal, which makes that
 * impossible, notes it in :since. A consumer's description of itself and its counts travel with its
 * claims and renewals, at most once a second (introduce.c).
 *
 * Looking. Delayed jobs and ended leases need a waiter that looks at the right moment. A waiter
 * that enters the line gets the first such moment in the answer. It promises to look then, unless
 * another waiter has promised already. A script that brings up an earlier moment asks one waiter to
 * look, and announces the moment to all on the channel :line. The others look a second or two
 * later, unless they hear of a later moment before: so one waiter that hangs costs seconds, and one
 * waiter looks for all. While nothing is delayed or leased, a waiter of each client looks once in
 * TKL__WAIT_LOOK_US.
 *
 * Lost answers. A push has a lane and a number (or the user's request id), and the last number and
 * its answer are remembered: a repetition finds them. A lane is used by one push at a time, so a
 * program that pushes for ever leaves as many fields as it has threads. A claim that is repeated
 * has the same token, and the answer has the jobs that this token got. A repeated report may find
 * the claim gone: while the lease would still run, that means the first attempt counted.
 *
 * Damage. A script checks the types of keys and the numbers in :meta before it writes anything: a
 * request that is refused has changed nothing.
 *
 * Out of memory. The server refuses the script that pushes; it still runs those that claim and
 * report (flag allow-oom).
 */
#include "queue/partition.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"

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

static int open_partitions(tkl_queue *queue, int partitions)
{
    if (partitions < 0 || partitions > TKL__QUEUE_PARTITIONS_MAX)
        return tkl__fail(TKL_EINVAL, "a queue has 1 to %d partitions", TKL__QUEUE_PARTITIONS_MAX);
    queue->npartitions = partitions == 0 ? 1 : partitions;
    queue->partitions = calloc((size_t)queue->npartitions, sizeof *queue->partitions);
    int rc = queue->partitions ? TKL_OK : tkl__nomem();
    for (int i = 0; rc == TKL_OK && i < queue->npartitions; i++)
        rc = tkl__queue_partition_open(&queue->partitions[i], queue, i);
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
    q->timeout_ms = options ? options->timeout_ms : 0;
    pthread_mutex_init(&q->mutex, NULL);
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", q->timeout_ms, 0, TKL__MS_MAX});
    if (rc == TKL_OK)
        rc = copy_name(q, name);
    if (rc == TKL_OK)
        rc = open_partitions(q, options ? options->partitions : 0);
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
    for (int i = 0; queue->partitions && i < queue->npartitions; i++)
        tkl__queue_partition_close(&queue->partitions[i]);
    free(queue->partitions);
    tkl__queue_lanes_free(queue);
    free((char *)queue->name.data);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}
