/* SPDX-License-Identifier: MIT
 *
 * Commands that wait on the server (BLPOP): each on a connection beside the pool, so that any
 * number of them never keeps others from calling.
 */
#ifndef TKL_CORE_BLOCK_H
#define TKL_CORE_BLOCK_H

#include "core/call.h"

typedef struct tkl__blocking {
    int slot; /* TKL__NO_SLOT: any node */
    /* Appends the command, in RESP form, to wait up to `left_us` (TKL__FOREVER: without end). */
    void (*write)(tkl__buf *wire, int64_t left_us, const void *arg);
    const void *arg;
    int64_t timeout_ms; /* for sending it, and for a server that is late; 0: the client's */
} tkl__blocking;

/* Waits for its reply until `end`, and a call's time-out longer for a server that is late. A
 * connection lost before any of the reply came is replaced, and the wait goes on; so does it
 * through a failover and while the server is gone. TKL_EUNKNOWN: lost in the middle of the reply,
 * or at the end. An error reply comes back as its code; *reply is then NULL. TKL_EINTR: the client
 * was interrupted, and nothing was taken from the server. */
int tkl__block(tkl_client *client, const tkl__blocking *command, int64_t end, tkl_reply **reply);

#endif
