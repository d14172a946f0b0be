/* SPDX-License-Identifier: MIT
 *
 * Requests to a channel: scripts, and commands on chunks followed by a script.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/resp.h"
#include "files/files.h"

/* The longest pause between two attempts to reach a server that is down. */
#define PAUSE_MAX_US 250000

/* ---- Keys ---------------------------------------------------------------- */

/* Room for ":file:", a token, and ":at" or ":" and a number. */
#define SUFFIX_SIZE (6 + TKL__FILES_TOKEN + 24)

static tkl_bytes base_of(const tkl_files *files)
{
    return files->keys.items[TKL__FILES_STATE];
}

static void add_key(tkl__files_request *request, const char *suffix)
{
    tkl_bytes base = base_of(request->files);
    size_t len = strlen(suffix);
    char *key = tkl__args_room(&request->keys, base.len + len);
    if (!key)
        return;
    memcpy(key, base.data, base.len);
    memcpy(key + base.len, suffix, len);
}

void tkl__files_request_init(tkl__files_request *request, tkl_files *files)
{
    request->files = files;
    tkl__args_init(&request->keys);
    tkl__args_init(&request->args);
    for (size_t i = 0; i < files->keys.count; i++)
        tkl__args_bytes(&request->keys, files->keys.items[i]);
}

void tkl__files_request_free(tkl__files_request *request)
{
    tkl__args_free(&request->keys);
    tkl__args_free(&request->args);
}

void tkl__files_request_add_record(tkl__files_request *request, const char *token)
{
    char suffix[SUFFIX_SIZE];
    snprintf(suffix, sizeof suffix, ":file:%s", token);
    add_key(request, suffix);
}

void tkl__files_request_add_file(tkl__files_request *request, const char *token)
{
    char suffix[SUFFIX_SIZE];
    tkl__files_request_add_record(request, token);
    snprintf(suffix, sizeof suffix, ":file:%s:at", token);
    add_key(request, suffix);
}

void tkl__files_request_add_sent(tkl__files_request *request, const char *call)
{
    char suffix[SUFFIX_SIZE];
    snprintf(suffix, sizeof suffix, ":sent:%s", call);
    add_key(request, suffix);
}

void tkl__files_request_add_over(tkl__files_request *request, const char *call)
{
    char suffix[SUFFIX_SIZE];
    snprintf(suffix, sizeof suffix, ":over:%s", call);
    add_key(request, suffix);
}

void tkl__files_request_add_files(tkl__files_request *request, const char *const *tokens,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tkl__files_request_add_file(request, tokens[i]);
        tkl__args_str(&request->args, tokens[i]);
    }
}

static void chunk_suffix(char suffix[SUFFIX_SIZE], const char *token, int64_t number)
{
    snprintf(suffix, SUFFIX_SIZE, ":file:%s:%" PRId64, token, number);
}

void tkl__files_request_add_chunks(tkl__files_request *request, const char *token, int64_t from,
                                   int64_t to)
{
    char suffix[SUFFIX_SIZE];
    for (int64_t number = from; number < to; number++) {
        chunk_suffix(suffix, token, number);
        add_key(request, suffix);
    }
}

/* ---- Waiting for a server that is down ----------------------------------- */

tkl_files tkl__files_with_patience(const tkl_files *files, int64_t patience_ms)
{
    tkl_files copy = *files;
    copy.patience_ms = patience_ms;
    return copy;
}

static int64_t patient_until(const tkl_files *files)
{
    return files->patience_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(files->patience_ms);
}

/* Whether to try again. Pauses first; if the client is interrupted, *rc becomes that error.
 * *doubted: the server may have executed one of the attempts. */
static bool try_again(const tkl_files *files, int *rc, bool *doubted, int attempt, int64_t until)
{
    *doubted |= tkl_is_unknown(*rc);
    bool again = tkl__may_pass(*rc) && files->client->reached && tkl__left(until) > 0;
    int slept = again ? tkl__sleep(files->client, tkl__now() + tkl__backoff(attempt, PAUSE_MAX_US))
                      : TKL_OK;
    if (slept != TKL_OK)
        *rc = slept;
    else if (!again && *doubted)
        *rc = tkl__in_doubt(*rc);
    return again && slept == TKL_OK;
}

/* Begins a request. A request of a send or receive call, which is repeated, ends when the client is
 * interrupted. */
static void begin_request(const tkl_files *files)
{
    if (files->patience_ms != 0)
        tkl__begin_request(files->client);
}

static int64_t deadline_of(const tkl_files *files)
{
    return tkl__deadline(files->client, files->rules.timeout_ms);
}

/* ---- Scripts ------------------------------------------------------------- */

