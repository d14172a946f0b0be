/* SPDX-License-Identifier: MIT
 *
 * Sends one source after the other. Small files are collected and sent together.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/rounds.h"
#include "files/scripts.h"
#include "files/send.h"

/* ---- Small files --------------------------------------------------------- */

typedef struct small_file {
    const tkl__files_item *item; /* NULL: only the mark that no more will come */
    tkl_bytes name;
    tkl__files_token token;
    char fingerprint[TKL__FILES_SUM + 1];
    tkl__files_sum sum;
    struct timespec mtime;
    int64_t mode;
    tkl_bytes data; /* malloc'ed */
    bool resumed;   /* it was sent before the call was interrupted */
} small_file;

/* Small files that are collected, to be sent in one round trip. */
typedef struct small_files {
    small_file files[TKL__FILES_BATCH];
    size_t count;
} small_files;

static tkl_files_type type_of(int64_t mode)
{
    return S_ISDIR(mode)   ? TKL_FILES_TYPE_DIRECTORY
           : S_ISLNK(mode) ? TKL_FILES_TYPE_LINK
                           : TKL_FILES_TYPE_FILE;
}

static void report_outcome(tkl__files_sending *s, const tkl__files_item *item,
                           tkl_files_outcome *outcome, int rc)
{
    const char *path = item->source.path;
    outcome->path = path ? path : "";
    outcome->code = rc;
    outcome->message = rc == TKL_OK ? "" : tkl_errmsg();
    if (rc != TKL_OK && s->failure == TKL_OK) {
        s->failure = rc;
        snprintf(s->message, sizeof s->message, TKL_FMT ": %s",
                 TKL_ARG(path ? tkl_str(path) : outcome->name), outcome->message);
    }
    if (rc == TKL_NOTFOUND || (rc == TKL_OK && item->last))
        s->ended = true; /* receivers know, or are dropped */
    if (rc == TKL_OK && s->again)
        return;
    if (rc == TKL_OK) {
        s->totals.files++;
        s->totals.bytes += outcome->size;
    } else {
        s->totals.failed++;
        s->totals.files -= s->again;
    }
    s->progress.files = s->totals.files;
    s->progress.bytes = s->totals.bytes;
    if (s->options.on_file)
        s->options.on_file(outcome, s->options.arg);
}

/* Makes the request that posts the files from `from` on. */
static void make_post(tkl__files_sending *s, const small_files *b, size_t from,
                      tkl__files_request *request)
{
    const tkl_files_options *rules = &s->files->rules;
    tkl__files_request_init(request, s->files);
    tkl__files_request_add_sent(request, s->call);
    if (rules->max_bytes > 0)
        tkl__args_int(&request->args, rules->max_bytes);
    else
        tkl__args_str(&request->args, "");
    tkl__args_int(&request->args, rules->ttl_ms);
    tkl__files_sent_kept(s, &request->args);
    tkl__args_str(&request->args, s->call);
    tkl__args_int(&request->args, (int64_t)s->to_count);
    for (size_t i = 0; i < s->to_count; i++)
        tkl__args_bytes(&request->args, s->to[i]);
    for (size_t i = from; i < b->count; i++) {
        const small_file *file = &b->files[i];
        tkl__files_request_add_file(request, file->token.text);
        tkl__args_str(&request->args, file->token.text);
        tkl__args_str(&request->args, file->fingerprint);
        tkl__args_bytes(&request->args, file->name);
        tkl__files_add_time(&request->args, &file->mtime);
        tkl__args_int(&request->args, file->mode);
        tkl__args_str(&request->args, file->sum.text);
        tkl__args_bytes(&request->args, file->data);
    }
}

/* The elements of the reply of files/post before the tokens: code, overdue file, ms to the next. */
enum { POST_CODE, POST_OVERDUE, POST_NEXT, POST_TOKENS };

