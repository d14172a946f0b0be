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
    const tkl_hold_overview *locks;   /* the same; also names without a holder */
    const tkl_hold_overview *semaphores;
    const tkl_hold_overview *leaders;
    const tkl_counter_summary *counters; /* by name */
    size_t counter_count;
    const char *server; /* text of INFO; in a cluster that of one master; "": see its result */
    tkl_result queues_result, locks_result, semaphores_result, leaders_result, counters_result,
        server_result;
    const tkl_bytes *missing; /* masters of a cluster that did not answer, "host:port": their names
                                 are missing; see tkl_lenient_begin() */
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

/* ---- The server ---------------------------------------------------------- */

/* A connection of the server. Texts are views into the tkl_clients; "" for what it does not say. */
typedef struct tkl_client_info {
    int64_t id;
    const char *name;    /* "tackle:PROGRAM:HOST:PID" for programs of tackle that chose no other */
    const char *address; /* "10.0.0.5:51712", or the path of a Unix socket */
    const char *user;
    const char *command; /* the last one, "get" or "client|list"; without its arguments */
    const char *kind;    /* "normal", "blocked", "subscriber", "replica", "master", "monitor" */
    int64_t age_ms, idle_ms;
    int64_t memory; /* bytes; 0: not known */
    TKL_RESERVED(4);
} tkl_client_info;

typedef struct tkl_clients {
    const tkl_client_info *items; /* oldest first; see below for which */
    size_t count;
    int64_t connected; /* connections that there are, without those of replicas */
    int64_t blocked;   /* clients among them that wait on the server */
    int64_t most;      /* connections that the server accepts */
    TKL_RESERVED(4);
} tkl_clients;

#define TKL_CLIENTS_MAX 1000

/* The connections of the server; in a cluster those of one master. `max`: list at most this many,
 * up to TKL_CLIENTS_MAX; 0: 100. With more connections than `max`, those that connected last are
 * listed. With more than TKL_CLIENTS_MAX a list of all would hold the server: then only the last
 * thousands of ids are looked through, and fewer than `max` may be found. */
TKL_API int tkl_overview_clients(tkl_client *client, size_t max, tkl_clients **clients)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_clients_free(tkl_clients *clients); /* NULL is fine */

/* The keys of a component. */
typedef struct tkl_memory_item {
    const char *component; /* "queue"; "" for keys that are not of this namespace */
    int64_t keys;
    int64_t bytes; /* as MEMORY USAGE counts them, from a few elements of each key */
    TKL_RESERVED(4);
} tkl_memory_item;

typedef struct tkl_memory {
    tkl_memory_item *items; /* the largest first */
    size_t count;
    int64_t keys;     /* on all masters */
    int64_t measured; /* keys that were asked for */
    bool is_exact;    /* all of them */
    TKL_RESERVED(4);
} tkl_memory;

#define TKL_MEMORY_SAMPLE_MAX 1000000

/* Estimates the memory that the keys of each component take: a sample of keys stands for all, and
 * the large keys of the 100 names of each component that were used last are asked for by name. In
 * short steps, so that the server serves other clients in between. `sample`: number of keys, at most
 * TKL_MEMORY_SAMPLE_MAX; 0: 5000. In a cluster the sample is of one master, unless that has fewer. */
TKL_API int tkl_overview_memory(tkl_client *client, int64_t sample, tkl_memory **memory)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_memory_free(tkl_memory *memory); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
