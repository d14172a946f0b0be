/* SPDX-License-Identifier: MIT
 *
 * Everything at once, for views that look again and again: one round trip for each master, however
 * many names there are.
 *
 *     tkl_overview *last = NULL, *now;
 *     for (int i = 0; i < 3 && tkl_overview_read(client, NULL, last, &now) == TKL_OK; i++) {
 *         printf("%zu queues\n", now->queues ? now->queues->count : 0);
 *         tkl_overview_free(last);
 *         last = now;
 *         sleep(1);
 *     }
 *     tkl_overview_free(last);
 *
 * The names are those of the register (docs/operators.md), whether they have data or not. Numbers
 * are read for the names that the last overview has; a new name has them in the next one.
 *
 * Threads: any thread may read; an overview does not change. fork(): a child may go on using it.
 * Callbacks: none. Keys: none of its own.
 */
#ifndef TACKLE_OVERVIEW_H
#define TACKLE_OVERVIEW_H

#include <tackle/counter.h>
#include <tackle/hold.h>
#include <tackle/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TKL_OVERVIEW_MAX 1000

typedef struct tkl_overview_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t max;        /* about how many names of each kind, those used last; at most
                           TKL_OVERVIEW_MAX; 0: 200 */
    TKL_RESERVED(8);
} tkl_overview_options;

/* A counter of an overview. Views into it. */
typedef struct tkl_counter_summary {
    tkl_bytes name;
    const tkl_counter_series *series; /* its last seconds; NULL: see `code` */
    int code;                         /* TKL_OK; TKL_ENOTSENT: not read yet; TKL_EINVAL: it keeps no
                                         seconds; or another reason */
    TKL_RESERVED(4);
} tkl_counter_summary;

/* A part whose result is not TKL_OK is NULL, and its count 0. */
typedef struct tkl_overview {
    const tkl_queue_overview *queues; /* code TKL_ENOTSENT: its numbers were not read yet */
    const tkl_hold_overview *locks;   /* likewise; also names that nobody holds */
    const tkl_hold_overview *semaphores;
    const tkl_hold_overview *leaders;
    const tkl_counter_summary *counters; /* by name */
    size_t counter_count;
    const char *server; /* text of INFO; in a cluster that of one master; "": see its result */
    tkl_result queues_result, locks_result, semaphores_result, leaders_result, counters_result,
        server_result;
    const tkl_bytes *missing; /* masters of a cluster that did not answer, "host:port": what they
                                 have is missing; see tkl_lenient_begin() */
    size_t missing_count;
    TKL_RESERVED(8);
} tkl_overview;

/* `last` is the overview before this one; NULL: there is none, and reading takes a second round
 * trip. TKL_OK when a server answered, even if it refused parts of it: each part has its
 * result. */
TKL_API int tkl_overview_read(tkl_client *client, const tkl_overview_options *options,
                              const tkl_overview *last, tkl_overview **overview)
    TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_overview_free(tkl_overview *overview); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