/* Returns how many files the server took. */
static size_t note_taken(small_file *files, size_t count, const tkl_reply *reply)
{
    size_t words = tkl_reply_count(reply), taken = 0;
    for (; taken < count && POST_TOKENS + taken < words; taken++) {
        tkl__files_token mine = files[taken].token;
        tkl__files_read_token(tkl_reply_at(reply, POST_TOKENS + taken), &files[taken].token);
        files[taken].resumed = strcmp(mine.text, files[taken].token.text) != 0;
    }
    return taken;
}

/* Posts the files from `from` on. *taken: number of files that found room, or that an earlier
 * attempt of this call had sent under another token. */
static int post_some(tkl__files_sending *s, small_files *b, size_t from, size_t *taken,
                     int64_t *next_end)
{
    tkl__files_request request;
    tkl_reply *reply;
    make_post(s, b, from, &request);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_post, &reply);
    tkl__files_request_free(&request);
    *taken = rc == TKL_OK ? note_taken(&b->files[from], b->count - from, reply) : 0;
    *next_end = tkl__reply_number(tkl_reply_at(reply, POST_NEXT));
    if (rc == TKL_OK || rc == TKL_FULL) {
        int reaped = tkl__files_reap(s->files, tkl_reply_at(reply, POST_OVERDUE));
        rc = reaped != TKL_OK ? reaped : rc;
    }
    tkl_reply_free(reply);
    return rc;
}

static void report_posted(tkl__files_sending *s, const small_file *file)
{
    tkl_files_outcome outcome = {.name = file->name,
                                 .type = type_of(file->mode),
                                 .size = (int64_t)file->data.len,
                                 .resumed = file->resumed};
    if (!file->item)
        return;
    s->progress.name = file->name;
    s->progress.file_bytes = s->progress.file_done = (int64_t)file->data.len;
    report_outcome(s, file->item, &outcome, TKL_OK);
    tkl__files_sent_await(s, &file->token, file->item, file->fingerprint);
}

static void clear_files(small_files *b)
{
    for (size_t i = 0; i < b->count; i++)
        free((char *)(uintptr_t)b->files[i].data.data);
    b->count = 0;
}

/* Sends the collected files, and waits for room between the requests. */
static int post_files(tkl__files_sending *s, small_files *b)
{
    tkl__rounds rounds = {.idle = 0};
    int rc = TKL_OK;
    for (size_t done = 0; rc == TKL_OK && done < b->count;) {
        size_t taken;
        int64_t next_end;
        rc = post_some(s, b, done, &taken, &next_end);
        bool waits = rc == TKL_FULL;
        for (size_t i = 0; i < taken; i++)
            report_posted(s, &b->files[done++]);
        if (rc == TKL_FULL)
            rc = tkl__files_room_wait(s, next_end);
        else
            tkl__files_room_wait_end(s);
        if (rc == TKL_OK && done < b->count)
            rc = tkl__next_round(&rounds, s->files->client, 0, taken > 0 || waits);
    }
    tkl__files_room_wait_end(s);
    if (rc == TKL_OK && b->count > 0 && s->options.on_progress)
        s->options.on_progress(&s->progress, s->options.arg);
    clear_files(b);
    return rc;
}

/* ---- Sources ------------------------------------------------------------- */

/* Reads up to `size` bytes from the beginning; *len is how many there are. */
static int read_start(int fd, char *buffer, size_t size, size_t *len)
{
    ssize_t got;
    *len = 0;
    while (*len < size && (got = pread(fd, buffer + *len, size - *len, (off_t)*len)) != 0) {
        if (got < 0 && errno != EINTR)
            return tkl__fail_errno(TKL_EIO, "reading it");
        *len += got > 0 ? (size_t)got : 0;
    }
    return TKL_OK;
}

