/* SPDX-License-Identifier: MIT
 *
 * One file or stream, sent in chunks.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/reply.h"
#include "core/rounds.h"
#include "files/scripts.h"
#include "files/send.h"

/* Chunks expire this much later than their file. */
#define CHUNK_SLACK_MS   INT64_C(86400000)
#define RENEWALS_A_LEASE 3

/* ---- Reading ------------------------------------------------------------- */

bool tkl__files_outgoing_changed(int fd, const struct stat *before)
{
    struct stat now;
    return fstat(fd, &now) != 0 || now.st_size != before->st_size ||
           now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

static int64_t read_some(tkl__files_outgoing *o, char *to, size_t size)
{
    if (o->fd < 0)
        return o->item->source.read(to, size, o->item->source.arg);
    ssize_t got = pread(o->fd, to, size, o->bytes);
    return got < 0 && errno == EINTR ? read_some(o, to, size) : got;
}

/* Reads the next chunk into the buffer; it is shorter at the end of the file. */
static int read_chunk(tkl__files_outgoing *o, tkl_bytes *data)
{
    size_t len = 0;
    while (len < (size_t)o->chunk && !o->ended) {
        int64_t got = read_some(o, o->buffer + len, (size_t)o->chunk - len);
        if (got < 0)
            return tkl__fail_errno(TKL_EIO, "reading it");
        o->ended = got == 0 || (o->fd >= 0 && o->bytes + got >= o->at_start.st_size);
        o->bytes += got;
        len += (size_t)got;
    }
    tkl__files_hash_add(o->hash, o->buffer, len);
    *data = (tkl_bytes){o->buffer, len};
    return TKL_OK;
}

/* ---- Beginning ----------------------------------------------------------- */

static void add_optional(tkl__args *args, int64_t value, bool present)
{
    if (present)
        tkl__args_int(args, value);
    else
        tkl__args_str(args, "");
}

/* The elements of a reply of files/begin behind the code: of TKL_OK, TKL_EXISTS and TKL_FULL. */
enum { BEGIN_CHUNK = 1, BEGIN_GRANTED };
enum { BEGIN_TOKEN = 1, BEGIN_COMPLETE };
enum { BEGIN_OVERDUE = 1, BEGIN_NEXT };

static int request_begin(tkl__files_outgoing *o, tkl_reply **reply)
{
    const tkl_files_options *rules = &o->sending->files->rules;
    bool is_file = o->fd >= 0;
    tkl__files_request request;
    tkl__files_request_init(&request, o->sending->files);
    tkl__files_request_add_file(&request, o->token.text);
    tkl__files_request_add_sent(&request, o->sending->call);
    tkl__args *args = &request.args;
    tkl__args_str(args, o->token.text);
    tkl__args_str(args, o->holder.text);
    tkl__args_str(args, o->fingerprint);
    add_optional(args, rules->max_bytes, rules->max_bytes > 0);
    tkl__args_int(args, TKL__FILES_CHUNK);
    tkl__args_int(args, rules->lease_ms);
    tkl__args_int(args, *o->fingerprint ? rules->resume_ms : 0);
    tkl__args_int(args, rules->ttl_ms);
    tkl__args_bytes(args, o->name);
    add_optional(args, o->at_start.st_size, is_file);
    if (is_file)
        tkl__files_add_time(args, &o->at_start.st_mtim);
    else
        tkl__args_str(args, "");
    tkl__args_int(args, tkl__files_item_mode(o->item, is_file ? &o->at_start : NULL));
    tkl__args_str(args, o->sending->call);
    tkl__files_sent_kept(o->sending, args);
    for (size_t i = 0; i < o->sending->to_count; i++)
        tkl__args_bytes(args, o->sending->to[i]);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_begin, reply);
    tkl__files_request_free(&request);
    return rc;
}

/* The elements of a reply of files/take behind the code. */
enum { TAKE_CHUNK = 1, TAKE_SENT, TAKE_GRANTED, TAKE_SUM };

