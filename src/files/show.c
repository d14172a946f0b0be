/* SPDX-License-Identifier: MIT
 *
 * The status of a channel, for operators.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/reply.h"
#include "files/files.h"
#include "files/scripts.h"

#define FILES_MOST 1000
#define SIZE_MOST  (TKL__FILES_CHUNKS_MAX * TKL__FILES_CHUNK)

typedef struct view {
    tkl_files_info public;
    tkl_reply *channel; /* replies: views into them */
    tkl_reply **pages;
    size_t page_count;
    tkl_files_file *files;
    tkl_files_receiver *receivers;
    tkl_files_trouble *troubles;
} view;

const char *tkl_files_type_name(tkl_files_type type)
{
    switch (type) {
    case TKL_FILES_TYPE_FILE:
        return "file";
    case TKL_FILES_TYPE_DIRECTORY:
        return "directory";
    case TKL_FILES_TYPE_LINK:
        return "link";
    }
    return "unknown";
}

const char *tkl_files_state_name(tkl_files_state state)
{
    switch (state) {
    case TKL_FILES_OPEN:
        return "open";
    case TKL_FILES_COMPLETE:
        return "complete";
    case TKL_FILES_REMOVING:
        return "removing";
    }
    return "unknown";
}

/* ---- The channel --------------------------------------------------------- */

enum { CHANNEL_STATE, CHANNEL_COUNT, CHANNEL_RECEIVERS, CHANNEL_HOLDERS, CHANNEL_TROUBLE };

/* Reads everything in the keys of the channel itself, in one round trip. */
static int read_channel(tkl_files *files, tkl_reply **replies)
{
    const tkl_bytes *keys = files->keys.items;
    tkl__batch batch;
    tkl__batch_init(&batch, files->client);
    TKL__BATCH_WORDS(&batch, tkl_str("HMGET"), keys[TKL__FILES_STATE], tkl_str("held"),
                     tkl_str("limit"));
    TKL__BATCH_WORDS(&batch, tkl_str("ZCARD"), keys[TKL__FILES_FILES]);
    TKL__BATCH_WORDS(&batch, tkl_str("ZRANGE"), keys[TKL__FILES_RECEIVERS], tkl_str("0"),
                     tkl_str("-1"), tkl_str("WITHSCORES"));
    TKL__BATCH_WORDS(&batch, tkl_str("HKEYS"), keys[TKL__FILES_HOLDERS]);
    TKL__BATCH_WORDS(&batch, tkl_str("XRANGE"), keys[TKL__FILES_TROUBLE], tkl_str("-"),
                     tkl_str("+"));
    return tkl__batch_end(&batch, tkl__deadline(files->client, files->rules.timeout_ms), replies);
}

/* Reads the server's clock, on the node of the channel. */
static int read_time(tkl_files *files, int64_t *now_ms)
{
    tkl__files_request request;
    tkl_reply *reply;
    tkl__files_request_init(&request, files);
    int rc = tkl__files_request_plain(&request, &tkl__lua_files_time, &reply);
    *now_ms = tkl__reply_number(reply);
    tkl_reply_free(reply);
    tkl__files_request_free(&request);
    return rc;
}

static bool is_in(const tkl_reply *names, tkl_bytes name)
{
    for (size_t i = 0; i < tkl_reply_count(names); i++)
        if (tkl__same_bytes(tkl_reply_bytes(tkl_reply_at(names, i)), name))
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    const tkl_files_receiver *x = a, *y = b;
    return tkl__compare_bytes(x->name, y->name);
}

