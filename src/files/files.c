/* SPDX-License-Identifier: MIT
 *
 * Files sent through the server to named receivers.
 *
 * A file travels in chunks, each a key of its own: SET by the sender, GET by every receiver. These
 * are plain commands, so the bytes pass through no script. The scripts keep the account: how many
 * chunks a file has, how many each receiver has, what the channel holds. A chunk is removed when
 * the slowest receiver of its file has it.
 *
 * A sender writes no chunk without a reservation. One round trip writes up to 32 chunks and commits
 * them; its reply reserves the next ones, as many as the limit of the channel allows. So the limit
 * holds over all senders, and a sender that is refused waits for a message. One chunk is always
 * allowed when nothing else is held: a file larger than the limit passes, and a small limit blocks
 * no sender. A chunk is at most a quarter of the limit.
 *
 * A receiver asks what has changed since it last asked: files are kept in the order of their last
 * change. It receives all files at once: if it waited for one of them, the chunks of the others
 * could fill the channel, and all processes would wait for ever. Complete files are put in place in
 * the order in which they became complete, so the files of one sender arrive in order. One round
 * trip gets up to 12 chunks and acknowledges the chunks of the previous one, which are written by
 * then. A receiver continues at the end of its partial file, whatever position the server has
 * noted. A server restored with older data has an older position: the receiver acknowledges its
 * chunks again each time the server has more of them, until both agree. Otherwise the server would
 * keep the chunks, and the sender would wait for room for ever.
 *
 * Files of up to 16 KB travel in their record, many in one round trip, both ways.
 *
 * A sender or receiver identifies itself by a token, and the latest process takes over: a process
 * that was killed can be started again at once, and a process that was believed dead is refused.
 * The token begins with a number that the server gives out, so late requests of killed processes
 * are refused, too.
 *
 * The keys of a channel, all in one slot. F is "file:" and the token of the file.
 *
 *   ns:files:{name}            state, a hash:
 *                                epoch    changes when the server forgot the channel
 *                                change   number of the last change of any file
 *                                turn     number of the last process that began to send or receive
 *                                mended   how far `files` is made again from `bytes`, when it was
 *                                         evicted: a cursor of HSCAN
 *                                held     bytes of all files: chunks written or reserved, and 1 KB
 *                                         for each file
 *                                limit    how many there may be
 *   ns:files:{name}:files      zset of all files by the number of their last change
 *   ns:files:{name}:ends       zset of all files by when they may be given up; "lease:" and a file
 *                              by the end of the lease of its sender, if that has reserved chunks
 *   ns:files:{name}:bytes      hash: what each file has of `held`. The account stays right when the
 *                              record of a file is evicted.
 *   ns:files:{name}:resume     hash: fingerprint of a source to the file that is being made of it
 *   ns:files:{name}:sent:C     hash: fingerprint of a source that the call C has sent, to its file.
 *                              C is made of the first source and the receivers. A waiting call
 *                              finds files here that all receivers have, but not files that the
 *                              server has lost. Also `begun`, and `failed`: the report of the
 *                              first receiver that could not use a file.
 *   ns:files:{name}:over:C     the same when the call is over, for 10 s
 *   ns:files:{name}:receivers  zset of all receivers by the end of their lease
 *   ns:files:{name}:holders    hash: receiver to the token of the process that receives
 *   ns:files:{name}:trouble    stream of what went wrong, the last 100
 *   ns:files:{name}:F          record of a file, a hash:
 *                                name, size, mtime, mode   of the source; size '' is not known yet;
 *                                          `mode` says more, see tree.h: the type of a member of a
 *                                          directory, and whether its sender will send no more
 *                                state     open, complete, removing
 *                                chunk     bytes of a chunk; 0: the bytes are in `data`
 *                                freed, sent, reserved     numbers of chunks: chunks before `freed`
 *                                          are gone, chunks before `sent` can be read, chunks
 *                                          before `reserved` may be written
 *                                prefix    checksum of all chunks sent; in the end, of the file
 *                                holder    token of the sender
 *                                lease, resume, ttl        ms
 *                                doubt, lease_doubt        set when its time, or the lease of its
 *                                          sender, seems to be over: the clock may have jumped
 *                                source    fingerprint of the source, in `resume`
 *                                call      C of the call that sends it, or ''
 *                                data      the bytes of a small file
 *   ns:files:{name}:F:at       zset of receivers that lack something, by the number of chunks they
 *                              have. A receiver that has the whole file is removed from it; with
 *                              the last receiver the file is removed.
 *   ns:files:{name}:F:N        chunk number N, a string
 *
 * ns:files:{name}:room is not a key but a pub/sub channel: there is more room, or a file is gone.
 * Receivers that wait for files listen to the channel with the name of the state.
 *
 * A server may evict each of these keys alone. When the record of a file is gone, or the positions
 * of its receivers, every receiver that may have lacked the file reports it; `files` and `bytes`
 * list it until then.
 *
 * The last receiver of a chunk removes it with its acknowledgement, the last receiver of a file
 * removes the file. A file that is not complete may be given up after the lease of its sender and
 * the time for resuming; a complete file after its time to live. Chunks that a sender has reserved
 * are taken back after its lease. The memory of a call ends with the call, or when the call was
 * interrupted for too long. Every reply names a file whose time is over, if there is one, and the
 * client that gets the reply removes it, in steps. All keys of a file expire by themselves a day
 * after that, all keys of a channel 30 days later.
 */
