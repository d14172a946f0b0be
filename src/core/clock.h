/* SPDX-License-Identifier: MIT
 *
 * Local time. Everything that waits has a deadline: a moment on the monotonic clock, in
 * microseconds. Decisions between programs use the server's time, never this one.
 */
#ifndef TKL_CORE_CLOCK_H
#define TKL_CORE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TKL__FOREVER INT64_MAX

int64_t tkl__now(void);                    /* monotonic microseconds */
int64_t tkl__unix_ms(void);                /* the time of day of this machine: decides nothing */
int64_t tkl__lease_now(void);              /* the same, but also runs while the machine sleeps */
int64_t tkl__lease_end(int64_t at);        /* turns a moment of tkl__lease_now() into one of
                                              tkl__now() */
int64_t tkl__deadline_ms(int64_t ms);      /* now + ms, saturating; negative counts as 0 */
int64_t tkl__left(int64_t deadline);       /* microseconds left, 0 when passed */
int tkl__poll_ms(int64_t deadline);        /* for poll(): rounded up; -1 for TKL__FOREVER */
struct timespec tkl__timespec(int64_t at); /* for pthread_cond_timedwait on CLOCK_MONOTONIC */
void tkl__sleep_until(int64_t at);

/* From now on (NULL: no longer) the calling thread obeys *end, which another thread may set. Once
 * *end is not 0, or shortly after, no deadline of the calling thread is later than *end. For calls
 * that another thread may want to stop. */
void tkl__heed(const _Atomic int64_t *end);
/* A second end, beside that of tkl__heed(), which another thread may set. */
void tkl__heed_too(const _Atomic int64_t *end);
bool tkl__heeds_too(void);
/* Whether the second end has cut a deadline short since it was given, even if it is unset again. */
bool tkl__was_cut_short(void);
bool tkl__heeds(void);
/* When a sleeper has to wake up, to check whether an end was set: at `at` or before. */
int64_t tkl__wake_time(int64_t at);

/* From now on (0: no longer) a server that has begun to answer the calling thread may finish until
 * this moment, even after the deadline of the call. For calls with a short deadline: a server that
 * hangs ends them soon, but a large reply still arrives. */
void tkl__let_finish(int64_t until);
/* The deadline, or the moment of tkl__let_finish() if it is later. */
int64_t tkl__finish_by(int64_t deadline);
/* How long a server may take to begin its answer to a caller that is about to leave: it may be
 * down. */
#define TKL__PROMPT_US 500000
/* From now on (0: no longer), the time in which the calling thread waits for a connection does not
 * count against its deadline: as long as the server answers other callers, and until this moment at
 * the latest. For requests with a short deadline that very many callers may make at once: a server
 * that hangs still ends them soon. */
void tkl__let_take_turn(int64_t until);
/* The deadline. Where tkl__let_take_turn() allows it, TKL__PROMPT_US after `at`, when the server
 * answered or the caller got its turn. */
int64_t tkl__turn_by(int64_t deadline, int64_t at);

/* The backoff before attempt number `attempt` (from 0), in microseconds: 2 ms, doubled each time up
 * to `max_us`; half of it is random. */
int64_t tkl__backoff(int attempt, int64_t max_us);

/* Fills `len` random bytes from the kernel. */
void tkl__random(void *data, size_t len);

#endif
