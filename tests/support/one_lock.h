/* SPDX-License-Identifier: MIT
 *
 * The lock "door" of a fixture: holding it, and waiting for it.
 */
#ifndef TACKLE_TESTS_ONE_LOCK_H
#define TACKLE_TESTS_ONE_LOCK_H

#include "support/fixture.h"
#include "support/locks.h"
#include "support/peer.h"

/* A lease that no test lives to see the end of. */
#define HOUR_MS 3600000
extern const tkl_lock_options HOUR;

tkl_lock *open_door(fixture *f, const tkl_lock_options *options);
/* Opens the lock and acquires it for an hour. */
tkl_lock *held_door(fixture *f);
tkl_lock *door_held_for(fixture *f, int64_t lease_ms);

/* Starts a thread that waits, and returns when it does; `probe` is any handle of the lock. */
void stand_in_line(pending *p, tkl_lock *probe);

/* Starts another process, whose lease is an hour; it acquires when make_wait() says so. */
peer *outsider(fixture *f);
/* Lets that process wait, and returns when it does. */
void make_wait(peer *p, tkl_lock *probe);

/* On how many channels clients listen for their turn. */
int64_t channels_of_waiters(fixture *f);

#endif