#include "files/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/number.h"
#include "core/options.h"
#include "files/scripts.h"

#define RECEIVER_MAX 255

#define DEFAULT_TTL_MS    (INT64_C(7) * 24 * 3600 * 1000)
#define DEFAULT_LEASE_MS  10000
#define DEFAULT_RESUME_MS 600000
#define LEASE_MIN_MS      100
#define LEASE_MAX_MS      (INT64_C(24) * 3600 * 1000)
#define LIMIT_MAX         (INT64_C(1) << 50)

/* ---- Handles ------------------------------------------------------------- */

static int check_options(const tkl_files_options *o)
{
    int rc = tkl__check_number("timeout_ms", o->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("ttl_ms", o->ttl_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK && o->lease_ms != 0)
        rc = tkl__check_number("lease_ms", o->lease_ms, LEASE_MIN_MS, LEASE_MAX_MS);
    if (rc == TKL_OK)
        rc = tkl__check_number("resume_ms", o->resume_ms, TKL_NONE, TKL__MS_MAX);
    if (rc == TKL_OK && o->max_bytes != 0)
        rc = tkl__check_number("max_bytes", o->max_bytes, TKL_FILES_LIMIT_MIN, LIMIT_MAX);
    return rc;
}

static void set_rules(tkl_files *files, const tkl_files_options *options)
{
    if (options)
        files->rules = *options;
    files->rules.ttl_ms = tkl__or_default(files->rules.ttl_ms, DEFAULT_TTL_MS);
    files->rules.lease_ms = tkl__or_default(files->rules.lease_ms, DEFAULT_LEASE_MS);
    files->rules.resume_ms = tkl__or_default(files->rules.resume_ms, DEFAULT_RESUME_MS);
}

int tkl_files_open(tkl_client *client, tkl_bytes channel, const tkl_files_options *options,
                   tkl_files **files)
{
    static const char *const parts[] = {"",          "files",   "ends",    "bytes", "resume",
                                        "receivers", "holders", "trouble", "room"};
    *files = NULL;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_files *f = calloc(1, sizeof *f);
    if (!f)
        return tkl__nomem();
    f->client = client;
    set_rules(f, options);
    rc = tkl__keys_make(client, "files", channel, parts, TKL__FILES_PARTS, &f->keys);
    if (rc == TKL_OK)
        *files = f;
    else
        free(f);
    return rc;
}

void tkl_files_close(tkl_files *files)
{
    if (files)
        tkl__keys_free(&files->keys);
    free(files);
}

int tkl__files_check_receiver(tkl_bytes name)
{
    return name.len >= 1 && name.len <= RECEIVER_MAX
               ? TKL_OK
               : tkl__fail(TKL_EINVAL, "the name of a receiver has 1 to %d bytes", RECEIVER_MAX);
}

/* A script that writes or reads this many positions of receivers takes two or three
 * milliseconds. */
#define PLACES_MAX 2000

size_t tkl__files_batch(size_t receivers)
{
    size_t most = receivers > 0 ? PLACES_MAX / receivers : TKL__FILES_BATCH;
    return most < 1 ? 1 : most < TKL__FILES_BATCH ? most : TKL__FILES_BATCH;
}

/* ---- Tokens -------------------------------------------------------------- */

tkl__files_token tkl__files_new_token(void)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[TKL__FILES_TOKEN / 2];
    tkl__files_token token = {{0}};
    tkl__random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++) {
        token.text[2 * i] = digits[random[i] >> 4];
        token.text[2 * i + 1] = digits[random[i] & 15];
    }
    return token;
}

