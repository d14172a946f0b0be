/* SPDX-License-Identifier: MIT
 *
 * Five independent servers, and redlocks on the first few of them.
 */
#ifndef TACKLE_TESTS_REDLOCKS_H
#define TACKLE_TESTS_REDLOCKS_H

#include <tackle/redlock.h>

#include "support/server.h"
#include "support/test.h"

#define SERVERS 5
#define KEY     "tackle:redlock:{name}" /* key of the lock in all these tests */
#define LONG_MS 60000

typedef struct world {
    server *servers[SERVERS];
    tkl_client *clients[SERVERS];
} world;

/* Fixtures of a group and of each test: all servers run and are empty. */
int world_start(void **state);
int world_end(void **state);
int world_fresh(void **state);
int world_done(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_fresh, world_done)

/* Opens a lock on the first `count` servers; redlock_on() has a time-out for slow machines. */
tkl_redlock *redlock_with(world *w, size_t count, int64_t lease_ms, int64_t timeout_ms);
tkl_redlock *redlock_on(world *w, size_t count);

/* Count the servers, of the first `count`, that have this value, the token of this lock, or
 * nothing. */
int world_holds(world *w, int count, const char *value);
int world_holds_token(world *w, int count, tkl_redlock *lock);
int world_holds_nothing(world *w, int count);

/* Stop and continue the servers from `from` to `to - 1`. */
void world_freeze(world *w, int from, int to);
void world_thaw(world *w, int from, int to);
void world_kill(world *w, int from, int to);

#endif
