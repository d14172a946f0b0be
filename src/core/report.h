/* SPDX-License-Identifier: MIT
 *
 * What a client tells its owner: events as they happen, and numbers when asked.
 */
#ifndef TKL_CORE_REPORT_H
#define TKL_CORE_REPORT_H

#include "core/client.h"

/* Calls on_event, if there is one. `addr` may be NULL; `text` may be NULL: this thread's last. Not
 * with the client's lock. */
void tkl__tell_event(const tkl_client *client, tkl_event_type type, int code, const tkl__addr *addr,
                     const char *text);

/* A request is about to be repeated after this failure or error reply. */
void tkl__tell_retry(tkl_client *client, tkl__node *node, int code, const tkl_reply *reply);

#endif
