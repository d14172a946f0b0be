/* SPDX-License-Identifier: MIT
 *
 * Data that is fetched from servers and may become outdated: the slot map of a cluster, the master
 * that Sentinels name. One caller at a time fetches it. The others go on with the old data, and
 * wait only when there is none.
 */
#ifndef TKL_CORE_REFRESH_H
#define TKL_CORE_REFRESH_H

#include "core/client.h"
#include "core/cond.h"

/* Keeps `code` with the calling thread's error text. A transient failure becomes TKL_ENOTSENT,
 * because it was not the caller's own request that failed. It does not replace a permanent one. */
void tkl__failure_note(tkl_error *failure, int code);

/* Guarded by the client's mutex. */
typedef struct tkl__refresh {
    bool (*have)(tkl_client *client, int slot);         /* called under the mutex */
    int (*fetch)(tkl_client *client, int64_t deadline); /* called without the mutex */
    bool stale;                                         /* fetch again as soon as possible */
    bool running;                                       /* a thread is fetching */
    int64_t began;                                      /* when the last fetch began; 0: never */
    unsigned generation;                                /* fork generation of this struct */
    tkl__cond ended;                                    /* a fetch ended */
    tkl_error failure; /* failure of the last fetch that no deadline cut short */
} tkl__refresh;

void tkl__refresh_init(tkl__refresh *refresh, bool (*have)(tkl_client *, int),
                       int (*fetch)(tkl_client *, int64_t));
void tkl__refresh_free(tkl_client *client, tkl__refresh *refresh);

/* Fetches the data if it is missing or stale. With the mutex, which is released while servers are
 * asked. TKL_OK when `have` returns true in the end. */
int tkl__refresh_ensure(tkl_client *client, tkl__refresh *refresh, int slot, int64_t deadline);

/* The deadline for asking one of several servers: one that hangs must not use up the time of the
 * `others` after it. */
int64_t tkl__refresh_slice(int64_t deadline, size_t others);

#endif
