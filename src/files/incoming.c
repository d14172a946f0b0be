/* SPDX-License-Identifier: MIT
 *
 * One file while it is received: fetched, written, acknowledged, verified, put in place.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "files/receive.h"
#include "files/scripts.h"

/* Most chunks that an acknowledgement names, so that the server may remove them. */
#define NAMED (2 * TKL__FILES_RECEIVE_WINDOW)

/* ---- Replies of files/look ----------------------------------------------- */

/* The fields that files/look returns for a file. */
enum { POSITION, STATE, FREED, SENT, CHUNK, SIZE, SUM, MTIME, MODE, NAME, CALL, DATA };

static int64_t number_or_none(const tkl_reply *reply)
{
    return tkl_reply_bytes(reply).len > 0 ? tkl_reply_int(reply) : TKL_NONE;
}

static void note_size(tkl__files_incoming *in, bool complete, const tkl_reply *size,
                      const tkl_reply *sum)
{
    in->complete = complete;
    in->size = number_or_none(size);
    snprintf(in->sum, sizeof in->sum, "%s", tkl_reply_str(sum));
}

void tkl__files_incoming_update(tkl__files_incoming *in, const tkl_reply *fields)
{
    in->sent = in->hinted = tkl__files_chunks(tkl_reply_at(fields, SENT));
    in->freed = tkl__files_chunks(tkl_reply_at(fields, FREED));
    in->acked = tkl__files_chunks(tkl_reply_at(fields, POSITION));
    note_size(in, strcmp(tkl_reply_str(tkl_reply_at(fields, STATE)), "complete") == 0,
              tkl_reply_at(fields, SIZE), tkl_reply_at(fields, SUM));
}

static bool copy_bytes(const tkl_reply *reply, tkl_bytes *copy)
{
    tkl_bytes bytes = tkl_reply_bytes(reply);
    *copy = (tkl_bytes){tkl__copy_bytes(bytes), bytes.len};
    return copy->data != NULL;
}

static void note_mode(tkl__files_incoming *in, int64_t mode)
{
    in->mode = (int)(mode & 0777);
    in->type = (mode_t)(mode & S_IFMT);
    in->last = mode & TKL__FILES_LAST;
    in->end = mode & TKL__FILES_END;
}

/* The type of the file as callers know it. */
static tkl_files_type type_of_file(const tkl__files_incoming *in)
{
    return S_ISDIR(in->type)   ? TKL_FILES_TYPE_DIRECTORY
           : S_ISLNK(in->type) ? TKL_FILES_TYPE_LINK
                               : TKL_FILES_TYPE_FILE;
}

tkl__files_incoming *tkl__files_incoming_new(tkl__files_receiving *receiving, const char *token,
                                             const tkl_reply *fields)
{
    tkl__files_incoming *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    in->receiving = receiving;
    memcpy(in->token.text, token, sizeof in->token.text);
    in->fd = -1;
    in->chunk = tkl__files_number(tkl_reply_at(fields, CHUNK), TKL__FILES_CHUNK);
    in->has_mtime = tkl__files_read_time(tkl_reply_str(tkl_reply_at(fields, MTIME)), &in->mtime);
    note_mode(in, tkl_reply_int(tkl_reply_at(fields, MODE)));
    in->small = !tkl_reply_is_nil(tkl_reply_at(fields, DATA));
    if (tkl__files_is_token(tkl_reply_str(tkl_reply_at(fields, CALL))))
        memcpy(in->call, tkl_reply_str(tkl_reply_at(fields, CALL)), sizeof in->call);
    in->hash = tkl__files_hash_new();
    tkl__files_incoming_update(in, fields);
    if (!in->hash || !copy_bytes(tkl_reply_at(fields, NAME), &in->name) ||
        !copy_bytes(tkl_reply_at(fields, DATA), &in->data)) {
        tkl__files_incoming_free(in);
        return NULL;
    }
    return in;
}

