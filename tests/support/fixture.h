/* SPDX-License-Identifier: MIT
 *
 * The common case: one server for the whole program, and for each test an empty server and a
 * fresh client.
 *
 *     static void counts(void **state)
 *     {
 *         fixture *f = *state;
 *         assert_ok(tkl_callz(f->client, NULL, "INCR", "n", NULL));
 *     }
 *
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {
 *             TEST(counts),
 *         };
 *         return cmocka_run_group_tests(tests, fixture_start, fixture_end);
 *     }
 */
#ifndef TACKLE_TESTS_FIXTURE_H
#define TACKLE_TESTS_FIXTURE_H

#include "support/call.h"
#include "support/server.h"
#include "support/test.h"

typedef struct fixture {
    server *server;
    tkl_client *client;
} fixture;

int fixture_start(void **state); /* group */
int fixture_end(void **state);
int fixture_fresh(void **state); /* each test */
int fixture_done(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_fresh, fixture_done)

#endif
