/* SPDX-License-Identifier: MIT
 *
 * The trace of a connection: each command that is sent, and how long its reply took, for the
 * client's on_trace. A client without on_trace has none, and pays nothing.
 */
#ifndef TKL_CORE_TRACE_H
#define TKL_CORE_TRACE_H

#include "core/url.h"

typedef struct tkl__trace tkl__trace;

/* All functions accept NULL, which is what this returns for a client without on_trace, or when there
 * is no memory. */
tkl__trace *tkl__trace_open(const tkl__target *target, const tkl__addr *addr);

/* The commands in `wire` are about to be sent together. */
void tkl__trace_send(tkl__trace *trace, tkl_bytes wire);

/* The reply to the oldest command without one has arrived. */
void tkl__trace_reply(tkl__trace *trace, const tkl_reply *reply);

/* Reports the commands that got no reply with this code, and frees the trace. */
void tkl__trace_close(tkl__trace *trace, int code);
/* Frees the trace in a forked child: its parent waits for the replies. */
void tkl__trace_abandon(tkl__trace *trace);

#endif
