/* SPDX-License-Identifier: MIT
 *
 * Calls of server functions: one .lua file per operation.
 */
#ifndef TKL_CORE_SCRIPT_H
#define TKL_CORE_SCRIPT_H

#include "core/args.h"
#include "core/call.h"
#include "core/keys.h"
#include "core/library.h"

#define TKL__SPARING_KEYS 3

/* A script with its keys and arguments. All keys must be in one slot. */
typedef struct tkl__invocation {
    const tkl__script *script;
    const tkl_bytes *keys;
    const tkl_bytes *args;
    size_t nkeys;
    size_t nargs;
    bool retry_safe;  /* see tkl__request */
    bool doubted;     /* ditto */
    bool no_tryagain; /* ditto */
    bool crowded;     /* ditto */
    bool *imported;   /* ditto; not for tkl__run_nowait() */
    bool sparing;     /* while a cluster moves the slot, it refuses scripts with several keys unless
                     all of them exist: then the script may run with its first key in the place of
                     others. At most TKL__SPARING_KEYS keys. Not in a batch */
} tkl__invocation;

/* Runs FCALL, or FCALL_RO for a script that only reads. An error reply comes back as its code;
 * *reply is then NULL. */
int tkl__run(tkl_client *client, const tkl__invocation *call, int64_t deadline, tkl_reply **reply);

/* The same with keys and arguments from their builders. TKL_ENOMEM when a builder failed.
 * `retry_safe`: running it twice does no harm. */
int tkl__eval(tkl_client *client, const tkl__script *script, const tkl__keys *keys,
              const tkl__args *args, int64_t deadline, bool retry_safe, tkl_reply **reply);

/* Sends the script and does not wait for its reply. This needs a server that has the script, so the
 * first call on a connection does wait. The thread that uses the connection next reads the reply,
 * and runs the script again when it is an error: the script must be safe to repeat. */
int tkl__run_nowait(tkl_client *client, const tkl__invocation *call, int64_t deadline);

/* Checks the numbers of keys and arguments against the script's header block. */
int tkl__script_check(const tkl__invocation *call);
/* The request of a call, all but its bytes. */
tkl__request tkl__script_request(const tkl_client *client, const tkl__invocation *call);
/* Writes "FCALL function n key... arg..." as one command, for callers that make their own
 * request. */
void tkl__script_wire(tkl__buf *out, const tkl__invocation *call);

#endif