static int read_receivers(view *v, int64_t now_ms)
{
    const tkl_reply *list = tkl_reply_at(v->channel, CHANNEL_RECEIVERS);
    size_t count = tkl_reply_count(list) / 2;
    v->receivers = calloc(count + 1, sizeof *v->receivers);
    if (!v->receivers)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        tkl_files_receiver *receiver = &v->receivers[i];
        int64_t until = tkl__files_number(tkl_reply_at(list, 2 * i + 1), INT64_MAX / 2);
        receiver->name = tkl_reply_bytes(tkl_reply_at(list, 2 * i));
        receiver->seen = is_in(tkl_reply_at(v->channel, CHANNEL_HOLDERS), receiver->name);
        receiver->gone = until <= now_ms;
        receiver->gone_ms = receiver->gone ? now_ms - until : 0;
    }
    qsort(v->receivers, count, sizeof *v->receivers, by_name);
    v->public.receiver_count = count;
    return TKL_OK;
}

static int read_troubles(view *v)
{
    const tkl_reply *list = tkl_reply_at(v->channel, CHANNEL_TROUBLE);
    size_t count = tkl_reply_count(list);
    v->troubles = calloc(count + 1, sizeof *v->troubles);
    if (!v->troubles)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        const tkl_reply *entry = tkl_reply_at(list, i), *fields = tkl_reply_at(entry, 1);
        v->troubles[i] = (tkl_files_trouble){
            .time_ms = strtoll(tkl_reply_str(tkl_reply_at(entry, 0)), NULL, 10),
            .receiver = tkl_reply_bytes(tkl_reply_at(fields, TKL__FILES_TROUBLE_RECEIVER)),
            .name = tkl_reply_bytes(tkl_reply_at(fields, TKL__FILES_TROUBLE_NAME)),
            .reason = tkl_reply_bytes(tkl_reply_at(fields, TKL__FILES_TROUBLE_REASON)),
        };
    }
    v->public.trouble_count = count;
    return TKL_OK;
}

/* ---- Files --------------------------------------------------------------- */

static tkl_files_state state_of(const char *text)
{
    return strcmp(text, "open") == 0       ? TKL_FILES_OPEN
           : strcmp(text, "complete") == 0 ? TKL_FILES_COMPLETE
                                           : TKL_FILES_REMOVING;
}

static tkl_files_receiver *find_receiver(view *v, tkl_bytes name)
{
    const tkl_files_receiver wanted = {.name = name};
    return bsearch(&wanted, v->receivers, v->public.receiver_count, sizeof wanted, by_name);
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The fields of a file in a reply of files/show. */
enum { STATE, FREED, SENT, CHUNK, SIZE, MTIME, NAME, WAITING };

static int read_file(view *v, const tkl_reply *fields)
{
    tkl_files_file *file = &v->files[v->public.count];
    int64_t sent = tkl__files_chunks(tkl_reply_at(fields, SENT));
    int64_t chunk = tkl__files_number(tkl_reply_at(fields, CHUNK), TKL__FILES_CHUNK);
    tkl_bytes size = tkl_reply_bytes(tkl_reply_at(fields, SIZE));
    const tkl_reply *at = tkl_reply_at(fields, WAITING);
    *file = (tkl_files_file){
        .name = tkl_reply_bytes(tkl_reply_at(fields, NAME)),
        .state = state_of(tkl_reply_str(tkl_reply_at(fields, STATE))),
        .size = size.len > 0 ? tkl__files_number(tkl_reply_at(fields, SIZE), SIZE_MOST) : TKL_NONE,
        .waiting_count = tkl_reply_count(at) / 2};
    int64_t most = file->size >= 0 ? file->size : INT64_MAX;
    file->sent = chunk > 0 ? min(sent * chunk, most) : file->size;
    file->waiting = calloc(file->waiting_count + 1, sizeof *file->waiting);
    if (!file->waiting)
        return tkl__nomem();
    for (size_t i = 0; i < file->waiting_count; i++) {
        file->waiting[i] = tkl_reply_bytes(tkl_reply_at(at, 2 * i));
        tkl_files_receiver *receiver = find_receiver(v, file->waiting[i]);
        int64_t had = tkl__files_chunks(tkl_reply_at(at, 2 * i + 1)) * chunk;
        if (receiver) {
            receiver->files++;
            receiver->bytes += had < file->sent ? file->sent - had : 0;
        }
    }
    v->public.count++;
    return TKL_OK;
}

static int read_some(tkl_files *files, view *v, const char *const *tokens, size_t count)
{
    tkl__files_request request;
    if (!tkl__grow(&v->pages, v->page_count, sizeof *v->pages))
        return tkl__nomem();
    tkl__files_request_init(&request, files);
    for (size_t i = 0; i < count; i++)
        tkl__files_request_add_file(&request, tokens[i]);
    int rc = tkl__files_request_plain(&request, &tkl__lua_files_show, &v->pages[v->page_count]);
    tkl__files_request_free(&request);
    if (rc != TKL_OK)
        return rc;
    const tkl_reply *page = v->pages[v->page_count++];
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(page); i++)
        if (v->public.count < FILES_MOST && !tkl_reply_is_nil(tkl_reply_at(page, i)))
            rc = read_file(v, tkl_reply_at(page, i));
    return rc == TKL_OK && v->public.count == FILES_MOST ? TKL_FULL : rc;
}

