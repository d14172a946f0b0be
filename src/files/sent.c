/* SPDX-License-Identifier: MIT
 *
 * What a call of tkl_files_send() has sent so far. The server remembers it, so that the same call,
 * made again after it was interrupted, sends the rest. It forgets it when the call is over.
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
#include "files/send.h"

#define RENEWALS_A_LEASE 3

/* ---- Fingerprints -------------------------------------------------------- */

static void add_text(tkl__files_hash *hash, tkl_bytes text)
{
    tkl__files_hash_add(hash, &text.len, sizeof text.len);
    tkl__files_hash_add(hash, text.data, text.len);
}

/* The machine, a path on it, and the receivers. */
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

int tkl__files_sent_fingerprint(const tkl__files_sending *s, const tkl_files_source *source,
                                tkl_bytes name, const struct stat *st,
                                char fingerprint[TKL__FILES_SUM + 1])
{
    *fingerprint = '\0';
    if (!source->path || s->files->rules.resume_ms == 0)
        return TKL_OK;
    tkl__files_hash *hash = tkl__files_hash_new();
    if (!hash)
        return tkl__nomem();
    const int64_t numbers[] = {(int64_t)st->st_dev, (int64_t)st->st_ino, st->st_size,
                               st->st_mtim.tv_sec, (int64_t)st->st_mtim.tv_nsec};
    add_text(hash, name);
    tkl__files_hash_add(hash, numbers, sizeof numbers);
    add_place(hash, s, source->path);
    memcpy(fingerprint, tkl__files_hash_sum(hash).text, TKL__FILES_SUM + 1);
    tkl__files_hash_free(hash);
    return TKL_OK;
}

/* ---- Calls --------------------------------------------------------------- */

/* One file without a wait is either sent or under way. */
static bool is_worth_it(const tkl__files_sending *s, const tkl_files_source *sources, size_t count)
{
    if (s->files->rules.resume_ms == 0 || count == 0 || (count == 1 && s->options.wait_ms == 0))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!sources[i].path)
            return false;
    return true;
}

int tkl__files_sent_begin(tkl__files_sending *s, const tkl_files_source *sources, size_t count)
{
    if (!is_worth_it(s, sources, count))
        return TKL_OK;
    tkl__files_hash *hash = tkl__files_hash_new();
    if (!hash)
        return tkl__nomem();
    add_place(hash, s, sources[0].path);
    memcpy(s->call, tkl__files_hash_sum(hash).text, sizeof s->call);
    tkl__files_hash_free(hash);
    return TKL_OK;
}

static int64_t kept_ms(const tkl__files_sending *s)
{
    return s->files->rules.lease_ms + s->files->rules.resume_ms;
}

void tkl__files_sent_kept(const tkl__files_sending *s, tkl__args *args)
{
    if (*s->call)
        tkl__args_int(args, kept_ms(s));
    else
        tkl__args_str(args, "");
}

/* One command on the key. */
static void command(tkl__files_sending *s, const char *verb, int64_t number)
{
    tkl__files_ask ask;
    tkl__args words;
    tkl_reply *reply = NULL;
    tkl__files_ask_init(&ask, s->files);
    tkl__files_ask_sent(&ask, s->call);
    tkl__args_init(&words);
    tkl__args_str(&words, verb);
    if (ask.keys.count > 0)
        tkl__args_bytes(&words, ask.keys.items[0]);
    if (number > 0)
        tkl__args_int(&words, number);
    if (!ask.keys.failed)
        (void)!tkl__plain(s->files->client, &words,
                          tkl__deadline(s->files->client, s->files->rules.timeout_ms), true,
                          &reply);
    tkl_reply_free(reply);
    tkl__args_free(&words);
    tkl__files_ask_free(&ask);
}

int64_t tkl__files_sent_due(const tkl__files_sending *s)
{
    return *s->call ? s->call_next : TKL__FOREVER;
}

void tkl__files_sent_keep(tkl__files_sending *s)
{
    if (tkl__now() < tkl__files_sent_due(s))
        return;
    s->call_next = tkl__now() + s->files->rules.lease_ms * 1000 / RENEWALS_A_LEASE;
    command(s, "PEXPIRE", kept_ms(s));
}

void tkl__files_sent_forget(tkl__files_sending *s, int rc)
{
    char message[256];
    if (!*s->call)
        return;
    snprintf(message, sizeof message, "%s", tkl_errmsg());
    command(s, "UNLINK", 0);
    if (rc != TKL_OK)
        (void)!tkl__fail(rc, "%s", message);
}