void tkl__files_incoming_free(tkl__files_incoming *in)
{
    if (!in)
        return;
    tkl__files_partial_close(in);
    tkl__files_unpack_free(in->unpacker);
    if (in->lines.on_line)
        tkl__files_lines_free(&in->lines);
    tkl__files_hash_free(in->hash);
    free((char *)(uintptr_t)in->name.data);
    free((char *)(uintptr_t)in->data.data);
    free(in);
}

/* ---- Reports ------------------------------------------------------------- */

static void report_progress(tkl__files_incoming *in, int64_t added)
{
    tkl__files_receiving *r = in->receiving;
    int64_t done = in->small ? in->size : in->position * in->chunk;
    r->progress.name = in->name;
    r->progress.file_bytes = in->size;
    r->progress.file_done = in->size >= 0 && done > in->size ? in->size : done;
    r->progress.bytes += added;
    r->progress.total_bytes = TKL_NONE;
    if (r->options.on_progress)
        r->options.on_progress(&r->progress, r->options.arg);
}

/* Counts the file, and reports its outcome to the callback. `rc`: the outcome; its text is the last
 * error of the thread. */
static void report_outcome(tkl__files_incoming *in, int rc, const char *path)
{
    tkl__files_receiving *r = in->receiving;
    tkl_files_outcome outcome = {.name = in->name,
                                 .type = type_of_file(in),
                                 .path = path,
                                 .size = in->size,
                                 .lines = in->lines.count,
                                 .resumed = in->resumed,
                                 .code = rc,
                                 .message = rc == TKL_OK ? "" : tkl_errmsg()};
    r->ended |= in->last;
    r->totals.lines += in->lines.count;
    if (rc == TKL_OK) {
        r->totals.files++;
        r->totals.bytes += in->size;
    } else {
        r->totals.failed++;
    }
    r->progress.files = r->totals.files;
    if (rc != TKL_OK && r->failure == TKL_OK) {
        r->failure = rc;
        snprintf(r->message, sizeof r->message, TKL_FMT "%s%s", TKL_ARG(in->name),
                 in->name.len > 0 ? ": " : "", outcome.message);
    }
    if (r->options.on_file)
        r->options.on_file(&outcome, r->options.arg);
}

static int explain_loss(int rc)
{
    return rc == TKL_NOTOWNER
               ? tkl__fail(TKL_ELOST, "another process receives under this name, or it was dropped")
               : rc;
}

/* Reports to the server that this receiver is done with the file. `reason`: why it cannot use it;
 * "": it has the file. */
static int report_done(tkl__files_incoming *in, const char *reason)
{
    tkl__files_receiving *r = in->receiving;
    const char *token = in->token.text;
    return explain_loss(
        tkl__files_done(r->files, r->as, r->holder.text, reason, in->call, &token, 1));
}

/* Reports to the callback and to the server that the file cannot be used because of `rc` and its
 * text, and removes what is on the disk. The call goes on with other files. */
static int fail_file(tkl__files_incoming *in, int rc, const char *path)
{
    char reason[200];
    snprintf(reason, sizeof reason, "%s", *tkl_errmsg() ? tkl_errmsg() : tkl_strerror(rc));
    tkl__fail(rc, "%s", reason);
    report_outcome(in, rc, path);
    int reported = report_done(in, reason);
    if (reported != TKL_OK)
        return reported;
    tkl__files_partial_close(in);
    tkl__files_partial_remove(in);
    return TKL_OK;
}

/* Sets a file aside that something blocks, such as a directory with its name. The file stays on the
 * server for the next call, and other files do not wait for it. Any other error ends the call. */
static int set_aside(tkl__files_incoming *in, int rc)
{
    if (!in->blocked)
        return rc;
    tkl__files_partial_close(in);
    report_outcome(in, rc, "");
    return TKL_OK;
}

int tkl__files_incoming_given_up(tkl__files_incoming *in)
{
    tkl__files_partial_close(in);
    tkl__files_partial_remove(in);
    if (in->before != TKL__FILES_NEW)
        return TKL_OK;
    tkl__fail(TKL_CONFLICT, "its sender gave it up");
    report_outcome(in, TKL_CONFLICT, "");
    return TKL_OK;
}

