/* SPDX-License-Identifier: MIT
 *
 * The common case on a cluster, as fixture.h is that of one server: one cluster for the whole
 * program, and for each test a cluster that is whole and empty, and a fresh client.
 *
 *     return cmocka_run_group_tests(tests, clustered_start, clustered_end);
 */
#ifndef TACKLE_TESTS_CLUSTERED_H
#define TACKLE_TESTS_CLUSTERED_H

#include "support/call.h"
#include "support/cluster.h"
#include "support/test.h"

#define PATIENCE_MS 60000 /* for calls that must outlast a failover on a slow machine */

typedef struct clustered {
    cluster *cluster;
    tkl_client *client;
} clustered;

int clustered_start(void **state); /* group */
int clustered_end(void **state);
int clustered_fresh(void **state); /* each test */
int clustered_done(void **state);

/* Does the same with a client that has these options. */
int clustered_fresh_with(void **state, const tkl_options *options);

int slot_of(const char *key);
/* Writes the name of a numbered key. Such keys spread over all masters. */
void key_name(char key[32], int number);

#define CLUSTER_TEST(name) cmocka_unit_test_setup_teardown(name, clustered_fresh, clustered_done)

#endif