/* The first 16 digits are the turn of the process, the others are random. */
int tkl__files_new_holder(tkl_files *files, tkl__files_token *holder)
{
    tkl__files_request request;
    tkl_reply *reply;
    tkl__files_token random = tkl__files_new_token();
    tkl__files_request_init(&request, files);
    int rc = tkl__files_request_plain(&request, &tkl__lua_files_turn, &reply);
    snprintf(holder->text, sizeof holder->text, "%016" PRIx64 "%.16s",
             (uint64_t)tkl_reply_int(reply), random.text);
    tkl_reply_free(reply);
    tkl__files_request_free(&request);
    return rc;
}

/* A token becomes part of keys and file names, so only hex digits are accepted. */
bool tkl__files_is_token(const char *text)
{
    return strlen(text) == TKL__FILES_TOKEN && strspn(text, "0123456789abcdef") == TKL__FILES_TOKEN;
}

bool tkl__files_read_token(const tkl_reply *reply, tkl__files_token *token)
{
    tkl_bytes bytes = tkl_reply_bytes(reply);
    if (bytes.len != TKL__FILES_TOKEN)
        return false;
    memcpy(token->text, bytes.data, bytes.len);
    token->text[bytes.len] = '\0';
    return tkl__files_is_token(token->text);
}

/* ---- Receivers ----------------------------------------------------------- */

typedef struct change {
    tkl_bytes receiver;
    int64_t count;
    tkl__buf lacking; /* tokens of files that the receiver lacks: the first NAMED of them */
} change;

/* A sender that waits finds its files among the tokens that are noted: this many of them. */
#define NAMED 256

/* Counts and notes the files that the receiver lacks. */
static int find_lacking(tkl_files *files, const char *const *tokens, size_t count, void *arg)
{
    change *c = arg;
    tkl_reply *reply;
    int rc =
        tkl__files_request_for(files, &tkl__lua_files_look, c->receiver, tokens, count, &reply);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(reply) && i < count; i++)
        if (!tkl_reply_is_nil(tkl_reply_at(reply, i)) && c->count++ < NAMED)
            tkl__buf_add(&c->lacking, tokens[i], TKL__FILES_TOKEN);
    tkl_reply_free(reply);
    return rc == TKL_OK && c->lacking.failed ? tkl__nomem() : rc;
}

static int drop_from(tkl_files *files, const char *const *tokens, size_t count, void *arg)
{
    const change *c = arg;
    int rc = tkl__files_done(files, c->receiver, "", "", "", tokens, count);
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__files_free_chunks(files, tokens[i]);
    return rc;
}

/* Makes the channel forget the receiver, and notes the files that it lacks. This comes before they
 * are removed, which wakes the senders that wait for them. */
static int forget_receiver(tkl_files *files, const change *c)
{
    char reason[64];
    tkl__files_request request;
    tkl_reply *reply;
    snprintf(reason, sizeof reason, "dropped; it lacked %" PRId64 " file%s", c->count,
             c->count == 1 ? "" : "s");
    tkl__files_request_init(&request, files);
    tkl__args_bytes(&request.args, c->receiver);
    tkl__args_bytes(&request.args, (tkl_bytes){c->lacking.data, c->lacking.len});
    tkl__args_str(&request.args, reason);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_drop_receiver, &reply);
    tkl_reply_free(reply);
    tkl__files_request_free(&request);
    return rc == TKL_NOTFOUND ? tkl__fail(rc, "the channel knows no such receiver") : rc;
}

int tkl_files_drop_receiver(tkl_files *files, tkl_bytes receiver, int64_t *count)
{
    change c = {.receiver = receiver};
    if (count)
        *count = 0;
    int rc = tkl__files_check_receiver(receiver);
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&c.lacking);
    rc = tkl__files_walk(files, find_lacking, &c);
    if (rc == TKL_OK)
        rc = forget_receiver(files, &c);
    if (rc == TKL_OK)
        rc = tkl__files_walk(files, drop_from, &c);
    tkl__buf_free(&c.lacking);
    if (count)
        *count = c.count;
    return rc;
}

static int add_to(tkl_files *files, const char *const *tokens, size_t count, void *arg)
{
    change *c = arg;
    tkl_reply *reply;
    int rc = tkl__files_request_for(files, &tkl__lua_files_add_receiver, c->receiver, tokens, count,
                                    &reply);
    tkl__add(&c->count, tkl_reply_int(reply));
    tkl_reply_free(reply);
    return rc;
}

int tkl_files_add_receiver(tkl_files *files, tkl_bytes receiver, int64_t *count)
{
    change c = {.receiver = receiver};
    int rc = tkl__files_check_receiver(receiver);
    if (rc == TKL_OK)
        rc = tkl__files_walk(files, add_to, &c);
    if (count)
        *count = c.count;
    return rc;
}

int tkl_files_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "files", "", "hash", names);
}