/* The name of the file may be lost, too. */
int tkl__files_incoming_lost(tkl__files_incoming *in)
{
    in->receiving->ended = true; /* it may have been the last one */
    if (tkl__files_receiving_find(in->receiving, in->token.text))
        return report_done(in, "");
    return fail_file(in, tkl__fail(TKL_EDAMAGED, "the server has lost it: it has evicted keys"),
                     "");
}

/* ---- Delivered files ----------------------------------------------------- */

static size_t group_of(const char *token)
{
    const char digits[] = {token[0], token[1], '\0'};
    return strtoul(digits, NULL, 16);
}

/* Remembers a delivered file. When there is no memory for that, the file may be delivered twice
 * after the server has lost data. */
static void remember_delivered(tkl__files_receiving *r, const char *token, const char *sum)
{
    size_t group = group_of(token);
    if (!r->memory)
        r->memory = calloc(1, sizeof *r->memory);
    if (!r->memory)
        return;
    tkl__files_delivered *file =
        &r->memory->files[group][r->memory->next[group]++ % TKL__FILES_GROUP];
    memcpy(file->token, token, sizeof file->token);
    memcpy(file->sum, sum, sizeof file->sum);
}

const tkl__files_delivered *tkl__files_receiving_find(const tkl__files_receiving *r,
                                                      const char *token)
{
    const tkl__files_delivered *files = r->memory ? r->memory->files[group_of(token)] : NULL;
    for (size_t i = 0; files && i < TKL__FILES_GROUP; i++)
        if (strcmp(files[i].token, token) == 0)
            return &files[i];
    return NULL;
}

/* ---- Members of directories ---------------------------------------------- */

/* Checks what a sender says about a member of a directory. */
static int check_member(const tkl__files_incoming *in)
{
    bool link = S_ISLNK(in->type);
    if (in->type == 0)
        return TKL_OK;
    if (!S_ISREG(in->type) && !(in->small && (S_ISDIR(in->type) || link)))
        return tkl__fail(TKL_EPROTO, "it is not a file, a directory or a symbolic link");
    if (!tkl__files_tree_is_path(in->name))
        return tkl__fail(TKL_EPROTO, "its name is not a path below the directory");
    if (link && !tkl__files_tree_leads_inside(in->name, in->data))
        return tkl__fail(TKL_EPROTO, "it is a symbolic link that may lead out of the directory");
    return TKL_OK;
}

/* Whether the report of a file is held back. The file says that no more will come, and another file
 * is blocked: the next call receives the blocked one, and must learn from this one when to end. One
 * file that says so is enough. */
static bool hold_back(tkl__files_incoming *in)
{
    const tkl__files_receiving *r = in->receiving;
    bool blocked = false, said = false;
    for (size_t i = 0; in->last && r->options.exit_when_done && i < r->count; i++) {
        const tkl__files_incoming *other = r->active[i];
        blocked |= other->blocked;
        said |= other->held || other->end || (other->blocked && other->last);
    }
    in->held = blocked && !said;
    return in->held;
}

/* ---- The end of a file --------------------------------------------------- */

static int verify_sum(const tkl__files_incoming *in, const tkl__files_sum *sum)
{
    return strcmp(sum->text, in->sum) == 0
               ? TKL_OK
               : tkl__fail(TKL_EPROTO, "the checksum is %s and should be %s", sum->text, in->sum);
}

/* Ends the call because the callback asked for it, and saves how many lines the callback took. */
static int stop_lines(tkl__files_incoming *in)
{
    int saved = tkl__files_partial_save_lines(in);
    return saved == TKL_OK ? tkl__fail(TKL_EINTR, "the callback for lines ended the call") : saved;
}

/* Delivers the last line, and checks that the gzip data were complete. */
static int end_lines(tkl__files_incoming *in)
{
    int rc = TKL_OK;
    if (*in->unpack_error)
        return tkl__fail(TKL_EDAMAGED, "%s", in->unpack_error);
    if (in->unpacker)
        rc = tkl__files_unpack_end(in->unpacker);
    bool early = rc == TKL_EDAMAGED;
    if (rc == TKL_OK || early)
        rc = tkl__files_lines_end(&in->lines);
    if (rc == TKL_EINTR)
        return stop_lines(in);
    if (rc == TKL_OK)
        rc = tkl__files_partial_flush_lines(in);
    return rc == TKL_OK && early ? tkl__fail(TKL_EDAMAGED, "the gzip data end early") : rc;
}

