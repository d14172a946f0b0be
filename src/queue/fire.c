/* SPDX-License-Identifier: MIT
 *
 * How schedules fire. A claim that finds "schedule:id" due in :delayed puts it off by a second and
 * reports it to the claiming consumer. The consumer asks for the schedule, works out its next time
 * and runs fire.lua, which pushes the job and sets the next time in one step, but only if the
 * schedule has not changed meanwhile. So each time fires once, however many consumers try. If the
 * consumer is gone, the next claim finds the schedule a second later.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/reply.h"
#include "queue/consumer.h"
#include "queue/schedule.h"
#include "queue/scripts.h"

/* The most schedules that a claim reports. */
#define AT_ONCE 100

static int ask_due(const tkl__queue_partition *partition, const tkl_bytes *ids, size_t count,
                   int64_t deadline, tkl_reply **reply)
{
    tkl__invocation call = tkl__queue_call(partition, &tkl__lua_queue_due, ids, count);
    call.retry_safe = true;
    return tkl__run(partition->queue->client, &call, deadline, reply);
}

/* Adds a run of fire.lua. TKL_EMPTY: nothing to do, another consumer has fired it, or it is paused.
 * An error: this consumer cannot fire it, so it stays due; another one may know its time zone.
 * Repeating is safe: the second time the schedule has changed, so the script does nothing. */
static int add_shot(tkl__batch *shots, const tkl__queue_partition *partition, tkl_bytes id,
                    tkl_bytes value, int64_t now_ms)
{
    tkl__queue_planned planned;
    char next[24];
    int64_t next_ms;
    bool fires;
    if (!tkl__queue_planned_decode(value, &planned) || planned.next_ms > now_ms ||
        planned.next_ms == TKL__QUEUE_PAUSED)
        return TKL_EMPTY;
    int rc = tkl__queue_planned_next(&planned, now_ms, &next_ms, &fires);
    if (rc != TKL_OK)
        return tkl__fail_in(rc, "schedule %.*s cannot fire here", (int)id.len, id.data);
    snprintf(next, sizeof next, "%" PRId64, next_ms);
    tkl_bytes args[] = {id, planned.beginning, tkl_str(next), tkl_str(fires ? "1" : "")};
    tkl__invocation call = tkl__queue_call(partition, &tkl__lua_queue_fire, args, 4);
    call.retry_safe = true;
    tkl__batch_add(shots, &call);
    return TKL_OK;
}

/* Reports schedules that cannot fire here to on_error. */
static void report_failure(const tkl_consumer *c, int rc)
{
    if (rc < 0 && c->on_error)
        c->on_error(rc, tkl_errmsg(), c->arg);
}

bool tkl__queue_fire_schedules(const tkl__queue_source *source, const tkl_reply *due,
                               int64_t deadline, bool *unfit)
{
    const tkl__queue_partition *partition = source->partition;
    tkl_bytes ids[AT_ONCE];
    tkl__batch shots;
    size_t count = 0;
    tkl_reply *reply = NULL;
    *unfit = false;
    for (; count < tkl_reply_count(due) && count < AT_ONCE; count++)
        ids[count] = tkl_reply_bytes(tkl_reply_at(due, count));
    if (count == 0 || ask_due(partition, ids, count, deadline, &reply) != TKL_OK)
        return false;
    int64_t now_ms = tkl__reply_number(tkl_reply_at(reply, 0));
    tkl__batch_init(&shots, partition->queue->client);
    for (size_t i = 0; i < count; i++) {
        tkl_bytes value = tkl_reply_bytes(tkl_reply_at(reply, i + 1));
        int rc = add_shot(&shots, partition, ids[i], value, now_ms);
        *unfit = *unfit || rc < 0;
        report_failure(source->consumer, rc);
    }
    bool any = shots.count > 0;
    (void)tkl__batch_run(&shots, deadline); /* schedules that did not fire stay due */
    tkl__batch_free(&shots);
    tkl_reply_free(reply);
    return any;
}