/* Reads a small file completely, twice. TKL_CONFLICT: it changed in between. */
static int read_small(int fd, const struct stat *st, tkl_bytes *data)
{
    size_t size = (size_t)st->st_size, len, again_len = 0;
    char *buffer = malloc(size + 1), again[TKL__FILES_SMALL + 1];
    int rc = buffer ? read_start(fd, buffer, size + 1, &len) : tkl__nomem();
    if (rc == TKL_OK)
        rc = read_start(fd, again, size + 1, &again_len);
    if (rc == TKL_OK && (len != size || again_len != size || memcmp(buffer, again, size) != 0 ||
                         tkl__files_outgoing_changed(fd, st)))
        rc = tkl__fail(TKL_CONFLICT, "it changed while it was read");
    if (rc == TKL_OK)
        *data = (tkl_bytes){buffer, size};
    else
        free(buffer);
    return rc;
}

/* Reads the bytes of a file, or the target of a link; a directory has no bytes. */
static int read_item(int fd, const struct stat *st, char *link, tkl_bytes *data)
{
    if (fd >= 0)
        return read_small(fd, st, data);
    *data = (tkl_bytes){link ? strdup(link) : malloc(1), link ? strlen(link) : 0};
    return data->data ? TKL_OK : tkl__nomem();
}

static int add_small(tkl__files_sending *s, small_files *b, const tkl__files_item *item,
                     tkl_bytes name, int fd, const struct stat *st, char *link)
{
    small_file *file = &b->files[b->count];
    *file = (small_file){.item = item,
                         .name = name,
                         .token = tkl__files_new_token(),
                         .mtime = st->st_mtim,
                         .mode = tkl__files_item_mode(item, st)};
    int rc = *s->call ? tkl__files_sent_fingerprint(s, item, name, st, file->fingerprint) : TKL_OK;
    if (rc == TKL_OK)
        rc = read_item(fd, st, link, &file->data);
    if (rc == TKL_OK) {
        file->sum = tkl__files_sum_of(file->data);
        b->count++;
    }
    return rc;
}

/* Whether the error concerns this source only, so that the next one may succeed. */
static bool concerns_this_source(int rc)
{
    return rc == TKL_OK || rc == TKL_EIO || rc == TKL_CONFLICT || rc == TKL_NOTFOUND ||
           rc == TKL_ELOST;
}

static int send_large(tkl__files_sending *s, small_files *b, const tkl__files_item *item,
                      tkl_bytes name, int fd, const struct stat *st)
{
    tkl_files_outcome outcome = {.name = name};
    int rc = post_files(s, b);
    if (rc != TKL_OK)
        return rc;
    s->progress.name = name;
    s->progress.file_bytes = st ? (int64_t)st->st_size : TKL_NONE;
    s->progress.file_done = 0;
    rc = tkl__files_outgoing_send(s, item, name, fd, st, &outcome);
    report_outcome(s, item, &outcome, rc);
    return concerns_this_source(rc) ? TKL_OK : rc;
}

static int send_item(tkl__files_sending *s, small_files *b, const tkl__files_item *item)
{
    struct stat st;
    tkl_bytes name;
    char *link;
    int fd;
    int rc = tkl__files_source_name(&item->source, &name);
    if (rc != TKL_OK || !item->source.path)
        return rc == TKL_OK ? send_large(s, b, item, name, -1, NULL) : rc;
    rc = tkl__files_item_open(item, name, &fd, &st, &link);
    bool large = rc == TKL_OK && fd >= 0 && st.st_size > TKL__FILES_SMALL;
    if (large)
        rc = send_large(s, b, item, name, fd, &st);
    else if (rc == TKL_OK)
        rc = add_small(s, b, item, name, fd, &st, link);
    if (fd >= 0)
        close(fd);
    free(link);
    if (large)
        return rc;
    if (rc != TKL_OK) {
        tkl_files_outcome outcome = {.name = name};
        report_outcome(s, item, &outcome, rc);
        return concerns_this_source(rc) ? TKL_OK : rc;
    }
    return b->count >= tkl__files_batch(s->to_count) ? post_files(s, b) : TKL_OK;
}

/* Tells receivers that no more will come, unless the last file says so. */
static void add_end(tkl__files_sending *s, small_files *b)
{
    if (s->options.more || s->ended || s->again)
        return;
    b->files[b->count++] = (small_file){.name = TKL_LIT("end"),
                                        .token = tkl__files_new_token(),
                                        .mode = TKL__FILES_LAST | TKL__FILES_END,
                                        .sum = tkl__files_sum_of((tkl_bytes){"", 0})};
    s->ended = true;
}