/* Delivers the file. A file that cannot be unpacked is put in place as it was received. */
static int deliver_file(tkl__files_incoming *in, char *path, size_t size)
{
    const tkl_files_receive_options *options = &in->receiving->options;
    int rc = options->on_line  ? end_lines(in)
             : options->unpack ? tkl__files_partial_unpack(in, path, size)
                               : tkl__files_partial_place(in, path, size);
    if (rc != TKL_EDAMAGED)
        return rc;
    tkl_error damage;
    tkl_error_last(rc, &damage);
    rc = tkl__files_partial_place(in, path, size);
    return rc == TKL_OK ? tkl__first_tell(&damage) : rc;
}

/* Checks that the file on the server has the checksum of the file that was delivered before. */
static int verify_before(const tkl__files_incoming *in)
{
    return strcmp(in->before_sum, in->sum) == 0
               ? TKL_OK
               : tkl__fail(TKL_EDAMAGED,
                           "part of it is not on the server any more, nor in this directory");
}

static int finish_file(tkl__files_incoming *in)
{
    char path[TKL__FILES_PATH] = "";
    tkl__files_sum sum = tkl__files_hash_sum(in->hash);
    int rc = in->before == TKL__FILES_NEW ? verify_sum(in, &sum) : verify_before(in);
    if (rc == TKL_OK && in->before == TKL__FILES_NEW)
        rc = deliver_file(in, path, sizeof path);
    if (rc == TKL_EPROTO || rc == TKL_EDAMAGED)
        return fail_file(in, rc, path);
    if (rc != TKL_OK)
        return set_aside(in, rc);
    if (in->before == TKL__FILES_IN_PLACE)
        tkl__files_partial_path(in, path, sizeof path);
    if (in->before != TKL__FILES_DONE_BEFORE) {
        remember_delivered(in->receiving, in->token.text, in->sum);
        report_outcome(in, TKL_OK, path);
    }
    rc = hold_back(in) ? TKL_OK : report_done(in, "");
    if (rc != TKL_OK)
        return rc;
    tkl__files_partial_close(in);
    tkl__files_partial_remove(in);
    return TKL_OK;
}

/* ---- Chunks -------------------------------------------------------------- */

static void make_ack(const tkl__files_incoming *in, tkl__files_request *request)
{
    const tkl__files_receiving *r = in->receiving;
    int64_t named = in->position < in->freed + NAMED ? in->position : in->freed + NAMED;
    tkl__files_request_init(request, r->files);
    tkl__files_request_add_file(request, in->token.text);
    tkl__files_request_add_chunks(request, in->token.text, in->freed, named);
    tkl__args_str(&request->args, in->token.text);
    tkl__args_bytes(&request->args, r->as);
    tkl__args_str(&request->args, r->holder.text);
    tkl__args_int(&request->args, in->position);
    tkl__args_int(&request->args, in->freed);
}

static int write_chunk(tkl__files_incoming *in, const tkl_reply *reply)
{
    tkl_bytes data = tkl_reply_bytes(reply);
    bool last = in->complete && in->position == in->sent - 1;
    int64_t wanted = last ? in->size - in->position * in->chunk : in->chunk;
    if (tkl_reply_is_nil(reply))
        return tkl__fail(TKL_EDAMAGED, "part of it is not on the server any more");
    if ((int64_t)data.len != wanted)
        return tkl__fail(TKL_EDAMAGED, "a part of it has the wrong size");
    int rc = tkl__files_partial_write(in, data);
    if (rc != TKL_OK)
        return rc;
    tkl__files_hash_add(in->hash, data.data, data.len);
    in->position++;
    report_progress(in, (int64_t)data.len);
    rc = tkl__files_partial_feed(in, data);
    return rc == TKL_EINTR ? stop_lines(in) : rc;
}

