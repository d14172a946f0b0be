/* SPDX-License-Identifier: MIT
 *
 * The server remembers what a call of tkl_files_send() has sent so far. If the call is interrupted
 * and made again, it sends only the rest. The server forgets it when the call is over.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/plain.h"
#include "files/scripts.h"
#include "files/send.h"

#define RENEWALS_A_LEASE 3
/* How long the server remembers a call that cannot be resumed, in addition to its lease. */
#define NOT_RESUMED_MS 600000
/* How long the server remembers that a call is over: another process may wait in the same call. */
#define OVER_MS 10000

/* ---- Fingerprints -------------------------------------------------------- */

static void add_text(tkl__files_hash *hash, tkl_bytes text)
{
    tkl__files_hash_add(hash, &text.len, sizeof text.len);
    tkl__files_hash_add(hash, text.data, text.len);
}

/* Hashes the machine, a path on it, and the receivers. */
static void add_place(tkl__files_hash *hash, const tkl__files_sending *s, const char *path)
{
    char host[256] = "", real[PATH_MAX] = "";
    gethostname(host, sizeof host - 1);
    add_text(hash, tkl_str(host));
    add_text(hash, tkl_str(realpath(path, real) ? real : path));
    tkl__files_hash_add(hash, &s->files->rules.ttl_ms, sizeof s->files->rules.ttl_ms);
    for (size_t i = 0; i < s->to_count; i++)
        add_text(hash, s->to[i]);
}

int tkl__files_sent_fingerprint(const tkl__files_sending *s, const tkl__files_item *item,
                                tkl_bytes name, const struct stat *st,
                                char fingerprint[TKL__FILES_SUM + 1])
{
    *fingerprint = '\0';
    if (!item->source.path || s->files->rules.resume_ms == 0)
        return TKL_OK;
    tkl__files_hash *hash = tkl__files_hash_new();
    if (!hash)
        return tkl__nomem();
    const int64_t numbers[] = {(int64_t)st->st_dev, (int64_t)st->st_ino, st->st_size,
                               st->st_mtim.tv_sec, (int64_t)st->st_mtim.tv_nsec};
    add_text(hash, name);
    tkl__files_hash_add(hash, numbers, sizeof numbers);
    add_place(hash, s, item->source.path);
    memcpy(fingerprint, tkl__files_hash_sum(hash).text, TKL__FILES_SUM + 1);
    tkl__files_hash_free(hash);
    return TKL_OK;
}

/* ---- Calls --------------------------------------------------------------- */

static bool is_resumable(const tkl__files_sending *s, const tkl__files_items *items)
{
    if (s->files->rules.resume_ms == 0)
        return false;
    for (size_t i = 0; i < items->count; i++)
        if (!items->items[i].source.path)
            return false;
    return true;
}

/* One file that is sent without waiting needs no memory: it is either sent or under way. A stream
 * may be so slow that the files before it are forgotten, so a stream is only remembered when it is
 * sent alone. */
int tkl__files_sent_begin(tkl__files_sending *s, const tkl__files_items *items, const char *first)
{
    size_t count = items->count;
    if (count == 0 || (count == 1 && s->options.wait_ms == 0))
        return TKL_OK;
    if (!is_resumable(s, items)) {
        if (s->options.wait_ms != 0 && (count == 1 || s->files->rules.resume_ms == 0))
            memcpy(s->call, tkl__files_new_token().text, sizeof s->call);
        return TKL_OK;
    }
    tkl__files_hash *hash = tkl__files_hash_new();
    if (!hash)
        return tkl__nomem();
    add_place(hash, s, first);
    memcpy(s->call, tkl__files_hash_sum(hash).text, sizeof s->call);
    tkl__files_hash_free(hash);
    return TKL_OK;
}

static int64_t deadline_of(const tkl__files_sending *s)
{
    return tkl__deadline(s->files->client, s->files->rules.timeout_ms);
}

/* Adds the keys that remember the call while it runs, and after it is over. */
static void add_call_keys(const tkl__files_sending *s, tkl__files_request *request)
{
    tkl__files_request_add_sent(request, s->call);
    tkl__files_request_add_over(request, s->call);
}

/* Runs a script, without waiting for a server that is down. */
static int run_once(tkl__files_sending *s, tkl__files_request *request, const tkl__script *script,
                    tkl_reply **reply)
{
    const tkl__keys keys = {request->keys.items, request->keys.count};
    tkl_reply *ignored = NULL;
    if (request->keys.failed)
        return tkl__nomem();
    int rc = tkl__eval(s->files->client, script, &keys, &request->args, deadline_of(s), true,
                       reply ? reply : &ignored);
    tkl_reply_free(ignored);
    return rc;
}