static int request_take(tkl__files_outgoing *o, tkl_reply **reply)
{
    tkl__files_request request;
    tkl__files_request_init(&request, o->sending->files);
    tkl__files_request_add_file(&request, o->token.text);
    tkl__args_str(&request.args, o->token.text);
    tkl__args_str(&request.args, o->holder.text);
    tkl__args_str(&request.args, o->fingerprint);
    tkl__args_str(&request.args, o->sending->call);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_take, reply);
    tkl__files_request_free(&request);
    return rc;
}

/* Gives the file up because of `rc`, which stays the result together with its text. */
static int give_up(tkl__files_outgoing *o, int rc, const char *reason)
{
    tkl_error before;
    tkl_error_last(rc, &before);
    if (tkl__files_remove(o->sending->files, o->token.text, o->holder.text, reason) < 0)
        return tkl__fail(rc, "%s (and it could not be removed from the channel)", before.text);
    return tkl__first_tell(&before);
}

/* Sets the error for a refused commit; gives the file up when no receiver is left. */
static int explain_refusal(tkl__files_outgoing *o, int rc)
{
    switch (rc) {
    case TKL_NOTOWNER:
        return tkl__fail(TKL_ELOST, "another process sends it now");
    case TKL_EMPTY:
        tkl__fail(TKL_NOTFOUND, "no receiver of it is left");
        return give_up(o, TKL_NOTFOUND, "");
    case TKL_NOTFOUND:
    case TKL_CONFLICT:
        o->forgotten = true;
        return tkl__fail(TKL_ELOST, "the server has forgotten it");
    default:
        return rc;
    }
}

/* Takes over a file that an earlier process began, if the source still begins with what was sent.
 * TKL_NOTFOUND: start over. */
static int resume_file(tkl__files_outgoing *o)
{
    tkl_reply *reply;
    int rc = request_take(o, &reply);
    o->chunk = tkl_reply_int(tkl_reply_at(reply, TAKE_CHUNK));
    o->sent = tkl__files_chunks(tkl_reply_at(reply, TAKE_SENT));
    o->granted = tkl__files_chunks(tkl_reply_at(reply, TAKE_GRANTED));
    if (rc == TKL_NOTOWNER)
        rc = explain_refusal(o, rc);
    if (rc == TKL_OK && (o->chunk <= 0 || o->chunk > TKL__FILES_CHUNK))
        rc = tkl__fail(TKL_EDAMAGED, "another program has changed the channel");
    if (rc == TKL_OK) {
        o->bytes =
            o->sent * o->chunk < o->at_start.st_size ? o->sent * o->chunk : o->at_start.st_size;
        tkl__files_hash_reset(o->hash);
        rc = tkl__files_hash_file(o->hash, o->fd, o->bytes);
        o->ended = o->bytes == o->at_start.st_size;
        o->resumed = o->sent > 0;
    }
    const char *sum = tkl_reply_str(tkl_reply_at(reply, TAKE_SUM));
    if (rc == TKL_OK && o->sent > 0 && strcmp(tkl__files_hash_sum(o->hash).text, sum) != 0)
        rc = give_up(o, TKL_NOTFOUND, "the source has changed since its sender was interrupted");
    tkl_reply_free(reply);
    return rc;
}

static void start_over(tkl__files_outgoing *o)
{
    o->token = tkl__files_new_token();
    o->bytes = o->sent = o->granted = 0;
    o->ended = o->resumed = o->complete = false;
    tkl__files_hash_reset(o->hash);
}

/* The reply names the file of an earlier process: it has sent all of the file, or this process
 * takes the file over. TKL_NOTFOUND: start over. */
static int use_earlier_file(tkl__files_outgoing *o, const tkl_reply *reply)
{
    if (!tkl__files_read_token(tkl_reply_at(reply, BEGIN_TOKEN), &o->token))
        return tkl__fail(TKL_EDAMAGED, "another program has changed the channel");
    o->complete = tkl_reply_int(tkl_reply_at(reply, BEGIN_COMPLETE)) == 1;
    if (!o->complete)
        return resume_file(o);
    o->bytes = o->at_start.st_size;
    o->resumed = true;
    return TKL_OK;
}

