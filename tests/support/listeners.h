/* SPDX-License-Identifier: MIT
 *
 * Waiters of the core as tests use them.
 */
#ifndef TACKLE_TESTS_LISTENERS_H
#define TACKLE_TESTS_LISTENERS_H

#include <stdatomic.h>

#include "core/clock.h"
#include "core/waiter.h"
#include "support/fixture.h"

/* The deadline `ms` milliseconds from now. */
int64_t ms_from_now(int64_t ms);
void listen_to(tkl_client *client, const char *channel, const char *id, tkl__waiter *waiter);
void assert_event(tkl__event got, tkl__event expected);
void assert_hears(tkl__waiter *waiter, const char *expected);
void assert_hears_nothing(tkl__waiter *waiter, int64_t ms);

/* Waiters in threads of their own, and their counts together. */
typedef struct hall {
    tkl_client *client;
    atomic_int listening, heard, looked, cut;
    int64_t patience_ms; /* how long count_events() waits */
} hall;

/* The body of such a thread, which waits once. The first thread asks for a look after 300 ms. */
void count_events(void *arg, int index);

#endif
