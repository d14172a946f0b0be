/* SPDX-License-Identifier: MIT
 *
 * Server-side scripts: one .lua file per operation, embedded at build time with its SHA1.
 */
#ifndef TKL_CORE_SCRIPT_H
#define TKL_CORE_SCRIPT_H

#include "core/args.h"
#include "core/call.h"
#include "core/keys.h"

/* From this line of a script on, its lines are those of this file from `file_line` on. */
typedef struct tkl__origin {
    int line; /* 0: the end of the list */
    const char *file;
    int file_line;
} tkl__origin;

typedef struct tkl__script {
    const char *name; /* "lock/acquire" */
    const char *sha1; /* 40 hex digits */
    const char *source;
    size_t len;
    int nkeys;                  /* as the header block declares; the least number when open */
    int nargs;                  /* ditto */
    bool open_keys;             /* "KEYS[n...]": more may follow */
    bool open_args;             /* "ARGV[n...]": ditto */
    const tkl__origin *origins; /* the first begins at line 1 */
} tkl__script;

/* A script with what it works on. All keys must be in one slot. */
typedef struct tkl__invocation {
    const tkl__script *script;
    const tkl_bytes *keys;
    const tkl_bytes *args;
    size_t nkeys;
    size_t nargs;
    bool retry_safe;  /* see tkl__request */
    bool no_tryagain; /* ditto */
    bool crowded;     /* ditto */
    bool first_alone; /* while a cluster moves the slot, it refuses scripts with several keys unless
                         all of them exist: then the first alone may do. Not of several in one trip */
    bool whole;       /* of several in one trip: sent with its source, so that those behind it
                         cannot overtake it where the server has forgotten the script */
} tkl__invocation;

/* EVALSHA, and once EVAL when the server does not know the script. An error reply comes back as its
 * code; *reply is then NULL. */
int tkl__run(tkl_client *client, const tkl__invocation *call, int64_t deadline, tkl_reply **reply);

/* The same with keys and arguments as their builders make them. TKL_ENOMEM when one of them failed.
 * `retry_safe`: running it twice does no harm. */
int tkl__eval(tkl_client *client, const tkl__script *script, const tkl__keys *keys,
              const tkl__args *args, int64_t deadline, bool retry_safe, tkl_reply **reply);

/* The same several times, in one trip, with these arguments; see tkl__run_many(). */
int tkl__eval_many(tkl_client *client, const tkl__script *script, const tkl__keys *keys,
                   const tkl__args *args, size_t count, int64_t deadline, bool retry_safe,
                   tkl_reply **replies);

/* Adds up what the scripts of one trip answered. One may answer with a text instead, to say that
 * something is other than the caller thought: *other is the first of them, which ends the sum; NULL:
 * none. An error reply comes back as its code. */
int tkl__sum_replies(const tkl_reply *replies, int64_t *sum, const tkl_reply **other);

/* Sends the script and does not wait for its reply. For this the server must know the script: the
 * first time on a connection the reply is awaited. The thread that uses the connection next reads
 * the reply, and runs the script again when it is an error: the script must be safe to repeat. */
int tkl__run_nowait(tkl_client *client, const tkl__invocation *call, int64_t deadline);

/* Several scripts in one trip (one for each node); *replies is an array as of tkl_pipeline_run. */
int tkl__run_many(tkl_client *client, const tkl__invocation *calls, size_t count, int64_t deadline,
                  tkl_reply **replies);

/* "EVALSHA sha n key... arg..." as one command on the wire; for callers with a connection of their
 * own. */
void tkl__script_wire(tkl__buf *out, const tkl__invocation *call, bool by_sha);

#endif
