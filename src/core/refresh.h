/* SPDX-License-Identifier: MIT
 *
 * Knowledge that is fetched from servers and may become outdated: the slot map of a cluster, the
 * master that Sentinels name. One caller at a time fetches it; the others go on with what they
 * have, and wait only when they have nothing.
 */
#ifndef TKL_CORE_REFRESH_H
#define TKL_CORE_REFRESH_H

#include "core/client.h"

/* Why something could not be had, kept for another thread or for later. */
typedef struct tkl__failure {
    int code; /* TKL_OK: no failure */
    char text[512];
} tkl__failure;

/* Keeps `code` with the calling thread's error text. What passes by itself becomes TKL_ENOTSENT
 * (it was never the caller's own request that failed), and does not displace what stays. */
void tkl__failure_note(tkl__failure *failure, int code);
/* Makes it the calling thread's error; returns its code. */
int tkl__failure_tell(const tkl__failure *failure);

/* Guarded by the client's mutex. */
typedef struct tkl__refresh {
    bool (*have)(tkl_client *client, int slot);         /* asked under the mutex */
    int (*fetch)(tkl_client *client, int64_t deadline); /* called without it */
    bool stale;                                         /* fetch again at the next chance */
    bool running;                                       /* a thread fetches */
    int64_t began;                                      /* when the last fetch began; 0: never */
    unsigned generation;                                /* fork generation of all this */
    pthread_cond_t ended;                               /* a fetch ended */
    tkl__failure failure; /* of the last fetch that had time to fail */
} tkl__refresh;

void tkl__refresh_init(tkl__refresh *refresh, bool (*have)(tkl_client *, int),
                       int (*fetch)(tkl_client *, int64_t));
void tkl__refresh_free(tkl_client *client, tkl__refresh *refresh);

/* Under the mutex, which is released while servers are asked: fetches what is missing, or stale.
 * TKL_OK when `have` says so in the end. */
int tkl__refresh_ensure(tkl_client *client, tkl__refresh *refresh, int slot, int64_t deadline);

/* How long one of several servers may be asked, so that one that hangs cannot use up the time of
 * the `others` behind it: a moment. */
int64_t tkl__refresh_slice(int64_t deadline, size_t others);

#endif