/* Announces the file, or finds the file that an earlier process began. Waits for room. */
static int begin_file(tkl__files_outgoing *o)
{
    tkl__files_sending *s = o->sending;
    tkl__rounds rounds = {.idle = 0};
    bool begun = false;
    int rc = TKL_OK;
    start_over(o);
    while (rc == TKL_OK && !begun) {
        tkl_reply *reply;
        rc = request_begin(o, &reply);
        if (rc == TKL_FULL) {
            rc = tkl__files_reap(s->files, tkl_reply_at(reply, BEGIN_OVERDUE));
            if (rc == TKL_OK)
                rc = tkl__files_room_wait(s, tkl__reply_number(tkl_reply_at(reply, BEGIN_NEXT)));
        } else if (rc == TKL_EXISTS) {
            rc = use_earlier_file(o, reply);
            begun = rc == TKL_OK;
            if (rc == TKL_NOTFOUND) {
                start_over(o);
                rc = tkl__next_round(&rounds, s->files->client, 0, false);
            }
        } else if (rc == TKL_OK) {
            o->chunk = tkl_reply_int(tkl_reply_at(reply, BEGIN_CHUNK));
            o->granted = tkl__files_chunks(tkl_reply_at(reply, BEGIN_GRANTED));
            begun = true;
            if (o->chunk <= 0 || o->chunk > TKL__FILES_CHUNK)
                rc = tkl__fail(TKL_EDAMAGED, "another program has changed the channel");
        }
        tkl_reply_free(reply);
    }
    tkl__files_room_wait_end(s);
    return rc;
}

/* ---- The lease ----------------------------------------------------------- */

static tkl__files_outgoing *outgoing_of(tkl__kept *kept)
{
    return (tkl__files_outgoing *)(void *)((char *)kept - offsetof(tkl__files_outgoing, kept));
}

static bool prepare_renewal(tkl__kept *kept, tkl__invocation *call)
{
    tkl__files_outgoing *o = outgoing_of(kept);
    if (o->renewal.keys.failed || o->renewal.args.failed)
        return false;
    *call = (tkl__invocation){.script = &tkl__lua_files_lend,
                              .keys = o->renewal.keys.items,
                              .nkeys = o->renewal.keys.count,
                              .args = o->renewal.args.items,
                              .nargs = o->renewal.args.count,
                              .retry_safe = true};
    return true;
}

/* Ignores the result: if the lease is lost, the next commit reports it. */
static void renewal_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    (void)kept;
    (void)rc;
    (void)reply;
}

static int64_t renewal_due(tkl__kept *kept)
{
    int64_t lease_ms = outgoing_of(kept)->sending->files->rules.lease_ms;
    return tkl__now() + lease_ms * 1000 / RENEWALS_A_LEASE;
}

static int start_renewing(tkl__files_outgoing *o)
{
    o->kept = (tkl__kept){.prepare = prepare_renewal, .done = renewal_done, .due = renewal_due};
    tkl__files_request_init(&o->renewal, o->sending->files);
    tkl__files_request_add_file(&o->renewal, o->token.text);
    tkl__args_str(&o->renewal.args, o->token.text);
    tkl__args_str(&o->renewal.args, o->holder.text);
    return tkl__keep(o->sending->files->client, &o->kept, renewal_due(&o->kept));
}

static void stop_renewing(tkl__files_outgoing *o)
{
    tkl__unkeep_wait(o->sending->files->client, &o->kept);
    tkl__files_request_free(&o->renewal);
}

/* ---- Chunks -------------------------------------------------------------- */

/* Makes the request that commits the `count` chunks of a window, which have `length` bytes, and
 * says how many chunks are wanted next; the size when all is sent. */
