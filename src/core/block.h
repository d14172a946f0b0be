/* SPDX-License-Identifier: MIT
 *
 * Commands that block on the server (BLPOP). Each runs on a connection outside the pool, so any
 * number of them never keeps other calls from getting a connection.
 */
#ifndef TKL_CORE_BLOCK_H
#define TKL_CORE_BLOCK_H

#include "core/call.h"

typedef struct tkl__blocking {
    int slot; /* TKL__NO_SLOT: any node */
    /* Appends the command in RESP form. It waits up to `left_us` (TKL__FOREVER: without limit). */
    void (*write)(tkl__buf *wire, int64_t left_us, const void *arg);
    const void *arg;
    int64_t timeout_ms; /* for sending it, and for a late server; 0: the client's */
} tkl__blocking;

/* Waits for the reply until `end`, plus the time-out of a call for a server that is late. If the
 * connection is lost before any part of the reply arrives, the command is sent again on a new one.
 * The wait also goes on through a failover and while the server is down. TKL_EUNKNOWN: the
 * connection was lost in the middle of the reply, or at the end of the wait. An error reply comes
 * back as its code; *reply is then NULL. TKL_EINTR: the client was interrupted, and nothing was
 * taken from the server. */
int tkl__block(tkl_client *client, const tkl__blocking *command, int64_t end, tkl_reply **reply);

#endif
