/* SPDX-License-Identifier: MIT
 *
 * All ways to wait, of all components: one line each.
 */
#ifndef TACKLE_TESTS_WAYS_H
#define TACKLE_TESTS_WAYS_H

#include <stddef.h>

#include <tackle/client.h>

/* How long each of them waits. */
#define WAY_MS 120000

typedef struct wait_way {
    const char *name;
    int (*wait)(tkl_client *client); /* opens handles, waits, closes them; the result of the wait */
} wait_way;

/* Waits for something that does not come. */
extern const wait_way ways[];
extern const size_t way_count;

/* Waits that begin with a request which the server does not answer. */
extern const wait_way first_ways[];
extern const size_t first_way_count;

#endif
