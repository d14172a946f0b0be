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
                     others. At most TKL__SPARING_KEYS keys. Not for tkl__run_many() */
} tkl__invocation;

/* Runs FCALL, or FCALL_RO for a script that only reads. An error reply comes back as its code;
 * *reply is then NULL. */
int tkl__run(tkl_client *client, const tkl__invocation *call, int64_t deadline, tkl_reply **reply);

/* The same with keys and arguments from their builders. TKL_ENOMEM when a builder failed.
 * `retry_safe`: running it twice does no harm. */
int tkl__eval(tkl_client *client, const tkl__script *script, const tkl__keys *keys,
              const tkl__args *args, int64_t deadline, bool retry_safe, tkl_reply **reply);

/* Runs the script once for each element of `args`, in one round trip; see tkl__run_many(). */
int tkl__eval_many(tkl_client *client, const tkl__script *script, const tkl__keys *keys,
                   const tkl__args *args, size_t count, int64_t deadline, bool retry_safe,
                   tkl_reply **replies);

/* Adds up the integer replies of one round trip. A script may answer with a text instead, to say
 * that the caller's data is outdated: *other is the first such reply, which ends the sum; NULL:
 * none. An error reply comes back as its code. */
int tkl__sum_replies(const tkl_reply *replies, int64_t *sum, const tkl_reply **other);

/* Sends the script and does not wait for its reply. This needs a server that has the script, so the
 * first call on a connection does wait. The thread that uses the connection next reads the reply,
 * and runs the script again when it is an error: the script must be safe to repeat. */
int tkl__run_nowait(tkl_client *client, const tkl__invocation *call, int64_t deadline);

/* Runs several scripts in one round trip per node; *replies is an array as in tkl_pipeline_run. */
int tkl__run_many(tkl_client *client, const tkl__invocation *calls, size_t count, int64_t deadline,
                  tkl_reply **replies);

/* The same, but no call overtakes another one with the same first key. A server may lose its
 * functions in the middle of the batch, and get them back from another client: then calls behind
 * the gap would run before those in it. So the argument number `condition`, from 0, tells a call
 * which call must have run before; empty: none. The script answers nil when that one has not run,
 * and does nothing. Such a call is run again, without the condition, once those before it are
 * answered; after an error it is not run, and gets the same error. */
int tkl__run_in_order(tkl_client *client, const tkl__invocation *calls, size_t count,
                      size_t condition, int64_t deadline, tkl_reply **replies);

/* Writes "FCALL function n key... arg..." as one command, for callers that make their own
 * request. */
void tkl__script_wire(tkl__buf *out, const tkl__invocation *call);

#endif
