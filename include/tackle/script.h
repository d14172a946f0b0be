/* SPDX-License-Identifier: MIT
 *
 * Scripts of your own: Lua that the server runs in one step, with nothing of other clients in
 * between. A script of five lines often replaces WATCH, MULTI and a loop.
 *
 *     static const char source[] =
 *         "local left = tonumber(redis.call('GET', KEYS[1]) or 0)\n"
 *         "if left < tonumber(ARGV[1]) then return -1 end\n"
 *         "return redis.call('DECRBY', KEYS[1], ARGV[1])\n";
 *     tkl_script *take;
 *     tkl_reply *left = NULL;
 *     tkl_bytes key = tkl_str("stock"), number = tkl_str("3");
 *     int rc = tkl_script_open(client, "take.lua", tkl_str(source), NULL, &take);
 *     if (rc == TKL_OK)
 *         rc = tkl_script_run(take, &key, 1, &number, 1, NULL, &left);
 *     if (rc == TKL_OK)
 *         printf("%lld left\n", (long long)tkl_reply_int(left));
 *     tkl_reply_free(left);
 *     tkl_script_close(take);
 *
 * The script becomes a function of the server, named after a hash of its text, and is loaded where
 * it is missing: a call is one round trip. Errors name the script and the line.
 *
 * Threads: a script may be used by several threads. fork(): a child may go on using it. Callbacks:
 * none. Keys: those of the script. The function stays on the server, without being a key:
 * `tackle server functions --remove-old` removes it, and the next call loads it again.
 */
#ifndef TACKLE_SCRIPT_H
#define TACKLE_SCRIPT_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_script tkl_script;

#define TKL_SCRIPT_SOURCE_MAX 262144 /* bytes of a script */
#define TKL_SCRIPT_KEYS_MAX   1000   /* keys of one call */
#define TKL_SCRIPT_ARGS_MAX   100000 /* arguments of one call */

typedef struct tkl_script_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    bool reads_only;    /* the script does not write: it runs on full servers too, and the server
                        refuses its writes */
    bool frees;         /* the script may run on a full server although it writes: it makes room */
    TKL_RESERVED(8);
} tkl_script_options;

/* No I/O: an error in the Lua text is reported by the first run. `name`: what errors call the
 * script, 1 to 100 bytes, such as the name of its file. Both texts are copied. `options` may be
 * NULL. */
TKL_API int tkl_script_open(tkl_client *client, const char *name, tkl_bytes source,
                            const tkl_script_options *options, tkl_script **script)
    TKL_NONNULL(1, 2, 5) TKL_CHECK;
/* NULL is fine. */
TKL_API void tkl_script_close(tkl_script *script);

/* Runs the script with these KEYS and ARGV; both arrays may be NULL when they are empty. *reply is
 * what it returns; `reply` may be NULL. In a cluster all keys must be in one slot
 * (TKL_ECROSSSLOT). Without `retry_safe` in the options, a call whose reply was lost is not
 * repeated (TKL_EUNKNOWN). */
TKL_API int tkl_script_run(tkl_script *script, const tkl_bytes *keys, size_t nkeys,
                           const tkl_bytes *args, size_t nargs, const tkl_call_options *options,
                           tkl_reply **reply) TKL_NONNULL(1) TKL_CHECK;

/* Adds a call of the script to a pipeline of the same client, beside plain commands. The keys and
 * arguments are copied; close the script after the run. Not in a transaction (TKL_EINVAL): a script
 * is one by itself. */
TKL_API int tkl_pipeline_add_script(tkl_pipeline *pipeline, tkl_script *script,
                                    const tkl_bytes *keys, size_t nkeys, const tkl_bytes *args,
                                    size_t nargs) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
