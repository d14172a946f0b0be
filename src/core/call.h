/* SPDX-License-Identifier: MIT
 *
 * A request on its way: pick a node, borrow a connection, send, receive, follow redirections,
 * repeat what is safe to repeat.
 */
#ifndef TKL_CORE_CALL_H
#define TKL_CORE_CALL_H

#include "core/buf.h"
#include "core/client.h"

/* One command in RESP form. */
typedef struct tkl__request {
    tkl_bytes wire;
    int slot;        /* TKL__NO_SLOT: any node */
    bool retry_safe; /* may be sent again when the outcome is unknown */
} tkl__request;

/* *reply may be an error reply of the server (TKL_OK is returned then): only redirections and
 * "not now" are dealt with here. */
int tkl__exec(tkl_client *client, const tkl__request *request, int64_t deadline, tkl_reply **reply);

/* Turns an error reply into its code: frees it, clears the pointer and records the text. */
int tkl__check(tkl_reply **reply);

/* The deadline for these options (NULL: the client's time-out). */
int64_t tkl__call_deadline(const tkl_client *client, const tkl_call_options *options);

#endif
