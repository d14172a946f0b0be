/* SPDX-License-Identifier: MIT
 *
 * The queue "q" and a consumer of it, for nearly every test.
 */
#ifndef TACKLE_TESTS_DESK_H
#define TACKLE_TESTS_DESK_H

#include "support/fixture.h"
#include "support/queues.h"

#define KEY "tackle:queue:{q}:"

typedef struct desk {
    fixture *f;
    tkl_queue *queue;
    tkl_consumer *consumer;
} desk;

desk desk_open(void **state);
/* `lease_ms` 0: the default. */
desk desk_open_lease(void **state, int64_t lease_ms);
void desk_close(desk *d);

/* Nothing of a job may be left but totals, request windows and settings. */
void assert_clean(server *s);

#endif