/* Sends the items from `first` to before `end`. Each file that is sent overwrites the next entry of
 * `awaited`, whose item is sent already or has failed. */
static int send_items(tkl__files_sending *s, size_t first, size_t end)
{
    small_files *b = calloc(1, sizeof *b);
    if (!b)
        return tkl__nomem();
    int rc = TKL_OK;
    for (size_t i = first; rc == TKL_OK && i < end; i++)
        rc = tkl__is_interrupted(s->files->client) ? tkl__interrupted()
                                                   : send_item(s, b, s->awaited[i].item);
    if (rc == TKL_OK)
        rc = post_files(s, b);
    if (rc == TKL_OK) {
        add_end(s, b);
        rc = post_files(s, b);
    }
    clear_files(b);
    free(b);
    return rc;
}

/* ---- Checks -------------------------------------------------------------- */

static int check_receivers(const tkl_bytes *to, size_t count)
{
    if (count == 0)
        return tkl__fail(TKL_EINVAL, "no receivers are named");
    if (count > TKL_FILES_RECEIVERS_MAX)
        return tkl__fail(TKL_EINVAL, "more than %d receivers", TKL_FILES_RECEIVERS_MAX);
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__files_check_receiver(to[i]);
    return rc;
}

static int check_sources(const tkl_files_source *sources, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        tkl_bytes name;
        rc = TKL__CHECK_RESERVED(&sources[i]);
        if (rc == TKL_OK && !sources[i].path == !sources[i].read)
            rc = tkl__fail(TKL_EINVAL, "a source has either a path or a function to read");
        if (rc == TKL_OK)
            rc = tkl__files_source_name(&sources[i], &name);
    }
    return rc;
}

