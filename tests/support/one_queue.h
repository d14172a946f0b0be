/* SPDX-License-Identifier: MIT
 *
 * The queue "q" and a consumer of it, for nearly every test.
 */
#ifndef TACKLE_TESTS_ONE_QUEUE_H
#define TACKLE_TESTS_ONE_QUEUE_H

#include "support/fixture.h"
#include "support/queues.h"

#define KEY "tackle:queue:{q}:"

typedef struct one_queue {
    fixture *f;
    tkl_queue *queue;
    tkl_consumer *consumer;
} one_queue;

one_queue one_queue_open(void **state);
/* `lease_ms` 0: the default. */
one_queue one_queue_open_lease(void **state, int64_t lease_ms);
void one_queue_close(one_queue *d);

/* Fails when more than totals, request windows and settings is left of the jobs. */
void assert_clean(server *s);

#endif
