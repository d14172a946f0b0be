/* SPDX-License-Identifier: MIT */
#include "support/one_lock.h"

const tkl_lock_options HOUR = {.lease_ms = HOUR_MS};

tkl_lock *open_door(fixture *f, const tkl_lock_options *options)
{
    return open_lock(f->client, "door", options);
}

tkl_lock *door_held_for(fixture *f, int64_t lease_ms)
{
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = lease_ms});
    assert_ok(tkl_lock_acquire(lock, 0));
    return lock;
}

tkl_lock *held_door(fixture *f)
{
    return door_held_for(f, HOUR_MS);
}

void stand_in_line(pending *p, tkl_lock *probe)
{
    int64_t before = lock_waiters(probe);
    pending_start(p);
    eventually(lock_waiters(probe) == before + 1, LONG_MS);
}

peer *outsider(fixture *f)
{
    return peer_start(&(peer_options){.url = f->server->url, .name = "door", .lease_ms = HOUR_MS});
}

void make_wait(peer *p, tkl_lock *probe)
{
    int64_t before = lock_waiters(probe);
    peer_tell(p, "acquire -1");
    eventually(lock_waiters(probe) == before + 1, LONG_MS);
}

int64_t channels_of_waiters(fixture *f)
{
    return server_ask_int(f->server, "EVAL %s 0",
                          "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*:w:*')");
}