/* Whether both sources are the same file, which is then sent once. */
static bool is_same_file(const tkl__files_item *a, const tkl__files_item *b)
{
    struct stat x, y;
    const char *p = a->source.path, *q = b->source.path;
    return p && q &&
           (strcmp(p, q) == 0 ||
            (stat(p, &x) == 0 && stat(q, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino));
}

static int by_name(const void *a, const void *b)
{
    tkl_bytes x, y;
    (void)!tkl__files_source_name(&(*(const tkl__files_item *const *)a)->source, &x);
    (void)!tkl__files_source_name(&(*(const tkl__files_item *const *)b)->source, &y);
    return tkl__compare_bytes(x, y);
}

/* Rejects two sources of one name: receivers would keep only the last one. */
static int check_names(const tkl__files_items *items)
{
    int rc = TKL_OK;
    size_t count = items->count;
    const tkl__files_item **sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        sorted[i] = &items->items[i];
    qsort(sorted, count, sizeof(const tkl__files_item *), by_name);
    for (size_t i = 1; rc == TKL_OK && i < count; i++) {
        tkl_bytes name;
        if (by_name(&sorted[i - 1], &sorted[i]) == 0 && !is_same_file(sorted[i - 1], sorted[i]) &&
            tkl__files_source_name(&sorted[i]->source, &name) == TKL_OK)
            rc = tkl__fail(TKL_EINVAL, "two sources have the name " TKL_FMT ": %s and %s",
                           TKL_ARG(name),
                           sorted[i - 1]->source.path ? sorted[i - 1]->source.path : "a stream",
                           sorted[i]->source.path ? sorted[i]->source.path : "a stream");
    }
    free(sorted);
    return rc;
}

static int check_send(const tkl_bytes *to, size_t to_count, const tkl_files_source *sources,
                      size_t count, const tkl_files_send_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("drop_after_ms", options->drop_after_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = check_receivers(to, to_count);
    if (rc == TKL_OK)
        rc = check_sources(sources, count);
    return rc;
}

/* The bytes of all files; TKL_NONE when one of them is a stream. */
static int64_t total_bytes(const tkl__files_items *items)
{
    int64_t total = 0;
    for (size_t i = 0; i < items->count; i++) {
        if (!items->items[i].source.path)
            return TKL_NONE;
        total += items->items[i].bytes;
    }
    return total;
}

/* ---- The call ------------------------------------------------------------ */

/* The server has lost sent files. Sends again all files that not all receivers are known to have.
 */
static int send_again(tkl__files_sending *s)
{
    size_t end = s->awaited_count;
    if (!s->awaited[s->arrived].item->source.path || s->files->rules.resume_ms == 0)
        return tkl__fail(TKL_ELOST, "the server has lost files that were sent");
    s->again = true;
    s->options.on_progress = NULL; /* their progress was reported before */
    s->awaited_count = s->arrived;
    return send_items(s, s->arrived, end);
}

/* Waits until all receivers have everything. */
static int wait_for_receivers(tkl__files_sending *s)
{
    s->wait_until = s->options.wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(s->options.wait_ms);
    int rc = tkl__files_room_wait_for_all(s);
    for (int i = 0; i < TKL__FILES_RESTARTS && rc == TKL_NOTFOUND; i++) {
        rc = send_again(s);
        if (rc == TKL_OK)
            rc = tkl__files_room_wait_for_all(s);
    }
    return rc == TKL_NOTFOUND
               ? tkl__fail(TKL_ELOST, "the server has lost files that were sent, again and again")
               : rc;
}

/* Waits for receivers if the caller wants that, and makes the server forget the call. After
 * TKL_BUSY it remembers the call: the same call made again continues to wait. */
static int end_send(tkl__files_sending *s, int rc)
{
    bool all = rc == TKL_OK;
    if (all && s->options.wait_ms != 0)
        rc = wait_for_receivers(s);
    if (all && rc >= 0 && rc != TKL_BUSY)
        tkl__files_sent_forget(s, rc);
    if (rc == TKL_OK && s->failure != TKL_OK)
        rc = tkl__fail(s->failure, "%s", s->message);
    return rc;
}

/* Makes items of the sources and sends them all. */
static int send_sources(tkl__files_sending *s, const tkl_files_source *sources, size_t count)
{
    tkl__files_items items;
    int rc = tkl__files_expand(sources, count, &items);
    if (rc == TKL_OK)
        rc = check_names(&items);
    s->awaited = calloc(items.count + 1, sizeof *s->awaited);
    if (rc == TKL_OK && !s->awaited)
        rc = tkl__nomem();
    if (rc == TKL_OK) {
        for (size_t i = 0; i < items.count; i++)
            s->awaited[i].item = &items.items[i];
        if (items.count > 0)
            items.items[items.count - 1].last = !s->options.more;
        s->progress.total_bytes = s->options.on_progress ? total_bytes(&items) : TKL_NONE;
        rc = tkl__files_sent_begin(s, &items, count > 0 ? sources[0].path : NULL);
    }
    if (rc == TKL_OK)
        rc = end_send(s, send_items(s, 0, items.count));
    tkl__files_room_wait_end(s);
    tkl__files_room_forget(s);
    free(s->awaited);
    tkl__files_items_free(&items);
    return rc;
}

int tkl_files_send(tkl_files *files, const tkl_bytes *to, size_t to_count,
                   const tkl_files_source *sources, size_t count,
                   const tkl_files_send_options *options, tkl_files_totals *totals)
{
    tkl_files patient = tkl__files_with_patience(files, -1);
    tkl__files_sending s = {.files = &patient, .to = to, .to_count = to_count};
    if (totals)
        *totals = (tkl_files_totals){0};
    int rc = check_send(to, to_count, sources, count, options);
    if (rc != TKL_OK)
        return rc;
    if (options)
        s.options = *options;
    if (s.options.timeout_ms > 0)
        patient.rules.timeout_ms = s.options.timeout_ms;
    rc = send_sources(&s, sources, count);
    if (totals)
        *totals = s.totals;
    return rc;
}