static int read_page(tkl_files *files, const char *const *tokens, size_t count, void *arg)
{
    view *v = arg;
    size_t most = tkl__files_batch(v->public.receiver_count);
    int rc = TKL_OK;
    for (size_t from = 0; rc == TKL_OK && from < count; from += most)
        rc = read_some(files, v, tokens + from, count - from < most ? count - from : most);
    return rc;
}

/* ---- The whole ----------------------------------------------------------- */

static int fill_view(tkl_files *files, view *v)
{
    int64_t now_ms = 0;
    int rc = read_channel(files, &v->channel);
    if (rc == TKL_OK)
        rc = read_time(files, &now_ms);
    if (rc == TKL_OK)
        rc = read_receivers(v, now_ms);
    if (rc == TKL_OK)
        rc = read_troubles(v);
    v->files = rc == TKL_OK ? calloc(FILES_MOST, sizeof *v->files) : NULL;
    if (rc == TKL_OK)
        rc = v->files ? tkl__files_walk(files, read_page, v) : tkl__nomem();
    return rc == TKL_FULL ? TKL_OK : rc;
}

static void set_public(view *v)
{
    const tkl_reply *state = tkl_reply_at(v->channel, CHANNEL_STATE);
    const tkl_reply *limit = tkl_reply_at(state, 1);
    v->public.bytes = tkl__files_number(tkl_reply_at(state, 0), INT64_MAX / 2);
    v->public.max_bytes = tkl_reply_is_nil(limit) ? TKL__FILES_LIMIT : tkl_reply_int(limit);
    v->public.file_count = tkl_reply_int(tkl_reply_at(v->channel, CHANNEL_COUNT));
    v->public.files = v->files;
    v->public.receivers = v->receivers;
    v->public.troubles = v->troubles;
}

int tkl_files_status(tkl_files *files, tkl_files_info **status)
{
    *status = NULL;
    view *v = calloc(1, sizeof *v);
    if (!v)
        return tkl__nomem();
    int rc = fill_view(files, v);
    set_public(v);
    bool nothing = v->public.receiver_count == 0 && v->public.trouble_count == 0 &&
                   tkl_reply_is_nil(tkl_reply_at(tkl_reply_at(v->channel, CHANNEL_STATE), 0));
    if (rc == TKL_OK && nothing)
        rc = tkl__fail(TKL_NOTFOUND, "there is no such channel");
    if (rc == TKL_OK)
        *status = &v->public;
    else
        tkl_files_info_free(&v->public);
    return rc;
}

void tkl_files_info_free(tkl_files_info *status)
{
    view *v = (view *)status;
    if (!v)
        return;
    for (size_t i = 0; v->files && i < v->public.count; i++)
        free(v->files[i].waiting);
    for (size_t i = 0; i < v->page_count; i++)
        tkl_reply_free(v->pages[i]);
    tkl_reply_free(v->channel);
    free(v->pages);
    free(v->files);
    free(v->receivers);
    free(v->troubles);
    free(v);
}