static int64_t kept_ms(const tkl__files_sending *s)
{
    const tkl_files_options *rules = &s->files->rules;
    return rules->lease_ms + (rules->resume_ms > 0 ? rules->resume_ms : NOT_RESUMED_MS);
}

void tkl__files_sent_kept(const tkl__files_sending *s, tkl__args *args)
{
    if (*s->call)
        tkl__args_int(args, kept_ms(s));
    else
        tkl__args_str(args, "");
}

int64_t tkl__files_sent_due(const tkl__files_sending *s)
{
    return *s->call ? s->call_next : TKL__FOREVER;
}

void tkl__files_sent_keep(tkl__files_sending *s)
{
    tkl__files_request request;
    tkl__args words;
    tkl_reply *reply = NULL;
    if (tkl__now() < tkl__files_sent_due(s))
        return;
    s->call_next = tkl__now() + s->files->rules.lease_ms * 1000 / RENEWALS_A_LEASE;
    tkl__files_request_init(&request, s->files);
    tkl__files_request_add_sent(&request, s->call);
    tkl__args_init(&words);
    tkl__args_str(&words, "PEXPIRE");
    tkl__args_bytes(&words, request.keys.items[request.keys.count - 1]);
    tkl__args_int(&words, kept_ms(s));
    if (!request.keys.failed)
        (void)!tkl__plain(s->files->client, &words, deadline_of(s), true, &reply);
    tkl_reply_free(reply);
    tkl__args_free(&words);
    tkl__files_request_free(&request);
}

void tkl__files_sent_forget(tkl__files_sending *s, int rc)
{
    tkl_error before;
    tkl__files_request request;
    if (!*s->call)
        return;
    tkl_error_last(rc, &before);
    tkl__files_request_init(&request, s->files);
    add_call_keys(s, &request);
    tkl__args_int(&request.args, OVER_MS);
    (void)!run_once(s, &request, &tkl__lua_files_over, NULL);
    tkl__files_request_free(&request);
    (void)!tkl__first_tell(&before);
}

/* ---- Files whose receivers are waited for -------------------------------- */

void tkl__files_sent_await(tkl__files_sending *s, const tkl__files_token *token,
                           const tkl__files_item *item, const char *fingerprint)
{
    if (s->options.wait_ms == 0)
        return;
    tkl__files_awaited *file = &s->awaited[s->awaited_count++];
    *file = (tkl__files_awaited){.token = *token, .item = item};
    if (*s->call)
        snprintf(file->field, sizeof file->field, "%s", *fingerprint ? fingerprint : token->text);
}

int tkl__files_sent_left(tkl__files_sending *s, const tkl__files_awaited *file)
{
    tkl__files_request request;
    tkl_reply *reply;
    tkl__files_request_init(&request, s->files);
    tkl__files_request_add_record(&request, file->token.text);
    add_call_keys(s, &request);
    tkl__args_str(&request.args, file->field);
    tkl__args_str(&request.args, file->token.text);
    tkl__args_int(&request.args, s->call_until);
    int rc = run_once(s, &request, &tkl__lua_files_left, &reply);
    tkl__files_request_free(&request);
    if (rc != TKL_OK)
        return rc;
    s->call_until = tkl_reply_int(tkl_reply_at(reply, 1));
    rc = tkl__no_or_ok((int)tkl_reply_int(tkl_reply_at(reply, 0)));
    tkl_reply_free(reply);
    return rc;
}

int tkl__files_sent_failed(tkl__files_sending *s)
{
    enum { SENT, OVER, KEYS };
    tkl__files_request request;
    tkl__batch batch;
    if (!*s->call)
        return TKL_OK;
    tkl__files_request_init(&request, s->files);
    add_call_keys(s, &request);
    tkl__batch_init(&batch, s->files->client);
    for (size_t i = 0; !request.keys.failed && i < KEYS; i++)
        TKL__BATCH_WORDS(&batch, tkl_str("HGET"), request.keys.items[request.keys.count - KEYS + i],
                         tkl_str("failed"));
    int rc = request.keys.failed ? tkl__nomem() : tkl__batch_run(&batch, deadline_of(s));
    for (size_t i = 0; rc == TKL_OK && i < KEYS; i++) {
        const char *why = tkl_reply_str(tkl__batch_reply(&batch, i));
        if (*why)
            rc = tkl__fail(TKL_DEAD, "%s", why);
    }
    tkl__batch_free(&batch);
    tkl__files_request_free(&request);
    return rc;
}
