/* SPDX-License-Identifier: MIT
 *
 * Local time. Everything that waits has a deadline: a moment on the monotonic clock, in
 * microseconds. Time that decides something between programs is the server's, never this.
 */
#ifndef TKL_CORE_CLOCK_H
#define TKL_CORE_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TKL__FOREVER INT64_MAX

int64_t tkl__now(void);                    /* monotonic microseconds */
int64_t tkl__lease_now(void);              /* the same, and it goes on while the machine sleeps */
int64_t tkl__lease_end(int64_t at);        /* a moment of tkl__lease_now() as one of tkl__now() */
int64_t tkl__deadline_ms(int64_t ms);      /* now + ms, saturating; negative counts as 0 */
int64_t tkl__left(int64_t deadline);       /* microseconds left, 0 when passed */
int tkl__poll_ms(int64_t deadline);        /* for poll(): rounded up; -1 for TKL__FOREVER */
struct timespec tkl__timespec(int64_t at); /* for pthread_cond_timedwait on CLOCK_MONOTONIC */
void tkl__sleep_until(int64_t at);

void tkl__cond_init(pthread_cond_t *cond); /* on CLOCK_MONOTONIC */
/* False when the deadline passed. */
bool tkl__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline);

/* From now on (NULL: not any more) the calling thread heeds a moment that another may set: as soon
 * as it is not 0, or a little later, no deadline of the thread is after it. For calls that another
 * thread may want to end. */
void tkl__heed(const _Atomic int64_t *end);
/* The same beside it, for another who may end them. */
void tkl__heed_too(const _Atomic int64_t *end);
bool tkl__heeds(void);

/* The wait before try number `attempt` (from 0): 2 ms doubling up to `max_us`, with jitter: half of
 * it is random. In microseconds. */
int64_t tkl__backoff(int attempt, int64_t max_us);

/* Fills `len` random bytes from the kernel. */
void tkl__random(void *data, size_t len);

#endif
