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
#include "core/options.h"
#include "core/reply.h"
#include "core/rounds.h"
#include "files/scripts.h"
#include "files/send.h"

/* ---- Small files --------------------------------------------------------- */

typedef struct small_file {
    const tkl_files_source *source;
    tkl_bytes name;
    tkl__files_token token;
    char fingerprint[TKL__FILES_SUM + 1];
    tkl__files_sum sum;
    struct timespec mtime;
    int64_t mode;
    tkl_bytes data; /* malloc'ed */
    bool resumed;   /* it was sent before the call was interrupted */
} small_file;

typedef struct batch {
    small_file files[TKL__FILES_BATCH];
    size_t count;
} batch;

static void tell_outcome(tkl__files_sending *s, const tkl_files_source *source,
                         tkl_files_outcome *outcome, int rc)
{
    outcome->path = source->path ? source->path : "";
    outcome->code = rc;
    outcome->message = rc == TKL_OK ? "" : tkl_errmsg();
    if (rc != TKL_OK && s->failure == TKL_OK) {
        s->failure = rc;
        snprintf(s->message, sizeof s->message, TKL_FMT ": %s",
                 TKL_ARG(source->path ? tkl_str(source->path) : outcome->name), outcome->message);
    }
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

static void post_args(tkl__files_sending *s, const batch *b, size_t from, tkl__files_ask *ask)
{
    const tkl_files_options *rules = &s->files->rules;
    if (rules->max_bytes > 0)
        tkl__args_int(&ask->args, rules->max_bytes);
    else
        tkl__args_str(&ask->args, "");
    tkl__args_int(&ask->args, rules->ttl_ms);
    tkl__files_sent_kept(s, &ask->args);
    tkl__args_str(&ask->args, s->call);
    tkl__args_int(&ask->args, (int64_t)s->to_count);
    for (size_t i = 0; i < s->to_count; i++)
        tkl__args_bytes(&ask->args, s->to[i]);
    for (size_t i = from; i < b->count; i++) {
        const small_file *file = &b->files[i];
        tkl__files_ask_file(ask, file->token.text);
        tkl__args_str(&ask->args, file->token.text);
        tkl__args_str(&ask->args, file->fingerprint);
        tkl__args_bytes(&ask->args, file->name);
        tkl__files_add_time(&ask->args, &file->mtime);
        tkl__args_int(&ask->args, file->mode);
        tkl__args_str(&ask->args, file->sum.text);
        tkl__args_bytes(&ask->args, file->data);
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
static int post_some(tkl__files_sending *s, batch *b, size_t from, size_t *taken, int64_t *next_end)
{
    tkl__files_ask ask;
    tkl_reply *reply;
    tkl__files_ask_init(&ask, s->files);
    tkl__files_ask_sent(&ask, s->call);
    post_args(s, b, from, &ask);
    int rc = tkl__files_ask_run(&ask, &tkl__lua_files_post, &reply);
    tkl__files_ask_free(&ask);
    *taken = rc == TKL_OK ? note_taken(&b->files[from], b->count - from, reply) : 0;
    *next_end = tkl__reply_number(tkl_reply_at(reply, POST_NEXT));
    if (rc == TKL_OK || rc == TKL_FULL) {
        int reaped = tkl__files_reap(s->files, tkl_reply_at(reply, POST_OVERDUE));
        rc = reaped != TKL_OK ? reaped : rc;
    }
    tkl_reply_free(reply);
    return rc;
}

static void tell_posted(tkl__files_sending *s, const small_file *file)
{
    tkl_files_outcome outcome = {
        .name = file->name, .size = (int64_t)file->data.len, .resumed = file->resumed};
    s->progress.name = file->name;
    s->progress.file_bytes = s->progress.file_done = (int64_t)file->data.len;
    tell_outcome(s, file->source, &outcome, TKL_OK);
    tkl__files_sent_await(s, &file->token, file->source, file->fingerprint);
}

static int post_all(tkl__files_sending *s, batch *b)
{
    tkl__rounds rounds = {.idle = 0};
    int rc = TKL_OK;
    for (size_t done = 0; rc == TKL_OK && done < b->count;) {
        size_t taken;
        int64_t next_end;
        rc = post_some(s, b, done, &taken, &next_end);
        bool waits = rc == TKL_FULL;
        for (size_t i = 0; i < taken; i++)
            tell_posted(s, &b->files[done++]);
        if (rc == TKL_FULL)
            rc = tkl__files_room_wait(s, next_end);
        else
            tkl__files_room_had(s);
        if (rc == TKL_OK && done < b->count)
            rc = tkl__next_round(&rounds, s->files->client, 0, taken > 0 || waits);
    }
    tkl__files_room_had(s);
    if (rc == TKL_OK && b->count > 0 && s->options.on_progress)
        s->options.on_progress(&s->progress, s->options.arg);
    return rc;
}

static int flush_batch(tkl__files_sending *s, batch *b)
{
    int rc = post_all(s, b);
    for (size_t i = 0; i < b->count; i++)
        free((char *)(uintptr_t)b->files[i].data.data);
    b->count = 0;
    return rc;
}

/* ---- Sources ------------------------------------------------------------- */

/* The name under which a path is sent by default. */
static tkl_bytes last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return tkl_str(slash ? slash + 1 : path);
}

static int name_of(const tkl_files_source *source, tkl_bytes *name)
{
    *name = source->name.len > 0 || !source->path ? source->name : last_part(source->path);
    if (name->len == 0)
        return tkl__fail(TKL_EINVAL, "a source has no name: %s",
                         source->path ? source->path : "a stream must be given one");
    if (name->len > TKL_FILES_NAME_MAX)
        return tkl__fail(TKL_EINVAL, "the name of a file has more than %d bytes",
                         TKL_FILES_NAME_MAX);
    return TKL_OK;
}

/* Opens a source. Does not block on a FIFO that nobody writes to. */
static int open_source(const char *path, int *fd, struct stat *st)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return tkl__fail(TKL_EIO, "%s", strerror(errno));
    int rc = TKL_OK;
    if (fstat(*fd, st) != 0)
        rc = tkl__fail(TKL_EIO, "%s", strerror(errno));
    else if (!S_ISREG(st->st_mode))
        rc = tkl__fail(TKL_EIO, "it is not a regular file");
    if (rc != TKL_OK) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

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

static int add_small(tkl__files_sending *s, batch *b, const tkl_files_source *source,
                     tkl_bytes name, int fd, const struct stat *st)
{
    small_file *file = &b->files[b->count];
    *file = (small_file){.source = source,
                         .name = name,
                         .token = tkl__files_new_token(),
                         .mtime = st->st_mtim,
                         .mode = (int64_t)(st->st_mode & 0777)};
    int rc =
        *s->call ? tkl__files_sent_fingerprint(s, source, name, st, file->fingerprint) : TKL_OK;
    if (rc == TKL_OK)
        rc = read_small(fd, st, &file->data);
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

static int send_large(tkl__files_sending *s, batch *b, const tkl_files_source *source,
                      tkl_bytes name, int fd, const struct stat *st)
{
    tkl_files_outcome outcome = {.name = name};
    int rc = flush_batch(s, b);
    if (rc != TKL_OK)
        return rc;
    s->progress.name = name;
    s->progress.file_bytes = st ? (int64_t)st->st_size : TKL_NONE;
    s->progress.file_done = 0;
    rc = tkl__files_outgoing_send(s, source, name, fd, st, &outcome);
    tell_outcome(s, source, &outcome, rc);
    return concerns_this_source(rc) ? TKL_OK : rc;
}

static int send_source(tkl__files_sending *s, batch *b, const tkl_files_source *source)
{
    struct stat st;
    tkl_bytes name;
    int fd;
    int rc = name_of(source, &name);
    if (rc != TKL_OK || !source->path)
        return rc == TKL_OK ? send_large(s, b, source, name, -1, NULL) : rc;
    rc = open_source(source->path, &fd, &st);
    if (rc == TKL_OK && st.st_size > TKL__FILES_SMALL) {
        rc = send_large(s, b, source, name, fd, &st);
        close(fd);
        return rc;
    }
    if (rc == TKL_OK) {
        rc = add_small(s, b, source, name, fd, &st);
        close(fd);
    }
    if (rc != TKL_OK) {
        tkl_files_outcome outcome = {.name = name};
        tell_outcome(s, source, &outcome, rc);
        return concerns_this_source(rc) ? TKL_OK : rc;
    }
    return b->count >= tkl__files_batch(s->to_count) ? flush_batch(s, b) : TKL_OK;
}

/* Sends the sources from `first` to before `end`. The entry of a file in `awaited` replaces that of
 * its source, or of an earlier one. */
static int send_sources(tkl__files_sending *s, size_t first, size_t end)
{
    batch *b = calloc(1, sizeof *b);
    if (!b)
        return tkl__nomem();
    int rc = TKL_OK;
    for (size_t i = first; rc == TKL_OK && i < end; i++)
        rc = tkl__is_interrupted(s->files->client) ? tkl__interrupted()
                                                   : send_source(s, b, s->awaited[i].source);
    if (rc == TKL_OK)
        rc = flush_batch(s, b);
    for (size_t i = 0; i < b->count; i++)
        free((char *)(uintptr_t)b->files[i].data.data);
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
            rc = name_of(&sources[i], &name);
    }
    return rc;
}

/* Whether both sources are the same file, which is then sent once. */
static bool is_same_file(const tkl_files_source *a, const tkl_files_source *b)
{
    struct stat x, y;
    return a->path && b->path &&
           (strcmp(a->path, b->path) == 0 || (stat(a->path, &x) == 0 && stat(b->path, &y) == 0 &&
                                              x.st_dev == y.st_dev && x.st_ino == y.st_ino));
}

static int by_name(const void *a, const void *b)
{
    tkl_bytes x, y;
    (void)!name_of(*(const tkl_files_source *const *)a, &x);
    (void)!name_of(*(const tkl_files_source *const *)b, &y);
    int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
    return order != 0 ? order : x.len < y.len ? -1 : x.len > y.len;
}

/* Rejects two sources of one name: the receiver would get only the last one. */
static int check_names(const tkl_files_source *sources, size_t count)
{
    int rc = TKL_OK;
    const tkl_files_source **sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        sorted[i] = &sources[i];
    qsort(sorted, count, sizeof(const tkl_files_source *), by_name);
    for (size_t i = 1; rc == TKL_OK && i < count; i++) {
        tkl_bytes name;
        if (by_name(&sorted[i - 1], &sorted[i]) == 0 && !is_same_file(sorted[i - 1], sorted[i]) &&
            name_of(sorted[i], &name) == TKL_OK)
            rc = tkl__fail(TKL_EINVAL, "two sources have the name " TKL_FMT ": %s and %s",
                           TKL_ARG(name), sorted[i - 1]->path ? sorted[i - 1]->path : "a stream",
                           sorted[i]->path ? sorted[i]->path : "a stream");
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
    return rc == TKL_OK ? check_names(sources, count) : rc;
}

/* The bytes of all files; TKL_NONE when one of them is a stream. */
static int64_t total_bytes(const tkl_files_source *sources, size_t count)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat st;
        if (!sources[i].path)
            return TKL_NONE;
        if (stat(sources[i].path, &st) == 0 && S_ISREG(st.st_mode))
            total += st.st_size;
    }
    return total;
}

/* ---- The call ------------------------------------------------------------ */

/* The server has lost sent files: sends all those again that it may have lost and does not
 * remember. */
static int send_again(tkl__files_sending *s)
{
    size_t end = s->awaited_count;
    if (!s->awaited[s->arrived].source->path || s->files->rules.resume_ms == 0)
        return tkl__fail(TKL_ELOST, "the server has lost files that were sent");
    s->again = true;
    s->options.on_progress = NULL; /* their progress was reported before */
    s->awaited_count = s->arrived;
    return send_sources(s, s->arrived, end);
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

/* Ends the call. After TKL_BUSY the server remembers it: the same call made again continues to
 * wait. */
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
    s.awaited = calloc(count + 1, sizeof *s.awaited);
    if (!s.awaited)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++)
        s.awaited[i].source = &sources[i];
    s.progress.total_bytes = s.options.on_progress ? total_bytes(sources, count) : TKL_NONE;
    rc = tkl__files_sent_begin(&s, sources, count);
    if (rc == TKL_OK)
        rc = end_send(&s, send_sources(&s, 0, count));
    tkl__files_room_had(&s);
    tkl__files_room_forget(&s);
    free(s.awaited);
    if (totals)
        *totals = s.totals;
    return rc;
}
