/* SPDX-License-Identifier: MIT
 *
 * The lock "door" of a fixture.
 */
#ifndef TACKLE_TESTS_DOORS_H
#define TACKLE_TESTS_DOORS_H

#include "support/fixture.h"
#include "support/locks.h"

#define STATE   "tackle:lock:{door}:state"
#define SHARERS "tackle:lock:{door}:sharers"

tkl_lock *open_door(fixture *f, const tkl_lock_options *options);
/* Held for a lease that no test lives to see the end of. */
tkl_lock *held_door(fixture *f);

#endif