static void make_commit(const tkl__files_outgoing *o, int64_t count, int64_t length,
                        const tkl__files_sum *sum, tkl__files_request *request)
{
    tkl__files_request_init(request, o->sending->files);
    tkl__files_request_add_file(request, o->token.text);
    tkl__files_request_add_sent(request, o->sending->call);
    tkl__files_request_add_chunks(request, o->token.text, o->sent, o->sent + count);
    tkl__args_str(&request->args, o->token.text);
    tkl__args_str(&request->args, o->holder.text);
    tkl__args_int(&request->args, o->sent);
    tkl__args_int(&request->args, length);
    tkl__args_str(&request->args, sum->text);
    tkl__args_int(&request->args, o->ended ? 0 : o->fd < 0 ? 1 : TKL__FILES_SEND_WINDOW);
    add_optional(&request->args, o->bytes, o->ended);
    tkl__args_str(&request->args, o->fingerprint);
    tkl__files_sent_kept(o->sending, &request->args);
}

/* Reads the file once more. TKL_CONFLICT: its bytes differ from the bytes that were sent. Its size
 * and time do not show every change: a program can set the time, and a change through mmap() sets
 * it only after a while. */
static int compare_bytes(const tkl__files_outgoing *o)
{
    tkl__files_hash *hash = tkl__files_hash_new();
    int rc = hash ? tkl__files_hash_file(hash, o->fd, o->bytes) : tkl__nomem();
    if (rc == TKL_OK &&
        strcmp(tkl__files_hash_sum(hash).text, tkl__files_hash_sum(o->hash).text) != 0)
        rc = TKL_CONFLICT;
    tkl__files_hash_free(hash);
    return rc;
}

/* Checks at its end that the file has not changed while it was sent. Else its receivers would get
 * the beginning of one file and the end of another. */
static int check_source(tkl__files_outgoing *o)
{
    if (o->fd < 0 || !o->ended)
        return TKL_OK;
    int rc = o->bytes == o->at_start.st_size ? compare_bytes(o) : TKL_CONFLICT;
    if (rc == TKL_OK && tkl__files_outgoing_changed(o->fd, &o->at_start))
        rc = TKL_CONFLICT;
    return rc == TKL_CONFLICT ? tkl__fail(rc, "it changed while it was sent") : rc;
}

/* Reads as many chunks as may be sent, and adds them to the batch: `count` chunks with `length`
 * bytes. */
static int read_window(tkl__files_outgoing *o, int64_t *count, int64_t *length)
{
    int rc = TKL_OK;
    int64_t ttl = o->sending->files->rules.ttl_ms + CHUNK_SLACK_MS;
    tkl__batch_clear(&o->batch);
    *count = *length = 0;
    while (rc == TKL_OK && !o->ended && *count < o->granted && *count < TKL__FILES_SEND_WINDOW) {
        tkl_bytes data;
        rc = read_chunk(o, &data);
        if (rc == TKL_OK && data.len > 0) {
            tkl__files_batch_set(&o->batch, o->sending->files, o->token.text, o->sent + *count,
                                 data, ttl);
            *length += (int64_t)data.len;
            ++*count;
        }
        if (o->fd < 0) /* a stream may be slow: send what has arrived */
            break;
    }
    return rc;
}

/* The elements of a reply of files/commit behind the code. */
enum { COMMIT_SENT = 1, COMMIT_GRANTED, COMMIT_OVERDUE, COMMIT_NEXT };

/* One round trip: writes chunks, commits them, and reserves more. */
static int send_window(tkl__files_outgoing *o, int64_t *next_end_ms)
{
    tkl__files_request request;
    int64_t count, length;
    int rc = read_window(o, &count, &length);
    if (rc == TKL_OK)
        rc = check_source(o);
    if (rc != TKL_OK)
        return give_up(o, rc, rc == TKL_CONFLICT ? "changed while it was sent" : "not readable");
    const tkl__files_sum sum = tkl__files_hash_sum(o->hash); /* the request points to it */
    make_commit(o, count, length, &sum, &request);
    rc = tkl__files_batch_run(&o->batch, &request, &tkl__lua_files_commit);
    tkl__files_request_free(&request);
    const tkl_reply *reply = tkl__batch_reply(&o->batch, (size_t)count);
    if (rc == TKL_OK) {
        o->sent += count;
        o->granted = tkl__files_chunks(tkl_reply_at(reply, COMMIT_GRANTED));
        *next_end_ms = tkl__reply_number(tkl_reply_at(reply, COMMIT_NEXT));
        rc = tkl__files_reap(o->sending->files, tkl_reply_at(reply, COMMIT_OVERDUE));
    } else {
        rc = explain_refusal(o, rc);
    }
    return rc;
}

