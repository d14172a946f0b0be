/* SPDX-License-Identifier: MIT
 *
 * How schedules fire. A claim that finds "@id" due in :d puts it off by a second and tells whoever
 * claims, who asks for the schedule, finds its next time and runs fire.lua: the job is pushed and
 * the next time set in one step, and only if the schedule is as it was when it was asked for. So
 * each time fires once, however many try; and if the one who was told is gone, the next claim
 * finds it a second later.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "queue/schedule.h"
#include "queue/scripts.h"

/* As many as a claim tells at most. */
#define AT_ONCE   100
#define FIRE_KEYS 11

static int ask(const tkl__shard *shard, const tkl_bytes *ids, size_t count, int64_t deadline,
               tkl_reply **reply)
{
    static const tkl__part parts[] = {TKL__DELAYED, TKL__SCHEDULES};
    tkl_bytes keys[2];
    tkl__shard_keys(shard, parts, 2, keys);
    tkl__invocation call = {.script = &tkl__lua_queue_due,
                            .keys = keys,
                            .nkeys = 2,
                            .args = ids,
                            .nargs = count,
                            .retry_safe = true};
    return tkl__run(shard->queue->client, &call, deadline, reply);
}

/* Repeating it is safe: the second time the schedule is another. */
static int fire(const tkl__shard *shard, tkl_bytes id, tkl_bytes value, int64_t now_ms,
                int64_t deadline)
{
    static const tkl__part parts[FIRE_KEYS] = {
        TKL__META,    TKL__JOBS,      TKL__READY, TKL__DELAYED, TKL__ACTIVE,     TKL__EXTRAS,
        TKL__WAITERS, TKL__SCHEDULES, TKL__DEAD,  TKL__UNIQUE,  TKL__UNIQUE_TILL};
    tkl_bytes keys[FIRE_KEYS];
    char next[24];
    int64_t next_ms;
    bool fires;
    tkl__planned planned;
    tkl_reply *reply = NULL;
    if (!tkl__planned_decode(value, &planned))
        return tkl__fail(TKL_EINVAL, "a schedule that cannot be read");
    int rc = tkl__planned_next(&planned, now_ms, &next_ms, &fires);
    if (rc != TKL_OK)
        return rc;
    snprintf(next, sizeof next, "%" PRId64, next_ms);
    tkl__shard_keys(shard, parts, FIRE_KEYS, keys);
    tkl_bytes args[] = {id, planned.beginning, tkl_str(next), tkl_str(fires ? "1" : "")};
    tkl__invocation call = {.script = &tkl__lua_queue_fire,
                            .keys = keys,
                            .nkeys = FIRE_KEYS,
                            .args = args,
                            .nargs = 4,
                            .retry_safe = true};
    rc = tkl__run(shard->queue->client, &call, deadline, &reply);
    tkl_reply_free(reply);
    return rc;
}

void tkl__schedules_fire(const tkl__shard *shard, const tkl_reply *ids, int64_t deadline)
{
    tkl_bytes args[AT_ONCE];
    size_t count = tkl_reply_count(ids) < AT_ONCE ? tkl_reply_count(ids) : AT_ONCE;
    tkl_reply *reply;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        args[i] = tkl_reply_bytes(tkl_reply_at(ids, i));
    int rc = ask(shard, args, count, deadline, &reply);
    int64_t now_ms = tkl_reply_int(tkl_reply_at(reply, 0));
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        tkl_bytes value = tkl_reply_bytes(tkl_reply_at(reply, i + 1));
        if (value.len > 0 && fire(shard, args[i], value, now_ms, deadline) != TKL_OK)
            continue; /* it stays due, and others may know its zone */
    }
    tkl_reply_free(reply);
}