int tkl__files_request_plain(tkl__files_request *request, const tkl__script *script,
                             tkl_reply **reply)
{
    tkl_files *files = request->files;
    const tkl__keys keys = {request->keys.items, request->keys.count};
    int rc;
    bool doubted = false;
    int64_t until = patient_until(files);
    *reply = NULL;
    if (request->keys.failed)
        return tkl__nomem();
    for (int attempt = 0;; attempt++) {
        begin_request(files);
        rc = tkl__eval(files->client, script, &keys, &request->args, deadline_of(files), true,
                       reply);
        rc = tkl__end_request(files->client, rc);
        if (!try_again(files, &rc, &doubted, attempt, until))
            return rc;
    }
}

int tkl__files_request_for(tkl_files *files, const tkl__script *script, tkl_bytes receiver,
                           const char *const *tokens, size_t count, tkl_reply **reply)
{
    tkl__files_request request;
    tkl__files_request_init(&request, files);
    tkl__args_bytes(&request.args, receiver);
    tkl__files_request_add_files(&request, tokens, count);
    int rc = tkl__files_request_plain(&request, script, reply);
    tkl__files_request_free(&request);
    return rc;
}

static int code_of(const tkl_reply *reply)
{
    const tkl_reply *first = tkl_reply_at(reply, 0);
    return tkl__no_or_ok((int)tkl_reply_int(first ? first : reply));
}

int tkl__files_request_run(tkl__files_request *request, const tkl__script *script,
                           tkl_reply **reply)
{
    int rc = tkl__files_request_plain(request, script, reply);
    return rc == TKL_OK ? code_of(*reply) : rc;
}

/* ---- Chunks, and a script behind them ------------------------------------ */

static void chunk_key(tkl__buf *key, const tkl_files *files, const char *token, int64_t number)
{
    char suffix[SUFFIX_SIZE];
    tkl_bytes base = base_of(files);
    chunk_suffix(suffix, token, number);
    tkl__buf_init(key);
    tkl__buf_add(key, base.data, base.len);
    tkl__buf_addz(key, suffix);
}

void tkl__files_batch_get(tkl__batch *batch, const tkl_files *files, const char *token,
                          int64_t number)
{
    tkl__buf key;
    chunk_key(&key, files, token, number);
    TKL__BATCH_WORDS(batch, tkl_str("GET"), {key.data, key.len});
    tkl__batch_fail(batch, key.failed ? tkl__nomem() : TKL_OK);
    tkl__buf_free(&key);
}

void tkl__files_batch_set(tkl__batch *batch, const tkl_files *files, const char *token,
                          int64_t number, tkl_bytes data, int64_t ttl_ms)
{
    tkl__buf key;
    char ttl[24];
    snprintf(ttl, sizeof ttl, "%" PRId64, ttl_ms);
    chunk_key(&key, files, token, number);
    TKL__BATCH_WORDS(batch, tkl_str("SET"), {key.data, key.len}, data, tkl_str("PX"), tkl_str(ttl));
    tkl__batch_fail(batch, key.failed ? tkl__nomem() : TKL_OK);
    tkl__buf_free(&key);
}

int tkl__files_batch_run(tkl__batch *batch, tkl__files_request *request, const tkl__script *script)
{
    tkl_files *files = request->files;
    bool doubted = false;
    int64_t until = patient_until(files);
    tkl__batch_fail(batch, request->keys.failed ? tkl__nomem() : TKL_OK);
    tkl__batch_eval(batch, script, &(tkl__keys){request->keys.items, request->keys.count},
                    &request->args, true);
    for (int attempt = 0;; attempt++) {
        begin_request(files);
        int rc = tkl__end_request(files->client, tkl__batch_run(batch, deadline_of(files)));
        if (rc == TKL_OK)
            return code_of(tkl__batch_reply(batch, batch->count - 1));
        if (!try_again(files, &rc, &doubted, attempt, until))
            return rc;
    }
}

int64_t tkl__files_number(const tkl_reply *reply, int64_t most)
{
    double number = tkl_reply_double(reply);
    if (!(number > 0))
        return 0;
    return number < (double)most ? (int64_t)number : most;
}

int64_t tkl__files_chunks(const tkl_reply *reply)
{
    return tkl__files_number(reply, TKL__FILES_CHUNKS_MAX);
}

void tkl__files_add_time(tkl__args *args, const struct timespec *time)
{
    char text[40];
    int len = snprintf(text, sizeof text, "%lld.%09ld", (long long)time->tv_sec, time->tv_nsec);
    char *room = tkl__args_room(args, (size_t)len);
    if (room)
        memcpy(room, text, (size_t)len);
}

bool tkl__files_read_time(const char *text, struct timespec *time)
{
    char *end;
    *time = (struct timespec){.tv_sec = (time_t)strtoll(text, &end, 10)};
    if (end == text)
        return false;
    if (*end == '.')
        time->tv_nsec = strtol(end + 1, NULL, 10);
    return time->tv_nsec >= 0 && time->tv_nsec < 1000000000;
}