static void report_progress(tkl__files_outgoing *o)
{
    tkl__files_sending *s = o->sending;
    s->progress.file_done = o->bytes;
    s->progress.bytes = s->totals.bytes + o->bytes;
    if (s->options.on_progress)
        s->options.on_progress(&s->progress, s->options.arg);
}

/* Sends the file window by window, and waits for room between them. */
static int send_windows(tkl__files_outgoing *o)
{
    bool complete = false;
    int rc = TKL_OK;
    while (rc == TKL_OK && !complete) {
        int64_t next_end_ms = -1;
        rc = send_window(o, &next_end_ms);
        complete = o->ended;
        if (rc == TKL_OK)
            report_progress(o);
        if (rc == TKL_OK && tkl__is_interrupted(o->sending->files->client) && !complete)
            rc = tkl__interrupted();
        if (rc == TKL_OK && !complete && o->granted == 0)
            rc = tkl__files_room_wait(o->sending, next_end_ms);
        else
            tkl__files_room_wait_end(o->sending);
    }
    tkl__files_room_wait_end(o->sending);
    return rc;
}

/* ---- The whole ----------------------------------------------------------- */

/* Sends the file once: from the beginning, or from the chunk that the server lacks. */
static int attempt_file(tkl__files_outgoing *o)
{
    int rc = begin_file(o);
    if (rc != TKL_OK)
        return rc;
    if (o->resumed)
        report_progress(o);
    if (o->complete)
        return TKL_OK;
    rc = start_renewing(o);
    if (rc == TKL_OK)
        rc = send_windows(o);
    stop_renewing(o);
    return rc;
}

/* Sends a file, and sends it again when the server has lost it in a restart. That may happen any
 * number of times as long as the file gets further than ever before in between. */
static int send_with_restarts(tkl__files_outgoing *o)
{
    int64_t furthest = 0;
    int rc, restarts = 0;
    do {
        o->forgotten = false;
        rc = attempt_file(o);
        if (o->sent > furthest) {
            furthest = o->sent;
            restarts = 0;
        }
    } while (rc == TKL_ELOST && o->forgotten && o->fd >= 0 && restarts++ < TKL__FILES_RESTARTS);
    return rc;
}

int tkl__files_outgoing_send(tkl__files_sending *sending, const tkl__files_item *item,
                             tkl_bytes name, int fd, const struct stat *st,
                             tkl_files_outcome *outcome)
{
    tkl__files_outgoing o = {.sending = sending, .item = item, .name = name, .fd = fd};
    if (st)
        o.at_start = *st;
    o.hash = tkl__files_hash_new();
    o.buffer = malloc(TKL__FILES_CHUNK);
    tkl__batch_init(&o.batch, sending->files->client);
    int rc = o.hash && o.buffer ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__files_sent_fingerprint(sending, item, name, &o.at_start, o.fingerprint);
    if (rc == TKL_OK)
        rc = tkl__files_new_holder(sending->files, &o.holder);
    if (rc == TKL_OK)
        rc = send_with_restarts(&o);
    outcome->size = o.bytes;
    outcome->resumed = o.resumed;
    if (rc == TKL_OK)
        tkl__files_sent_await(sending, &o.token, item, o.fingerprint);
    tkl__batch_free(&o.batch);
    tkl__files_hash_free(o.hash);
    free(o.buffer);
    return rc;
}
