/* SPDX-License-Identifier: MIT */
#include "support/doors.h"

tkl_lock *open_door(fixture *f, const tkl_lock_options *options)
{
    return open_lock(f->client, "door", options);
}

tkl_lock *held_door(fixture *f)
{
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(tkl_lock_acquire(lock, 0));
    return lock;
}
