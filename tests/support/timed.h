/* SPDX-License-Identifier: MIT
 *
 * A server whose clock the test sets, while it runs: forward, back, or to just before the hour.
 *
 *     timed_server *t = timed_start(NULL);
 *     timed_set(t, unix_ms);            // goes on from there
 *     timed_shift(t, -3600 * 1000);     // an hour back
 *     timed_end(t);
 */
#ifndef TACKLE_TESTS_TIMED_H
#define TACKLE_TESTS_TIMED_H

#include "support/server.h"

typedef struct timed_server {
    server *server;
    char file[96];
    volatile int64_t *shift_us;
} timed_server;

timed_server *timed_start(const server_options *options);
void timed_end(timed_server *t);

/* The server's time, in Unix milliseconds. */
int64_t timed_now(const timed_server *t);
void timed_set(timed_server *t, int64_t ms);
void timed_shift(timed_server *t, int64_t ms);

#define HOUR_MS INT64_C(3600000)

/* The beginning of the hour of a time. */
int64_t timed_hour(int64_t ms);

#endif
