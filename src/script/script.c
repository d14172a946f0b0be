/* SPDX-License-Identifier: MIT
 *
 * Scripts of users. A script becomes a library of one function, made here as tools/embed makes the
 * libraries of tackle: the same two lines before its body, so that a full server can run it from
 * its text, and a table that maps its lines to those of the source. Loading, retries and errors are
 * those of every function (core/library.c).
 */
#include <tackle/script.h>
#include <tackle/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/error.h"
#include "core/options.h"
#include "core/resp.h"
#include "core/script.h"
#include "pipeline/pipeline.h"

#define NAME_MAX_BYTES 100
#define FIRST_LINE     4 /* where the source begins in the library */

struct tkl_script {
    tkl_client *client;
    int64_t timeout_ms; /* 0: the client's */
    char *name;
    tkl__buf source; /* text of the library */
    char library_name[64], function_name[64];
    tkl__origin origins[3];
    tkl__library library;
    tkl__script script;
};

/* ---- Making a library ---------------------------------------------------- */

/* Scripts that differ in their text or their flags have different names. */
static void make_names(tkl_script *s, tkl_bytes source, const char *flags)
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t hash = {0};
    if (state && XXH3_128bits_reset(state) == XXH_OK) {
        XXH3_128bits_update(state, flags, strlen(flags) + 1);
        XXH3_128bits_update(state, source.data, source.len);
        hash = XXH3_128bits_digest(state);
    }
    XXH3_freeState(state);
    char hex[33];
    snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    snprintf(s->library_name, sizeof s->library_name, "tackle_script_%.22s_%s", hex, hex + 22);
    snprintf(s->function_name, sizeof s->function_name, "tackle_script_run_%.22s_%s", hex,
             hex + 22);
}

static void make_library(tkl_script *s, tkl_bytes source, const tkl_script_options *options)
{
    const char *flags = options->reads_only ? "'no-writes'" : options->frees ? "'allow-oom'" : "";
    make_names(s, source, flags);
    tkl__buf_init(&s->source);
    tkl__buf_addf(&s->source,
                  "#!lua name=%s\n"
                  "local register = redis.register_function -- tackle " TKL_VERSION "\n"
                  "register{function_name='%s', flags={%s}, callback=function(KEYS, ARGV)\n",
                  s->library_name, s->function_name, flags);
    tkl__buf_add(&s->source, source.data, source.len);
    tkl__buf_addz(&s->source, "\nend}\n");
    s->origins[0] = (tkl__origin){1, s->name, 1};
    s->origins[1] = (tkl__origin){FIRST_LINE, s->name, 1};
    s->library = (tkl__library){.name = s->library_name,
                                .source = s->source.data,
                                .len = s->source.len,
                                .origins = s->origins};
    s->script = (tkl__script){.name = s->name,
                              .function = s->function_name,
                              .library = &s->library,
                              .open_keys = true,
                              .open_args = true,
                              .no_writes = options->reads_only,
                              .allow_oom = options->frees};
}

static int check_script(const char *name, tkl_bytes source, const tkl_script_options *options)
{
    size_t len = strlen(name);
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX});
    if (rc == TKL_OK && (len == 0 || len > NAME_MAX_BYTES))
        rc = tkl__fail(TKL_EINVAL, "the name of a script has 1 to %d bytes", NAME_MAX_BYTES);
    if (rc == TKL_OK && source.len == 0)
        rc = tkl__fail(TKL_EINVAL, "the script %s is empty", name);
    if (rc == TKL_OK && source.len > TKL_SCRIPT_SOURCE_MAX)
        rc = tkl__fail(TKL_EINVAL, "the script %s has more than %d bytes", name,
                       TKL_SCRIPT_SOURCE_MAX);
    if (rc == TKL_OK && options->reads_only && options->frees)
        rc = tkl__fail(TKL_EINVAL, "a script that only reads frees nothing");
    return rc;
}

int tkl_script_open(tkl_client *client, const char *name, tkl_bytes source,
                    const tkl_script_options *options, tkl_script **script)
{
    static const tkl_script_options defaults;
    *script = NULL;
    if (!options)
        options = &defaults;
    int rc = check_script(name, source, options);
    if (rc != TKL_OK)
        return rc;
    tkl_script *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->client = client;
    made->timeout_ms = options->timeout_ms;
    made->name = strdup(name);
    make_library(made, source, options);
    if (!made->name || made->source.failed) {
        tkl_script_close(made);
        return tkl__nomem();
    }
    *script = made;
    return TKL_OK;
}

void tkl_script_close(tkl_script *script)
{
    if (!script)
        return;
    tkl__buf_free(&script->source);
    free(script->name);
    free(script);
}

/* ---- Calling ------------------------------------------------------------- */

static int check_call(const tkl_script *s, const tkl_bytes *keys, size_t nkeys, size_t nargs)
{
    if (nkeys > TKL_SCRIPT_KEYS_MAX || nargs > TKL_SCRIPT_ARGS_MAX)
        return tkl__fail(TKL_EINVAL, "more than %d keys or %d arguments", TKL_SCRIPT_KEYS_MAX,
                         TKL_SCRIPT_ARGS_MAX);
    for (size_t i = 1; s->client->route->cluster && i < nkeys; i++)
        if (tkl__slot_of(keys[i]) != tkl__slot_of(keys[0]))
            return tkl__fail(TKL_ECROSSSLOT,
                             "the keys of a call must be in one slot: give them one {hash tag}");
    return TKL_OK;
}

int tkl_script_run(tkl_script *script, const tkl_bytes *keys, size_t nkeys, const tkl_bytes *args,
                   size_t nargs, const tkl_call_options *options, tkl_reply **reply)
{
    tkl_reply *own = NULL;
    if (reply)
        *reply = NULL;
    int rc = tkl__call_check(options);
    if (rc == TKL_OK)
        rc = check_call(script, keys, nkeys, nargs);
    if (rc != TKL_OK)
        return rc;
    int64_t timeout_ms =
        options && options->timeout_ms > 0 ? options->timeout_ms : script->timeout_ms;
    rc = tkl__run(script->client,
                  &(tkl__invocation){.script = &script->script,
                                     .keys = keys,
                                     .nkeys = nkeys,
                                     .args = args,
                                     .nargs = nargs,
                                     .retry_safe = options && options->retry_safe},
                  tkl__deadline(script->client, timeout_ms), reply ? reply : &own);
    tkl_reply_free(own);
    return rc;
}

int tkl_pipeline_add_script(tkl_pipeline *pipeline, tkl_script *script, const tkl_bytes *keys,
                            size_t nkeys, const tkl_bytes *args, size_t nargs)
{
    int rc = check_call(script, keys, nkeys, nargs);
    if (rc != TKL_OK)
        return rc;
    return tkl__pipeline_call(
        pipeline,
        &(tkl__invocation){
            .script = &script->script, .keys = keys, .nkeys = nkeys, .args = args, .nargs = nargs});
}
