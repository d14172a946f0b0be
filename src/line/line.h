/* SPDX-License-Identifier: MIT
 *
 * Numbers about lines of waiters, for locks, semaphores and queues. Their scripts know them, too.
 */
#ifndef TKL_LINE_LINE_H
#define TKL_LINE_LINE_H

/* A hand-over lasts this long at most, until the heir has renewed it to its whole lease. A waiter
 * that was recalled has the same time to ask again. */
#define TKL__LINE_FIRST_LEASE_MS 4000
/* The keeper of a living heir renews a hand-over this long after it started. Work that is done
 * sooner needs no renewal. */
#define TKL__LINE_CONFIRM_US 500000

#endif