/* Notes the state of the file in the reply of files/ack, and writes the received chunks. A chunk is
 * missing when the server was restarted with older data and no longer has it. */
static int take_window(tkl__files_incoming *in, const tkl__batch *batch, size_t count)
{
    const tkl_reply *reply = tkl__batch_reply(batch, count);
    int64_t lowest = tkl__files_chunks(tkl_reply_at(reply, TKL__FILES_ACK_LOWEST));
    int64_t acked = in->position;
    int rc = TKL_OK;
    in->sent = in->hinted = tkl__files_chunks(tkl_reply_at(reply, TKL__FILES_ACK_SENT));
    in->freed = tkl__files_chunks(tkl_reply_at(reply, TKL__FILES_ACK_FREED));
    note_size(in, tkl_reply_int(tkl_reply_at(reply, TKL__FILES_ACK_COMPLETE)) == 1,
              tkl_reply_at(reply, TKL__FILES_ACK_SIZE), tkl_reply_at(reply, TKL__FILES_ACK_SUM));
    if (acked > in->sent) /* the server is behind: acknowledge the rest once it has it */
        acked = in->sent;
    for (size_t i = 0; rc == TKL_OK && i < count && in->position < in->sent; i++)
        rc = write_chunk(in, tkl__batch_reply(batch, i));
    if (rc == TKL_OK)
        rc = tkl__files_partial_save_lines(in);
    if (rc == TKL_OK)
        rc = tkl__files_partial_sync(in);
    if (rc != TKL_OK)
        return rc;
    in->acked = acked;
    return in->freed < lowest ? tkl__files_free_chunks(in->receiving->files, in->token.text)
                              : TKL_OK;
}

/* One round trip: gets the next chunks, and acknowledges the chunks written before. */
static int fetch_chunks(tkl__files_incoming *in)
{
    tkl__batch *batch = &in->receiving->batch;
    tkl__files_request request;
    int64_t left = (in->hinted > in->sent ? in->hinted : in->sent) - in->position;
    const int64_t most = TKL__FILES_RECEIVE_WINDOW;
    size_t count = left > most ? (size_t)most : left > 0 ? (size_t)left : 0;
    tkl__batch_clear(batch);
    for (size_t i = 0; i < count; i++)
        tkl__files_batch_get(batch, in->receiving->files, in->token.text,
                             in->position + (int64_t)i);
    make_ack(in, &request);
    int rc = tkl__files_batch_run(batch, &request, &tkl__lua_files_ack);
    tkl__files_request_free(&request);
    if (rc == TKL_OK)
        rc = take_window(in, batch, count);
    else if (rc == TKL_CONFLICT)
        rc = tkl__fail(TKL_EDAMAGED, "part of it is not on the server any more");
    tkl__batch_clear(batch);
    return explain_loss(rc);
}

/* A server restored with older data may not know which chunks were written. The receiver must
 * acknowledge them again: else the server keeps the chunks, and the sender waits for ever. */
bool tkl__files_incoming_ready(const tkl__files_incoming *in)
{
    int64_t there = in->hinted > in->sent ? in->hinted : in->sent;
    int64_t had = in->position < there ? in->position : there;
    if (in->end)
        return !in->receiving->options.exit_when_done; /* else it stays until the call ends */
    return !in->blocked && !in->held &&
           (!in->opened || in->position < there || in->acked < had || in->complete);
}

int tkl__files_incoming_step(tkl__files_incoming *in, bool *finished)
{
    *finished = false;
    if (in->chunk <= 0 || in->chunk > TKL__FILES_CHUNK)
        return tkl__fail(TKL_EDAMAGED, "another program has changed the channel");
    int rc = check_member(in);
    if (rc != TKL_OK) {
        *finished = true;
        return fail_file(in, rc, "");
    }
    rc = tkl__files_partial_open(in);
    if (rc == TKL_EINTR)
        return stop_lines(in);
    if (rc == TKL_OK)
        rc = fetch_chunks(in);
    bool all = in->complete && in->position >= in->sent && in->acked >= in->sent;
    if (rc == TKL_OK && all) {
        rc = finish_file(in);
        *finished = !in->blocked && !in->held;
        return rc;
    }
    if (rc == TKL_NOTFOUND || rc == TKL_EDAMAGED) {
        *finished = true;
        return rc == TKL_NOTFOUND ? tkl__files_incoming_given_up(in) : fail_file(in, rc, "");
    }
    if (in->position >= in->sent)
        tkl__files_partial_close(in);
    return rc == TKL_OK ? TKL_OK : set_aside(in, rc);
}

