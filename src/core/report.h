/* SPDX-License-Identifier: MIT
 *
 * Reports of a client to its owner: events as they happen, and counters on request.
 */
#ifndef TKL_CORE_REPORT_H
#define TKL_CORE_REPORT_H

#include "core/client.h"

/* The first bucket of tkl_client_stats.took; each one after it is twice as long. */
#define TKL__LATENCY_FIRST_US 100

/* Writes "host:port" or the path of a socket; "" for NULL. */
void tkl__print_server(const tkl__addr *addr, char *text, size_t size);

/* Calls on_event, if it is set. `addr` may be NULL. `text` NULL: the calling thread's last text.
 * Call this without the client's lock. */
void tkl__tell_event(const tkl_client *client, tkl_event_type type, int code, const tkl__addr *addr,
                     const char *text);

/* Reports that a request is about to be retried after this failure or error reply. */
void tkl__tell_retry(tkl_client *client, tkl__node *node, int code, const tkl_reply *reply);

#endif