/* ---- Small files --------------------------------------------------------- */

static int deliver_small(tkl__files_incoming *in, char *path, size_t size)
{
    bool lines = in->receiving->options.on_line;
    if (S_ISDIR(in->type))
        return lines ? TKL_OK : tkl__files_partial_place_dir(in, path, size);
    if (S_ISLNK(in->type))
        return lines ? TKL_OK : tkl__files_partial_place_link(in, path, size);
    if (!lines)
        return tkl__files_partial_place_small(in, path, size);
    int rc = tkl__files_partial_load_lines(in);
    if (rc == TKL_OK)
        rc = tkl__files_partial_feed(in, in->data);
    if (rc == TKL_EINTR)
        return stop_lines(in);
    if (rc == TKL_OK)
        rc = end_lines(in);
    if (rc != TKL_EDAMAGED)
        return rc;
    rc = tkl__files_partial_place_small(in, path, size);
    return rc == TKL_OK ? tkl__fail(TKL_EDAMAGED, "the gzip data are corrupt or end early") : rc;
}

int tkl__files_incoming_note_done(const tkl__files_incoming *in)
{
    tkl__files_receiving *r = in->receiving;
    memcpy(r->done[r->done_count++], in->token.text, sizeof in->token.text);
    return r->done_count == TKL__FILES_BATCH ? tkl__files_receiving_flush(r) : TKL_OK;
}

int tkl__files_incoming_small(tkl__files_incoming *in)
{
    char path[TKL__FILES_PATH] = "";
    tkl__files_receiving *r = in->receiving;
    tkl__files_sum sum = tkl__files_sum_of(in->data);
    const tkl__files_delivered *before = tkl__files_receiving_find(r, in->token.text);
    if (in->end)
        return tkl__files_incoming_note_done(in);
    int rc = verify_sum(in, &sum);
    if (rc == TKL_OK)
        rc = check_member(in);
    if (rc == TKL_OK && before && strcmp(before->sum, in->sum) == 0)
        return tkl__files_incoming_note_done(in);
    if (rc == TKL_OK)
        rc = deliver_small(in, path, sizeof path);
    if (rc == TKL_EPROTO || rc == TKL_EDAMAGED)
        return fail_file(in, rc, path);
    if (rc != TKL_OK)
        return set_aside(in, rc);
    in->size = (int64_t)in->data.len;
    report_progress(in, in->size);
    report_outcome(in, TKL_OK, path);
    remember_delivered(r, in->token.text, in->sum);
    return hold_back(in) ? TKL_OK : tkl__files_incoming_note_done(in);
}

/* Removes the notes of how many lines were delivered, of files that the server knows to be done. */
static void remove_notes(tkl__files_receiving *r)
{
    for (size_t i = 0; r->options.on_line && i < r->done_count; i++) {
        tkl__files_incoming in = {.receiving = r};
        memcpy(in.token.text, r->done[i], sizeof in.token.text);
        tkl__files_partial_remove(&in);
    }
}

int tkl__files_receiving_flush(tkl__files_receiving *r)
{
    const char *tokens[TKL__FILES_BATCH];
    if (r->done_count == 0)
        return TKL_OK;
    for (size_t i = 0; i < r->done_count; i++)
        tokens[i] = r->done[i];
    int rc = tkl__files_done(r->files, r->as, r->holder.text, "", "", tokens, r->done_count);
    if (rc == TKL_OK)
        remove_notes(r);
    r->done_count = 0;
    return explain_loss(rc);
}
